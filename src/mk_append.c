/*
 * mk_append.c
 *		Writing records into the segments of a partition.
 *
 * Rows are written directly: no trigger fires, the caller's privileges do not
 * matter, and constraints are checked only as mk_contract.c describes.
 * Indexes that the topic's owner has added to a segment are maintained, and
 * functions that they call run as the owner.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "mk_append.h"
#include "mk_array.h"
#include "mk_compat.h"
#include "mk_lock.h"
#include "mk_owner.h"

struct MkAppender
{
	const MkTopic *topic;
	int32 partition;
	int64 next_offset;
	TimestampTz ts;
	MkContract *contract;
	MemoryContext context; /* the appender's own memory */
	MemoryContext batch_context; /* reset after each batch */
	int nslots;
	TupleTableSlot **slots;

	/* the segment of the next offset, while it is open */
	bool is_open;
	int64 segment_end;
	MkSegment segment;
	bool indexes_open;
	IndexInfo *pkey_info; /* if the primary key is the only index, ... */
	EState *estate; /* ... else all of them */
	ResultRelInfo *rri;
};

MkAppender *
mk_append_begin(const MkTopic *topic, int32 partition, int64 next_offset,
				TimestampTz ts, MkSegment *open, MkContract *contract)
{
	MkAppender *a = palloc0(sizeof(MkAppender));

	Assert(mk_lock_sequence_is_mine(topic->topic_id, partition));
	Assert(partition >= 0 && partition < topic->npartitions);
	a->topic = topic;
	a->partition = partition;
	a->next_offset = next_offset;
	a->ts = ts;
	a->contract = contract;
	a->context = CurrentMemoryContext;
	a->batch_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka append", ALLOCSET_DEFAULT_SIZES);
	if (open != NULL)
	{
		a->segment = *open;
		a->is_open = true;
	}
	return a;
}

/*
 * Index expressions run as the table's owner.  So does opening an index, which
 * evaluates constant subexpressions.
 */
static void
mk_append_as_owner(MkAppender *a, void (*function)(void *arg), void *arg)
{
	mk_owner_call(a->segment.rel->rd_rel->relowner, function, arg,
				  psprintf("an index of topic \"%s\" could not take a record",
						   NameStr(a->topic->name)));
}

static void
mk_append_open_indexes(void *arg)
{
	MkAppender *a = arg;

	a->estate = CreateExecutorState();
	a->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(a->rri, a->segment.rel, 1, NULL, 0);
	ExecOpenIndices(a->rri, false);
}

/*
 * Opens the segment of the next offset, if it is not open, and its indexes.
 * An index that is created after this transaction has locked the table does
 * not matter: CREATE INDEX CONCURRENTLY waits for this transaction before it
 * relies on new rows.
 */
static void
mk_append_open(MkAppender *a)
{
	int64 segment = a->next_offset / a->topic->segment_records;

	if (!a->is_open &&
		!mk_segment_open(a->topic, a->partition, segment, RowExclusiveLock,
						 NULL, &a->segment))
		mk_segment_missing(a->topic, a->partition, segment);
	a->is_open = true;
	a->segment_end = (segment + 1) * a->topic->segment_records;
	mk_contract_check_segment(a->contract, a->topic, a->segment.rel);
	if (a->segment.pkey_only)
		a->pkey_info = BuildIndexInfo(a->segment.pkey);
	else
		mk_append_as_owner(a, mk_append_open_indexes, a);
	a->indexes_open = true;
}

/* Closes the segment; its locks are held to the end of the transaction. */
static void
mk_append_close(MkAppender *a)
{
	if (a->indexes_open && !a->segment.pkey_only)
	{
		ExecCloseIndices(a->rri);
		FreeExecutorState(a->estate);
	}
	if (a->is_open)
		mk_segment_close(&a->segment, true);
	a->indexes_open = false;
	a->is_open = false;
}

/* Adds the first n slots to the primary key, if it is the only index. */
static void
mk_append_pkey_entries(MkAppender *a, int n)
{
	bool isnull = false;

	for (int i = 0; i < n; i++)
		(void) index_insert(a->segment.pkey,
							&a->slots[i]->tts_values[Anum_record_offset - 1],
							&isnull, &a->slots[i]->tts_tid, a->segment.rel,
							UNIQUE_CHECK_YES, false, a->pkey_info);
}

/* The first n slots of the appender. */
typedef struct MkIndexEntries
{
	MkAppender *appender;
	int n;
} MkIndexEntries;

/* Adds slots to all indexes; runs as the owner. */
static void
mk_append_index_entries(void *arg)
{
	const MkIndexEntries *entries = arg;
	MkAppender *a = entries->appender;

	for (int i = 0; i < entries->n; i++)
	{
		(void) mk_ExecInsertIndexTuples(a->rri, a->slots[i], a->estate);
		ResetPerTupleExprContext(a->estate);
	}
}

/*
 * Appends n records, at most MK_APPEND_BATCH, which fit into the open segment.
 */
static void
mk_append_batch(MkAppender *a, const MkRecord *records, int n)
{
	MemoryContext old = MemoryContextSwitchTo(a->context);

	while (a->nslots < n)
	{
		a->slots = mk_array_grow(a->context, a->slots, a->nslots,
								 sizeof(TupleTableSlot *));
		a->slots[a->nslots++] =
			MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsVirtual);
	}
	MemoryContextSwitchTo(old);

	for (int i = 0; i < n; i++)
	{
		TupleTableSlot *slot = a->slots[i];
		const MkRecord *r = &records[i];

		ExecClearTuple(slot);
		slot->tts_values[Anum_record_offset - 1] =
			Int64GetDatum(a->next_offset + i);
		slot->tts_values[Anum_record_ts - 1] = TimestampTzGetDatum(a->ts);
		slot->tts_values[Anum_record_partition - 1] =
			Int32GetDatum(a->partition);
		slot->tts_values[Anum_record_key - 1] = r->key;
		slot->tts_values[Anum_record_value - 1] = r->value;
		slot->tts_values[Anum_record_headers - 1] = r->headers;
		memset(slot->tts_isnull, 0, Natts_record * sizeof(bool));
		slot->tts_isnull[Anum_record_key - 1] = r->key_isnull;
		slot->tts_isnull[Anum_record_value - 1] = r->value_isnull;
		slot->tts_isnull[Anum_record_headers - 1] = r->headers_isnull;
		ExecStoreVirtualTuple(slot);
	}

	if (a->contract != NULL)
		mk_contract_check_rows(a->contract, a->segment.rel, a->slots, n);

	old = MemoryContextSwitchTo(a->batch_context);
	if (n == 1)
		table_tuple_insert(a->segment.rel, a->slots[0],
						   GetCurrentCommandId(true), 0, NULL);
	else
		table_multi_insert(a->segment.rel, a->slots, n,
						   GetCurrentCommandId(true), 0, NULL);
	if (a->segment.pkey_only)
		mk_append_pkey_entries(a, n);
	else
	{
		MkIndexEntries entries = {a, n};

		mk_append_as_owner(a, mk_append_index_entries, &entries);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(a->batch_context);
	a->next_offset += n;
}

void
mk_append_records(MkAppender *a, const MkRecord *records, int n)
{
	MemoryContext old = MemoryContextSwitchTo(a->context);

	while (n > 0)
	{
		int fit;

		CHECK_FOR_INTERRUPTS();
		if (a->indexes_open && a->next_offset == a->segment_end)
			mk_append_close(a);
		if (!a->indexes_open)
			mk_append_open(a);
		fit =
			(int) Min(Min(n, MK_APPEND_BATCH), a->segment_end - a->next_offset);
		mk_append_batch(a, records, fit);
		records += fit;
		n -= fit;
	}
	MemoryContextSwitchTo(old);
}

void
mk_append_end(MkAppender *a)
{
	mk_append_close(a);
	for (int i = 0; i < a->nslots; i++)
		ExecDropSingleTupleTableSlot(a->slots[i]);
	MemoryContextDelete(a->batch_context);
}
