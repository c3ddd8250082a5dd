/*
 * mk_share_walk.c
 *		The walk of a share group through a partition: which records to hand out.
 *
 * A record is handed out if the transaction holds the lock of its slot, if all
 * earlier records of the slot are done or held by the transaction, and if it does
 * not wait for anything.  A slot is what must stay in order: a key, or with
 * ordering "none" a single record.
 *
 * What is done is decided after the slot is locked.  The rows of the session that
 * had the lock before are visible by then.  What was read earlier is a hint, except
 * that done is for ever.
 *
 * A walk first looks at the records that the session remembers as pending: the
 * first one of each slot, in the order of their offsets, as far as it is due.  Then
 * it goes on in the log where the last walk ended, and passes over what is done.
 *
 * Only what the statement can see.  A worker that is handed out a record must see
 * what was done for the earlier ones of its slot.  So if the active snapshot does
 * not see the transaction that has written that one of them is done, the slot is
 * left alone.  That needs all such runs: they are those after the newest checkpoint
 * that the snapshot sees, none of which is removed while it is held; see
 * mk_share_rows.h.  What the session remembers holds for its later snapshots.  For
 * an earlier one it begins anew.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_due.h"
#include "mk_log.h"
#include "mk_share_checkpoint.h"
#include "mk_share_held.h"
#include "mk_share_later.h"
#include "mk_share_slot.h"
#include "mk_share_undone.h"
#include "mk_share_walk.h"
#include "mk_stale.h"
#include "mk_topic.h"

/* A waiting record is looked at again after this time: a person may act. */
#define MK_LOOK_AGAIN (1 * USECS_PER_SEC)

/* A run that is at least as long is passed over without reading its records. */
#define MK_LONG_RUN 64

typedef struct MkWalk
{
	MkShareRequest *request;
	MkTopic *topic;
	int32 partition;
	MkShareMemory *memory;
	MkShareKey key;
	bool advance; /* only remembers what is done */
	bool loaded; /* the memory has begun anew */
	bool no_slots; /* the transaction holds as many as it may */
	bool stop;
	MemoryContext context; /* of the walk */
	MemoryContext record_context;

	/* the record that the walk through the log is at; NULL: none */
	const MkLogRecord *current;
	MkShareRuns runs;
	bool has_run;
	MkShareRun run; /* the first one that ends at "high" or later */

	MkShareLater later;
} MkWalk;

/* What became of a record of a slot. */
typedef enum MkWalkResult
{
	MK_WALK_DONE, /* or gone */
	MK_WALK_TAKEN,
	MK_WALK_BLOCKED /* it holds up the slot */
} MkWalkResult;

/* ---------------------------------------------------------------------------
 * Memory
 */

/*
 * Begins with the newest checkpoint that the snapshot sees.  If the ordering was
 * ever changed, its slots may be those of the former one.
 */
static void
mk_walk_load(MkWalk *w)
{
	MkShareMemory *m = w->memory;
	bool reordered = w->request->group->share->ordering_epoch > 0;
	MkShareCheckpoint c;

	(void) mk_share_checkpoint_get(m->key.group_no, m->key.topic_id,
								   m->key.partition, w->request->snapshot, &c);
	mk_share_memory_begin(m, c.high);
	m->era = c.era;
	m->ordering_epoch = w->request->group->share->ordering_epoch;
	m->checkpoint = c.number;
	m->start = c.start;
	for (int i = 0; i < c.nexceptions; i++)
	{
		int64 offset = c.exceptions[i].offset;
		uint32 slot = c.exceptions[i].slot;

		if (reordered &&
			!mk_share_slot_of(w->request->group, w->topic, w->partition, offset,
							  &slot))
			continue;
		mk_share_memory_add(m, mk_share_memory_slot(m, slot, true), offset);
	}
	/* not if an error has left out some of them: they would count as done */
	m->valid = true;
}

/*
 * Whether what the session remembers holds for this snapshot and group, and is as
 * good as a checkpoint.  Runs below the start offset of a checkpoint that the
 * snapshot sees may have been removed, so all below it counts as done.
 */
static bool
mk_walk_is_current(const MkWalk *w)
{
	const MkShareRequest *request = w->request;
	MkShareMemory *m = w->memory;
	MkShareCheckpoint c;

	if (!m->valid || mk_share_memory_is_earlier(m, request->snapshot) ||
		m->ordering_epoch != request->group->share->ordering_epoch)
		return false;
	(void) mk_share_checkpoint_peek(m->key.group_no, m->key.topic_id,
									m->key.partition, request->snapshot, &c);
	if (c.number == m->checkpoint)
		return true;
	if (c.number < m->checkpoint || c.era != m->era || c.high > m->high)
		return false;
	m->checkpoint = c.number;
	mk_share_memory_begin_at(m, c.start);
	return true;
}

static void
mk_walk_begin(MkWalk *w)
{
	Snapshot snapshot = w->request->snapshot;
	MkShareMemory *m;
	dlist_mutable_iter iter;

	m = mk_share_memory_get(w->request->group->group_no, w->topic->topic_id,
							w->partition, true);
	w->memory = m;
	w->loaded = !mk_walk_is_current(w);
	if (w->loaded)
		mk_walk_load(w);
	m->xmax = snapshot->xmax;
	m->xcnt = snapshot->xcnt;
	w->key = (MkShareKey){m->key.group_no, m->key.topic_id, m->key.partition,
						  m->era};
	dlist_foreach_modify (iter, &m->unseen)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, unseen_node, iter.cur);

		if (!XidInMVCCSnapshot(s->unseen, snapshot))
			mk_share_memory_set_seen(m, s);
	}
}

/* ---------------------------------------------------------------------------
 * Records of a slot
 */

/* For handing out one record */
typedef struct MkHandOut
{
	MkWalk *walk;
	MkHeldSlot *held;
	const MkDelivery *delivery;
	bool taken;
} MkHandOut;

/* Hands out a record, unless the request is full; an MkLogSink. */
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

/* Whether a delivery lets the record be handed out; if not, until when. */
static bool
mk_walk_may_deliver(MkWalk *w, MkShareSlot *s, MkHeldSlot *held,
					const MkDelivery *d)
{
	MkShareRequest *request = w->request;

	switch (d->state)
	{
		case MK_DELIVERY_NONE:
			return true;
		case MK_DELIVERY_BLOCKED:
			s->due = request->now + MK_LOOK_AGAIN;
			return false;
		case MK_DELIVERY_LOCKED:
			if (d->until > request->now)
			{
				/* it may end earlier, so the next walk looks again */
				request->due = Min(request->due, d->until);
				return false;
			}
			if (d->count < request->group->share->max_deliveries)
				return true;
			if (request->probe)
				request->found++;
			else
				mk_share_later_fail(&w->later, request->group, held, d, true,
									"the acquisition lock has expired");
			return false;
		default:
			if (d->until <= request->now)
				return true;
			s->due = Min(d->until, request->now + MK_LOOK_AGAIN);
			request->due = Min(request->due, d->until);
			return false;
	}
}

/* An MkLogSink for whether there is a record. */
static bool
mk_walk_note(const MkLogRecord *record, void *arg)
{
	return true;
}

/*
 * Whether a record that may not be handed out is gone, and holds up nothing.  A
 * worker that has it under a lock may be at work still.
 */
static bool
mk_walk_is_gone(const MkWalk *w, const MkDelivery *d)
{
	if (d->state == MK_DELIVERY_LOCKED ||
		(w->current != NULL && w->current->offset == d->offset))
		return false;
	return !mk_log_get(w->topic, w->partition, d->offset, mk_walk_note, NULL);
}

/* A record of a slot that the transaction has locked; a probe has not. */
static MkWalkResult
mk_walk_record(MkWalk *w, MkShareSlot *s, MkHeldSlot *held, int64 offset)
{
	MkShareRequest *request = w->request;
	MkShareRun run;
	MkDelivery d;
	MkHandOut h = {.walk = w, .held = held, .delivery = &d};
	const MkShareUndone *undone;
	bool found = true;

	if (offset < w->memory->start)
		return MK_WALK_DONE;
	if (mk_share_run_find(&w->key, offset, &run))
	{
		w->memory->runs++;
		if (XidInMVCCSnapshot(run.xid, request->snapshot))
			mk_share_memory_set_unseen(w->memory, s, run.xid);
		return MK_WALK_DONE;
	}
	if (TransactionIdIsValid(s->unseen))
		return MK_WALK_BLOCKED;
	(void) mk_delivery_get(&w->key, offset, &d);
	if (!mk_walk_may_deliver(w, s, held, &d))
		return mk_walk_is_gone(w, &d) ? MK_WALK_DONE : MK_WALK_BLOCKED;
	undone = mk_share_undone_find(w->memory->key.catalog, w->key.group_no,
								  w->key.topic_id, w->key.partition, offset);
	if (undone != NULL && request->found > 0)
		return MK_WALK_BLOCKED;

	if (w->current != NULL && w->current->offset == offset)
		(void) mk_walk_hand_out(w->current, &h);
	else
		found =
			mk_log_get(w->topic, w->partition, offset, mk_walk_hand_out, &h);
	if (!found)
		return MK_WALK_DONE;
	if (undone != NULL && h.taken)
		request->full = true;
	return h.taken ? MK_WALK_TAKEN : MK_WALK_BLOCKED;
}

/* Hands out the records of a slot that are pending, as far as possible. */
static void
mk_walk_slot(MkWalk *w, MkShareSlot *s)
{
	MkHeldSlot *held = mk_share_held_find(w->memory, s->slot);
	MkSharePending *p = s->head;
	MkShareRun run;
	MemoryContext old;

	if (s->due > w->request->now)
	{
		w->request->due = Min(w->request->due, s->due);
		return;
	}
	/* a lock would keep workers from it, and its release would wake one */
	if (w->request->probe && mk_share_held_by_any(w->memory, s->slot))
		return;
	if (held == NULL && !w->request->probe)
	{
		if (w->no_slots)
			return;
		held = mk_share_held_lock(w->request->group, w->memory, s->slot,
								  &w->no_slots);
		if (held == NULL)
			return;
	}
	for (; p != NULL && p->offset <= mk_share_held_last_offset(held);
		 p = p->next)
		if (held->gap && mk_share_held_record(held, p->offset) == NULL &&
			!mk_share_run_find(&w->key, p->offset, &run))
			return;

	old = MemoryContextSwitchTo(w->record_context);
	while (p != NULL && !w->request->full && !mk_share_held_is_closed(held))
	{
		MkSharePending *next = p->next;
		MkWalkResult result = mk_walk_record(w, s, held, p->offset);

		if (w->current == NULL)
			MemoryContextReset(w->record_context);
		if (result == MK_WALK_BLOCKED)
			break;
		/* a record that is gone between others goes with them */
		if (result == MK_WALK_DONE && p == s->head)
			mk_share_memory_pop(w->memory, s);
		p = next;
	}
	MemoryContextSwitchTo(old);
	if (held != NULL && held->last < 0)
		mk_share_held_unlock(held);
}

/* Goes on with a slot after a record that was set aside. */
static void
mk_walk_go_on(uint32 slot, void *arg)
{
	MkWalk *w = arg;
	MkShareSlot *s = mk_share_memory_slot(w->memory, slot, false);

	if (s == NULL)
		return;
	mk_walk_slot(w, s);
	mk_share_memory_release(w->memory, s);
}

/* ---------------------------------------------------------------------------
 * Beyond what is remembered
 */

/* Moves on to the first run that ends at this offset or later. */
static void
mk_walk_next_run(MkWalk *w, int64 offset)
{
	MemoryContext old;

	if (!w->has_run || w->run.last >= offset)
		return;
	/* the scan outlives the record that the walk is at */
	old = MemoryContextSwitchTo(w->context);
	do
	{
		w->has_run = mk_share_runs_next(&w->runs, &w->run);
		w->memory->runs++;
	} while (w->has_run && w->run.last < offset);
	MemoryContextSwitchTo(old);
}

/* Whether the walk has read as many records as it may remember. */
static bool
mk_walk_is_full(const MkWalk *w)
{
	return w->request->full || w->memory->npending >= MK_SHARE_MAX_EXCEPTIONS ||
		w->memory->nheads >= w->request->group->share->max_in_flight;
}

/* Takes a record of the log; an MkLogSink. */
static bool
mk_walk_take(const MkLogRecord *record, void *arg)
{
	MkWalk *w = arg;
	MkShareMemory *m = w->memory;
	int64 offset = record->offset;
	uint32 number;
	MkShareSlot *s;

	w->stop = mk_walk_is_full(w) ||
		!mk_due_is(w->topic, record->ts, w->request->now, &w->request->due);
	if (w->stop)
		return false;
	mk_walk_next_run(w, offset);
	if (w->has_run && w->run.first <= offset)
	{
		bool unseen = XidInMVCCSnapshot(w->run.xid, w->request->snapshot);

		/* the rest of a long run need not be read; what lies before is gone */
		m->high = offset;
		if (!unseen && w->run.last - offset >= MK_LONG_RUN)
			return false;
		if (unseen)
		{
			number = mk_share_slot(w->request->group, record);
			mk_share_memory_set_unseen(m, mk_share_memory_slot(m, number, true),
									   w->run.xid);
		}
		m->high = offset + 1;
		return true;
	}
	number = mk_share_slot(w->request->group, record);
	s = mk_share_memory_slot(m, number, true);
	mk_share_memory_add(m, s, offset);
	m->high = offset + 1;
	if (!w->advance &&
		(s->head->offset == offset || mk_share_held_find(m, number) != NULL))
	{
		w->current = record;
		mk_walk_slot(w, s);
		w->current = NULL;
		mk_share_memory_release(m, s);
	}
	return true;
}

/* Passes over runs that need not be read.  Returns whether it did. */
static bool
mk_walk_pass_runs(MkWalk *w)
{
	MkShareMemory *m = w->memory;
	int64 before = m->high;

	mk_walk_next_run(w, m->high);
	while (w->has_run && w->run.first <= m->high &&
		   !XidInMVCCSnapshot(w->run.xid, w->request->snapshot))
	{
		m->high = w->run.last + 1;
		mk_walk_next_run(w, m->high);
	}
	return m->high > before;
}

/* Goes on in the log. */
static void
mk_walk_log(MkWalk *w)
{
	MkShareMemory *m = w->memory;
	bool moved;

	mk_share_runs_begin(&w->runs, &w->key, m->high);
	w->has_run = mk_share_runs_next(&w->runs, &w->run);
	do
	{
		int64 before = m->high;

		CHECK_FOR_INTERRUPTS();
		/* what is gone is done */
		m->high = Max(m->high, mk_log_start(w->topic, w->partition));
		(void) mk_walk_pass_runs(w);
		(void) mk_log_try_look(w->topic, w->partition, m->high,
							   w->request->snapshot, mk_walk_take, w);
		moved = mk_walk_pass_runs(w) || m->high > before;
	} while (moved && !w->stop && !mk_walk_is_full(w));
	mk_share_runs_end(&w->runs);
}

/* ---------------------------------------------------------------------------
 * The walk
 */

/*
 * If the log has lost records since the checkpoint was made, as by a restore
 * without them, new records would count as done: forgets what was noted about the
 * lost ones.  Only a later snapshot sees that.
 */
static bool
mk_walk_forget_lost(MkWalk *w)
{
	MkForgotten forgotten;

	if (!w->loaded || w->memory->high <= mk_log_end(w->topic, w->partition) ||
		w->memory->high <= mk_log_next_offset(w->topic, w->partition) ||
		mk_catalog_is_settled(w->topic, w->partition))
		return false;
	w->memory->valid = false;
	mk_stale_forget(w->topic, w->partition, &forgotten);
	return true;
}

/* Counts the deliveries that ended in a rollback of this session. */
static void
mk_walk_note_undone(MkWalk *w)
{
	Oid catalog = w->memory->key.catalog;
	MkShareUndone *u = NULL;

	while ((u = mk_share_undone_next(catalog, w->key.group_no, u)) != NULL)
	{
		MkHeldSlot *held;
		MkShareRun run;
		MkDelivery d;

		if (u->failures == 0 || u->topic_id != w->key.topic_id ||
			u->partition != w->key.partition ||
			mk_share_held_find(w->memory, u->slot) != NULL)
			continue;
		held = mk_share_held_lock(w->request->group, w->memory, u->slot,
								  &w->no_slots);
		if (held == NULL)
			continue;
		if (u->era == w->key.era && u->offset >= w->memory->start &&
			!mk_share_run_find(&w->key, u->offset, &run))
		{
			(void) mk_delivery_get(&w->key, u->offset, &d);
			if (d.number == u->number)
			{
				d.count += u->failures - 1;
				mk_share_later_fail(&w->later, w->request->group, held, &d,
									false, "the transaction was rolled back");
				held->gap = true;
				continue;
			}
		}
		u->failures = 0;
		mk_share_held_unlock(held);
	}
}

/* Forgets the first pending records of a slot that are done. */
static void
mk_walk_pop_done(MkWalk *w, MkShareSlot *s)
{
	MkShareRun run;

	while (s->head != NULL && mk_share_run_find(&w->key, s->head->offset, &run))
	{
		if (XidInMVCCSnapshot(run.xid, w->request->snapshot))
			mk_share_memory_set_unseen(w->memory, s, run.xid);
		mk_share_memory_pop(w->memory, s);
	}
}

void
mk_share_walk_checkpoint(MkGroup *group, MkTopic *topic, int32 partition)
{
	MkShareRequest request = {.group = group,
							  .snapshot = GetActiveSnapshot(),
							  .now = mk_clock_now(),
							  .due = DT_NOEND};
	MkWalk w = {.request = &request,
				.topic = topic,
				.partition = partition,
				.advance = true};
	MkShareCheckpoint newest;
	dlist_mutable_iter iter;

	mk_walk_begin(&w);
	w.context = CurrentMemoryContext;
	dlist_foreach_modify (iter, &w.memory->pending)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		CHECK_FOR_INTERRUPTS();
		mk_walk_pop_done(&w, s);
		mk_share_memory_release(w.memory, s);
	}
	mk_walk_log(&w);
	(void) mk_share_checkpoint_peek(group->group_no, topic->topic_id, partition,
									NULL, &newest);
	/* a log that has lost records is for mk_stale.c first */
	if (mk_share_memory_start(w.memory) > newest.start &&
		w.memory->high <= mk_log_end(topic, partition))
		mk_share_checkpoint_make(w.memory);
}

void
mk_share_walk(MkShareRequest *request, MkTopic *topic, int32 partition)
{
	MkWalk w = {.request = request, .topic = topic, .partition = partition};
	dlist_mutable_iter iter;

	mk_walk_begin(&w);
	if (mk_walk_forget_lost(&w))
		return;
	w.context = CurrentMemoryContext;
	w.record_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka record", ALLOCSET_DEFAULT_SIZES);
	if (!request->probe)
		mk_walk_note_undone(&w);
	dlist_foreach_modify (iter, &w.memory->pending)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		if (request->full)
			break;
		CHECK_FOR_INTERRUPTS();
		mk_walk_slot(&w, s);
		mk_share_memory_release(w.memory, s);
	}
	if (!request->full)
		mk_walk_log(&w);
	mk_share_later_answer(&w.later, request->group, topic, w.memory,
						  &request->parked, mk_walk_go_on, &w);
	MemoryContextDelete(w.record_context);
}
