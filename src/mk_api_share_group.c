/*
 * mk_api_share_group.c
 *		The SQL functions that create share groups and set their options.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"

#include "mk_api.h"
#include "mk_share_admin.h"

/*
 * create_share_group(group_id, topics, ordering, max_deliveries, backoff,
 * max_backoff, dead_letter_topic, auto_offset_reset)
 */
PG_FUNCTION_INFO_V1(minikafka_create_share_group);
Datum
minikafka_create_share_group(PG_FUNCTION_ARGS)
{
	MkShareSettings settings;
	char *group_id;
	char *dead_letter_topic;

	mk_api_enter_writer("create_share_group()");
	group_id = mk_api_id(fcinfo, 0, "group_id");
	mk_api_require(fcinfo, 1, "topics");
	dead_letter_topic = mk_share_settings_from_arguments(fcinfo, &settings);
	mk_share_admin_create(group_id, PG_GETARG_ARRAYTYPE_P(1), &settings,
						  dead_letter_topic);
	PG_RETURN_VOID();
}

/* set_group_option(group_id, option, value) */
PG_FUNCTION_INFO_V1(minikafka_set_group_option);
Datum
minikafka_set_group_option(PG_FUNCTION_ARGS)
{
	char *group_id;
	char *option;

	mk_api_enter_writer("set_group_option()");
	group_id = mk_api_id(fcinfo, 0, "group_id");
	option = mk_api_cstring(fcinfo, 1, "option");
	mk_share_admin_set(group_id, option,
					   PG_ARGISNULL(2) ? NULL
									   : mk_api_cstring(fcinfo, 2, "value"));
	PG_RETURN_VOID();
}
