/*
 * mk_compact.h
 *		The newest record of each key of a partition.
 */
#ifndef MK_COMPACT_H
#define MK_COMPACT_H

#include "mk_log.h"

typedef struct MkCompaction MkCompaction;

/*
 * Begins a pass over a partition.  The pass removes each record with a key that
 * a later record below "bound" has too, and tombstones below "horizon".  It
 * never removes the last record of the partition, and does not read records at
 * or above bound.  bound must not be beyond the end.  Below "clean" no key
 * occurs twice; horizon must not be above clean.
 *
 * The pass is allocated in the current memory context, which must outlive the
 * transactions of its steps.  Its keys take about "bytes" of memory.
 */
extern MkCompaction *
mk_compact_begin(const MkTopic *topic, int32 partition, int64 clean,
				 int64 bound, int64 horizon, Size bytes);

/*
 * Performs the next step of the pass, over a limited number of records.  The
 * caller holds mk_lock_cleaning, and ends the transaction after the step.
 * Returns false when the pass is done.
 */
extern bool mk_compact_step(MkCompaction *c);

/* The number of records that the pass has removed so far. */
extern int64 mk_compact_removed(const MkCompaction *c);

/*
 * What a finished pass has left: the numbers of records and tombstones, as in
 * MkCompacted, and a list with a MkRemains for each segment with records, the
 * last segment first.  The list belongs to the pass.
 */
typedef struct MkRemains
{
	int64 segment;
	int64 bytes; /* approximate size of the rows, including TOAST */
} MkRemains;

extern void
mk_compact_result(const MkCompaction *c, int64 *records, int64 *tombstones);
extern List *mk_compact_remains(const MkCompaction *c);

/* Whether a segment has no record at or above the log start. */
extern bool
mk_compact_is_empty(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Passes the newest record of each key that the snapshot sees to the sink,
 * backwards from the end of the partition.  Leaves out tombstones.
 */
extern void mk_compact_latest(const MkTopic *topic, int32 partition,
							  Snapshot snapshot, MkLogSink sink, void *arg);

#endif /* MK_COMPACT_H */
