/*
 * mk_share_cut.c
 *		What share groups know of records that are lost.
 *
 * The rows in question are not removed: a scan that meets a run which ends beyond
 * the tail, while it is replaced by a shorter one, could find neither, and a
 * record would be handed out again.  Instead the rows that still hold are written
 * anew in another era, which begins at once when the transaction commits.  What a
 * session has got from the group before, it cannot answer for: the era is another.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "mk_parked_rows.h"
#include "mk_rows.h"
#include "mk_share_cut.h"
#include "mk_share_rows.h"

/* The greatest offset in the rows of an era, -1 if there is none. */
static int64
mk_share_last_offset(MkRelation rel, MkRelation index, const MkShareKey *key)
{
	MkRows rows;
	HeapTuple tuple;
	int64 offset = -1;

	mk_share_begin_rows(&rows, rel, index, key);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		offset = mk_rows_int64(&rows, tuple, MK_SHARE_ANUM_OFFSET);
	mk_rows_end(&rows);
	return offset;
}

int64
mk_share_noted_end(int32 group_no, int32 topic_id, int32 partition)
{
	MkShareKey key = {
		.group_no = group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint checkpoint;
	int64 run;
	int64 delivery;

	(void) mk_share_checkpoint_peek(group_no, topic_id, partition, NULL,
									&checkpoint);
	key.era = checkpoint.era;
	run = mk_share_last_offset(MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY, &key);
	delivery = mk_share_last_offset(MK_REL_SHARE_DELIVERY,
									MK_REL_SHARE_DELIVERY_PKEY, &key);
	return Max(checkpoint.high, Max(run, delivery) + 1);
}

bool
mk_share_is_beyond(int32 group_no, int32 topic_id, int32 partition, int64 tail)
{
	MkShareKey key = {
		.group_no = group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint checkpoint;

	(void) mk_share_checkpoint_peek(group_no, topic_id, partition, NULL,
									&checkpoint);
	key.era = checkpoint.era;
	return mk_share_noted_end(group_no, topic_id, partition) > tail ||
		mk_parked_is_beyond(&key, tail);
}

/* Writes the runs of an era anew, as far as they lie above the start. */
static void
mk_share_cut_runs(const MkShareKey *key, int64 start, int64 tail, int32 era)
{
	MkShareKey now = *key;
	MkShareRuns runs;
	MkShareRun run;

	now.era = era;
	mk_share_runs_begin(&runs, key, start);
	while (mk_share_runs_next(&runs, &run) && run.first < tail)
	{
		CHECK_FOR_INTERRUPTS();
		mk_share_run_put(&now, run.first, Min(run.last, tail - 1));
	}
	mk_share_runs_end(&runs);
}

/* Writes the deliveries of an era anew, with the same numbers and times. */
static void
mk_share_cut_deliveries(const MkShareKey *key,
						const MkShareCheckpoint *checkpoint, int64 tail,
						int32 era)
{
	MkRows rows;
	HeapTuple tuple;

	mk_share_begin_rows(&rows, MK_REL_SHARE_DELIVERY,
						MK_REL_SHARE_DELIVERY_PKEY, key);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		int64 offset = mk_rows_int64(&rows, tuple, MK_SHARE_ANUM_OFFSET);
		Datum values[MK_NATTS_SHARE_DELIVERY];
		bool nulls[MK_NATTS_SHARE_DELIVERY];

		CHECK_FOR_INTERRUPTS();
		if (offset >= tail)
			break;
		if (mk_share_checkpoint_is_done(checkpoint, offset))
			continue;
		heap_deform_tuple(tuple, RelationGetDescr(rows.rel), values, nulls);
		values[MK_SHARE_ANUM_ERA - 1] = Int32GetDatum(era);
		mk_rows_insert(MK_REL_SHARE_DELIVERY, NULL, values, nulls);
	}
	mk_rows_end(&rows);
}

void
mk_share_cut(int32 group_no, int32 topic_id, int32 partition, int64 tail,
			 int32 era)
{
	MkShareKey key = {
		.group_no = group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint checkpoint;

	(void) mk_share_checkpoint_get(group_no, topic_id, partition, NULL,
								   &checkpoint);
	key.era = checkpoint.era;
	mk_share_cut_runs(&key, mk_share_checkpoint_start(&checkpoint), tail, era);
	mk_share_cut_deliveries(&key, &checkpoint, tail, era);
	mk_parked_cut(&key, tail, era);
	checkpoint.era = era;
	checkpoint.high = Min(checkpoint.high, tail);
	while (checkpoint.nexceptions > 0 &&
		   checkpoint.exceptions[checkpoint.nexceptions - 1].offset >= tail)
		checkpoint.nexceptions--;
	mk_share_checkpoint_put(group_no, topic_id, partition, &checkpoint);
}
