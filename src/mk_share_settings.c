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
#include "mk_rows.h"
#include "mk_share_settings.h"

/* Column numbers, as in sql/parts/12_share.sql */
enum
{
	Anum_share_group_group_no = 1,
	Anum_share_group_ordering,
	Anum_share_group_max_deliveries,
	Anum_share_group_backoff,
	Anum_share_group_max_backoff,
	Anum_share_group_dead_letter_topic_id,
	Anum_share_group_auto_offset_reset,
	Anum_share_group_max_in_flight,
	Anum_share_group_priority,
	Anum_share_group_on_exhausted,
	Anum_share_group_dead_letter_limit,
	Anum_share_group_paused,
	Anum_share_group_paused_why,
	Anum_share_group_epoch,
	Anum_share_group_ordering_epoch,
	Natts_share_group = Anum_share_group_ordering_epoch
};
StaticAssertDecl(Natts_share_group == MK_NATTS_SHARE_GROUP,
				 "all columns are listed");

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

/* An error for a name in the catalog that no setting has. */
static void
mk_unknown_name(const char *name)
{
	elog(ERROR, "unknown name \"%s\" in the catalog", name);
}

static int32
mk_int32_or(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
			int32 otherwise)
{
	bool isnull;
	Datum value = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

static void
mk_settings_read(const MkRows *rows, HeapTuple tuple, MkShareSettings *s)
{
	char *name;

	name = mk_rows_text(rows, tuple, Anum_share_group_ordering);
	if (!mk_group_setting_find_ordering(name, &s->ordering))
		mk_unknown_name(name);
	s->max_deliveries =
		mk_rows_int32(rows, tuple, Anum_share_group_max_deliveries);
	s->backoff = mk_rows_interval(rows, tuple, Anum_share_group_backoff);
	s->max_backoff =
		mk_rows_interval(rows, tuple, Anum_share_group_max_backoff);
	s->dead_letter_topic_id =
		mk_int32_or(rows, tuple, Anum_share_group_dead_letter_topic_id, 0);
	name = mk_rows_text(rows, tuple, Anum_share_group_auto_offset_reset);
	if (!mk_group_setting_find_reset(name, &s->reset))
		mk_unknown_name(name);
	s->max_in_flight =
		mk_rows_int32(rows, tuple, Anum_share_group_max_in_flight);
	name = mk_rows_text(rows, tuple, Anum_share_group_priority);
	if (!mk_group_setting_find_priority(name, &s->priority))
		mk_unknown_name(name);
	name = mk_rows_text_or_null(rows, tuple, Anum_share_group_on_exhausted);
	if (name != NULL &&
		!mk_group_setting_find_exhausted(name, &s->on_exhausted))
		mk_unknown_name(name);
	s->dead_letter_limit =
		mk_int32_or(rows, tuple, Anum_share_group_dead_letter_limit, -1);
	s->paused = mk_rows_bool(rows, tuple, Anum_share_group_paused);
	s->paused_why =
		mk_rows_text_or_null(rows, tuple, Anum_share_group_paused_why);
	s->epoch = mk_rows_int32(rows, tuple, Anum_share_group_epoch);
	s->ordering_epoch =
		mk_rows_int32(rows, tuple, Anum_share_group_ordering_epoch);
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
	Datum values[Natts_share_group] = {0};
	bool nulls[Natts_share_group] = {0};
	ItemPointerData tid;
	MkRows rows;
	HeapTuple tuple;

	values[Anum_share_group_group_no - 1] = Int32GetDatum(group_no);
	values[Anum_share_group_ordering - 1] =
		CStringGetTextDatum(mk_group_setting_ordering(s->ordering));
	values[Anum_share_group_max_deliveries - 1] =
		Int32GetDatum(s->max_deliveries);
	values[Anum_share_group_backoff - 1] =
		IntervalPGetDatum(mk_clock_make_interval(s->backoff));
	values[Anum_share_group_max_backoff - 1] =
		IntervalPGetDatum(mk_clock_make_interval(s->max_backoff));
	values[Anum_share_group_dead_letter_topic_id - 1] =
		Int32GetDatum(s->dead_letter_topic_id);
	nulls[Anum_share_group_dead_letter_topic_id - 1] =
		s->dead_letter_topic_id == 0;
	values[Anum_share_group_auto_offset_reset - 1] =
		CStringGetTextDatum(mk_group_setting_reset(s->reset));
	values[Anum_share_group_max_in_flight - 1] =
		Int32GetDatum(s->max_in_flight);
	values[Anum_share_group_priority - 1] =
		CStringGetTextDatum(mk_group_setting_priority(s->priority));
	mk_rows_set_text(values, nulls, Anum_share_group_on_exhausted,
					 s->on_exhausted == MK_EXHAUSTED_DEFAULT
						 ? NULL
						 : mk_group_setting_exhausted(s->on_exhausted));
	values[Anum_share_group_dead_letter_limit - 1] =
		Int32GetDatum(s->dead_letter_limit);
	nulls[Anum_share_group_dead_letter_limit - 1] = s->dead_letter_limit < 0;
	values[Anum_share_group_paused - 1] = BoolGetDatum(s->paused);
	mk_rows_set_text(values, nulls, Anum_share_group_paused_why, s->paused_why);
	values[Anum_share_group_epoch - 1] = Int32GetDatum(s->epoch);
	values[Anum_share_group_ordering_epoch - 1] =
		Int32GetDatum(s->ordering_epoch);

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
