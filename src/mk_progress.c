/*
 * mk_progress.c
 *		State that changes with every call, kept newest first.
 *
 * The newest row is found by one step back from the end of its key's index
 * range, so neither old rows nor a snapshot that somebody holds make it
 * slower.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "mk_progress.h"

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
	Natts_progress = Anum_progress_committed_at
};

#define MK_PROGRESS_KEYS 3

typedef struct MkProgressScan
{
	Relation rel;
	Relation pkey;
	SysScanDesc scan;
} MkProgressScan;

/* Scans the rows whose first nkeys columns have these values. */
static void
mk_progress_scan_begin(MkProgressScan *s, Snapshot snapshot, int nkeys,
					   const int32 *values)
{
	ScanKeyData keys[MK_PROGRESS_KEYS];

	for (int i = 0; i < nkeys; i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(values[i]));
	s->rel =
		table_open(mk_catalog_relid(MK_REL_GROUP_PROGRESS), AccessShareLock);
	s->pkey = index_open(mk_catalog_relid(MK_REL_GROUP_PROGRESS_PKEY),
						 AccessShareLock);
	s->scan =
		systable_beginscan_ordered(s->rel, s->pkey, snapshot, nkeys, keys);
}

static void
mk_progress_scan_end(MkProgressScan *s)
{
	systable_endscan_ordered(s->scan);
	index_close(s->pkey, AccessShareLock);
	table_close(s->rel, AccessShareLock);
}

static Datum
mk_progress_column(MkProgressScan *s, HeapTuple tuple, AttrNumber attno)
{
	bool isnull;

	return heap_getattr(tuple, attno, RelationGetDescr(s->rel), &isnull);
}

bool
mk_progress_committed(int32 group_no, int32 topic_id, int32 partition,
					  Snapshot snapshot, MkCommitted *result)
{
	const int32 keys[MK_PROGRESS_KEYS] = {group_no, topic_id, partition};
	MkProgressScan s;
	HeapTuple tuple;

	memset(result, 0, sizeof(*result));
	mk_progress_scan_begin(&s, snapshot, lengthof(keys), keys);
	tuple = systable_getnext_ordered(s.scan, BackwardScanDirection);
	if (tuple != NULL)
	{
		bool isnull;
		Datum metadata = heap_getattr(tuple, Anum_progress_metadata,
									  RelationGetDescr(s.rel), &isnull);

		result->number =
			DatumGetInt64(mk_progress_column(&s, tuple, Anum_progress_number));
		result->next_offset = DatumGetInt64(
			mk_progress_column(&s, tuple, Anum_progress_next_offset));
		if (!isnull)
			result->metadata = TextDatumGetCString(metadata);
	}
	mk_progress_scan_end(&s);
	return tuple != NULL;
}

void
mk_progress_commit(int32 group_no, int32 topic_id, int32 partition,
				   const MkCommitted *previous, int64 next_offset,
				   const char *metadata, TimestampTz now)
{
	Relation rel =
		table_open(mk_catalog_relid(MK_REL_GROUP_PROGRESS), RowExclusiveLock);
	Datum values[Natts_progress] = {0};
	bool nulls[Natts_progress] = {0};
	HeapTuple tuple;

	values[Anum_progress_group_no - 1] = Int32GetDatum(group_no);
	values[Anum_progress_topic_id - 1] = Int32GetDatum(topic_id);
	values[Anum_progress_partition - 1] = Int32GetDatum(partition);
	values[Anum_progress_number - 1] = Int64GetDatum(previous->number + 1);
	values[Anum_progress_next_offset - 1] = Int64GetDatum(next_offset);
	if (metadata != NULL)
		values[Anum_progress_metadata - 1] = CStringGetTextDatum(metadata);
	else
		nulls[Anum_progress_metadata - 1] = true;
	values[Anum_progress_committed_at - 1] = TimestampTzGetDatum(now);
	tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
	table_close(rel, NoLock);
}

List *
mk_progress_topics(int32 group_no, Snapshot snapshot)
{
	MkProgressScan s;
	HeapTuple tuple;
	List *topics = NIL;

	/* in the order of the key, so the same ones follow each other */
	mk_progress_scan_begin(&s, snapshot, 1, &group_no);
	while ((tuple = systable_getnext_ordered(s.scan, ForwardScanDirection)) !=
		   NULL)
	{
		int32 topic_id = DatumGetInt32(
			mk_progress_column(&s, tuple, Anum_progress_topic_id));

		if (topics == NIL || llast_int(topics) != topic_id)
			topics = lappend_int(topics, topic_id);
	}
	mk_progress_scan_end(&s);
	return topics;
}

void
mk_progress_scan_topic(int32 topic_id, Snapshot snapshot, MkCommittedSink sink,
					   void *arg)
{
	MkProgressScan s;
	HeapTuple tuple;
	int32 last_group = 0;
	int32 last_partition = -1;

	/* backwards, so the newest of each comes first */
	mk_progress_scan_begin(&s, snapshot, 0, NULL);
	while ((tuple = systable_getnext_ordered(s.scan, BackwardScanDirection)) !=
		   NULL)
	{
		int32 group_no;
		int32 partition;

		if (DatumGetInt32(mk_progress_column(
				&s, tuple, Anum_progress_topic_id)) != topic_id)
			continue;
		group_no = DatumGetInt32(
			mk_progress_column(&s, tuple, Anum_progress_group_no));
		partition = DatumGetInt32(
			mk_progress_column(&s, tuple, Anum_progress_partition));
		if (group_no == last_group && partition == last_partition)
			continue;
		last_group = group_no;
		last_partition = partition;
		sink(group_no, partition,
			 DatumGetInt64(
				 mk_progress_column(&s, tuple, Anum_progress_next_offset)),
			 arg);
	}
	mk_progress_scan_end(&s);
}
