/*
 * mk_outgoing.c
 *		What the transaction is going to send: to which topics and partitions,
 *		and in which levels of subtransactions.
 *
 * The stack of levels tells where the records of each subtransaction begin in
 * the buffer, and how many it has sent to each partition, as async.c does for
 * its notifications.  A level is made when a subtransaction first sends
 * something.
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "mk_array.h"
#include "mk_outgoing.h"
#include "mk_xact.h"

static MkOutgoing *mk_current = NULL;

MkOutgoing *
mk_outgoing_get(void)
{
	return mk_current;
}

MkOutgoing *
mk_outgoing_begin(void)
{
	int nesting = GetCurrentTransactionNestLevel();
	MkOutgoing *out = mk_current;
	MkOutgoingLevel *level;

	if (out == NULL)
	{
		mk_xact_begin_use();
		out = mk_current =
			MemoryContextAllocZero(TopTransactionContext, sizeof(MkOutgoing));
	}
	if (out->level != NULL && out->level->nesting == nesting)
		return out;

	Assert(out->level == NULL || out->level->nesting < nesting);
	level =
		MemoryContextAllocZero(TopTransactionContext, sizeof(MkOutgoingLevel));
	level->upper = out->level;
	level->nesting = nesting;
	level->first_record = out->buffer.nrecords;
	out->level = level;
	return out;
}

MkTopicSends *
mk_outgoing_topic(MkOutgoing *out, MkTopic *topic)
{
	MkTopicSends *t = out->last_topic;
	ListCell *lc;
	MemoryContext old;

	if (likely(t != NULL && t->topic == topic))
		return t;

	foreach (lc, out->topics)
	{
		t = lfirst(lc);
		if (t->topic == topic)
		{
			out->last_topic = t;
			return t;
		}
	}

	old = MemoryContextSwitchTo(TopTransactionContext);
	t = palloc0(sizeof(MkTopicSends));
	t->topic = topic;
	t->sticky = -1;
	out->topics = lappend(out->topics, t);
	out->last_topic = t;
	MemoryContextSwitchTo(old);
	return t;
}

int
mk_outgoing_part(MkOutgoing *out, MkTopic *topic, int32 partition)
{
	MkTopicSends *t = mk_outgoing_topic(out, topic);
	MkPartitionSends *part;

	if (unlikely(partition >= t->npartitions))
	{
		int n = Max(topic->npartitions, partition + 1);

		t->part = t->part == NULL
			? MemoryContextAlloc(TopTransactionContext, n * sizeof(int))
			: repalloc(t->part, n * sizeof(int));
		while (t->npartitions < n)
			t->part[t->npartitions++] = -1;
	}
	if (likely(t->part[partition] >= 0))
		return t->part[partition];

	out->parts = mk_array_grow(TopTransactionContext, out->parts, out->nparts,
							   sizeof(MkPartitionSends));
	part = &out->parts[out->nparts];
	memset(part, 0, sizeof(*part));
	part->topic = topic;
	part->topic_id = topic->topic_id;
	part->partition = partition;
	t->part[partition] = out->nparts;
	return out->nparts++;
}

static void
mk_outgoing_add_batch(MkOutgoing *out, MkSequencedBatch *batch, int part)
{
	out->batches = mk_array_grow(TopTransactionContext, out->batches,
								 out->nbatches, sizeof(MkSequencedBatch *));
	batch->index = out->nbatches;
	batch->part = part;
	out->batches[out->nbatches++] = batch;
}

void
mk_outgoing_put(MkTopic *topic, int32 partition, const MkRecord *record,
				MkSequencedBatch *batch, int64 sequence)
{
	MkOutgoing *out = mk_outgoing_begin();
	MkOutgoingLevel *level = out->level;
	int part = mk_outgoing_part(out, topic, partition);
	MkBuffered buffered = {
		.record = *record, .part = part, .batch = -1, .sequence = sequence};

	mk_buffer_check(&out->buffer);
	if (batch != NULL)
	{
		if (batch->index < 0)
			mk_outgoing_add_batch(out, batch, part);
		Assert(out->batches[batch->index] == batch && batch->part == part);
		buffered.batch = batch->index;
	}
	if (unlikely(part >= level->ncounts))
	{
		int n = Max(8, 2 * part);

		level->counts = level->counts == NULL
			? MemoryContextAlloc(TopTransactionContext, n * sizeof(int64))
			: repalloc(level->counts, n * sizeof(int64));
		while (level->ncounts < n)
			level->counts[level->ncounts++] = 0;
	}
	mk_buffer_put(&out->buffer, &buffered);
	level->counts[part]++;
}

int64
mk_outgoing_count(const MkOutgoing *out, int part)
{
	int64 n = 0;

	for (MkOutgoingLevel *level = out->level; level != NULL;
		 level = level->upper)
		if (part < level->ncounts)
			n += level->counts[part];
	return n;
}

/* ---------------------------------------------------------------------------
 * Subtransactions
 */

/* Gives what a level has sent to the level above. */
void
mk_outgoing_subxact_commit(int nesting)
{
	MkOutgoing *out = mk_current;
	MkOutgoingLevel *level = out != NULL ? out->level : NULL;
	MkOutgoingLevel *upper;

	if (level == NULL || level->nesting < nesting)
		return;
	Assert(level->nesting == nesting);
	upper = level->upper;
	nesting--;

	for (int i = 0; i < out->nparts; i++)
		if (out->parts[i].append_level > nesting)
			out->parts[i].append_level = nesting;

	if (upper == NULL || upper->nesting < nesting)
	{
		level->nesting = nesting;
		return;
	}
	/* the longer array stays */
	if (upper->ncounts < level->ncounts)
	{
		int64 *counts = upper->counts;
		int n = upper->ncounts;

		upper->counts = level->counts;
		upper->ncounts = level->ncounts;
		level->counts = counts;
		level->ncounts = n;
	}
	for (int i = 0; i < level->ncounts; i++)
		upper->counts[i] += level->counts[i];
	if (level->counts != NULL)
		pfree(level->counts);
	out->level = upper;
	pfree(level);
}

/* Makes what a level has sent void. */
void
mk_outgoing_subxact_abort(int nesting)
{
	MkOutgoing *out = mk_current;
	MkOutgoingLevel *level = out != NULL ? out->level : NULL;

	if (level == NULL || level->nesting < nesting)
		return;
	Assert(level->nesting == nesting);

	for (int i = 0; i < out->nparts; i++)
		if (out->parts[i].append_level >= nesting)
			out->parts[i].append_level = 0;
	out->is_reading = false;
	mk_buffer_drop(&out->buffer, level->first_record);
	out->level = level->upper;
	if (level->counts != NULL)
		pfree(level->counts);
	pfree(level);
}

bool
mk_outgoing_is_empty(void)
{
	MkOutgoing *out = mk_current;

	for (int i = 0; out != NULL && i < out->nparts; i++)
		if (out->parts[i].append_level > 0 || mk_outgoing_count(out, i) > 0)
			return false;
	return true;
}

void
mk_outgoing_end(bool committed)
{
	mk_current = NULL;
}
