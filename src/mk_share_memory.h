/*
 * mk_share_memory.h
 *		What a session remembers of a partition of a share group.
 *
 * What is done is done for ever, so a session need not look for it again: below
 * "high" every record is done, except for those that are remembered as pending.
 * Some of these may be done too, by other sessions.  So what is remembered never
 * says more than the tables do.
 */
#ifndef MK_SHARE_MEMORY_H
#define MK_SHARE_MEMORY_H

#include "access/transam.h"
#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "utils/hsearch.h"
#include "utils/snapshot.h"

/* A record that is not known to be done */
typedef struct MkSharePending
{
	int64 offset;
	struct MkSharePending *next; /* of the same slot */
} MkSharePending;

/* A slot with pending records, or whose last writer is remembered. */
typedef struct MkShareSlot
{
	uint32 slot; /* hash key */
	MkSharePending *head; /* by offset; NULL: none */
	MkSharePending *tail;
	TimestampTz due; /* of the head: not to be looked at before; 0: any time */
	TransactionId unseen; /* see mk_share_memory_unseen */
	dlist_node node; /* in "pending", if it has a head */
	dlist_node unseen_node; /* in "unseen", if that is valid */
} MkShareSlot;

typedef struct MkShareMemoryKey
{
	Oid catalog; /* OID of a table: DROP EXTENSION lets numbers begin again */
	int32 group_no;
	int32 topic_id;
	int32 partition;
} MkShareMemoryKey;

typedef struct MkShareMemory
{
	MkShareMemoryKey key; /* hash key */
	bool valid;
	int32 era;
	int32 ordering_epoch; /* of the slots */
	int64 version; /* of the group, since which "due" of the slots holds */
	/* of the newest snapshot that was used; see mk_share_walk.c */
	TransactionId xmax;
	uint32 xcnt;
	TransactionId own; /* of the session, the last that has done something */
	int64 checkpoint; /* number of the newest one that was taken account of */
	int64 start; /* its start offset: below it no run need be there */
	int64 runs; /* that were read since the last one that the session made */

	int64 high;
	int64 npending;
	int64 nheads; /* slots with pending records */
	dlist_head pending; /* slots with pending records; oldest first */
	dlist_head unseen; /* slots with an unseen writer */
	HTAB *slots;
	MkSharePending *unused;
	MemoryContext context;
} MkShareMemory;

/* To be called once, in _PG_init. */
extern void mk_share_memory_init(void);

/*
 * The memory of a partition; if there is none, one that is not valid.  NULL if
 * there is none and "make" is false: then it allocates nothing.  Lives until
 * mk_share_memory_trim().
 */
extern MkShareMemory *
mk_share_memory_get(int32 group_no, int32 topic_id, int32 partition, bool make);

/* Forgets everything if that is much.  No result of the above is in use. */
extern void mk_share_memory_trim(void);

/*
 * Empties a memory: nothing is pending.  The caller adds what is, and sets "valid"
 * when that is all of it.
 */
extern void mk_share_memory_begin(MkShareMemory *m, int64 high);

/* Whether the snapshot was taken before the newest one that was used. */
extern bool
mk_share_memory_is_earlier(const MkShareMemory *m, Snapshot snapshot);

/* The slot; NULL if there is none and "make" is false. */
extern MkShareSlot *
mk_share_memory_slot(MkShareMemory *m, uint32 slot, bool make);

/* Adds a pending record, which is later than all of its slot. */
extern void mk_share_memory_add(MkShareMemory *m, MkShareSlot *s, int64 offset);

/* All below this offset is known to be done. */
extern void mk_share_memory_begin_at(MkShareMemory *m, int64 start);

/* The start offset: all below it is done.  Looks at each slot. */
extern int64 mk_share_memory_start(MkShareMemory *m);

/* The head of the slot is done.  Allocates no memory. */
extern void mk_share_memory_pop(MkShareMemory *m, MkShareSlot *s);

/* Moves the slot behind all others, so that no slot holds up another. */
extern void mk_share_memory_pass_turn(MkShareMemory *m, MkShareSlot *s);

/*
 * The last record of the slot that is done was written by this transaction, which
 * the snapshot of the statement does not see.
 */
extern void
mk_share_memory_set_unseen(MkShareMemory *m, MkShareSlot *s, TransactionId xid);

/* Forgets that; frees a slot that has no pending record either. */
extern void mk_share_memory_set_seen(MkShareMemory *m, MkShareSlot *s);

/* Forgets until when pending records wait. */
extern void mk_share_memory_forget_due(MkShareMemory *m);

/* Frees a slot about which nothing is remembered. */
extern void mk_share_memory_release(MkShareMemory *m, MkShareSlot *s);

#endif /* MK_SHARE_MEMORY_H */
