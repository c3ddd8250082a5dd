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

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_option.h"

typedef enum MkOptionType
{
	MK_OPTION_INT32,
	MK_OPTION_INT64,
	MK_OPTION_INTERVAL,
	MK_OPTION_BOOL,
	MK_OPTION_WORD /* one of a list of words; MkTopic has its number */
} MkOptionType;

#define MK_MAX_WORDS 3

typedef struct MkOption
{
	const char *name;
	MkTopicColumn column;
	MkOptionType type;

	/* the number of the argument of create_topic(), 0 if there is none */
	int argument;

	/* the hint if set_topic_option() cannot set the option; NULL if it can */
	const char *fixed;

	/* bounds of a number; a function that raises other errors and notices */
	int64 least;
	int64 most;
	void (*check)(Datum value);

	/* the valid words, in the order of their enum */
	const char *words[MK_MAX_WORDS];

	/* the default as text, if the column is NOT NULL and can be set */
	const char *preset;

	/* the field of MkTopic or MK_NO_FIELD; its value if the column is NULL */
	int field;
	int64 unset;
} MkOption;

#define MK_FIELD(name) ((int) offsetof(MkTopic, name))
#define MK_NO_FIELD    (-1)

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
mk_check_not_negative(const char *option, Datum value)
{
	if (mk_clock_interval(DatumGetIntervalP(value)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" must not be negative", option)));
}

static void
mk_check_delete_retention(Datum value)
{
	mk_check_not_negative("delete_retention", value);
}

static void
mk_check_min_compaction_lag(Datum value)
{
	mk_check_not_negative("min_compaction_lag", value);
}

static void
mk_check_delivery_delay(Datum value)
{
	mk_check_not_negative("delivery_delay", value);
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
 * Values
 */

void
mk_option_check_number(const char *option, int64 value, int64 least, int64 most)
{
	if (value < least || value > most)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg(INT64_FORMAT " is outside the valid range for \"%s\"",
					value, option),
			 errhint("It must be from " INT64_FORMAT " to " INT64_FORMAT ".",
					 least, most)));
}

/* The number of a word, -1 if it is not one of the option's. */
static int
mk_option_word(const MkOption *o, const char *word)
{
	for (int i = 0; i < MK_MAX_WORDS && o->words[i] != NULL; i++)
		if (strcmp(o->words[i], word) == 0)
			return i;
	/* both orders mean the same */
	if (o->column == MK_COLUMN_CLEANUP_POLICY &&
		strcmp(word, "delete,compact") == 0)
		return MK_CLEANUP_BOTH;
	return -1;
}

/* The valid words, as a sentence. */
static char *
mk_option_words(const MkOption *o)
{
	char *text = psprintf("It must be \"%s\"", o->words[0]);

	for (int i = 1; i < MK_MAX_WORDS && o->words[i] != NULL; i++)
		text = psprintf(
			"%s%s\"%s\"", text,
			i + 1 < MK_MAX_WORDS && o->words[i + 1] != NULL ? ", " : " or ",
			o->words[i]);
	return psprintf("%s.", text);
}

/* The word as in the catalog; 22023 if it is not one of the option's. */
static Datum
mk_option_check_word(const MkOption *o, const char *word)
{
	int number = mk_option_word(o, word);

	if (number < 0)
	{
		char *what = pstrdup(o->name);

		for (char *c = what; *c != '\0'; c++)
			if (*c == '_')
				*c = ' ';
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid %s \"%s\"", what, word),
				 errhint("%s", mk_option_words(o))));
	}
	return CStringGetTextDatum(o->words[number]);
}

/* A number from a text; 22023 if it is not a whole number. */
static int64
mk_option_parse_number(const MkOption *o, const char *value)
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
			 errmsg("invalid value for option \"%s\": \"%s\"", o->name, value),
			 errhint("It must be a whole number.")));
	return number;
}

/* A boolean from a text; 22023 if it is none. */
static bool
mk_option_parse_bool(const MkOption *o, const char *value)
{
	bool result;

	if (!parse_bool(value, &result))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", o->name, value),
			 errhint("It must be \"true\" or \"false\".")));
	return result;
}

/* Converts a text to the option's value, and checks it. */
static Datum
mk_option_value(const MkOption *o, const char *value)
{
	Datum datum = (Datum) 0;
	int64 number;

	switch (o->type)
	{
		case MK_OPTION_INT32:
		case MK_OPTION_INT64:
			number = mk_option_parse_number(o, value);
			mk_option_check_number(o->name, number, o->least, o->most);
			datum = o->type == MK_OPTION_INT32 ? Int32GetDatum((int32) number)
											   : Int64GetDatum(number);
			break;
		case MK_OPTION_INTERVAL:
			datum = DirectFunctionCall3(interval_in, CStringGetDatum(value),
										ObjectIdGetDatum(InvalidOid),
										Int32GetDatum(-1));
			break;
		case MK_OPTION_BOOL:
			datum = BoolGetDatum(mk_option_parse_bool(o, value));
			break;
		case MK_OPTION_WORD:
			datum = mk_option_check_word(o, value);
			break;
	}
	if (o->check != NULL)
		o->check(datum);
	return datum;
}

/* Checks an argument of create_topic(); returns the value for the column. */
static Datum
mk_option_check_argument(const MkOption *o, Datum datum)
{
	switch (o->type)
	{
		case MK_OPTION_INT32:
			mk_option_check_number(o->name, DatumGetInt32(datum), o->least,
								   o->most);
			break;
		case MK_OPTION_INT64:
			mk_option_check_number(o->name, DatumGetInt64(datum), o->least,
								   o->most);
			break;
		case MK_OPTION_INTERVAL:
		case MK_OPTION_BOOL:
			break;
		case MK_OPTION_WORD:
			datum = mk_option_check_word(o, TextDatumGetCString(datum));
			break;
	}
	if (o->check != NULL)
		o->check(datum);
	return datum;
}

/* Whether the option's column may be NULL. */
static bool
mk_option_is_nullable(const MkOption *o)
{
	return o->preset == NULL && o->fixed == NULL;
}

/* The default: that of the entry, else NULL. */
static Datum
mk_option_default(const MkOption *o, bool *isnull)
{
	*isnull = o->preset == NULL;
	return *isnull ? (Datum) 0 : mk_option_value(o, o->preset);
}

void
mk_option_from_arguments(FunctionCallInfo fcinfo, MkTopicRow *row)
{
	for (int i = 0; i < (int) lengthof(mk_options); i++)
	{
		const MkOption *o = &mk_options[i];
		Datum *value = &row->values[o->column - 1];
		bool *isnull = &row->nulls[o->column - 1];

		if (o->argument == 0)
			*value = mk_option_default(o, isnull);
	}
	/* in the order of the arguments, so that errors name the first bad one */
	for (int argument = 1;; argument++)
	{
		const MkOption *o = NULL;
		bool isnull;

		for (int i = 0; i < (int) lengthof(mk_options); i++)
			if (mk_options[i].argument == argument)
				o = &mk_options[i];
		if (o == NULL)
			break;
		isnull = PG_ARGISNULL(argument);
		if (isnull && !mk_option_is_nullable(o))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" must not be null", o->name)));
		row->nulls[o->column - 1] = isnull;
		row->values[o->column - 1] = isnull
			? (Datum) 0
			: mk_option_check_argument(o, PG_GETARG_DATUM(argument));
	}
}

/* The names of the options that can be set, as a sentence. */
static char *
mk_option_names(void)
{
	char *text = pstrdup("Options are ");
	int n = 0;
	int total = 0;

	for (int i = 0; i < (int) lengthof(mk_options); i++)
		total += mk_options[i].fixed == NULL;
	for (int i = 0; i < (int) lengthof(mk_options); i++)
	{
		if (mk_options[i].fixed != NULL)
			continue;
		text = psprintf("%s%s\"%s\"", text,
						n == 0              ? ""
							: n < total - 1 ? ", "
											: " and ",
						mk_options[i].name);
		n++;
	}
	return psprintf("%s.", text);
}

MkTopicColumn
mk_option_parse(const char *name, const char *value, Datum *datum, bool *isnull)
{
	for (int i = 0; i < (int) lengthof(mk_options); i++)
	{
		const MkOption *o = &mk_options[i];

		if (strcmp(o->name, name) != 0)
			continue;
		if (o->fixed != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be set", name),
					 errhint("%s", o->fixed)));
		*isnull = false;
		*datum = value == NULL ? mk_option_default(o, isnull)
							   : mk_option_value(o, value);
		return o->column;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized topic option \"%s\"", name),
			 errhint("%s", mk_option_names())));
	pg_unreachable();
}

/* ---------------------------------------------------------------------------
 * Reading options from the catalog
 */

/* Sets the field of one option. */
static void
mk_option_read_one(const MkOption *o, const MkRows *rows, HeapTuple tuple,
				   MkTopic *topic)
{
	char *field = (char *) topic + o->field;
	char *word;

	switch (o->type)
	{
		case MK_OPTION_INT32:
			*(int32 *) field = mk_rows_int32(rows, tuple, o->column);
			break;
		case MK_OPTION_INT64:
			*(int64 *) field =
				mk_rows_int64_or(rows, tuple, o->column, o->unset);
			break;
		case MK_OPTION_INTERVAL:
			*(int64 *) field =
				mk_rows_interval_or(rows, tuple, o->column, o->unset);
			break;
		case MK_OPTION_BOOL:
			*(bool *) field = mk_rows_bool(rows, tuple, o->column);
			break;
		case MK_OPTION_WORD:
			/* an unknown word counts as the first one */
			word = mk_rows_text(rows, tuple, o->column);
			*(int *) field = Max(mk_option_word(o, word), 0);
			pfree(word);
			break;
	}
}

void
mk_option_read(const MkRows *rows, HeapTuple tuple, MkTopic *topic)
{
	StaticAssertStmt(sizeof(MkPartitioner) == sizeof(int) &&
						 sizeof(MkCleanupPolicy) == sizeof(int) &&
						 sizeof(MkValueFormat) == sizeof(int),
					 "the number of a word is an int");
	for (int i = 0; i < (int) lengthof(mk_options); i++)
		if (mk_options[i].field != MK_NO_FIELD)
			mk_option_read_one(&mk_options[i], rows, tuple, topic);
	topic->deletes = topic->cleanup_policy != MK_CLEANUP_COMPACT;
	topic->compacts = topic->cleanup_policy != MK_CLEANUP_DELETE;
}
