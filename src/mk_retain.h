/*
 * mk_retain.h
 *		Retention: finding and removing the expired records of a partition.
 */
#ifndef MK_RETAIN_H
#define MK_RETAIN_H

#include "mk_log.h"

/*
 * The log start that the topic's options want at the time "now": the first
 * record that is not older than retention, or the first segment that
 * retention_bytes keeps, whichever is greater; with delete_read also up to what
 * groups need, and with keep_unread not beyond that.  Neither before the current
 * log start nor beyond the end.
 */
extern int64
mk_retain_from(const MkTopic *topic, int32 partition, TimestampTz now);

/*
 * Whether what groups need counts in that.  Then a caller that moves the log
 * start holds mk_lock_needed exclusively from before it asks.
 */
extern bool mk_retain_heeds_groups(const MkTopic *topic);

/* The number of records at "from" or above, and below "to". */
extern int64
mk_retain_records(const MkTopic *topic, int32 partition, int64 from, int64 to);

/*
 * The first segment at or after "segment", if it lies wholly below the log
 * start and is not the newest one, so that it can be dropped; else -1.
 */
extern int64
mk_retain_passed(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Removes a limited number of rows below the log start, from the segment that
 * contains the log start.  Returns whether there may be more.  Unless "always",
 * removes nothing and returns false if there are many such rows and the table
 * will be dropped soon.  The caller holds mk_lock_cleaning, and ends the
 * transaction afterwards.
 */
extern bool mk_retain_trim(const MkTopic *topic, int32 partition, bool always);

#endif /* MK_RETAIN_H */
