/*
 * mk_share_survey.c
 *		What a share group has not done in a partition, for people and monitoring.
 *
 * A survey reads what a walk reads (see mk_share_walk.c), but as it is now, and
 * without taking slots: the exceptions of the newest checkpoint, and then the
 * records after it that no run has.  It looks at each of the latter up to a
 * number, beyond which a walk does not go either.  The rest is counted by offsets.
 * So a survey costs what was done since the checkpoint and that number at most,
 * however far the group is behind.
 *
 * The runs from the start offset of the newest checkpoint on are there for as long
 * as the active snapshot, which is none older than the survey, is held; see
 * mk_share_rows.h.
 *
 * Of the records of a slot, only the first can be at a worker for sure.  A session
 * that has the slot may have more of them, but only that session knows.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/snapmgr.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_due.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_share_checkpoint.h"
#include "mk_share_lost.h"
#include "mk_share_slot.h"
#include "mk_share_survey.h"

/* A run that is at least as long is passed over without reading its records. */
#define MK_LONG_RUN 64

/* A record that is not done */
typedef struct MkSurveyed
{
	int64 offset;
	uint32 slot;
	bool behind; /* another record of the slot comes before it */
} MkSurveyed;

typedef struct MkSurvey
{
	const MkGroup *group;
	const MkTopic *topic;
	MkShareKey key;
	MemoryContext context; /* of the survey */
	int64 end;
	int64 next; /* from here on no record was looked at */
	bool full; /* no further record is looked at */
	bool any; /* "start" is set */
	int64 start; /* the first offset that is neither done nor gone */

	/* runs from "next" on, ascending */
	MkShareRuns runs;
	bool has_run;
	MkShareRun run;

	int n;
	MkSurveyed *records; /* by offset */
	HTAB *slots; /* that they have */

	/* the first delivery row from some record on; see mk_survey_delivery */
	MkDelivery delivery;
} MkSurvey;

/* ---------------------------------------------------------------------------
 * Which records are not done
 */

static void
mk_survey_set_start(MkSurvey *s, int64 offset)
{
	if (!s->any)
		s->start = offset;
	s->any = true;
}

static void
mk_survey_add(MkSurvey *s, int64 offset, uint32 slot)
{
	MkSurveyed *r;

	s->records = mk_array_grow(CurrentMemoryContext, s->records, s->n,
							   sizeof(MkSurveyed));
	r = &s->records[s->n++];
	r->offset = offset;
	r->slot = slot;
	(void) hash_search(s->slots, &slot, HASH_ENTER, &r->behind);
	mk_survey_set_start(s, offset);
}

/* Moves on to the first run that ends at this offset or later. */
static void
mk_survey_next_run(MkSurvey *s, int64 offset)
{
	while (s->has_run && s->run.last < offset)
	{
		CHECK_FOR_INTERRUPTS();
		s->has_run = mk_share_runs_next(&s->runs, &s->run);
	}
}

/* The number of offsets from one to another that no run has. */
static int64
mk_survey_count(MkSurvey *s, int64 from, int64 to)
{
	int64 count = 0;

	while (from < to)
	{
		int64 until = to;

		mk_survey_next_run(s, from);
		if (s->has_run)
			until = Min(to, s->run.first);
		if (until > from)
		{
			mk_survey_set_start(s, from);
			count += until - from;
		}
		if (!s->has_run)
			break;
		from = s->run.last + 1;
	}
	return count;
}

/* Adds the exceptions of a checkpoint that are not done, from the log start on. */
static void
mk_survey_exceptions(MkSurvey *s, const MkShareCheckpoint *c, int64 log_start)
{
	/* the slots may be those of another ordering, and the records gone */
	bool look = s->group->share->ordering_epoch > 0 || s->topic->compacts;

	for (int i = 0; i < c->nexceptions; i++)
	{
		int64 offset = c->exceptions[i].offset;
		uint32 slot = c->exceptions[i].slot;
		MkShareRun run;

		CHECK_FOR_INTERRUPTS();
		if (offset >= log_start && !mk_share_run_find(&s->key, offset, &run) &&
			(!look ||
			 mk_share_slot_of(s->group, s->topic, s->key.partition, offset,
							  &slot)))
			mk_survey_add(s, offset, slot);
	}
}

/* Takes a record of the log.  Returns whether to go on with the next one. */
static bool
mk_survey_record(MkSurvey *s, const MkLogRecord *record)
{
	int64 offset = record->offset;

	s->full = offset >= s->end || s->n >= MK_SHARE_MAX_EXCEPTIONS;
	if (s->full)
		return false;
	mk_survey_next_run(s, offset);
	s->next = offset;
	if (s->has_run && s->run.first <= offset)
	{
		if (s->run.last - offset >= MK_LONG_RUN)
			return false;
	}
	else
		mk_survey_add(s, offset, mk_share_slot(s->group, record));
	s->next = offset + 1;
	return true;
}

/* An MkLogSink */
static bool
mk_survey_take(const MkLogRecord *record, void *arg)
{
	MkSurvey *s = arg;
	/* what is kept outlives the record */
	MemoryContext old = MemoryContextSwitchTo(s->context);
	bool more = mk_survey_record(s, record);

	MemoryContextSwitchTo(old);
	return more;
}

/*
 * Adds the records of the log, and returns how many offsets it has not looked at
 * that no run has.
 */
static int64
mk_survey_log(MkSurvey *s)
{
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	int64 before;

	/* a snapshot that was taken after the end was read sees all below it */
	do
	{
		before = s->next;
		mk_survey_next_run(s, s->next);
		if (s->has_run && s->run.first <= s->next)
			s->next = s->run.last + 1;
		if (s->next >= s->end)
			break;
		(void) mk_log_try_look(s->topic, s->key.partition, s->next, snapshot,
							   mk_survey_take, s);
	} while (!s->full && s->next > before);
	UnregisterSnapshot(snapshot);
	return s->full ? mk_survey_count(s, s->next, s->end) : 0;
}

/* An MkDeliverySink that keeps the first one. */
static bool
mk_survey_keep(const MkDelivery *delivery, void *arg)
{
	MkDelivery *d = arg;

	*d = *delivery;
	if (d->error != NULL)
		d->error = pstrdup(d->error);
	return false;
}

/*
 * Reads all.  *lost is the number of records that were removed before they were done,
 * *rest that of offsets from s->next on that are not done.
 */
static void
mk_survey_read(MkSurvey *s, const MkGroup *group, const MkTopic *topic,
			   int32 partition, int64 log_start, int64 end, int64 *lost,
			   int64 *rest)
{
	HASHCTL ctl = {.keysize = sizeof(uint32), .entrysize = sizeof(uint32)};
	MkShareCheckpoint c;

	memset(s, 0, sizeof(*s));
	s->context = CurrentMemoryContext;
	ctl.hcxt = s->context;
	s->slots = hash_create("minikafka surveyed slots", 64, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	s->group = group;
	s->topic = topic;
	s->end = end;
	s->delivery.offset = -1;
	(void) mk_share_checkpoint_get(group->group_no, topic->topic_id, partition,
								   NULL, &c);
	s->key.group_no = group->group_no;
	s->key.topic_id = topic->topic_id;
	s->key.partition = partition;
	s->key.era = c.era;
	*lost = mk_share_lost(&s->key, &c, log_start);
	mk_survey_exceptions(s, &c, log_start);
	s->next = Max(c.high, log_start);
	mk_share_runs_begin(&s->runs, &s->key, s->next);
	s->has_run = mk_share_runs_next(&s->runs, &s->run);
	*rest = mk_survey_log(s);
	mk_share_runs_end(&s->runs);
	if (!s->any)
		s->start = Max(s->next, end);
}

/* ---------------------------------------------------------------------------
 * Deliveries
 */

/*
 * The newest row about a record; with the number 0 if there is none.  To be called
 * with ascending offsets: most records have no row, and where rows are rare one
 * look finds the next of them.
 */
static const MkDelivery *
mk_survey_delivery(MkSurvey *s, int64 offset, MkDelivery *none)
{
	MkDelivery *d = &s->delivery;

	if (d->offset < offset)
	{
		if (d->error != NULL)
			pfree(d->error);
		memset(d, 0, sizeof(*d));
		d->offset = PG_INT64_MAX;
		mk_delivery_scan(&s->key, offset, NULL, mk_survey_keep, d);
	}
	if (d->offset == offset)
		return d;
	memset(none, 0, sizeof(*none));
	none->offset = offset;
	none->until = DT_NOBEGIN;
	return none;
}

static bool
mk_survey_is_locked(const MkDelivery *d, TimestampTz now)
{
	return d->state == MK_DELIVERY_LOCKED && d->until > now;
}

void
mk_share_survey_lag(const MkGroup *group, const MkTopic *topic, int32 partition,
					int64 log_start, int64 end, MkShareLag *lag)
{
	TimestampTz now = mk_clock_now();
	TimestampTz next = DT_NOEND;
	const int64 most = group->share->max_in_flight;
	int64 heads = 0;
	bool any = false; /* of the records that a walk comes to, one is ready */
	int64 due;
	MkSurvey s;

	memset(lag, 0, sizeof(*lag));
	mk_survey_read(&s, group, topic, partition, log_start, end, &lag->lost,
				   &lag->ready);
	lag->start = s.start;
	/* from there on the records are younger than the topic's delay */
	due = mk_due_end(topic, partition,
					 Max(lag->start, mk_log_start(topic, partition)),
					 GetActiveSnapshot(), now, &next);
	lag->waiting = Min(lag->ready, Max(end - Max(s.next, due), 0));
	lag->ready -= lag->waiting;
	for (int i = 0; i < s.n; i++)
	{
		const MkSurveyed *r = &s.records[i];
		MkDelivery none;
		const MkDelivery *d;

		CHECK_FOR_INTERRUPTS();
		heads += r->behind ? 0 : 1;
		if (r->behind || r->offset >= due)
		{
			lag->waiting++;
			continue;
		}
		d = mk_survey_delivery(&s, r->offset, &none);
		if (mk_delivery_waits(d, now))
			lag->waiting++;
		else if (mk_survey_is_locked(d, now) ||
				 mk_lock_share_slot_is_held(s.key.group_no, s.key.topic_id,
											partition, r->slot))
			lag->in_flight++;
		else
		{
			lag->ready++;
			any |= heads <= most;
		}
	}
	/* no walk comes to those beyond as long as nothing before them is done */
	if (!any)
	{
		lag->waiting += lag->ready;
		lag->ready = 0;
	}
}

void
mk_share_survey_deliveries(const MkGroup *group, const MkTopic *topic,
						   int32 partition, MkShareSurveySink sink, void *arg)
{
	TimestampTz now = mk_clock_now();
	int64 log_start = mk_log_start(topic, partition);
	int64 lost;
	int64 rest;
	MkSurvey s;

	mk_survey_read(&s, group, topic, partition, log_start,
				   Max(log_start, mk_log_end(topic, partition)), &lost, &rest);
	for (int i = 0; i < s.n; i++)
	{
		const MkSurveyed *r = &s.records[i];
		MkDelivery none;
		const MkDelivery *d = mk_survey_delivery(&s, r->offset, &none);
		int pid = 0;

		CHECK_FOR_INTERRUPTS();
		if (!r->behind && !mk_delivery_waits(d, now) &&
			!mk_survey_is_locked(d, now))
			pid = mk_lock_share_slot_holder(s.key.group_no, s.key.topic_id,
											partition, r->slot);
		if (pid != 0 || d->number > 0)
			sink(&s.key, d, pid, arg);
	}
}
