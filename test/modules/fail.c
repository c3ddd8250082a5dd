/*
 * fail.c
 *		For tests: a transaction that fails, ends its session or waits at a chosen
 *		place between the sequencing lock and the end of its commit.
 *
 * Preload it before minikafka, so that its part of the commit comes after that of
 * the extension.
 *
 *	fail.trace	a file to which each row is added that is written into a table
 *				which fail_at() was told of: transaction, table, offset
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/amapi.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

void _PG_init(void);

static char *fail_trace = NULL;

/* What is to happen, once, in this transaction; no place: nothing. */
static char fail_place[16] = "";
static char fail_action[16] = "";
static int64 fail_lock = 0;

static const TableAmRoutine *fail_former = NULL;
static TableAmRoutine fail_am;
static aminsert_function fail_aminsert = NULL;

/* Does what is to happen at this place. */
static void
fail_here(const char *place)
{
	if (strcmp(fail_place, place) != 0)
		return;
	fail_place[0] = '\0';
	if (strcmp(fail_action, "wait") == 0)
		(void) DirectFunctionCall1(pg_advisory_xact_lock_int8,
								   Int64GetDatum(fail_lock));
	else
		ereport(strcmp(fail_action, "fatal") == 0 ? FATAL : ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("failure at \"%s\"", place)));
}

static void
fail_note(Relation rel, TupleTableSlot **slots, int n)
{
	char line[64];
	int file;

	if (fail_trace == NULL || fail_trace[0] == '\0')
		return;
	file = open(fail_trace, O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (file < 0)
		elog(ERROR, "could not open \"%s\": %m", fail_trace);
	for (int i = 0; i < n; i++)
	{
		int length = snprintf(line, sizeof(line), "%u %u " INT64_FORMAT "\n",
							  GetTopTransactionId(), RelationGetRelid(rel),
							  DatumGetInt64(slots[i]->tts_values[0]));

		if (write(file, line, length) != length)
			elog(ERROR, "could not write \"%s\": %m", fail_trace);
	}
	close(file);
}

static void
fail_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
				  int options, struct BulkInsertStateData *bistate)
{
	fail_here("insert");
	fail_note(rel, &slot, 1);
	fail_former->tuple_insert(rel, slot, cid, options, bistate);
	fail_here("inserted");
}

static void
fail_multi_insert(Relation rel, TupleTableSlot **slots, int n, CommandId cid,
				  int options, struct BulkInsertStateData *bistate)
{
	fail_here("insert");
	fail_note(rel, slots, n);
	fail_former->multi_insert(rel, slots, n, cid, options, bistate);
	fail_here("inserted");
}

static bool
fail_index_insert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
				  Relation heap, IndexUniqueCheck check, bool unchanged,
				  struct IndexInfo *info)
{
	bool result =
		fail_aminsert(index, values, isnull, tid, heap, check, unchanged, info);

	fail_here("indexed");
	return result;
}

/*
 * fail_at(tables oid[], place text, action text, lock bigint): in this
 * transaction's commit, when a row is to be written into one of the tables
 * ("insert"), has been ("inserted"), has been with its index entry ("indexed"), or
 * when the extension has done its part ("late"), there is an "error", or a "fatal"
 * one, or a "wait" for that lock (of pg_advisory_lock).
 */
PG_FUNCTION_INFO_V1(fail_at);
Datum
fail_at(PG_FUNCTION_ARGS)
{
	Datum *tables;
	int n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), OIDOID, sizeof(Oid), true, 'i',
					  &tables, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		Relation rel =
			try_table_open(DatumGetObjectId(tables[i]), AccessShareLock);
		Relation index;
		Oid pkey;

		if (rel == NULL)
			continue;
		if (rel->rd_tableam != &fail_am)
		{
			fail_former = rel->rd_tableam;
			fail_am = *fail_former;
			fail_am.tuple_insert = fail_tuple_insert;
			fail_am.multi_insert = fail_multi_insert;
			rel->rd_tableam = &fail_am;
		}
		(void) RelationGetIndexList(rel);
		pkey = rel->rd_pkindex;
		index = index_open(pkey, AccessShareLock);
		if (index->rd_indam->aminsert != fail_index_insert)
		{
			fail_aminsert = index->rd_indam->aminsert;
			index->rd_indam->aminsert = fail_index_insert;
		}
		index_close(index, NoLock);
		table_close(rel, NoLock);
	}
	text_to_cstring_buffer(PG_GETARG_TEXT_PP(1), fail_place,
						   sizeof(fail_place));
	text_to_cstring_buffer(PG_GETARG_TEXT_PP(2), fail_action,
						   sizeof(fail_action));
	fail_lock = PG_GETARG_INT64(3);
	PG_RETURN_VOID();
}

static void
fail_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT)
		fail_here("late");
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT)
		fail_place[0] = '\0';
}

void
_PG_init(void)
{
	DefineCustomStringVariable("fail.trace", "File of the rows written.", NULL,
							   &fail_trace, "", PGC_SUSET, 0, NULL, NULL, NULL);
	RegisterXactCallback(fail_callback, NULL);
}
