/*
 * mk_membership.c
 *		Groups: their settings, members, assignment and grants, as the catalog
 *		has them.
 *
 * Each call of a member looks up its group's row, and with it the version: if
 * that is the one that the backend has read the rest of, the rest holds.
 * Every change counts the version up; it is made under the group's lock in
 * exclusive mode.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_membership.h"
#include "mk_number.h"
#include "mk_role.h"
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
	Natts_group = Anum_group_halved_for
};

enum
{
	Anum_grant_group_no = 1,
	Anum_grant_grantee,
	Natts_grant = Anum_grant_grantee
};

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

static const char *const mk_assignor_names[] = {
	[MK_ASSIGNOR_STICKY] = "sticky",
	[MK_ASSIGNOR_RANGE] = "range",
	[MK_ASSIGNOR_ROUNDROBIN] = "roundrobin",
};

static const char *const mk_protocol_names[] = {
	[MK_PROTOCOL_COOPERATIVE] = "cooperative",
	[MK_PROTOCOL_EAGER] = "eager",
};

static const char *const mk_reset_names[] = {
	[MK_RESET_EARLIEST] = "earliest",
	[MK_RESET_LATEST] = "latest",
	[MK_RESET_NONE] = "none",
};

static const char *const mk_removed_names[] = {
	[MK_REMOVED_NOT] = "",
	[MK_REMOVED_LEFT] = "left",
	[MK_REMOVED_FENCED] = "fenced",
	[MK_REMOVED_SESSION_TIMEOUT] = "session_timeout",
	[MK_REMOVED_MAX_POLL_INTERVAL] = "max_poll_interval",
};

/*
 * What the backend has read.  Numbers come again after DROP EXTENSION, the OID
 * of the table does not.
 */
typedef struct MkCached
{
	char group_id[MK_MEMBERSHIP_MAX_ID + 1]; /* hash key */
	Oid relid;
	MemoryContext context;
	MkGroup *group;
} MkCached;

static HTAB *mk_cached_groups = NULL;

/* Who looks at more groups than this is no consumer. */
#define MK_MAX_CACHED 1000

void
mk_membership_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = MK_MEMBERSHIP_MAX_ID + 1;
	ctl.entrysize = sizeof(MkCached);
	ctl.hcxt = TopMemoryContext;
	mk_cached_groups = hash_create("minikafka groups", 16, &ctl,
								   HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

/* ---------------------------------------------------------------------------
 * Names
 */

static bool
mk_name_find(const char *const *names, int nnames, const char *name, int *found)
{
	for (int i = 0; i < nnames; i++)
		if (strcmp(names[i], name) == 0)
		{
			*found = i;
			return true;
		}
	return false;
}

/* One that the catalog has. */
static int
mk_name_get(const char *const *names, int nnames, Datum datum)
{
	char *name = TextDatumGetCString(datum);
	int found;

	if (!mk_name_find(names, nnames, name, &found))
		elog(ERROR, "unknown name \"%s\" in the catalog", name);
	return found;
}

#define MK_NAME_GET(names, datum) \
	mk_name_get(names, (int) lengthof(names), datum)

const char *
mk_membership_assignor_name(MkAssignor assignor)
{
	return mk_assignor_names[assignor];
}

const char *
mk_membership_protocol_name(MkProtocol protocol)
{
	return mk_protocol_names[protocol];
}

bool
mk_membership_assignor(const char *name, MkAssignor *assignor)
{
	int found;
	bool ok = mk_name_find(mk_assignor_names, lengthof(mk_assignor_names), name,
						   &found);

	if (ok)
		*assignor = (MkAssignor) found;
	return ok;
}

bool
mk_membership_protocol(const char *name, MkProtocol *protocol)
{
	int found;
	bool ok = mk_name_find(mk_protocol_names, lengthof(mk_protocol_names), name,
						   &found);

	if (ok)
		*protocol = (MkProtocol) found;
	return ok;
}

bool
mk_membership_reset(const char *name, MkReset *reset)
{
	int found;
	bool ok =
		mk_name_find(mk_reset_names, lengthof(mk_reset_names), name, &found);

	if (ok)
		*reset = (MkReset) found;
	return ok;
}

/* ---------------------------------------------------------------------------
 * Reading
 */

static int64
mk_interval_get(Datum datum)
{
	const Interval *interval = DatumGetIntervalP(datum);

	return interval->time +
		((int64) interval->month * DAYS_PER_MONTH + interval->day) *
		USECS_PER_DAY;
}

static Datum
mk_interval_datum(int64 microseconds)
{
	Interval *interval = palloc0(sizeof(Interval));

	interval->time = microseconds;
	return IntervalPGetDatum(interval);
}

static char *
mk_nullable_text(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? NULL : TextDatumGetCString(datum);
}

/*
 * The row of a group, as far as it goes; false if there is none.  "own" tells
 * whether this transaction has written it.
 */
static bool
mk_group_read(const char *group_id, Snapshot snapshot, MkGroup *group,
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
		bool isnull;
		Datum assignor;
		Datum halved_at;

		group->group_no =
			DatumGetInt32(mk_rows_column(&rows, tuple, Anum_group_group_no));
		group->owner =
			*DatumGetName(mk_rows_column(&rows, tuple, Anum_group_owner));
		group->generation =
			DatumGetInt32(mk_rows_column(&rows, tuple, Anum_group_generation));
		group->version =
			DatumGetInt64(mk_rows_column(&rows, tuple, Anum_group_version));
		assignor = mk_rows_nullable(&rows, tuple, Anum_group_assignor, &isnull);
		group->has_settings = !isnull;
		if (!isnull)
		{
			group->assignor =
				(MkAssignor) MK_NAME_GET(mk_assignor_names, assignor);
			group->protocol = (MkProtocol) MK_NAME_GET(
				mk_protocol_names,
				mk_rows_column(&rows, tuple, Anum_group_protocol));
		}
		group->rebalanced_why =
			mk_nullable_text(&rows, tuple, Anum_group_rebalanced_why);
		if (group->rebalanced_why != NULL)
			group->rebalanced_at = DatumGetTimestampTz(
				mk_rows_column(&rows, tuple, Anum_group_rebalanced_at));
		group->halved =
			DatumGetInt32(mk_rows_column(&rows, tuple, Anum_group_halved));
		halved_at =
			mk_rows_nullable(&rows, tuple, Anum_group_halved_at, &isnull);
		group->halved_at = isnull ? DT_NOBEGIN : DatumGetTimestampTz(halved_at);
		if (!isnull)
			group->halved_for = mk_interval_get(
				mk_rows_column(&rows, tuple, Anum_group_halved_for));
		group->tid = tuple->t_self;
		*own = TransactionIdIsCurrentTransactionId(
			HeapTupleHeaderGetXmin(tuple->t_data));
	}
	mk_rows_end(&rows);
	return tuple != NULL;
}

static void
mk_member_read(const MkRows *rows, HeapTuple tuple, MkMember *m)
{
	Datum *topics;
	Datum *topic_ids;
	int ntopic_ids;
	Datum datum;
	bool isnull;

	memset(m, 0, sizeof(*m));
	m->member_no =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_member_member_no));
	m->member_id = mk_nullable_text(rows, tuple, Anum_member_member_id);
	m->instance_id = mk_nullable_text(rows, tuple, Anum_member_instance_id);
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
	m->reset = (MkReset) MK_NAME_GET(
		mk_reset_names,
		mk_rows_column(rows, tuple, Anum_member_auto_offset_reset));
	m->session_timeout = mk_interval_get(
		mk_rows_column(rows, tuple, Anum_member_session_timeout));
	m->max_poll_interval = mk_interval_get(
		mk_rows_column(rows, tuple, Anum_member_max_poll_interval));
	m->rebalance_timeout = mk_interval_get(
		mk_rows_column(rows, tuple, Anum_member_rebalance_timeout));
	m->joined_at =
		DatumGetTimestampTz(mk_rows_column(rows, tuple, Anum_member_joined_at));
	datum = mk_rows_nullable(rows, tuple, Anum_member_removed_at, &isnull);
	if (!isnull)
	{
		m->removed_at = DatumGetTimestampTz(datum);
		m->removed = (MkRemoved) MK_NAME_GET(
			mk_removed_names,
			mk_rows_column(rows, tuple, Anum_member_removed_why));
	}
	m->tid = tuple->t_self;
}

static void
mk_assignment_read(const MkRows *rows, HeapTuple tuple, MkAssignment *a)
{
	Datum datum;
	bool isnull;

	memset(a, 0, sizeof(*a));
	a->topic_id =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_assignment_topic_id));
	a->partition =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_assignment_partition));
	a->owner =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_assignment_owner));
	a->generation =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_assignment_generation));
	a->target =
		DatumGetInt32(mk_rows_column(rows, tuple, Anum_assignment_target));
	datum = mk_rows_nullable(rows, tuple, Anum_assignment_handover_at, &isnull);
	a->handover_at = isnull ? DT_NOEND : DatumGetTimestampTz(datum);
	a->tid = tuple->t_self;
}

/* Room for one more of n entries. */
static void *
mk_array_grow(void *array, int n, Size size)
{
	if (n == 0)
		return palloc(4 * size);
	if (n >= 4 && (n & (n - 1)) == 0)
		return repalloc_huge(array, 2 * (Size) n * size);
	return array;
}

static void
mk_group_read_topics(MkGroup *g)
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
		g->topics = mk_array_grow(g->topics, g->ntopics, sizeof(MkGroupTopic));
		t = &g->topics[g->ntopics++];
		t->topic_id = topic_id;
		t->npartitions = 1;
		t->topic = NULL;
	}
}

static void
mk_group_read_grantees(MkGroup *g, Snapshot snapshot)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_GRANT, MK_REL_GRANT_PKEY, snapshot, 1,
				  &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		g->grantees = lappend(g->grantees,
							  pstrdup(NameStr(*DatumGetName(mk_rows_column(
								  &rows, tuple, Anum_grant_grantee)))));
	mk_rows_end(&rows);
}

/* The rest of a group, in the current memory context. */
static MkGroup *
mk_group_load(const MkGroup *row, const char *group_id)
{
	MkGroup *g = palloc(sizeof(MkGroup));
	MkRows rows;
	HeapTuple tuple;

	*g = *row;
	g->group_id = pstrdup(group_id);
	g->next_check = DT_NOBEGIN;

	mk_group_read_grantees(g, GetActiveSnapshot());

	mk_rows_begin(&rows, MK_REL_MEMBER, MK_REL_MEMBER_PKEY, GetActiveSnapshot(),
				  1, &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		g->members = mk_array_grow(g->members, g->nmembers, sizeof(MkMember));
		mk_member_read(&rows, tuple, &g->members[g->nmembers++]);
	}
	mk_rows_end(&rows);

	mk_rows_begin(&rows, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY,
				  GetActiveSnapshot(), 1, &g->group_no);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		MkAssignment *a;

		g->assignments = mk_array_grow(g->assignments, g->nassignments,
									   sizeof(MkAssignment));
		a = &g->assignments[g->nassignments++];
		mk_assignment_read(&rows, tuple, a);
		/* there each rebalance moves all */
		if (g->protocol == MK_PROTOCOL_EAGER)
			a->generation = g->generation;
	}
	mk_rows_end(&rows);

	mk_group_read_topics(g);
	return g;
}

static bool
mk_group_exists(const MkGroup *row)
{
	return NameStr(row->owner)[0] != '\0';
}

/*
 * All of a group, NULL if there is none.  With one snapshot, so that the parts
 * fit together.
 */
static MkGroup *
mk_group_load_whole(const char *group_id, bool *own)
{
	MkGroup row;
	MkGroup *g = NULL;

	PushActiveSnapshot(GetLatestSnapshot());
	if (mk_group_read(group_id, GetActiveSnapshot(), &row, own) &&
		mk_group_exists(&row))
		g = mk_group_load(&row, group_id);
	PopActiveSnapshot();
	return g;
}

MkGroup *
mk_membership_get(const char *group_id)
{
	MkGroup row;
	MkCached *cached;
	MemoryContext context;
	MemoryContext old;
	MkGroup *g;
	bool own = false;
	bool found;

	if (!mk_group_read(group_id, NULL, &row, &own) || !mk_group_exists(&row))
		return NULL;
	cached = hash_search(mk_cached_groups, group_id, HASH_ENTER, &found);
	if (!found)
		cached->group = NULL;
	if (likely(cached->group != NULL &&
			   cached->relid == mk_relation_oid(MK_REL_GROUP) &&
			   cached->group->group_no == row.group_no &&
			   cached->group->version == row.version && !own))
		return cached->group;

	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka group",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	g = mk_group_load_whole(group_id, &own);
	MemoryContextSwitchTo(old);

	/* a row that this transaction has written may not stay */
	if (g == NULL || own)
		return g;
	if (cached->group != NULL)
		MemoryContextDelete(cached->context);
	MemoryContextSetParent(context, TopMemoryContext);
	cached->relid = mk_relation_oid(MK_REL_GROUP);
	cached->context = context;
	cached->group = g;
	return g;
}

bool
mk_membership_get_rights(const char *group_id, MkGroup *group)
{
	bool own;

	if (!mk_group_read(group_id, NULL, group, &own) || !mk_group_exists(group))
		return false;
	group->group_id = unconstify(char *, group_id);
	mk_group_read_grantees(group, NULL);
	return true;
}

List *
mk_membership_names(void)
{
	List *result = NIL;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_GROUP, MK_REL_GROUP_PKEY, NULL, 0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		NameData *owner =
			DatumGetName(mk_rows_column(&rows, tuple, Anum_group_owner));

		/* those that were deleted have none */
		if (NameStr(*owner)[0] != '\0')
			result = lappend(result,
							 TextDatumGetCString(mk_rows_column(
								 &rows, tuple, Anum_group_group_id)));
	}
	mk_rows_end(&rows);
	return result;
}

char *
mk_membership_name(int32 group_no)
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
		name = TextDatumGetCString(
			mk_rows_column(&rows, tuple, Anum_group_group_id));
	mk_rows_end(&rows);
	return name;
}

List *
mk_membership_look(List *missing)
{
	ListCell *name;
	ListCell *grantee;

	foreach (name, mk_membership_names())
	{
		MkGroup group;

		if (!mk_membership_get_rights(lfirst(name), &group))
			continue;
		missing = mk_role_look(missing, NameStr(group.owner), "group",
							   lfirst(name), false);
		foreach (grantee, group.grantees)
			missing = mk_role_look(missing, lfirst(grantee), "group",
								   lfirst(name), true);
	}
	return missing;
}

List *
mk_membership_numbers(void)
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
			result = lappend_int(result,
								 DatumGetInt32(mk_rows_column(
									 &rows, tuple, Anum_member_member_no)));
	}
	mk_rows_end(&rows);
	return result;
}

void
mk_membership_trim(void)
{
	HASH_SEQ_STATUS status;
	MkCached *cached;

	if (hash_get_num_entries(mk_cached_groups) <= MK_MAX_CACHED)
		return;
	hash_seq_init(&status, mk_cached_groups);
	while ((cached = hash_seq_search(&status)) != NULL)
	{
		if (cached->group != NULL)
			MemoryContextDelete(cached->context);
		hash_search(mk_cached_groups, cached->group_id, HASH_REMOVE, NULL);
	}
}

MkGroup *
mk_membership_get_for_update(const char *group_id)
{
	bool own;

	/* so that nothing rewrites them while we hold on to places in them */
	LockRelationOid(mk_relation_oid(MK_REL_GROUP), RowExclusiveLock);
	LockRelationOid(mk_relation_oid(MK_REL_MEMBER), RowExclusiveLock);
	LockRelationOid(mk_relation_oid(MK_REL_ASSIGNMENT), RowExclusiveLock);
	return mk_group_load_whole(group_id, &own);
}

MkMember *
mk_membership_any_member(const MkGroup *group, const char *member_id)
{
	for (int i = 0; i < group->nmembers; i++)
		if (strcmp(group->members[i].member_id, member_id) == 0)
			return &group->members[i];
	return NULL;
}

MkMember *
mk_membership_member(const MkGroup *group, const char *member_id)
{
	MkMember *m = mk_membership_any_member(group, member_id);

	return m != NULL && m->removed == MK_REMOVED_NOT ? m : NULL;
}

MkMember *
mk_membership_member_no(const MkGroup *group, int32 member_no)
{
	for (int i = 0; i < group->nmembers; i++)
		if (group->members[i].member_no == member_no &&
			group->members[i].removed == MK_REMOVED_NOT)
			return &group->members[i];
	return NULL;
}

MkAssignment *
mk_membership_assignment(const MkGroup *group, int32 topic_id, int32 partition)
{
	int low = 0;
	int high = group->nassignments;

	while (low < high)
	{
		int middle = low + (high - low) / 2;
		MkAssignment *a = &group->assignments[middle];

		if (a->topic_id == topic_id && a->partition == partition)
			return a;
		if (a->topic_id < topic_id ||
			(a->topic_id == topic_id && a->partition < partition))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

MkTopic *
mk_membership_topic(MkGroupTopic *t)
{
	MkTopic *topic;

	/* also one that was gone before: its drop may have been rolled back */
	if (t->topic == NULL)
		t->topic = mk_catalog_topic_by_id(t->topic_id);
	if (t->topic == NULL)
		return NULL;
	topic = mk_catalog_topic(t->topic->relid);
	return topic != NULL && topic->topic_id == t->topic_id ? topic : NULL;
}

MkTopic *
mk_membership_topic_by_id(const MkGroup *group, int32 topic_id)
{
	for (int i = 0; i < group->ntopics; i++)
		if (group->topics[i].topic_id == topic_id)
			return mk_membership_topic(&group->topics[i]);
	return NULL;
}

/* ---------------------------------------------------------------------------
 * Writing
 */

/* Inserts a row, or changes the one at tid, if that is valid. */
static void
mk_row_put(MkRelation which, ItemPointer tid, Datum *values, bool *nulls)
{
	if (ItemPointerIsValid(tid))
		mk_relation_update(which, tid, values, nulls);
	else
		mk_relation_insert(which, tid, values, nulls);
}

void
mk_membership_put_group(MkGroup *g)
{
	Datum values[Natts_group] = {0};
	bool nulls[Natts_group] = {0};

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
			CStringGetTextDatum(mk_assignor_names[g->assignor]);
		values[Anum_group_protocol - 1] =
			CStringGetTextDatum(mk_protocol_names[g->protocol]);
	}
	nulls[Anum_group_rebalanced_at - 1] = g->rebalanced_why == NULL;
	values[Anum_group_rebalanced_at - 1] =
		TimestampTzGetDatum(g->rebalanced_at);
	nulls[Anum_group_rebalanced_why - 1] = g->rebalanced_why == NULL;
	if (g->rebalanced_why != NULL)
		values[Anum_group_rebalanced_why - 1] =
			CStringGetTextDatum(g->rebalanced_why);
	values[Anum_group_halved - 1] = Int32GetDatum(g->halved);
	nulls[Anum_group_halved_at - 1] = TIMESTAMP_IS_NOBEGIN(g->halved_at);
	nulls[Anum_group_halved_for - 1] = TIMESTAMP_IS_NOBEGIN(g->halved_at);
	values[Anum_group_halved_at - 1] = TimestampTzGetDatum(g->halved_at);
	values[Anum_group_halved_for - 1] = mk_interval_datum(g->halved_for);
	mk_row_put(MK_REL_GROUP, &g->tid, values, nulls);
}

void
mk_membership_make(const char *group_id, const char *owner)
{
	MkGroup group;
	bool own;

	/* one that was deleted goes on with its generation */
	if (!mk_group_read(group_id, NULL, &group, &own))
		ItemPointerSetInvalid(&group.tid);
	group.group_id = unconstify(char *, group_id);
	group.group_no = mk_relation_next(MK_REL_GROUP_NO_SEQ);
	namestrcpy(&group.owner, owner);
	group.halved = 0;
	group.halved_at = DT_NOBEGIN;
	mk_membership_put_group(&group);
}

void
mk_membership_put_member(const MkGroup *group, MkMember *m)
{
	Datum values[Natts_member] = {0};
	bool nulls[Natts_member] = {0};
	Datum *topics = palloc(Max(m->ntopics, 1) * sizeof(Datum));
	Datum *topic_ids = palloc(Max(m->ntopics, 1) * sizeof(Datum));

	for (int i = 0; i < m->ntopics; i++)
	{
		topics[i] = CStringGetTextDatum(m->topics[i]);
		topic_ids[i] = Int32GetDatum(m->topic_ids[i]);
	}
	values[Anum_member_group_no - 1] = Int32GetDatum(group->group_no);
	values[Anum_member_member_id - 1] = CStringGetTextDatum(m->member_id);
	values[Anum_member_member_no - 1] = Int32GetDatum(m->member_no);
	nulls[Anum_member_instance_id - 1] = m->instance_id == NULL;
	if (m->instance_id != NULL)
		values[Anum_member_instance_id - 1] =
			CStringGetTextDatum(m->instance_id);
	values[Anum_member_topics - 1] = PointerGetDatum(
		construct_array(topics, m->ntopics, TEXTOID, -1, false, TYPALIGN_INT));
	values[Anum_member_topic_ids - 1] = PointerGetDatum(construct_array(
		topic_ids, m->ntopics, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	values[Anum_member_auto_offset_reset - 1] =
		CStringGetTextDatum(mk_reset_names[m->reset]);
	values[Anum_member_session_timeout - 1] =
		mk_interval_datum(m->session_timeout);
	values[Anum_member_max_poll_interval - 1] =
		mk_interval_datum(m->max_poll_interval);
	values[Anum_member_rebalance_timeout - 1] =
		mk_interval_datum(m->rebalance_timeout);
	values[Anum_member_joined_at - 1] = TimestampTzGetDatum(m->joined_at);
	nulls[Anum_member_removed_at - 1] = m->removed == MK_REMOVED_NOT;
	nulls[Anum_member_removed_why - 1] = m->removed == MK_REMOVED_NOT;
	if (m->removed != MK_REMOVED_NOT)
	{
		values[Anum_member_removed_at - 1] = TimestampTzGetDatum(m->removed_at);
		values[Anum_member_removed_why - 1] =
			CStringGetTextDatum(mk_removed_names[m->removed]);
	}
	mk_row_put(MK_REL_MEMBER, &m->tid, values, nulls);
}

void
mk_membership_delete_member(const MkGroup *group, MkMember *m)
{
	mk_relation_delete(MK_REL_MEMBER, &m->tid);
}

void
mk_membership_put_assignment(const MkGroup *group, MkAssignment *a)
{
	Datum values[Natts_assignment] = {0};
	bool nulls[Natts_assignment] = {0};

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
mk_membership_delete_assignment(MkAssignment *a)
{
	mk_relation_delete(MK_REL_ASSIGNMENT, &a->tid);
}

void
mk_membership_grant(const MkGroup *group, const char *grantee, bool grant)
{
	NameData name;
	MkRows rows;
	HeapTuple tuple;
	ScanKeyData keys[2];
	bool had;

	namestrcpy(&name, grantee);
	ScanKeyInit(&keys[0], Anum_grant_group_no, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(group->group_no));
	ScanKeyInit(&keys[1], Anum_grant_grantee, BTEqualStrategyNumber, F_NAMEEQ,
				NameGetDatum(&name));
	mk_rows_begin_keys(&rows, MK_REL_GRANT, MK_REL_GRANT_PKEY, NULL, 2, keys);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	had = tuple != NULL;
	if (had && !grant)
		mk_relation_delete(MK_REL_GRANT, &tuple->t_self);
	mk_rows_end(&rows);
	if (!had && grant)
	{
		Datum values[Natts_grant];
		bool nulls[Natts_grant] = {0};

		values[Anum_grant_group_no - 1] = Int32GetDatum(group->group_no);
		values[Anum_grant_grantee - 1] = NameGetDatum(&name);
		mk_relation_insert(MK_REL_GRANT, NULL, values, nulls);
	}
}

void
mk_membership_delete(MkGroup *g)
{
	mk_relation_delete_all(MK_REL_GRANT, MK_REL_GRANT_PKEY, 1, &g->group_no);
	mk_relation_delete_all(MK_REL_MEMBER, MK_REL_MEMBER_PKEY, 1, &g->group_no);
	mk_relation_delete_all(MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 1,
						   &g->group_no);
	memset(&g->owner, 0, sizeof(g->owner));
	g->has_settings = false;
	g->rebalanced_why = NULL;
	mk_membership_put_group(g);
}
