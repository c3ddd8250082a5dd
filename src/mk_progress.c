/*
 * mk_progress.c
 *		How far groups have come: committed offsets and positions.
 *
 * The newest row is found by one step back from the end of its key's index range,
 * so it costs the same however many old rows there are, and however long other
 * sessions hold their snapshots.
 *
 * The state as of now is read with SnapshotSelf.  Rows are never updated, so each
 * row exists or does not.  A SERIALIZABLE transaction takes no predicate locks
 * this way; they would make transactions of unrelated members fail.  The scan
 * finds the newest row even while other sessions add rows and remove old ones,
 * because of how rows are removed: see mk_rows_clean.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_progress.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_progress_group_no = 1,
	Anum_progress_topic_id,
	Anum_progress_partition,
	Anum_progress_number,
	Anum_progress_next_offset,
	Anum_progress_metadata,
	Anum_progress_committed_at,
	Anum_progress_committed_by,
	Anum_progress_committed_generation,
	Anum_progress_member_no,
	Anum_progress_generation,
	Anum_progress_position,
	Anum_progress_turn,
	Anum_progress_paused,
	Natts_progress = Anum_progress_paused
};
StaticAssertDecl(Natts_progress == MK_NATTS_PROGRESS, "all columns are listed");

/* ---------------------------------------------------------------------------
 * Progress
 */

static void
mk_progress_read(const MkRows *rows, HeapTuple tuple, MkProgress *p)
{
	p->number = mk_rows_int64(rows, tuple, Anum_progress_number);
	p->committed = mk_rows_int64_or(rows, tuple, Anum_progress_next_offset, -1);
	p->metadata = mk_rows_text_or_null(rows, tuple, Anum_progress_metadata);
	p->committed_by =
		mk_rows_text_or_null(rows, tuple, Anum_progress_committed_by);
	if (p->committed >= 0)
	{
		p->committed_at = mk_rows_time(rows, tuple, Anum_progress_committed_at);
		p->committed_generation =
			mk_rows_int32(rows, tuple, Anum_progress_committed_generation);
	}
	p->member_no = mk_rows_int32(rows, tuple, Anum_progress_member_no);
	p->generation = mk_rows_int32(rows, tuple, Anum_progress_generation);
	p->position = mk_rows_int64_or(rows, tuple, Anum_progress_position, -1);
	p->turn = mk_rows_int64(rows, tuple, Anum_progress_turn);
	p->paused = mk_rows_bool(rows, tuple, Anum_progress_paused);
}

bool
mk_progress_get(int32 group_no, int32 topic_id, int32 partition,
				Snapshot snapshot, MkProgress *progress)
{
	const int32 keys[] = {group_no, topic_id, partition};
	MkRows rows;
	HeapTuple tuple;

	memset(progress, 0, sizeof(*progress));
	progress->committed = -1;
	progress->position = -1;
	if (snapshot == NULL)
		snapshot = mk_rows_now();
	mk_rows_begin(&rows, MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, snapshot,
				  lengthof(keys), keys);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		mk_progress_read(&rows, tuple, progress);
	mk_rows_end(&rows);
	return tuple != NULL;
}

void
mk_progress_put(int32 group_no, int32 topic_id, int32 partition, MkProgress *p)
{
	Datum values[Natts_progress] = {0};
	bool nulls[Natts_progress] = {0};

	p->number++;
	values[Anum_progress_group_no - 1] = Int32GetDatum(group_no);
	values[Anum_progress_topic_id - 1] = Int32GetDatum(topic_id);
	values[Anum_progress_partition - 1] = Int32GetDatum(partition);
	values[Anum_progress_number - 1] = Int64GetDatum(p->number);
	values[Anum_progress_next_offset - 1] = Int64GetDatum(p->committed);
	nulls[Anum_progress_next_offset - 1] = p->committed < 0;
	mk_rows_set_text(values, nulls, Anum_progress_metadata, p->metadata);
	values[Anum_progress_committed_at - 1] =
		TimestampTzGetDatum(p->committed_at);
	nulls[Anum_progress_committed_at - 1] = p->committed < 0;
	mk_rows_set_text(values, nulls, Anum_progress_committed_by,
					 p->committed_by);
	values[Anum_progress_committed_generation - 1] =
		Int32GetDatum(p->committed_generation);
	nulls[Anum_progress_committed_generation - 1] = p->committed < 0;
	values[Anum_progress_member_no - 1] = Int32GetDatum(p->member_no);
	values[Anum_progress_generation - 1] = Int32GetDatum(p->generation);
	values[Anum_progress_position - 1] = Int64GetDatum(p->position);
	nulls[Anum_progress_position - 1] = p->position < 0;
	values[Anum_progress_turn - 1] = Int64GetDatum(p->turn);
	values[Anum_progress_paused - 1] = BoolGetDatum(p->paused);
	mk_rows_insert(MK_REL_PROGRESS, NULL, values, nulls);
}

List *
mk_progress_topics(int32 group_no, Snapshot snapshot)
{
	return mk_rows_values(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 1, &group_no,
						  snapshot);
}

List *
mk_progress_groups(Snapshot snapshot)
{
	return mk_rows_values(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 0, NULL,
						  snapshot);
}

void
mk_progress_delete_topic(int32 topic_id)
{
	ListCell *lc;

	foreach (lc, mk_progress_groups(NULL))
	{
		const int32 keys[] = {lfirst_int(lc), topic_id};

		mk_rows_delete_all(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY,
						   lengthof(keys), keys);
	}
}

void
mk_progress_delete_group(int32 group_no)
{
	mk_rows_delete_all(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 1, &group_no);
}

void
mk_progress_scan_topic(int32 topic_id, Snapshot snapshot, MkProgressSink sink,
					   void *arg)
{
	ListCell *lc;
	ListCell *lc2;

	foreach (lc, mk_progress_groups(snapshot))
	{
		const int32 keys[] = {lfirst_int(lc), topic_id};

		foreach (lc2,
				 mk_rows_values(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY,
								lengthof(keys), keys, snapshot))
		{
			MkProgress progress;

			mk_progress_get(lfirst_int(lc), topic_id, lfirst_int(lc2), snapshot,
							&progress);
			sink(lfirst_int(lc), lfirst_int(lc2), &progress, arg);
		}
	}
}

/* ---------------------------------------------------------------------------
 * What is not needed any more
 */

/* How many rows one step removes at most. */
#define MK_CLEAN_ROWS 20000

/* For mk_progress_last_commit */
typedef struct MkLastCommit
{
	int32 group_no;
	TimestampTz at;
} MkLastCommit;

/* Looks at the newest row of a partition. */
static void
mk_progress_take_commit(int32 topic_id, int32 partition, void *arg)
{
	MkLastCommit *last = arg;
	MkProgress progress;

	if (mk_progress_get(last->group_no, topic_id, partition, NULL, &progress) &&
		progress.committed >= 0)
		last->at = Max(last->at, progress.committed_at);
}

TimestampTz
mk_progress_last_commit(int32 group_no)
{
	MkLastCommit last = {.group_no = group_no, .at = DT_NOBEGIN};

	mk_rows_partitions(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, group_no, NULL,
					   mk_progress_take_commit, &last);
	return last.at;
}

/* For mk_progress_clean */
typedef struct MkClean
{
	int32 group_no;
	int removed;
} MkClean;

/* Removes the rows before the newest of a partition. */
static void
mk_progress_clean_partition(int32 topic_id, int32 partition, void *arg)
{
	MkClean *c = arg;
	const int32 keys[] = {c->group_no, topic_id, partition};

	c->removed +=
		mk_rows_clean(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, lengthof(keys),
					  keys, NULL, NULL, MK_CLEAN_ROWS - c->removed);
}

bool
mk_progress_clean(int32 group_no)
{
	MkClean c = {.group_no = group_no};

	mk_rows_partitions(MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, group_no, NULL,
					   mk_progress_clean_partition, &c);
	return c.removed == MK_CLEAN_ROWS;
}
