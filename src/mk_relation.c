/*
 * mk_relation.c
 *		The relations that the extension's schema has: finding them, and reading
 *		and writing their rows.
 *
 * The rows are written directly, without regard to rights: whoever calls has
 * checked them.  They are read with a catalog snapshot, which for a relation
 * without a syscache is always a new one, so that a REPEATABLE READ
 * transaction sees what holds now; or with a snapshot of the caller's.
 *
 * No read takes a predicate lock.  In a SERIALIZABLE transaction a scan with an
 * MVCC snapshot would, of a page of the index: and fail transactions that use
 * other groups or producers, whose rows are on the same page.  What must not
 * change meanwhile is guarded by locks of our own.  So there the scan gets
 * every row that any snapshot may see, and the snapshot is applied to those.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "mk_guard.h"
#include "mk_lock.h"
#include "mk_relation.h"

/* What the library expects: a name, and of a table how many columns it has. */
static const struct
{
	const char *name;
	int natts;
} mk_relations[MK_NUM_RELS] = {
	[MK_REL_TOPIC] = {"topic", 14},
	[MK_REL_TOPIC_PKEY] = {"topic_pkey", 0},
	[MK_REL_TOPIC_REL_KEY] = {"topic_rel_key", 0},
	[MK_REL_TOPIC_ID_SEQ] = {"topic_id", 0},
	[MK_REL_PARTITION] = {"partition", 4},
	[MK_REL_PARTITION_PKEY] = {"partition_pkey", 0},
	[MK_REL_SEGMENT] = {"segment", 4},
	[MK_REL_SEGMENT_PKEY] = {"segment_pkey", 0},
	[MK_REL_COMPACTION] = {"compaction", 6},
	[MK_REL_COMPACTION_PKEY] = {"compaction_pkey", 0},
	[MK_REL_SETTLED] = {"settled_partition", 2},
	[MK_REL_SETTLED_IDX] = {"settled_partition_idx", 0},
	[MK_REL_GROUP] = {"consumer_group", 12},
	[MK_REL_GROUP_PKEY] = {"consumer_group_pkey", 0},
	[MK_REL_GROUP_NO_KEY] = {"consumer_group_group_no_key", 0},
	[MK_REL_GROUP_NO_SEQ] = {"group_no", 0},
	[MK_REL_GRANT] = {"group_grant", 2},
	[MK_REL_GRANT_PKEY] = {"group_grant_pkey", 0},
	[MK_REL_MEMBER] = {"group_member", 13},
	[MK_REL_MEMBER_PKEY] = {"group_member_pkey", 0},
	[MK_REL_MEMBER_NO_KEY] = {"group_member_member_no_key", 0},
	[MK_REL_MEMBER_NO_SEQ] = {"member_no", 0},
	[MK_REL_ASSIGNMENT] = {"group_assignment", 7},
	[MK_REL_ASSIGNMENT_PKEY] = {"group_assignment_pkey", 0},
	[MK_REL_PROGRESS] = {"group_progress", 14},
	[MK_REL_PROGRESS_PKEY] = {"group_progress_pkey", 0},
	[MK_REL_HEARTBEAT] = {"member_heartbeat", 3},
	[MK_REL_HEARTBEAT_IDX] = {"member_heartbeat_idx", 0},
	[MK_REL_PRODUCER] = {"producer", 5},
	[MK_REL_PRODUCER_PKEY] = {"producer_pkey", 0},
	[MK_REL_PRODUCER_ID_KEY] = {"producer_producer_id_key", 0},
	[MK_REL_PRODUCER_ID_SEQ] = {"producer_id", 0},
	[MK_REL_PRODUCED] = {"producer_progress", 8},
	[MK_REL_PRODUCED_PKEY] = {"producer_progress_pkey", 0},
	[MK_REL_INBOX_CONSUMER] = {"inbox_consumer", 3},
	[MK_REL_INBOX_CONSUMER_PKEY] = {"inbox_consumer_pkey", 0},
	[MK_REL_CONSUMER_NO_KEY] = {"inbox_consumer_consumer_no_key", 0},
	[MK_REL_CONSUMER_NO_SEQ] = {"inbox_consumer_consumer_no_seq", 0},
	[MK_REL_INBOX] = {"inbox", 4},
	[MK_REL_INBOX_PKEY] = {"inbox_pkey", 0},
	[MK_REL_INBOX_ACCEPTED_IDX] = {"inbox_accepted_idx", 0},
};

/*
 * Where the numbers of the sequences are: in this column of an index, which is
 * the first or the second.  Also where what bore a number is gone and rows about
 * it may be left.  (The members in group_assignment and group_progress are not
 * looked for: they count only with the group's generation, which never comes
 * again.)
 */
static const struct
{
	MkRelation sequence;
	MkRelation rel;
	MkRelation index;
	int column;
} mk_bearers[] = {
	{MK_REL_TOPIC_ID_SEQ, MK_REL_TOPIC, MK_REL_TOPIC_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_COMPACTION, MK_REL_COMPACTION_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SETTLED, MK_REL_SETTLED_IDX, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, 2},
	{MK_REL_GROUP_NO_SEQ, MK_REL_GROUP, MK_REL_GROUP_NO_KEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_GRANT, MK_REL_GRANT_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_MEMBER, MK_REL_MEMBER_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 1},
	{MK_REL_MEMBER_NO_SEQ, MK_REL_MEMBER, MK_REL_MEMBER_NO_KEY, 1},
	{MK_REL_MEMBER_NO_SEQ, MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, 1},
	{MK_REL_PRODUCER_ID_SEQ, MK_REL_PRODUCER, MK_REL_PRODUCER_ID_KEY, 1},
	{MK_REL_PRODUCER_ID_SEQ, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, 1},
	{MK_REL_CONSUMER_NO_SEQ, MK_REL_INBOX_CONSUMER, MK_REL_CONSUMER_NO_KEY, 1},
	{MK_REL_CONSUMER_NO_SEQ, MK_REL_INBOX, MK_REL_INBOX_PKEY, 1},
};

static const MkRelation mk_sequences[] = {
	MK_REL_TOPIC_ID_SEQ, MK_REL_GROUP_NO_SEQ, MK_REL_MEMBER_NO_SEQ,
	MK_REL_PRODUCER_ID_SEQ, MK_REL_CONSUMER_NO_SEQ};

/* The OIDs, when valid. */
static struct
{
	bool valid;
	bool subscribed; /* see mk_relation_is_subscriber */
	bool in_use; /* see mk_relation_note_use */
	Oid topics_namespace;
	Oid data_namespace;
	Oid relid[MK_NUM_RELS];
} mk_oids;

static uint64 mk_invalidations = 0;

/* ---------------------------------------------------------------------------
 * Finding
 */

static void
mk_relation_relcache_callback(Datum arg, Oid relid)
{
	mk_invalidations++;
	if (!OidIsValid(relid))
		mk_oids.valid = false;
	for (int i = 0; i < MK_NUM_RELS; i++)
		if (mk_oids.relid[i] == relid)
			mk_oids.valid = false;
}

static void
mk_relation_subscription_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	mk_invalidations++;
	mk_oids.valid = false;
}

void
mk_relation_init(void)
{
	CacheRegisterRelcacheCallback(mk_relation_relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(SUBSCRIPTIONRELMAP,
								  mk_relation_subscription_callback, (Datum) 0);
}

/* The version of the extension's SQL objects; NULL if it is not installed. */
static char *
mk_relation_version(void)
{
	Oid extension = get_extension_oid("minikafka", true);
	Relation rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	char *version = NULL;

	if (!OidIsValid(extension))
		return NULL;
	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool isnull;
		Datum datum = heap_getattr(tuple, Anum_pg_extension_extversion,
								   RelationGetDescr(rel), &isnull);

		version = TextDatumGetCString(datum);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

static void
mk_relation_check_version(void)
{
	char *version;

	/* its script may be halfway from one version to another */
	if (creating_extension)
		return;
	version = mk_relation_version();
	if (version == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"minikafka\" is not installed in this "
						"database"),
				 errhint("Use CREATE EXTENSION minikafka.")));
	if (strcmp(version, MK_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"minikafka\" and its library are of "
						"different versions"),
				 errdetail("The extension in this database is of version %s, "
						   "the library that the server has loaded of %s.",
						   version, MK_VERSION),
				 errhint("Use ALTER EXTENSION minikafka UPDATE.  If the "
						 "library is the older one, install that of the "
						 "extension's version, and connect anew or, where it "
						 "is preloaded, restart the server.")));
	pfree(version);
}

static void
mk_relation_unfit(const char *name, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"minikafka.%s\" is not what the library expects",
					name),
			 errdetail_internal("%s", problem),
			 errhint("Use ALTER EXTENSION minikafka UPDATE, or undo what was "
					 "done to the relation by hand.")));
}

static int
mk_relation_natts(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int natts;

	if (!HeapTupleIsValid(tuple))
		return 0;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return natts;
}

/* Whether the table is a copy of another server's. */
static bool
mk_relation_is_subscribed(Oid relid)
{
	CatCList *list =
		SearchSysCacheList1(SUBSCRIPTIONRELMAP, ObjectIdGetDatum(relid));
	bool subscribed = list->n_members > 0;

	ReleaseSysCacheList(list);
	return subscribed;
}

static void
mk_relation_load(void)
{
	uint64 invalidations = mk_invalidations;
	Oid namespace;

	mk_relation_check_version();
	namespace = get_namespace_oid("minikafka", true);
	mk_oids.topics_namespace = get_namespace_oid("minikafka_topics", true);
	mk_oids.data_namespace = get_namespace_oid("minikafka_data", true);
	for (int i = 0; i < MK_NUM_RELS; i++)
	{
		const char *name = mk_relations[i].name;
		Oid relid = OidIsValid(namespace) ? get_relname_relid(name, namespace)
										  : InvalidOid;
		int natts;

		mk_oids.relid[i] = relid;
		if (!OidIsValid(relid))
			mk_relation_unfit(name, "There is no such relation.");
		natts = mk_relations[i].natts > 0 ? mk_relation_natts(relid) : 0;
		if (natts != mk_relations[i].natts)
			mk_relation_unfit(name,
							  psprintf("It has %d columns instead of %d.",
									   natts, mk_relations[i].natts));
	}
	mk_oids.subscribed = mk_relation_is_subscribed(mk_oids.relid[MK_REL_TOPIC]);
	mk_oids.in_use = false;
	/* else the next look reads again */
	mk_oids.valid = mk_invalidations == invalidations;
}

Oid
mk_relation_oid(MkRelation which)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.relid[which];
}

Oid
mk_relation_topics_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.topics_namespace;
}

Oid
mk_relation_data_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.data_namespace;
}

bool
mk_relation_is_settled(TransactionId xid)
{
	/* the same for all tables that are no catalogs of PostgreSQL */
	Relation rel = table_open(mk_relation_oid(MK_REL_TOPIC), AccessShareLock);
	TransactionId oldest;

	InvalidateCatalogSnapshot();
	oldest = GetOldestNonRemovableTransactionId(rel);
	table_close(rel, AccessShareLock);
	return !TransactionIdPrecedes(oldest, xid);
}

bool
mk_relation_is_subscriber(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.subscribed;
}

void
mk_relation_check_subscriber(void)
{
	if (unlikely(mk_relation_is_subscriber()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the topics of this database are copies of another "
						"server's"),
				 errdetail("A subscription writes them, in the order of "
						   "commits."),
				 errhint("Use the publisher; or, to go on here, stop what "
						 "uses it and use DROP SUBSCRIPTION.")));
}

/* ---------------------------------------------------------------------------
 * Reading
 */

void
mk_rows_begin_keys(MkRows *rows, MkRelation rel, MkRelation index,
				   Snapshot snapshot, int nkeys, ScanKey keys)
{
	rows->rel = table_open(mk_relation_oid(rel), AccessShareLock);
	rows->index = index_open(mk_relation_oid(index), AccessShareLock);
	rows->filter = NULL;
	if (IsolationIsSerializable() &&
		(snapshot == NULL || IsMVCCSnapshot(snapshot)))
	{
		if (snapshot == NULL)
			snapshot = GetCatalogSnapshot(RelationGetRelid(rows->rel));
		rows->filter = RegisterSnapshot(snapshot);
		InitNonVacuumableSnapshot(rows->all, GlobalVisTestFor(rows->rel));
		snapshot = &rows->all;
	}
	rows->scan = systable_beginscan_ordered(rows->rel, rows->index, snapshot,
											nkeys, keys);
}

void
mk_rows_begin(MkRows *rows, MkRelation rel, MkRelation index, Snapshot snapshot,
			  int nkeys, const int32 *values)
{
	ScanKeyData keys[MK_ROWS_MAX_KEYS];

	/* all such indexes are on the first columns */
	for (int i = 0; i < nkeys; i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(values[i]));
	mk_rows_begin_keys(rows, rel, index, snapshot, nkeys, keys);
}

HeapTuple
mk_rows_next(MkRows *rows, ScanDirection direction)
{
	HeapTuple tuple;

	do
		tuple = systable_getnext_ordered(rows->scan, direction);
	while (tuple != NULL && rows->filter != NULL &&
		   !table_tuple_satisfies_snapshot(rows->rel, rows->scan->slot,
										   rows->filter));
	return tuple;
}

void
mk_rows_end(MkRows *rows)
{
	systable_endscan_ordered(rows->scan);
	if (rows->filter != NULL)
		UnregisterSnapshot(rows->filter);
	index_close(rows->index, AccessShareLock);
	table_close(rows->rel, AccessShareLock);
}

Datum
mk_rows_nullable(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
				 bool *isnull)
{
	return heap_getattr(tuple, attno, RelationGetDescr(rows->rel), isnull);
}

Datum
mk_rows_column(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	if (isnull)
		elog(ERROR, "null in column %d of relation \"%s\"", attno,
			 RelationGetRelationName(rows->rel));
	return datum;
}

Snapshot
mk_rows_now(void)
{
	/* rules of the primary do not hold back what a standby replays */
	if (RecoveryInProgress())
		return NULL;
	Assert(TransactionIdIsValid(MyProc->xmin));
	return SnapshotSelf;
}

/* The greatest of them below "below"; false if there is none. */
static bool
mk_rows_below(MkRelation rel, MkRelation index, int nkeys, const int32 *values,
			  int64 below, Snapshot snapshot, int32 *found)
{
	Relation key = index_open(mk_relation_oid(index), AccessShareLock);
	AttrNumber attno = key->rd_index->indkey.values[nkeys];
	ScanKeyData keys[MK_ROWS_MAX_KEYS];
	MkRows rows;
	HeapTuple tuple;

	for (int i = 0; i < nkeys; i++)
		ScanKeyInit(&keys[i], key->rd_index->indkey.values[i],
					BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(values[i]));
	index_close(key, AccessShareLock);
	ScanKeyInit(&keys[nkeys], attno, BTLessStrategyNumber, F_INT48LT,
				Int64GetDatum(below));
	keys[nkeys].sk_subtype = INT8OID;
	mk_rows_begin_keys(&rows, rel, index, snapshot, nkeys + 1, keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		*found = DatumGetInt32(mk_rows_column(&rows, tuple, attno));
	mk_rows_end(&rows);
	return tuple != NULL;
}

List *
mk_rows_values(MkRelation rel, MkRelation index, int nkeys, const int32 *values,
			   Snapshot snapshot)
{
	List *descending = NIL;
	List *result = NIL;
	int64 below = PG_INT64_MAX;
	int32 found;

	/* back, since the rows that were removed lately come first */
	while (mk_rows_below(rel, index, nkeys, values, below, snapshot, &found))
	{
		CHECK_FOR_INTERRUPTS();
		descending = lappend_int(descending, found);
		below = found;
	}
	for (int i = list_length(descending) - 1; i >= 0; i--)
		result = lappend_int(result, list_nth_int(descending, i));
	list_free(descending);
	return result;
}

void
mk_rows_partitions(MkRelation rel, MkRelation index, int32 first,
				   Snapshot snapshot, MkPartitionSink sink, void *arg)
{
	ListCell *lc;
	ListCell *lc2;

	foreach (lc, mk_rows_values(rel, index, 1, &first, snapshot))
	{
		const int32 keys[] = {first, lfirst_int(lc)};

		foreach (lc2,
				 mk_rows_values(rel, index, lengthof(keys), keys, snapshot))
			sink(lfirst_int(lc), lfirst_int(lc2), arg);
	}
}

/* ---------------------------------------------------------------------------
 * Writing
 */

/* Opens a table to write to it. */
static Relation
mk_relation_open(MkRelation which)
{
	Relation rel = table_open(mk_relation_oid(which), RowExclusiveLock);

	mk_guard_check_write(rel);
	return rel;
}

/* The same for the table of a scan. */
static void
mk_rows_lock(MkRows *rows)
{
	LockRelation(rows->rel, RowExclusiveLock);
	mk_guard_check_write(rows->rel);
}

void
mk_rows_modify(MkRows *rows, HeapTuple tuple, Datum *values, bool *nulls,
			   bool *replace)
{
	mk_rows_lock(rows);
	tuple = heap_modify_tuple(tuple, RelationGetDescr(rows->rel), values, nulls,
							  replace);
	CatalogTupleUpdate(rows->rel, &tuple->t_self, tuple);
}

void
mk_relation_insert(MkRelation which, ItemPointer tid, Datum *values,
				   bool *nulls)
{
	Relation rel = mk_relation_open(which);
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	CatalogTupleInsert(rel, tuple);
	if (tid != NULL)
		*tid = tuple->t_self;
	heap_freetuple(tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
mk_relation_update(MkRelation which, ItemPointer tid, Datum *values,
				   bool *nulls)
{
	Relation rel = mk_relation_open(which);
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	CatalogTupleUpdate(rel, tid, tuple);
	*tid = tuple->t_self;
	heap_freetuple(tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
mk_relation_delete(MkRelation which, ItemPointer tid)
{
	Relation rel = mk_relation_open(which);

	CatalogTupleDelete(rel, tid);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* Removes a row; false if somebody else does, or has. */
static bool
mk_relation_try_delete(Relation rel, ItemPointer tid, bool wait)
{
	TM_FailureData failure;
	TM_Result result =
		table_tuple_delete(rel, tid, GetCurrentCommandId(true), SnapshotSelf,
						   InvalidSnapshot, wait, &failure, false);

	if (result == TM_Updated)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not remove a row that was updated meanwhile"),
				 errhint("Run the transaction again.")));
	return result == TM_Ok;
}

bool
mk_rows_discard(MkRows *rows, HeapTuple tuple)
{
	mk_rows_lock(rows);
	return mk_relation_try_delete(rows->rel, &tuple->t_self, false);
}

void
mk_rows_discard_all(MkRelation which, MkRelation index, int nkeys,
					const int32 *values)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, mk_rows_now(), nkeys, values);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		(void) mk_rows_discard(&rows, tuple);
	}
	mk_rows_end(&rows);
}

int
mk_rows_clean(MkRelation which, MkRelation index, int nkeys,
			  const int32 *values, MkRowsNeeded needed, const void *arg,
			  int limit)
{
	ItemPointerData before;
	bool has_before = false;
	int removed = 0;
	TransactionId oldest;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, mk_rows_now(), nkeys, values);
	mk_rows_lock(&rows);
	oldest = GetOldestNonRemovableTransactionId(rows.rel);
	while (removed < limit &&
		   (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_before)
		{
			if (!TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data),
									   oldest))
				break;
			if (mk_relation_try_delete(rows.rel, &before, false))
				removed++;
		}
		if (needed != NULL && needed(&rows, tuple, arg))
			break;
		before = tuple->t_self;
		has_before = true;
	}
	mk_rows_end(&rows);
	return removed;
}

void
mk_relation_delete_all(MkRelation which, MkRelation index, int nkeys,
					   const int32 *values)
{
	Relation rel = mk_relation_open(which);
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, NULL, nkeys, values);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		(void) mk_relation_try_delete(rel, &tuple->t_self, true);
	}
	mk_rows_end(&rows);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* ---------------------------------------------------------------------------
 * Numbers
 */

/* The last number that a sequence has given, 0 if none. */
static int32
mk_relation_last(MkRelation sequence)
{
	Relation rel = table_open(mk_relation_oid(sequence), AccessShareLock);
	SysScanDesc scan =
		systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tuple = systable_getnext(scan);
	Form_pg_sequence_data data;
	int32 last = 0;

	if (HeapTupleIsValid(tuple))
	{
		data = (Form_pg_sequence_data) GETSTRUCT(tuple);
		last = (int32) data->last_value - (data->is_called ? 0 : 1);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return last;
}

/*
 * The greatest number of a sequence that a row bears, 0 if none: of all rows,
 * also of transactions that are still in progress.  One look for each index.  With
 * "thorough" also where the number is an index's second column, one for each value
 * of the first.
 */
static int32
mk_relation_greatest(MkRelation sequence, bool thorough)
{
	SnapshotData dirty;
	int32 greatest = 0;

	InitDirtySnapshot(dirty);
	for (int i = 0; i < (int) lengthof(mk_bearers); i++)
	{
		MkRelation rel = mk_bearers[i].rel;
		MkRelation index = mk_bearers[i].index;
		int32 found;
		ListCell *lc;

		if (mk_bearers[i].sequence != sequence)
			continue;
		if (mk_bearers[i].column == 1)
		{
			if (mk_rows_below(rel, index, 0, NULL, PG_INT64_MAX, &dirty,
							  &found))
				greatest = Max(greatest, found);
			continue;
		}
		if (!thorough)
			continue;
		foreach (lc, mk_rows_values(rel, index, 0, NULL, &dirty))
		{
			const int32 first = lfirst_int(lc);

			if (mk_rows_below(rel, index, 1, &first, PG_INT64_MAX, &dirty,
							  &found))
				greatest = Max(greatest, found);
		}
	}
	return greatest;
}

/* Moves a sequence, as its owner: the user has no right to. */
static void
mk_relation_set_last(MkRelation sequence, int32 last)
{
	Oid relid = mk_relation_oid(sequence);
	Relation rel = relation_open(relid, AccessShareLock);
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE);
	relation_close(rel, AccessShareLock);
	(void) DirectFunctionCall2(setval_oid, ObjectIdGetDatum(relid),
							   Int64GetDatum(last));
	SetUserIdAndSecContext(user, context);
}

/*
 * A session that has a number, and whose row is not there yet, has it from the
 * sequence, which moves forward only: others get later ones.  The lock is for
 * that: between the look at a sequence and moving it, nobody else takes a number.
 * A thorough look is for a sequence that begins, or lags: else the rows that it is
 * for have gone with what bore the number.
 */
int32
mk_relation_next(MkRelation sequence)
{
	Oid relid = mk_relation_oid(sequence);
	int32 greatest;
	int32 next;

	mk_lock_numbers(sequence);
	next = (int32) nextval_internal(relid, false);
	greatest = mk_relation_greatest(sequence, false);
	if (next == 1 || next <= greatest)
		greatest = mk_relation_greatest(sequence, true);
	if (next <= greatest)
	{
		mk_relation_set_last(sequence, greatest);
		next = (int32) nextval_internal(relid, false);
	}
	mk_lock_numbers_release(sequence);
	return next;
}

bool
mk_relation_is_unnumbered(void)
{
	bool borne = false;

	for (int i = 0; i < (int) lengthof(mk_sequences); i++)
	{
		if (mk_relation_last(mk_sequences[i]) > 0)
			return false;
		borne = borne || mk_relation_greatest(mk_sequences[i], true) > 0;
	}
	return borne;
}

void
mk_relation_note_use(void)
{
	if (likely(mk_oids.valid && mk_oids.in_use))
		return;
	/* one look, where there are topics that were made here */
	if (mk_relation_last(MK_REL_TOPIC_ID_SEQ) == 0 &&
		mk_relation_is_unnumbered())
		for (int i = 0; i < (int) lengthof(mk_sequences); i++)
		{
			MkRelation sequence = mk_sequences[i];
			int32 greatest;

			mk_lock_numbers(sequence);
			greatest = mk_relation_greatest(sequence, true);
			if (greatest > mk_relation_last(sequence))
				mk_relation_set_last(sequence, greatest);
			mk_lock_numbers_release(sequence);
		}
	mk_oids.in_use = true;
}
