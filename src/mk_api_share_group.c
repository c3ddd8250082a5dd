/*
 * mk_api_share_group.c
 *		The SQL functions that create share groups and set their options.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"

#include "mk_api.h"
#include "mk_share_admin.h"

/* 22023 */
static void
mk_unknown_word(const char *what, const char *word, const char *known)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown %s \"%s\"", what, word),
			 errhint("It must be %s.", known)));
}

/*
 * create_share_group(group_id, topics, ordering, max_deliveries, backoff,
 * max_backoff, dead_letter_topic, auto_offset_reset)
 */
PG_FUNCTION_INFO_V1(minikafka_create_share_group);
Datum
minikafka_create_share_group(PG_FUNCTION_ARGS)
{
	MkShareSettings s = {
		.max_in_flight = 2000,
		.dead_letter_limit = -1,
	};
	char *group_id;
	char *word;

	mk_api_enter_writer("create_share_group()");
	group_id = mk_api_id(fcinfo, 0, "group_id");
	mk_api_require(fcinfo, 1, "topics");
	word = mk_api_cstring(fcinfo, 2, "ordering");
	if (!mk_group_setting_find_ordering(word, &s.ordering))
		mk_unknown_word("ordering", word, "\"key\" or \"none\"");
	s.max_deliveries = mk_api_int32(fcinfo, 3, "max_deliveries");
	mk_option_check_number("max_deliveries", s.max_deliveries, 1, 1000000);
	s.backoff = mk_api_interval(fcinfo, 4, "backoff", 0);
	s.max_backoff = mk_api_interval(fcinfo, 5, "max_backoff", 0);
	word = mk_api_cstring(fcinfo, 7, "auto_offset_reset");
	if (!mk_group_setting_find_reset(word, &s.reset) ||
		s.reset == MK_RESET_NONE)
		mk_unknown_word("auto_offset_reset", word,
						"\"earliest\" or \"latest\"");
	mk_share_admin_create(group_id, PG_GETARG_ARRAYTYPE_P(1), &s,
						  PG_ARGISNULL(6)
							  ? NULL
							  : mk_api_cstring(fcinfo, 6, "dead_letter_topic"));
	PG_RETURN_VOID();
}
