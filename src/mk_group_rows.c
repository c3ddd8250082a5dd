/*
 * mk_group_rows.c
 *		The catalog's rows of groups: their settings, grants, members and
 *		assignments.
 *
 * Unlike progress and heartbeats these rows change rarely, and are updated in
 * place: when a transaction commits, under the group's lock in exclusive mode.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_group_rows.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_group_group_id = 1,
	Anum_group_group_no,
	Anum_group_owner,
	Anum_group_generation,
	Anum_group_version,
	Anum_group_assignor,
	Anum_group_protocol,
	Anum_group_rebalanced_at,
	Anum_group_rebalanced_why,
	Anum_group_halved,
	Anum_group_halved_at,
	Anum_group_halved_for,
	Anum_group_kind,
	Natts_group = Anum_group_kind
};
StaticAssertDecl(Natts_group == MK_NATTS_GROUP, "all columns are listed");

enum
{
	Anum_grant_group_no = 1,
	Anum_grant_grantee,
	Natts_grant = Anum_grant_grantee
};
StaticAssertDecl(Natts_grant == MK_NATTS_GRANT, "all columns are listed");

enum
{
	Anum_member_group_no = 1,
	Anum_member_member_id,
	Anum_member_member_no,
	Anum_member_instance_id,
	Anum_member_topics,
	Anum_member_topic_ids,
	Anum_member_auto_offset_reset,
	Anum_member_session_timeout,
	Anum_member_max_poll_interval,
	Anum_member_rebalance_timeout,
	Anum_member_joined_at,
	Anum_member_removed_at,
	Anum_member_removed_why,
	Natts_member = Anum_member_removed_why
};
StaticAssertDecl(Natts_member == MK_NATTS_MEMBER, "all columns are listed");

enum
{
	Anum_assignment_group_no = 1,
	Anum_assignment_topic_id,
	Anum_assignment_partition,
	Anum_assignment_owner,
	Anum_assignment_generation,
	Anum_assignment_target,
	Anum_assignment_handover_at,
	Natts_assignment = Anum_assignment_handover_at
};
StaticAssertDecl(Natts_assignment == MK_NATTS_ASSIGNMENT,
				 "all columns are listed");

/* ---------------------------------------------------------------------------
 * Reading
 */

/* The value of a column that holds the name of a setting; if NULL, the first. */
static int
mk_setting_column(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
				  MkGroupSetting setting)
{
	const char *name = mk_rows_text_or_null(rows, tuple, attno);
	int value = name != NULL ? mk_group_setting_find(setting, name) : 0;

	if (value < 0)
		elog(ERROR, "unknown name \"%s\" in the catalog", name);
	return value;
}

/* Reading the columns of a row into the struct, for each table. */
static void
mk_group_read(const MkRows *rows, HeapTuple tuple, MkGroup *g)
{
	bool isnull;

	g->group_no = mk_rows_int32(rows, tuple, Anum_group_group_no);
	g->owner = *mk_rows_name(rows, tuple, Anum_group_owner);
	g->generation = mk_rows_int32(rows, tuple, Anum_group_generation);
	g->version = mk_rows_int64(rows, tuple, Anum_group_version);
	(void) mk_rows_nullable(rows, tuple, Anum_group_assignor, &isnull);
	g->has_settings = !isnull;
	if (g->has_settings)
	{
		g->assignor = (MkAssignor) mk_setting_column(
			rows, tuple, Anum_group_assignor, MK_SETTING_ASSIGNOR);
		g->protocol = (MkProtocol) mk_setting_column(
			rows, tuple, Anum_group_protocol, MK_SETTING_PROTOCOL);
	}
	g->rebalanced_why =
		mk_rows_text_or_null(rows, tuple, Anum_group_rebalanced_why);
	if (g->rebalanced_why != NULL)
		g->rebalanced_at = mk_rows_time(rows, tuple, Anum_group_rebalanced_at);
	g->halved = mk_rows_int32(rows, tuple, Anum_group_halved);
	g->halved_at =
		mk_rows_time_or(rows, tuple, Anum_group_halved_at, DT_NOBEGIN);
	g->halved_for = mk_rows_interval_or(rows, tuple, Anum_group_halved_for, 0);
	g->kind = (MkGroupKind) mk_setting_column(rows, tuple, Anum_group_kind,
											  MK_SETTING_KIND);
	g->tid = tuple->t_self;
}

/*
 * As mk_group_rows_get, but also the row of a deleted group.  Without any, all
 * is 0.
 */
static bool
mk_group_find_row(const char *group_id, Snapshot snapshot, MkGroup *group,
				  bool *own)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;

	memset(group, 0, sizeof(*group));
	ScanKeyInit(&key, Anum_group_group_id, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(group_id));
	mk_rows_begin_keys(&rows, MK_REL_GROUP, MK_REL_GROUP_PKEY, snapshot, 1,
					   &key);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
	{
		mk_group_read(&rows, tuple, group);
		*own = TransactionIdIsCurrentTransactionId(
			HeapTupleHeaderGetXmin(tuple->t_data));
	}
	mk_rows_end(&rows);
	return tuple != NULL;
}

/* The row of a deleted group has no owner. */
static bool
mk_is_deleted(const NameData *owner)
{
	return NameStr(*owner)[0] == '\0';
}

bool
mk_group_rows_get(const char *group_id, Snapshot snapshot, MkGroup *group,
				  bool *own)
{
	return mk_group_find_row(group_id, snapshot, group, own) &&
		!mk_is_deleted(&group->owner);
}

void
mk_group_rows_get_grantees(MkGroup *g, Snapshot snapshot)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_GRANT, MK_REL_GRANT_PKEY, snapshot, 1,
				  &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		const NameData *grantee =
			mk_rows_name(&rows, tuple, Anum_grant_grantee);

		g->grantees = lappend(g->grantees, pstrdup(NameStr(*grantee)));
	}
	mk_rows_end(&rows);
}

static void
mk_member_read(const MkRows *rows, HeapTuple tuple, MkMember *m)
{
	Datum *topics;
	Datum *topic_ids;
	int ntopic_ids;

	memset(m, 0, sizeof(*m));
	m->member_no = mk_rows_int32(rows, tuple, Anum_member_member_no);
	m->member_id = mk_rows_text(rows, tuple, Anum_member_member_id);
	m->instance_id = mk_rows_text_or_null(rows, tuple, Anum_member_instance_id);
	deconstruct_array(
		DatumGetArrayTypeP(mk_rows_column(rows, tuple, Anum_member_topics)),
		TEXTOID, -1, false, TYPALIGN_INT, &topics, NULL, &m->ntopics);
	m->topics = palloc(Max(m->ntopics, 1) * sizeof(char *));
	for (int i = 0; i < m->ntopics; i++)
		m->topics[i] = TextDatumGetCString(topics[i]);
	deconstruct_array(
		DatumGetArrayTypeP(mk_rows_column(rows, tuple, Anum_member_topic_ids)),
		INT4OID, sizeof(int32), true, TYPALIGN_INT, &topic_ids, NULL,
		&ntopic_ids);
	m->topic_ids = palloc0(Max(m->ntopics, 1) * sizeof(int32));
	for (int i = 0; i < Min(m->ntopics, ntopic_ids); i++)
		m->topic_ids[i] = DatumGetInt32(topic_ids[i]);
	m->reset = (MkReset) mk_setting_column(
		rows, tuple, Anum_member_auto_offset_reset, MK_SETTING_RESET);
	m->session_timeout =
		mk_rows_interval(rows, tuple, Anum_member_session_timeout);
	m->max_poll_interval =
		mk_rows_interval(rows, tuple, Anum_member_max_poll_interval);
	m->rebalance_timeout =
		mk_rows_interval(rows, tuple, Anum_member_rebalance_timeout);
	m->joined_at = mk_rows_time(rows, tuple, Anum_member_joined_at);
	m->removed_at = mk_rows_time_or(rows, tuple, Anum_member_removed_at, 0);
	m->removed = (MkRemoved) mk_setting_column(
		rows, tuple, Anum_member_removed_why, MK_SETTING_REMOVED);
	m->tid = tuple->t_self;
}

static void
mk_assignment_read(const MkRows *rows, HeapTuple tuple, MkAssignment *a)
{
	memset(a, 0, sizeof(*a));
	a->topic_id = mk_rows_int32(rows, tuple, Anum_assignment_topic_id);
	a->partition = mk_rows_int32(rows, tuple, Anum_assignment_partition);
	a->owner = mk_rows_int32(rows, tuple, Anum_assignment_owner);
	a->generation = mk_rows_int32(rows, tuple, Anum_assignment_generation);
	a->target = mk_rows_int32(rows, tuple, Anum_assignment_target);
	a->handover_at =
		mk_rows_time_or(rows, tuple, Anum_assignment_handover_at, DT_NOEND);
	a->tid = tuple->t_self;
}

/* Reading the rows that belong to a group. */
static void
mk_group_read_members(MkGroup *g, Snapshot snapshot)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_MEMBER, MK_REL_MEMBER_PKEY, snapshot, 1,
				  &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		g->members = mk_array_grow(CurrentMemoryContext, g->members,
								   g->nmembers, sizeof(MkMember));
		mk_member_read(&rows, tuple, &g->members[g->nmembers++]);
	}
	mk_rows_end(&rows);
}

static void
mk_group_read_assignments(MkGroup *g, Snapshot snapshot)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, snapshot, 1,
				  &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		MkAssignment *a;

		g->assignments = mk_array_grow(CurrentMemoryContext, g->assignments,
									   g->nassignments, sizeof(MkAssignment));
		a = &g->assignments[g->nassignments++];
		mk_assignment_read(&rows, tuple, a);
		/* each eager rebalance moves all, also rows that it leaves as they are */
		if (g->protocol == MK_PROTOCOL_EAGER)
			a->generation = g->generation;
	}
	mk_rows_end(&rows);
}

/* Finds the topics in the assignments. */
static void
mk_group_find_topics(MkGroup *g)
{
	for (int i = 0; i < g->nassignments; i++)
	{
		int32 topic_id = g->assignments[i].topic_id;
		MkGroupTopic *t;

		if (g->ntopics > 0 && g->topics[g->ntopics - 1].topic_id == topic_id)
		{
			g->topics[g->ntopics - 1].npartitions++;
			continue;
		}
		g->topics = mk_array_grow(CurrentMemoryContext, g->topics, g->ntopics,
								  sizeof(MkGroupTopic));
		t = &g->topics[g->ntopics++];
		t->topic_id = topic_id;
		t->npartitions = 1;
		t->topic = NULL;
	}
}

/* Reads what a share group has in place of members and assignments. */
static void
mk_group_read_share(MkGroup *g, Snapshot snapshot)
{
	List *topic_ids = mk_share_settings_topics(g->group_no, snapshot);
	ListCell *lc;

	g->share = mk_share_settings_get(g->group_no, snapshot);
	if (g->share == NULL)
		elog(ERROR, "share group \"%s\" has no settings", g->group_id);
	g->topics = palloc0(Max(list_length(topic_ids), 1) * sizeof(MkGroupTopic));
	foreach (lc, topic_ids)
		g->topics[g->ntopics++].topic_id = lfirst_int(lc);
}

MkGroup *
mk_group_rows_get_whole(const char *group_id, bool *own)
{
	Snapshot snapshot;
	MkGroup row;
	MkGroup *g = NULL;

	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();
	if (mk_group_rows_get(group_id, snapshot, &row, own))
	{
		g = palloc(sizeof(MkGroup));
		*g = row;
		g->group_id = pstrdup(group_id);
		g->next_check = DT_NOBEGIN;
		mk_group_rows_get_grantees(g, snapshot);
		if (g->kind == MK_GROUP_SHARE)
			mk_group_read_share(g, snapshot);
		else
		{
			mk_group_read_members(g, snapshot);
			mk_group_read_assignments(g, snapshot);
			mk_group_find_topics(g);
		}
	}
	PopActiveSnapshot();
	return g;
}

List *
mk_group_rows_names(void)
{
	List *result = NIL;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_GROUP, MK_REL_GROUP_PKEY, NULL, 0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		if (!mk_is_deleted(mk_rows_name(&rows, tuple, Anum_group_owner)))
			result = lappend(result,
							 mk_rows_text(&rows, tuple, Anum_group_group_id));
	mk_rows_end(&rows);
	return result;
}

char *
mk_group_rows_name(int32 group_no)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;
	char *name = NULL;

	ScanKeyInit(&key, Anum_group_group_no, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(group_no));
	mk_rows_begin_keys(&rows, MK_REL_GROUP, MK_REL_GROUP_NO_KEY, NULL, 1, &key);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		name = mk_rows_text(&rows, tuple, Anum_group_group_id);
	mk_rows_end(&rows);
	return name;
}

List *
mk_group_rows_members(void)
{
	List *result = NIL;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_MEMBER, MK_REL_MEMBER_PKEY, NULL, 0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		bool isnull;

		(void) mk_rows_nullable(&rows, tuple, Anum_member_removed_at, &isnull);
		if (isnull)
			result = lappend_int(
				result, mk_rows_int32(&rows, tuple, Anum_member_member_no));
	}
	mk_rows_end(&rows);
	return result;
}

/* ---------------------------------------------------------------------------
 * Writing
 */

/* Inserts a row, or changes the one at tid, if that is valid. */
static void
mk_row_put(MkRelation which, ItemPointer tid, Datum *values, bool *nulls)
{
	if (ItemPointerIsValid(tid))
		mk_rows_update(which, tid, values, nulls);
	else
		mk_rows_insert(which, tid, values, nulls);
}

void
mk_group_rows_put_group(MkGroup *g)
{
	Datum values[Natts_group] = {0};
	bool nulls[Natts_group] = {0};

	Assert(mk_lock_group_is_mine(g->group_id, true));
	g->version++;
	values[Anum_group_group_id - 1] = CStringGetTextDatum(g->group_id);
	values[Anum_group_group_no - 1] = Int32GetDatum(g->group_no);
	values[Anum_group_owner - 1] = NameGetDatum(&g->owner);
	values[Anum_group_generation - 1] = Int32GetDatum(g->generation);
	values[Anum_group_version - 1] = Int64GetDatum(g->version);
	nulls[Anum_group_assignor - 1] = !g->has_settings;
	nulls[Anum_group_protocol - 1] = !g->has_settings;
	if (g->has_settings)
	{
		values[Anum_group_assignor - 1] =
			CStringGetTextDatum(mk_group_setting_assignor(g->assignor));
		values[Anum_group_protocol - 1] =
			CStringGetTextDatum(mk_group_setting_protocol(g->protocol));
	}
	nulls[Anum_group_rebalanced_at - 1] = g->rebalanced_why == NULL;
	values[Anum_group_rebalanced_at - 1] =
		TimestampTzGetDatum(g->rebalanced_at);
	mk_rows_set_text(values, nulls, Anum_group_rebalanced_why,
					 g->rebalanced_why);
	values[Anum_group_halved - 1] = Int32GetDatum(g->halved);
	nulls[Anum_group_halved_at - 1] = TIMESTAMP_IS_NOBEGIN(g->halved_at);
	nulls[Anum_group_halved_for - 1] = TIMESTAMP_IS_NOBEGIN(g->halved_at);
	values[Anum_group_halved_at - 1] = TimestampTzGetDatum(g->halved_at);
	values[Anum_group_halved_for - 1] =
		IntervalPGetDatum(mk_clock_make_interval(g->halved_for));
	values[Anum_group_kind - 1] =
		CStringGetTextDatum(mk_group_setting_kind(g->kind));
	mk_row_put(MK_REL_GROUP, &g->tid, values, nulls);
}

/* Makes the own row of a group; returns its number. */
static int32
mk_row_make(const char *group_id, const char *owner, MkGroupKind kind)
{
	MkGroup group;
	bool own;

	/* the row of a deleted group goes on with its generation */
	if (!mk_group_find_row(group_id, NULL, &group, &own))
		ItemPointerSetInvalid(&group.tid);
	group.group_id = unconstify(char *, group_id);
	group.group_no = mk_number_next(MK_REL_GROUP_NO_SEQ);
	namestrcpy(&group.owner, owner);
	group.kind = kind;
	group.halved = 0;
	group.halved_at = DT_NOBEGIN;
	mk_group_rows_put_group(&group);
	return group.group_no;
}

void
mk_group_rows_make(const char *group_id, const char *owner)
{
	(void) mk_row_make(group_id, owner, MK_GROUP_CONSUMER);
}

void
mk_group_rows_make_share(const char *group_id, const char *owner,
						 const MkShareSettings *settings, List *topic_ids)
{
	int32 group_no = mk_row_make(group_id, owner, MK_GROUP_SHARE);

	mk_share_settings_put(group_no, settings);
	mk_share_settings_put_topics(group_no, topic_ids);
}

void
mk_group_rows_put_share(const MkGroup *g)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	mk_share_settings_put(g->group_no, g->share);
}

void
mk_group_rows_put_topics(const MkGroup *g, List *topic_ids)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	mk_share_settings_put_topics(g->group_no, topic_ids);
}

void
mk_group_rows_put_member(const MkGroup *group, MkMember *m)
{
	Datum values[Natts_member] = {0};
	bool nulls[Natts_member] = {0};
	Datum *topics = palloc(Max(m->ntopics, 1) * sizeof(Datum));
	Datum *topic_ids = palloc(Max(m->ntopics, 1) * sizeof(Datum));

	Assert(mk_lock_group_is_mine(group->group_id, true));
	for (int i = 0; i < m->ntopics; i++)
	{
		topics[i] = CStringGetTextDatum(m->topics[i]);
		topic_ids[i] = Int32GetDatum(m->topic_ids[i]);
	}
	values[Anum_member_group_no - 1] = Int32GetDatum(group->group_no);
	values[Anum_member_member_id - 1] = CStringGetTextDatum(m->member_id);
	values[Anum_member_member_no - 1] = Int32GetDatum(m->member_no);
	mk_rows_set_text(values, nulls, Anum_member_instance_id, m->instance_id);
	values[Anum_member_topics - 1] = PointerGetDatum(
		construct_array(topics, m->ntopics, TEXTOID, -1, false, TYPALIGN_INT));
	values[Anum_member_topic_ids - 1] = PointerGetDatum(construct_array(
		topic_ids, m->ntopics, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	values[Anum_member_auto_offset_reset - 1] =
		CStringGetTextDatum(mk_group_setting_reset(m->reset));
	values[Anum_member_session_timeout - 1] =
		IntervalPGetDatum(mk_clock_make_interval(m->session_timeout));
	values[Anum_member_max_poll_interval - 1] =
		IntervalPGetDatum(mk_clock_make_interval(m->max_poll_interval));
	values[Anum_member_rebalance_timeout - 1] =
		IntervalPGetDatum(mk_clock_make_interval(m->rebalance_timeout));
	values[Anum_member_joined_at - 1] = TimestampTzGetDatum(m->joined_at);
	nulls[Anum_member_removed_at - 1] = m->removed == MK_REMOVED_NOT;
	nulls[Anum_member_removed_why - 1] = m->removed == MK_REMOVED_NOT;
	if (m->removed != MK_REMOVED_NOT)
	{
		values[Anum_member_removed_at - 1] = TimestampTzGetDatum(m->removed_at);
		values[Anum_member_removed_why - 1] =
			CStringGetTextDatum(mk_group_setting_removed(m->removed));
	}
	mk_row_put(MK_REL_MEMBER, &m->tid, values, nulls);
}

void
mk_group_rows_delete_member(MkMember *m)
{
	mk_rows_delete(MK_REL_MEMBER, &m->tid);
}

void
mk_group_rows_put_assignment(const MkGroup *group, MkAssignment *a)
{
	Datum values[Natts_assignment] = {0};
	bool nulls[Natts_assignment] = {0};

	Assert(mk_lock_group_is_mine(group->group_id, true));
	values[Anum_assignment_group_no - 1] = Int32GetDatum(group->group_no);
	values[Anum_assignment_topic_id - 1] = Int32GetDatum(a->topic_id);
	values[Anum_assignment_partition - 1] = Int32GetDatum(a->partition);
	values[Anum_assignment_owner - 1] = Int32GetDatum(a->owner);
	values[Anum_assignment_generation - 1] = Int32GetDatum(a->generation);
	values[Anum_assignment_target - 1] = Int32GetDatum(a->target);
	nulls[Anum_assignment_handover_at - 1] = a->owner == a->target;
	values[Anum_assignment_handover_at - 1] =
		TimestampTzGetDatum(a->handover_at);
	mk_row_put(MK_REL_ASSIGNMENT, &a->tid, values, nulls);
}

void
mk_group_rows_delete_assignment(MkAssignment *a)
{
	mk_rows_delete(MK_REL_ASSIGNMENT, &a->tid);
}

void
mk_group_rows_grant(const MkGroup *group, const char *grantee, bool grant)
{
	NameData name;
	MkRows rows;
	HeapTuple tuple;
	ScanKeyData keys[2];
	bool had;

	Assert(mk_lock_group_is_mine(group->group_id, true));
	namestrcpy(&name, grantee);
	ScanKeyInit(&keys[0], Anum_grant_group_no, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(group->group_no));
	ScanKeyInit(&keys[1], Anum_grant_grantee, BTEqualStrategyNumber, F_NAMEEQ,
				NameGetDatum(&name));
	mk_rows_begin_keys(&rows, MK_REL_GRANT, MK_REL_GRANT_PKEY, NULL, 2, keys);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	had = tuple != NULL;
	if (had && !grant)
		mk_rows_delete(MK_REL_GRANT, &tuple->t_self);
	mk_rows_end(&rows);
	if (!had && grant)
	{
		Datum values[Natts_grant];
		bool nulls[Natts_grant] = {0};

		values[Anum_grant_group_no - 1] = Int32GetDatum(group->group_no);
		values[Anum_grant_grantee - 1] = NameGetDatum(&name);
		mk_rows_insert(MK_REL_GRANT, NULL, values, nulls);
	}
}

void
mk_group_rows_delete(MkGroup *g)
{
	mk_rows_delete_all(MK_REL_GRANT, MK_REL_GRANT_PKEY, 1, &g->group_no);
	mk_rows_delete_all(MK_REL_MEMBER, MK_REL_MEMBER_PKEY, 1, &g->group_no);
	mk_rows_delete_all(MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 1,
					   &g->group_no);
	mk_share_settings_delete(g->group_no);
	memset(&g->owner, 0, sizeof(g->owner));
	g->has_settings = false;
	g->rebalanced_why = NULL;
	mk_group_rows_put_group(g);
}
