/*
 * mk_segment.h
 *		The tables of a partition: its own, and its segments'.
 *
 * Segment k of a topic with s records a segment holds the offsets from k*s to
 * (k+1)*s - 1.
 */
#ifndef MK_SEGMENT_H
#define MK_SEGMENT_H

#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "mk_catalog.h"
#include "mk_record.h"

typedef struct MkSegment
{
	Relation rel;
	Relation pkey;
	bool plain; /* the primary key is its only index */
	LOCKMODE lockmode;
} MkSegment;

/* To be called once, in _PG_init. */
extern void mk_segment_init(void);

/*
 * Opens a segment and its primary key.  False if there is no such table;
 * raises 55000 if somebody altered it so that it cannot serve.  "known", if
 * not NULL, is the OID of the table when it was last opened, or InvalidOid;
 * it is set.
 */
extern bool
mk_segment_open(const MkTopic *topic, int32 partition, int64 segment,
				LOCKMODE lockmode, Oid *known, MkSegment *result);
/* Closes it; the lock is let go unless keep_lock. */
extern void mk_segment_close(MkSegment *segment, bool keep_lock);

/* Whether the segment has a table; raises 55000 for one that is not attached. */
extern bool
mk_segment_exists(const MkTopic *topic, int32 partition, int64 segment);

/* Raises 55000 for a segment that should be there and is not. */
extern void
mk_segment_missing(const MkTopic *topic, int32 partition, int64 segment);

/*
 * What is wrong with a partition's table, or with a segment's, NULL if
 * nothing; for check_topic.  "missing" when there is no such table.
 */
extern const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition);
extern const char *mk_segment_problem(const MkTopic *topic, int32 partition,
									  int64 segment, bool *missing);

/*
 * Makes the table of a segment; the caller holds mk_lock_maker.  With
 * "if_free" only if that needs no wait for the lock of the partition's table;
 * returns whether it was made.
 */
extern bool mk_segment_make(const MkTopic *topic, int32 partition,
							int64 segment, bool if_free);

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

/* Makes a partition's table with its first segment, and their rows. */
extern void mk_segment_make_partition(const MkTopic *topic, int32 partition);

/* Drops what is left of a partition's tables: what was detached. */
extern void mk_segment_drop_partition(const MkTopic *topic, int32 partition);

/* Makes the trigger that refuses direct writes, on a table just made. */
extern void mk_segment_refuse_writes(const char *qualified_name);

#endif /* MK_SEGMENT_H */
