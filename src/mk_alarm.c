/*
 * mk_alarm.c
 *		When the next scheduled record of each database is due, in shared memory.
 *
 * A transaction that has scheduled records tells their earliest time after its
 * commit, when all can see them.  A look tells at its end when the first record is
 * due that it has left.  It may have missed those that were committed meanwhile, so
 * the earliest of the times that were told since it began counts too.  Only the last
 * look that has begun tells anything.
 *
 * The memory has room for a fixed number of databases that have scheduled records.
 * The records of further ones are sent by maintenance.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "mk_compat.h"
#include "mk_alarm.h"
#include "mk_shmem.h"

#define MK_ALARM_DATABASES 64

/* No process, or the number of one. */
#define MK_NO_PROCESS (-1)

typedef struct MkAlarmDatabase
{
	Oid database;
	TimestampTz next;
	TimestampTz told; /* since the last look has begun */
	uint64 look; /* the last one that has begun */
	int process; /* that sends the records of this database */
} MkAlarmDatabase;

typedef struct MkAlarm
{
	slock_t mutex;
	int launcher; /* the process for the other databases */
	uint64 looks; /* of all databases that have begun */
	int n;
	MkAlarmDatabase databases[MK_ALARM_DATABASES];
} MkAlarm;

static MkAlarm *mk_alarm = NULL;

/* The earliest time to tell when the transaction ends. */
static TimestampTz mk_alarm_pending = DT_NOEND;

static Size
mk_alarm_size(void)
{
	return sizeof(MkAlarm);
}

static void
mk_alarm_attach(void *memory, bool is_new)
{
	mk_alarm = memory;
	if (is_new)
	{
		memset(mk_alarm, 0, sizeof(MkAlarm));
		SpinLockInit(&mk_alarm->mutex);
		mk_alarm->launcher = MK_NO_PROCESS;
	}
}

/* The entry of a database, NULL if there is none.  The caller holds the mutex. */
static MkAlarmDatabase *
mk_alarm_find(Oid database)
{
	for (int i = 0; i < mk_alarm->n; i++)
		if (mk_alarm->databases[i].database == database)
			return &mk_alarm->databases[i];
	return NULL;
}

/*
 * The same, but makes an entry, in the place of one that tells nothing if there is
 * no room.
 */
static MkAlarmDatabase *
mk_alarm_get(Oid database)
{
	MkAlarmDatabase *entry = mk_alarm_find(database);

	if (entry != NULL)
		return entry;
	if (mk_alarm->n < MK_ALARM_DATABASES)
		entry = &mk_alarm->databases[mk_alarm->n++];
	for (int i = 0; entry == NULL && i < mk_alarm->n; i++)
		if (mk_alarm->databases[i].next == DT_NOEND &&
			mk_alarm->databases[i].process == MK_NO_PROCESS)
			entry = &mk_alarm->databases[i];
	if (entry != NULL)
	{
		entry->database = database;
		entry->next = DT_NOBEGIN;
		entry->told = DT_NOEND;
		entry->look = ++mk_alarm->looks;
		entry->process = MK_NO_PROCESS;
	}
	return entry;
}

/* Wakes a process, which may have ended: then nothing happens. */
static void
mk_alarm_wake(int process)
{
	if (process != MK_NO_PROCESS && process != mk_proc_number())
		SetLatch(&GetPGProcByNumber(process)->procLatch);
}

static void
mk_alarm_transaction_end(bool committed)
{
	MkAlarmDatabase *entry;
	int wake = MK_NO_PROCESS;

	if (likely(mk_alarm_pending == DT_NOEND))
		return;
	SpinLockAcquire(&mk_alarm->mutex);
	entry = mk_alarm_get(MyDatabaseId);
	if (entry != NULL)
	{
		entry->told = Min(entry->told, mk_alarm_pending);
		if (mk_alarm_pending < entry->next)
		{
			entry->next = mk_alarm_pending;
			wake = entry->process != MK_NO_PROCESS ? entry->process
												   : mk_alarm->launcher;
		}
		else if (entry->next == DT_NOBEGIN)
			wake = mk_alarm->launcher;
	}
	SpinLockRelease(&mk_alarm->mutex);
	mk_alarm_pending = DT_NOEND;
	mk_alarm_wake(wake);
}

static const MkShmemUser mk_alarm_user = {
	.name = "minikafka schedule",
	.size = mk_alarm_size,
	.attach = mk_alarm_attach,
	.transaction_end = mk_alarm_transaction_end,
};

void
mk_alarm_init(void)
{
	mk_shmem_add(&mk_alarm_user);
}

void
mk_alarm_at_end(TimestampTz due)
{
	if (mk_alarm != NULL)
		mk_alarm_pending = Min(mk_alarm_pending, due);
}

TimestampTz
mk_alarm_next(Oid database)
{
	TimestampTz next = DT_NOBEGIN;
	const MkAlarmDatabase *entry;

	if (mk_alarm == NULL)
		return next;
	SpinLockAcquire(&mk_alarm->mutex);
	entry = mk_alarm_find(database);
	if (entry != NULL)
		next = entry->next;
	else if (mk_alarm->n == MK_ALARM_DATABASES)
		next = DT_NOEND;
	SpinLockRelease(&mk_alarm->mutex);
	return next;
}

uint64
mk_alarm_begin_look(void)
{
	uint64 look = 0;
	MkAlarmDatabase *entry;

	if (mk_alarm == NULL)
		return look;
	SpinLockAcquire(&mk_alarm->mutex);
	entry = mk_alarm_get(MyDatabaseId);
	if (entry != NULL)
	{
		entry->told = DT_NOEND;
		look = entry->look = ++mk_alarm->looks;
	}
	SpinLockRelease(&mk_alarm->mutex);
	return look;
}

void
mk_alarm_end_look(uint64 look, TimestampTz next)
{
	MkAlarmDatabase *entry;
	int wake = MK_NO_PROCESS;

	if (mk_alarm == NULL)
		return;
	SpinLockAcquire(&mk_alarm->mutex);
	entry = mk_alarm_find(MyDatabaseId);
	if (entry != NULL && entry->look == look)
	{
		entry->next = Min(next, entry->told);
		wake = entry->process != MK_NO_PROCESS ? entry->process
											   : mk_alarm->launcher;
	}
	SpinLockRelease(&mk_alarm->mutex);
	mk_alarm_wake(wake);
}

static void
mk_alarm_exit(int code, Datum arg)
{
	mk_alarm_leave();
}

void
mk_alarm_attend_all(void)
{
	if (mk_alarm == NULL)
		return;
	before_shmem_exit(mk_alarm_exit, (Datum) 0);
	SpinLockAcquire(&mk_alarm->mutex);
	mk_alarm->launcher = mk_proc_number();
	SpinLockRelease(&mk_alarm->mutex);
}

void
mk_alarm_attend(void)
{
	MkAlarmDatabase *entry;

	if (mk_alarm == NULL)
		return;
	before_shmem_exit(mk_alarm_exit, (Datum) 0);
	SpinLockAcquire(&mk_alarm->mutex);
	entry = mk_alarm_get(MyDatabaseId);
	if (entry != NULL)
		entry->process = mk_proc_number();
	SpinLockRelease(&mk_alarm->mutex);
}

void
mk_alarm_leave(void)
{
	int wake;

	if (mk_alarm == NULL)
		return;
	SpinLockAcquire(&mk_alarm->mutex);
	if (mk_alarm->launcher == mk_proc_number())
		mk_alarm->launcher = MK_NO_PROCESS;
	for (int i = 0; i < mk_alarm->n; i++)
		if (mk_alarm->databases[i].process == mk_proc_number())
			mk_alarm->databases[i].process = MK_NO_PROCESS;
	/* what was told to this process meanwhile is the launcher's now */
	wake = mk_alarm->launcher;
	SpinLockRelease(&mk_alarm->mutex);
	mk_alarm_wake(wake);
}
