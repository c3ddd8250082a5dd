/*
 * mk_api_dead_letter.c
 *		The SQL functions that send dead letters, and send them back.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "mk_api.h"
#include "mk_dead_letter.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_redrive.h"
#include "mk_topic.h"

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
