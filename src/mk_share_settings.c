/*
 * mk_share_settings.c
 *		The catalog's rows about what share groups are: their settings and their
 *		topics.
 *
 * As the other rows of groups these change rarely, and are updated in place.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_share_settings.h"

/* As mk_api_interval() limits intervals */
#define MK_MAX_BACKOFF (INT64CONST(2147483647) * 1000)

/* ---------------------------------------------------------------------------
 * Options
 */

static void
mk_check_interval(const char *option, Datum value)
{
	int64 microseconds = mk_clock_interval(DatumGetIntervalP(value));

	if (microseconds < 0 || microseconds > MK_MAX_BACKOFF)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is out of range", option),
				 errdetail("It must be at least 0, and at most 2147483647 "
						   "ms.")));
}

static void
mk_check_backoff(Datum value)
{
	mk_check_interval("backoff", value);
}

static void
mk_check_max_backoff(Datum value)
{
	mk_check_interval("max_backoff", value);
}

#define MK_FIELD(name) ((int) offsetof(MkShareSettings, name))

/* The options that are arguments of create_share_group() come first. */
static const MkOption mk_options[] = {
	{
		.name = "topics",
		.type = MK_OPTION_TEXT,
		.field = MK_NO_FIELD,
	},
	{
		.name = "ordering",
		.column = MK_SHARE_COLUMN_ORDERING,
		.type = MK_OPTION_WORD,
		.argument = 2,
		.words = {"key", "none"},
		.preset = "key",
		.field = MK_FIELD(ordering),
	},
	{
		.name = "max_deliveries",
		.column = MK_SHARE_COLUMN_MAX_DELIVERIES,
		.type = MK_OPTION_INT32,
		.argument = 3,
		.least = 1,
		.most = 1000000,
		.preset = "5",
		.field = MK_FIELD(max_deliveries),
	},
	{
		.name = "backoff",
		.column = MK_SHARE_COLUMN_BACKOFF,
		.type = MK_OPTION_INTERVAL,
		.argument = 4,
		.check = mk_check_backoff,
		.preset = "1 s",
		.field = MK_FIELD(backoff),
	},
	{
		.name = "max_backoff",
		.column = MK_SHARE_COLUMN_MAX_BACKOFF,
		.type = MK_OPTION_INTERVAL,
		.argument = 5,
		.check = mk_check_max_backoff,
		.preset = "5 min",
		.field = MK_FIELD(max_backoff),
	},
	{
		.name = "dead_letter_topic",
		.column = MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID,
		.type = MK_OPTION_TEXT,
		.argument = 6,
		.field = MK_NO_FIELD,
	},
	{
		.name = "auto_offset_reset",
		.column = MK_SHARE_COLUMN_AUTO_OFFSET_RESET,
		.type = MK_OPTION_WORD,
		.argument = 7,
		.words = {"earliest", "latest"},
		.preset = "earliest",
		.field = MK_FIELD(reset),
	},
	{
		.name = "max_in_flight",
		.column = MK_SHARE_COLUMN_MAX_IN_FLIGHT,
		.type = MK_OPTION_INT32,
		.least = 1,
		.most = 20000,
		.preset = "2000",
		.field = MK_FIELD(max_in_flight),
	},
	{
		.name = "priority",
		.column = MK_SHARE_COLUMN_PRIORITY,
		.type = MK_OPTION_WORD,
		.words = {"fair", "strict"},
		.preset = "fair",
		.field = MK_FIELD(priority),
	},
	{
		.name = "on_exhausted",
		.column = MK_SHARE_COLUMN_ON_EXHAUSTED,
		.type = MK_OPTION_WORD,
		.words = {"dead_letter", "dead_letter_key", "block", "pause"},
		.first = MK_EXHAUSTED_DEAD_LETTER,
		.field = MK_FIELD(on_exhausted),
		.unset = MK_EXHAUSTED_DEFAULT,
	},
	{
		.name = "dead_letter_limit",
		.column = MK_SHARE_COLUMN_DEAD_LETTER_LIMIT,
		.type = MK_OPTION_INT32,
		.least = 1,
		.most = PG_INT32_MAX,
		.field = MK_FIELD(dead_letter_limit),
		.unset = -1,
	},
	{
		.name = "paused",
		.column = MK_SHARE_COLUMN_PAUSED,
		.type = MK_OPTION_BOOL,
		.preset = "false",
		.field = MK_FIELD(paused),
	},
};

const MkOptionTable mk_share_options = {
	.kind = "share group option",
	.noptions = lengthof(mk_options),
	.options = mk_options,
};

char *
mk_share_settings_from_arguments(FunctionCallInfo fcinfo,
								 MkShareSettings *settings)
{
	Datum values[MK_SHARE_NUM_COLUMNS] = {0};
	bool nulls[MK_SHARE_NUM_COLUMNS] = {0};

	memset(settings, 0, sizeof(*settings));
	mk_option_table_arguments(&mk_share_options, fcinfo, values, nulls);
	for (int i = 0; i < mk_share_options.noptions; i++)
	{
		const MkOption *o = &mk_share_options.options[i];

		if (o->field != MK_NO_FIELD)
			mk_option_to_field(o, values[o->column - 1], nulls[o->column - 1],
							   settings);
	}
	if (nulls[MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID - 1])
		return NULL;
	return TextDatumGetCString(
		values[MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID - 1]);
}

StaticAssertDecl(MK_SHARE_NUM_COLUMNS == MK_NATTS_SHARE_GROUP,
				 "MkShareColumn has the columns of the table");
StaticAssertDecl(sizeof(MkShareOrdering) == sizeof(int) &&
					 sizeof(MkReset) == sizeof(int) &&
					 sizeof(MkSharePriority) == sizeof(int) &&
					 sizeof(MkExhausted) == sizeof(int),
				 "the number of a word is an int");

/* Column numbers, as in sql/parts/12_share.sql */
enum
{
	Anum_share_topic_group_no = 1,
	Anum_share_topic_priority,
	Anum_share_topic_topic_id,
	Natts_share_topic = Anum_share_topic_topic_id
};
StaticAssertDecl(Natts_share_topic == MK_NATTS_SHARE_TOPIC,
				 "all columns are listed");

/* ---------------------------------------------------------------------------
 * Reading
 */

static void
mk_settings_read(const MkRows *rows, HeapTuple tuple, MkShareSettings *s)
{
	bool isnull;
	Datum value = mk_rows_nullable(
		rows, tuple, MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID, &isnull);

	mk_option_table_read(&mk_share_options, rows, tuple, s);
	s->dead_letter_topic_id = isnull ? 0 : DatumGetInt32(value);
	s->paused_why =
		mk_rows_text_or_null(rows, tuple, MK_SHARE_COLUMN_PAUSED_WHY);
	s->epoch = mk_rows_int32(rows, tuple, MK_SHARE_COLUMN_EPOCH);
	s->ordering_epoch =
		mk_rows_int32(rows, tuple, MK_SHARE_COLUMN_ORDERING_EPOCH);
	s->parks = mk_rows_bool(rows, tuple, MK_SHARE_COLUMN_PARKS);
}

MkShareSettings *
mk_share_settings_get(int32 group_no, Snapshot snapshot)
{
	MkShareSettings *settings = NULL;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_SHARE_GROUP, MK_REL_SHARE_GROUP_PKEY, snapshot,
				  1, &group_no);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
	{
		settings = palloc0(sizeof(MkShareSettings));
		mk_settings_read(&rows, tuple, settings);
	}
	mk_rows_end(&rows);
	return settings;
}

List *
mk_share_settings_topics(int32 group_no, Snapshot snapshot)
{
	List *result = NIL;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_SHARE_TOPIC, MK_REL_SHARE_TOPIC_PKEY, snapshot,
				  1, &group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		result = lappend_int(
			result, mk_rows_int32(&rows, tuple, Anum_share_topic_topic_id));
	mk_rows_end(&rows);
	return result;
}

/* ---------------------------------------------------------------------------
 * Writing
 */

void
mk_share_settings_put(int32 group_no, const MkShareSettings *s)
{
	Datum values[MK_SHARE_NUM_COLUMNS] = {0};
	bool nulls[MK_SHARE_NUM_COLUMNS] = {0};
	ItemPointerData tid;
	MkRows rows;
	HeapTuple tuple;

	mk_option_table_write(&mk_share_options, s, values, nulls);
	values[MK_SHARE_COLUMN_GROUP_NO - 1] = Int32GetDatum(group_no);
	values[MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID - 1] =
		Int32GetDatum(s->dead_letter_topic_id);
	nulls[MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID - 1] =
		s->dead_letter_topic_id == 0;
	mk_rows_set_text(values, nulls, MK_SHARE_COLUMN_PAUSED_WHY, s->paused_why);
	values[MK_SHARE_COLUMN_EPOCH - 1] = Int32GetDatum(s->epoch);
	values[MK_SHARE_COLUMN_ORDERING_EPOCH - 1] =
		Int32GetDatum(s->ordering_epoch);
	values[MK_SHARE_COLUMN_PARKS - 1] = BoolGetDatum(s->parks);

	mk_rows_begin(&rows, MK_REL_SHARE_GROUP, MK_REL_SHARE_GROUP_PKEY, NULL, 1,
				  &group_no);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
	{
		tid = tuple->t_self;
		mk_rows_update(MK_REL_SHARE_GROUP, &tid, values, nulls);
	}
	else
		mk_rows_insert(MK_REL_SHARE_GROUP, NULL, values, nulls);
	mk_rows_end(&rows);
}

void
mk_share_settings_put_topics(int32 group_no, List *topic_ids)
{
	int32 priority = 0;
	ListCell *lc;

	mk_rows_delete_all(MK_REL_SHARE_TOPIC, MK_REL_SHARE_TOPIC_PKEY, 1,
					   &group_no);
	foreach (lc, topic_ids)
	{
		Datum values[Natts_share_topic];
		bool nulls[Natts_share_topic] = {0};

		values[Anum_share_topic_group_no - 1] = Int32GetDatum(group_no);
		values[Anum_share_topic_priority - 1] = Int32GetDatum(++priority);
		values[Anum_share_topic_topic_id - 1] = Int32GetDatum(lfirst_int(lc));
		mk_rows_insert(MK_REL_SHARE_TOPIC, NULL, values, nulls);
	}
}

void
mk_share_settings_delete(int32 group_no)
{
	mk_rows_delete_all(MK_REL_SHARE_GROUP, MK_REL_SHARE_GROUP_PKEY, 1,
					   &group_no);
	mk_rows_delete_all(MK_REL_SHARE_TOPIC, MK_REL_SHARE_TOPIC_PKEY, 1,
					   &group_no);
}

void
mk_share_settings_delete_topic(int32 topic_id)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_SHARE_TOPIC, MK_REL_SHARE_TOPIC_PKEY, NULL, 0,
				  NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		if (mk_rows_int32(&rows, tuple, Anum_share_topic_topic_id) == topic_id)
			(void) mk_rows_try_delete(&rows, tuple);
	mk_rows_end(&rows);
}
