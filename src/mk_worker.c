/*
 * mk_worker.c
 *		The background processes that do maintenance and send scheduled records.
 *
 * If the library is in shared_preload_libraries, a launcher runs, which is
 * connected to no database.  Once in each minikafka.maintenance_interval it
 * starts a maintenance worker for each database of minikafka.database, unless the
 * database's last one is still running.  A worker does one pass and ends, so it
 * does not keep a session from dropping the database.
 *
 * Shortly before a scheduled record is due, or when nobody knows yet whether one
 * is, the launcher starts a delivery worker for its database.  That sleeps until
 * the record is due, sends it, and ends when no other record is due soon.  It holds
 * nothing while it sleeps, and looks once a second whether the database is wanted.
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

#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_delivery.h"
#include "mk_alarm.h"
#include "mk_guc.h"
#include "mk_maintenance.h"
#include "mk_worker.h"

/* datconnlimit of a database whose DROP was interrupted; since 15.4 */
#define MK_INVALID_DB (-2)

/* The launcher restarts after a crash in so many seconds. */
#define MK_RESTART_TIME 5

/*
 * A delivery worker is started so long before a record is due, and ends if none is
 * due, and none was sent, within the second time.  After a start it is not started
 * again for the third one, however it has ended.
 */
#define MK_DELIVERY_AHEAD   (USECS_PER_SEC / 2)
#define MK_DELIVERY_STAY    (10 * USECS_PER_SEC)
#define MK_DELIVERY_RESTART (5 * USECS_PER_SEC)

/* While another session sends, a delivery worker tries again in so many ms. */
#define MK_DELIVERY_TRY 50

typedef enum MkWorkerKind
{
	MK_WORKER_MAINTENANCE,
	MK_WORKER_DELIVERY
} MkWorkerKind;

static const struct
{
	const char *name;
	const char *function;
} mk_worker_kinds[] = {
	[MK_WORKER_MAINTENANCE] = {"minikafka maintenance",
							   "minikafka_worker_main"},
	[MK_WORKER_DELIVERY] = {"minikafka delivery", "minikafka_delivery_main"},
};

/* A worker that the launcher has started. */
typedef struct MkWorker
{
	Oid database;
	MkWorkerKind kind;
	BackgroundWorkerHandle *handle;
} MkWorker;

/* A database for which the launcher starts workers. */
typedef struct MkServed
{
	Oid database;
	TimestampTz not_before; /* for the next delivery worker */
} MkServed;

PGDLLEXPORT void minikafka_launcher_main(Datum arg);
PGDLLEXPORT void minikafka_worker_main(Datum arg);
PGDLLEXPORT void minikafka_delivery_main(Datum arg);

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

/*
 * Starts a worker, and adds it to the list; false if max_worker_processes leaves no
 * room for it.
 */
static bool
mk_start_worker(Oid database, MkWorkerKind kind, List **workers)
{
	BackgroundWorker bgw = {
		.bgw_flags =
			BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "minikafka",
		.bgw_main_arg = ObjectIdGetDatum(database),
		.bgw_notify_pid = MyProcPid,
	};
	MkWorker *worker = palloc(sizeof(MkWorker));

	strlcpy(bgw.bgw_name, mk_worker_kinds[kind].name, BGW_MAXLEN);
	strlcpy(bgw.bgw_type, mk_worker_kinds[kind].name, BGW_MAXLEN);
	strlcpy(bgw.bgw_function_name, mk_worker_kinds[kind].function, BGW_MAXLEN);
	worker->database = database;
	worker->kind = kind;
	if (!RegisterDynamicBackgroundWorker(&bgw, &worker->handle))
	{
		pfree(worker);
		return false;
	}
	*workers = lappend(*workers, worker);
	return true;
}

/* Whether the database's last worker of the kind is still running. */
static bool
mk_is_at_work(const List *workers, Oid database, MkWorkerKind kind)
{
	ListCell *lc;

	foreach (lc, workers)
	{
		const MkWorker *worker = lfirst(lc);

		if (worker->database == database && worker->kind == kind)
			return true;
	}
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

		if (!mk_is_at_work(*workers, database, MK_WORKER_MAINTENANCE) &&
			!mk_start_worker(database, MK_WORKER_MAINTENANCE, workers))
			return;
		*due = list_delete_first(*due);
	}
}

/* Sets the databases for which workers are started. */
static List *
mk_serve(List *served, const List *databases)
{
	List *result = NIL;
	ListCell *lc;
	ListCell *lc2;

	foreach (lc, databases)
	{
		MkServed *s = palloc0(sizeof(MkServed));

		s->database = lfirst_oid(lc);
		foreach (lc2, served)
			if (((const MkServed *) lfirst(lc2))->database == s->database)
				*s = *(const MkServed *) lfirst(lc2);
		result = lappend(result, s);
	}
	list_free_deep(served);
	return result;
}

/*
 * Starts the delivery workers whose time has come.  Returns when the next one is to
 * be started, or DT_NOEND.
 */
static TimestampTz
mk_start_delivery(List *served, List **workers)
{
	TimestampTz earliest = DT_NOEND;
	ListCell *lc;

	foreach (lc, served)
	{
		MkServed *s = lfirst(lc);
		TimestampTz now = mk_clock_now();
		TimestampTz next;

		/* what it is told wakes it, and its end wakes the launcher */
		if (mk_is_at_work(*workers, s->database, MK_WORKER_DELIVERY))
			continue;
		next = mk_alarm_next(s->database);
		if (!TIMESTAMP_IS_NOBEGIN(next) && !TIMESTAMP_IS_NOEND(next))
			next -= MK_DELIVERY_AHEAD;
		/* unless the clock was set back */
		if (s->not_before - now <= MK_DELIVERY_RESTART)
			next = Max(next, s->not_before);
		if (next <= now)
		{
			/* if there is no room for it, the next try is then, too */
			(void) mk_start_worker(s->database, MK_WORKER_DELIVERY, workers);
			s->not_before = now + MK_DELIVERY_RESTART;
		}
		else
			earliest = Min(earliest, next);
	}
	return earliest;
}

void
minikafka_launcher_main(Datum arg)
{
	MemoryContext context;
	List *workers = NIL;
	List *due = NIL;
	List *served = NIL;
	TimestampTz next = 0;
	bool report = true;
	uint32 wait_event = 0;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	pgstat_report_appname("minikafka launcher");
	mk_alarm_attend_all();
	context = AllocSetContextCreate(TopMemoryContext, "minikafka launcher",
									ALLOCSET_DEFAULT_SIZES);

	while (!ShutdownRequestPending)
	{
		TimestampTz now = GetCurrentTimestamp();
		int64 interval = mk_guc_maintenance_interval * USECS_PER_SEC;
		TimestampTz delivery;
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
			list_free_deep(served);
			served = NIL;
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
			served = mk_serve(served, databases);
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
		delivery = mk_start_delivery(served, &workers);
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), next);
		if (!TIMESTAMP_IS_NOEND(delivery))
			left =
				Min(left,
					TimestampDifferenceMilliseconds(mk_clock_now(), delivery));
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

static void
mk_delivery_context(void *arg)
{
	errcontext("delivery in database \"%s\"", (const char *) arg);
}

/* Connects a worker to its database, and sets what holds for all of its work. */
static void
mk_worker_connect(Oid database, MkWorkerKind kind)
{
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	pgstat_report_appname(mk_worker_kinds[kind].name);
	mk_worker_set("search_path", "");
	mk_worker_set("default_transaction_read_only", "off");
	mk_worker_set("default_transaction_isolation", "read committed");
}

/*
 * Begins what a worker does at a stretch; false if the database does not have the
 * extension.
 */
static bool
mk_worker_begin(ErrorContextCallback *context)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	if (context->arg == NULL)
	{
		context->arg = MemoryContextStrdup(TopMemoryContext,
										   get_database_name(MyDatabaseId));
		context->previous = error_context_stack;
		error_context_stack = context;
	}
	if (!OidIsValid(get_extension_oid("minikafka", true)))
		return false;
	/* there is no portal here, so SPI's memory survives a commit */
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	return true;
}

void
minikafka_worker_main(Datum arg)
{
	ErrorContextCallback context = {.callback = mk_worker_context};

	pqsignal(SIGTERM, die);
	mk_worker_connect(DatumGetObjectId(arg), MK_WORKER_MAINTENANCE);
	if (mk_worker_begin(&context))
	{
		mk_delivery_run(true, mk_worker_report);
		/* the next pass does again what is lost, so do not wait for a standby */
		if (synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
			mk_worker_set("synchronous_commit", "local");
		mk_maintenance_run(mk_worker_report);
		SPI_finish();
	}
	CommitTransactionCommand();
	proc_exit(0);
}

/* Sleeps until it is woken, at most for so many milliseconds. */
static void
mk_delivery_wait(long ms)
{
	static uint32 wait_event = 0;

	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 Max(ms, 1),
					 mk_wait_event("MinikafkaDelivery", &wait_event));
	ResetLatch(MyLatch);
}

/*
 * Sleeps until a record is due, but looks once a second whether to end.  True if it
 * is to go on.
 */
static bool
mk_delivery_sleep(TimestampTz last)
{
	for (;;)
	{
		TimestampTz next = mk_alarm_next(MyDatabaseId);
		TimestampTz now = mk_clock_now();

		CHECK_FOR_INTERRUPTS();
		if (next <= now)
			return true;
		if (ConfigReloadPending || mk_database_is_wanted() ||
			(now - last > MK_DELIVERY_STAY && next - MK_DELIVERY_STAY > now))
			return false;
		mk_delivery_wait(Min(TimestampDifferenceMilliseconds(now, next), 1000));
	}
}

/* A reload ends it, since it may be told not to serve the database any more. */
void
minikafka_delivery_main(Datum arg)
{
	ErrorContextCallback context = {.callback = mk_delivery_context};
	MkDeliveryResult result;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	mk_worker_connect(DatumGetObjectId(arg), MK_WORKER_DELIVERY);
	mk_alarm_attend();
	do
	{
		result = MK_DELIVERY_RUN_DONE;
		if (mk_worker_begin(&context))
		{
			result = mk_delivery_run(true, mk_worker_report);
			SPI_finish();
		}
		else
			mk_alarm_end_look(mk_alarm_begin_look(), DT_NOEND);
		CommitTransactionCommand();
		pgstat_report_activity(STATE_IDLE, NULL);
		if (result == MK_DELIVERY_RUN_BUSY)
			mk_delivery_wait(MK_DELIVERY_TRY);
	} while (result != MK_DELIVERY_RUN_FAILED &&
			 mk_delivery_sleep(mk_clock_now()));
	proc_exit(0);
}
