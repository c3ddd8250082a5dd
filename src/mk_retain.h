/*
 * mk_retain.h
 *		Retention: which records of a partition are to go, and removing them.
 */
#ifndef MK_RETAIN_H
#define MK_RETAIN_H

#include "mk_log.h"

/*
 * Where the log start is to be at the time "now": at the first record that is
 * not older than the topic's retention, or at the first segment of those that
 * its retention_bytes keeps; not before where it is, nor beyond the end.
 */
extern int64
mk_retain_from(const MkTopic *topic, int32 partition, TimestampTz now);

/* The number of records from one offset to another. */
extern int64
mk_retain_records(const MkTopic *topic, int32 partition, int64 from, int64 to);

/*
 * The next segment from that number on that lies below the log start, and can
 * be dropped; -1 if there is none.
 */
extern int64
mk_retain_passed(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Removes rows below the log start from the segment that it lies in: some tens
 * of thousands.  False when there are no more, or, unless "always", when it is
 * not worth while: the table will be dropped.  The caller ends the transaction
 * after that, and keeps others from removing records of the partition meanwhile.
 */
extern bool mk_retain_trim(const MkTopic *topic, int32 partition, bool always);

#endif /* MK_RETAIN_H */
