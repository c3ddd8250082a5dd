/*
 * mk_compacted.c
 *		The catalog of finished compaction passes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "mk_compacted.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_compaction_topic_id = 1,
	Anum_compaction_partition,
	Anum_compaction_offset,
	Anum_compaction_at,
	Anum_compaction_records,
	Anum_compaction_tombstones,
	Natts_compaction = Anum_compaction_tombstones
};

StaticAssertDecl((int) Natts_compaction == MK_NATTS_COMPACTION,
				 "the enum has the columns of the table");

/* Begins a scan of the passes over a partition. */
static void
mk_compacted_begin(MkRows *rows, const MkTopic *topic, int32 partition)
{
	const int32 keys[2] = {topic->topic_id, partition};

	mk_rows_begin(rows, MK_REL_COMPACTION, MK_REL_COMPACTION_PKEY, NULL,
				  lengthof(keys), keys);
}

/* Reads a row. */
static void
mk_compaction_read(const MkRows *rows, HeapTuple tuple, MkCompacted *pass)
{
	pass->offset = mk_rows_int64(rows, tuple, Anum_compaction_offset);
	pass->at = mk_rows_time(rows, tuple, Anum_compaction_at);
	pass->records = mk_rows_int64(rows, tuple, Anum_compaction_records);
	pass->tombstones = mk_rows_int64(rows, tuple, Anum_compaction_tombstones);
}

bool
mk_compacted_last(const MkTopic *topic, int32 partition, MkCompacted *last)
{
	MkRows rows;
	HeapTuple tuple;

	memset(last, 0, sizeof(*last));
	mk_compacted_begin(&rows, topic, partition);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		mk_compaction_read(&rows, tuple, last);
	mk_rows_end(&rows);
	return tuple != NULL;
}

int64
mk_compacted_before(const MkTopic *topic, int32 partition, TimestampTz before)
{
	MkRows rows;
	HeapTuple tuple;
	MkCompacted pass;
	int64 offset = 0;

	mk_compacted_begin(&rows, topic, partition);
	while (offset == 0 &&
		   (tuple = mk_rows_next(&rows, BackwardScanDirection)) != NULL)
	{
		mk_compaction_read(&rows, tuple, &pass);
		if (pass.at <= before)
			offset = pass.offset;
	}
	mk_rows_end(&rows);
	return offset;
}

void
mk_compacted_put(const MkTopic *topic, int32 partition, const MkCompacted *pass,
				 int64 forget)
{
	Datum values[Natts_compaction];
	bool nulls[Natts_compaction] = {0};
	bool replace[Natts_compaction] = {0};
	bool found = false;
	MkRows rows;
	HeapTuple tuple;

	values[Anum_compaction_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_compaction_partition - 1] = Int32GetDatum(partition);
	values[Anum_compaction_offset - 1] = Int64GetDatum(pass->offset);
	values[Anum_compaction_at - 1] = TimestampTzGetDatum(pass->at);
	values[Anum_compaction_records - 1] = Int64GetDatum(pass->records);
	values[Anum_compaction_tombstones - 1] = Int64GetDatum(pass->tombstones);
	/* a pass that came no further leaves the age of its tombstones unchanged */
	replace[Anum_compaction_records - 1] = true;
	replace[Anum_compaction_tombstones - 1] = true;

	mk_compacted_begin(&rows, topic, partition);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		MkCompacted before;

		mk_compaction_read(&rows, tuple, &before);
		if (before.offset == pass->offset)
		{
			mk_rows_modify(&rows, tuple, values, nulls, replace);
			found = true;
			break;
		}
		if (before.offset < Min(forget, pass->offset))
			(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);
	if (!found)
		mk_rows_insert(MK_REL_COMPACTION, NULL, values, nulls);
	CommandCounterIncrement();
}

void
mk_compacted_forget(const MkTopic *topic, int32 partition, int64 tail)
{
	MkRows rows;
	HeapTuple tuple;
	MkCompacted pass;

	mk_compacted_begin(&rows, topic, partition);
	while ((tuple = mk_rows_next(&rows, BackwardScanDirection)) != NULL)
	{
		mk_compaction_read(&rows, tuple, &pass);
		if (pass.offset <= tail)
			break;
		(void) mk_rows_try_delete(&rows, tuple);
	}
	mk_rows_end(&rows);
	CommandCounterIncrement();
}
