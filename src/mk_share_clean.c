/*
 * mk_share_clean.c
 *		Removing rows of share groups that are not needed any more.
 *
 * A reader takes the newest checkpoint that its snapshot sees, and then looks for
 * the runs from its start offset on, and for the deliveries of records that it
 * does not count as done.  The rule: what goes is what no reader of the oldest
 * checkpoint looks for, if every snapshot sees that one; a newer checkpoint has a
 * higher start offset, and counts as done what an older one of its era does.  A
 * checkpoint itself goes when every snapshot sees a newer one.  So the reader
 * misses nothing, as long as it holds its snapshot.  What a session remembers of
 * an earlier checkpoint may be too old.
 *
 * A new era has no row before its checkpoint, except in the transaction that
 * makes both.  So a reader looks for rows of the era of its checkpoint only.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/itemptr.h"

#include "mk_rows.h"
#include "mk_share_clean.h"
#include "mk_share_rows.h"

/* How many rows one call removes at most. */
#define MK_CLEAN_ROWS 20000

typedef struct MkClean
{
	int32 group_no;
	int removed;
} MkClean;

static void
mk_share_clean_checkpoints(int32 topic_id, int32 partition, void *arg)
{
	MkClean *clean = arg;
	const int32 keys[] = {clean->group_no, topic_id, partition};

	clean->removed += mk_rows_clean(
		MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY, lengthof(keys),
		keys, NULL, NULL, MK_CLEAN_ROWS - clean->removed);
}

static void
mk_share_clean_runs(MkClean *clean, const MkShareKey *key,
					const MkShareCheckpoint *checkpoint)
{
	int64 start = mk_share_checkpoint_start(checkpoint);
	MkRows rows;
	HeapTuple tuple;

	if (key->era > checkpoint->era)
		return;
	mk_share_begin_rows(&rows, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY, key);
	while (clean->removed < MK_CLEAN_ROWS &&
		   (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (key->era == checkpoint->era &&
			mk_rows_int64(&rows, tuple, MK_SHARE_ANUM_OFFSET) >= start)
			break;
		if (mk_rows_try_delete(&rows, tuple))
			clean->removed++;
	}
	mk_rows_end(&rows);
}

/* Whether nobody looks for the deliveries of a record. */
static bool
mk_share_is_past(const MkShareKey *key, const MkShareCheckpoint *checkpoint,
				 int64 offset)
{
	return key->era < checkpoint->era ||
		(key->era == checkpoint->era &&
		 mk_share_checkpoint_is_done(checkpoint, offset));
}

static void
mk_share_clean_deliveries(MkClean *clean, const MkShareKey *key,
						  const MkShareCheckpoint *checkpoint)
{
	HeapTupleData before;
	int64 before_offset = -1;
	TransactionId horizon;
	MkRows rows;
	HeapTuple tuple;

	mk_share_begin_rows(&rows, MK_REL_SHARE_DELIVERY,
						MK_REL_SHARE_DELIVERY_PKEY, key);
	horizon = mk_rows_horizon(&rows);
	while (clean->removed < MK_CLEAN_ROWS &&
		   (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		int64 offset = mk_rows_int64(&rows, tuple, MK_SHARE_ANUM_OFFSET);

		CHECK_FOR_INTERRUPTS();
		if (mk_share_is_past(key, checkpoint, offset))
		{
			if (mk_rows_try_delete(&rows, tuple))
				clean->removed++;
			continue;
		}
		if (before_offset == offset && mk_rows_all_see(tuple, horizon) &&
			mk_rows_try_delete(&rows, &before))
			clean->removed++;
		before.t_self = tuple->t_self;
		before_offset = offset;
	}
	mk_rows_end(&rows);
}

/* Cleans the runs or the deliveries of a partition. */
static void
mk_share_clean_eras(MkClean *clean, MkRelation rel, MkRelation index,
					int32 topic_id, int32 partition)
{
	const int32 keys[] = {clean->group_no, topic_id, partition};
	MkShareCheckpoint checkpoint;
	ListCell *lc;

	(void) mk_share_checkpoint_settled(clean->group_no, topic_id, partition,
									   &checkpoint);
	foreach (lc, mk_rows_values(rel, index, lengthof(keys), keys, NULL))
	{
		const MkShareKey key = {.group_no = clean->group_no,
								.topic_id = topic_id,
								.partition = partition,
								.era = lfirst_int(lc)};

		if (rel == MK_REL_SHARE_DONE)
			mk_share_clean_runs(clean, &key, &checkpoint);
		else
			mk_share_clean_deliveries(clean, &key, &checkpoint);
	}
}

static void
mk_share_clean_partition_runs(int32 topic_id, int32 partition, void *arg)
{
	mk_share_clean_eras(arg, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY,
						topic_id, partition);
}

static void
mk_share_clean_partition_deliveries(int32 topic_id, int32 partition, void *arg)
{
	mk_share_clean_eras(arg, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY,
						topic_id, partition);
}

bool
mk_share_clean(int32 group_no)
{
	MkClean clean = {.group_no = group_no};

	mk_rows_partitions(MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY,
					   group_no, NULL, mk_share_clean_checkpoints, &clean);
	mk_rows_partitions(MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY, group_no,
					   NULL, mk_share_clean_partition_runs, &clean);
	mk_rows_partitions(MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY,
					   group_no, NULL, mk_share_clean_partition_deliveries,
					   &clean);
	return clean.removed == MK_CLEAN_ROWS;
}
