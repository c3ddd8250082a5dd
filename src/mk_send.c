/*
 * mk_send.c
 *		Records that a transaction sends.
 *
 * A call checks the record against its topic's contract and puts it into the
 * transaction's buffer (see mk_outgoing.h).  Only append() takes a lock that
 * other sessions wait for.
 *
 * The file takes part in the three passes of the commit (see mk_xact.c):
 *
 * - Before any lock, it checks records again whose topic's contract has
 *	 changed.
 * - In the first pass it finds out which records are repeats, and to which
 *	 partitions there is something to write.
 * - In the second, when everything else of the transaction has been written, it
 *	 prepares all that it can: it reads the records, and opens the table that they
 *	 will probably go to.  Only then does it take the sequencing locks of the
 *	 partitions, in ascending order.  It makes the segments that are needed, and
 *	 writes the records, at the tail of each partition.
 * - In the third it takes the in-flight locks, to the end of the transaction,
 *	 and releases the sequencing locks, before the WAL is flushed.
 *
 * The third pass keeps the sequencing lock of a partition to the end if other
 * sessions could not go on yet: if the transaction wrote into a segment that it
 * made itself; and in a SERIALIZABLE transaction, which can still fail.
 * append() took the lock at the call, so the transaction still holds it.
 *
 * A failure after the second pass leaves the offsets free, unless a later
 * transaction has taken higher ones by then: that leaves a hole, over which
 * readers step.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "mk_buffer.h"
#include "mk_clock.h"
#include "mk_contract.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_outgoing.h"
#include "mk_send.h"
#include "mk_sent.h"
#include "mk_stale.h"
#include "mk_tail.h"
#include "mk_wakeup.h"
#include "mk_xact.h"

/* While records are written: at most so many bytes at once, and one record. */
#define MK_CHUNK_BYTES (256 * 1024)

int32
mk_send_sticky_partition(MkTopic *topic)
{
	MkTopicSends *t = mk_outgoing_topic(mk_outgoing_begin(), topic);

	if (t->sticky < 0 || t->sticky >= topic->npartitions)
	{
		if (topic->sticky == 0)
			topic->sticky = (uint32) MyProcPid;
		t->sticky = topic->sticky++ % topic->npartitions;
	}
	return t->sticky;
}

/* ---------------------------------------------------------------------------
 * Sending
 */

/*
 * Gets the contract of a topic as it is now.  If it is another one than before,
 * the records that were checked against that are to be checked again.
 */
static void
mk_send_get_contract(MkTopicSends *t)
{
	uint64 version;

	if (likely(t->topic->valid && !t->topic->has_contract &&
			   t->contract == NULL))
		return;
	version = mk_contract_version(t->contract);
	mk_contract_get(t->topic, &t->contract);
	if (t->sent && mk_contract_version(t->contract) != version)
		t->recheck = true;
}

void
mk_send_check_record(MkTopic *topic, int32 partition, const MkRecord *record)
{
	MkTopicSends *t = mk_outgoing_topic(mk_outgoing_begin(), topic);

	mk_send_get_contract(t);
	if (unlikely(t->contract != NULL))
		mk_contract_check(t->contract, partition, record);
	t->sent = true;
}

void
mk_send_record(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence)
{
	mk_send_check_record(topic, partition, record);
	mk_outgoing_put(topic, partition, record, batch, sequence);
}

/*
 * The offset that the next record will have.  Takes the sequencing lock, to the
 * end of the transaction.
 */
static int64
mk_send_next_offset(MkTopic *topic, int32 partition)
{
	MkOutgoing *out = mk_outgoing_begin();
	int part = mk_outgoing_part(out, topic, partition);
	int32 topic_id = out->parts[part].topic_id;

	/*
	 * A lock that was taken in a subtransaction went with it; and so long as
	 * it is held, the tail that was found then holds, also when a transaction
	 * that was still committing fails.
	 */
	if (out->parts[part].append_level == 0)
	{
		MkTail tail;
		ResourceOwner owner = CurrentResourceOwner;

		mk_stale_before_append(topic, partition);
		/* as long-lived as the level, also where a portal is not */
		CurrentResourceOwner = CurTransactionResourceOwner;
		if (!mk_tail_lock_try(topic->relid, topic_id, partition))
			mk_tail_lock(topic->relid, topic_id, partition);
		CurrentResourceOwner = owner;
		mk_catalog_check_topic(topic, topic_id);
		mk_log_tail(topic, partition, NULL, &tail);
		mk_log_tail_close(&tail);
		out->parts[part].append_tail = tail;
		out->parts[part].append_level = out->level->nesting;
	}
	return out->parts[part].append_tail.next_offset +
		mk_outgoing_count(out, part);
}

int64
mk_send_append(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence)
{
	int64 offset;

	/* first, since it may run owner's code */
	mk_send_check_record(topic, partition, record);
	offset = mk_send_next_offset(topic, partition);
	mk_outgoing_put(topic, partition, record, batch, sequence);
	return offset;
}

bool
mk_send_is_appended(const MkSequencedBatch *batch)
{
	return batch->index >= 0 &&
		mk_outgoing_get()->parts[batch->part].append_level > 0;
}

/* Reads on, up to the record of this sequence, or the position "end". */
static bool
mk_send_read_to(MkOutgoing *out, const MkSequencedBatch *batch, int64 sequence,
				int64 end, TupleTableSlot *slot, MkBuffered *buffered)
{
	while (out->reader.position < end &&
		   mk_buffer_read(&out->buffer, &out->reader, slot))
	{
		CHECK_FOR_INTERRUPTS();
		mk_buffer_get(slot, buffered);
		if (buffered->batch >= 0 && out->batches[buffered->batch] == batch &&
			buffered->sequence == sequence)
			return true;
	}
	return false;
}

bool
mk_send_is_same(const MkSequencedBatch *batch, int64 sequence,
				const MkRecord *record)
{
	MkOutgoing *out = mk_outgoing_get();
	bool same = true;
	bool found = false;
	int64 begun;
	MkBuffered former;
	TupleTableSlot *slot;

	if (out == NULL)
		return true;
	mk_buffer_check(&out->buffer);
	if (out->buffer.store == NULL)
		return true;
	slot = mk_buffer_slot();

	/* repeats mostly come in order: from where the last one was */
	begun = out->is_reading ? out->reader.position : 0;
	out->is_reading = false; /* if it fails */
	if (begun > 0)
		found = mk_send_read_to(out, batch, sequence, out->buffer.nrecords,
								slot, &former);
	if (!found)
	{
		mk_buffer_rewind(&out->buffer, &out->reader);
		found = mk_send_read_to(out, batch, sequence,
								begun > 0 ? begun : out->buffer.nrecords, slot,
								&former);
	}
	out->is_reading = found;
	if (found)
		same = mk_scan_is_same(&former.record, record);
	ExecDropSingleTupleTableSlot(slot);
	return same;
}

/* ---------------------------------------------------------------------------
 * Committing
 */

/*
 * Checks records again if their topic's contract has changed.  Holds no lock
 * that other sessions wait for, since it runs owner's code.
 */
static void
mk_send_recheck(MkOutgoing *out)
{
	bool recheck = false;
	TupleTableSlot *slot;
	MkBufferReader reader;
	ListCell *lc;

	if (out->buffer.nrecords == 0)
		return;
	AcceptInvalidationMessages();
	foreach (lc, out->topics)
	{
		MkTopicSends *t = lfirst(lc);

		mk_send_get_contract(t);
		recheck |= t->recheck && t->contract != NULL;
	}
	if (likely(!recheck))
		return;

	slot = mk_buffer_slot();
	mk_buffer_rewind(&out->buffer, &reader);
	while (mk_buffer_read(&out->buffer, &reader, slot))
	{
		MkBuffered buffered;
		const MkPartitionSends *part;
		MkTopicSends *t;

		CHECK_FOR_INTERRUPTS();
		mk_buffer_get(slot, &buffered);
		part = &out->parts[buffered.part];
		t = mk_outgoing_topic(out, part->topic);
		if (t->recheck && t->contract != NULL)
			mk_contract_check(t->contract, part->partition, &buffered.record);
	}
	ExecDropSingleTupleTableSlot(slot);
}

static void
mk_send_check(void)
{
	MkOutgoing *out = mk_outgoing_get();

	if (out == NULL)
		return;
	mk_buffer_check(&out->buffer);
	mk_send_recheck(out);
	for (int i = 0; i < out->nparts; i++)
		if (mk_outgoing_count(out, i) > 0)
			mk_stale_before_append(out->parts[i].topic,
								   out->parts[i].partition);
}

/* The sequencing lock and the in-flight lock of each partition. */
static int64
mk_send_count_locks(void)
{
	const MkOutgoing *out = mk_outgoing_get();

	return out != NULL ? 2 * (int64) out->nparts : 0;
}

static bool
mk_batch_is_repeat(const MkSequencedBatch *batch, int64 sequence)
{
	return batch->repeated > 0 && sequence <= batch->through;
}

/* Hands over records that turned out to be repeats: mostly there are none. */
static void
mk_send_check_repeats(MkOutgoing *out)
{
	bool any = false;
	MkBufferReader reader;
	TupleTableSlot *slot;
	MemoryContext context;
	MemoryContext old;

	for (int i = 0; i < out->nbatches; i++)
		any = any || out->batches[i]->repeated > 0;
	if (!any)
		return;
	slot = mk_buffer_slot();
	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka repeat",
									ALLOCSET_DEFAULT_SIZES);
	mk_buffer_rewind(&out->buffer, &reader);
	while (mk_buffer_read(&out->buffer, &reader, slot))
	{
		MkBuffered buffered;
		MkSequencedBatch *batch;

		CHECK_FOR_INTERRUPTS();
		mk_buffer_get(slot, &buffered);
		if (buffered.batch < 0)
			continue;
		batch = out->batches[buffered.batch];
		if (!mk_batch_is_repeat(batch, buffered.sequence))
			continue;
		old = MemoryContextSwitchTo(context);
		batch->repeat(batch, buffered.sequence, &buffered.record);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	ExecDropSingleTupleTableSlot(slot);
}

static int
mk_compare_parts(const void *a, const void *b)
{
	const MkPartitionSends *pa = *(MkPartitionSends *const *) a;
	const MkPartitionSends *pb = *(MkPartitionSends *const *) b;

	if (pa->topic_id != pb->topic_id)
		return pa->topic_id < pb->topic_id ? -1 : 1;
	return pa->partition - pb->partition;
}

/* Finds the parts that have live records to write, in order. */
static void
mk_send_order_parts(MkOutgoing *out)
{
	out->locked = palloc(out->nparts * sizeof(MkPartitionSends *));
	out->nlocked = 0;
	for (int i = 0; i < out->nparts; i++)
		out->parts[i].records = mk_outgoing_count(out, i);
	for (int i = 0; i < out->nbatches; i++)
		out->parts[out->batches[i]->part].records -= out->batches[i]->repeated;
	for (int i = 0; i < out->nparts; i++)
	{
		Assert(out->parts[i].records >= 0);
		if (out->parts[i].records > 0)
			out->locked[out->nlocked++] = &out->parts[i];
	}
	if (out->nlocked > 1)
		qsort(out->locked, out->nlocked, sizeof(MkPartitionSends *),
			  mk_compare_parts);
}

/* Checks all that other sessions need not wait for. */
static void
mk_send_lock(void)
{
	MkOutgoing *out = mk_outgoing_get();

	if (out == NULL)
		return;
	mk_send_check_repeats(out);
	mk_send_order_parts(out);
}

/* A part of the records, read from the buffer. */
typedef struct MkChunk
{
	MkBufferReader reader;
	bool more; /* there may be more in the buffer */
	int room;
	int nslots;
	TupleTableSlot **slots;
	int n;
	MkRecord *records;
	int *next; /* the next record of the same partition, -1: none */
	MkBuffered *buffered;
	MkRecord *run; /* the records of one partition, if there are several */
} MkChunk;

static void
mk_chunk_begin(MkOutgoing *out, MkChunk *c)
{
	c->room = (int) Min(out->buffer.nrecords, MK_APPEND_BATCH);
	c->nslots = 0;
	c->slots = palloc(c->room * sizeof(TupleTableSlot *));
	c->records = palloc(c->room * sizeof(MkRecord));
	c->next = palloc(c->room * sizeof(int));
	c->buffered = palloc(c->room * sizeof(MkBuffered));
	c->run = out->nlocked > 1 ? palloc(c->room * sizeof(MkRecord)) : NULL;
	c->more = true;
	mk_buffer_rewind(&out->buffer, &c->reader);
}

/* Reads the next records, and deals them out to the partitions. */
static void
mk_chunk_read(MkOutgoing *out, MkChunk *c)
{
	Size bytes = 0;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < out->nlocked; i++)
		out->locked[i]->first = -1;
	for (int i = 0; i < c->n; i++)
		ExecClearTuple(c->slots[i]);
	c->n = 0;
	while (c->n < c->room && bytes < MK_CHUNK_BYTES)
	{
		int n = c->n;
		MkBuffered *buffered = &c->buffered[n];
		MkPartitionSends *part;

		if (n == c->nslots)
			c->slots[c->nslots++] = mk_buffer_slot();
		c->more = mk_buffer_read(&out->buffer, &c->reader, c->slots[n]);
		if (!c->more)
			break;
		mk_buffer_get(c->slots[n], buffered);
		if (buffered->batch >= 0 &&
			mk_batch_is_repeat(out->batches[buffered->batch],
							   buffered->sequence))
			continue;
		c->records[n] = buffered->record;
		bytes += mk_buffer_size(c->slots[n]);
		part = &out->parts[buffered->part];
		if (part->first < 0)
			part->first = n;
		else
			c->next[part->last] = n;
		part->last = n;
		c->next[n] = -1;
		c->n++;
	}
}

/* Gives the records of a chunk their offsets, and writes them. */
static void
mk_chunk_write(MkOutgoing *out, MkChunk *c)
{
	for (int i = 0; i < c->n; i++)
	{
		const MkBuffered *buffered = &c->buffered[i];
		int64 offset = out->parts[buffered->part].next_offset++;

		if (buffered->batch >= 0)
		{
			MkSequencedBatch *batch = out->batches[buffered->batch];

			batch->placed(batch, buffered->sequence, offset);
		}
	}
	if (out->nlocked == 1)
	{
		mk_append_records(out->locked[0]->appender, c->records, c->n);
		return;
	}
	for (int i = 0; i < out->nlocked; i++)
	{
		int nrun = 0;

		for (int j = out->locked[i]->first; j >= 0; j = c->next[j])
			c->run[nrun++] = c->records[j];
		mk_append_records(out->locked[i]->appender, c->run, nrun);
	}
}

/*
 * Does all that can be done before the first lock is taken, so that other sessions
 * do not wait for it.
 */
static void
mk_send_prepare(MkOutgoing *out, MkChunk *c)
{
	(void) GetCurrentTransactionId();
	for (int i = 0; i < out->nlocked; i++)
	{
		MkPartitionSends *part = out->locked[i];

		part->appender =
			mk_append_begin(part->topic, part->partition,
							mk_outgoing_topic(out, part->topic)->contract);
		mk_wakeup_at_end(mk_wakeup_partition(part->topic_id, part->partition));
	}
	mk_chunk_begin(out, c);
	mk_chunk_read(out, c);
	if (out->nlocked == 1 && c->n > 0)
	{
		MkPartitionSends *part = out->locked[0];

		mk_catalog_check_topic(part->topic, part->topic_id);
		mk_append_fill(part->appender, c->records, c->n);
		mk_log_append_ahead(part->topic, part->partition, part->appender);
	}
}

static void
mk_send_lock_part(MkPartitionSends *part)
{
	Oid relid = part->topic->relid;

	/*
	 * A session that has the lock may be going to lock the tables too, so this
	 * one must not wait for it while it holds a lock on a table.
	 */
	if (!mk_tail_lock_try(relid, part->topic_id, part->partition))
	{
		mk_append_close_ahead(part->appender);
		mk_tail_lock(relid, part->topic_id, part->partition);
	}
	mk_catalog_check_topic(part->topic, part->topic_id);
	if (part->append_level > 0)
		part->tail = part->append_tail;
	else
		mk_log_tail(part->topic, part->partition, part->appender, &part->tail);
	part->made_segment =
		mk_log_reserve(part->topic, part->partition, part->appender,
					   &part->tail, part->records);
	mk_log_make_ahead(part->topic, part->partition,
					  part->tail.next_offset + part->records - 1,
					  MK_MAKE_IN_PASSING);
}

static void
mk_send_take_locks(MkOutgoing *out)
{
	for (int i = 0; i < out->nlocked; i++)
	{
		mk_send_lock_part(out->locked[i]);
		if (out->nlocked > 1)
			mk_log_tail_close(&out->locked[i]->tail);
	}

	/*
	 * The tails may have gone back while this waited for the later locks, if
	 * a transaction failed that was committing.  And so that a session that
	 * locks the tables of the topic in turn comes before this one or after it,
	 * take theirs in order.
	 */
	for (int i = 0; out->nlocked > 1 && i < out->nlocked; i++)
		if (out->locked[i]->append_level == 0)
			mk_log_tail(out->locked[i]->topic, out->locked[i]->partition,
						out->locked[i]->appender, &out->locked[i]->tail);
}

/*
 * Reads the buffer once; each chunk is dealt out to the partitions.  The first one
 * has been read.
 */
static void
mk_send_write_records(MkOutgoing *out, MkChunk *c)
{
	TimestampTz now = mk_clock_now();

	for (int i = 0; i < out->nlocked; i++)
	{
		MkPartitionSends *part = out->locked[i];

		Assert(mk_lock_sequence_is_mine(part->topic_id, part->partition));
		part->next_offset = part->tail.next_offset;
		mk_log_append_start(part->topic, part->partition, part->appender,
							&part->tail, now);
	}
	for (;;)
	{
		mk_chunk_write(out, c);
		if (!c->more)
			break;
		mk_chunk_read(out, c);
	}
	for (int i = 0; i < out->nlocked; i++)
		mk_log_append_done(out->locked[i]->topic, out->locked[i]->partition,
						   out->locked[i]->appender, &out->locked[i]->tail);
}

static void
mk_send_write(void)
{
	MkOutgoing *out = mk_outgoing_get();
	MkChunk chunk = {0};

	if (out == NULL || out->nlocked == 0)
		return;
	mk_send_prepare(out, &chunk);
	mk_send_take_locks(out);
	mk_send_write_records(out, &chunk);
	for (int i = 0; i < out->nbatches; i++)
		out->batches[i]->done(out->batches[i]);
	for (int i = 0; i < out->nlocked; i++)
	{
		const MkPartitionSends *part = out->locked[i];

		Assert(part->next_offset == part->tail.next_offset + part->records);
		mk_sent_add(&part->topic->name, part->partition, part->tail.next_offset,
					part->records);
	}
	out->slots = chunk.slots;
	out->nslots = chunk.nslots;
}

static void
mk_send_let_go(void)
{
	MkOutgoing *out = mk_outgoing_get();

	if (out == NULL)
		return;
	for (int i = 0; i < out->nlocked; i++)
		mk_lock_in_flight(out->locked[i]->topic_id, out->locked[i]->partition);
	for (int i = 0; i < out->nlocked; i++)
		if (!out->locked[i]->made_segment && !IsolationIsSerializable())
			mk_tail_unlock(out->locked[i]->topic->relid,
						   out->locked[i]->topic_id, out->locked[i]->partition);
	for (int i = 0; i < out->nlocked; i++)
		mk_append_end(out->locked[i]->appender);
	for (int i = 0; i < out->nslots; i++)
		ExecDropSingleTupleTableSlot(out->slots[i]);
}

static void
mk_send_close(void)
{
	MkOutgoing *out = mk_outgoing_get();

	if (out != NULL)
		mk_buffer_close(&out->buffer);
}

static const MkParticipant mk_send_participant = {
	.subxact_commit = mk_outgoing_subxact_commit,
	.subxact_abort = mk_outgoing_subxact_abort,
	.is_empty = mk_outgoing_is_empty,
	.check = mk_send_check,
	.count_locks = mk_send_count_locks,
	.lock = mk_send_lock,
	.write = mk_send_write,
	.let_go = mk_send_let_go,
	.close = mk_send_close,
	.end = mk_outgoing_end,
};

void
mk_send_init(void)
{
	mk_xact_add_participant(&mk_send_participant);
}
