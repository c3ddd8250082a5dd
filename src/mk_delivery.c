/*
 * mk_delivery.c
 *		Sending scheduled records that are due.
 *
 * Each step is a transaction that takes rows from the table and sends them as
 * send() does.  So a record is sent if and only if its row is gone, whatever fails.
 * One session at a time sends, under a lock that is only tried for; the next one
 * gets it when the records of the last one have their offsets.  So the records of a
 * key come in the order of their rows.
 *
 * A record is sent by the right of the role that has scheduled it, checked at that
 * time, as are its size and the contract.  A record that cannot be sent must not hold
 * up the others.  So its row is replaced by one that is due later, with the error.
 * To find out which record it is costs more than to send it, and is done only after
 * a step has failed:
 *
 * - At first a step has many records, and fails with the first error.
 * - If it failed before its commit, the following steps send each record in a
 *	 subtransaction.
 * - If it failed at its commit, the following steps have one record each.  If that
 *	 fails, the record is put off; and if it is because another session keeps a
 *	 partition locked with append(), all records of the topic that are due.
 *
 * The rows of a topic that does not exist any more are removed: those that its drop
 * could not remove, since a transaction that cancelled them then rolled back.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_delivery.h"
#include "mk_alarm.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_relation.h"
#include "mk_schedule_rows.h"
#include "mk_send.h"
#include "mk_step.h"
#include "mk_topic.h"
#include "mk_try.h"

/* The most that a step sends. */
#define MK_DELIVERY_RECORDS 1000
#define MK_DELIVERY_BYTES   (4 * 1024 * 1024)

/* What a step does, for reports. */
#define MK_DELIVERY_ACTIVITY "delivery of scheduled records"

/* When to try again: after a second, then twice as long each time, up to an hour. */
#define MK_RETRY     USECS_PER_SEC
#define MK_MAX_RETRY USECS_PER_HOUR

/* A topic whose records are put off in this run, and why. */
typedef struct MkBlockedTopic
{
	int32 topic_id;
	const char *why;
} MkBlockedTopic;

typedef struct MkDelivery
{
	MkSteps steps;
	bool careful; /* each record in a subtransaction */
	int64 single; /* so many records are to be sent in a step each */
	List *blocked; /* of MkBlockedTopic */

	/* what the last step did */
	bool complete; /* it came to its commit */
	MkDeliveryResult result; /* if it was the last one */
	uint64 due_look; /* see mk_alarm.h */
	MkScheduleLook look;
	int64 sent;
	int64 last_id; /* of the records that it has sent */
	int32 last_topic_id;
} MkDelivery;

/* ---------------------------------------------------------------------------
 * A record
 */

typedef struct MkDeliveryCall
{
	const MkScheduled *scheduled;
	MkTopic *topic;
} MkDeliveryCall;

static void
mk_delivery_send(void *arg)
{
	const MkDeliveryCall *call = arg;
	const MkRecord *record = &call->scheduled->record;

	mk_topic_check_allows(
		call->topic,
		get_role_oid(NameStr(call->scheduled->scheduled_by), false),
		ACL_INSERT);
	mk_topic_check_record(call->topic, record);
	mk_send_record(call->topic, mk_topic_choose_partition(call->topic, record),
				   record, NULL, 0);
}

/*
 * Puts a record off whose row the transaction has removed.  The times count from
 * the look, so that records that fail together are tried again in their order.
 */
static void
mk_delivery_put_off(MkScheduled *scheduled, TimestampTz now, const char *why)
{
	int64 delay = MK_RETRY << Min(scheduled->attempts, 20);

	scheduled->due = now + Min(delay, MK_MAX_RETRY);
	scheduled->attempts++;
	scheduled->error = why;
	mk_schedule_rows_insert(scheduled);
}

/* Errors that no other record would meet, or that say what is wrong. */
static bool
mk_delivery_may_fail(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) != ERRCODE_OPERATOR_INTERVENTION;
}

static const char *
mk_delivery_blocked(const MkDelivery *delivery, int32 topic_id)
{
	ListCell *lc;

	foreach (lc, delivery->blocked)
	{
		const MkBlockedTopic *blocked = lfirst(lc);

		if (blocked->topic_id == topic_id)
			return blocked->why;
	}
	return NULL;
}

/* A MkScheduledSink: sends a record that is due. */
static void
mk_delivery_record(MkScheduled *scheduled, void *arg)
{
	MkDelivery *delivery = arg;
	MkDeliveryCall call = {.scheduled = scheduled, .topic = NULL};
	const char *why = mk_delivery_blocked(delivery, scheduled->topic_id);
	ErrorData *error;

	if (why != NULL)
	{
		mk_delivery_put_off(scheduled, delivery->look.now, why);
		return;
	}
	call.topic = mk_catalog_topic_by_id(scheduled->topic_id);
	if (call.topic == NULL)
		return;
	if (!delivery->careful)
		mk_delivery_send(&call);
	else
	{
		error = mk_try(mk_delivery_send, &call, mk_delivery_may_fail);
		if (error != NULL)
		{
			mk_delivery_put_off(scheduled, delivery->look.now, error->message);
			return;
		}
	}
	delivery->sent++;
	delivery->last_id = scheduled->id;
	delivery->last_topic_id = scheduled->topic_id;
}

/* ---------------------------------------------------------------------------
 * Steps
 */

static void
mk_do_delivery(void *arg)
{
	MkDelivery *delivery = arg;

	if (!mk_lock_delivery_try())
	{
		delivery->result = MK_DELIVERY_RUN_BUSY;
		return;
	}
	delivery->due_look = mk_alarm_begin_look();
	delivery->look.taken = 0;
	delivery->look.next = DT_NOEND;
	delivery->look.is_far = false;
	/* as for maintenance: the topics of a restore may not be complete */
	if (!mk_relation_is_subscriber() && !mk_number_is_unset())
	{
		delivery->look.now = mk_clock_now();
		delivery->look.max_records =
			delivery->single > 0 ? 1 : MK_DELIVERY_RECORDS;
		mk_schedule_rows_look(&delivery->look);
	}
	delivery->result = MK_DELIVERY_RUN_DONE;
	delivery->complete = true;
}

/* A record that could not be sent, because the commit failed. */
typedef struct MkPutOff
{
	int64 id;
	const char *why;
} MkPutOff;

static void
mk_do_put_off(void *arg)
{
	const MkPutOff *put_off = arg;
	MkScheduled scheduled;

	if (mk_lock_delivery_try() &&
		mk_schedule_rows_get(put_off->id, &scheduled) &&
		mk_schedule_rows_remove(put_off->id))
		mk_delivery_put_off(&scheduled, mk_clock_now(), put_off->why);
}

static void
mk_do_raise_start(void *arg)
{
	if (mk_lock_delivery_try() && mk_lock_schedule_move_try())
		mk_schedule_rows_start_raise(mk_clock_now());
}

/* ---------------------------------------------------------------------------
 * Running
 */

static void
mk_delivery_begin(MkDelivery *delivery, bool is_pass,
				  void (*report)(const char *activity))
{
	memset(delivery, 0, sizeof(MkDelivery));
	mk_step_begin(&delivery->steps, is_pass, report);
	delivery->look.max_bytes = MK_DELIVERY_BYTES;
	delivery->look.sink = mk_delivery_record;
	delivery->look.arg = delivery;
}

/*
 * Remembers the topic of the last record as locked: the following steps put its
 * records off.
 */
static void
mk_delivery_block(MkDelivery *delivery, const ErrorData *error)
{
	MemoryContext old = MemoryContextSwitchTo(delivery->steps.context);
	MkBlockedTopic *blocked = palloc(sizeof(MkBlockedTopic));

	blocked->topic_id = delivery->last_topic_id;
	blocked->why = pstrdup(error->message);
	delivery->blocked = lappend(delivery->blocked, blocked);
	MemoryContextSwitchTo(old);
}

/* Puts the last record off. */
static void
mk_delivery_put_off_last(MkDelivery *delivery, const ErrorData *error)
{
	MkPutOff put_off = {delivery->last_id, error->message};

	(void) mk_step_run(&delivery->steps, mk_do_put_off, &put_off,
					   MK_DELIVERY_ACTIVITY);
}

/*
 * Deals with the error of a step; false if that was not about a record, so that the
 * same would happen again.
 */
static bool
mk_delivery_failed(MkDelivery *delivery, const ErrorData *error)
{
	if (!delivery->complete && !delivery->careful)
		delivery->careful = true;
	else if (!delivery->complete || delivery->sent == 0)
		return false;
	else if (delivery->look.taken > 1)
		delivery->single = delivery->look.taken;
	else if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		mk_delivery_block(delivery, error);
	else
		mk_delivery_put_off_last(delivery, error);
	return true;
}

/* Reports an error that no record is to blame for. */
static void
mk_delivery_report(const MkDelivery *delivery, ErrorData *error)
{
	if (!delivery->steps.is_pass)
		ThrowErrorData(error);
	mk_step_report(error, MK_DELIVERY_ACTIVITY);
}

/* Runs a step; returns whether there may be more to send. */
static bool
mk_delivery_step(MkDelivery *delivery)
{
	ErrorData *error;

	delivery->complete = false;
	delivery->sent = 0;
	error = mk_step_try(&delivery->steps, mk_do_delivery, delivery,
						MK_DELIVERY_ACTIVITY);
	if (delivery->complete && delivery->single > 0)
		delivery->single--;
	if (error != NULL)
	{
		bool go_on = mk_delivery_failed(delivery, error);

		delivery->result = MK_DELIVERY_RUN_FAILED;
		delivery->sent = 0;
		if (!go_on)
			mk_delivery_report(delivery, error);
		FreeErrorData(error);
		return go_on;
	}
	if (delivery->result == MK_DELIVERY_RUN_BUSY)
		return false;
	if (delivery->look.is_far)
		(void) mk_step_run_async(&delivery->steps, mk_do_raise_start, NULL,
								 MK_DELIVERY_ACTIVITY);
	if (delivery->look.taken > 0)
		return true;
	mk_alarm_end_look(delivery->due_look, delivery->look.next);
	return false;
}

MkDeliveryResult
mk_delivery_run(bool is_pass, void (*report)(const char *activity))
{
	MkDelivery delivery;

	mk_delivery_begin(&delivery, is_pass, report);
	while (mk_delivery_step(&delivery))
		;
	mk_step_end(&delivery.steps);
	return delivery.result;
}

bool
mk_delivery_run_some(void)
{
	MkDelivery delivery;
	bool sent;

	if (mk_alarm_next(MyDatabaseId) > mk_clock_now())
		return false;
	mk_delivery_begin(&delivery, true, NULL);
	while (mk_delivery_step(&delivery) && delivery.sent == 0)
		;
	sent = delivery.sent > 0;
	mk_step_end(&delivery.steps);
	return sent;
}
