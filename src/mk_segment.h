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
	bool plain; /* its only index is the primary key, of one column */
	LOCKMODE lockmode;
} MkSegment;

/* To be called once, in _PG_init. */
extern void mk_segment_init(void);

/*
 * Opens the table of a segment and its primary key.  False if there is none;
 * raises 55000 if somebody altered it so that it cannot serve, or, in a lock
 * for writing, so that it cannot be written.  "known", if not NULL, is the OID
 * of the table when it was last opened, or InvalidOid; it is set.
 */
extern bool
mk_segment_open(const MkTopic *topic, int32 partition, int64 segment,
				LOCKMODE lockmode, Oid *known, MkSegment *result);
/* Closes it; the lock is let go unless keep_lock. */
extern void mk_segment_close(MkSegment *segment, bool keep_lock);

/* Raises 55000 for a segment that should have a table and has none. */
extern void
mk_segment_missing(const MkTopic *topic, int32 partition, int64 segment);

/*
 * What is wrong with a partition's table, or with a segment's, NULL if
 * nothing.  "missing" when there is no such table.
 */
extern const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition);
extern const char *mk_segment_problem(const MkTopic *topic, int32 partition,
									  int64 segment, bool *missing);

/*
 * What is attached to the table of a partition and is no segment of it; with
 * partition -1, what is attached to that of the topic and is no partition's.  A
 * list of sentences.
 */
extern List *mk_segment_strangers(const MkTopic *topic, int32 partition);

/* The segments whose tables are not attached, ascending. */
extern int
mk_segment_unattached(const MkTopic *topic, int32 partition, int64 **segments);

typedef enum MkMake
{
	MK_MAKE_NEEDED,
	MK_MAKE_AHEAD, /* only if it needs no wait for the tables above */
	MK_MAKE_IN_PASSING /* and runs nothing that the owner has written */
} MkMake;

/*
 * Makes the table of a segment; the caller holds mk_lock_maker.  Returns
 * whether it did.
 */
extern bool mk_segment_make(const MkTopic *topic, int32 partition,
							int64 segment, MkMake how);

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

/* Whether there are tables that are named as those of a topic of this number. */
extern bool mk_segment_has_tables(int32 topic_id);

/* Makes a partition's table with its first segment, and their rows. */
extern void mk_segment_make_partition(const MkTopic *topic, int32 partition);

/* Drops what is left of a partition's tables: what was detached. */
extern void mk_segment_drop_partition(const MkTopic *topic, int32 partition);

#endif /* MK_SEGMENT_H */
