/*
 * mk_worker.c
 *		The background processes that do maintenance.
 *
 * If the library is in shared_preload_libraries, a launcher runs, which is
 * connected to no database.  Once in each minikafka.maintenance_interval it
 * starts a worker for each database of minikafka.database, unless the
 * database's last worker is still running.  A worker does one pass and ends,
 * so it does not keep a session from dropping the database.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/sinval.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "mk_compat.h"
#include "mk_guc.h"
#include "mk_maintenance.h"
#include "mk_worker.h"

/* datconnlimit of a database whose DROP was interrupted; since 15.4 */
#define MK_INVALID_DB (-2)

/* The launcher restarts after a crash in so many seconds. */
#define MK_RESTART_TIME 5

/* A worker that the launcher has started. */
typedef struct MkWorker
{
	Oid database;
	BackgroundWorkerHandle *handle;
} MkWorker;

PGDLLEXPORT void minikafka_launcher_main(Datum arg);
PGDLLEXPORT void minikafka_worker_main(Datum arg);

void
mk_worker_init(void)
{
	BackgroundWorker launcher = {
		.bgw_name = "minikafka launcher",
		.bgw_type = "minikafka launcher",
		.bgw_flags =
			BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = MK_RESTART_TIME,
		.bgw_library_name = "minikafka",
		.bgw_function_name = "minikafka_launcher_main",
	};

	/* pg_upgrade must find the tables as it has listed them */
	if (process_shared_preload_libraries_in_progress && !IsBinaryUpgrade)
		RegisterBackgroundWorker(&launcher);
}

/* ---------------------------------------------------------------------------
 * The launcher
 */

/*
 * The databases of minikafka.database that exist and allow connections; with
 * "report" the log tells of the others.
 */
static List *
mk_databases(bool report)
{
	MemoryContext context = CurrentMemoryContext;
	char *names = pstrdup(mk_guc_database);
	List *wanted = NIL;
	List *result = NIL;
	Relation rel;
	TableScanDesc scan;
	HeapTuple tuple;
	ListCell *lc;

	if (!SplitGUCList(names, ',', &wanted) || wanted == NIL)
		return NIL;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (!database->datallowconn || database->datconnlimit == MK_INVALID_DB)
			continue;
		foreach (lc, wanted)
		{
			MemoryContext old;

			if (strcmp(lfirst(lc), NameStr(database->datname)) != 0)
				continue;
			old = MemoryContextSwitchTo(context);
			result = list_append_unique_oid(result, database->oid);
			MemoryContextSwitchTo(old);
			wanted = foreach_delete_current (wanted, lc);
		}
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	foreach (lc, wanted)
		if (report)
			ereport(LOG,
					(errmsg("database \"%s\" of \"minikafka.database\" does "
							"not exist, or allows no connections",
							(char *) lfirst(lc))));
	return result;
}

/* Forgets the workers that have ended. */
static List *
mk_forget_ended(List *workers)
{
	ListCell *lc;

	foreach (lc, workers)
	{
		MkWorker *worker = lfirst(lc);
		pid_t pid;

		if (GetBackgroundWorkerPid(worker->handle, &pid) != BGWH_STOPPED)
			continue;
		pfree(worker->handle);
		pfree(worker);
		workers = foreach_delete_current (workers, lc);
	}
	return workers;
}

/* Starts a worker; false if max_worker_processes leaves no room for it. */
static bool
mk_start_worker(Oid database, MkWorker *worker)
{
	BackgroundWorker bgw = {
		.bgw_name = "minikafka maintenance",
		.bgw_type = "minikafka maintenance",
		.bgw_flags =
			BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "minikafka",
		.bgw_function_name = "minikafka_worker_main",
		.bgw_main_arg = ObjectIdGetDatum(database),
		.bgw_notify_pid = MyProcPid,
	};

	worker->database = database;
	return RegisterDynamicBackgroundWorker(&bgw, &worker->handle);
}

/* Whether the database's last worker is still running. */
static bool
mk_is_at_work(const List *workers, Oid database)
{
	ListCell *lc;

	foreach (lc, workers)
		if (((const MkWorker *) lfirst(lc))->database == database)
			return true;
	return false;
}

/*
 * Starts workers for the databases that are due, in their order, as long as
 * there is room; the others stay due.
 */
static void
mk_start_workers(List **due, List **workers)
{
	while (*due != NIL)
	{
		Oid database = linitial_oid(*due);
		MkWorker *worker = palloc(sizeof(MkWorker));

		if (mk_is_at_work(*workers, database))
			pfree(worker);
		else if (mk_start_worker(database, worker))
			*workers = lappend(*workers, worker);
		else
		{
			pfree(worker);
			return;
		}
		*due = list_delete_first(*due);
	}
}

void
minikafka_launcher_main(Datum arg)
{
	MemoryContext context;
	List *workers = NIL;
	List *due = NIL;
	TimestampTz next = 0;
	bool report = true;
	uint32 wait_event = 0;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("minikafka launcher");
	context = AllocSetContextCreate(TopMemoryContext, "minikafka launcher",
									ALLOCSET_DEFAULT_SIZES);

	while (!ShutdownRequestPending)
	{
		TimestampTz now = GetCurrentTimestamp();
		int64 interval = mk_guc_maintenance_interval * USECS_PER_SEC;
		long left;

		CHECK_FOR_INTERRUPTS();
		ProcessCatchupInterrupt();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			/* so that a shorter interval or another database counts at once */
			next = 0;
			report = true;
			list_free(due);
			due = NIL;
		}
		workers = mk_forget_ended(workers);
		/* the second condition: the clock was set back */
		if (now >= next || next - now > interval)
		{
			List *databases;

			MemoryContextSwitchTo(context);
			databases = mk_databases(report);
			MemoryContextSwitchTo(TopMemoryContext);
			due = list_concat_unique_oid(due, databases);
			MemoryContextReset(context);
			mk_start_workers(&due, &workers);
			if (due != NIL)
				ereport(LOG,
						(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						 errmsg_plural("%d database waits for a minikafka "
									   "maintenance worker",
									   "%d databases wait for a minikafka "
									   "maintenance worker",
									   list_length(due), list_length(due)),
						 errhint("You may need to increase "
								 "\"max_worker_processes\".")));
			next = now + interval;
			report = false;
		}
		else
			mk_start_workers(&due, &workers);
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next);
		(void) WaitLatch(
			MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			Max(left, 1), mk_wait_event("MinikafkaLauncher", &wait_event));
		ResetLatch(MyLatch);
	}
	/* so that the postmaster starts it again, unless it shuts down */
	proc_exit(1);
}

/* ---------------------------------------------------------------------------
 * A worker
 */

/*
 * Whether another session waits until all others have left the database, to
 * drop or to rename it, say.  Then it holds a lock for which a session that
 * connects would wait.
 */
static bool
mk_database_is_wanted(void)
{
	LOCKTAG tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) ==
		LOCKACQUIRE_NOT_AVAIL)
		return true;
	(void) LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/*
 * To be called before each step: reports it, or exits if the database is
 * wanted.
 */
static void
mk_worker_report(const char *activity)
{
	if (mk_database_is_wanted())
		proc_exit(0);
	pgstat_report_activity(STATE_RUNNING, activity);
}

/* Sets a setting, over the defaults of the database and the server. */
static void
mk_worker_set(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * Adds the worker's database to its errors, since a line of the log lacks it.
 */
static void
mk_worker_context(void *arg)
{
	errcontext("maintenance of database \"%s\"", (const char *) arg);
}

void
minikafka_worker_main(Datum arg)
{
	ErrorContextCallback context = {.previous = error_context_stack,
									.callback = mk_worker_context};

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid,
											  0);
	pgstat_report_appname("minikafka maintenance");
	mk_worker_set("search_path", "");
	mk_worker_set("default_transaction_read_only", "off");
	mk_worker_set("default_transaction_isolation", "read committed");
	/* the next pass does again what is lost, so do not wait for a standby */
	if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		mk_worker_set("synchronous_commit", "local");

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	context.arg =
		MemoryContextStrdup(TopMemoryContext, get_database_name(MyDatabaseId));
	error_context_stack = &context;
	if (OidIsValid(get_extension_oid("minikafka", true)))
	{
		/* there is no portal here, so SPI's memory survives a commit */
		SPI_connect_ext(SPI_OPT_NONATOMIC);
		mk_maintenance_run(mk_worker_report);
		SPI_finish();
	}
	CommitTransactionCommand();
	proc_exit(0);
}
