/*
 * mk_schedule_rows.c
 *		Rows of scheduled records, and where a look for those that are due begins.
 *
 * A row is inserted when a record is scheduled, and deleted when it is cancelled
 * or sent.  A record that could not be sent has its row deleted, and another one
 * of the same id inserted, which is due later.
 *
 * The rows of records that were sent are dead, and all of them precede those that
 * are due next, in the index and often in the table.  While an old snapshot keeps
 * them from being removed, a look that began at the first of them would go through
 * more and more.  So the start of the looks is stored.  It moves up from time to
 * time, and must never pass a row that counts, nor one that comes to count later:
 *
 * - A transaction that has inserted rows holds mk_lock_schedule, shared, from
 *	 before it reads the start at its commit to its end.  If a row of it is due
 *	 before the start, it moves the start down: it adds a row of the same epoch.
 * - Who moves the start up holds the lock exclusively.  It looks for the first row
 *	 then, and stores a new epoch, which takes the place of the older ones.
 *
 * So a row is either seen by whoever moves the start up, because its transaction
 * has ended; or its transaction reads the new start.  Two transactions that move
 * the start down at once need not see each other: the least time of an epoch
 * counts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "mk_lock.h"
#include "mk_rows.h"
#include "mk_schedule_rows.h"

/* Column numbers, as in sql/parts/14_schedule.sql */
enum
{
	Anum_scheduled_id = 1,
	Anum_scheduled_topic_id,
	Anum_scheduled_at,
	Anum_scheduled_due,
	Anum_scheduled_by,
	Anum_scheduled_scheduled_at,
	Anum_scheduled_attempts,
	Anum_scheduled_error,
	Anum_scheduled_key,
	Anum_scheduled_value,
	Anum_scheduled_headers,
	Natts_scheduled = Anum_scheduled_headers
};
StaticAssertDecl(Natts_scheduled == MK_NATTS_SCHEDULED,
				 "all columns are listed");

enum
{
	Anum_start_epoch = 1,
	Anum_start_due,
	Natts_start = Anum_start_due
};
StaticAssertDecl(Natts_start == MK_NATTS_SCHEDULE_START,
				 "all columns are listed");

/*
 * A look that has touched so many pages before it came to the first record is far:
 * some thousand dead rows.
 */
#define MK_FAR_PAGES 50

/* ---------------------------------------------------------------------------
 * One row
 */

void
mk_schedule_rows_insert(const MkScheduled *scheduled)
{
	const MkRecord *record = &scheduled->record;
	Datum values[Natts_scheduled];
	bool nulls[Natts_scheduled] = {0};

	values[Anum_scheduled_id - 1] = Int64GetDatum(scheduled->id);
	values[Anum_scheduled_topic_id - 1] = Int32GetDatum(scheduled->topic_id);
	values[Anum_scheduled_at - 1] = TimestampTzGetDatum(scheduled->at);
	values[Anum_scheduled_due - 1] = TimestampTzGetDatum(scheduled->due);
	values[Anum_scheduled_by - 1] = NameGetDatum(&scheduled->scheduled_by);
	values[Anum_scheduled_scheduled_at - 1] =
		TimestampTzGetDatum(scheduled->scheduled_at);
	values[Anum_scheduled_attempts - 1] = Int32GetDatum(scheduled->attempts);
	mk_rows_set_text(values, nulls, Anum_scheduled_error, scheduled->error);
	values[Anum_scheduled_key - 1] = record->key;
	nulls[Anum_scheduled_key - 1] = record->key_isnull;
	values[Anum_scheduled_value - 1] = record->value;
	nulls[Anum_scheduled_value - 1] = record->value_isnull;
	values[Anum_scheduled_headers - 1] = record->headers;
	nulls[Anum_scheduled_headers - 1] = record->headers_isnull;
	mk_rows_insert(MK_REL_SCHEDULED, NULL, values, nulls);
}

/* Reads a row, whose key and value are detoasted. */
static void
mk_scheduled_read(const MkRows *rows, HeapTuple tuple, MkScheduled *scheduled)
{
	MkRecord *record = &scheduled->record;

	scheduled->id = mk_rows_int64(rows, tuple, Anum_scheduled_id);
	scheduled->topic_id = mk_rows_int32(rows, tuple, Anum_scheduled_topic_id);
	scheduled->at = mk_rows_time(rows, tuple, Anum_scheduled_at);
	scheduled->due = mk_rows_time(rows, tuple, Anum_scheduled_due);
	scheduled->scheduled_by = *mk_rows_name(rows, tuple, Anum_scheduled_by);
	scheduled->scheduled_at =
		mk_rows_time(rows, tuple, Anum_scheduled_scheduled_at);
	scheduled->attempts = mk_rows_int32(rows, tuple, Anum_scheduled_attempts);
	scheduled->error = mk_rows_text_or_null(rows, tuple, Anum_scheduled_error);
	record->key =
		mk_rows_nullable(rows, tuple, Anum_scheduled_key, &record->key_isnull);
	if (!record->key_isnull)
		record->key = PointerGetDatum(PG_DETOAST_DATUM_COPY(record->key));
	record->value = mk_rows_nullable(rows, tuple, Anum_scheduled_value,
									 &record->value_isnull);
	if (!record->value_isnull)
		record->value = PointerGetDatum(PG_DETOAST_DATUM_COPY(record->value));
	record->headers = mk_rows_nullable(rows, tuple, Anum_scheduled_headers,
									   &record->headers_isnull);
	if (!record->headers_isnull)
		record->headers = JsonbPGetDatum(DatumGetJsonbPCopy(record->headers));
}

/*
 * The current row of an id, by a new snapshot.  SnapshotSelf might miss a row that
 * another transaction replaces by a later one.  The caller ends the scan.
 */
static HeapTuple
mk_scheduled_find(MkRows *rows, int64 id)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_scheduled_id, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum(id));
	mk_rows_begin_keys(rows, MK_REL_SCHEDULED, MK_REL_SCHEDULED_PKEY, NULL, 1,
					   &key);
	return mk_rows_next(rows, ForwardScanDirection);
}

bool
mk_schedule_rows_get(int64 id, MkScheduled *scheduled)
{
	MkRows rows;
	HeapTuple tuple = mk_scheduled_find(&rows, id);

	if (tuple != NULL)
		mk_scheduled_read(&rows, tuple, scheduled);
	mk_rows_end(&rows);
	return tuple != NULL;
}

/*
 * If a row that was found cannot be removed, and is found again, then another
 * transaction is removing it.  Otherwise that has ended meanwhile, and may have
 * inserted a later row.
 */
bool
mk_schedule_rows_remove(int64 id)
{
	ItemPointerData last;
	bool removed = false;

	ItemPointerSetInvalid(&last);
	for (;;)
	{
		MkRows rows;
		HeapTuple tuple = mk_scheduled_find(&rows, id);
		bool done = tuple == NULL ||
			(ItemPointerIsValid(&last) &&
			 ItemPointerEquals(&last, &tuple->t_self));

		if (!done)
		{
			last = tuple->t_self;
			removed = mk_rows_try_delete(&rows, tuple);
		}
		mk_rows_end(&rows);
		if (removed)
			CommandCounterIncrement();
		if (done || removed)
			return removed;
	}
}

/*
 * There is no index for this: it is rare, and would cost each record that is
 * scheduled.
 */
void
mk_schedule_rows_delete_topic(int32 topic_id)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_SCHEDULED, MK_REL_SCHEDULED_PKEY, mk_rows_now(),
				  0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (mk_rows_int32(&rows, tuple, Anum_scheduled_topic_id) == topic_id)
			(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

/* ---------------------------------------------------------------------------
 * Looking
 */

/* Begins a scan of the rows in the order in which they are due. */
static void
mk_look_begin(MkRows *rows, const MkScheduleStart *start)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_scheduled_due, BTGreaterEqualStrategyNumber,
				F_TIMESTAMPTZ_GE, TimestampTzGetDatum(start->due));
	mk_rows_begin_keys(rows, MK_REL_SCHEDULED, MK_REL_SCHEDULED_DUE_IDX,
					   mk_rows_now(), 1, &key);
}

/* How many pages this backend has touched so far. */
static int64
mk_touched_pages(void)
{
	return pgBufferUsage.shared_blks_hit + pgBufferUsage.shared_blks_read;
}

static int64
mk_record_bytes(const MkRecord *record)
{
	return (record->key_isnull
				? 0
				: VARSIZE_ANY_EXHDR(DatumGetPointer(record->key))) +
		(record->value_isnull
			 ? 0
			 : VARSIZE_ANY_EXHDR(DatumGetPointer(record->value)));
}

void
mk_schedule_rows_look(MkScheduleLook *look)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "minikafka scheduled record",
												  ALLOCSET_DEFAULT_SIZES);
	int64 bytes = 0;
	int64 pages = mk_touched_pages();
	bool is_first = true;
	MkScheduleStart start;
	MkRows rows;
	HeapTuple tuple;

	Assert(mk_lock_delivery_is_mine());
	look->taken = 0;
	look->next = DT_NOEND;
	look->is_far = false;
	mk_schedule_rows_start(&start);
	mk_look_begin(&rows, &start);
	for (;;)
	{
		MkScheduled scheduled;
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		tuple = mk_rows_next(&rows, ForwardScanDirection);
		if (is_first)
			look->is_far = mk_touched_pages() - pages > MK_FAR_PAGES;
		is_first = false;
		if (tuple == NULL)
			break;
		look->next = mk_rows_time(&rows, tuple, Anum_scheduled_due);
		if (look->next > look->now || look->taken >= look->max_records ||
			bytes >= look->max_bytes)
			break;
		look->next = DT_NOEND;
		MemoryContextReset(context);
		old = MemoryContextSwitchTo(context);
		mk_scheduled_read(&rows, tuple, &scheduled);
		if (mk_rows_try_delete(&rows, tuple))
		{
			look->taken++;
			bytes += mk_record_bytes(&scheduled.record);
			look->sink(&scheduled, look->arg);
		}
		MemoryContextSwitchTo(old);
	}
	mk_rows_end(&rows);
	MemoryContextDelete(context);
	CommandCounterIncrement();
}

/* ---------------------------------------------------------------------------
 * The start
 */

/* By new snapshots: rows of older epochs may be gone at any time. */
void
mk_schedule_rows_start(MkScheduleStart *start)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;

	start->epoch = 0;
	start->due = DT_NOBEGIN;
	mk_rows_begin(&rows, MK_REL_SCHEDULE_START, MK_REL_SCHEDULE_START_IDX, NULL,
				  0, NULL);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		start->epoch = mk_rows_int64(&rows, tuple, Anum_start_epoch);
	mk_rows_end(&rows);
	if (tuple == NULL)
		return;

	ScanKeyInit(&key, Anum_start_epoch, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum(start->epoch));
	mk_rows_begin_keys(&rows, MK_REL_SCHEDULE_START, MK_REL_SCHEDULE_START_IDX,
					   NULL, 1, &key);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		start->due = mk_rows_time(&rows, tuple, Anum_start_due);
	mk_rows_end(&rows);
}

static void
mk_start_insert(int64 epoch, TimestampTz due)
{
	Datum values[Natts_start];
	bool nulls[Natts_start] = {0};

	values[Anum_start_epoch - 1] = Int64GetDatum(epoch);
	values[Anum_start_due - 1] = TimestampTzGetDatum(due);
	mk_rows_insert(MK_REL_SCHEDULE_START, NULL, values, nulls);
}

void
mk_schedule_rows_start_lower(const MkScheduleStart *start, TimestampTz due)
{
	Assert(mk_lock_schedule_is_mine(false));
	if (due < start->due)
		mk_start_insert(start->epoch, due);
}

/* Removes the rows of an epoch that has been replaced. */
static void
mk_start_remove(int64 epoch)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_start_epoch, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum(epoch));
	mk_rows_begin_keys(&rows, MK_REL_SCHEDULE_START, MK_REL_SCHEDULE_START_IDX,
					   NULL, 1, &key);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		(void) mk_rows_try_delete(&rows, tuple);
	mk_rows_end(&rows);
}

void
mk_schedule_rows_start_raise(TimestampTz now)
{
	MkScheduleStart start;
	TimestampTz due = now;
	MkRows rows;
	HeapTuple tuple;

	Assert(mk_lock_schedule_is_mine(true));
	Assert(mk_lock_delivery_is_mine());
	mk_schedule_rows_start(&start);
	mk_look_begin(&rows, &start);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		due = mk_rows_time(&rows, tuple, Anum_scheduled_due);
	mk_rows_end(&rows);
	if (due <= start.due)
		return;
	mk_start_remove(start.epoch);
	mk_start_insert(start.epoch + 1, due);
}
