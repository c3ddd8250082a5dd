/*
 * mk_api_topic.c
 *		The SQL functions about topics.
 */
#include "postgres.h"

#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_index.h"
#include "mk_murmur2.h"
#include "mk_topic.h"
#include "mk_utf8.h"
#include "mk_xact.h"

/* Any right to a topic lets its partitioner be asked. */
#define MK_ANY_RIGHT (ACL_SELECT | ACL_INSERT)

/* ---------------------------------------------------------------------------
 * Options
 */

static const char *
mk_check_cleanup_policy(const char *value)
{
	if (strcmp(value, "delete,compact") == 0)
		return "compact,delete";
	if (strcmp(value, "delete") != 0 && strcmp(value, "compact") != 0 &&
		strcmp(value, "compact,delete") != 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid cleanup policy \"%s\"", value),
			 errhint("It is \"delete\", \"compact\" or \"compact,delete\".")));
	return value;
}

static const char *
mk_check_value_format(const char *value)
{
	if (strcmp(value, "bytes") != 0 && strcmp(value, "text") != 0 &&
		strcmp(value, "json") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value format \"%s\"", value),
				 errhint("It is \"bytes\", \"text\" or \"json\".")));
	return value;
}

static int32
mk_check_max_message_bytes(int64 value)
{
	mk_topic_check_number("max_message_bytes", value, 1,
						  MK_TOPIC_MAX_MESSAGE_BYTES);
	return (int32) value;
}

/* One value only in this version. */
static int32
mk_check_min_insync_replicas(int64 value)
{
	mk_topic_check_number("min_insync_replicas", value, 1, PG_INT32_MAX);
	if (value > 1)
		mk_api_not_yet("option \"min_insync_replicas\" above 1");
	return (int32) value;
}

/* A retention so short is told: '7' as an interval is seven seconds. */
#define MK_SHORT_RETENTION USECS_PER_MINUTE

static Interval *
mk_check_retention(Interval *value)
{
	int64 microseconds = mk_clock_interval(value);

	if (microseconds <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"retention\" must be above zero"),
				 errhint("Use NULL to keep records for ever.")));
	if (microseconds < MK_SHORT_RETENTION)
		ereport(NOTICE,
				(errmsg("records are kept for %g seconds only",
						(double) microseconds / USECS_PER_SEC),
				 errhint("Give \"retention\" with its unit, as '7 days'.")));
	return value;
}

static Interval *
mk_check_not_negative(const char *option, Interval *value)
{
	if (mk_clock_interval(value) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be negative", option)));
	return value;
}

static int64
mk_check_retention_bytes(int64 value)
{
	if (value < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"retention_bytes\" must be above zero"),
				 errhint("Use NULL to keep any number of bytes.")));
	return value;
}

PG_FUNCTION_INFO_V1(minikafka_create_topic);
Datum
minikafka_create_topic(PG_FUNCTION_ARGS)
{
	MkTopicOptions options;
	char *name;
	bool if_not_exists;

	mk_api_enter("create_topic()");
	name = mk_api_cstring(fcinfo, 0, "topic");
	mk_topic_check_name(name);
	options.partitions = mk_api_int32(fcinfo, 1, "partitions");
	mk_topic_check_number("partitions", options.partitions, 1,
						  MK_TOPIC_MAX_PARTITIONS);
	options.retention =
		PG_ARGISNULL(2) ? NULL : mk_check_retention(PG_GETARG_INTERVAL_P(2));
	options.retention_bytes = PG_ARGISNULL(3)
		? MK_UNLIMITED
		: mk_check_retention_bytes(PG_GETARG_INT64(3));
	options.cleanup_policy =
		mk_check_cleanup_policy(mk_api_cstring(fcinfo, 4, "cleanup_policy"));
	options.partitioner = mk_api_cstring(fcinfo, 5, "partitioner");
	if (strcmp(options.partitioner, "murmur2") != 0 &&
		strcmp(options.partitioner, "md5") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid partitioner \"%s\"", options.partitioner),
				 errhint("It is \"murmur2\" or \"md5\".")));
	options.segment_records = mk_api_int64(fcinfo, 6, "segment_records");
	mk_topic_check_number("segment_records", options.segment_records, 1,
						  MK_TOPIC_MAX_SEGMENT_RECORDS);
	options.max_message_bytes = mk_check_max_message_bytes(
		mk_api_int32(fcinfo, 7, "max_message_bytes"));
	(void) mk_check_min_insync_replicas(
		mk_api_int32(fcinfo, 8, "min_insync_replicas"));
	if_not_exists = mk_api_bool(fcinfo, 9, "if_not_exists");

	mk_xact_check_writable("create_topic()");
	mk_topic_create(name, &options, if_not_exists);
	PG_RETURN_VOID();
}

static int64
mk_parse_number(const char *option, const char *value)
{
	char *end;
	int64 number;

	errno = 0;
	number = strtoi64(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' ||
		isspace((unsigned char) *value))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", option, value),
			 errhint("It is a whole number.")));
	return number;
}

static Interval *
mk_parse_interval(const char *value)
{
	return DatumGetIntervalP(
		DirectFunctionCall3(interval_in, CStringGetDatum(value),
							ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/*
 * The column of an option, and its value; NULL for the default, which is none
 * where that is NULL.
 */
static MkTopicColumn
mk_parse_option(const char *option, const char *value, Datum *datum,
				bool *isnull)
{
	*isnull = value == NULL;
	*datum = (Datum) 0;
	if (strcmp(option, "retention") == 0)
	{
		if (value != NULL)
			*datum =
				IntervalPGetDatum(mk_check_retention(mk_parse_interval(value)));
		return MK_COLUMN_RETENTION;
	}
	if (strcmp(option, "retention_bytes") == 0)
	{
		if (value != NULL)
			*datum = Int64GetDatum(
				mk_check_retention_bytes(mk_parse_number(option, value)));
		return MK_COLUMN_RETENTION_BYTES;
	}
	if (strcmp(option, "delete_retention") == 0 ||
		strcmp(option, "min_compaction_lag") == 0)
	{
		if (value != NULL)
			*datum = IntervalPGetDatum(
				mk_check_not_negative(option, mk_parse_interval(value)));
		return strcmp(option, "delete_retention") == 0
			? MK_COLUMN_DELETE_RETENTION
			: MK_COLUMN_MIN_COMPACTION_LAG;
	}

	/* the others always have a value */
	*isnull = false;
	if (strcmp(option, "cleanup_policy") == 0)
	{
		*datum = CStringGetTextDatum(
			value == NULL ? "delete" : mk_check_cleanup_policy(value));
		return MK_COLUMN_CLEANUP_POLICY;
	}
	if (strcmp(option, "value_format") == 0)
	{
		*datum = CStringGetTextDatum(
			value == NULL ? "bytes" : mk_check_value_format(value));
		return MK_COLUMN_VALUE_FORMAT;
	}
	if (strcmp(option, "max_message_bytes") == 0)
	{
		*datum = Int32GetDatum(
			value == NULL
				? MK_TOPIC_DEFAULT_MESSAGE_BYTES
				: mk_check_max_message_bytes(mk_parse_number(option, value)));
		return MK_COLUMN_MAX_MESSAGE_BYTES;
	}
	if (strcmp(option, "min_insync_replicas") == 0)
	{
		*datum = Int32GetDatum(
			value == NULL
				? 1
				: mk_check_min_insync_replicas(mk_parse_number(option, value)));
		return MK_COLUMN_MIN_INSYNC_REPLICAS;
	}
	if (strcmp(option, "partitions") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be set", option),
				 errhint("Use minikafka.add_partitions().")));
	if (strcmp(option, "partitioner") == 0 ||
		strcmp(option, "segment_records") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" cannot be set", option),
				 errhint("It is fixed when the topic is created.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized topic option \"%s\"", option),
			 errhint("Options are \"retention\", \"retention_bytes\", "
					 "\"cleanup_policy\", \"delete_retention\", "
					 "\"min_compaction_lag\", \"max_message_bytes\", "
					 "\"min_insync_replicas\" and \"value_format\".")));
	pg_unreachable();
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
	column = mk_parse_option(option, value, &datum, &isnull);
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
	mk_topic_check_number("total", total, 1, MK_TOPIC_MAX_PARTITIONS);
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
