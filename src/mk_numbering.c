/*
 * mk_numbering.c
 *		Records that producers have numbered: sequences and repeats.
 *
 * A producer numbers its records to each partition from 0 in each epoch.  A
 * call checks its sequence against what is committed and what the transaction
 * has sent before.  While the transaction commits, it holds the locks of its
 * producers (see mk_producer.c), and checks again: a session that waited for
 * another one, which sent the same records, finds them there, leaves its own
 * out, and reports the offsets of those.  The transaction that sends records
 * writes the rows about their sequences.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_numbering.h"
#include "mk_producer.h"
#include "mk_send.h"
#include "mk_sent.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* A sequence that append() has sent, and the offset that it returned. */
typedef struct MkAppended
{
	int64 sequence;
	int64 offset;
} MkAppended;

/* What a producer sends to a partition, in one epoch. */
typedef struct MkOutput
{
	MkSequencedBatch batch; /* the first, see mk_batch_output */
	MkProducerUse *use;
	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int32 epoch;
	int nappended;
	MkAppended *appended;
	int64 last_offset; /* of what it had sent before, -1: it had sent nothing */

	/* last_sequence < first_sequence: none */
	MkProducerRun run; /* that is being written */
	MkProducerRun former; /* that repeats are being compared with */
} MkOutput;

/* The sequences that the transaction sends. */
typedef struct MkDeferredOutput
{
	MkOutput *output;
	int64 first;
	int64 last;
} MkDeferredOutput;

/* Repeats whose offsets follow each other. */
typedef struct MkRepeatRun
{
	int64 base_offset;
	int64 records;
} MkRepeatRun;

/*
 * Repeats that were known at the call, in a partition.  The runs only grow,
 * and the deferred actions of all savepoints share them; each knows how many
 * are its.
 */
typedef struct MkRepeats
{
	NameData topic;
	int32 topic_id;
	int32 partition;
	MkRepeatRun *runs;
} MkRepeats;

typedef struct MkDeferredRepeats
{
	MkRepeats *repeats;
	int nruns;
	int64 last_records; /* of the last run */
} MkDeferredRepeats;

/* The output whose records the batch holds. */
static MkOutput *
mk_batch_output(MkSequencedBatch *batch)
{
	StaticAssertStmt(offsetof(MkOutput, batch) == 0, "batch comes first");
	return (MkOutput *) batch;
}

static void
mk_out_of_order(const MkOutput *o, int64 sequence, int64 last)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
			 errmsg("sequence " INT64_FORMAT
					" out of order, expected " INT64_FORMAT,
					sequence, last + 1),
			 errdetail("Producer \"%s\", epoch %d, partition %d of topic "
					   "\"%s\".",
					   o->use->producer, o->epoch, o->partition,
					   NameStr(o->topic->name)),
			 last < 0
				 ? errhint("Sequences begin at 0 in each epoch, and again when "
						   "minikafka.producer_expiry has passed.")
				 : errhint("A send was lost, or came out of order; "
						   "minikafka.producer_state() tells the last "
						   "sequences.")));
}

/* ---------------------------------------------------------------------------
 * What producers send
 */

/* What is known of an output: its last run, as it is stored. */
typedef struct MkKnown
{
	int64 last; /* the last sequence that counts, -1: none */
	int64 last_offset; /* of the run, even if it does not count; -1: none */
	bool expired; /* the run does not count */
	int64 lost_from; /* the log's tail, if the run goes beyond; else -1 */
} MkKnown;

/*
 * Looks up what is known of an output.  "next" is the sequence that the caller
 * is going to send.  Where that would be a repeat, a sequence counts only if
 * the log still has its record: see mk_stale.c.
 */
static void
mk_known(const MkProducerRow *producer, const MkOutput *o, int64 next,
		 MkKnown *known)
{
	MkProducerRun row;
	bool found =
		mk_producer_rows_last_near(producer->producer_id, o->topic_id,
								   o->partition, o->epoch, next - 1, &row);

	known->last = known->last_offset = known->lost_from = -1;
	known->expired = found && mk_producer_rows_has_expired(&row);
	if (!found || known->expired)
		return;
	known->last_offset = mk_producer_rows_last_offset(&row);
	if (row.epoch == o->epoch && row.last_sequence >= next)
	{
		int64 tail = mk_log_next_offset(o->topic, o->partition);

		if (known->last_offset >= tail)
		{
			known->lost_from = tail;
			found = mk_producer_rows_last_below(
				producer->producer_id, o->topic_id, o->partition, tail, &row);
		}
	}
	if (found && row.epoch == o->epoch)
		known->last = row.last_sequence;
}

static bool
mk_run_has(const MkProducerRun *run, int64 sequence)
{
	return sequence >= run->first_sequence && sequence <= run->last_sequence;
}

static int64
mk_run_offset(const MkProducerRun *run, int64 sequence)
{
	return run->first_offset + (sequence - run->first_sequence);
}

static uint64
mk_output_tag(const void *deferred)
{
	const MkOutput *o = ((const MkDeferredOutput *) deferred)->output;

	return hash_combine64(mk_lock_producer_tag(o->use->producer),
						  ((uint64) o->topic_id << 32) | (uint32) o->partition);
}

static bool
mk_output_same(const void *a, const void *b)
{
	const MkOutput *oa = ((const MkDeferredOutput *) a)->output;
	const MkOutput *ob = ((const MkDeferredOutput *) b)->output;

	return oa->topic_id == ob->topic_id && oa->partition == ob->partition &&
		oa->epoch == ob->epoch &&
		strcmp(oa->use->producer, ob->use->producer) == 0;
}

/* Finds which of the sequences are repeats; the producer is locked. */
static void
mk_output_lock(void *deferred)
{
	MkDeferredOutput *d = deferred;
	MkOutput *o = d->output;
	const MkProducerRow *producer = &o->use->row;
	int64 last;
	MkKnown known;

	Assert(mk_lock_producer_is_mine(o->use->producer));
	mk_catalog_check_topic(o->topic, o->topic_id);
	/* this transaction has begun all epochs after the former one */
	if (o->epoch < o->use->former_epoch || o->epoch > producer->epoch)
		mk_producer_fence(o->use->producer, o->epoch, producer->epoch);
	mk_known(producer, o, d->first, &known);
	last = known.last;
	if (last < d->first - 1)
		mk_out_of_order(o, d->first, last);
	o->batch.repeated = Min(last, d->last) - (d->first - 1);
	o->batch.through = last;
	if (o->batch.repeated > 0 && mk_send_is_appended(&o->batch))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("another session has sent sequence " INT64_FORMAT
						" of producer \"%s\"",
						d->first, o->use->producer),
				 errdetail("So minikafka.append() to partition %d of topic "
						   "\"%s\" has returned an offset that does not hold.",
						   o->partition, NameStr(o->topic->name)),
				 errhint("Run the transaction again.")));

	/* sequences begin at 0 again, so the rows of the same keys must go */
	if (known.expired)
		mk_producer_rows_delete(producer->producer_id, o->topic_id,
								o->partition);
	if (known.lost_from >= 0)
		mk_producer_rows_forget(producer->producer_id, o->topic_id,
								o->partition, known.lost_from);
	else
		o->last_offset = known.last_offset;
}

/* Adds the original offsets of repeats to what last_sent() returns. */
static void
mk_output_write(void *deferred)
{
	MkDeferredOutput *d = deferred;
	MkOutput *o = d->output;
	int64 sequence = d->first;
	int64 end = d->first + o->batch.repeated;
	MkProducerRun row;

	while (sequence < end &&
		   mk_producer_rows_find(o->use->row.producer_id, o->topic_id,
								 o->partition, o->epoch, sequence, &row))
	{
		int64 count = Min(row.last_sequence - sequence + 1, end - sequence);

		mk_sent_add(&o->topic->name, o->partition,
					mk_run_offset(&row, sequence), count);
		sequence += count;
	}
}

static const MkDeferredKind mk_output_kind = {
	.rank = MK_RANK_OUTPUT,
	.tag = mk_output_tag,
	.same = mk_output_same,
	.lock = mk_output_lock,
	.write = mk_output_write,
	.discard = pfree,
};

/*
 * Raises MK045: the sequence belongs to another record, at this offset, or of
 * this transaction if that is -1.
 */
static void
mk_other_content(const MkOutput *o, int64 sequence, int64 offset)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
			 errmsg("sequence " INT64_FORMAT
					" of producer \"%s\" was sent before with another key or "
					"value",
					sequence, o->use->producer),
			 offset < 0
				 ? errdetail("This transaction has sent it to partition %d of "
							 "topic \"%s\".",
							 o->partition, NameStr(o->topic->name))
				 : errdetail("The record at offset " INT64_FORMAT
							 " of partition %d of topic \"%s\" has it.",
							 offset, o->partition, NameStr(o->topic->name)),
			 errhint("A producer that begins at 0 again calls "
					 "minikafka.init_producer() first; one that goes on asks "
					 "minikafka.producer_state().")));
}

/* For mk_compare_content, a MkLogSink. */
typedef struct MkComparison
{
	const MkRecord *record;
	bool same;
} MkComparison;

static bool
mk_compare_content(const MkLogRecord *former, void *arg)
{
	MkComparison *c = arg;

	c->same = mk_scan_is_same(&former->record, c->record);
	return true;
}

/* Raises MK045 if the log still has the record, and it is another one. */
static void
mk_check_content(const MkOutput *o, int64 sequence, int64 offset,
				 const MkRecord *record)
{
	MkComparison c = {.record = record, .same = true};

	(void) mk_log_get(o->topic, o->partition, offset, mk_compare_content, &c);
	if (!c.same)
		mk_other_content(o, sequence, offset);
}

/* A batch's "repeat": compares the record with the one in the log. */
static void
mk_output_repeat(MkSequencedBatch *batch, int64 sequence,
				 const MkRecord *record)
{
	MkOutput *o = mk_batch_output(batch);

	if (mk_run_has(&o->former, sequence) ||
		mk_producer_rows_find(o->use->row.producer_id, o->topic_id,
							  o->partition, o->epoch, sequence, &o->former))
		mk_check_content(o, sequence, mk_run_offset(&o->former, sequence),
						 record);
}

/* A batch's "done": stores the run that is being written. */
static void
mk_output_done(MkSequencedBatch *batch)
{
	MkOutput *o = mk_batch_output(batch);

	if (o->run.last_sequence < o->run.first_sequence)
		return;
	Assert(mk_lock_producer_is_mine(o->use->producer));
	mk_producer_rows_put(o->use->row.producer_id, o->topic_id, o->partition,
						 &o->run);
	o->run.last_sequence = o->run.first_sequence - 1;
}

/* A batch's "placed": adds to the run, or begins another one. */
static void
mk_output_placed(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkOutput *o = mk_batch_output(batch);
	MkProducerRun *run = &o->run;

	if (run->last_sequence >= run->first_sequence &&
		offset - run->first_offset == sequence - run->first_sequence)
	{
		run->last_sequence = sequence;
		return;
	}
	/* the sequence follows records that the log has lost */
	if (unlikely(offset <= o->last_offset))
	{
		MkProducerRun row;
		bool found = mk_producer_rows_last_below(
			o->use->row.producer_id, o->topic_id, o->partition, offset, &row);

		mk_out_of_order(o, sequence,
						found && row.epoch == o->epoch ? row.last_sequence
													   : -1);
	}
	mk_output_done(batch);
	run->epoch = o->epoch;
	run->first_sequence = sequence;
	run->last_sequence = sequence;
	run->first_offset = offset;
	run->at = mk_clock_now();
}

static uint64
mk_repeat_tag(const void *deferred)
{
	const MkRepeats *r = ((const MkDeferredRepeats *) deferred)->repeats;

	return ((uint64) r->topic_id << 32) | (uint32) r->partition;
}

static bool
mk_repeat_same(const void *a, const void *b)
{
	return mk_repeat_tag(a) == mk_repeat_tag(b);
}

/* Adds the original offsets of repeats to what last_sent() returns. */
static void
mk_repeat_write(void *deferred)
{
	const MkDeferredRepeats *d = deferred;
	const MkRepeats *r = d->repeats;

	for (int i = 0; i < d->nruns; i++)
		mk_sent_add(&r->topic, r->partition, r->runs[i].base_offset,
					i == d->nruns - 1 ? d->last_records : r->runs[i].records);
}

static const MkDeferredKind mk_repeat_kind = {
	.rank = MK_RANK_REPEAT,
	.tag = mk_repeat_tag,
	.same = mk_repeat_same,
	.write = mk_repeat_write,
	.discard = pfree,
};

/* ---------------------------------------------------------------------------
 * At the call
 */

/* The offset that append() has returned for a sequence, -1 if it has not. */
static int64
mk_appended_offset(const MkOutput *o, int64 sequence)
{
	for (int i = o->nappended - 1; i >= 0; i--)
		if (o->appended[i].sequence == sequence)
			return o->appended[i].offset;
	return -1;
}

/* Defers that last_sent() reports a repeat of the record at this offset. */
static void
mk_defer_repeat(const MkOutput *o, int64 offset)
{
	MkRepeats like = {.topic = o->topic->name,
					  .topic_id = o->topic_id,
					  .partition = o->partition};
	MkDeferredRepeats deferred_like = {.repeats = &like};
	const MkDeferredRepeats *before =
		mk_xact_find_deferred(&mk_repeat_kind, &deferred_like);
	MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
	MkDeferredRepeats *d = palloc0(sizeof(MkDeferredRepeats));
	MkRepeats *r;

	if (before != NULL)
		*d = *before;
	else
	{
		d->repeats = palloc(sizeof(MkRepeats));
		*d->repeats = like;
	}
	r = d->repeats;
	if (d->nruns > 0 &&
		r->runs[d->nruns - 1].base_offset + d->last_records == offset)
		d->last_records++;
	else
	{
		if (d->nruns > 0)
			r->runs[d->nruns - 1].records = d->last_records;
		r->runs = mk_array_grow(mk_xact_context(), r->runs, d->nruns,
								sizeof(MkRepeatRun));
		r->runs[d->nruns++].base_offset = offset;
		d->last_records = 1;
	}
	mk_xact_defer(&mk_repeat_kind, d);
	MemoryContextSwitchTo(old);
}

/* Finds the record that is sent again, and compares it with the new one. */
static void
mk_repeat(const MkOutput *o, const MkProducerRow *producer, int64 sequence,
		  const MkRecord *record, MkNumbered *result)
{
	MkProducerRun row;

	if (!mk_producer_rows_find(producer->producer_id, o->topic_id, o->partition,
							   o->epoch, sequence, &row))
		ereport(ERROR,
				(mk_errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
				 errmsg("sequence " INT64_FORMAT
						" of producer \"%s\" is no longer known",
						sequence, o->use->producer),
				 errdetail("Partition %d of topic \"%s\", epoch %d.",
						   o->partition, NameStr(o->topic->name), o->epoch)));
	result->repeated = true;
	result->offset = mk_run_offset(&row, sequence);
	mk_check_content(o, sequence, result->offset, record);
	mk_defer_repeat(o, result->offset);
}

/* An output with an empty batch. */
static MkOutput *
mk_output_new(const MkOutput *like)
{
	MkOutput *o = MemoryContextAlloc(mk_xact_context(), sizeof(MkOutput));

	*o = *like;
	o->batch.index = -1;
	o->batch.repeat = mk_output_repeat;
	o->batch.placed = mk_output_placed;
	o->batch.done = mk_output_done;
	o->last_offset = -1;
	o->run.first_sequence = 0;
	o->run.last_sequence = -1;
	o->former = o->run;
	return o;
}

void
mk_numbering_send(const MkNumbering *numbering, MkTopic *topic, int32 partition,
				  const MkRecord *record, bool eager, MkNumbered *result)
{
	int64 sequence = numbering->sequence;
	MkProducerUsed used;
	MkOutput like = {
		.topic = topic, .topic_id = topic->topic_id, .partition = partition};
	MkDeferredOutput deferred_like = {.output = &like};
	const MkDeferredOutput *before;
	MkDeferredOutput *d;
	int64 last = -1;

	mk_producer_use(numbering->producer, numbering->has_epoch, numbering->epoch,
					eager, &used);
	like.use = used.use;
	like.epoch = used.epoch;
	result->repeated = false;
	result->offset = -1;
	before = mk_xact_find_deferred(&mk_output_kind, &deferred_like);
	if (before != NULL && sequence >= before->first && sequence <= before->last)
	{
		result->repeated = true;
		result->offset = mk_appended_offset(before->output, sequence);
		if (!mk_send_is_same(&before->output->batch, sequence, record))
			mk_other_content(before->output, sequence, -1);
		return;
	}
	if (before != NULL)
		last = before->last;
	else if (used.row.epoch >= 0)
	{
		MkKnown known;

		mk_known(&used.row, &like, sequence, &known);
		last = known.last;
	}
	if (sequence <= last)
	{
		mk_repeat(&like, &used.row, sequence, record, result);
		return;
	}
	if (sequence != last + 1)
		mk_out_of_order(&like, sequence, last);

	mk_producer_sends(&used);
	mk_topic_defer_use(topic->topic_id);
	d = MemoryContextAlloc(mk_xact_context(), sizeof(MkDeferredOutput));
	d->output = before != NULL ? before->output : mk_output_new(&like);
	d->first = before != NULL ? before->first : sequence;
	d->last = sequence;
	mk_xact_defer(&mk_output_kind, d);

	/* forget offsets of a savepoint that was rolled back */
	while (d->output->nappended > 0 &&
		   d->output->appended[d->output->nappended - 1].sequence >= sequence)
		d->output->nappended--;
	result->batch = &d->output->batch;
}

void
mk_numbering_appended(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkOutput *o = mk_batch_output(batch);

	o->appended = mk_array_grow(mk_xact_context(), o->appended, o->nappended,
								sizeof(MkAppended));
	o->appended[o->nappended].sequence = sequence;
	o->appended[o->nappended++].offset = offset;
}
