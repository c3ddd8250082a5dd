/*
 * stop.c
 *		For tests: stops an index scan before it reads anything, or when it has read
 *		a page of the index, before it visits a row.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

static const TableAmRoutine *stop_former;
static TableAmRoutine stop_am;
static int64 stop_lock = 0;
static int64 stop_begin_lock = 0;

/* Waits for the lock, once. */
static void
stop_here(int64 *lock)
{
	int64 key = *lock;

	*lock = 0;
	if (key != 0)
		(void) DirectFunctionCall1(pg_advisory_xact_lock_int8,
								   Int64GetDatum(key));
}

static struct IndexFetchTableData *
stop_index_fetch_begin(Relation rel)
{
	stop_here(&stop_begin_lock);
	return stop_former->index_fetch_begin(rel);
}

static bool
stop_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid,
					   Snapshot snapshot, TupleTableSlot *slot,
					   bool *call_again, bool *all_dead)
{
	stop_here(&stop_lock);
	return stop_former->index_fetch_tuple(scan, tid, snapshot, slot, call_again,
										  all_dead);
}

static void
stop_hook(Oid relid)
{
	Relation rel = table_open(relid, AccessShareLock);

	if (rel->rd_tableam != &stop_am)
	{
		stop_former = rel->rd_tableam;
		stop_am = *stop_former;
		stop_am.index_fetch_begin = stop_index_fetch_begin;
		stop_am.index_fetch_tuple = stop_index_fetch_tuple;
		rel->rd_tableam = &stop_am;
	}
	table_close(rel, NoLock);
}

/*
 * stop_fetch(table oid, lock bigint): the session's next index scan of the table
 * waits for that lock (of pg_advisory_lock) before it visits its first row.
 */
PG_FUNCTION_INFO_V1(stop_fetch);
Datum
stop_fetch(PG_FUNCTION_ARGS)
{
	stop_hook(PG_GETARG_OID(0));
	stop_lock = PG_GETARG_INT64(1);
	PG_RETURN_VOID();
}

/* stop_begin(table oid, lock bigint): the same, before it reads the index. */
PG_FUNCTION_INFO_V1(stop_begin);
Datum
stop_begin(PG_FUNCTION_ARGS)
{
	stop_hook(PG_GETARG_OID(0));
	stop_begin_lock = PG_GETARG_INT64(1);
	PG_RETURN_VOID();
}
