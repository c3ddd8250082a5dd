/*
 * mk_share_record.c
 *		A record that a walk of a share group has come to: whether it is handed out.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_due.h"
#include "mk_log.h"
#include "mk_share_record.h"
#include "mk_share_undone.h"

/* A waiting record is looked at again after this time: a person may act. */
#define MK_LOOK_AGAIN (1 * USECS_PER_SEC)

bool
mk_walk_find_run(MkShareSeek *seek, int64 offset, MkShareRun *run)
{
	return mk_share_seek_run(seek, offset, run) && run->first <= offset;
}

bool
mk_walk_is_unseen(const MkWalk *w, const MkShareRun *run)
{
	return XidInMVCCSnapshot(run->xid, w->request->snapshot);
}

/* For handing out one record */
typedef struct MkHandOut
{
	MkWalk *walk;
	MkHeldSlot *held;
	const MkDelivery *delivery;
	bool taken;
} MkHandOut;

/* Hands out a record, if it is due and the request is not full; an MkLogSink. */
static bool
mk_walk_hand_out(const MkLogRecord *record, void *arg)
{
	MkHandOut *h = arg;
	MkWalk *w = h->walk;
	MkShareRequest *request = w->request;
	MkLogRecord fetched = *record;
	MkShareReceipt receipt = {.key = w->key, .offset = record->offset};
	const MkDelivery *d = h->delivery;
	MkHeldRecord *r;
	const char *error;

	/* the topic's delay may be longer than when the record was read in the log */
	if (!mk_due_is(w->topic, record->ts, request->now, &request->due))
	{
		w->young = Min(w->young, record->offset);
		return false;
	}
	if (request->found > 0 &&
		request->bytes + record->bytes > request->max_bytes)
	{
		request->full = true;
		return false;
	}
	request->found++;
	if (request->probe)
	{
		request->full = true;
		return false;
	}
	mk_scan_keep(&fetched);
	if (mk_share_later_follow(&w->later, request->group, h->held, d, &fetched))
	{
		request->found--;
		return false;
	}
	receipt.kind =
		request->lock_duration > 0 ? MK_RECEIPT_LOCK : MK_RECEIPT_TRANSACTION;
	receipt.number =
		request->lock_duration > 0 ? d->acquisition + 1 : d->number;
	error = request->sink(w->topic, w->partition, &fetched, d, &receipt,
						  request->arg);
	if (error != NULL)
	{
		request->found--;
		mk_share_later_fail(&w->later, request->group, h->held, d, false,
							error);
		return false;
	}
	r = mk_share_held_add(request->group, h->held, record->offset, d);
	r->accept = request->accept;
	r->delivered = request->lock_duration == 0;
	if (request->lock_duration > 0)
	{
		const MkShareAnswer lock = {.outcome = MK_OUTCOME_LOCK,
									.until =
										request->now + request->lock_duration,
									.count = d->count + 1};

		mk_share_held_answer(r, &lock);
	}
	request->bytes += record->bytes;
	request->full = request->found >= request->max_records;
	h->taken = true;
	return true;
}

/* Whether a delivery makes the record wait, and until when. */
static bool
mk_walk_waits(MkWalk *w, MkShareSlot *s, const MkDelivery *d)
{
	MkShareRequest *request = w->request;

	if (d->state == MK_DELIVERY_NONE ||
		(d->state != MK_DELIVERY_BLOCKED && d->until <= request->now))
		return false;
	if (d->state != MK_DELIVERY_BLOCKED)
		request->due = Min(request->due, d->until);
	/* a lock may end earlier, so the next walk looks again */
	if (d->state == MK_DELIVERY_BLOCKED)
		s->due = request->now + MK_LOOK_AGAIN;
	else if (d->state != MK_DELIVERY_LOCKED)
		s->due = Min(d->until, request->now + MK_LOOK_AGAIN);
	return true;
}

/* Whether a delivery that does not wait lets the record be handed out. */
static bool
mk_walk_may_deliver(MkWalk *w, MkHeldSlot *held, const MkDelivery *d)
{
	MkShareRequest *request = w->request;

	if (d->state != MK_DELIVERY_LOCKED ||
		d->count < request->group->share->max_deliveries)
		return true;
	if (request->probe)
		request->found++;
	else
		mk_share_later_fail(&w->later, request->group, held, d, true,
							"the acquisition lock has expired");
	return false;
}

/* The record, if it was kept, or NULL. */
static const MkLogRecord *
mk_walk_kept(const MkWalk *w, int64 offset)
{
	for (int i = 0; i < w->nkept && w->kept[i].offset <= offset; i++)
		if (w->kept[i].offset == offset)
			return &w->kept[i];
	return NULL;
}

/*
 * Whether a record that may not be handed out is gone, and holds up nothing.  A
 * worker that has it under a lock may be at work still.
 */
static bool
mk_walk_is_gone(const MkWalk *w, const MkDelivery *d)
{
	if (d->state == MK_DELIVERY_LOCKED || mk_walk_kept(w, d->offset) != NULL)
		return false;
	return !mk_log_get(w->topic, w->partition, d->offset, NULL, NULL);
}

bool
mk_walk_still_waits(MkWalk *w, MkShareSlot *s, bool exists)
{
	int64 offset = s->head->offset;
	MemoryContext old;
	MkDelivery d;
	bool waits;

	/* what this transaction answers may wait no more */
	if (!w->waits || mk_share_held_find(w->memory, s->slot) != NULL)
		return false;
	old = MemoryContextSwitchTo(w->record_context);
	waits = mk_share_seek_delivery(&w->waiting, offset, &d) &&
		mk_walk_waits(w, s, &d);
	if (waits && !exists &&
		(w->topic->compacts || offset < mk_log_start(w->topic, w->partition)) &&
		mk_walk_is_gone(w, &d))
	{
		s->due = 0;
		waits = false;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(w->record_context);
	return waits;
}

MkWalkResult
mk_walk_record(MkWalk *w, MkShareSlot *s, MkHeldSlot *held, int64 offset)
{
	MkShareRequest *request = w->request;
	MkShareRun run;
	MkDelivery d;
	MkHandOut h = {.walk = w, .held = held, .delivery = &d};
	const MkLogRecord *kept = mk_walk_kept(w, offset);
	const MkShareUndone *undone;

	if (offset < w->memory->start)
		return MK_WALK_DONE;
	if (mk_walk_find_run(&w->runs, offset, &run))
	{
		if (mk_walk_is_unseen(w, &run))
			mk_share_memory_set_unseen(w->memory, s, run.xid);
		return MK_WALK_DONE;
	}
	if (TransactionIdIsValid(s->unseen))
		return MK_WALK_BLOCKED;
	(void) mk_share_seek_delivery(&w->deliveries, offset, &d);
	if (mk_walk_waits(w, s, &d))
	{
		w->waits = true;
		return mk_walk_is_gone(w, &d) ? MK_WALK_DONE : MK_WALK_BLOCKED;
	}
	if (!mk_walk_may_deliver(w, held, &d))
		return mk_walk_is_gone(w, &d) ? MK_WALK_DONE : MK_WALK_BLOCKED;
	undone = mk_share_undone_find(w->memory->key.catalog, w->key.group_no,
								  w->key.topic_id, w->key.partition, offset);
	if (undone != NULL && request->found > 0)
		return MK_WALK_BLOCKED;

	if (kept != NULL)
		(void) mk_walk_hand_out(kept, &h);
	else if (!mk_log_get(w->topic, w->partition, offset, mk_walk_hand_out, &h))
		return MK_WALK_DONE;
	if (undone != NULL && h.taken)
		request->full = true;
	return h.taken ? MK_WALK_TAKEN : MK_WALK_BLOCKED;
}
