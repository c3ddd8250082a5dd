/*
 * mk_maintenance_topic.c
 *		Maintenance of topics: next segments, retention, compaction.
 *
 * Topics are maintained partition by partition.  Each step about a partition
 * holds the partition's cleaning lock, so that two sessions never remove the
 * same records, and the lock that says that the topic is in use, so that it is
 * not dropped meanwhile.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_check.h"
#include "mk_clock.h"
#include "mk_compact.h"
#include "mk_compacted.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_maintenance_topic.h"
#include "mk_partition.h"
#include "mk_retain.h"
#include "mk_rows.h"
#include "mk_segment_check.h"
#include "mk_segment_drop.h"
#include "mk_stale.h"
#include "mk_topic.h"
#include "mk_topic_admin.h"

/*
 * Before it gives back the space of removed records, maintenance waits for short
 * transactions that can still see them: it retries this often, sleeping this long
 * between tries.
 */
#define MK_GONE_TRIES    40
#define MK_GONE_SLEEP_US 5000

/*
 * The minimum lag of compaction in a pass, where the topic does not set one.  A
 * consumer that is not far behind then sees all records, as in Kafka, which
 * never compacts the active segment.
 */
#define MK_DEFAULT_COMPACTION_LAG USECS_PER_HOUR

typedef struct MkTopicWork MkTopicWork;
typedef void (*MkTopicStep)(MkTopicWork *w);

/* What the steps about topics work on, and what they tell each other. */
struct MkTopicWork
{
	const MkSteps *steps;
	int64 removed; /* records */

	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int64 segment;

	/* partitions whose last record has a time in the future; the latest time */
	int nahead;
	TimestampTz ahead;

	/* a pass of compaction */
	MemoryContext partition_context;
	MkCompaction *compaction;
	MkCompacted pass;
	int64 horizon;
	List *give_back; /* of MkSpace */
	TransactionId removed_before;
	int gone_tries;

	/* the step that runs, and its result */
	MkTopicStep step;
	bool busy; /* another session has the partition */
	bool dropping; /* another session drops the topic */
	bool stopped; /* the topic's cleanup_policy no longer says "compact" */
	bool more; /* there is more to do of the same */
};

/* The MkStep of all steps here */
static void
mk_work_do_step(void *arg)
{
	MkTopicWork *w = arg;

	w->step(w);
}

/* Sets the next step, and clears the results of the last one. */
static void
mk_work_set_step(MkTopicWork *w, MkTopicStep step)
{
	w->step = step;
	w->busy = false;
	w->dropping = false;
	w->stopped = false;
	w->more = false;
}

/* See mk_step_run and mk_step_run_async. */
static bool
mk_work_step(MkTopicWork *w, MkTopicStep step, const char *what)
{
	mk_work_set_step(w, step);
	return mk_step_run(w->steps, mk_work_do_step, w, what);
}

static bool
mk_work_step_async(MkTopicWork *w, MkTopicStep step, const char *what)
{
	mk_work_set_step(w, step);
	return mk_step_run_async(w->steps, mk_work_do_step, w, what);
}

/* ---------------------------------------------------------------------------
 * Partitions
 */

/* What a step does, for reports; in memory that outlives the steps. */
static const char *
mk_activity(MkTopicWork *w, const char *what)
{
	MemoryContext old = MemoryContextSwitchTo(w->steps->context);
	const char *activity = psprintf("%s of topic \"%s\" partition %d", what,
									NameStr(w->topic->name), w->partition);

	MemoryContextSwitchTo(old);
	return activity;
}

/*
 * Takes the locks of a step about the partition.  False if another session holds
 * one of them, which only a pass does not wait for.
 */
static bool
mk_begin_partition(MkTopicWork *w)
{
	if (!w->steps->is_pass)
		mk_lock_topic_in_use(w->topic_id);
	else
		w->dropping = !mk_lock_topic_in_use_try(w->topic_id);
	w->busy = w->dropping;
	if (w->dropping)
		return false;
	mk_catalog_check_topic(w->topic, w->topic_id);
	w->busy = !mk_lock_cleaning(w->topic_id, w->partition, !w->steps->is_pass);
	/* the former holder may have dropped tables */
	AcceptInvalidationMessages();
	return !w->busy;
}

/*
 * Resets offsets and forgets sequences that a restore without the records has
 * left behind; see mk_stale.c.
 */
static void
mk_forget_lost(MkTopicWork *w)
{
	MkForgotten forgotten;

	if (mk_partition_is_settled(w->topic, w->partition))
		return;
	mk_stale_forget(w->topic, w->partition, &forgotten);
	if (forgotten.groups == 0 && forgotten.producers == 0)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("topic \"%s\" partition %d has lost records",
					NameStr(w->topic->name), w->partition),
			 errdetail("Offsets beyond its end, " INT64_FORMAT
					   ", were noted, as after a restore without the records. "
					   "The offsets of %d groups are reset, and the sequences "
					   "of %d producers are forgotten.",
					   forgotten.tail, forgotten.groups, forgotten.producers)));
}

/* Checks that all tables are there, and that no record is from the future. */
static void
mk_do_check(MkTopicWork *w)
{
	TimestampTz last;

	if (!mk_begin_partition(w))
		return;
	mk_check_tables(w->topic, w->partition);
	mk_forget_lost(w);
	last = mk_log_last_time(w->topic, w->partition);
	if (mk_clock_is_ahead(last))
	{
		w->nahead++;
		w->ahead = Max(w->ahead, last);
	}
}

/* Makes the next segment if it will be needed soon. */
static void
mk_do_make_ahead(MkTopicWork *w)
{
	if (mk_begin_partition(w))
		mk_log_make_ahead(w->topic, w->partition,
						  mk_log_end(w->topic, w->partition) - 1,
						  MK_MAKE_AHEAD);
}

/* Retention and compaction by age stand still until that time has come. */
static void
mk_warn_ahead(const MkTopicWork *w)
{
	ereport(
		WARNING,
		(errcode(ERRCODE_WARNING),
		 errmsg("records of topic \"%s\" have times in the future",
				NameStr(w->topic->name)),
		 errdetail_plural("The clock was wrong when they were sent to %d "
						  "partition, and later records get no earlier "
						  "times.  Nothing is removed by its age before "
						  "%s.",
						  "The clock was wrong when they were sent to %d "
						  "partitions, and later records get no earlier "
						  "times.  Nothing is removed by its age before "
						  "%s.",
						  w->nahead, w->nahead, timestamptz_to_str(w->ahead)),
		 errhint("When they have been read, use minikafka.delete_records() "
				 "with -1: the next record gets the time of the clock "
				 "again.  minikafka.check_topic() finds them.")));
}

/* Moves the log start to where retention says. */
static void
mk_do_retain(MkTopicWork *w)
{
	int64 before;
	int64 from;

	if (!mk_begin_partition(w))
		return;
	from = mk_retain_from(w->topic, w->partition, mk_clock_now());
	w->more = from > 0; /* there may be records below it */
	if (from <= mk_log_start(w->topic, w->partition))
		return;
	mk_lock_log_start(w->topic_id, w->partition);
	if (mk_retain_heeds_groups(w->topic))
	{
		/* from now on no group goes back, and none begins to read */
		if (!mk_lock_needed(w->topic_id, true, !w->steps->is_pass))
			return;
		AcceptInvalidationMessages();
		from = mk_retain_from(w->topic, w->partition, mk_clock_now());
	}
	before = mk_log_start(w->topic, w->partition);
	if (from <= before)
		return;
	w->removed += mk_retain_records(w->topic, w->partition, before, from);
	mk_topic_move_log_start(w->topic, w->partition, from);
}

/*
 * Drops the next segment below the log start, from number w->segment on.
 */
static void
mk_do_drop(MkTopicWork *w)
{
	int64 segment;

	if (!mk_begin_partition(w))
		return;
	segment = mk_retain_passed(w->topic, w->partition, w->segment);
	if (segment < 0)
		return;
	w->segment = segment + 1;
	w->more = true; /* also if this one fails */
	if (mk_segment_try_drop(w->topic, w->partition, segment))
		return;

	/*
	 * The session that reads this segment also holds the partition's table, and
	 * dropping any other segment needs that.
	 */
	w->more = false;
	ereport(w->steps->is_pass ? DEBUG1 : NOTICE,
			(errmsg("segment " INT64_FORMAT " of topic \"%s\" partition %d is "
					"in use: it will be dropped later",
					segment, NameStr(w->topic->name), w->partition)));
}

/* Removes rows below the log start from the segment that it lies in. */
static void
mk_do_trim(MkTopicWork *w)
{
	if (mk_begin_partition(w))
		w->more = mk_retain_trim(w->topic, w->partition, !w->steps->is_pass);
}

/* Retention of one partition. */
static void
mk_retain_partition(MkTopicWork *w)
{
	const char *what = mk_activity(w, "retention");

	if (!mk_work_step(w, mk_do_retain, what) || !w->more)
		return;
	w->segment = 0;
	do
		(void) mk_work_step(w, mk_do_drop, what);
	while (w->more);
	while (mk_work_step_async(w, mk_do_trim, what) && w->more)
		;
}

/*
 * How old records must be to be compacted.  By default, compact() goes up to
 * the end, and a pass stops earlier.
 */
static int64
mk_compaction_lag(const MkTopicWork *w)
{
	if (w->topic->min_compaction_lag >= 0)
		return w->topic->min_compaction_lag;
	return w->steps->is_pass ? MK_DEFAULT_COMPACTION_LAG : 0;
}

/* Begins a pass of compaction, if it is due. */
static void
mk_do_begin_compaction(MkTopicWork *w)
{
	const MkTopic *topic = w->topic;
	TimestampTz now = mk_clock_now();
	int64 lag = mk_compaction_lag(w);
	MkCompacted last;
	int64 log_start;
	int64 bound;
	int64 horizon;
	int64 dirty;
	int64 clean;
	MemoryContext old;

	if (!mk_begin_partition(w))
		return;
	log_start = mk_log_start(topic, w->partition);
	bound = mk_log_end(topic, w->partition);
	if (lag > 0)
		bound = mk_log_since(topic, w->partition, now - lag, bound);
	/* the first pass is noted as it begins: even if it is stopped, it leaves holes */
	if (!mk_compacted_last(topic, w->partition, &last))
	{
		last.at = now;
		mk_compacted_put(topic, w->partition, &last, 0);
	}
	bound = Max(bound, last.offset);
	horizon =
		mk_compacted_before(topic, w->partition, now - topic->delete_retention);

	dirty = bound - Max(last.offset, log_start);
	clean = Min(last.records, Max(last.offset - log_start, 0));
	if (!(last.tombstones > 0 && horizon > log_start) &&
		(dirty <= 0 || (w->steps->is_pass && dirty < clean)))
		return;
	w->pass.offset = bound;
	w->horizon = horizon;
	old = MemoryContextSwitchTo(w->partition_context);
	w->compaction =
		mk_compact_begin(topic, w->partition, last.offset, bound, horizon,
						 (Size) maintenance_work_mem * 1024);
	MemoryContextSwitchTo(old);
}

/* A part of the pass. */
static void
mk_do_compact(MkTopicWork *w)
{
	if (!mk_begin_partition(w))
		return;
	w->stopped = !w->topic->compacts;
	w->more = !w->stopped && mk_compact_step(w->compaction);
}

/* Notes that the pass came to its end. */
static void
mk_do_end_compaction(MkTopicWork *w)
{
	if (!mk_begin_partition(w))
		return;
	mk_compact_result(w->compaction, &w->pass.records, &w->pass.tombstones);
	w->pass.at = mk_clock_now();
	/* former passes tell how old tombstones are: without any, none is needed */
	mk_compacted_put(w->topic, w->partition, &w->pass,
					 w->pass.tombstones == 0 ? PG_INT64_MAX : w->horizon + 1);
}

/* A segment that takes more space than its records need. */
typedef struct MkSpace
{
	int64 segment;
	bool drop; /* the segment; else rewrite it */
} MkSpace;

/*
 * How many bytes a pass of compaction has left in a segment, 0 if it has not
 * counted them.  The caller asks for segments in descending order; *cell, 0 at
 * first, keeps the place in the list.
 */
static int64
mk_remaining_bytes(const List *remains, int *cell, int64 segment)
{
	const MkRemains *r = NULL;

	for (; *cell < list_length(remains); (*cell)++)
	{
		r = list_nth(remains, *cell);
		if (r->segment <= segment)
			break;
	}
	return r != NULL && r->segment == segment ? r->bytes : 0;
}

/* Whether a segment takes much more space than its records need. */
static bool
mk_has_space(const MkTopicWork *w, int64 segment, bool empty, int64 bytes)
{
	if (empty)
		return mk_segment_has_blocks(w->topic, w->partition, segment);
	return bytes > 0 &&
		mk_segment_is_sparse(w->topic, w->partition, segment, bytes);
}

/*
 * Finds the segments that have no record, or much unused space.  Only those
 * before the last segment with a record count: nothing is appended to them any
 * more.
 */
static void
mk_do_find_space(MkTopicWork *w)
{
	List *remains =
		w->compaction != NULL ? mk_compact_remains(w->compaction) : NIL;
	int cell = 0;
	int64 *segments;
	int n;
	bool is_last = true;
	MemoryContext old;

	if (!mk_begin_partition(w))
		return;
	old = MemoryContextSwitchTo(w->partition_context);
	n = mk_catalog_segments(w->topic, w->partition, &segments);
	for (int i = n - 1; i >= 0; i--)
	{
		bool empty = mk_compact_is_empty(w->topic, w->partition, segments[i]);
		int64 bytes = mk_remaining_bytes(remains, &cell, segments[i]);

		if (!is_last && mk_has_space(w, segments[i], empty, bytes))
		{
			MkSpace *space = palloc(sizeof(MkSpace));

			space->segment = segments[i];
			space->drop = empty;
			w->give_back = lappend(w->give_back, space);
		}
		is_last = is_last && empty;
	}
	MemoryContextSwitchTo(old);
	w->removed_before = ReadNextTransactionId();
}

/* Gives back the space of the next such segment. */
static void
mk_do_give_back(MkTopicWork *w)
{
	const MkSpace *space = linitial(w->give_back);

	w->give_back = list_delete_first(w->give_back);
	if (!mk_begin_partition(w))
		return;
	w->more = space->drop
		? mk_segment_try_drop(w->topic, w->partition, space->segment)
		: mk_segment_try_shrink(w->topic, w->partition, space->segment);
}

/*
 * Whether no snapshot sees the removed records any more; waits a little for
 * that.  It is called between steps, when this session has no snapshot.
 */
static bool
mk_wait_until_gone(MkTopicWork *w)
{
	for (int i = 0; !mk_rows_are_gone(w->removed_before); i++)
	{
		if (i >= w->gone_tries)
		{
			/* an old snapshot, as a rule, stays: do not wait for it again */
			w->gone_tries = 0;
			return false;
		}
		CHECK_FOR_INTERRUPTS();
		pg_usleep(MK_GONE_SLEEP_US);
	}
	return true;
}

/*
 * Gives back space where compaction has left little; but not while a snapshot
 * may still see what was there.
 */
static void
mk_give_back(MkTopicWork *w, const char *what)
{
	w->give_back = NIL;
	if (!mk_work_step(w, mk_do_find_space, what) || w->give_back == NIL ||
		!mk_wait_until_gone(w))
		return;
	do
		(void) mk_work_step(w, mk_do_give_back, what);
	while (w->more && w->give_back != NIL);
}

/* Compaction of one partition. */
static void
mk_compact_partition(MkTopicWork *w)
{
	const char *what = mk_activity(w, "compaction");
	bool sound;

	w->partition_context = AllocSetContextCreate(
		w->steps->context, "minikafka compaction", ALLOCSET_DEFAULT_SIZES);
	w->compaction = NULL;
	sound = mk_work_step(w, mk_do_begin_compaction, what);
	if (w->compaction != NULL)
	{
		do
			sound = mk_work_step_async(w, mk_do_compact, what) && !w->busy &&
				!w->stopped;
		while (sound && w->more);
		w->removed += mk_compact_removed(w->compaction);
		sound = sound && mk_work_step(w, mk_do_end_compaction, what);
	}
	if (sound && !w->busy)
		mk_give_back(w, what);
	MemoryContextDelete(w->partition_context);
}

/* ---------------------------------------------------------------------------
 * Topics
 */

/*
 * Finds the topic of w->topic_id.  Where the catalog has its number but its
 * table is gone, forgets the topic, or warns.
 */
static void
mk_do_find_topic(MkTopicWork *w)
{
	w->topic = mk_catalog_topic_by_id(w->topic_id);
	if (w->topic != NULL ||
		!list_member_int(mk_catalog_topic_ids(), w->topic_id))
		return;
	if (mk_segment_has_tables(w->topic_id))
	{
		ereport(
			WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("topic number %d has no table, but there are tables of "
					"its partitions",
					w->topic_id),
			 errdetail("This happens after pg_restore --clean in a database "
					   "that had the topic and a catalog other than the "
					   "dump's, or when a partition's table was detached "
					   "before the topic's table was dropped."),
			 errhint("Restore the dump into a database without the "
					 "extension, or drop the tables: then the topic is "
					 "removed.")));
		return;
	}
	mk_topic_forget(w->topic_id);
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("topic number %d is removed because its table is gone",
					w->topic_id),
			 errdetail("The table was dropped, but not with "
					   "minikafka.drop_topic().")));
}

/* Maintenance of the topic of w->topic_id. */
static void
mk_maintain_topic(MkTopicWork *w)
{
	w->topic = NULL;
	if (!mk_work_step(w, mk_do_find_topic, "maintenance of topics") ||
		w->topic == NULL)
		return;
	w->nahead = 0;
	w->ahead = DT_NOBEGIN;
	for (w->partition = 0; w->partition < w->topic->npartitions; w->partition++)
	{
		(void) mk_work_step(w, mk_do_check, mk_activity(w, "check"));
		if (w->dropping)
			return;
		(void) mk_work_step(w, mk_do_make_ahead,
							mk_activity(w, "next segment"));
		mk_retain_partition(w);
		if (w->topic->compacts)
			mk_compact_partition(w);
	}
	if (w->nahead > 0)
		mk_warn_ahead(w);
}

void
mk_maintenance_topics(const MkSteps *steps)
{
	MkTopicWork w = {.steps = steps, .gone_tries = MK_GONE_TRIES};
	ListCell *lc;

	foreach (lc,
			 mk_step_list(steps, mk_catalog_topic_ids, "maintenance of topics"))
	{
		w.topic_id = lfirst_int(lc);
		mk_maintain_topic(&w);
	}
}

/* Does something to each partition of a topic. */
static int64
mk_maintain_partitions(const MkSteps *steps, MkTopic *topic,
					   void (*maintain)(MkTopicWork *w))
{
	MkTopicWork w = {.steps = steps,
					 .gone_tries = MK_GONE_TRIES,
					 .topic = topic,
					 .topic_id = topic->topic_id};

	for (w.partition = 0; w.partition < topic->npartitions; w.partition++)
		maintain(&w);
	return w.removed;
}

int64
mk_maintenance_topic_retain(const MkSteps *steps, MkTopic *topic)
{
	return mk_maintain_partitions(steps, topic, mk_retain_partition);
}

int64
mk_maintenance_topic_compact(const MkSteps *steps, MkTopic *topic)
{
	return mk_maintain_partitions(steps, topic, mk_compact_partition);
}
