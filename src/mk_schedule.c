/*
 * mk_schedule.c
 *		Scheduling records, and cancelling them.
 *
 * The row of a scheduled record is written at the call: no other session waits for
 * it, and it goes with its savepoint or transaction.  What remains for the commit
 * is what depends on others: that the topic is still there, and that the next look
 * for records that are due does not begin behind the row.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "mk_clock.h"
#include "mk_alarm.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_role.h"
#include "mk_schedule.h"
#include "mk_schedule_rows.h"
#include "mk_send.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * The deferred action about a topic: it must last
 */

typedef struct MkScheduledTopic
{
	MkTopic *topic;
	int32 topic_id;
} MkScheduledTopic;

static uint64
mk_topic_tag(const void *action)
{
	return ((const MkScheduledTopic *) action)->topic_id;
}

static bool
mk_topic_same(const void *a, const void *b)
{
	return mk_topic_tag(a) == mk_topic_tag(b);
}

/* From here on drop_topic() waits, and then removes the rows. */
static void
mk_topic_lock(void *action)
{
	const MkScheduledTopic *t = action;

	mk_lock_topic_in_use(t->topic_id);
	mk_catalog_check_topic(t->topic, t->topic_id);
}

static const MkDeferredKind mk_topic_kind = {
	.rank = MK_RANK_TOPIC,
	.tag = mk_topic_tag,
	.same = mk_topic_same,
	.lock = mk_topic_lock,
	.discard = pfree,
};

static void
mk_topic_defer(MkTopic *topic)
{
	MkScheduledTopic like = {topic, topic->topic_id};
	MkScheduledTopic *action;

	if (mk_xact_find_deferred(&mk_topic_kind, &like) != NULL)
		return;
	action = MemoryContextAlloc(mk_xact_context(), sizeof(MkScheduledTopic));
	*action = like;
	mk_xact_defer(&mk_topic_kind, action);
}

/* ---------------------------------------------------------------------------
 * The deferred action about the start of the looks
 */

typedef struct MkScheduledFirst
{
	TimestampTz due; /* of the first row of the transaction */
	MkScheduleStart start; /* as the commit finds it */
} MkScheduledFirst;

static uint64
mk_first_tag(const void *action)
{
	return 0;
}

static bool
mk_first_same(const void *a, const void *b)
{
	return true;
}

static void
mk_first_lock(void *action)
{
	MkScheduledFirst *first = action;

	mk_lock_schedule();
	mk_schedule_rows_start(&first->start);
}

static void
mk_first_write(void *action)
{
	const MkScheduledFirst *first = action;

	mk_schedule_rows_start_lower(&first->start, first->due);
}

static const MkDeferredKind mk_first_kind = {
	.rank = MK_RANK_SCHEDULE,
	.tag = mk_first_tag,
	.same = mk_first_same,
	.lock = mk_first_lock,
	.write = mk_first_write,
	.discard = pfree,
};

static void
mk_first_defer(TimestampTz due)
{
	const MkScheduledFirst *before =
		mk_xact_find_deferred(&mk_first_kind, NULL);
	MkScheduledFirst *action;

	if (before != NULL && before->due <= due)
		return;
	action =
		MemoryContextAllocZero(mk_xact_context(), sizeof(MkScheduledFirst));
	action->due = due;
	mk_xact_defer(&mk_first_kind, action);
}

/* ---------------------------------------------------------------------------
 * Scheduling
 */

int64
mk_schedule_record(MkTopic *topic, const MkRecord *record, TimestampTz at)
{
	MkScheduled scheduled = {
		.topic_id = topic->topic_id,
		.at = at,
		.due = at,
		.scheduled_at = mk_clock_now(),
		.record = *record,
	};

	/* the partition is chosen again when the record is sent */
	mk_send_check_record(topic, mk_topic_choose_partition(topic, record),
						 record);
	/* first, since this makes sure that the sequences may be used */
	mk_topic_defer(topic);
	mk_first_defer(at);
	namestrcpy(&scheduled.scheduled_by, GetUserNameFromId(GetUserId(), false));
	scheduled.id = mk_number_next_scheduled();
	mk_schedule_rows_insert(&scheduled);
	mk_alarm_at_end(at);
	return scheduled.id;
}

/* ---------------------------------------------------------------------------
 * Cancelling
 */

/* 42501 unless the user may cancel the record. */
static void
mk_schedule_check_right(const MkScheduled *scheduled)
{
	MkTopic *topic = mk_catalog_topic_by_id(scheduled->topic_id);

	if (topic != NULL && has_privs_of_role(GetUserId(), topic->owner))
		return;
	if (!mk_role_owns(NameStr(scheduled->scheduled_by), GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for scheduled record " INT64_FORMAT,
						scheduled->id),
				 errdetail("Only the role that has scheduled it and the owner "
						   "of its topic may cancel it.")));
	if (topic != NULL)
		mk_topic_check_allows(topic, GetUserId(), ACL_INSERT);
}

bool
mk_schedule_cancel(int64 id)
{
	MkScheduled scheduled;

	if (!mk_schedule_rows_get(id, &scheduled))
		return false;
	mk_schedule_check_right(&scheduled);
	if (!mk_schedule_rows_remove(id))
		return false;
	/* if this rolls back, the record is due again */
	mk_alarm_at_end(scheduled.due);
	return true;
}
