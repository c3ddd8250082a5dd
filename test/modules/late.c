/*
 * late.c
 *		For tests: things that happen at commit after the extension's part.
 *
 * Transaction callbacks run in the order in which they were registered, the
 * last one first.  So loaded before minikafka (session_preload_libraries, or
 * LOAD before the first use), this one runs after it; loaded later, before it.
 *
 *	late.run	SQL to be run then
 *	late.wait	an advisory lock (of pg_advisory_lock) to be waited for
 *	late.fail	how likely it is that a transaction which has written fails
 *				then, 0 to 1
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

void _PG_init(void);

static char *late_run = NULL;
static int late_wait = 0;
static double late_fail = 0.0;

static void
late_run_sql(void)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(late_run, false, 0) < 0)
		elog(ERROR, "SPI_execute failed");
	SPI_finish();
	PopActiveSnapshot();
}

static void
late_callback(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_PRE_COMMIT)
		return;
	if (late_run != NULL && late_run[0] != '\0')
		late_run_sql();
	if (late_wait != 0)
		(void) DirectFunctionCall1(pg_advisory_xact_lock_int8,
								   Int64GetDatum(late_wait));

	/* a failure after which pgbench goes on; a session's start is spared */
	if (late_fail > 0.0 && TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		pg_prng_double(&pg_global_prng_state) < late_fail)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("late failure")));
}

/*
 * late_lock(oid): locks any relation against all access, a TOAST table too, to
 * the end of the transaction.
 */
PG_FUNCTION_INFO_V1(late_lock);
Datum
late_lock(PG_FUNCTION_ARGS)
{
	LockRelationOid(PG_GETARG_OID(0), AccessExclusiveLock);
	PG_RETURN_VOID();
}

/*
 * late_look_each(milliseconds): how often this session looks by itself while it
 * waits for records and is woken by commits; a variable of the extension.
 */
PG_FUNCTION_INFO_V1(late_look_each);
Datum
late_look_each(PG_FUNCTION_ARGS)
{
	int *look_ms = (int *) load_external_function(
		"$libdir/minikafka", "mk_poll_look_ms", true, NULL);

	*look_ms = PG_GETARG_INT32(0);
	PG_RETURN_VOID();
}

void
_PG_init(void)
{
	DefineCustomStringVariable("late.run", "SQL to be run at commit.", NULL,
							   &late_run, "", PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("late.wait", "Lock to wait for at commit.", NULL,
							&late_wait, 0, 0, 1000, PGC_SUSET, 0, NULL, NULL,
							NULL);
	DefineCustomRealVariable("late.fail", "Probability of a failure at commit.",
							 NULL, &late_fail, 0.0, 0.0, 1.0, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	RegisterXactCallback(late_callback, NULL);
}
