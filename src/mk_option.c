/*
 * mk_option.c
 *		The options of topics.
 *
 * To add an option, add a column to sql/parts/10_catalog.sql (adapting the
 * number of columns in mk_relation.h) and to MkTopicColumn, a field to MkTopic,
 * and an entry below.  Then set_topic_option() sets it, and mk_catalog_topic()
 * returns it.  If create_topic() has an argument for it, the entry has the
 * number of that argument.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_option.h"

#define MK_FIELD(name) ((int) offsetof(MkTopic, name))

#define MK_IS_FIXED "It is fixed when the topic is created."

/* The delete_retention of a topic that has none of its own */
#define MK_DEFAULT_DELETE_RETENTION USECS_PER_DAY

static void mk_check_retention(Datum value);
static void mk_check_retention_bytes(Datum value);
static void mk_check_delete_retention(Datum value);
static void mk_check_min_compaction_lag(Datum value);
static void mk_check_min_insync_replicas(Datum value);
static void mk_check_delivery_delay(Datum value);

static const MkOption mk_options[] = {
	{
		.name = "partitions",
		.column = MK_COLUMN_PARTITIONS,
		.type = MK_OPTION_INT32,
		.argument = 1,
		.fixed = "Use minikafka.add_partitions().",
		.least = 1,
		.most = MK_TOPIC_MAX_PARTITIONS,
		.field = MK_FIELD(npartitions),
	},
	{
		.name = "retention",
		.column = MK_COLUMN_RETENTION,
		.type = MK_OPTION_INTERVAL,
		.argument = 2,
		.check = mk_check_retention,
		.field = MK_FIELD(retention),
		.unset = MK_UNLIMITED,
	},
	{
		.name = "retention_bytes",
		.column = MK_COLUMN_RETENTION_BYTES,
		.type = MK_OPTION_INT64,
		.argument = 3,
		.least = PG_INT64_MIN,
		.most = PG_INT64_MAX,
		.check = mk_check_retention_bytes,
		.field = MK_FIELD(retention_bytes),
		.unset = MK_UNLIMITED,
	},
	{
		.name = "cleanup_policy",
		.column = MK_COLUMN_CLEANUP_POLICY,
		.type = MK_OPTION_WORD,
		.argument = 4,
		.words = {"delete", "compact", "compact,delete"},
		.last_word_too = "delete,compact",
		.preset = "delete",
		.field = MK_FIELD(cleanup_policy),
	},
	{
		.name = "partitioner",
		.column = MK_COLUMN_PARTITIONER,
		.type = MK_OPTION_WORD,
		.argument = 5,
		.fixed = MK_IS_FIXED,
		.words = {"murmur2", "md5"},
		.field = MK_FIELD(partitioner),
	},
	{
		.name = "segment_records",
		.column = MK_COLUMN_SEGMENT_RECORDS,
		.type = MK_OPTION_INT64,
		.argument = 6,
		.fixed = MK_IS_FIXED,
		.least = 1,
		.most = INT64CONST(1000000000),
		.field = MK_FIELD(segment_records),
	},
	{
		.name = "delete_retention",
		.column = MK_COLUMN_DELETE_RETENTION,
		.type = MK_OPTION_INTERVAL,
		.check = mk_check_delete_retention,
		.field = MK_FIELD(delete_retention),
		.unset = MK_DEFAULT_DELETE_RETENTION,
	},
	{
		.name = "min_compaction_lag",
		.column = MK_COLUMN_MIN_COMPACTION_LAG,
		.type = MK_OPTION_INTERVAL,
		.check = mk_check_min_compaction_lag,
		.field = MK_FIELD(min_compaction_lag),
		.unset = -1,
	},
	{
		.name = "max_message_bytes",
		.column = MK_COLUMN_MAX_MESSAGE_BYTES,
		.type = MK_OPTION_INT32,
		.argument = 7,
		.least = 1,
		.most = 1000000000,
		.preset = "1048588",
		.field = MK_FIELD(max_message_bytes),
	},
	{
		.name = "min_insync_replicas",
		.column = MK_COLUMN_MIN_INSYNC_REPLICAS,
		.type = MK_OPTION_INT32,
		.argument = 8,
		.least = 1,
		.most = PG_INT32_MAX,
		.check = mk_check_min_insync_replicas,
		.preset = "1",
		.field = MK_NO_FIELD,
	},
	{
		.name = "value_format",
		.column = MK_COLUMN_VALUE_FORMAT,
		.type = MK_OPTION_WORD,
		.words = {"bytes", "text", "json"},
		.preset = "bytes",
		.field = MK_FIELD(value_format),
	},
	{
		.name = "delivery_delay",
		.column = MK_COLUMN_DELIVERY_DELAY,
		.type = MK_OPTION_INTERVAL,
		.check = mk_check_delivery_delay,
		.field = MK_FIELD(delivery_delay),
		.unset = 0,
	},
	{
		.name = "keep_unread",
		.column = MK_COLUMN_KEEP_UNREAD,
		.type = MK_OPTION_BOOL,
		.preset = "false",
		.field = MK_FIELD(keep_unread),
	},
	{
		.name = "delete_read",
		.column = MK_COLUMN_DELETE_READ,
		.type = MK_OPTION_BOOL,
		.preset = "false",
		.field = MK_FIELD(delete_read),
	},
};

/* All columns but topic_id, rel and created_at are options. */
StaticAssertDecl(lengthof(mk_options) == MK_NUM_COLUMNS - 3,
				 "each option of a topic has an entry");
StaticAssertDecl(MK_NUM_COLUMNS == MK_NATTS_TOPIC,
				 "MkTopicColumn has the columns of the table");

/* ---------------------------------------------------------------------------
 * Checks of single options
 */

/* A shorter retention raises a notice: '7' as an interval is seven seconds. */
#define MK_SHORT_RETENTION USECS_PER_MINUTE

static void
mk_check_retention(Datum value)
{
	int64 microseconds = mk_clock_interval(DatumGetIntervalP(value));

	if (microseconds <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"retention\" must be above zero"),
				 errhint("Use NULL to keep records for ever.")));
	if (microseconds < MK_SHORT_RETENTION)
		ereport(
			NOTICE,
			(errmsg("records are kept for %g seconds only",
					(double) microseconds / USECS_PER_SEC),
			 errhint("Give \"retention\" with its unit, such as '7 days'.")));
}

static void
mk_check_retention_bytes(Datum value)
{
	if (DatumGetInt64(value) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"retention_bytes\" must be above zero"),
				 errhint("Use NULL to keep any number of bytes.")));
}

static void
mk_check_delete_retention(Datum value)
{
	mk_option_check_not_negative("delete_retention", value);
}

static void
mk_check_min_compaction_lag(Datum value)
{
	mk_option_check_not_negative("min_compaction_lag", value);
}

static void
mk_check_delivery_delay(Datum value)
{
	mk_option_check_not_negative("delivery_delay", value);
}

static void
mk_check_min_insync_replicas(Datum value)
{
	if (DatumGetInt32(value) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("option \"min_insync_replicas\" above 1 is not "
						"supported in this version of minikafka")));
}

/* ---------------------------------------------------------------------------
 * All options
 */

static const MkOptionTable mk_topic_options = {
	.kind = "topic option",
	.noptions = lengthof(mk_options),
	.options = mk_options,
};

void
mk_option_from_arguments(FunctionCallInfo fcinfo, MkTopicRow *row)
{
	mk_option_table_arguments(&mk_topic_options, fcinfo, row->values,
							  row->nulls);
}

MkTopicColumn
mk_option_parse(const char *name, const char *value, Datum *datum, bool *isnull)
{
	const MkOption *o = mk_option_find(&mk_topic_options, name);

	*datum = mk_option_parse_text(o, value, isnull);
	return (MkTopicColumn) o->column;
}

void
mk_option_read(const MkRows *rows, HeapTuple tuple, MkTopic *topic)
{
	StaticAssertStmt(sizeof(MkPartitioner) == sizeof(int) &&
						 sizeof(MkCleanupPolicy) == sizeof(int) &&
						 sizeof(MkValueFormat) == sizeof(int),
					 "the number of a word is an int");
	mk_option_table_read(&mk_topic_options, rows, tuple, topic);
	topic->deletes = topic->cleanup_policy != MK_CLEANUP_COMPACT;
	topic->compacts = topic->cleanup_policy != MK_CLEANUP_DELETE;
}
