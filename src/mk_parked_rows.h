/*
 * mk_parked_rows.h
 *		Rows of share groups about the records of parked keys.
 */
#ifndef MK_PARKED_ROWS_H
#define MK_PARKED_ROWS_H

#include "mk_share_rows.h"

/* Of a record that is a dead letter */
#define MK_NOT_RETURNED (-1)

/* A record of a parked key */
typedef struct MkParked
{
	MkShareKey key;
	uint32 slot;
	int64 returned; /* offset at which it was sent back, or MK_NOT_RETURNED */
	int64 offset; /* when it was first set aside: its place in the order */
	struct varlena *record_key; /* bytea; palloc'd, not toasted */
	int32 deliveries;
	int32 letter_topic_id;
	int32 letter_partition;
	int64 letter_offset;
	TimestampTz at;
} MkParked;

/* A scan of such rows, as they are now, and the row that it stands on. */
typedef struct MkParkedScan
{
	MkRows rows;
	HeapTuple tuple;
	MkParked row;
} MkParkedScan;

/*
 * Begin a scan: of a slot, first the dead letters by place, and then what was
 * returned, by where it is now; of a slot by place, from one on; of what was returned
 * to an offset, or of the dead letters of a slot, by place, from one on; of an era; or
 * of the dead letters in a partition of this topic, from an offset on.
 */
extern void
mk_parked_begin_slot(MkParkedScan *s, const MkShareKey *key, uint32 slot);
extern void mk_parked_begin_places(MkParkedScan *s, const MkShareKey *key,
								   uint32 slot, int64 from);
extern void mk_parked_begin_returned(MkParkedScan *s, const MkShareKey *key,
									 uint32 slot, int64 returned, int64 from);
extern void mk_parked_begin_era(MkParkedScan *s, const MkShareKey *key);
extern void mk_parked_begin_letters(MkParkedScan *s, int32 topic_id,
									int32 partition, int64 from);

/* Moves to the next row; its key lives until the next call. */
extern bool mk_parked_next(MkParkedScan *s);
extern void mk_parked_end(MkParkedScan *s);

/* Whether two keys are the same, and whether a row is about this one. */
extern bool
mk_parked_same_key(const struct varlena *a, const struct varlena *b);
extern bool mk_parked_has_key(const MkParked *p, const struct varlena *key);

/*
 * Removes the current row, unless another transaction is doing so.  A scan of the
 * rows of a slot, by whoever has its lock, never meets a row between its removal
 * and what replaces it; see mk_share_parked.c.
 */
extern void mk_parked_delete(MkParkedScan *s);

/* Adds a row, in place of one that says the same of an earlier letter. */
extern void mk_parked_put(const MkParked *p);

/* Whether there is a row about the group. */
extern bool mk_parked_is_any(int32 group_no);

/*
 * For a log that has lost the records from the tail on: whether a row of the era is
 * about one of them; adding to another era those that are not, and removing all;
 * and removing the rows of letters that were lost.
 */
extern bool mk_parked_is_beyond(const MkShareKey *key, int64 tail);
extern void mk_parked_cut(const MkShareKey *key, int64 tail, int32 era);
extern void
mk_parked_forget_beyond(int32 topic_id, int32 partition, int64 tail);

/* Removes the rows of letters that are or were in a topic: it is being dropped. */
extern void mk_parked_delete_letters(int32 topic_id);

#endif /* MK_PARKED_ROWS_H */
