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
 * Prepares to append.  "contract" is the contract that the records were checked
 * against, or NULL.  All memory is allocated in the current context of this call.
 */
extern MkAppender *
mk_append_begin(const MkTopic *topic, int32 partition, MkContract *contract);

/*
 * What can be done before the caller holds mk_lock_sequence: to get ready for the
 * first records, at most MK_APPEND_BATCH, which are the first that are appended and
 * stay where they are; and to open the table of the segment that they will probably
 * go to, if it exists, with RowExclusiveLock (for "known" see mk_segment_open).
 * The third function closes that table and releases its locks, for a caller that is
 * going to wait; the fourth returns it if it is open, else NULL.
 */
extern void
mk_append_fill(MkAppender *appender, const MkRecord *records, int n);
extern void
mk_append_open_ahead(MkAppender *appender, int64 segment, Oid *known);
extern void mk_append_close_ahead(MkAppender *appender);
extern const MkSegment *
mk_append_segment(const MkAppender *appender, int64 segment);

/*
 * Begins to append from next_offset on, with the time ts.  The caller holds
 * mk_lock_sequence, and the segments that are needed exist.  The second function
 * gives the appender a segment that is open with RowExclusiveLock, in place of the
 * one that was opened ahead.
 */
extern void
mk_append_start(MkAppender *appender, int64 next_offset, TimestampTz ts);
extern void
mk_append_take(MkAppender *appender, int64 segment, const MkSegment *open);

/* Appends n records at the next offsets, in as many segments as they need. */
extern void
mk_append_records(MkAppender *appender, const MkRecord *records, int n);
/* The next offset, the time of the last record, and the file of its key. */
extern void mk_append_last(const MkAppender *appender, int64 *next_offset,
						   TimestampTz *ts, uint32 *file);
/* Closes the segment; its locks are held to the end of the transaction. */
extern void mk_append_end(MkAppender *appender);

#endif /* MK_APPEND_H */
