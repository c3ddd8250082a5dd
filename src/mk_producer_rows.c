/*
 * mk_producer_rows.c
 *		The rows of producers, and of what each has sent to each partition,
 *		newest first.
 *
 * The rows as they are now are read as in mk_progress.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_guc.h"
#include "mk_producer_rows.h"
#include "mk_role.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_producer_producer = 1,
	Anum_producer_producer_id,
	Anum_producer_owner,
	Anum_producer_epoch,
	Anum_producer_initialized,
	Natts_producer = Anum_producer_initialized
};
StaticAssertDecl(Natts_producer == MK_NATTS_PRODUCER, "all columns are listed");

enum
{
	Anum_produced_producer_id = 1,
	Anum_produced_topic_id,
	Anum_produced_partition,
	Anum_produced_epoch,
	Anum_produced_last_sequence,
	Anum_produced_first_sequence,
	Anum_produced_first_offset,
	Anum_produced_at,
	Natts_produced = Anum_produced_at
};
StaticAssertDecl(Natts_produced == MK_NATTS_PRODUCED, "all columns are listed");

/* ---------------------------------------------------------------------------
 * Producers
 */

/* Begins a scan for a producer's row and returns it, NULL if there is none. */
static HeapTuple
mk_producer_scan(MkRows *rows, const char *producer)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_producer_producer, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(producer));
	mk_rows_begin_keys(rows, MK_REL_PRODUCER, MK_REL_PRODUCER_PKEY, NULL, 1,
					   &key);
	return mk_rows_next(rows, ForwardScanDirection);
}

bool
mk_producer_rows_get(const char *producer, MkProducerRow *row)
{
	MkRows rows;
	HeapTuple tuple = mk_producer_scan(&rows, producer);

	if (tuple != NULL)
	{
		row->producer_id = DatumGetInt32(
			mk_rows_column(&rows, tuple, Anum_producer_producer_id));
		row->owner =
			*DatumGetName(mk_rows_column(&rows, tuple, Anum_producer_owner));
		row->epoch =
			DatumGetInt32(mk_rows_column(&rows, tuple, Anum_producer_epoch));
		row->initialized = DatumGetBool(
			mk_rows_column(&rows, tuple, Anum_producer_initialized));
	}
	mk_rows_end(&rows);
	return tuple != NULL;
}

void
mk_producer_rows_insert(const char *producer, const MkProducerRow *row)
{
	Datum values[Natts_producer];
	bool nulls[Natts_producer] = {0};

	values[Anum_producer_producer - 1] = CStringGetTextDatum(producer);
	values[Anum_producer_producer_id - 1] = Int32GetDatum(row->producer_id);
	values[Anum_producer_owner - 1] = NameGetDatum(&row->owner);
	values[Anum_producer_epoch - 1] = Int32GetDatum(row->epoch);
	values[Anum_producer_initialized - 1] = BoolGetDatum(row->initialized);
	mk_rows_insert(MK_REL_PRODUCER, NULL, values, nulls);
}

/* Changes columns of a producer's row, for the next command to see. */
static void
mk_producer_modify(const char *producer, Datum *values, bool *replace)
{
	bool nulls[Natts_producer] = {0};
	MkRows rows;
	HeapTuple tuple = mk_producer_scan(&rows, producer);

	if (tuple != NULL)
		mk_rows_modify(&rows, tuple, values, nulls, replace);
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

void
mk_producer_rows_begin_epoch(const char *producer, int32 epoch)
{
	Datum values[Natts_producer] = {0};
	bool replace[Natts_producer] = {0};

	values[Anum_producer_epoch - 1] = Int32GetDatum(epoch);
	replace[Anum_producer_epoch - 1] = true;
	values[Anum_producer_initialized - 1] = BoolGetDatum(true);
	replace[Anum_producer_initialized - 1] = true;
	mk_producer_modify(producer, values, replace);
}

void
mk_producer_rows_set_owner(const char *producer, const char *owner)
{
	Datum values[Natts_producer] = {0};
	bool replace[Natts_producer] = {0};
	NameData name;

	namestrcpy(&name, owner);
	values[Anum_producer_owner - 1] = NameGetDatum(&name);
	replace[Anum_producer_owner - 1] = true;
	mk_producer_modify(producer, values, replace);
}

List *
mk_producer_rows_look(List *missing)
{
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_PRODUCER, MK_REL_PRODUCER_PKEY, NULL, 0, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
		missing = mk_role_look(missing,
							   NameStr(*DatumGetName(mk_rows_column(
								   &rows, tuple, Anum_producer_owner))),
							   "producer",
							   TextDatumGetCString(mk_rows_column(
								   &rows, tuple, Anum_producer_producer)),
							   false);
	mk_rows_end(&rows);
	return missing;
}

char *
mk_producer_rows_name(int32 producer_id)
{
	ScanKeyData key;
	MkRows rows;
	HeapTuple tuple;
	char *name = NULL;

	ScanKeyInit(&key, Anum_producer_producer_id, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(producer_id));
	mk_rows_begin_keys(&rows, MK_REL_PRODUCER, MK_REL_PRODUCER_ID_KEY, NULL, 1,
					   &key);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		name = TextDatumGetCString(
			mk_rows_column(&rows, tuple, Anum_producer_producer));
	mk_rows_end(&rows);
	return name;
}

/* ---------------------------------------------------------------------------
 * What producers have sent
 */

static int32
mk_int32(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetInt32(mk_rows_column(rows, tuple, attno));
}

static int64
mk_int64(const MkRows *rows, HeapTuple tuple, AttrNumber attno)
{
	return DatumGetInt64(mk_rows_column(rows, tuple, attno));
}

static void
mk_producer_rows_read(const MkRows *rows, HeapTuple tuple, MkProducerRun *row)
{
	row->epoch = mk_int32(rows, tuple, Anum_produced_epoch);
	row->first_sequence = mk_int64(rows, tuple, Anum_produced_first_sequence);
	row->last_sequence = mk_int64(rows, tuple, Anum_produced_last_sequence);
	row->first_offset = mk_int64(rows, tuple, Anum_produced_first_offset);
	row->at =
		DatumGetTimestampTz(mk_rows_column(rows, tuple, Anum_produced_at));
}

bool
mk_producer_rows_last(int32 producer_id, int32 topic_id, int32 partition,
					  Snapshot snapshot, MkProducerRun *row)
{
	const int32 keys[] = {producer_id, topic_id, partition};
	MkRows rows;
	HeapTuple tuple;

	mk_rows_begin(&rows, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY,
				  snapshot != NULL ? snapshot : mk_rows_now(), lengthof(keys),
				  keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		mk_producer_rows_read(&rows, tuple, row);
	mk_rows_end(&rows);
	return tuple != NULL;
}

/*
 * The first or the last run of this epoch whose last sequence is at least this
 * one; false if there is none.
 */
static bool
mk_producer_rows_since(int32 producer_id, int32 topic_id, int32 partition,
					   int32 epoch, int64 sequence, ScanDirection direction,
					   MkProducerRun *row)
{
	const int32 equal[] = {producer_id, topic_id, partition, epoch};
	ScanKeyData keys[Anum_produced_last_sequence];
	MkRows rows;
	HeapTuple tuple;

	for (int i = 0; i < (int) lengthof(equal); i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(equal[i]));
	ScanKeyInit(&keys[lengthof(equal)], Anum_produced_last_sequence,
				BTGreaterEqualStrategyNumber, F_INT8GE,
				Int64GetDatum(sequence));
	mk_rows_begin_keys(&rows, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY,
					   mk_rows_now(), lengthof(keys), keys);
	tuple = mk_rows_next(&rows, direction);
	if (tuple != NULL)
		mk_producer_rows_read(&rows, tuple, row);
	mk_rows_end(&rows);
	return tuple != NULL;
}

bool
mk_producer_rows_find(int32 producer_id, int32 topic_id, int32 partition,
					  int32 epoch, int64 sequence, MkProducerRun *row)
{
	return mk_producer_rows_since(producer_id, topic_id, partition, epoch,
								  sequence, ForwardScanDirection, row) &&
		row->first_sequence <= sequence;
}

bool
mk_producer_rows_last_near(int32 producer_id, int32 topic_id, int32 partition,
						   int32 epoch, int64 near, MkProducerRun *row)
{
	/* so that the scan need not read a page of keys */
	return mk_producer_rows_since(producer_id, topic_id, partition, epoch, near,
								  BackwardScanDirection, row) ||
		mk_producer_rows_last(producer_id, topic_id, partition, NULL, row);
}

void
mk_producer_rows_put(int32 producer_id, int32 topic_id, int32 partition,
					 const MkProducerRun *row)
{
	Datum values[Natts_produced];
	bool nulls[Natts_produced] = {0};

	values[Anum_produced_producer_id - 1] = Int32GetDatum(producer_id);
	values[Anum_produced_topic_id - 1] = Int32GetDatum(topic_id);
	values[Anum_produced_partition - 1] = Int32GetDatum(partition);
	values[Anum_produced_epoch - 1] = Int32GetDatum(row->epoch);
	values[Anum_produced_last_sequence - 1] = Int64GetDatum(row->last_sequence);
	values[Anum_produced_first_sequence - 1] =
		Int64GetDatum(row->first_sequence);
	values[Anum_produced_first_offset - 1] = Int64GetDatum(row->first_offset);
	values[Anum_produced_at - 1] = TimestampTzGetDatum(row->at);
	mk_rows_insert(MK_REL_PRODUCED, NULL, values, nulls);
}

bool
mk_producer_rows_has_expired(const MkProducerRun *run)
{
	return mk_clock_now() > run->at + mk_guc_producer_expiry * USECS_PER_SEC;
}

int64
mk_producer_rows_last_offset(const MkProducerRun *row)
{
	return row->first_offset + (row->last_sequence - row->first_sequence);
}

/*
 * Goes back over the runs that end at the tail or beyond, and with "remove"
 * removes them on the way.  Sets *row to the last run that begins below the
 * tail, without what lies beyond, and *shortened if that has changed it; false
 * if there is none.  In the order of the key, offsets grow.
 */
static bool
mk_producer_rows_back(int32 producer_id, int32 topic_id, int32 partition,
					  int64 tail, bool remove, MkProducerRun *row,
					  bool *shortened)
{
	const int32 keys[] = {producer_id, topic_id, partition};
	MkRows rows;
	HeapTuple tuple;
	bool found = false;

	*shortened = false;
	mk_rows_begin(&rows, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, SnapshotSelf,
				  lengthof(keys), keys);
	while (!found &&
		   (tuple = mk_rows_next(&rows, BackwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		mk_producer_rows_read(&rows, tuple, row);
		found = row->first_offset < tail;
		if (mk_producer_rows_last_offset(row) < tail)
			continue;
		if (remove)
			(void) mk_rows_try_delete(&rows, tuple);
		if (found)
		{
			row->last_sequence -=
				mk_producer_rows_last_offset(row) - (tail - 1);
			*shortened = true;
		}
	}
	mk_rows_end(&rows);
	return found;
}

bool
mk_producer_rows_last_below(int32 producer_id, int32 topic_id, int32 partition,
							int64 tail, MkProducerRun *row)
{
	bool shortened;

	return mk_producer_rows_back(producer_id, topic_id, partition, tail, false,
								 row, &shortened);
}

void
mk_producer_rows_forget(int32 producer_id, int32 topic_id, int32 partition,
						int64 tail)
{
	MkProducerRun row;
	bool shortened;

	(void) mk_producer_rows_back(producer_id, topic_id, partition, tail, true,
								 &row, &shortened);
	CommandCounterIncrement();
	if (shortened)
		mk_producer_rows_put(producer_id, topic_id, partition, &row);
}

void
mk_producer_rows_delete(int32 producer_id, int32 topic_id, int32 partition)
{
	const int32 keys[] = {producer_id, topic_id, partition};

	mk_rows_delete_all(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, lengthof(keys),
					   keys);
}

List *
mk_producer_rows_ids(Snapshot snapshot)
{
	return mk_rows_values(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, 0, NULL,
						  snapshot);
}

/* For mk_producer_rows_is_needed: which sequences are to stay known. */
typedef struct MkKnown
{
	int32 epoch;
	int64 above; /* the sequences above this one */
} MkKnown;

static bool
mk_producer_rows_is_needed(const MkRows *rows, HeapTuple tuple, const void *arg)
{
	const MkKnown *known = arg;
	MkProducerRun row;

	mk_producer_rows_read(rows, tuple, &row);
	return row.epoch == known->epoch && row.last_sequence > known->above;
}

void
mk_producer_rows_clean(int32 producer_id, int32 topic_id, int32 partition,
					   int64 known)
{
	const int32 keys[] = {producer_id, topic_id, partition};
	MkProducerRun newest;
	MkKnown needed;

	if (known == 0)
	{
		mk_rows_try_delete_all(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY,
							   lengthof(keys), keys);
		return;
	}
	if (!mk_producer_rows_last(producer_id, topic_id, partition, NULL, &newest))
		return;
	needed.epoch = newest.epoch;
	needed.above = newest.last_sequence - known;
	(void) mk_rows_clean(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, lengthof(keys),
						 keys, mk_producer_rows_is_needed, &needed,
						 PG_INT32_MAX);
}

void
mk_producer_rows_delete_topic(int32 topic_id)
{
	ListCell *lc;

	foreach (lc, mk_producer_rows_ids(NULL))
	{
		const int32 keys[] = {lfirst_int(lc), topic_id};

		mk_rows_delete_all(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY,
						   lengthof(keys), keys);
	}
}

/* For mk_producer_rows_take: the arguments of mk_producer_rows_scan. */
typedef struct MkProducerRunScan
{
	int32 producer_id;
	Snapshot snapshot;
	MkProducerRunSink sink;
	void *arg;
} MkProducerRunScan;

static void
mk_producer_rows_take(int32 topic_id, int32 partition, void *arg)
{
	const MkProducerRunScan *scan = arg;
	MkProducerRun row;

	if (mk_producer_rows_last(scan->producer_id, topic_id, partition,
							  scan->snapshot, &row))
		scan->sink(topic_id, partition, &row, scan->arg);
}

void
mk_producer_rows_scan(int32 producer_id, Snapshot snapshot,
					  MkProducerRunSink sink, void *arg)
{
	MkProducerRunScan scan = {producer_id, snapshot, sink, arg};

	mk_rows_partitions(MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, producer_id,
					   snapshot, mk_producer_rows_take, &scan);
}
