/*
 * mk_buffer.c
 *		Records that a transaction has sent, kept until it commits.
 *
 * They are in one tuplestore, which spills to disk.  Each subtransaction that
 * is rolled back leaves a range of void records in it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "mk_array.h"
#include "mk_buffer.h"

/*
 * The tuples are those of a segment, with other contents in the columns that a
 * record gets when it is written.
 */
#define Anum_buffer_sequence Anum_record_offset /* NULL: in no batch */
#define Anum_buffer_batch    Anum_record_ts /* NULL: in no batch */
#define Anum_buffer_part     Anum_record_partition

void
mk_buffer_check(const MkBuffer *b)
{
	if (unlikely(b->failed))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("records that this transaction has sent are lost"),
				 errdetail("An error came while they were buffered."),
				 errhint("Roll the transaction back and run it again.")));
}

/* The buffer outlives the portal and the subtransaction that begin it. */
static void
mk_buffer_begin(MkBuffer *b)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ResourceOwner old_owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	b->store = tuplestore_begin_heap(false, false, work_mem);
	CurrentResourceOwner = old_owner;
	MemoryContextSwitchTo(old);
}

void
mk_buffer_put(MkBuffer *b, const MkBuffered *buffered)
{
	const MkRecord *record = &buffered->record;
	bool in_batch = buffered->batch >= 0;
	Datum values[Natts_record];
	bool nulls[Natts_record];
	TupleDesc desc;

	mk_buffer_check(b);
	if (b->store == NULL)
		mk_buffer_begin(b);
	values[Anum_buffer_sequence - 1] = Int64GetDatum(buffered->sequence);
	nulls[Anum_buffer_sequence - 1] = !in_batch;
	values[Anum_buffer_batch - 1] = Int64GetDatum(buffered->batch);
	nulls[Anum_buffer_batch - 1] = !in_batch;
	values[Anum_buffer_part - 1] = Int32GetDatum(buffered->part);
	nulls[Anum_buffer_part - 1] = false;
	values[Anum_record_key - 1] = record->key;
	nulls[Anum_record_key - 1] = record->key_isnull;
	values[Anum_record_value - 1] = record->value;
	nulls[Anum_record_value - 1] = record->value_isnull;
	values[Anum_record_headers - 1] = record->headers;
	nulls[Anum_record_headers - 1] = record->headers_isnull;

	desc = mk_record_desc();
	/* a full disk, say, leaves the tuplestore in no state to go on with */
	b->failed = true;
	tuplestore_putvalues(b->store, desc, values, nulls);
	b->failed = false;
	b->nrecords++;
}

void
mk_buffer_drop(MkBuffer *b, int64 first)
{
	Assert(first >= 0 && first <= b->nrecords);
	if (first == b->nrecords)
		return;

	/* ranges that lie inside are swallowed */
	while (b->nvoid > 0 && b->voids[b->nvoid - 1].first >= first)
		b->nvoid--;
	if (first == 0 && !b->failed)
	{
		tuplestore_clear(b->store);
		b->nrecords = 0;
	}
	else if (b->nvoid > 0 && b->voids[b->nvoid - 1].end == first)
		b->voids[b->nvoid - 1].end = b->nrecords;
	else
	{
		b->voids = mk_array_grow(TopTransactionContext, b->voids, b->nvoid,
								 sizeof(MkBufferRange));
		b->voids[b->nvoid].first = first;
		b->voids[b->nvoid].end = b->nrecords;
		b->nvoid++;
	}
}

void
mk_buffer_close(MkBuffer *b)
{
	if (b->store != NULL)
		tuplestore_end(b->store);
	b->store = NULL;
}

void
mk_buffer_rewind(MkBuffer *b, MkBufferReader *reader)
{
	Assert(b->store != NULL && !b->failed);
	tuplestore_rescan(b->store);
	memset(reader, 0, sizeof(*reader));
}

TupleTableSlot *
mk_buffer_slot(void)
{
	return MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsMinimalTuple);
}

bool
mk_buffer_read(MkBuffer *b, MkBufferReader *reader, TupleTableSlot *slot)
{
	while (tuplestore_gettupleslot(b->store, true, false, slot))
	{
		int64 position = reader->position++;

		while (reader->range < b->nvoid &&
			   position >= b->voids[reader->range].end)
			reader->range++;
		if (reader->range < b->nvoid &&
			position >= b->voids[reader->range].first)
			continue;
		return true;
	}
	return false;
}

void
mk_buffer_get(TupleTableSlot *slot, MkBuffered *buffered)
{
	MkRecord *record = &buffered->record;

	slot_getallattrs(slot);
	if (slot->tts_isnull[Anum_buffer_batch - 1])
	{
		buffered->batch = -1;
		buffered->sequence = 0;
	}
	else
	{
		buffered->batch =
			(int) DatumGetInt64(slot->tts_values[Anum_buffer_batch - 1]);
		buffered->sequence =
			DatumGetInt64(slot->tts_values[Anum_buffer_sequence - 1]);
	}
	buffered->part = DatumGetInt32(slot->tts_values[Anum_buffer_part - 1]);
	record->key = slot->tts_values[Anum_record_key - 1];
	record->key_isnull = slot->tts_isnull[Anum_record_key - 1];
	record->value = slot->tts_values[Anum_record_value - 1];
	record->value_isnull = slot->tts_isnull[Anum_record_value - 1];
	record->headers = slot->tts_values[Anum_record_headers - 1];
	record->headers_isnull = slot->tts_isnull[Anum_record_headers - 1];
}

Size
mk_buffer_size(TupleTableSlot *slot)
{
	Assert(slot->tts_ops == &TTSOpsMinimalTuple);
	return ((MinimalTupleTableSlot *) slot)->mintuple->t_len;
}
