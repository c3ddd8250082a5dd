/*
 * mk_redriven.c
 *		Which dead letters were sent on: runs of offsets.
 *
 * The table is not newest first: a run that grows is updated in place.  Only
 * redrive() writes the rows of a topic, under the topic's redrive lock, which it
 * keeps to the end of its transaction, and reads them as they are now; so it does
 * not look while a row is replaced.  Others read with an MVCC snapshot.  Runs that
 * touch are joined, so a topic whose letters are sent on in order has one run in
 * each partition, however long it is: the place where the next redrive begins.
 */
#include "postgres.h"

#include "access/skey.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"

#include "mk_lock.h"
#include "mk_redriven.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/15_dead_letter.sql */
enum
{
	Anum_redriven_topic_id = 1,
	Anum_redriven_partition,
	Anum_redriven_first_offset,
	Anum_redriven_last_offset,
	Natts_redriven = Anum_redriven_last_offset
};
StaticAssertDecl(Natts_redriven == MK_NATTS_REDRIVEN, "all columns are listed");

/*
 * Begins a scan of the runs of a partition whose first offset is up to "to", or
 * with "from" at or after that.
 */
static void
mk_redriven_begin(MkRows *rows, const MkTopic *topic, int32 partition,
				  StrategyNumber strategy, int64 offset, Snapshot snapshot)
{
	ScanKeyData keys[3];

	ScanKeyInit(&keys[0], Anum_redriven_topic_id, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(topic->topic_id));
	ScanKeyInit(&keys[1], Anum_redriven_partition, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(partition));
	ScanKeyInit(&keys[2], Anum_redriven_first_offset, strategy,
				strategy == BTLessEqualStrategyNumber ? F_INT8LE : F_INT8GT,
				Int64GetDatum(offset));
	mk_rows_begin_keys(rows, MK_REL_REDRIVEN, MK_REL_REDRIVEN_PKEY,
					   snapshot != NULL ? snapshot : mk_rows_now(),
					   lengthof(keys), keys);
}

/* Begins a scan of the runs that begin at or before an offset: backwards. */
static void
mk_redriven_begin_before(MkRows *rows, const MkTopic *topic, int32 partition,
						 int64 offset, Snapshot snapshot)
{
	mk_redriven_begin(rows, topic, partition, BTLessEqualStrategyNumber, offset,
					  snapshot);
}

/* Begins a scan of the runs that begin after an offset: forwards. */
static void
mk_redriven_begin_after(MkRows *rows, const MkTopic *topic, int32 partition,
						int64 offset, Snapshot snapshot)
{
	mk_redriven_begin(rows, topic, partition, BTGreaterStrategyNumber, offset,
					  snapshot);
}

static int64
mk_redriven_first(const MkRows *rows, HeapTuple tuple)
{
	return mk_rows_int64(rows, tuple, Anum_redriven_first_offset);
}

static int64
mk_redriven_last(const MkRows *rows, HeapTuple tuple)
{
	return mk_rows_int64(rows, tuple, Anum_redriven_last_offset);
}

/* Sets the last offset of the current row. */
static void
mk_redriven_set_last(MkRows *rows, HeapTuple tuple, int64 last)
{
	Datum values[Natts_redriven] = {0};
	bool nulls[Natts_redriven] = {0};
	bool replace[Natts_redriven] = {0};

	values[Anum_redriven_last_offset - 1] = Int64GetDatum(last);
	replace[Anum_redriven_last_offset - 1] = true;
	mk_rows_modify(rows, tuple, values, nulls, replace);
}

bool
mk_redriven_find(const MkTopic *topic, int32 partition, int64 offset,
				 Snapshot snapshot, int64 *last)
{
	MkRows rows;
	HeapTuple tuple;
	bool found = false;

	Assert(snapshot != NULL || mk_lock_redrive_is_mine(topic->topic_id));
	mk_redriven_begin_before(&rows, topic, partition, offset, snapshot);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
	{
		*last = mk_redriven_last(&rows, tuple);
		found = *last >= offset;
	}
	mk_rows_end(&rows);
	if (found)
		return true;

	mk_redriven_begin_after(&rows, topic, partition, offset, snapshot);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	*last =
		tuple != NULL ? mk_redriven_first(&rows, tuple) - 1 : PG_INT64_MAX - 1;
	mk_rows_end(&rows);
	return false;
}

void
mk_redriven_add(const MkTopic *topic, int32 partition, int64 first, int64 last)
{
	MkRows rows;
	HeapTuple tuple;
	bool joined = false;

	Assert(mk_lock_redrive_is_mine(topic->topic_id));
	/* the run that begins where this one ends becomes a part of it */
	mk_redriven_begin_after(&rows, topic, partition, last, NULL);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL && mk_redriven_first(&rows, tuple) == last + 1)
	{
		last = mk_redriven_last(&rows, tuple);
		(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);

	mk_redriven_begin_before(&rows, topic, partition, first, NULL);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL && mk_redriven_last(&rows, tuple) == first - 1)
	{
		mk_redriven_set_last(&rows, tuple, last);
		joined = true;
	}
	mk_rows_end(&rows);
	if (!joined)
	{
		Datum values[Natts_redriven];
		bool nulls[Natts_redriven] = {0};

		values[Anum_redriven_topic_id - 1] = Int32GetDatum(topic->topic_id);
		values[Anum_redriven_partition - 1] = Int32GetDatum(partition);
		values[Anum_redriven_first_offset - 1] = Int64GetDatum(first);
		values[Anum_redriven_last_offset - 1] = Int64GetDatum(last);
		mk_rows_insert(MK_REL_REDRIVEN, NULL, values, nulls);
	}
	CommandCounterIncrement();
}

void
mk_redriven_forget_below(const MkTopic *topic, int32 partition, int64 log_start)
{
	MkRows rows;
	HeapTuple tuple;

	Assert(mk_lock_redrive_is_mine(topic->topic_id));
	mk_redriven_begin_after(&rows, topic, partition, -1, NULL);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL &&
		   mk_redriven_last(&rows, tuple) < log_start)
	{
		CHECK_FOR_INTERRUPTS();
		(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

/* Whether there is a run in the partition. */
static bool
mk_redriven_is_any(const MkTopic *topic, int32 partition)
{
	MkRows rows;
	bool any;

	mk_redriven_begin_after(&rows, topic, partition, -1, NULL);
	any = mk_rows_next(&rows, ForwardScanDirection) != NULL;
	mk_rows_end(&rows);
	return any;
}

void
mk_redriven_forget_beyond(const MkTopic *topic, int32 partition, int64 tail)
{
	MkRows rows;
	HeapTuple tuple;

	if (!mk_redriven_is_any(topic, partition))
		return;
	mk_lock_redrive(topic->topic_id);
	mk_redriven_begin_before(&rows, topic, partition, PG_INT64_MAX, NULL);
	while ((tuple = mk_rows_next(&rows, BackwardScanDirection)) != NULL &&
		   mk_redriven_last(&rows, tuple) >= tail)
	{
		CHECK_FOR_INTERRUPTS();
		if (mk_redriven_first(&rows, tuple) >= tail)
			(void) mk_rows_try_delete(&rows, tuple);
		else
		{
			mk_redriven_set_last(&rows, tuple, tail - 1);
			break; /* all others end before it */
		}
	}
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

void
mk_redriven_delete_topic(int32 topic_id)
{
	mk_rows_delete_all(MK_REL_REDRIVEN, MK_REL_REDRIVEN_PKEY, 1, &topic_id);
}
