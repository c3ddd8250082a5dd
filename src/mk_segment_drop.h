/*
 * mk_segment_drop.h
 *		Dropping the tables of segments, and giving back the space in them.
 */
#ifndef MK_SEGMENT_DROP_H
#define MK_SEGMENT_DROP_H

#include "mk_catalog.h"

/* The bytes of a segment on disk, with indexes and TOAST; 0 if it is missing. */
extern int64
mk_segment_bytes(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Whether anything was ever in a segment's table; not in one that a dump is still
 * to be restored into.
 */
extern bool
mk_segment_has_blocks(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Whether there is nothing in most of a segment's table, and "bytes", what its
 * rows need, is little enough to write it anew.
 */
extern bool mk_segment_is_sparse(const MkTopic *topic, int32 partition,
								 int64 segment, int64 bytes);

/*
 * Drops a segment, and its row; or writes its table anew, without the space that
 * nothing is in.  Both wait for nobody, and let nobody wait but for the work
 * itself: false if somebody uses the tables that must be locked, after some
 * tries.
 */
extern bool
mk_segment_try_drop(const MkTopic *topic, int32 partition, int64 segment);
extern bool
mk_segment_try_shrink(const MkTopic *topic, int32 partition, int64 segment);

/* Drops what is left of a partition's tables: what was detached. */
extern void mk_segment_drop_partition(const MkTopic *topic, int32 partition);

#endif /* MK_SEGMENT_DROP_H */
