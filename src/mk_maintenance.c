/*
 * mk_maintenance.c
 *		Looking after topics and what the extension remembers.
 *
 * A pass goes through the partitions of all topics, then through groups,
 * producers and the inbox.  Each step is a transaction: it holds locks and a
 * snapshot for a fraction of a second, and what it did is done if a later one
 * fails.  The steps of one partition hold its cleaning lock, so that two
 * sessions do not remove the same records; and that its topic is in use, so that
 * it is not dropped.
 *
 * In a pass each step runs in a subtransaction, so that its error can be
 * reported and the pass go on, and with a short lock_timeout.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_compact.h"
#include "mk_group.h"
#include "mk_guc.h"
#include "mk_heartbeat.h"
#include "mk_inbox.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_maintenance.h"
#include "mk_producer_rows.h"
#include "mk_producer.h"
#include "mk_progress.h"
#include "mk_retain.h"
#include "mk_role.h"
#include "mk_stale.h"
#include "mk_topic.h"
#include "mk_try.h"

/* How long a step of a pass waits for a lock. */
#define MK_LOCK_TIMEOUT "1s"

/*
 * How often, and after what time, it is looked whether short transactions have
 * ended that could still see what was removed.
 */
#define MK_SETTLE_TRIES    40
#define MK_SETTLE_SLEEP_US 5000

/*
 * The lag of compaction in a pass, of a topic that does not say: so that a
 * consumer that is not far behind sees all records, as Kafka's do, whose active
 * segment is never compacted.
 */
#define MK_DEFAULT_COMPACTION_LAG USECS_PER_HOUR

/* What is being done, and what the steps tell each other. */
typedef struct MkWork
{
	bool asynchronous; /* see mk_step_async */
	bool is_pass; /* over everything: goes on after errors, never waits long */
	void (*report)(const char *activity);
	MemoryContext context; /* of all that outlives a step */
	int64 removed; /* records */

	/* what the step is about */
	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int64 segment;
	const char *name; /* of a group */
	int32 number; /* of a group or a producer */

	/* partitions of the topic whose last record is of the future, and the last */
	int nahead;
	TimestampTz ahead;

	/* a pass of compaction */
	MemoryContext partition_context;
	MkCompaction *compaction;
	MkCompacted pass;
	int64 horizon;
	List *give_back; /* of MkSpace */
	TransactionId removed_before;
	int settle_tries;

	bool restoring; /* a dump */
	bool subscriber; /* of another server's topics */
	List *(*lister)(void);
	List *list; /* what that has found */

	/* what it has come to */
	bool busy; /* somebody else is at it */
	bool dropping; /* somebody drops the topic */
	bool stopped; /* the topic is not to be compacted any more */
	bool more;
} MkWork;

typedef void (*MkStep)(MkWork *w);

typedef struct MkStepRun
{
	MkWork *work;
	MkStep step;
} MkStepRun;

static void
mk_step_run(void *arg)
{
	const MkStepRun *run = arg;

	/* ends with the subtransaction */
	mk_guc_set("lock_timeout", MK_LOCK_TIMEOUT);
	run->step(run->work);
}

/* All but a cancel and a shutdown. */
static bool
mk_step_may_fail(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) != ERRCODE_OPERATOR_INTERVENTION;
}

static void
mk_step_failed(const ErrorData *error, const char *what)
{
	/* somebody holds a lock, or has dropped what there was */
	bool quiet = error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT ||
		!OidIsValid(get_extension_oid("minikafka", true));

	ereport(
		quiet ? DEBUG1 : WARNING,
		(errcode(error->sqlerrcode),
		 errmsg("%s failed: %s", what, error->message),
		 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
		 error->hint != NULL ? errhint("%s", error->hint) : 0));
}

/*
 * Runs a step and ends its transaction; false if it failed.  "what" is for the
 * message, and for who looks at pg_stat_activity.
 */
static bool
mk_step(MkWork *w, MkStep step, const char *what)
{
	MkStepRun run = {w, step};
	ErrorData *error = NULL;
	MemoryContext context = AllocSetContextCreate(w->context, "minikafka step",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool failed;

	w->busy = false;
	w->dropping = false;
	w->stopped = false;
	w->more = false;
	if (w->report != NULL)
		w->report(what);
	/* whatever the default is: rows are looked at as they are now */
	XactIsoLevel = XACT_READ_COMMITTED;
	PushActiveSnapshot(GetTransactionSnapshot());
	if (w->asynchronous)
		mk_guc_set("synchronous_commit", "off");
	if (w->is_pass)
		error = mk_try(mk_step_run, &run, mk_step_may_fail);
	else
		step(w);
	PopActiveSnapshot();
	if (error != NULL)
		mk_step_failed(error, what);
	failed = error != NULL;
	SPI_commit();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	CHECK_FOR_INTERRUPTS();
	return !failed;
}

/*
 * The same for what a crash may take back, since it is done again then: so the
 * commit need not wait for the WAL.
 */
static bool
mk_step_async(MkWork *w, MkStep step, const char *what)
{
	bool sound;

	w->asynchronous = true;
	sound = mk_step(w, step, what);
	w->asynchronous = false;
	return sound;
}

/* ---------------------------------------------------------------------------
 * Partitions
 */

/* What is done, in memory that outlives the steps. */
static const char *
mk_activity(MkWork *w, const char *what)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);
	const char *activity = psprintf("%s of topic \"%s\" partition %d", what,
									NameStr(w->topic->name), w->partition);

	MemoryContextSwitchTo(old);
	return activity;
}

/* True unless somebody else is at the partition. */
static bool
mk_begin_partition(MkWork *w)
{
	if (!w->is_pass)
		mk_lock_topic_in_use(w->topic_id);
	else
		w->dropping = !mk_lock_topic_in_use_try(w->topic_id);
	w->busy = w->dropping;
	if (w->dropping)
		return false;
	mk_catalog_check_topic(w->topic, w->topic_id);
	w->busy = !mk_lock_cleaning(w->topic_id, w->partition, !w->is_pass);
	/* who was at it before may have dropped tables */
	AcceptInvalidationMessages();
	return !w->busy;
}

/* What a restore without the records has left; see mk_stale.c. */
static void
mk_forget_lost(MkWork *w)
{
	MkForgotten forgotten;

	if (mk_catalog_is_settled(w->topic, w->partition) ||
		!mk_log_newest_is_empty(w->topic, w->partition))
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
					   "Those of %d groups are reset, and sequences of %d "
					   "producers forgotten.",
					   forgotten.tail, forgotten.groups, forgotten.producers)));
}

/* Looks whether all tables are there, and at times. */
static void
mk_do_check(MkWork *w)
{
	TimestampTz last;

	if (!mk_begin_partition(w))
		return;
	mk_log_check_tables(w->topic, w->partition);
	mk_forget_lost(w);
	last = mk_log_last_time(w->topic, w->partition);
	if (mk_clock_is_ahead(last))
	{
		w->nahead++;
		w->ahead = Max(w->ahead, last);
	}
}

/* Makes the next segment. */
static void
mk_do_make_ahead(MkWork *w)
{
	if (mk_begin_partition(w))
		mk_log_make_ahead(w->topic, w->partition,
						  mk_log_end(w->topic, w->partition) - 1,
						  MK_MAKE_AHEAD);
}

/* What goes by the time of records stands still until that time has come. */
static void
mk_warn_ahead(const MkWork *w)
{
	ereport(
		WARNING,
		(errcode(ERRCODE_WARNING),
		 errmsg("records of topic \"%s\" have times of the future",
				NameStr(w->topic->name)),
		 errdetail_plural("The clock was wrong when they were sent, to %d "
						  "partition, and later records get no earlier "
						  "times.  Nothing is removed by its age before "
						  "%s.",
						  "The clock was wrong when they were sent, to %d "
						  "partitions, and later records get no earlier "
						  "times.  Nothing is removed by its age before "
						  "%s.",
						  w->nahead, w->nahead, timestamptz_to_str(w->ahead)),
		 errhint("When they have been read, use minikafka.delete_records() "
				 "with -1: the next record gets the time of the clock "
				 "again.  minikafka.check_topic() finds them.")));
}

static void
mk_do_retain(MkWork *w)
{
	int64 before;
	int64 from;

	if (!mk_begin_partition(w))
		return;
	from = mk_retain_from(w->topic, w->partition, mk_clock_now());
	w->more = from > 0; /* there may be something below it */
	if (from <= mk_log_start(w->topic, w->partition))
		return;
	mk_lock_log_start(w->topic_id, w->partition);
	before = mk_log_start(w->topic, w->partition);
	if (from <= before)
		return;
	w->removed += mk_retain_records(w->topic, w->partition, before, from);
	mk_topic_move_log_start(w->topic, w->partition, from);
}

/* Drops the next segment that can go; w->segment is where to look for it. */
static void
mk_do_drop(MkWork *w)
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

	/* who uses one uses the table above, which all of them need */
	w->more = false;
	ereport(w->is_pass ? DEBUG1 : NOTICE,
			(errmsg("segment " INT64_FORMAT " of topic \"%s\" partition %d is "
					"in use: it will be dropped later",
					segment, NameStr(w->topic->name), w->partition)));
}

static void
mk_do_trim(MkWork *w)
{
	if (mk_begin_partition(w))
		w->more = mk_retain_trim(w->topic, w->partition, !w->is_pass);
}

static void
mk_retain_partition(MkWork *w)
{
	const char *what = mk_activity(w, "retention");

	if (!mk_step(w, mk_do_retain, what) || !w->more)
		return;
	w->segment = 0;
	do
		(void) mk_step(w, mk_do_drop, what);
	while (w->more);
	while (mk_step_async(w, mk_do_trim, what) && w->more)
		;
}

/* How old records must be; compact(), which is called for that, goes to the end. */
static int64
mk_compaction_lag(const MkWork *w)
{
	if (w->topic->min_compaction_lag >= 0)
		return w->topic->min_compaction_lag;
	return w->is_pass ? MK_DEFAULT_COMPACTION_LAG : 0;
}

/* Finds out whether a pass is due, and begins it. */
static void
mk_do_begin_compaction(MkWork *w)
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
	/* noted from the first pass on, since one that is stopped leaves holes */
	if (!mk_catalog_compacted(topic, w->partition, &last))
	{
		last.at = now;
		mk_catalog_compacted_put(topic, w->partition, &last, 0);
	}
	bound = Max(bound, last.offset);
	horizon = mk_catalog_compacted_before(topic, w->partition,
										  now - topic->delete_retention);

	dirty = bound - Max(last.offset, log_start);
	clean = Min(last.records, Max(last.offset - log_start, 0));
	if (!(last.tombstones > 0 && horizon > log_start) &&
		(dirty <= 0 || (w->is_pass && dirty < clean)))
		return;
	w->pass.offset = bound;
	w->horizon = horizon;
	old = MemoryContextSwitchTo(w->partition_context);
	w->compaction =
		mk_compact_begin(topic, w->partition, last.offset, bound, horizon,
						 (Size) maintenance_work_mem * 1024);
	MemoryContextSwitchTo(old);
}

static void
mk_do_compact(MkWork *w)
{
	if (!mk_begin_partition(w))
		return;
	w->stopped = !w->topic->compacts;
	w->more = !w->stopped && mk_compact_step(w->compaction);
}

static void
mk_do_end_compaction(MkWork *w)
{
	if (!mk_begin_partition(w))
		return;
	mk_compact_result(w->compaction, &w->pass.records, &w->pass.tombstones);
	w->pass.at = mk_clock_now();
	/* without tombstones nobody needs to know since when they are there */
	mk_catalog_compacted_put(w->topic, w->partition, &w->pass,
							 w->pass.tombstones == 0 ? PG_INT64_MAX
													 : w->horizon + 1);
}

/* A segment that has too much space. */
typedef struct MkSpace
{
	int64 segment;
	bool drop; /* else it is to be written anew */
} MkSpace;

/*
 * What a pass has left in a segment, 0 if none has counted it.  The segments come
 * from the last one back, and *cell goes along.
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

static bool
mk_has_space(const MkWork *w, int64 segment, bool empty, int64 bytes)
{
	if (empty)
		return mk_segment_has_blocks(w->topic, w->partition, segment);
	return bytes > 0 &&
		mk_segment_is_sparse(w->topic, w->partition, segment, bytes);
}

/*
 * Finds the segments that have nothing, or too much space: of all that are not
 * appended to any more, which come before the last one that has a record.
 */
static void
mk_do_find_space(MkWork *w)
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

static void
mk_do_give_back(MkWork *w)
{
	const MkSpace *space = linitial(w->give_back);

	w->give_back = list_delete_first(w->give_back);
	if (!mk_begin_partition(w))
		return;
	w->more = space->drop
		? mk_segment_try_drop(w->topic, w->partition, space->segment)
		: mk_segment_try_shrink(w->topic, w->partition, space->segment);
}

/* Whether no snapshot sees any more what was removed; waits a little for that. */
static bool
mk_is_settled(MkWork *w)
{
	/* between the steps, where this session has none */
	for (int i = 0; !mk_relation_is_settled(w->removed_before); i++)
	{
		if (i >= w->settle_tries)
		{
			/* who has an old one keeps it for longer, as a rule */
			w->settle_tries = 0;
			return false;
		}
		CHECK_FOR_INTERRUPTS();
		pg_usleep(MK_SETTLE_SLEEP_US);
	}
	return true;
}

/*
 * Gives space back where compaction has left little; but not while a snapshot
 * may still see what was there.
 */
static void
mk_give_back(MkWork *w, const char *what)
{
	w->give_back = NIL;
	if (!mk_step(w, mk_do_find_space, what) || w->give_back == NIL ||
		!mk_is_settled(w))
		return;
	do
		(void) mk_step(w, mk_do_give_back, what);
	while (w->more && w->give_back != NIL);
}

static void
mk_compact_partition(MkWork *w)
{
	const char *what = mk_activity(w, "compaction");
	bool sound;

	w->partition_context = AllocSetContextCreate(
		w->context, "minikafka compaction", ALLOCSET_DEFAULT_SIZES);
	w->compaction = NULL;
	sound = mk_step(w, mk_do_begin_compaction, what);
	if (w->compaction != NULL)
	{
		do
			sound = mk_step_async(w, mk_do_compact, what) && !w->busy &&
				!w->stopped;
		while (sound && w->more);
		w->removed += mk_compact_removed(w->compaction);
		sound = sound && mk_step(w, mk_do_end_compaction, what);
	}
	if (sound && !w->busy)
		mk_give_back(w, what);
	MemoryContextDelete(w->partition_context);
}

/* ---------------------------------------------------------------------------
 * Topics
 */

static void
mk_do_find_topic(MkWork *w)
{
	w->topic = mk_catalog_topic_by_id(w->topic_id);
	if (w->topic != NULL ||
		!list_member_int(mk_catalog_topic_ids(), w->topic_id))
		return;
	if (mk_segment_has_tables(w->topic_id))
	{
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("topic number %d has no table, but there are tables of "
						"its partitions",
						w->topic_id),
				 errdetail("So it is after pg_restore --clean in a database "
						   "that had the topic, whose catalog is not the "
						   "dump's; or where a partition's table was detached "
						   "before the topic's was dropped."),
				 errhint("Restore the dump into a database without the "
						 "extension.  Or drop the tables: then the topic is "
						 "removed.")));
		return;
	}
	mk_topic_forget(w->topic_id);
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("topic number %d is removed, since its table is gone",
					w->topic_id),
			 errdetail("Somebody dropped the table, and not with "
					   "minikafka.drop_topic().")));
}

static void
mk_maintain_topic(MkWork *w)
{
	w->topic = NULL;
	if (!mk_step(w, mk_do_find_topic, "maintenance of topics") ||
		w->topic == NULL)
		return;
	w->nahead = 0;
	w->ahead = DT_NOBEGIN;
	for (w->partition = 0; w->partition < w->topic->npartitions; w->partition++)
	{
		(void) mk_step(w, mk_do_check, mk_activity(w, "check"));
		if (w->dropping)
			return;
		(void) mk_step(w, mk_do_make_ahead, mk_activity(w, "next segment"));
		mk_retain_partition(w);
		if (w->topic->compacts)
			mk_compact_partition(w);
	}
	if (w->nahead > 0)
		mk_warn_ahead(w);
}

/* ---------------------------------------------------------------------------
 * Groups, producers, the inbox
 */

static List *
mk_list_progress(void)
{
	return mk_progress_groups(NULL);
}

static List *
mk_list_produced(void)
{
	return mk_producer_rows_ids(NULL);
}

static void
mk_do_list(MkWork *w)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);

	w->list = w->lister();
	MemoryContextSwitchTo(old);
}

/* What the lister finds; NIL if that fails. */
static List *
mk_list(MkWork *w, List *(*lister)(void), const char *what)
{
	w->list = NIL;
	w->lister = lister;
	(void) mk_step(w, mk_do_list, what);
	return w->list;
}

static const char *
mk_group_activity(MkWork *w)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);
	const char *activity = psprintf("maintenance of group \"%s\"", w->name);

	MemoryContextSwitchTo(old);
	return activity;
}

static void
mk_do_group(MkWork *w)
{
	mk_group_maintain(w->name);
}

static void
mk_do_progress(MkWork *w)
{
	w->more = mk_progress_clean(w->number);
}

static void
mk_do_producer(MkWork *w)
{
	mk_producer_clean(w->number);
}

static void
mk_do_inbox(MkWork *w)
{
	w->more = mk_inbox_clean();
}

/*
 * The members are read after their heartbeats: whose can be seen then is one, if
 * it was not removed.
 */
static void
mk_do_heartbeats(MkWork *w)
{
	List *heard_of = mk_heartbeat_members();
	List *members = mk_membership_numbers();
	ListCell *lc;
	int i = 0;

	list_sort(members, list_int_cmp);
	foreach (lc, heard_of)
	{
		int32 member_no = lfirst_int(lc);

		while (i < list_length(members) && list_nth_int(members, i) < member_no)
			i++;
		mk_heartbeat_clean(member_no,
						   i < list_length(members) &&
							   list_nth_int(members, i) == member_no);
	}
}

static void
mk_do_roles(MkWork *w)
{
	mk_role_warn(mk_inbox_look(mk_producer_rows_look(mk_membership_look(NIL))));
}

static void
mk_maintain_state(MkWork *w)
{
	ListCell *lc;

	foreach (lc, mk_list(w, mk_membership_names, "maintenance of groups"))
	{
		w->name = lfirst(lc);
		(void) mk_step(w, mk_do_group, mk_group_activity(w));
	}
	foreach (lc, mk_list(w, mk_list_progress, "expiry of offsets"))
	{
		w->number = lfirst_int(lc);
		while (mk_step_async(w, mk_do_progress, "expiry of offsets") && w->more)
			;
	}
	(void) mk_step(w, mk_do_heartbeats, "expiry of heartbeats");
	foreach (lc, mk_list(w, mk_list_produced, "expiry of sequences"))
	{
		w->number = lfirst_int(lc);
		(void) mk_step_async(w, mk_do_producer, "expiry of sequences");
	}
	while (mk_step_async(w, mk_do_inbox, "expiry of inbox events") && w->more)
		;
	(void) mk_step(w, mk_do_roles, "looking for roles");
}

/* ---------------------------------------------------------------------------
 * Entry points
 */

/*
 * What is there may be a part of what a dump has: a group before its offsets, a
 * segment before its rows.  pg_dump sets sequences after it has loaded all
 * tables, so until then there are numbers, and none was given.
 */
static void
mk_do_look_for_restore(MkWork *w)
{
	w->subscriber = mk_relation_is_subscriber();
	w->restoring = !w->subscriber && mk_relation_is_unnumbered();
}

/*
 * Begins: ends the transaction that there is, which has seen what was, and may
 * have another isolation level.
 */
static void
mk_work_begin(MkWork *w)
{
	w->context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka maintenance", ALLOCSET_DEFAULT_SIZES);
	w->settle_tries = MK_SETTLE_TRIES;
	SPI_commit();
}

void
mk_maintenance_run(void (*report)(const char *activity))
{
	MkWork w = {.is_pass = true, .report = report};
	ListCell *lc;

	mk_work_begin(&w);
	(void) mk_step(&w, mk_do_look_for_restore, "maintenance");
	if (w.subscriber)
	{
		ereport(WARNING,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the topics of this database are copies of another "
						"server's"),
				 errdetail("Nothing is maintained while a subscription writes "
						   "them.")));
		return;
	}
	if (w.restoring)
	{
		ereport(
			WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a dump of minikafka is being restored"),
			 errdetail("Rows have numbers, and no sequence of minikafka has "
					   "given any: a restore sets them at its end. "
					   "Nothing is maintained before."),
			 errhint("If no dump is being restored, send something, or "
					 "use SELECT setval('minikafka.topic_id', max("
					 "topic_id)) FROM minikafka.topic.")));
		return;
	}
	foreach (lc, mk_list(&w, mk_catalog_topic_ids, "maintenance of topics"))
	{
		w.topic_id = lfirst_int(lc);
		mk_maintain_topic(&w);
	}
	mk_maintain_state(&w);
	MemoryContextDelete(w.context);
}

/* Does something to each partition of a topic; how many records went. */
static int64
mk_maintenance_topic(MkTopic *topic, void (*partition)(MkWork *w))
{
	MkWork w = {.topic = topic, .topic_id = topic->topic_id};

	mk_work_begin(&w);
	for (w.partition = 0; w.partition < topic->npartitions; w.partition++)
		partition(&w);
	MemoryContextDelete(w.context);
	return w.removed;
}

int64
mk_maintenance_expire(const char *name)
{
	return mk_maintenance_topic(mk_topic_get_owned(name), mk_retain_partition);
}

int64
mk_maintenance_compact(const char *name)
{
	MkTopic *topic = mk_topic_get_owned(name);

	if (!topic->compacts)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("topic \"%s\" is not compacted", name),
				 errhint("Use minikafka.set_topic_option('%s', "
						 "'cleanup_policy', 'compact').",
						 name)));
	return mk_maintenance_topic(topic, mk_compact_partition);
}
