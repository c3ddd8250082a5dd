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
 * Where one record waits to be tried again, often many do.  So a walk that has met
 * one looks at the deliveries of the next ones without a lock, and leaves those that
 * wait.  That only delays: nothing is handed out by it, and what was released
 * meanwhile is looked at again, as if the look under the lock had come just before.
 *
 * A walk first looks at the records that the session remembers as pending: the
 * first one of each slot, as far as it is due.  Then it goes on in the log where the
 * last walk ended, and passes over what is done.  It locks as many slots as it needs
 * before it looks up under the locks what is done in them, so that it does so for
 * all of them with one scan.
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
#include "mk_partition.h"
#include "mk_share_checkpoint.h"
#include "mk_share_held.h"
#include "mk_share_recall.h"
#include "mk_share_seek.h"
#include "mk_share_slot.h"
#include "mk_share_undone.h"
#include "mk_share_walk.h"
#include "mk_stale.h"
#include "mk_topic.h"
#include "mk_wakeup.h"

/* Runs that have at least so many records are passed over without reading these. */
#define MK_LONG_RUN 6

/* A walk passes over so many records, and some for each that is asked for. */
#define MK_WALK_PATIENCE 100

/* So many bytes of records are kept before the first of them is handed out. */
#define MK_WALK_BYTES (1024 * 1024)

/* ---------------------------------------------------------------------------
 * Memory and cursors
 */

static void
mk_walk_begin(MkWalk *w)
{
	MkShareMemory *m =
		mk_share_recall(w->request->group, w->topic, w->partition,
						w->request->snapshot, &w->loaded);

	w->memory = m;
	w->key.group_no = m->key.group_no;
	w->key.topic_id = m->key.topic_id;
	w->key.partition = m->key.partition;
	w->key.era = m->era;
	w->young = PG_INT64_MAX;
	w->first_slot = mk_share_held_slots();
	w->record_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka record", ALLOCSET_DEFAULT_SIZES);
	w->kept_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka records", ALLOCSET_DEFAULT_SIZES);
	mk_share_seek_runs(&w->hints, &w->key);
	mk_share_seek_deliveries(&w->waiting, &w->key);
	mk_share_seek_runs(&w->runs, &w->key);
	mk_share_seek_deliveries(&w->deliveries, &w->key);
}

/* Closes the scans: what follows may run code of an owner. */
static void
mk_walk_close(MkWalk *w)
{
	mk_share_seek_close(&w->hints);
	mk_share_seek_close(&w->waiting);
	mk_share_seek_close(&w->runs);
	mk_share_seek_close(&w->deliveries);
}

static void
mk_walk_end(MkWalk *w)
{
	mk_walk_close(w);
	w->memory->runs += w->hints.rows_read;
	MemoryContextDelete(w->record_context);
	MemoryContextDelete(w->kept_context);
}

/*
 * Locks a slot, unless another session has it.  What was read before does not tell
 * what is done in it.
 */
static MkHeldSlot *
mk_walk_lock(MkWalk *w, uint32 slot)
{
	MkHeldSlot *held =
		mk_share_held_lock(w->request->group, w->memory, slot, &w->no_slots);

	if (held != NULL)
	{
		mk_share_seek_close(&w->runs);
		mk_share_seek_close(&w->deliveries);
	}
	return held;
}

/*
 * Whether the transaction holds the slot, or locks it now.  A probe does not: its
 * lock would keep workers from the slot, and the release would wake one.
 */
static bool
mk_walk_hold(MkWalk *w, MkShareSlot *s)
{
	if (s->due > w->request->now)
	{
		w->request->due = Min(w->request->due, s->due);
		return false;
	}
	/* no record is due before an earlier one of the partition is */
	if (s->head->offset >= w->young)
		return false;
	if (w->request->probe)
		return !mk_share_held_by_any(w->memory, s->slot);
	return mk_share_held_find(w->memory, s->slot) != NULL ||
		(!w->no_slots && mk_walk_lock(w, s->slot) != NULL);
}

/* Ends a batch, and begins with another one. */
static void
mk_walk_begin_batch(MkWalk *w)
{
	const MkShareRequest *request = w->request;

	/* a worker may sleep because it has found only slots that are free now */
	if (mk_share_held_unlock_unused(w->first_slot) && request->full)
		mk_wakeup_notify_share(request->group->group_no);
	w->no_slots = false;
	w->max_batch =
		(int) Min(request->max_records - request->found, MK_WALK_BATCH);
	w->max_batch = Max(Min(w->max_batch, mk_share_held_room()), 1);
	w->nbatch = 0;
	w->nkept = 0;
	w->kept = NULL;
	w->kept_bytes = 0;
	MemoryContextReset(w->kept_context);
}

/* Adds a slot to the batch, unless it is there. */
static void
mk_walk_add(MkWalk *w, MkShareSlot *s)
{
	for (int i = 0; i < w->nbatch; i++)
		if (w->batch[i].slot == s)
			return;
	w->batch[w->nbatch++].slot = s;
}

/* ---------------------------------------------------------------------------
 * Records that are pending
 */

/* The first record of a held slot that the transaction does not hold; or NULL. */
static MkSharePending *
mk_walk_first(MkWalk *w, const MkShareSlot *s)
{
	MkHeldSlot *held = mk_share_held_find(w->memory, s->slot);
	MkSharePending *p = s->head;
	MkShareRun run;

	for (; p != NULL && p->offset <= mk_share_held_last_offset(held);
		 p = p->next)
		if (held->gap && mk_share_held_record(held, p->offset) == NULL &&
			!mk_walk_find_run(&w->runs, p->offset, &run))
			return NULL;
	return p;
}

/* Hands out a record, if possible; returns the next one of its slot, if any. */
static MkSharePending *
mk_walk_step(MkWalk *w, MkShareSlot *s, MkSharePending *p)
{
	MkHeldSlot *held = mk_share_held_find(w->memory, s->slot);
	MkSharePending *next = p->next;
	MkWalkResult result = MK_WALK_BLOCKED;
	MemoryContext old = MemoryContextSwitchTo(w->record_context);

	if (!mk_share_held_is_closed(held))
		result = mk_walk_record(w, s, held, p->offset);
	MemoryContextSwitchTo(old);
	MemoryContextReset(w->record_context);
	/* a record that is gone between others goes with them */
	if (result == MK_WALK_DONE && p == s->head)
		mk_share_memory_pop(w->memory, s);
	return result == MK_WALK_BLOCKED ? NULL : next;
}

/* Hands out the records of the batch, in the order of their offsets. */
static void
mk_walk_give(MkWalk *w)
{
	for (int i = 0; i < w->nbatch; i++)
		w->batch[i].next = mk_walk_first(w, w->batch[i].slot);
	while (!w->request->full)
	{
		MkWalkSlot *lowest = NULL;

		for (int i = 0; i < w->nbatch; i++)
			if (w->batch[i].next != NULL &&
				(lowest == NULL ||
				 w->batch[i].next->offset < lowest->next->offset))
				lowest = &w->batch[i];
		if (lowest == NULL)
			break;
		lowest->next = mk_walk_step(w, lowest->slot, lowest->next);
	}
	for (int i = 0; i < w->nbatch; i++)
		mk_share_memory_release(w->memory, w->batch[i].slot);
	mk_walk_begin_batch(w);
}

/* Goes on with a slot after a record that was set aside. */
static void
mk_walk_go_on(uint32 slot, void *arg)
{
	MkWalk *w = arg;
	MkShareSlot *s = mk_share_memory_slot(w->memory, slot, false);

	if (s == NULL)
		return;
	mk_walk_add(w, s);
	mk_walk_give(w);
	mk_walk_close(w);
}

/* Whether a record that is not done is gone, and no worker is at work with it. */
static bool
mk_walk_is_lost(const MkWalk *w, int64 offset)
{
	MkDelivery d;

	return !mk_log_get(w->topic, w->partition, offset, NULL, NULL) &&
		(!mk_delivery_get(&w->key, offset, &d) ||
		 d.state != MK_DELIVERY_LOCKED || d.until <= w->request->now);
}

/*
 * Forgets the first pending records of a slot that are done; before a checkpoint,
 * those that are gone, too.
 */
static void
mk_walk_pop_done(MkWalk *w, MkShareSlot *s)
{
	MkShareRun run;

	for (; s->head != NULL; mk_share_memory_pop(w->memory, s))
		if (mk_walk_find_run(&w->hints, s->head->offset, &run))
		{
			if (mk_walk_is_unseen(w, &run))
				mk_share_memory_set_unseen(w->memory, s, run.xid);
		}
		else if (!w->advance || !mk_walk_is_lost(w, s->head->offset))
			return;
}

/*
 * Whether to leave a slot because its first record waits.  Otherwise forgets the first
 * records that are done.
 */
static bool
mk_walk_leave(MkWalk *w, MkShareSlot *s)
{
	int64 offset = s->head->offset;
	bool first = s->due == 0;
	bool waits = mk_walk_still_waits(w, s, false);

	/*
	 * A record that waits is done only if a person has answered it.  To look for
	 * that has time until the second look, a second later at most.  A lock, which
	 * sets no time, also ends by an answer.
	 */
	if (waits && first && s->due != 0)
	{
		w->request->due = Min(w->request->due, s->due);
		return true;
	}
	mk_walk_pop_done(w, s);
	return waits && s->head != NULL && s->head->offset == offset;
}

/* Hands out what is remembered as pending. */
static void
mk_walk_pending(MkWalk *w)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify (iter, &w->memory->pending)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		CHECK_FOR_INTERRUPTS();
		if (s->due > w->request->now || !mk_walk_leave(w, s))
		{
			if (s->head == NULL)
				mk_share_memory_release(w->memory, s);
			else if (mk_walk_hold(w, s))
				mk_walk_add(w, s);
		}
		if (w->nbatch < w->max_batch && iter.next != iter.end)
			continue;
		mk_walk_give(w);
		if (w->request->full)
			break;
	}
}

/* ---------------------------------------------------------------------------
 * Beyond what is remembered
 */

/* Whether the walk has read as many records as it may remember. */
static bool
mk_walk_is_full(const MkWalk *w)
{
	return w->request->full || w->memory->npending >= MK_SHARE_MAX_EXCEPTIONS ||
		w->memory->nheads >= w->request->group->share->max_in_flight;
}

/*
 * Whether to look in another partition first: here many records are held by others,
 * or come after such ones.  If the transaction has no room for slots, few of the
 * records that follow are for it.
 */
static bool
mk_walk_is_crowded(MkWalk *w)
{
	MkShareRequest *request = w->request;

	if (!request->hasty || w->passed < 2 * request->max_records ||
		(w->passed < MK_WALK_PATIENCE + 10 * request->max_records &&
		 mk_share_held_room() > 0))
		return false;
	request->left = true;
	return true;
}

/* Passes over runs that need not be read. */
static void
mk_walk_pass_runs(MkWalk *w)
{
	MkShareRun run;

	while (mk_walk_find_run(&w->hints, w->memory->high, &run) &&
		   !mk_walk_is_unseen(w, &run))
		w->memory->high = run.last + 1;
}

/* Keeps a record for being handed out; whether there is room for another one. */
static bool
mk_walk_keep(MkWalk *w, const MkLogRecord *record)
{
	MemoryContext old = MemoryContextSwitchTo(w->kept_context);

	w->kept =
		mk_array_grow(w->kept_context, w->kept, w->nkept, sizeof(MkLogRecord));
	w->kept[w->nkept] = *record;
	mk_scan_copy(&w->kept[w->nkept++]);
	MemoryContextSwitchTo(old);
	w->kept_bytes += record->bytes;
	return w->nkept < w->max_batch && w->kept_bytes < MK_WALK_BYTES;
}

/* Takes a record of the log; an MkLogSink. */
static bool
mk_walk_take(const MkLogRecord *record, void *arg)
{
	MkWalk *w = arg;
	MkShareMemory *m = w->memory;
	int64 offset = record->offset;
	MkShareSlot *s;
	MkShareRun run;

	if (offset < m->high)
		return true; /* in a run that was passed over */
	w->stop = mk_walk_is_full(w) || mk_walk_is_crowded(w) ||
		!mk_due_is(w->topic, record->ts, w->request->now, &w->request->due);
	if (w->stop)
		return false;
	m->high = offset; /* what lies before is gone */
	mk_walk_pass_runs(w);
	w->more = m->high - offset >= MK_LONG_RUN;
	if (m->high > offset)
		return !w->more;
	if (w->nkept > 0 &&
		w->request->bytes + w->kept_bytes + record->bytes >
			w->request->max_bytes)
	{
		w->more = true;
		return false;
	}
	s = mk_share_memory_slot(m, mk_share_slot(w->request->group, record), true);
	if (mk_walk_find_run(&w->hints, offset, &run))
	{
		mk_share_memory_set_unseen(m, s, run.xid);
		m->high = offset + 1;
		return true;
	}
	mk_share_memory_add(m, s, offset);
	/* not earlier: after an error the record would count as done */
	m->high = offset + 1;
	if (s->head->offset == offset && mk_walk_still_waits(w, s, true))
		return true;
	if (!w->advance &&
		(s->head->offset == offset || mk_share_held_find(m, s->slot) != NULL) &&
		mk_walk_hold(w, s))
	{
		mk_walk_add(w, s);
		w->more = !mk_walk_keep(w, record);
	}
	else
		w->passed++;
	return !w->more;
}

/* Goes on in the log. */
static void
mk_walk_log(MkWalk *w)
{
	MkShareMemory *m = w->memory;

	do
	{
		CHECK_FOR_INTERRUPTS();
		w->more = false;
		/* what is gone is done */
		m->high = Max(m->high, mk_log_start(w->topic, w->partition));
		mk_walk_pass_runs(w);
		(void) mk_log_try_look(w->topic, w->partition, m->high,
							   w->request->snapshot, mk_walk_take, w);
		mk_walk_give(w);
	} while (w->more && !w->stop && !mk_walk_is_full(w));
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
		mk_partition_is_settled(w->topic, w->partition))
		return false;
	w->memory->valid = false;
	mk_stale_forget(w->topic, w->partition, &forgotten);
	return true;
}

/* What is told about a delivery that ended in a rollback. */
static const char *
mk_undone_error(int sqlstate)
{
	if (sqlstate == 0)
		return "the transaction was rolled back";
	return psprintf("the transaction was rolled back (SQLSTATE %s)",
					unpack_sql_state(sqlstate));
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
			u->partition != w->key.partition)
			continue;
		held = mk_share_held_find(w->memory, u->slot);
		if (held == NULL)
			held = mk_walk_lock(w, u->slot);
		/* the earlier ones that the transaction holds hold up this one */
		else if (mk_share_held_is_closed(held) ||
				 mk_share_held_last_offset(held) >= u->offset)
			continue;
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
									false, mk_undone_error(u->sqlstate));
				held->gap = true;
				continue;
			}
		}
		u->failures = 0;
		mk_share_held_unlock_unused(w->first_slot);
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
	dlist_foreach_modify (iter, &w.memory->pending)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		CHECK_FOR_INTERRUPTS();
		mk_walk_pop_done(&w, s);
		mk_share_memory_release(w.memory, s);
	}
	mk_walk_log(&w);
	mk_walk_end(&w);
	(void) mk_share_checkpoint_peek(group->group_no, topic->topic_id, partition,
									NULL, &newest);
	/* a log that has lost records is for mk_stale.c first */
	if (mk_share_memory_start(w.memory) > newest.start &&
		w.memory->high <= mk_log_end(topic, partition))
		mk_share_checkpoint_make(w.memory, mk_log_start(topic, partition));
}

void
mk_share_walk(MkShareRequest *request, MkTopic *topic, int32 partition)
{
	MkWalk w = {.request = request, .topic = topic, .partition = partition};

	mk_walk_begin(&w);
	if (mk_walk_forget_lost(&w))
	{
		mk_walk_end(&w);
		return;
	}
	mk_walk_begin_batch(&w);
	if (!request->probe)
		mk_walk_note_undone(&w);
	mk_walk_pending(&w);
	if (!request->full)
		mk_walk_log(&w);
	mk_walk_close(&w);
	mk_share_later_answer(&w.later, request->group, topic, w.memory,
						  &request->noted, mk_walk_go_on, &w);
	mk_walk_end(&w);
}
