/*
 * mk_share_later.c
 *		Records that a walk of a share group does not hand out, and answers itself:
 *		their delivery has failed before it began, or their key is parked.
 *
 * An answer may send a dead letter, and that may run code of a topic's owner.  So
 * it is given when no scan is open; until then the record holds up its slot.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "mk_array.h"
#include "mk_share_later.h"

/* How many records of parked keys a call of acquire() sets aside. */
#define MK_MAX_PARKED 100

static MkLaterRecord *
mk_later_add(MkShareLater *later, const MkGroup *group, MkHeldSlot *held,
			 const MkDelivery *delivery)
{
	const MkShareAnswer block = {.outcome = MK_OUTCOME_BLOCK,
								 .until = DT_NOBEGIN,
								 .count = delivery->count};
	MkLaterRecord *r;

	later->records = mk_array_grow(TopTransactionContext, later->records,
								   later->n, sizeof(MkLaterRecord));
	r = &later->records[later->n++];
	memset(r, 0, sizeof(*r));
	r->slot = held->slot;
	r->offset = delivery->offset;
	mk_share_held_answer(
		mk_share_held_add(group, held, delivery->offset, delivery), &block);
	return r;
}

void
mk_share_later_fail(MkShareLater *later, const MkGroup *group, MkHeldSlot *held,
					const MkDelivery *delivery, bool counted, const char *error)
{
	MkDelivery d = *delivery;

	if (d.state == MK_DELIVERY_LOCKED && !counted)
		d.count++;
	mk_later_add(later, group, held, &d)->error =
		MemoryContextStrdup(TopTransactionContext, error);
}

bool
mk_share_later_follow(MkShareLater *later, const MkGroup *group,
					  MkHeldSlot *held, const MkDelivery *delivery,
					  const MkLogRecord *record)
{
	MkParkedBy by;

	if (!mk_share_parks(group))
		return false;
	if (!mk_share_parked_find(&held->key, held->slot, record, &held->known,
							  &by))
		return mk_share_held_has_follower(held);
	mk_later_add(later, group, held, delivery)->by = by;
	return true;
}

void
mk_share_later_answer(MkShareLater *later, MkGroup *group, MkTopic *topic,
					  MkShareMemory *m, int64 *noted,
					  void (*go_on)(uint32 slot, void *arg), void *arg)
{
	for (int i = 0; i < later->n; i++)
	{
		const MkLaterRecord r = later->records[i];
		MkHeldRecord *record =
			mk_share_held_record(mk_share_held_find(m, r.slot), r.offset);

		CHECK_FOR_INTERRUPTS();
		++*noted;
		if (r.error != NULL)
		{
			(void) mk_share_answer_fail(group, topic, record, r.error, -1);
			continue;
		}
		mk_share_answer_follow(group, topic, record, &r.by);
		if (*noted < MK_MAX_PARKED)
			go_on(r.slot, arg);
	}
}
