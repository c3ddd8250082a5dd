/*
 * mk_append.h
 *		Writing records into the segments of a partition.
 */
#ifndef MK_APPEND_H
#define MK_APPEND_H

#include "datatype/timestamp.h"

#include "mk_catalog.h"
#include "mk_contract.h"
#include "mk_record.h"
#include "mk_segment.h"

/*
 * The largest number of rows that are inserted at once: enough to fill several
 * pages, and few enough for their memory to be reused soon.
 */
#define MK_APPEND_BATCH 100

typedef struct MkAppender MkAppender;

/*
 * Begins to append from next_offset on, with the time ts.  The caller holds
 * mk_lock_sequence, and the segments that are needed exist.  "open" is the
 * segment of next_offset, opened with RowExclusiveLock, which the appender
 * takes over; or NULL.  "contract" is the contract that the records were
 * checked against, or NULL.  All memory is allocated in the current context of
 * this call.
 */
extern MkAppender *
mk_append_begin(const MkTopic *topic, int32 partition, int64 next_offset,
				TimestampTz ts, MkSegment *open, MkContract *contract);
/* Appends n records at the next offsets, in as many segments as they need. */
extern void
mk_append_records(MkAppender *appender, const MkRecord *records, int n);
/* Closes the segment; its locks are held to the end of the transaction. */
extern void mk_append_end(MkAppender *appender);

#endif /* MK_APPEND_H */
