/*
 * mk_compact.h
 *		The newest record of each key of a partition.
 */
#ifndef MK_COMPACT_H
#define MK_COMPACT_H

#include "mk_log.h"

typedef struct MkCompaction MkCompaction;

/*
 * Begins a pass over a partition, which removes each record that has a key and
 * is followed by another of that key below "bound"; and tombstones below
 * "horizon", but for the last record of the partition.  Nothing at or above
 * bound is looked at, which lies at or below the end.  Below "clean" no key
 * comes twice; horizon is not above it.
 *
 * The pass is made in the current memory context, and takes about "bytes" for
 * the keys.  It lives on when the transaction ends.
 */
extern MkCompaction *
mk_compact_begin(const MkTopic *topic, int32 partition, int64 clean,
				 int64 bound, int64 horizon, Size bytes);

/*
 * Goes on with it, for some tens of thousands of records; the caller ends the
 * transaction after that, and keeps others from removing records of the
 * partition meanwhile.  False when the pass is done.
 */
extern bool mk_compact_step(MkCompaction *c);

/* How many records were removed by now. */
extern int64 mk_compact_removed(const MkCompaction *c);

/*
 * After the pass: records and tombstones that it has left, see MkCompacted; and
 * what it has left in each segment, the last segment first.
 */
typedef struct MkRemains
{
	int64 segment;
	int64 bytes; /* of the rows, with what is in TOAST; about */
} MkRemains;

extern void
mk_compact_result(const MkCompaction *c, int64 *records, int64 *tombstones);
extern List *mk_compact_remains(const MkCompaction *c);

/* Whether a segment has no record from the log start on. */
extern bool
mk_compact_is_empty(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Hands out the newest record of each key that the snapshot sees, from the end
 * of the partition back; without tombstones.
 */
extern void mk_compact_latest(const MkTopic *topic, int32 partition,
							  Snapshot snapshot, MkLogSink sink, void *arg);

#endif /* MK_COMPACT_H */
