/*
 * mk_share_held.h
 *		Records of share groups that a transaction holds, and its answers.
 */
#ifndef MK_SHARE_HELD_H
#define MK_SHARE_HELD_H

#include "mk_share_write.h"

/* To be called once, in _PG_init. */
extern void mk_share_held_init(void);

/* How many dead letters of a group the transaction sends. */
extern int64 mk_share_held_letters(int32 group_no);

/* Whether the transaction holds no record. */
extern bool mk_share_held_is_empty(void);

/* The slot, NULL if the transaction does not hold it. */
extern MkHeldSlot *mk_share_held_find(MkShareMemory *m, uint32 slot);

/* Whether a session, perhaps this one, has the slot. */
extern bool mk_share_held_by_any(const MkShareMemory *m, uint32 slot);

/*
 * Locks a slot that the transaction does not hold yet.  NULL if another session has
 * it, or if the transaction holds as many as it may; *full tells which.
 */
extern MkHeldSlot *mk_share_held_lock(const MkGroup *group, MkShareMemory *m,
									  uint32 slot, bool *full);

/* How many slots the transaction holds, and how many more it may. */
extern int mk_share_held_slots(void);
extern int mk_share_held_room(void);

/*
 * Releases the slots without a record among those that were locked after the first
 * so many, all of them in this subtransaction.  Returns whether there were some.
 */
extern bool mk_share_held_unlock_unused(int first);

/* Whether the slot has a record that holds up later ones; NULL has none. */
extern bool mk_share_held_is_closed(const MkHeldSlot *s);

/* Whether a record of the slot has followed an earlier one of its key. */
extern bool mk_share_held_has_follower(const MkHeldSlot *s);

/* Whether a record holds up the later ones of its slot. */
extern bool mk_share_held_closes(const MkHeldRecord *record);

/* The highest offset of the slot's records, -1 if there is none; NULL has none. */
extern int64 mk_share_held_last_offset(const MkHeldSlot *s);

/*
 * Adds a record to the slot, after all that it has, and registers the use of the
 * group and the topic.  The result is valid until the next call.
 */
extern MkHeldRecord *
mk_share_held_add(const MkGroup *group, MkHeldSlot *s, int64 offset,
				  const MkDelivery *delivery);

/* The record of this offset, NULL if the transaction does not hold it. */
extern MkHeldRecord *mk_share_held_record(MkHeldSlot *s, int64 offset);

/* The same for a record whose slot is not known, as it is gone. */
extern MkHeldRecord *
mk_share_held_find_record(const MkShareMemory *m, int64 offset);
extern MkHeldSlot *mk_share_held_slot_of(const MkHeldRecord *record);

/* The last record before this one that is to be answered first; NULL: none. */
extern MkHeldRecord *mk_share_held_before(const MkHeldRecord *record);

/*
 * Answers a record, in place of an answer that it has.  Rolls back with the
 * savepoint.  If the answer holds up the later records of the slot, these are
 * released.
 */
extern void
mk_share_held_answer(MkHeldRecord *record, const MkShareAnswer *answer);

#endif /* MK_SHARE_HELD_H */
