/*
 * mk_share_answer.c
 *		Answers to deliveries of share groups: what becomes of a record.
 *
 * A record that the transaction holds is answered in memory; see mk_share_held.c.
 * To answer another one, the transaction takes the lock of its slot first, and
 * then looks whether the receipt still is that of the newest delivery.  It never
 * waits in the queue of that lock: a worker that has it may hold it for as long as
 * it works.  While an acquisition lock lasts, only a walk that passes by can have
 * it, for a moment.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_dead_letter.h"
#include "mk_errors.h"
#include "mk_log.h"
#include "mk_membership.h"
#include "mk_share_answer.h"
#include "mk_share_slot.h"
#include "mk_topic.h"
#include "mk_try.h"
#include "mk_xact.h"

/* How long an answer tries to get the lock of the slot. */
#define MK_ANSWER_TRIES_MS 1000

/* Jitter of backoffs, as KIP-580 has it */
#define MK_BACKOFF_JITTER 0.2

/* ---------------------------------------------------------------------------
 * Outcomes
 */

/* How long to wait after so many deliveries. */
static int64
mk_answer_backoff(const MkShareSettings *share, int32 count)
{
	double backoff = (double) share->backoff;

	for (int32 i = 1; i < count && backoff < (double) share->max_backoff; i++)
		backoff *= 2;
	backoff = Min(backoff, (double) share->max_backoff);
	backoff *= 1 - MK_BACKOFF_JITTER +
		2 * MK_BACKOFF_JITTER * pg_prng_double(&pg_global_prng_state);
	return Min((int64) backoff, share->max_backoff);
}

/* The error as it is kept. */
static char *
mk_answer_copy(const char *error)
{
	if (error == NULL)
		return NULL;
	error = pnstrdup(error, mk_dead_letter_error_length(error));
	return MemoryContextStrdup(mk_xact_context(), error);
}

/* The time after so many microseconds; "at once" if there are none. */
static TimestampTz
mk_answer_after(int64 microseconds)
{
	TimestampTz now = mk_clock_now();

	if (microseconds <= 0)
		return DT_NOBEGIN;
	return microseconds < DT_NOEND - now ? now + microseconds : DT_NOEND;
}

/* For sending a dead letter */
typedef struct MkLetterCall
{
	MkDeadLetter letter;
	const MkGroup *group;
	int32 target_id; /* the dead-letter topic */
} MkLetterCall;

static void
mk_answer_send_letter(void *arg)
{
	MkLetterCall *call = arg;
	MkTopic *target = mk_catalog_topic_by_id(call->target_id);

	if (target == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dead-letter topic of group \"%s\" does not exist",
						call->group->group_id)));
	mk_dead_letter_send(&call->letter, target,
						get_role_oid(NameStr(call->group->owner), false));
}

/* What may be wrong with the dead-letter topic. */
static bool
mk_answer_is_letter_error(int sqlstate)
{
	return sqlstate == ERRCODE_UNDEFINED_OBJECT ||
		sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlstate == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		sqlstate == ERRCODE_CHECK_VIOLATION ||
		sqlstate == ERRCODE_NOT_NULL_VIOLATION ||
		sqlstate == ERRCODE_CHARACTER_NOT_IN_REPERTOIRE ||
		sqlstate == ERRCODE_INVALID_TEXT_REPRESENTATION ||
		sqlstate == ERRCODE_INVALID_PARAMETER_VALUE ||
		sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

/*
 * Pauses the group when the transaction commits, for this reason.  The record is
 * tried again when the group goes on.
 */
static const char *
mk_answer_pause(const MkGroup *group, MkHeldRecord *record, int32 count,
				const char *error, const char *why)
{
	const MkGroupChange change = {.kind = MK_CHANGE_PAUSE, .name = why};
	const MkShareAnswer answer = {.outcome = MK_OUTCOME_FAIL,
								  .until = DT_NOBEGIN,
								  .count = count,
								  .error = mk_answer_copy(error)};

	mk_group_use_defer(group->group_id, &change);
	mk_share_held_answer(record, &answer);
	return "paused";
}

/* How many records the topic has got within the last hour. */
static int64
mk_answer_recent(const MkTopic *topic)
{
	TimestampTz hour_ago = mk_clock_now() - USECS_PER_HOUR;
	int64 recent = 0;

	for (int32 i = 0; i < topic->npartitions; i++)
	{
		int64 end = mk_log_end(topic, i);

		recent += end - mk_log_since(topic, i, hour_ago, end);
	}
	return recent;
}

/*
 * Whether the dead-letter topic has got as many as it may within an hour: those
 * that are committed, and those that this transaction sends.
 */
static bool
mk_answer_is_limit_reached(const MkGroup *group, int32 target_id)
{
	int32 limit = group->share->dead_letter_limit;
	const MkTopic *topic;

	if (limit < 0)
		return false;
	topic = mk_catalog_topic_by_id(target_id);
	return topic != NULL &&
		mk_answer_recent(topic) + mk_share_held_letters(group->group_no) >=
		limit;
}

/* What a dead letter means for its key */
typedef enum MkLetterKind
{
	MK_LETTER_ALONE, /* nothing */
	MK_LETTER_PARKS, /* it is parked */
	MK_LETTER_FOLLOWS /* it is parked already */
} MkLetterKind;

/*
 * Sends a dead letter and is done with the record.  If that cannot be, the record
 * is tried again.
 */
static const char *
mk_answer_dead_letter(MkGroup *group, MkTopic *topic, MkHeldRecord *record,
					  int32 count, const char *error, int32 target_id,
					  MkLetterKind kind)
{
	const MkHeldSlot *s = mk_share_held_slot_of(record);
	MkShareMemory *m = s->memory;
	const uint32 slot = s->slot;
	const int64 offset = record->offset;
	const MkParking parking = {
		.key = s->key, .slot = slot, .deliveries = count};
	MkLetterCall call = {
		.letter = {.group_id = group->group_id,
				   .source = topic,
				   .partition = s->key.partition,
				   .offset = offset,
				   .delivery_count = count,
				   .error = error,
				   .parking = kind == MK_LETTER_ALONE ? NULL : &parking},
		.group = group,
		.target_id = target_id};
	MkShareAnswer answer = {.outcome = MK_OUTCOME_DONE, .count = count};
	ErrorData *failed;

	if (mk_answer_is_limit_reached(group, target_id))
		return mk_answer_pause(group, record, count, error,
							   "the dead-letter topic has got as many records "
							   "within an hour as dead_letter_limit allows");
	failed = mk_try(mk_answer_send_letter, &call, mk_answer_is_letter_error);

	/* code of the topic's owner may have acquired records itself */
	record = mk_share_held_record(mk_share_held_find(m, slot), offset);

	if (failed == NULL)
	{
		answer.letter = true;
		answer.parks = kind == MK_LETTER_PARKS;
		answer.follows = kind == MK_LETTER_FOLLOWS;
		mk_share_held_answer(record, &answer);
		return "dead_letter";
	}
	answer.outcome = MK_OUTCOME_FAIL;
	answer.until = mk_answer_after(mk_answer_backoff(group->share, count));
	/* what is more important comes first: the rest may be cut */
	answer.error = mk_answer_copy(
		psprintf("the dead letter could not be sent (SQLSTATE %s: %s)%s%s",
				 unpack_sql_state(failed->sqlerrcode), failed->message,
				 error != NULL ? ": " : "", error != NULL ? error : ""));
	mk_share_held_answer(record, &answer);
	return "retry";
}

/* The deliveries of a record, with the one that has failed. */
static int32
mk_answer_count(const MkHeldRecord *record)
{
	/* an acquisition under a lock counts from its beginning */
	bool counted =
		record->delivery.state == MK_DELIVERY_LOCKED && !record->delivered;

	if (record->answer.outcome == MK_OUTCOME_LOCK)
		return record->answer.count;
	return record->delivery.count + (counted ? 0 : 1);
}

const char *
mk_share_answer_fail(MkGroup *group, MkTopic *topic, MkHeldRecord *record,
					 const char *error, int64 retry_after)
{
	const MkShareSettings *share = group->share;
	MkExhausted exhausted = share->on_exhausted;
	MkShareAnswer answer = {.outcome = MK_OUTCOME_FAIL,
							.until = DT_NOBEGIN,
							.count = mk_answer_count(record),
							.error = mk_answer_copy(error)};

	if (answer.count < share->max_deliveries)
	{
		answer.until = mk_answer_after(
			retry_after >= 0 ? retry_after
							 : mk_answer_backoff(share, answer.count));
		mk_share_held_answer(record, &answer);
		return "retry";
	}
	if (exhausted == MK_EXHAUSTED_DEFAULT)
		exhausted = share->dead_letter_topic_id != 0 ? MK_EXHAUSTED_DEAD_LETTER
													 : MK_EXHAUSTED_BLOCK;
	if (exhausted == MK_EXHAUSTED_PAUSE)
		return mk_answer_pause(group, record, answer.count, error,
							   "a record has failed in its last delivery");
	if (exhausted == MK_EXHAUSTED_BLOCK)
	{
		answer.outcome = MK_OUTCOME_BLOCK;
		mk_share_held_answer(record, &answer);
		return "blocked";
	}
	return mk_answer_dead_letter(
		group, topic, record, answer.count, error, share->dead_letter_topic_id,
		exhausted == MK_EXHAUSTED_DEAD_LETTER_KEY ? MK_LETTER_PARKS
												  : MK_LETTER_ALONE);
}

void
mk_share_answer_follow(MkGroup *group, MkTopic *topic, MkHeldRecord *record,
					   const MkParkedBy *by)
{
	char error[128];

	snprintf(error, sizeof(error),
			 "the record at offset " INT64_FORMAT
			 ", an earlier one of its key, was set aside",
			 by->offset);
	(void) mk_answer_dead_letter(group, topic, record, record->delivery.count,
								 error, by->letter_topic_id, MK_LETTER_FOLLOWS);
}

/* Answers a record that may be answered. */
static const char *
mk_answer_give(const MkShareAcknowledgement *a, MkTopic *topic,
			   MkHeldRecord *record)
{
	MkShareAnswer answer = {.outcome = MK_OUTCOME_DONE};

	switch (a->type)
	{
		case MK_ACKNOWLEDGE_ACCEPT:
			mk_share_held_answer(record, &answer);
			return "accepted";
		case MK_ACKNOWLEDGE_RELEASE:
			answer.outcome = MK_OUTCOME_RELEASE;
			answer.until = mk_answer_after(a->retry_after);
			answer.count = mk_answer_count(record) - 1;
			answer.error = mk_answer_copy(a->error);
			mk_share_held_answer(record, &answer);
			return "released";
		case MK_ACKNOWLEDGE_FAIL:
			return mk_share_answer_fail(a->group, topic, record, a->error,
										a->retry_after);
		case MK_ACKNOWLEDGE_REJECT:
			if (a->group->share->dead_letter_topic_id != 0)
				return mk_answer_dead_letter(
					a->group, topic, record, mk_answer_count(record), a->error,
					a->group->share->dead_letter_topic_id, MK_LETTER_ALONE);
			mk_share_held_answer(record, &answer);
			return "rejected";
	}
	return NULL; /* keep the compiler quiet */
}

/* ---------------------------------------------------------------------------
 * Which record
 */

/* Hints of MK121: what the worker is to do */
#define MK_HINT_LOST                                                \
	"Roll back what was done for the record: another worker is to " \
	"process it, or has done so."
#define MK_HINT_ANSWERED                                                       \
	"If this worker has acknowledged it before, there is nothing left to do; " \
	"otherwise roll back what was done for the record."
#define MK_HINT_GONE \
	"There is nothing to acknowledge: a record that is gone counts as done."
#define MK_HINT_ORDER                                                       \
	"Acknowledge the records of a key in the order of their offsets, each " \
	"once."
#define MK_HINT_RECEIPT                                                        \
	"Pass the receipt that minikafka.acquire() returned with the record, and " \
	"the name of its group."

/* MK121 */
static void
mk_answer_invalid(const MkGroup *group, const MkShareReceipt *receipt,
				  const char *detail, const char *hint)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_INVALID_RECORD_STATE),
			 errmsg("record " INT64_FORMAT " in partition %d is not held by "
					"this delivery of group \"%s\"",
					receipt->offset, receipt->key.partition, group->group_id),
			 errdetail_internal("%s", detail), errhint("%s", hint)));
}

/*
 * The topic of a receipt, which is to be of the present era.  Who answers needs the
 * right to read it: anybody can write a receipt, and a rejected record is copied to
 * the dead-letter topic.
 */
static MkTopic *
mk_answer_topic(MkGroup *group, const MkShareReceipt *receipt)
{
	MkTopic *topic;
	MkShareCheckpoint newest;

	if (receipt->key.group_no != group->group_no)
		mk_answer_invalid(group, receipt, "The receipt is of another group.",
						  MK_HINT_RECEIPT);
	topic = mk_catalog_topic_by_id(receipt->key.topic_id);
	if (topic == NULL)
		mk_answer_invalid(group, receipt, "The topic does not exist any more.",
						  MK_HINT_GONE);
	if (receipt->key.partition >= topic->npartitions)
		mk_answer_invalid(group, receipt, "The topic has no such partition.",
						  MK_HINT_RECEIPT);
	mk_topic_check_readable(topic);
	(void) mk_share_checkpoint_peek(group->group_no, topic->topic_id,
									receipt->key.partition, NULL, &newest);
	if (newest.era != receipt->key.era)
		mk_answer_invalid(group, receipt,
						  "The offsets of the group were reset.", MK_HINT_LOST);
	if (receipt->offset < newest.start && receipt->kind != MK_RECEIPT_PARKED)
		mk_answer_invalid(group, receipt, "The record is done already.",
						  MK_HINT_ANSWERED);
	return topic;
}

/* Locks a slot, trying for a while. */
static MkHeldSlot *
mk_answer_lock(MkGroup *group, const MkShareReceipt *receipt, MkShareMemory *m,
			   uint32 slot, bool expired)
{
	MkHeldSlot *held = mk_share_held_find(m, slot);
	bool full = false;

	for (int i = 0; held == NULL && !full && i < MK_ANSWER_TRIES_MS; i++)
	{
		if (i > 0)
		{
			(void) WaitLatch(MyLatch,
							 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 1,
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		held = mk_share_held_lock(group, m, slot, &full);
	}
	if (full)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("transaction holds too many records of share groups"),
				 errhint("Use fewer in a transaction, or raise "
						 "\"max_locks_per_transaction\".")));
	if (held == NULL && expired)
		mk_answer_invalid(group, receipt,
						  "The acquisition lock has expired, and another "
						  "worker has the record.",
						  MK_HINT_LOST);
	if (held == NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
			 errmsg("could not lock record " INT64_FORMAT
					" in partition %d of group \"%s\"",
					receipt->offset, receipt->key.partition, group->group_id),
			 errdetail("Another session holds it, or another record of "
					   "its key."),
			 errhint("Try again.")));
	held->key.era = receipt->key.era;
	return held;
}

/* Whether the receipt is that of the newest delivery. */
static bool
mk_answer_fits(const MkShareReceipt *receipt, const MkDelivery *d)
{
	if (receipt->kind == MK_RECEIPT_LOCK)
		return d->state == MK_DELIVERY_LOCKED &&
			d->acquisition == receipt->number;
	return d->number == receipt->number;
}

/* MK121: the receipt is not that of the newest delivery. */
static void
mk_answer_stale(const MkGroup *group, const MkShareReceipt *receipt,
				const MkDelivery *d)
{
	if (receipt->kind != MK_RECEIPT_LOCK)
		mk_answer_invalid(group, receipt,
						  "The record was delivered or answered since.",
						  MK_HINT_ANSWERED);
	if (d->acquisition == receipt->number)
		mk_answer_invalid(group, receipt, "The delivery was answered already.",
						  MK_HINT_ANSWERED);
	if (d->acquisition < receipt->number)
		mk_answer_invalid(group, receipt,
						  "The transaction that acquired the record did not "
						  "commit.",
						  MK_HINT_LOST);
	mk_answer_invalid(group, receipt, "The record was delivered again since.",
					  MK_HINT_LOST);
}

/* A record that the transaction does not hold: locks its slot, and adds it. */
static MkHeldRecord *
mk_answer_take(MkGroup *group, MkTopic *topic, const MkShareReceipt *receipt,
			   MkShareMemory *m, uint32 slot)
{
	const MkGroupChange ready = {.kind = MK_CHANGE_READY};
	MkDelivery d;
	MkShareRun run;
	MkHeldSlot *held;
	MkHeldRecord *record;

	(void) mk_delivery_get(&receipt->key, receipt->offset, &d);
	/* a record that was delivered before may still be answered */
	if (d.number == 0 && !mk_membership_has_topic(group, topic->topic_id))
		mk_answer_invalid(group, receipt, "The topic is not one of the group.",
						  MK_HINT_RECEIPT);
	if (!mk_answer_fits(receipt, &d))
		mk_answer_stale(group, receipt, &d);
	held = mk_answer_lock(group, receipt, m, slot,
						  d.state == MK_DELIVERY_LOCKED &&
							  d.until <= mk_clock_now());
	(void) mk_delivery_get(&receipt->key, receipt->offset, &d);
	if (mk_share_run_find(&receipt->key, receipt->offset, &run))
		mk_answer_invalid(group, receipt, "The record is done already.",
						  MK_HINT_ANSWERED);
	if (!mk_answer_fits(receipt, &d))
		mk_answer_stale(group, receipt, &d);
	/* it counts as done, so later records of its key may be done by now */
	if (d.state == MK_DELIVERY_LOCKED && d.until <= mk_clock_now() &&
		!mk_log_get(topic, receipt->key.partition, receipt->offset, NULL, NULL))
		mk_answer_invalid(group, receipt,
						  "The lock has expired, and the record is gone.",
						  MK_HINT_GONE);
	if (receipt->offset <= mk_share_held_last_offset(held) ||
		mk_share_held_is_closed(held))
		mk_answer_invalid(group, receipt,
						  "This transaction has answered the record, or "
						  "another one of its key.",
						  MK_HINT_ORDER);
	/* the row counts the delivery whose lock has expired, and not this one */
	if (receipt->kind == MK_RECEIPT_TRANSACTION &&
		d.state == MK_DELIVERY_LOCKED)
		d.count++;
	record = mk_share_held_add(group, held, receipt->offset, &d);
	record->taken = true;
	held->gap = true;
	/* sessions remember until when it waits, as long as the version is the same */
	if (mk_delivery_waits(&d, mk_clock_now()))
		mk_group_use_defer(group->group_id, &ready);
	return record;
}

/* Whether the receipt is that of the delivery that the transaction holds. */
static bool
mk_answer_is_mine(const MkShareReceipt *receipt, const MkHeldRecord *record)
{
	const MkDelivery *d = &record->delivery;

	if (record->taken)
		return mk_answer_fits(receipt, d);
	if (receipt->kind == MK_RECEIPT_LOCK)
		return !record->delivered && receipt->number == d->acquisition + 1;
	return record->delivered && receipt->number == d->number;
}

/*
 * Whether the records before this one are answered; with "accept", answers those
 * that the commit would accept.  Returns whether one of them holds up this one.
 */
static bool
mk_answer_check_order(const MkGroup *group, const MkShareReceipt *receipt,
					  const MkHeldRecord *record)
{
	const MkShareAnswer accept = {.outcome = MK_OUTCOME_DONE};
	MkHeldRecord *before = mk_share_held_before(record);

	if (before == NULL)
		return false;
	if (before->answer.outcome == MK_OUTCOME_NONE && !before->accept)
		mk_answer_invalid(group, receipt,
						  "An earlier record of its key is to be acknowledged "
						  "first.",
						  MK_HINT_ORDER);
	if (before->answer.outcome == MK_OUTCOME_NONE)
	{
		if (mk_answer_check_order(group, receipt, before))
			return true;
		mk_share_held_answer(before, &accept);
	}
	return mk_share_held_closes(before);
}

/*
 * The record of a receipt, to be answered; NULL if the transaction holds it, and
 * has released it with an earlier one.
 */
static MkHeldRecord *
mk_answer_find(MkGroup *group, MkTopic *topic, const MkShareReceipt *receipt)
{
	MkShareMemory *m = mk_share_memory_get(group->group_no, topic->topic_id,
										   receipt->key.partition, true);
	uint32 slot;
	MkHeldSlot *held;
	MkHeldRecord *record;

	if (mk_share_slot_of(group, topic, receipt->key.partition, receipt->offset,
						 &slot))
	{
		held = mk_share_held_find(m, slot);
		record =
			held != NULL ? mk_share_held_record(held, receipt->offset) : NULL;
	}
	else
	{
		MkDelivery d;

		/* it is gone; who holds it may still answer */
		record = mk_share_held_find_record(m, receipt->offset);
		if (record == NULL &&
			!mk_delivery_get(&receipt->key, receipt->offset, &d))
			mk_answer_invalid(group, receipt,
							  "The record does not exist any more.",
							  MK_HINT_GONE);
		slot = record == NULL ? d.slot : 0;
	}
	if (record == NULL)
		return mk_answer_take(group, topic, receipt, m, slot);

	if (!mk_answer_is_mine(receipt, record))
		mk_answer_invalid(group, receipt,
						  "This transaction holds another delivery of it.",
						  MK_HINT_RECEIPT);
	if (mk_answer_check_order(group, receipt, record))
		return NULL;
	if (record->answer.outcome != MK_OUTCOME_NONE &&
		record->answer.outcome != MK_OUTCOME_LOCK)
		mk_answer_invalid(group, receipt,
						  "The record was acknowledged already.",
						  MK_HINT_ORDER);
	return record;
}

/* Lets a parked key go on: all that is left to do about its dead letter here. */
static const char *
mk_answer_release_key(const MkShareAcknowledgement *a, const MkTopic *topic)
{
	const MkShareReceipt *receipt = &a->receipt;
	const uint32 slot = (uint32) receipt->number;
	MkShareMemory *m = mk_share_memory_get(a->group->group_no, topic->topic_id,
										   receipt->key.partition, true);
	bool released;

	if (a->type != MK_ACKNOWLEDGE_RELEASE || a->retry_after >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("record " INT64_FORMAT " in partition %d is a dead "
						"letter, of a key that is parked",
						receipt->offset, receipt->key.partition),
				 errhint("Acknowledge with release to let the key go on, or "
						 "send its dead letters back with "
						 "minikafka.redrive().")));
	released = mk_share_parked_lock(&receipt->key, slot, receipt->offset);
	if (released)
	{
		(void) mk_answer_lock(a->group, receipt, m, slot, false);
		released =
			mk_share_parked_release(&receipt->key, slot, receipt->offset);
	}
	if (!released)
		mk_answer_invalid(a->group, receipt,
						  "Its key is not parked by it any more.",
						  MK_HINT_ANSWERED);
	return "released";
}

const char *
mk_share_acknowledge(const MkShareAcknowledgement *a)
{
	MkTopic *topic = mk_answer_topic(a->group, &a->receipt);
	MkHeldRecord *record;

	if (a->receipt.kind == MK_RECEIPT_PARKED)
		return mk_answer_release_key(a, topic);
	record = mk_answer_find(a->group, topic, &a->receipt);
	if (record == NULL)
		return "released";
	if (a->receipt.kind == MK_RECEIPT_TRANSACTION && !record->delivered &&
		a->type != MK_ACKNOWLEDGE_FAIL)
		mk_answer_invalid(a->group, &a->receipt,
						  "The transaction that acquired the record has "
						  "ended; only its failure can be told now.",
						  "Pass type 'fail', or let the record be: it is "
						  "handed out again.");
	return mk_answer_give(a, topic, record);
}

TimestampTz
mk_share_renew(MkGroup *group, const MkShareReceipt *receipt, int64 duration)
{
	MkTopic *topic = mk_answer_topic(group, receipt);
	MkHeldRecord *record;
	MkShareAnswer answer = {.outcome = MK_OUTCOME_LOCK,
							.until = mk_answer_after(duration)};

	if (receipt->kind != MK_RECEIPT_LOCK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("record was not acquired under a lock"),
				 errhint("Acquire with lock_duration to get a lock that can be "
						 "renewed.")));
	record = mk_answer_find(group, topic, receipt);
	if (record == NULL)
		mk_answer_invalid(group, receipt, "The record was released.",
						  MK_HINT_LOST);
	/* the one that this transaction acquires */
	if (record->answer.outcome == MK_OUTCOME_LOCK)
	{
		answer.renewed = record->answer.renewed;
		answer.count = record->answer.count;
	}
	else
	{
		answer.renewed = true;
		answer.count = record->delivery.count;
	}
	mk_share_held_answer(record, &answer);
	return answer.until;
}
