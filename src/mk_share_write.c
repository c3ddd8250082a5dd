/*
 * mk_share_write.c
 *		What a commit writes about the records of share groups that it held.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_share_write.h"

/* Writes the row of a record that is not done. */
static void
mk_write_delivery(const MkHeldSlot *s, const MkHeldRecord *r)
{
	MkDelivery d = r->delivery;

	switch (r->answer.outcome)
	{
		case MK_OUTCOME_LOCK:
			d.state = MK_DELIVERY_LOCKED;
			d.acquisition += r->answer.renewed ? 0 : 1;
			break;
		case MK_OUTCOME_RELEASE:
			/* the record is as it was before */
			if (TIMESTAMP_IS_NOBEGIN(r->answer.until) &&
				(d.state == MK_DELIVERY_NONE ||
				 ((d.state == MK_DELIVERY_RELEASED ||
				   d.state == MK_DELIVERY_FAILED) &&
				  d.until <= mk_clock_now())))
				return;
			d.state = MK_DELIVERY_RELEASED;
			break;
		case MK_OUTCOME_FAIL:
			d.state = MK_DELIVERY_FAILED;
			break;
		default:
			d.state = MK_DELIVERY_BLOCKED;
			break;
	}
	d.slot = s->slot;
	d.count = r->answer.count;
	d.until = r->answer.until;
	/* a delivery that has not failed leaves the error of the last failure */
	if (r->answer.error != NULL || d.state >= MK_DELIVERY_FAILED)
		d.error = r->answer.error;
	mk_delivery_put(&s->key, &d);
}

/* For qsort_arg() of records by partition and offset; with the slots. */
static int
mk_write_compare(const void *a, const void *b, void *arg)
{
	const MkHeldSlot *slots = arg;
	const MkHeldRecord *ra = *(const MkHeldRecord *const *) a;
	const MkHeldRecord *rb = *(const MkHeldRecord *const *) b;
	const MkShareMemory *ma = slots[ra->slot].memory;
	const MkShareMemory *mb = slots[rb->slot].memory;

	if (ma != mb)
		return memcmp(&ma->key, &mb->key, sizeof(ma->key));
	return ra->offset < rb->offset ? -1 : ra->offset > rb->offset;
}

/* Writes what is done, as few runs as that takes. */
static void
mk_write_runs(const MkHeldSlot *slots, MkHeldRecord **done, int n)
{
	for (int i = 0; i < n;)
	{
		const MkHeldSlot *s = &slots[done[i]->slot];
		int64 first = done[i]->offset;
		int64 last = first;

		for (i++; i < n && done[i]->offset == last + 1 &&
			 slots[done[i]->slot].memory == s->memory;
			 i++)
			last++;
		mk_share_run_put(&s->key, first, last);
		s->memory->runs++;
	}
}

/* Removes what was noted about records of parked keys, and means nothing now. */
static void
mk_write_parked(const MkHeldSlot *slots, MkHeldRecord *records, int n)
{
	for (int i = 0; i < n; i++)
	{
		const MkHeldSlot *s = &slots[records[i].slot];

		if (!s->parks)
			continue;
		if (records[i].answer.outcome == MK_OUTCOME_DONE)
			mk_share_parked_done(&s->key, s->slot, records[i].offset,
								 &s->known);
		if (s->last == i)
			mk_share_parked_forget(&s->key, s->slot, &s->known);
	}
}

void
mk_share_write(const MkHeldSlot *slots, MkHeldRecord *records, int n)
{
	MkHeldRecord **done = palloc(Max(n, 1) * sizeof(MkHeldRecord *));
	int ndone = 0;

	for (int i = 0; i < n; i++)
		if (records[i].answer.outcome == MK_OUTCOME_DONE)
			done[ndone++] = &records[i];
		else
			mk_write_delivery(&slots[records[i].slot], &records[i]);
	qsort_arg(done, ndone, sizeof(MkHeldRecord *), mk_write_compare,
			  unconstify(MkHeldSlot *, slots));
	mk_write_runs(slots, done, ndone);
	pfree(done);
	mk_write_parked(slots, records, n);
}
