/*
 * mk_segment_drop.h
 *		Dropping the tables of segments, and giving back the space in them.
 */
#ifndef MK_SEGMENT_DROP_H
#define MK_SEGMENT_DROP_H

#include "mk_catalog.h"

/*
 * The size of a segment on disk in bytes, with indexes and TOAST; 0 if it is
 * missing.
 */
extern int64
mk_segment_bytes(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Whether anything was ever in a segment's table.  False for a table that a
 * dump is still to be restored into.
 */
extern bool
mk_segment_has_blocks(const MkTopic *topic, int32 partition, int64 segment);

/*
 * Whether most of a segment's table is empty, and "bytes", the space that its
 * rows need, is small enough to rewrite it.
 */
extern bool mk_segment_is_sparse(const MkTopic *topic, int32 partition,
								 int64 segment, int64 bytes);

/*
 * Drops a segment and its catalog row; or rewrites its table without the
 * unused space.  Neither ever waits for another session, and others wait only
 * for the work itself: returns false if, after some tries, another session
 * still uses tables that must be locked.
 */
extern bool
mk_segment_try_drop(const MkTopic *topic, int32 partition, int64 segment);
extern bool
mk_segment_try_shrink(const MkTopic *topic, int32 partition, int64 segment);

/* Drops those of a partition's tables that were detached. */
extern void mk_segment_drop_partition(const MkTopic *topic, int32 partition);

#endif /* MK_SEGMENT_DROP_H */
