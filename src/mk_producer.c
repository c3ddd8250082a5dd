/*
 * mk_producer.c
 *		Idempotent producers: sequences, epochs, repeats.
 *
 * A producer numbers its records to each partition from 0 in each epoch.  A
 * call checks its sequence against what is committed and what the transaction
 * has noted before.  When the transaction commits, it locks its producers, to
 * its end, and checks again: who waits for a session that sends the same finds
 * its records there, leaves its own out, and is told the offsets of those.
 * The rows about what was sent are written by the transaction that sends it.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_guc.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_number.h"
#include "mk_producer.h"
#include "mk_role.h"
#include "mk_send.h"
#include "mk_sent.h"
#include "mk_rows.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* A transaction's use of a producer. */
typedef struct MkProducerUse
{
	char *producer;
	MkProducerRow row; /* since the lock: what will hold */
	int32 former_epoch; /* since then: before those that are begun */
} MkProducerUse;

typedef struct MkDeferredProducer
{
	MkProducerUse *use;
	List *users; /* OIDs of who has used it; the first may make it */
	bool sends; /* for a producer that there was not: in epoch 0 */
	bool begins; /* an epoch */
	bool is_new; /* at the call there was no such producer */
	MkProducerRow row; /* as it was at the call */
	int32 epoch; /* that it begins */
} MkDeferredProducer;

/* An append()'s sequence and offset. */
typedef struct MkAppended
{
	int64 sequence;
	int64 offset;
} MkAppended;

/* What a producer sends to a partition, in one epoch. */
typedef struct MkOutput
{
	MkSequencedBatch
		batch; /* the first, so a pointer to one is one to the other */
	MkProducerUse *use;
	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int32 epoch;
	int nappended;
	int appended_room;
	MkAppended *appended;
	int64 last_offset; /* of what it had sent before, -1: of nothing */
	MkProducerRun run; /* being placed; last_sequence < first_sequence: none */
	MkProducerRun former; /* the same, of which repeats are being checked */
} MkOutput;

/* The sequences that were noted. */
typedef struct MkDeferredOutput
{
	MkOutput *output;
	int64 first;
	int64 last;
} MkDeferredOutput;

typedef struct MkRepeatRun
{
	int64 base_offset;
	int64 records;
} MkRepeatRun;

/*
 * Repeats that were known at the call, in a partition.  The runs only grow, and
 * the deferred actions of all savepoints share them; each knows how many are its.
 */
typedef struct MkRepeats
{
	NameData topic;
	int32 topic_id;
	int32 partition;
	int room;
	MkRepeatRun *runs;
} MkRepeats;

typedef struct MkDeferredRepeats
{
	MkRepeats *repeats;
	int nruns;
	int64 last_records; /* of the last run */
} MkDeferredRepeats;

static void
mk_fenced(const char *producer, int32 epoch, int32 current)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_INVALID_PRODUCER_EPOCH),
			 errmsg("epoch %d of producer \"%s\" is not its current one", epoch,
					producer),
			 current < 0 ? errdetail("There is no such producer yet.")
						 : errdetail("Its epoch is %d.", current),
			 epoch < current
				 ? errhint("A newer instance has called "
						   "minikafka.init_producer(): stop this one.")
				 : errhint("Epochs come from minikafka.init_producer().")));
}

static void
mk_out_of_order(const MkOutput *o, int64 sequence, int64 last)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
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

static void
mk_superseded(const char *producer, int32 epoch)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_INVALID_PRODUCER_EPOCH),
			 errmsg("another session has begun epoch %d of producer \"%s\"",
					epoch, producer),
			 errhint("Stop this one, if that is a newer instance.")));
}

/* ---------------------------------------------------------------------------
 * Deferred actions of producers
 */

static uint64
mk_producer_tag(const void *deferred)
{
	return mk_lock_producer_tag(
		((const MkDeferredProducer *) deferred)->use->producer);
}

static bool
mk_producer_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredProducer *) a)->use->producer,
				  ((const MkDeferredProducer *) b)->use->producer) == 0;
}

/*
 * What the call went by is gone if another session has begun an epoch; also of
 * a producer that there was not, whose epoch is the same then.
 */
static void
mk_producer_check(const MkDeferredProducer *d, bool found)
{
	const MkProducerRow *now = &d->use->row;

	if (!d->begins)
	{
		if (d->is_new && found && now->initialized)
			mk_superseded(d->use->producer, now->epoch);
		if (!d->is_new && (!found || now->epoch != d->row.epoch))
			mk_fenced(d->use->producer, d->row.epoch, now->epoch);
		return;
	}
	if (found == d->is_new ||
		(found &&
		 (now->producer_id != d->row.producer_id ||
		  now->epoch != d->row.epoch)))
		mk_superseded(d->use->producer, now->epoch);
}

/* Finds the producer, or makes it, and checks the rights again. */
static void
mk_producer_lock(void *deferred)
{
	MkDeferredProducer *d = deferred;
	MkProducerUse *use = d->use;
	bool found;
	ListCell *lc;

	mk_lock_producer(use->producer);
	AcceptInvalidationMessages();
	found = mk_producer_rows_get(use->producer, &use->row);
	mk_producer_check(d, found);
	if (!found)
	{
		use->row.producer_id = d->begins
			? d->row.producer_id
			: mk_relation_next(MK_REL_PRODUCER_ID_SEQ);
		namestrcpy(&use->row.owner,
				   GetUserNameFromId(linitial_oid(d->users), false));
		use->row.epoch = d->begins ? d->epoch : 0;
		use->row.initialized = d->begins;
		mk_producer_rows_insert(use->producer, &use->row);
	}
	foreach (lc, d->users)
		mk_role_check_owner(NameStr(use->row.owner), lfirst_oid(lc), "producer",
							use->producer);
	use->former_epoch = found ? use->row.epoch : 0;
	if (found && d->begins)
	{
		use->row.epoch = d->epoch;
		mk_producer_rows_begin_epoch(use->producer, d->epoch);
	}
}

static const MkDeferredKind mk_producer_kind = {
	.rank = MK_RANK_PRODUCER,
	.tag = mk_producer_tag,
	.same = mk_producer_same,
	.lock = mk_producer_lock,
	.discard = pfree,
};

/*
 * A copy of a deferred action, to be changed: it goes when the savepoint is
 * rolled back.
 */
static MkDeferredProducer *
mk_producer_copy(const MkDeferredProducer *before)
{
	MkDeferredProducer *d =
		MemoryContextAlloc(mk_xact_context(), sizeof(MkDeferredProducer));

	*d = *before;
	return d;
}

/* The transaction's deferred action; a new one has the producer as it is now. */
static const MkDeferredProducer *
mk_producer_deferred(const char *producer, bool *is_fresh)
{
	MkProducerUse like_use = {.producer = unconstify(char *, producer)};
	MkDeferredProducer like = {.use = &like_use};
	const MkDeferredProducer *before =
		mk_xact_find_deferred(&mk_producer_kind, &like);
	MkDeferredProducer *d;
	Oid user = GetUserId();
	MemoryContext old;

	*is_fresh = before == NULL;
	if (before != NULL && list_member_oid(before->users, user))
		return before;

	old = MemoryContextSwitchTo(mk_xact_context());
	if (before != NULL)
		d = mk_producer_copy(before);
	else
	{
		d = palloc0(sizeof(MkDeferredProducer));
		d->use = palloc0(sizeof(MkProducerUse));
		d->use->producer = pstrdup(producer);
		d->is_new = !mk_producer_rows_get(producer, &d->row);
		if (d->is_new)
			d->row.epoch = -1;
	}
	if (!d->is_new)
		mk_role_check_owner(NameStr(d->row.owner), user, "producer", producer);
	else if (d->users != NIL)
		mk_role_check_owner(GetUserNameFromId(linitial_oid(d->users), false),
							user, "producer", producer);
	d->users = lappend_oid(list_copy(d->users), user);
	mk_xact_defer(&mk_producer_kind, d);
	MemoryContextSwitchTo(old);
	return d;
}

/* ---------------------------------------------------------------------------
 * Deferred actions of what they send
 */

static bool
mk_has_expired(const MkProducerRun *row)
{
	return mk_clock_now() > row->at + mk_guc_producer_expiry * USECS_PER_SEC;
}

/* What is noted of an output. */
typedef struct MkKnown
{
	int64 last; /* sequence that counts, -1: none */
	int64 last_offset; /* of what is noted, also if it does not count */
	bool expired;
	int64 lost_from; /* the log's tail, if more is noted; else -1 */
} MkKnown;

/*
 * "next" is the sequence that is to come, if all is well.  What would be a repeat
 * counts only if the log has its records: see mk_stale.c.
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
	known->expired = found && mk_has_expired(&row);
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

static void
mk_output_lock(void *deferred)
{
	MkDeferredOutput *d = deferred;
	MkOutput *o = d->output;
	const MkProducerRow *producer = &o->use->row;
	int64 last;
	MkKnown known;

	mk_catalog_check_topic(o->topic, o->topic_id);
	/* all from the former one on it has begun itself */
	if (o->epoch < o->use->former_epoch || o->epoch > producer->epoch)
		mk_fenced(o->use->producer, o->epoch, producer->epoch);
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

	/* numbers begin anew: the keys of before must be free */
	if (known.expired)
		mk_producer_rows_delete(producer->producer_id, o->topic_id,
								o->partition);
	if (known.lost_from >= 0)
		mk_producer_rows_forget(producer->producer_id, o->topic_id,
								o->partition, known.lost_from);
	else
		o->last_offset = known.last_offset;
}

/* Tells the offsets of those that turned out to be repeats. */
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

/* "offset" is -1 for a record of this transaction. */
static void
mk_other_content(const MkOutput *o, int64 sequence, int64 offset)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
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

/* A repeat of a record that may still be in the log. */
static void
mk_check_content(const MkOutput *o, int64 sequence, int64 offset,
				 const MkRecord *record)
{
	MkComparison c = {.record = record, .same = true};

	(void) mk_log_get(o->topic, o->partition, offset, mk_compare_content, &c);
	if (!c.same)
		mk_other_content(o, sequence, offset);
}

static void
mk_output_repeat(MkSequencedBatch *batch, int64 sequence,
				 const MkRecord *record)
{
	MkOutput *o = (MkOutput *) batch;

	if (mk_run_has(&o->former, sequence) ||
		mk_producer_rows_find(o->use->row.producer_id, o->topic_id,
							  o->partition, o->epoch, sequence, &o->former))
		mk_check_content(o, sequence, mk_run_offset(&o->former, sequence),
						 record);
}

static void
mk_output_done(MkSequencedBatch *batch)
{
	MkOutput *o = (MkOutput *) batch;

	if (o->run.last_sequence < o->run.first_sequence)
		return;
	mk_producer_rows_put(o->use->row.producer_id, o->topic_id, o->partition,
						 &o->run);
	o->run.last_sequence = o->run.first_sequence - 1;
}

static void
mk_output_placed(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkOutput *o = (MkOutput *) batch;
	MkProducerRun *run = &o->run;

	if (run->last_sequence >= run->first_sequence &&
		offset - run->first_offset == sequence - run->first_sequence)
	{
		run->last_sequence = sequence;
		return;
	}
	/* it goes on from records that the log has lost */
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
 * Sending
 */

/* A sequence that the transaction has noted before. */
static int64
mk_appended_offset(const MkOutput *o, int64 sequence)
{
	for (int i = o->nappended - 1; i >= 0; i--)
		if (o->appended[i].sequence == sequence)
			return o->appended[i].offset;
	return -1;
}

static MkRepeats *
mk_repeats_new(const MkRepeats *like)
{
	MkRepeats *r = palloc(sizeof(MkRepeats));

	*r = *like;
	r->room = 4;
	r->runs = palloc(r->room * sizeof(MkRepeatRun));
	return r;
}

static void
mk_defer_repeat(const MkOutput *o, int64 offset)
{
	MkRepeats like = {.topic = o->topic->name,
					  .topic_id = o->topic_id,
					  .partition = o->partition};
	MkDeferredRepeats note_like = {.repeats = &like};
	const MkDeferredRepeats *before =
		mk_xact_find_deferred(&mk_repeat_kind, &note_like);
	MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
	MkDeferredRepeats *d = palloc0(sizeof(MkDeferredRepeats));
	MkRepeats *r;

	if (before != NULL)
		*d = *before;
	else
		d->repeats = mk_repeats_new(&like);
	r = d->repeats;
	if (d->nruns > 0 &&
		r->runs[d->nruns - 1].base_offset + d->last_records == offset)
		d->last_records++;
	else
	{
		if (d->nruns > 0)
			r->runs[d->nruns - 1].records = d->last_records;
		if (d->nruns == r->room)
		{
			r->runs = repalloc_huge(r->runs, 2 * r->room * sizeof(MkRepeatRun));
			r->room *= 2;
		}
		r->runs[d->nruns++].base_offset = offset;
		d->last_records = 1;
	}
	mk_xact_defer(&mk_repeat_kind, d);
	MemoryContextSwitchTo(old);
}

/* One that is committed, and its offset. */
static void
mk_repeat(const MkOutput *o, const MkProducerRow *producer, int64 sequence,
		  const MkRecord *record, MkNumbered *result)
{
	MkProducerRun row;

	if (!mk_producer_rows_find(producer->producer_id, o->topic_id, o->partition,
							   o->epoch, sequence, &row))
		ereport(ERROR,
				(errcode(ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER),
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
mk_producer_send(const MkNumbering *numbering, MkTopic *topic, int32 partition,
				 const MkRecord *record, bool eager, MkNumbered *result)
{
	int64 sequence = numbering->sequence;
	const MkDeferredProducer *deferred;
	MkProducerRow producer;
	MkOutput like = {
		.topic = topic, .topic_id = topic->topic_id, .partition = partition};
	MkDeferredOutput note_like = {.output = &like};
	const MkDeferredOutput *before;
	MkDeferredOutput *d;
	int64 last = -1;
	bool is_fresh;

	deferred = mk_producer_deferred(numbering->producer, &is_fresh);
	if (eager)
	{
		/* who has no right makes nobody wait */
		mk_lock_producer(numbering->producer);
		is_fresh = false;
	}
	producer = deferred->row;
	like.use = deferred->use;
	if (deferred->begins)
		like.epoch = deferred->epoch;
	else
	{
		/* another session may have made it, or begun an epoch */
		bool exists = is_fresh
			? producer.epoch >= 0
			: mk_producer_rows_get(numbering->producer, &producer);

		if (!exists)
			producer.epoch = -1;
		else
			mk_role_check_owner(NameStr(producer.owner), GetUserId(),
								"producer", numbering->producer);
		like.epoch = Max(producer.epoch, 0);
		if (deferred->is_new ? producer.epoch >= 0 && producer.initialized
							 : producer.epoch != deferred->row.epoch)
			mk_superseded(numbering->producer, producer.epoch);
	}
	if (numbering->has_epoch && numbering->epoch != like.epoch)
		mk_fenced(numbering->producer, numbering->epoch,
				  deferred->begins ? like.epoch : producer.epoch);

	result->repeated = false;
	result->offset = -1;
	before = mk_xact_find_deferred(&mk_output_kind, &note_like);
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
	else if (producer.epoch >= 0)
	{
		MkKnown known;

		mk_known(&producer, &like, sequence, &known);
		last = known.last;
	}
	if (sequence <= last)
	{
		mk_repeat(&like, &producer, sequence, record, result);
		return;
	}
	if (sequence != last + 1)
		mk_out_of_order(&like, sequence, last);

	if (deferred->is_new && !deferred->sends && !deferred->begins)
	{
		MkDeferredProducer *sends = mk_producer_copy(deferred);

		sends->sends = true;
		mk_xact_defer(&mk_producer_kind, sends);
	}
	mk_topic_defer_use(topic->topic_id);
	d = MemoryContextAlloc(mk_xact_context(), sizeof(MkDeferredOutput));
	d->output = before != NULL ? before->output : mk_output_new(&like);
	d->first = before != NULL ? before->first : sequence;
	d->last = sequence;
	mk_xact_defer(&mk_output_kind, d);

	/* offsets of a savepoint that was rolled back */
	while (d->output->nappended > 0 &&
		   d->output->appended[d->output->nappended - 1].sequence >= sequence)
		d->output->nappended--;
	result->batch = &d->output->batch;
}

void
mk_producer_appended(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkOutput *o = (MkOutput *) batch;

	if (o->nappended == o->appended_room)
	{
		int room = Max(4, 2 * o->nappended);

		o->appended = o->appended == NULL
			? MemoryContextAlloc(mk_xact_context(), room * sizeof(MkAppended))
			: repalloc_huge(o->appended, room * sizeof(MkAppended));
		o->appended_room = room; /* not if that has failed */
	}
	o->appended[o->nappended].sequence = sequence;
	o->appended[o->nappended++].offset = offset;
}

void
mk_producer_begin_epoch(const char *producer, int32 *producer_id, int32 *epoch)
{
	bool is_fresh;
	const MkDeferredProducer *before =
		mk_producer_deferred(producer, &is_fresh);
	MkDeferredProducer *d;
	int32 last = before->begins ? before->epoch
		: before->sends         ? 0
								: before->row.epoch;

	if (last == PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("epochs of producer \"%s\" are used up", producer),
				 errhint("Use another producer name.")));
	/* a role without any right takes no name */
	if (before->is_new && !mk_topic_any_allows(ACL_INSERT))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to create producer \"%s\"", producer),
			 errhint("A new producer needs INSERT on a topic.")));
	d = mk_producer_copy(before);
	if (d->is_new && !d->begins)
		d->row.producer_id = mk_relation_next(MK_REL_PRODUCER_ID_SEQ);
	d->begins = true;
	d->epoch = last + 1;
	mk_xact_defer(&mk_producer_kind, d);
	*producer_id = d->row.producer_id;
	*epoch = d->epoch;
}

/* ---------------------------------------------------------------------------
 * Giving a producer to another role
 */

typedef struct MkDeferredGift
{
	char *producer;
	char *owner;
	Oid user; /* that gives it */
} MkDeferredGift;

static uint64
mk_give_tag(const void *deferred)
{
	return mk_lock_producer_tag(((const MkDeferredGift *) deferred)->producer);
}

static bool
mk_give_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredGift *) a)->producer,
				  ((const MkDeferredGift *) b)->producer) == 0;
}

static void
mk_give_check(const MkDeferredGift *d)
{
	MkProducerRow row;

	if (!mk_producer_rows_get(d->producer, &row))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("producer \"%s\" does not exist", d->producer),
				 errhint("Its first record, or minikafka.init_producer(), "
						 "makes it.")));
	mk_role_check_give(NameStr(row.owner), d->owner, d->user, "producer",
					   d->producer);
}

static void
mk_give_lock(void *deferred)
{
	const MkDeferredGift *d = deferred;

	mk_lock_producer(d->producer);
	AcceptInvalidationMessages();
	mk_give_check(d);
}

/* Not before those are checked that have used it in this transaction. */
static void
mk_give_write(void *deferred)
{
	const MkDeferredGift *d = deferred;

	mk_producer_rows_set_owner(d->producer, d->owner);
}

static const MkDeferredKind mk_give_kind = {
	.rank = MK_RANK_PRODUCER,
	.tag = mk_give_tag,
	.same = mk_give_same,
	.lock = mk_give_lock,
	.write = mk_give_write,
	.discard = pfree,
};

void
mk_producer_set_owner(const char *producer, const char *owner)
{
	MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
	MkDeferredGift *d = palloc(sizeof(MkDeferredGift));

	d->producer = pstrdup(producer);
	d->owner = pstrdup(owner);
	d->user = GetUserId();
	MemoryContextSwitchTo(old);
	mk_give_check(d);
	mk_xact_defer(&mk_give_kind, d);
}

bool
mk_producer_counts(const MkProducerRow *producer, const MkProducerRun *row)
{
	return row->epoch == producer->epoch && !mk_has_expired(row);
}

bool
mk_producer_find(const char *producer, MkProducerRow *row)
{
	if (!mk_producer_rows_get(producer, row))
		return false;
	if (!has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		mk_role_check_owner(NameStr(row->owner), GetUserId(), "producer",
							producer);
	return true;
}

/* ---------------------------------------------------------------------------
 * Forgetting
 */

/* How many sequences are known, at least; Kafka keeps five batches. */
#define MK_KNOWN_SEQUENCES 1000

typedef struct MkClean
{
	int32 producer_id;
	bool locked;
} MkClean;

/* Keeps others from sending; once. */
static void
mk_clean_lock(MkClean *c)
{
	char *producer = c->locked ? NULL : mk_producer_rows_name(c->producer_id);

	if (producer != NULL)
		mk_lock_producer(producer);
	c->locked = true;
}

static void
mk_clean_partition(int32 topic_id, int32 partition, const MkProducerRun *row,
				   void *arg)
{
	MkClean *c = arg;
	MkProducerRun now;
	int64 known = MK_KNOWN_SEQUENCES;

	if (mk_has_expired(row))
	{
		mk_clean_lock(c);
		if (mk_producer_rows_last(c->producer_id, topic_id, partition, NULL,
								  &now) &&
			mk_has_expired(&now))
			known = 0;
	}
	mk_producer_rows_clean(c->producer_id, topic_id, partition, known);
}

void
mk_producer_clean(int32 producer_id)
{
	MkClean c = {.producer_id = producer_id};

	mk_producer_rows_scan(producer_id, mk_rows_now(), mk_clean_partition, &c);
}
