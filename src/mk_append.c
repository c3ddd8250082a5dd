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
	const MkRecord *filled; /* records that the first slots have already */
	int nfilled;

	/* the segment of the next offset, or before that is known of a guess */
	bool is_open;
	int64 segment_number;
	MkSegment segment;
	bool indexes_open;
	IndexInfo *pkey_info; /* if the primary key is the only index, ... */
	EState *estate; /* ... else all of them */
	ResultRelInfo *rri;
};

MkAppender *
mk_append_begin(const MkTopic *topic, int32 partition, MkContract *contract)
{
	MkAppender *a = palloc0(sizeof(MkAppender));

	Assert(partition >= 0 && partition < topic->npartitions);
	a->topic = topic;
	a->partition = partition;
	a->contract = contract;
	a->context = CurrentMemoryContext;
	a->batch_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka append", ALLOCSET_DEFAULT_SIZES);
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
 * Opens the indexes of the segment.  An index that is created after this
 * transaction has locked the table does not matter: CREATE INDEX CONCURRENTLY
 * waits for this transaction before it relies on new rows.
 */
static void
mk_append_open(MkAppender *a)
{
	mk_contract_check_segment(a->contract, a->topic, a->segment.rel);
	if (a->segment.pkey_only)
		a->pkey_info = BuildIndexInfo(a->segment.pkey);
	else
		mk_append_as_owner(a, mk_append_open_indexes, a);
	a->indexes_open = true;
}

/* Closes the segment; unless "keep", nothing was written into it. */
static void
mk_append_close(MkAppender *a, bool keep)
{
	if (a->indexes_open && !a->segment.pkey_only)
	{
		ExecCloseIndices(a->rri);
		FreeExecutorState(a->estate);
	}
	if (a->is_open)
		mk_segment_close(&a->segment, keep);
	a->indexes_open = false;
	a->is_open = false;
}

void
mk_append_open_ahead(MkAppender *a, int64 segment, Oid *known)
{
	if (a->is_open && a->segment_number == segment)
		return;
	mk_append_close(a, false);
	a->is_open = mk_segment_open(a->topic, a->partition, segment,
								 RowExclusiveLock, known, &a->segment);
	a->segment_number = segment;
	if (a->is_open)
		mk_append_open(a);
}

void
mk_append_close_ahead(MkAppender *a)
{
	mk_append_close(a, false);
}

const MkSegment *
mk_append_segment(const MkAppender *a, int64 segment)
{
	return a->is_open && a->segment_number == segment ? &a->segment : NULL;
}

void
mk_append_start(MkAppender *a, int64 next_offset, TimestampTz ts)
{
	Assert(mk_lock_sequence_is_mine(a->topic->topic_id, a->partition));
	a->next_offset = next_offset;
	a->ts = ts;
}

void
mk_append_take(MkAppender *a, int64 segment, const MkSegment *open)
{
	mk_append_close(a, false);
	a->segment = *open;
	a->segment_number = segment;
	a->is_open = true;
}

void
mk_append_last(const MkAppender *a, int64 *next_offset, TimestampTz *ts,
			   uint32 *file)
{
	Assert(a->is_open);
	*next_offset = a->next_offset;
	*ts = a->ts;
	*file = mk_relation_file(a->segment.pkey);
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

void
mk_append_fill(MkAppender *a, const MkRecord *records, int n)
{
	MemoryContext old = MemoryContextSwitchTo(a->context);

	Assert(n <= MK_APPEND_BATCH);
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
	a->filled = records;
	a->nfilled = n;
}

/*
 * Appends n records, at most MK_APPEND_BATCH, which fit into the open segment.
 */
static void
mk_append_batch(MkAppender *a, const MkRecord *records, int n)
{
	MemoryContext old;

	if (a->filled != records || a->nfilled < n)
		mk_append_fill(a, records, n);
	a->nfilled = 0;
	for (int i = 0; i < n; i++)
	{
		a->slots[i]->tts_values[Anum_record_offset - 1] =
			Int64GetDatum(a->next_offset + i);
		a->slots[i]->tts_values[Anum_record_ts - 1] =
			TimestampTzGetDatum(a->ts);
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
	int64 size = a->topic->segment_records;

	while (n > 0)
	{
		int64 segment = a->next_offset / size;
		int fit = (int) Min(Min(n, MK_APPEND_BATCH),
							(segment + 1) * size - a->next_offset);

		CHECK_FOR_INTERRUPTS();
		if (a->is_open && a->segment_number != segment)
			mk_append_close(a, true);
		if (!a->is_open)
			mk_append_open_ahead(a, segment, NULL);
		if (!a->is_open)
			mk_segment_missing(a->topic, a->partition, segment);
		if (!a->indexes_open)
			mk_append_open(a);
		mk_append_batch(a, records, fit);
		records += fit;
		n -= fit;
	}
	MemoryContextSwitchTo(old);
}

void
mk_append_end(MkAppender *a)
{
	mk_append_close(a, true);
	for (int i = 0; i < a->nslots; i++)
		ExecDropSingleTupleTableSlot(a->slots[i]);
	MemoryContextDelete(a->batch_context);
}
