/*
 * mk_relation.c
 *		The relations that the extension's schema has: finding them, and reading
 *		and writing their rows.
 *
 * The rows are written directly, without regard to rights: whoever calls has
 * checked them.  They are read with a catalog snapshot, which for a relation
 * without a syscache is always a new one, so that a REPEATABLE READ
 * transaction sees what holds now; or with a snapshot of the caller's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "mk_guard.h"
#include "mk_relation.h"

static const char *const mk_relation_names[MK_NUM_RELS] = {
	[MK_REL_TOPIC] = "topic",
	[MK_REL_TOPIC_PKEY] = "topic_pkey",
	[MK_REL_TOPIC_REL_KEY] = "topic_rel_key",
	[MK_REL_TOPIC_ID_SEQ] = "topic_id",
	[MK_REL_PARTITION] = "partition",
	[MK_REL_PARTITION_PKEY] = "partition_pkey",
	[MK_REL_SEGMENT] = "segment",
	[MK_REL_SEGMENT_PKEY] = "segment_pkey",
	[MK_REL_COMPACTION] = "compaction",
	[MK_REL_COMPACTION_PKEY] = "compaction_pkey",
	[MK_REL_GROUP] = "consumer_group",
	[MK_REL_GROUP_PKEY] = "consumer_group_pkey",
	[MK_REL_GROUP_NO_SEQ] = "group_no",
	[MK_REL_GRANT] = "group_grant",
	[MK_REL_GRANT_PKEY] = "group_grant_pkey",
	[MK_REL_MEMBER] = "group_member",
	[MK_REL_MEMBER_PKEY] = "group_member_pkey",
	[MK_REL_MEMBER_NO_SEQ] = "member_no",
	[MK_REL_ASSIGNMENT] = "group_assignment",
	[MK_REL_ASSIGNMENT_PKEY] = "group_assignment_pkey",
	[MK_REL_PROGRESS] = "group_progress",
	[MK_REL_PROGRESS_PKEY] = "group_progress_pkey",
	[MK_REL_HEARTBEAT] = "member_heartbeat",
	[MK_REL_HEARTBEAT_IDX] = "member_heartbeat_idx",
	[MK_REL_PRODUCER] = "producer",
	[MK_REL_PRODUCER_PKEY] = "producer_pkey",
	[MK_REL_PRODUCER_ID_KEY] = "producer_producer_id_key",
	[MK_REL_PRODUCER_ID_SEQ] = "producer_id",
	[MK_REL_PRODUCED] = "producer_progress",
	[MK_REL_PRODUCED_PKEY] = "producer_progress_pkey",
	[MK_REL_INBOX] = "inbox",
	[MK_REL_INBOX_ACCEPTED_IDX] = "inbox_accepted_idx",
};

/* The OIDs, when valid. */
static struct
{
	bool valid;
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

void
mk_relation_init(void)
{
	CacheRegisterRelcacheCallback(mk_relation_relcache_callback, (Datum) 0);
}

static void
mk_relation_load(void)
{
	uint64 invalidations = mk_invalidations;
	Oid namespace = get_namespace_oid("minikafka", true);

	mk_oids.topics_namespace = get_namespace_oid("minikafka_topics", true);
	mk_oids.data_namespace = get_namespace_oid("minikafka_data", true);
	for (int i = 0; i < MK_NUM_RELS; i++)
	{
		mk_oids.relid[i] = InvalidOid;
		if (OidIsValid(namespace))
			mk_oids.relid[i] =
				get_relname_relid(mk_relation_names[i], namespace);
		if (!OidIsValid(mk_oids.relid[i]))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("extension \"minikafka\" is not installed in this "
							"database"),
					 errdetail("Its relation \"%s\" does not exist.",
							   mk_relation_names[i]),
					 errhint("Use CREATE EXTENSION minikafka.")));
	}
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

int32
mk_relation_next(MkRelation sequence)
{
	return (int32) nextval_internal(mk_relation_oid(sequence), false);
}

int32
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

/* ---------------------------------------------------------------------------
 * Reading
 */

void
mk_rows_begin_keys(MkRows *rows, MkRelation rel, MkRelation index,
				   Snapshot snapshot, int nkeys, ScanKey keys)
{
	rows->rel = table_open(mk_relation_oid(rel), AccessShareLock);
	rows->index = index_open(mk_relation_oid(index), AccessShareLock);
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
	return systable_getnext_ordered(rows->scan, direction);
}

void
mk_rows_end(MkRows *rows)
{
	systable_endscan_ordered(rows->scan);
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

/* The greatest of them below "below"; false if there is none. */
static bool
mk_rows_below(MkRelation rel, MkRelation index, int nkeys, const int32 *values,
			  int64 below, Snapshot snapshot, int32 *found)
{
	ScanKeyData keys[MK_ROWS_MAX_KEYS];
	MkRows rows;
	HeapTuple tuple;

	for (int i = 0; i < nkeys; i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(values[i]));
	ScanKeyInit(&keys[nkeys], nkeys + 1, BTLessStrategyNumber, F_INT48LT,
				Int64GetDatum(below));
	keys[nkeys].sk_subtype = INT8OID;
	mk_rows_begin_keys(&rows, rel, index, snapshot, nkeys + 1, keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		*found = DatumGetInt32(mk_rows_column(&rows, tuple, nkeys + 1));
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
