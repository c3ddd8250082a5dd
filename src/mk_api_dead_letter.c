/*
 * mk_api_dead_letter.c
 *		The SQL functions that send dead letters, list them, and send them back.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_dead_letter.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_header_edit.h"
#include "mk_open_letters.h"
#include "mk_redrive.h"
#include "mk_topic.h"
#include "mk_try.h"

/*
 * dead_letter(group_id, topic, partition, record_offset, dead_letter_topic,
 * error)
 */
PG_FUNCTION_INFO_V1(minikafka_dead_letter);
Datum
minikafka_dead_letter(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkGroup *group;
	MkDeadLetter letter = {0};
	MkTopic *target;

	mk_api_enter_writer("dead_letter()");
	group_id = mk_api_id(fcinfo, 0, "group_id");
	group = mk_group_find(group_id);
	if (group != NULL)
		mk_group_check_kind(group, MK_GROUP_CONSUMER);
	else if (mk_group_use_find(group_id) == NULL)
		mk_group_not_found(group_id); /* nor does this transaction make it */
	letter.group_id = group_id;
	letter.source = mk_api_topic(fcinfo, 1, ACL_SELECT);
	letter.partition = mk_api_partition(fcinfo, 2, letter.source);
	letter.offset = mk_api_int64(fcinfo, 3, "record_offset");
	target = mk_api_named_topic(fcinfo, 4, "dead_letter_topic", ACL_INSERT);
	letter.error =
		PG_ARGISNULL(5) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(5));
	mk_dead_letter_check_offset(letter.source, letter.partition, letter.offset);
	mk_dead_letter_send(&letter, target, GetUserId());
	PG_RETURN_VOID();
}

/*
 * redrive(dead_letter_topic, partition, record_offset, max_records,
 * target_topic)
 */
PG_FUNCTION_INFO_V1(minikafka_redrive);
Datum
minikafka_redrive(PG_FUNCTION_ARGS)
{
	MkRedrive redrive = {
		.partition = -1, .offset = -1, .max_records = PG_INT64_MAX};

	mk_api_enter_writer("redrive()");
	redrive.topic =
		mk_api_named_topic(fcinfo, 0, "dead_letter_topic", ACL_SELECT);
	if (!PG_ARGISNULL(1))
		redrive.partition = mk_api_partition(fcinfo, 1, redrive.topic);
	if (!PG_ARGISNULL(2))
	{
		mk_api_require(fcinfo, 1, "partition");
		redrive.offset = PG_GETARG_INT64(2);
		mk_option_check_number("record_offset", redrive.offset, 0,
							   PG_INT64_MAX);
	}
	if (!PG_ARGISNULL(3))
	{
		redrive.max_records = PG_GETARG_INT32(3);
		mk_option_check_number("max_records", redrive.max_records, 1,
							   PG_INT32_MAX);
	}
	if (!PG_ARGISNULL(4))
	{
		/* what goes elsewhere does not go back any more */
		mk_topic_check_allows(redrive.topic, GetUserId(), ACL_DELETE);
		redrive.target =
			mk_api_named_topic(fcinfo, 4, "target_topic", ACL_INSERT);
		if (redrive.target->topic_id == redrive.topic->topic_id)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot send dead letters of topic \"%s\" to "
							"itself",
							NameStr(redrive.topic->name))));
	}
	PG_RETURN_INT64(mk_redrive(&redrive));
}

/* ---------------------------------------------------------------------------
 * topic_dead_letters(), for the view dead_letters
 */

/* The columns of a row */
enum
{
	MK_LETTER_PARTITION,
	MK_LETTER_OFFSET,
	MK_LETTER_SENT_AT,
	MK_LETTER_GROUP,
	MK_LETTER_SOURCE,
	MK_LETTER_SOURCE_PARTITION,
	MK_LETTER_SOURCE_OFFSET,
	MK_LETTER_COUNT,
	MK_LETTER_ERROR,
	MK_LETTER_COLUMNS
};

/* A look at the letters of a topic */
typedef struct MkLettersCall
{
	FunctionCallInfo fcinfo;
	ReturnSetInfo *rsinfo;
	MkTopic *topic;
	int32 partition;
	bool all; /* also what the letters tell */

	/* of the row */
	Datum values[MK_LETTER_COLUMNS];
	bool nulls[MK_LETTER_COLUMNS];
} MkLettersCall;

/* Sets a column to a header that is text. */
static void
mk_letters_set_text(MkLettersCall *call, int column, Jsonb *headers,
					const char *name)
{
	MkHeader header;

	call->nulls[column] = !call->all ||
		!mk_header_get(headers, name, &header) || header.value == NULL;
	if (!call->nulls[column])
		call->values[column] = PointerGetDatum(
			cstring_to_text_with_len(header.value, header.length));
}

/* Sets a column of type integer or bigint to a header that is a number. */
static void
mk_letters_set_number(MkLettersCall *call, int column, Jsonb *headers,
					  const char *name, int64 max)
{
	int64 number = mk_header_get_number(headers, name);

	/* whoever may write to the topic can write any number */
	call->nulls[column] = !call->all || number < 0 || number > max;
	call->values[column] = max == PG_INT32_MAX ? Int32GetDatum((int32) number)
											   : Int64GetDatum(number);
}

/* An MkLetterSink that adds a row to the result */
static void
mk_letters_row(const MkLogRecord *letter, Jsonb *headers, void *arg)
{
	MkLettersCall *call = arg;

	memset(call->nulls, false, sizeof(call->nulls));
	call->values[MK_LETTER_PARTITION] = Int32GetDatum(call->partition);
	call->values[MK_LETTER_OFFSET] = Int64GetDatum(letter->offset);
	call->values[MK_LETTER_SENT_AT] = TimestampTzGetDatum(letter->ts);
	mk_letters_set_text(call, MK_LETTER_GROUP, headers, MK_DEAD_LETTER_GROUP);
	mk_letters_set_text(call, MK_LETTER_SOURCE, headers, MK_DEAD_LETTER_TOPIC);
	mk_letters_set_number(call, MK_LETTER_SOURCE_PARTITION, headers,
						  MK_DEAD_LETTER_PARTITION, PG_INT32_MAX);
	mk_letters_set_number(call, MK_LETTER_SOURCE_OFFSET, headers,
						  MK_DEAD_LETTER_OFFSET, PG_INT64_MAX);
	mk_letters_set_number(call, MK_LETTER_COUNT, headers, MK_DEAD_LETTER_COUNT,
						  PG_INT32_MAX);
	mk_letters_set_text(call, MK_LETTER_ERROR, headers, MK_DEAD_LETTER_MESSAGE);
	tuplestore_putvalues(call->rsinfo->setResult, call->rsinfo->setDesc,
						 call->values, call->nulls);
}

/* Adds the rows of a topic; under mk_try(), for the topic may be broken. */
static void
mk_letters_topic(void *arg)
{
	MkLettersCall *call = arg;

	call->topic = mk_api_monitored_topic(call->fcinfo, 0);
	call->all = mk_topic_may_read(call->topic);
	for (; call->partition < call->topic->npartitions; call->partition++)
		mk_open_letters_read(call->topic, call->partition, GetActiveSnapshot(),
							 mk_letters_row, call);
}

/* topic_dead_letters(topic), for the view dead_letters */
PG_FUNCTION_INFO_V1(minikafka_topic_dead_letters);
Datum
minikafka_topic_dead_letters(PG_FUNCTION_ARGS)
{
	MkLettersCall call = {.fcinfo = fcinfo};

	mk_api_enter("topic_dead_letters()");
	InitMaterializedSRF(fcinfo, 0);
	call.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	(void) mk_try(mk_letters_topic, &call, mk_api_is_unreadable);
	return (Datum) 0;
}
