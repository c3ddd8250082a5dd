/*
 * mk_rows.c
 *		Rows of the extension's tables: scanning, reading columns, writing.
 *
 * Rows are written directly, without checks of rights: the caller has checked
 * them.  Rows are read with the caller's snapshot, or by default with a
 * catalog snapshot.  For a relation without a syscache, that is always a new
 * snapshot, so a REPEATABLE READ transaction sees the latest committed rows.
 *
 * No read takes a predicate lock.  In a SERIALIZABLE transaction, a scan with
 * an MVCC snapshot would take such a lock on a page of the index.  So
 * transactions that use different groups or producers would fail if their rows
 * are on the same page.  The extension has locks of its own for whatever must
 * not change meanwhile.  So in a SERIALIZABLE transaction the scan returns
 * every row that any snapshot may see, and mk_rows_next() applies the snapshot
 * to these rows.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_guard.h"
#include "mk_rows.h"

/* ---------------------------------------------------------------------------
 * Scanning
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

	/* each such index is on the first columns of its table */
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

Snapshot
mk_rows_now(void)
{
	/* removals on the primary do not respect the snapshots of a standby */
	if (RecoveryInProgress())
		return NULL;
	Assert(TransactionIdIsValid(MyProc->xmin));
	return SnapshotSelf;
}

/* ---------------------------------------------------------------------------
 * Reading columns
 */

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

int32
mk_rows_int32(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetInt32(mk_rows_column(rows, tuple, attno));
}

int64
mk_rows_int64(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetInt64(mk_rows_column(rows, tuple, attno));
}

int64
mk_rows_int64_or(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
				 int64 otherwise)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? otherwise : DatumGetInt64(datum);
}

bool
mk_rows_bool(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetBool(mk_rows_column(rows, tuple, attno));
}

Oid
mk_rows_oid(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetObjectId(mk_rows_column(rows, tuple, attno));
}

const NameData *
mk_rows_name(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetName(mk_rows_column(rows, tuple, attno));
}

char *
mk_rows_text(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return TextDatumGetCString(mk_rows_column(rows, tuple, attno));
}

char *
mk_rows_text_or_null(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? NULL : TextDatumGetCString(datum);
}

TimestampTz
mk_rows_time(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetTimestampTz(mk_rows_column(rows, tuple, attno));
}

TimestampTz
mk_rows_time_or(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
				TimestampTz otherwise)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? otherwise : DatumGetTimestampTz(datum);
}

int64
mk_rows_interval(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return mk_clock_interval(
		DatumGetIntervalP(mk_rows_column(rows, tuple, attno)));
}

int64
mk_rows_interval_or(const MkRows *rows, HeapTuple tuple, AttrNumber attno,
					int64 otherwise)
{
	bool isnull;
	Datum datum = mk_rows_nullable(rows, tuple, attno, &isnull);

	return isnull ? otherwise : mk_clock_interval(DatumGetIntervalP(datum));
}

/* ---------------------------------------------------------------------------
 * Reading the values of a column
 */

/*
 * The greatest value less than "below" of the index column after the first
 * nkeys ones; false if there is none.
 */
static bool
mk_rows_below(MkRelation rel, MkRelation index, int nkeys, const int32 *values,
			  int64 below, Snapshot snapshot, int64 *found)
{
	Relation key = index_open(mk_relation_oid(index), AccessShareLock);
	AttrNumber attno = key->rd_index->indkey.values[nkeys];
	bool is_int8 =
		TupleDescAttr(RelationGetDescr(key), nkeys)->atttypid == INT8OID;
	ScanKeyData keys[MK_ROWS_MAX_KEYS];
	MkRows rows;
	HeapTuple tuple;

	for (int i = 0; i < nkeys; i++)
		ScanKeyInit(&keys[i], key->rd_index->indkey.values[i],
					BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(values[i]));
	index_close(key, AccessShareLock);
	ScanKeyInit(&keys[nkeys], attno, BTLessStrategyNumber,
				is_int8 ? F_INT8LT : F_INT48LT, Int64GetDatum(below));
	keys[nkeys].sk_subtype = INT8OID;
	mk_rows_begin_keys(&rows, rel, index, snapshot, nkeys + 1, keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		*found = is_int8 ? mk_rows_int64(&rows, tuple, attno)
						 : mk_rows_int32(&rows, tuple, attno);
	mk_rows_end(&rows);
	return tuple != NULL;
}

bool
mk_rows_greatest(MkRelation rel, MkRelation index, int nkeys,
				 const int32 *values, Snapshot snapshot, int64 *greatest)
{
	return mk_rows_below(rel, index, nkeys, values, PG_INT64_MAX, snapshot,
						 greatest);
}

List *
mk_rows_values(MkRelation rel, MkRelation index, int nkeys, const int32 *values,
			   Snapshot snapshot)
{
	List *descending = NIL;
	List *result = NIL;
	int64 below = PG_INT64_MAX;
	int64 found;

	/* backwards, because recently removed rows are at the beginning */
	while (mk_rows_below(rel, index, nkeys, values, below, snapshot, &found))
	{
		CHECK_FOR_INTERRUPTS();
		descending = lappend_int(descending, (int) found);
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
mk_rows_open(MkRelation which)
{
	Relation rel = table_open(mk_relation_oid(which), RowExclusiveLock);

	mk_guard_check_write(rel);
	return rel;
}

/* Locks the table of a scan to write to it. */
static void
mk_rows_lock(MkRows *rows)
{
	LockRelation(rows->rel, RowExclusiveLock);
	mk_guard_check_write(rows->rel);
}

void
mk_rows_set_text(Datum *values, bool *nulls, AttrNumber attno, const char *text)
{
	nulls[attno - 1] = text == NULL;
	if (text != NULL)
		values[attno - 1] = CStringGetTextDatum(text);
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
mk_rows_insert(MkRelation which, ItemPointer tid, Datum *values, bool *nulls)
{
	Relation rel = mk_rows_open(which);
	HeapTuple tuple;
	MemoryContext context;
	MemoryContext old;

	/* inserting allocates memory, and a transaction may have very many rows */
	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka row",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	CatalogTupleInsert(rel, tuple);
	if (tid != NULL)
		*tid = tuple->t_self;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
mk_rows_update(MkRelation which, ItemPointer tid, Datum *values, bool *nulls)
{
	Relation rel = mk_rows_open(which);
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	CatalogTupleUpdate(rel, tid, tuple);
	*tid = tuple->t_self;
	heap_freetuple(tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
mk_rows_delete(MkRelation which, ItemPointer tid)
{
	Relation rel = mk_rows_open(which);

	CatalogTupleDelete(rel, tid);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* Removes a row; false if another transaction has removed it, or is at it. */
static bool
mk_rows_try_delete_at(Relation rel, ItemPointer tid, bool wait)
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
mk_rows_try_delete(MkRows *rows, HeapTuple tuple)
{
	mk_rows_lock(rows);
	return mk_rows_try_delete_at(rows->rel, &tuple->t_self, false);
}

void
mk_rows_try_delete_all(MkRelation which, MkRelation index, int nkeys,
					   const int32 *values)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, mk_rows_now(), nkeys, values);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);
}

TransactionId
mk_rows_horizon(const MkRows *rows)
{
	return GetOldestNonRemovableTransactionId(rows->rel);
}

bool
mk_rows_all_see(HeapTuple tuple, TransactionId horizon)
{
	return TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data),
								 horizon);
}

int
mk_rows_clean(MkRelation which, MkRelation index, int nkeys,
			  const int32 *values, MkRowsNeeded needed, const void *arg,
			  int limit)
{
	ItemPointerData before;
	bool has_before = false;
	int removed = 0;
	TransactionId horizon;
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, mk_rows_now(), nkeys, values);
	mk_rows_lock(&rows);
	horizon = mk_rows_horizon(&rows);
	while (removed < limit &&
		   (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_before)
		{
			if (!mk_rows_all_see(tuple, horizon))
				break;
			if (mk_rows_try_delete_at(rows.rel, &before, false))
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
mk_rows_delete_all(MkRelation which, MkRelation index, int nkeys,
				   const int32 *values)
{
	Relation rel = mk_rows_open(which);
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, which, index, NULL, nkeys, values);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		(void) mk_rows_try_delete_at(rel, &tuple->t_self, true);
	}
	mk_rows_end(&rows);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

bool
mk_rows_are_gone(TransactionId xid)
{
	/* the same for all tables but the catalogs of PostgreSQL */
	Relation rel = table_open(mk_relation_oid(MK_REL_TOPIC), AccessShareLock);
	TransactionId oldest;

	InvalidateCatalogSnapshot();
	oldest = GetOldestNonRemovableTransactionId(rel);
	table_close(rel, AccessShareLock);
	return !TransactionIdPrecedes(oldest, xid);
}
