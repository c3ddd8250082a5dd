/*
 * mk_poll.c
 *		Polls: members read the partitions that they have.
 *
 * A poll goes by the assignment and the positions that are committed when it looks,
 * and takes no lock that another session waits for.  The commit checks that both
 * still hold.
 *
 * Each partition of a member has a turn, a number that grows with each poll that
 * reads from the partition.  The partition with the lowest turn, which was read
 * longest ago, comes first; the turn is in the table, so this holds across sessions.
 *
 * One record that cannot be processed fails its whole batch.  So after a rollback
 * the session reads the same records again, but each partition alone: until the
 * member's position has passed them, the partition shares no batch with others.
 * The turns grow as if the poll had not been rolled back, and the first partition
 * of the batch comes last.  So each time round a bad record fails one batch, of its
 * own partition only; the other partitions are committed, and share batches again.
 *
 * A partition whose next record is not due yet is left alone until it is: the
 * session that waits does not listen to it, since what is sent meanwhile cannot be
 * due earlier.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_consumer.h"
#include "mk_due.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_liveness.h"
#include "mk_log.h"
#include "mk_member.h"
#include "mk_poll.h"
#include "mk_rebalance.h"
#include "mk_topic.h"
#include "mk_try.h"
#include "mk_undone.h"
#include "mk_wakeup.h"

/*
 * Sleeps between looks.  Without shared memory, nothing wakes the session, and
 * sleeps grow from 1 ms to the first of these.  With it, the session still looks
 * from time to time, for what is due without a commit, such as a timeout.
 */
#define MK_MAX_SLEEP_MS   50
#define MK_WOKEN_SLEEP_MS 1000

/* A partition of the member that may be read */
typedef struct MkSource
{
	MkAssignment *assignment;
	MkTopic *topic;
	MkPosition position;
	bool waits; /* its next record is not due yet */
} MkSource;

/* One look at all partitions of a member. */
typedef struct MkLook
{
	const MkPoll *poll; /* NULL: only whether there is something to poll */
	MkGroup *group;
	MkMember *member;
	List *topic_ids; /* those to which the poll is restricted */
	bool listens; /* to be woken by what it would find later */
	bool is_late; /* it may have missed what came before it listened */
	bool due; /* the commit has something to do in the group */
	int nsources;
	MkSource *sources;
	int64 max_records;
	int64 turn; /* the greatest of the member's partitions */
	int64 last_turn; /* higher than those that this look gives */
	TimestampTz now;
	TimestampTz next; /* when the next record is due that waits */

	/* the source that is being read */
	const MkSource *source;
	int64 next_offset;
	bool refused; /* the sink refused its next record */

	/* all sources */
	bool any_refused;
	bool full;
	int64 found;
	int64 bytes;
} MkLook;

/* For qsort(): by turn, then by topic and partition. */
static int
mk_source_compare(const void *a, const void *b)
{
	const MkSource *sa = a;
	const MkSource *sb = b;

	if (sa->position.turn != sb->position.turn)
		return sa->position.turn < sb->position.turn ? -1 : 1;
	return sa->assignment < sb->assignment ? -1 : 1;
}

/* Listens for records of the member's partitions and for changes of the group. */
static void
mk_look_listen(MkLook *look)
{
	MkChannel *channels = palloc((look->nsources + 1) * sizeof(MkChannel));
	int n = 0;

	channels[n++] = mk_wakeup_group(look->group->group_no);
	for (int i = 0; i < look->nsources; i++)
		if (!look->sources[i].waits)
			channels[n++] =
				mk_wakeup_partition(look->sources[i].assignment->topic_id,
									look->sources[i].assignment->partition);
	look->is_late = mk_wakeup_listen(channels, n, 0);
}

/*
 * Finds the topics to which the poll is restricted.  The member may have subscribed
 * to a name that the topic had before.
 */
static void
mk_look_topics(MkLook *look)
{
	const MkMember *m = look->member;

	look->topic_ids = NIL;
	for (int i = 0; i < look->poll->ntopics; i++)
	{
		const char *name = look->poll->topics[i];
		MkTopic *topic = mk_catalog_topic_by_name(name);
		bool found = false;

		for (int j = 0; j < m->ntopics; j++)
			if (strcmp(m->topics[j], name) == 0 ||
				(topic != NULL && m->topic_ids[j] == topic->topic_id))
			{
				look->topic_ids = lappend_int(look->topic_ids, m->topic_ids[j]);
				found = true;
			}
		if (!found)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("member \"%s\" of group \"%s\" does not subscribe "
							"to topic \"%s\"",
							m->member_id, look->group->group_id, name),
					 errhint("minikafka.group_members shows the topics that "
							 "the member gave to minikafka.join_group().")));
	}
}

/*
 * Whether the source's next record is there, but not due.  False for a position
 * outside the log, which reading resets.
 */
static bool
mk_source_waits(MkLook *look, const MkSource *s)
{
	int32 partition = s->assignment->partition;
	int64 log_start;
	int64 start;
	TimestampTz next = DT_NOEND;

	if (s->topic->delivery_delay == 0)
		return false;
	log_start = mk_log_start(s->topic, partition);
	start = s->position.position >= 0 ? s->position.position
									  : s->position.committed;
	if (start < 0 && look->member->reset != MK_RESET_NONE)
		start = log_start;
	if (start < log_start ||
		mk_due_end(s->topic, partition, start, GetActiveSnapshot(), look->now,
				   &next) > start ||
		next == DT_NOEND)
		return false;
	look->next = Min(look->next, next);
	return true;
}

/* Finds the sources that wait. */
static void
mk_look_waits(void *arg)
{
	MkLook *look = arg;

	for (int i = 0; i < look->nsources; i++)
		look->sources[i].waits = mk_source_waits(look, &look->sources[i]);
}

/* The errors of a partition that cannot be read. */
static bool
mk_look_may_fail(int sqlstate)
{
	return sqlstate == ERRCODE_MK_OFFSET_OUT_OF_RANGE ||
		sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED;
}

/* Finds the member and its partitions.  This counts as a poll. */
static void
mk_look_begin(MkLook *look, const char *group_id, const char *member_id)
{
	bool lets_go = false;
	bool delays = false;

	look->group = mk_group_find(group_id);
	look->member = mk_member_get(group_id, look->group, member_id, true);
	look->due = mk_member_touch(look->group, look->member, MK_TOUCH_POLL);
	look->now = mk_clock_now();
	look->next = DT_NOEND;
	look->turn = 0;
	if (look->poll != NULL)
		mk_look_topics(look);
	look->sources =
		palloc(Max(look->group->nassignments, 1) * sizeof(MkSource));
	look->nsources = 0;
	for (int i = 0; i < look->group->nassignments; i++)
	{
		MkAssignment *a = &look->group->assignments[i];
		MkSource *s = &look->sources[look->nsources];

		if (a->owner != look->member->member_no)
			continue;
		if (a->target != a->owner)
		{
			mk_consumer_position(look->group, look->member, a, &s->position);
			lets_go |= mk_rebalance_is_done_with(
				look->group, a, s->position.position, s->position.committed);
			continue;
		}
		s->topic = mk_membership_topic_by_id(look->group, a->topic_id);
		if (s->topic == NULL)
			continue;
		s->assignment = a;
		mk_consumer_position(look->group, look->member, a, &s->position);
		look->turn = Max(look->turn, s->position.turn);
		if (look->poll != NULL && look->poll->topics != NULL &&
			!list_member_int(look->topic_ids, a->topic_id))
			continue;
		mk_topic_check_readable(s->topic);
		s->waits = false;
		delays |= s->topic->delivery_delay > 0;
		if (!s->position.paused)
			look->nsources++;
	}
	if (lets_go)
	{
		mk_member_let_go(look->group, look->member->member_no, true);
		look->due = true;
	}
	qsort(look->sources, look->nsources, sizeof(MkSource), mk_source_compare);
	/* what cannot be read fails when it is read */
	if (delays)
		(void) mk_try(mk_look_waits, look, mk_look_may_fail);
	if (look->listens)
		mk_look_listen(look);
}

/* MK001: auto_offset_reset "none" does not say where to go on. */
static void
mk_source_no_reset(const MkLook *look, const MkSource *s, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_OFFSET_OUT_OF_RANGE),
			 errmsg("group \"%s\" %s in partition %d of topic \"%s\"",
					look->group->group_id, why, s->assignment->partition,
					NameStr(s->topic->name)),
			 errdetail("Member \"%s\" has auto_offset_reset \"none\".",
					   look->member->member_id),
			 errhint("Use minikafka.seek() to set the position.")));
}

/*
 * Where to read from.  Without a committed offset this is the log start, also with
 * auto_offset_reset "latest": the rebalance that gave the group the partition has
 * committed the end, so a partition without an offset was made later.
 */
static int64
mk_source_start(const MkLook *look, const MkSource *s)
{
	if (s->position.position >= 0)
		return s->position.position;
	if (s->position.committed >= 0)
		return s->position.committed;
	if (look->member->reset == MK_RESET_NONE)
		mk_source_no_reset(look, s, "has no committed offset");
	return mk_log_start(s->topic, s->assignment->partition);
}

/* Where to go on if the position is outside the log. */
static int64
mk_source_reset(const MkLook *look, const MkSource *s)
{
	int32 partition = s->assignment->partition;

	return look->member->reset == MK_RESET_LATEST
		? Max(mk_log_end(s->topic, partition),
			  mk_log_start(s->topic, partition))
		: mk_log_start(s->topic, partition);
}

/* The sink of mk_log_try_read */
static bool
mk_look_take(const MkLogRecord *record, void *arg)
{
	MkLook *look = arg;

	look->full =
		look->found > 0 && look->bytes + record->bytes > look->poll->max_bytes;
	if (look->full ||
		!mk_due_is(look->source->topic, record->ts, look->now, &look->next))
		return false;
	look->refused = !look->poll->sink(look->source->topic,
									  look->source->assignment->partition,
									  record, look->poll->arg);
	if (look->refused)
		return false;
	look->found++;
	look->bytes += record->bytes;
	look->next_offset = record->offset + 1;
	return true;
}

/* Reads one partition, which gets this turn. */
static void
mk_look_read(MkLook *look, const MkSource *s, Snapshot snapshot, int64 turn)
{
	int32 partition = s->assignment->partition;
	int64 undone_turn = look->found == 0 ? look->last_turn : turn;
	int64 start;
	bool reset = false;

	mk_consumer_polling(look->member, s->assignment, &s->position, undone_turn);
	start = mk_source_start(look, s);
	look->source = s;
	look->next_offset = start;
	look->refused = false;
	while (!mk_log_try_read(s->topic, partition, start,
							look->max_records - look->found, PG_INT64_MAX,
							snapshot, mk_look_take, look))
	{
		if (look->member->reset == MK_RESET_NONE)
			mk_source_no_reset(
				look, s,
				psprintf("stands at offset " INT64_FORMAT
						 ", outside [" INT64_FORMAT ", " INT64_FORMAT "],",
						 start, mk_log_start(s->topic, partition),
						 mk_log_end(s->topic, partition)));
		start = look->next_offset = mk_source_reset(look, s);
		reset = true;
	}

	/*
	 * A partition whose next record was refused keeps its turn, so it comes first
	 * in the next call, which reports the record again.
	 */
	look->any_refused |= look->refused;
	if (look->next_offset > start || reset)
		mk_consumer_polled(look->group, look->member, s->assignment, s->topic,
						   &s->position, look->next_offset,
						   look->refused ? s->position.turn : turn,
						   undone_turn);
	if (reset && s->position.committed > mk_log_end(s->topic, partition))
		mk_consumer_reset_committed(look->group, look->member, s->assignment,
									s->topic, start);
}

/*
 * Sets how many records to return.  If polls of the group are halved (see
 * mk_liveness.c), this is a part of what is asked for or, if less, of what there
 * is.
 */
static void
mk_look_limit(MkLook *look)
{
	int halved = mk_liveness_halved(look->group);
	int64 unread = 0;

	look->max_records = look->poll->max_records;
	if (likely(halved == 0))
		return;
	for (int i = 0; i < look->nsources && unread < look->max_records; i++)
	{
		const MkSource *s = &look->sources[i];
		int32 partition = s->assignment->partition;
		int64 offset = Max(s->position.position >= 0 ? s->position.position
													 : s->position.committed,
						   mk_log_start(s->topic, partition));

		unread += Max(mk_log_end(s->topic, partition) - offset, 0);
	}
	look->max_records = Min(look->max_records, unread);
	/* rounded up */
	look->max_records =
		Max((look->max_records + (INT64CONST(1) << halved) - 1) >> halved, 1);
}

/* A memory context for one look; a call that waits looks many times. */
static MemoryContext
mk_look_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "minikafka look",
								 ALLOCSET_DEFAULT_SIZES);
}

/* Looks at all partitions once. */
static void
mk_look(MkLook *look, Snapshot snapshot)
{
	int64 turn;

	mk_look_begin(look, look->poll->group_id, look->poll->member_id);
	mk_look_limit(look);
	turn = look->turn;
	look->last_turn = turn + look->nsources + 1;
	for (int i = 0;
		 i < look->nsources && !look->full && look->found < look->max_records;
		 i++)
	{
		const MkSource *s = &look->sources[i];

		if (s->waits || (s->position.undone && look->found > 0))
			continue;
		mk_look_read(look, s, snapshot, ++turn);
		if (s->position.undone && look->found > 0)
			break;
	}
	mk_undone_end();
}

int mk_poll_look_ms = MK_WOKEN_SLEEP_MS;

bool
mk_poll_sleep(int *round, TimestampTz until, TimestampTz next)
{
	static uint32 wait_event = 0;
	long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until);
	long delay = mk_wakeup_is_on()
		? mk_poll_look_ms
		: Min(1L << Min(*round, 16), MK_MAX_SLEEP_MS);

	mk_wakeup_looked();
	if (left <= 0)
		return false;
	if (next != DT_NOEND)
		/* rounded up */
		delay = Min(delay, Max((next - mk_clock_now() + 999) / 1000, 0));
	if (!mk_wakeup_take())
		(void) WaitLatch(
			MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			Min(delay, left), mk_wait_event("MinikafkaRecords", &wait_event));
	ResetLatch(MyLatch);
	(void) mk_wakeup_take();
	CHECK_FOR_INTERRUPTS();
	(*round)++;
	return true;
}

/*
 * Looks again and again.  When the session begins to listen for something it looks
 * again at once: what came before does not wake it.
 */
static void
mk_poll_wait(MkLook *look, MemoryContext context, TimestampTz until)
{
	int round = 0;
	bool go_on = mk_wakeup_is_on() || mk_poll_sleep(&round, until, look->next);

	look->listens = true;
	PG_TRY();
	{
		while (go_on)
		{
			MemoryContextReset(context);
			PushActiveSnapshot(GetLatestSnapshot());
			mk_look(look, GetActiveSnapshot());
			PopActiveSnapshot();
			go_on = look->found == 0 && !look->any_refused && !look->due &&
				(look->is_late || mk_poll_sleep(&round, until, look->next));
		}
	}
	PG_FINALLY();
	{
		mk_wakeup_stop();
	}
	PG_END_TRY();
}

void
mk_poll_stop(void)
{
	mk_wakeup_stop();
}

void
mk_poll(const MkPoll *poll)
{
	MkLook look = {.poll = poll};
	MemoryContext context = mk_look_context();
	MemoryContext old = MemoryContextSwitchTo(context);

	mk_look(&look, GetActiveSnapshot());
	if (look.found == 0 && !look.any_refused && !look.due &&
		!IsolationUsesXactSnapshot() && poll->max_wait > 0)
		mk_poll_wait(&look, context, GetCurrentTimestamp() + poll->max_wait);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Sets "found" if there is something to read. */
static void
mk_look_is_ready(void *arg)
{
	MkLook *look = arg;

	for (int i = 0; look->found == 0 && i < look->nsources; i++)
		if (!look->sources[i].waits &&
			mk_source_start(look, &look->sources[i]) !=
				mk_log_end(look->sources[i].topic,
						   look->sources[i].assignment->partition))
			look->found = 1;
}

/*
 * If a partition cannot be read, this returns true, so that the caller polls, and
 * mk_poll() reports it; the next calls read the others.
 */
bool
mk_poll_is_ready(const char *group_id, const char *member_id, TimestampTz *next)
{
	MkLook look = {.listens = true};
	MemoryContext context = mk_look_context();
	MemoryContext old = MemoryContextSwitchTo(context);
	bool ready;

	do
		mk_look_begin(&look, group_id, member_id);
	while (look.is_late);
	ready = mk_try(mk_look_is_ready, &look, mk_look_may_fail) != NULL ||
		look.found > 0;
	*next = look.next;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return ready;
}
