/*
 * mk_api_share_view.c
 *		The SQL function behind the view share_deliveries.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_group.h"
#include "mk_share_parked.h"
#include "mk_share_receipt.h"
#include "mk_share_survey.h"
#include "mk_topic.h"
#include "mk_try.h"

/* The columns of a row */
enum
{
	MK_DELIVERED_TOPIC,
	MK_DELIVERED_PARTITION,
	MK_DELIVERED_OFFSET,
	MK_DELIVERED_STATE,
	MK_DELIVERED_COUNT,
	MK_DELIVERED_LOCKED_UNTIL,
	MK_DELIVERED_WAITING_UNTIL,
	MK_DELIVERED_ERROR,
	MK_DELIVERED_RECEIPT,
	MK_DELIVERED_PID,
	MK_DELIVERED_CHANGED_AT,
	MK_DELIVERED_COLUMNS
};

/* A look at the deliveries in a topic */
typedef struct MkDeliveredCall
{
	ReturnSetInfo *rsinfo;
	const MkGroup *group;
	const MkTopic *topic;
	bool all; /* also what only those see who may use the group */
	MemoryContext context; /* of a partition */
} MkDeliveredCall;

/* An MkShareSurveySink that adds a row to the result */
static void
mk_delivered_row(const MkShareKey *key, const MkDelivery *d, int pid, void *arg)
{
	MkDeliveredCall *call = arg;
	/* what an operator answers: the newest row about the record */
	const MkShareReceipt receipt = {.key = *key,
									.offset = d->offset,
									.kind = MK_RECEIPT_OPERATOR,
									.number = d->number};
	const char *state = pid != 0 ? "held" : mk_delivery_state_name(d->state);
	bool locked = d->state == MK_DELIVERY_LOCKED;
	bool has_until = pid == 0 && d->until != DT_NOBEGIN;
	char text[MK_RECEIPT_SIZE];
	Datum values[MK_DELIVERED_COLUMNS];
	bool nulls[MK_DELIVERED_COLUMNS] = {0};

	mk_share_receipt_format(&receipt, text);
	values[MK_DELIVERED_TOPIC] =
		CStringGetTextDatum(NameStr(call->topic->name));
	values[MK_DELIVERED_PARTITION] = Int32GetDatum(key->partition);
	values[MK_DELIVERED_OFFSET] = Int64GetDatum(d->offset);
	values[MK_DELIVERED_STATE] = CStringGetTextDatum(state);
	values[MK_DELIVERED_COUNT] = Int32GetDatum(d->count + (pid != 0 ? 1 : 0));
	nulls[MK_DELIVERED_LOCKED_UNTIL] = !has_until || !locked;
	nulls[MK_DELIVERED_WAITING_UNTIL] = !has_until || locked;
	values[MK_DELIVERED_LOCKED_UNTIL] = values[MK_DELIVERED_WAITING_UNTIL] =
		TimestampTzGetDatum(d->until);
	nulls[MK_DELIVERED_ERROR] = !call->all || d->error == NULL;
	if (!nulls[MK_DELIVERED_ERROR])
		values[MK_DELIVERED_ERROR] = CStringGetTextDatum(d->error);
	nulls[MK_DELIVERED_RECEIPT] = !call->all;
	values[MK_DELIVERED_RECEIPT] = CStringGetTextDatum(text);
	nulls[MK_DELIVERED_PID] = pid == 0;
	values[MK_DELIVERED_PID] = Int32GetDatum(pid);
	nulls[MK_DELIVERED_CHANGED_AT] = d->number == 0;
	values[MK_DELIVERED_CHANGED_AT] = TimestampTzGetDatum(d->at);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values,
						 nulls);
}

/* An MkParkedSink that adds a row to the result */
static void
mk_delivered_parked(const MkParked *first, int64 letters, void *arg)
{
	MkDeliveredCall *call = arg;
	const MkShareReceipt receipt = {.key = first->key,
									.offset = first->offset,
									.kind = MK_RECEIPT_PARKED,
									.number = first->slot};
	const MkTopic *topic = mk_catalog_topic_by_id(first->letter_topic_id);
	char text[MK_RECEIPT_SIZE];
	Datum values[MK_DELIVERED_COLUMNS] = {0};
	bool nulls[MK_DELIVERED_COLUMNS] = {0};

	mk_share_receipt_format(&receipt, text);
	values[MK_DELIVERED_TOPIC] =
		CStringGetTextDatum(NameStr(call->topic->name));
	values[MK_DELIVERED_PARTITION] = Int32GetDatum(first->key.partition);
	values[MK_DELIVERED_OFFSET] = Int64GetDatum(first->offset);
	values[MK_DELIVERED_STATE] = CStringGetTextDatum("parked");
	values[MK_DELIVERED_COUNT] = Int32GetDatum(first->deliveries);
	nulls[MK_DELIVERED_LOCKED_UNTIL] = true;
	nulls[MK_DELIVERED_WAITING_UNTIL] = true;
	nulls[MK_DELIVERED_ERROR] = !call->all || topic == NULL;
	if (!nulls[MK_DELIVERED_ERROR])
		values[MK_DELIVERED_ERROR] = CStringGetTextDatum(
			psprintf("dead letters of its key: " INT64_FORMAT
					 ", the first at offset " INT64_FORMAT
					 " of partition %d of topic \"%s\"",
					 letters, first->letter_offset, first->letter_partition,
					 NameStr(topic->name)));
	nulls[MK_DELIVERED_RECEIPT] = !call->all;
	values[MK_DELIVERED_RECEIPT] = CStringGetTextDatum(text);
	nulls[MK_DELIVERED_PID] = true;
	values[MK_DELIVERED_CHANGED_AT] = TimestampTzGetDatum(first->at);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc, values,
						 nulls);
}

/* Adds the parked keys of a partition. */
static void
mk_delivered_parked_keys(MkDeliveredCall *call, int32 partition)
{
	MkShareKey key = {.group_no = call->group->group_no,
					  .topic_id = call->topic->topic_id,
					  .partition = partition};
	MkShareCheckpoint newest;

	if (!mk_share_parks(call->group))
		return;
	(void) mk_share_checkpoint_peek(key.group_no, key.topic_id, partition, NULL,
									&newest);
	key.era = newest.era;
	mk_share_parked_list(&key, mk_delivered_parked, call);
}

/* Adds the rows of a topic; under mk_try(), for the topic may be broken. */
static void
mk_delivered_topic(void *arg)
{
	MkDeliveredCall *call = arg;

	for (int32 i = 0; i < call->topic->npartitions; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(call->context);

		CHECK_FOR_INTERRUPTS();
		mk_share_survey_deliveries(call->group, call->topic, i,
								   mk_delivered_row, call);
		mk_delivered_parked_keys(call, i);
		MemoryContextSwitchTo(old);
		MemoryContextReset(call->context);
	}
}

/* group_deliveries(group_id), for the view share_deliveries */
PG_FUNCTION_INFO_V1(minikafka_group_deliveries);
Datum
minikafka_group_deliveries(PG_FUNCTION_ARGS)
{
	MkDeliveredCall call = {0};
	MkGroup *group;

	mk_api_enter("group_deliveries()");
	group = mk_group_find_monitored(mk_api_id(fcinfo, 0, "group_id"));
	InitMaterializedSRF(fcinfo, 0);
	if (group == NULL || group->kind != MK_GROUP_SHARE)
		return (Datum) 0;
	call.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	call.group = group;
	call.all = mk_group_may_use(group);
	call.context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka survey", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < group->ntopics; i++)
	{
		call.topic = mk_membership_topic(&group->topics[i]);
		if (call.topic != NULL && mk_topic_is_visible(call.topic))
			(void) mk_try(mk_delivered_topic, &call, mk_api_is_unreadable);
	}
	MemoryContextDelete(call.context);
	return (Datum) 0;
}
