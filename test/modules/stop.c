/*
 * stop.c
 *		For tests: stops a scan that has read a page of an index, before it visits
 *		a row.
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

/* Waits for the lock, once. */
static bool
stop_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid,
					   Snapshot snapshot, TupleTableSlot *slot,
					   bool *call_again, bool *all_dead)
{
	int64 lock = stop_lock;

	stop_lock = 0;
	if (lock != 0)
		(void) DirectFunctionCall1(pg_advisory_xact_lock_int8,
								   Int64GetDatum(lock));
	return stop_former->index_fetch_tuple(scan, tid, snapshot, slot,
										  call_again, all_dead);
}

/*
 * stop_fetch(table oid, lock bigint): the session's next index scan of the table
 * waits for that lock (of pg_advisory_lock) before it visits its first row.
 */
PG_FUNCTION_INFO_V1(stop_fetch);
Datum
stop_fetch(PG_FUNCTION_ARGS)
{
	Relation rel = table_open(PG_GETARG_OID(0), AccessShareLock);

	if (rel->rd_tableam != &stop_am)
	{
		stop_former = rel->rd_tableam;
		stop_am = *stop_former;
		stop_am.index_fetch_tuple = stop_index_fetch_tuple;
		rel->rd_tableam = &stop_am;
	}
	stop_lock = PG_GETARG_INT64(1);
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}
