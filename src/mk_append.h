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
 * The most rows that are inserted at once: enough to fill several pages, and
 * few enough for their memory to be used again at once.
 */
#define MK_APPEND_BATCH 100

typedef struct MkAppender MkAppender;

/*
 * Begins to append from next_offset on, with the time ts.  The caller holds
 * mk_lock_sequence, and the segments that will be needed are there.  "open" is
 * the segment of next_offset, open in RowExclusiveLock, which is handed over;
 * or NULL.  "contract" is the one that the records were checked against, NULL
 * for none.  All memory is in the context of this call.
 */
extern MkAppender *
mk_append_begin(const MkTopic *topic, int32 partition, int64 next_offset,
				TimestampTz ts, MkSegment *open, MkContract *contract);
extern void
mk_append_records(MkAppender *appender, const MkRecord *records, int n);
extern void mk_append_end(MkAppender *appender);

#endif /* MK_APPEND_H */
