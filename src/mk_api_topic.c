/*
 * mk_api_topic.c
 *		The SQL functions about topics.
 */
#include "postgres.h"

#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_compat.h"
#include "mk_index.h"
#include "mk_murmur2.h"
#include "mk_topic.h"
#include "mk_topic_admin.h"
#include "mk_utf8.h"
#include "mk_xact.h"

/* partition_for_key() needs the right to produce or to consume. */
#define MK_ANY_RIGHT (ACL_SELECT | ACL_INSERT)

PG_FUNCTION_INFO_V1(minikafka_create_topic);
Datum
minikafka_create_topic(PG_FUNCTION_ARGS)
{
	MkTopicRow options = {0};
	char *name;
	bool if_not_exists;

	mk_api_enter("create_topic()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	mk_topic_check_name(name);
	mk_option_from_arguments(fcinfo, &options);
	if_not_exists = mk_api_bool(fcinfo, 9, "if_not_exists");

	mk_xact_check_writable("create_topic()");
	mk_topic_create(name, &options, if_not_exists);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_set_topic_option);
Datum
minikafka_set_topic_option(PG_FUNCTION_ARGS)
{
	char *name;
	char *option;
	char *value;
	MkTopic *topic;
	MkTopicColumn column;
	Datum datum;
	bool isnull;

	mk_api_enter("set_topic_option()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	option = mk_api_cstring(fcinfo, 1, "option");
	value = PG_ARGISNULL(2) ? NULL : mk_api_cstring(fcinfo, 2, "value");
	mk_xact_check_writable("set_topic_option()");
	topic = mk_topic_lock_owned(name, false);
	column = mk_option_parse(option, value, &datum, &isnull);
	mk_catalog_topic_set(topic, column, datum, isnull);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_add_partitions);
Datum
minikafka_add_partitions(PG_FUNCTION_ARGS)
{
	char *name;
	int32 total;

	mk_api_enter("add_partitions()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	total = mk_api_int32(fcinfo, 1, "total");
	mk_option_check_number("total", total, 1, MK_TOPIC_MAX_PARTITIONS);
	mk_xact_check_writable("add_partitions()");
	mk_topic_add_partitions(name, total);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_create_index);
Datum
minikafka_create_index(PG_FUNCTION_ARGS)
{
	char *name;
	char *definition;

	mk_api_enter("create_index()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	definition = mk_api_cstring(fcinfo, 1, "definition");
	mk_xact_check_writable("create_index()");
	PG_RETURN_TEXT_P(cstring_to_text(mk_index_create(name, definition)));
}

PG_FUNCTION_INFO_V1(minikafka_drop_topic);
Datum
minikafka_drop_topic(PG_FUNCTION_ARGS)
{
	char *name;
	bool if_exists;

	mk_api_enter("drop_topic()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	if_exists = mk_api_bool(fcinfo, 1, "if_exists");
	mk_xact_check_writable("drop_topic()");
	mk_topic_drop(name, if_exists);
	PG_RETURN_VOID();
}

/* partition_for_key() of a text or bytea. */
static int32
mk_partition_for_key(FunctionCallInfo fcinfo, bool is_text)
{
	MkTopic *topic;
	struct varlena *key;

	mk_api_enter("partition_for_key()");
	topic = mk_api_topic(fcinfo, 0, MK_ANY_RIGHT);
	mk_api_require(fcinfo, 1, "key");
	key = PG_GETARG_VARLENA_PP(1);
	if (is_text)
		key = mk_utf8_from_text(key);
	return mk_topic_partition_for_key(topic, VARDATA_ANY(key),
									  VARSIZE_ANY_EXHDR(key));
}

PG_FUNCTION_INFO_V1(minikafka_partition_for_key_text);
Datum
minikafka_partition_for_key_text(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(mk_partition_for_key(fcinfo, true));
}

PG_FUNCTION_INFO_V1(minikafka_partition_for_key_bytea);
Datum
minikafka_partition_for_key_bytea(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(mk_partition_for_key(fcinfo, false));
}

PG_FUNCTION_INFO_V1(minikafka_murmur2);
Datum
minikafka_murmur2(PG_FUNCTION_ARGS)
{
	bytea *key = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_INT32(
		mk_murmur2((unsigned char *) VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key)));
}
