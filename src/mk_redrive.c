/*
 * mk_redrive.c
 *		Sending dead letters back to where they came from.
 *
 * A redrive reads the letters that no redrive has sent on, sends each as a new
 * record, and marks it; both take effect with the transaction.  It holds the
 * topic's redrive lock from the call to the end of the transaction, so another
 * redrive of the topic sees what this one has marked, or that it rolled back.
 * The lock comes at the call because the call returns how many there are, and
 * what it sends depends on them.
 *
 * What cannot be sent back, because it came from no topic, is not marked: with a
 * target it still can be sent.  A letter whose record was gone has nothing to
 * send, and is marked, so that it is not looked at again.  So are offsets without
 * a record.  Thus marks have no gaps where all was sent, and the next redrive
 * begins behind them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "mk_dead_letter.h"
#include "mk_header_edit.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_redrive.h"
#include "mk_redriven.h"
#include "mk_send.h"
#include "mk_share_parked.h"
#include "mk_topic.h"

/* Letters are read in batches of so many, with so many bytes. */
#define MK_BATCH_RECORDS 100
#define MK_BATCH_BYTES   (1024 * 1024)

/* The headers of a record that was redriven. */
#define MK_REDRIVEN_PREFIX    "__dlq.redriven."
#define MK_REDRIVEN_TOPIC     MK_REDRIVEN_PREFIX "topic"
#define MK_REDRIVEN_PARTITION MK_REDRIVEN_PREFIX "partition"
#define MK_REDRIVEN_OFFSET    MK_REDRIVEN_PREFIX "offset"
#define MK_REDRIVEN_COUNT     MK_REDRIVEN_PREFIX "count"

/* A redrive, and how far it has come. */
typedef struct MkRedriveWork
{
	const MkRedrive *redrive;
	int32 partition;
	int64 sent;
	int64 without; /* letters that came from no topic */
	int64 unknown; /* that came from a topic that does not exist */
	int64 gone; /* whose record was gone */

	/* offsets that are done and not marked yet; done_next is after the last */
	int64 done_first;
	int64 done_next;

	/* the batch */
	MemoryContext context;
	int64 limit; /* the last offset to read */
	bool passed; /* there is a record beyond it */
	int n;
	MkLogRecord records[MK_BATCH_RECORDS];

	const MkLogRecord *current; /* for the error context */
} MkRedriveWork;

/* ---------------------------------------------------------------------------
 * One letter
 */

/* The topic that a letter came from; NULL if that does not exist any more. */
static MkTopic *
mk_redrive_origin(const MkRedriveWork *w, const MkHeader *name)
{
	char *terminated;
	MkTopic *topic;

	if (name->length >= NAMEDATALEN)
		return NULL;
	terminated = pnstrdup(name->value, name->length);
	topic = mk_catalog_topic_by_name(terminated);
	pfree(terminated);
	/* a letter that claims to come from here would come again and again */
	if (topic != NULL && topic->topic_id == w->redrive->topic->topic_id)
		return NULL;
	return topic;
}

/*
 * Back in its own topic, a record goes to the partition that it was in.  In
 * another topic its key decides; records without a key stay together.
 */
static int32
mk_redrive_partition(const MkRedriveWork *w, MkTopic *target, Jsonb *headers,
					 const MkRecord *record)
{
	int64 partition = mk_header_get_number(headers, MK_DEAD_LETTER_PARTITION);

	if (w->redrive->target == NULL && partition >= 0 &&
		partition < target->npartitions)
		return (int32) partition;
	if (!record->key_isnull)
		return mk_topic_choose_partition(target, record);
	return (partition >= 0 ? partition : w->partition) % target->npartitions;
}

static MkHeader
mk_redrive_header(const char *name, const char *value)
{
	MkHeader header = {.name = name, .value = value, .length = strlen(value)};

	return header;
}

/* The headers that the record is sent with. */
static Jsonb *
mk_redrive_headers(const MkRedriveWork *w, Jsonb *headers)
{
	static const char *const prefixes[] = {MK_DEAD_LETTER_PREFIX,
										   MK_REDRIVEN_PREFIX};
	int64 count = mk_header_get_number(headers, MK_REDRIVEN_COUNT);
	MkHeader add[4];

	add[0] =
		mk_redrive_header(MK_REDRIVEN_TOPIC, NameStr(w->redrive->topic->name));
	add[1] =
		mk_redrive_header(MK_REDRIVEN_PARTITION, psprintf("%d", w->partition));
	add[2] = mk_redrive_header(MK_REDRIVEN_OFFSET,
							   psprintf(INT64_FORMAT, w->current->offset));
	add[3] = mk_redrive_header(MK_REDRIVEN_COUNT,
							   psprintf(INT64_FORMAT, Max(count, 0) + 1));
	return mk_header_edit(headers, prefixes, lengthof(prefixes), add,
						  lengthof(add));
}

/* Sends the current letter; returns whether it is done with. */
static bool
mk_redrive_letter(MkRedriveWork *w)
{
	MkTopic *target = w->redrive->target;
	MkRecord record = w->current->record;
	Jsonb *headers =
		record.headers_isnull ? NULL : DatumGetJsonbP(record.headers);
	MkHeader header;
	MkSequencedBatch *batch;
	int64 sequence = 0;
	int32 partition;

	if (mk_header_get(headers, MK_DEAD_LETTER_GONE, &header))
	{
		w->gone++;
		return true;
	}
	if (target == NULL)
	{
		if (!mk_header_get(headers, MK_DEAD_LETTER_TOPIC, &header) ||
			header.value == NULL)
		{
			w->without++;
			return false;
		}
		target = mk_redrive_origin(w, &header);
		if (target == NULL)
		{
			w->unknown++;
			return false;
		}
		mk_topic_check_allows(target, GetUserId(), ACL_INSERT);
	}
	record.headers = JsonbPGetDatum(mk_redrive_headers(w, headers));
	record.headers_isnull = false;
	mk_topic_check_record(target, &record);
	partition = mk_redrive_partition(w, target, headers, &record);
	batch = mk_share_parked_return(w->redrive->topic, w->partition,
								   w->current->offset, target, partition,
								   &sequence);
	mk_send_record(target, partition, &record, batch, sequence);
	w->sent++;
	return true;
}

/* ---------------------------------------------------------------------------
 * A partition
 */

/* Marks what is done and not marked yet. */
static void
mk_redrive_mark(MkRedriveWork *w)
{
	if (w->done_next > w->done_first)
		mk_redriven_add(w->redrive->topic, w->partition, w->done_first,
						w->done_next - 1);
}

/* A sink that keeps the records up to the limit. */
static bool
mk_redrive_take(const MkLogRecord *record, void *arg)
{
	MkRedriveWork *w = arg;
	MemoryContext old;

	w->passed = record->offset > w->limit;
	if (w->passed)
		return false;
	old = MemoryContextSwitchTo(w->context);
	w->records[w->n] = *record;
	mk_scan_copy(&w->records[w->n++]);
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * Reads the next letters from an offset on.  Nothing is sent while the log is
 * read, since that may run code of the target's owner.  Returns false if the log
 * start has passed the offset.
 */
static bool
mk_redrive_read(MkRedriveWork *w, int64 from)
{
	const MkRedrive *r = w->redrive;
	int64 room = Min(MK_BATCH_RECORDS, r->max_records - w->sent);
	bool readable;

	MemoryContextReset(w->context);
	w->n = 0;
	w->passed = false;
	PushActiveSnapshot(GetLatestSnapshot());
	readable =
		mk_log_try_read(r->topic, w->partition, from, room, MK_BATCH_BYTES,
						GetActiveSnapshot(), mk_redrive_take, w);
	PopActiveSnapshot();
	return readable;
}

/* Sends the letters that were read. */
static void
mk_redrive_batch(MkRedriveWork *w)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);

	for (int i = 0; i < w->n; i++)
	{
		int64 offset = w->records[i].offset;

		CHECK_FOR_INTERRUPTS();
		w->current = &w->records[i];
		if (mk_redrive_letter(w))
			w->done_next = offset + 1;
		else
		{
			mk_redrive_mark(w);
			w->done_first = w->done_next = offset + 1;
		}
		w->current = NULL;
	}
	MemoryContextSwitchTo(old);
}

/*
 * Sends letters from "next" to w->limit, of which none was sent on before.
 * Returns the offset at which it has stopped: after the limit, at the end of the
 * log, or where there are enough.
 */
static int64
mk_redrive_between(MkRedriveWork *w, int64 next)
{
	const MkRedrive *r = w->redrive;

	w->done_first = w->done_next = next;
	while (next <= w->limit && w->sent < r->max_records)
	{
		if (!mk_redrive_read(w, next))
		{
			int64 log_start = mk_log_start(r->topic, w->partition);

			if (log_start <= next)
				break; /* beyond the end: marks of records that were lost */
			mk_redrive_mark(w);
			w->done_first = w->done_next = next = log_start;
			continue;
		}
		mk_redrive_batch(w);
		if (w->n > 0)
			next = w->records[w->n - 1].offset + 1;
		else if (w->passed)
			next = w->limit + 1;
		else
			break; /* the end */
	}
	mk_redrive_mark(w);
	return next;
}

/* Sends letters of w->partition. */
static void
mk_redrive_do_partition(MkRedriveWork *w)
{
	const MkRedrive *r = w->redrive;
	int64 log_start = mk_log_start(r->topic, w->partition);
	int64 next = r->offset >= 0 ? r->offset : log_start;
	int64 last = r->offset >= 0 ? r->offset : PG_INT64_MAX - 1;

	mk_redriven_forget_below(r->topic, w->partition, log_start);
	while (next <= last && w->sent < r->max_records)
	{
		CHECK_FOR_INTERRUPTS();
		if (!mk_redriven_find(r->topic, w->partition, next, NULL, &w->limit))
		{
			w->limit = Min(w->limit, last);
			next = mk_redrive_between(w, next);
			if (next <= w->limit)
				break;
		}
		next = w->limit + 1;
	}
}

/* ---------------------------------------------------------------------------
 * All of it
 */

/* Tells which letter could not be sent. */
static void
mk_redrive_error(void *arg)
{
	const MkRedriveWork *w = arg;

	if (w->current != NULL)
		errcontext(
			"redrive of offset " INT64_FORMAT " of topic \"%s\" partition %d",
			w->current->offset, NameStr(w->redrive->topic->name), w->partition);
}

/* Tells what was not sent. */
static void
mk_redrive_tell(const MkRedriveWork *w)
{
	int64 skipped = w->without + w->unknown + w->gone;

	if (skipped == 0)
		return;
	ereport(
		NOTICE,
		(errmsg_plural(INT64_FORMAT " record of topic \"%s\" was not sent",
					   INT64_FORMAT " records of topic \"%s\" were not sent",
					   (unsigned long) skipped, skipped,
					   NameStr(w->redrive->topic->name)),
		 errdetail("Without header \"%s\": " INT64_FORMAT
				   ".  From a topic that does not exist: " INT64_FORMAT
				   ".  Of a record that was gone: " INT64_FORMAT ".",
				   MK_DEAD_LETTER_TOPIC, w->without, w->unknown, w->gone),
		 w->gone == skipped
			 ? 0
			 : errhint("Name a topic in argument \"target_topic\".")));
}

int64
mk_redrive(const MkRedrive *r)
{
	int32 topic_id = r->topic->topic_id;
	int32 first = r->partition >= 0 ? r->partition : 0;
	int32 end = r->partition >= 0 ? first + 1 : r->topic->npartitions;
	MkRedriveWork *w = palloc0(sizeof(MkRedriveWork));
	ErrorContextCallback callback = {.previous = error_context_stack,
									 .callback = mk_redrive_error,
									 .arg = w};

	if (r->offset >= 0)
		mk_dead_letter_check_offset(r->topic, r->partition, r->offset);

	/* rows about the topic are written now: it must not be dropped meanwhile */
	mk_lock_topic_in_use(topic_id);
	mk_lock_redrive(topic_id);
	mk_catalog_check_topic(r->topic, topic_id);

	w->redrive = r;
	w->context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka redrive", ALLOCSET_DEFAULT_SIZES);
	error_context_stack = &callback;
	for (w->partition = first; w->partition < end && w->sent < r->max_records;
		 w->partition++)
		mk_redrive_do_partition(w);
	error_context_stack = callback.previous;
	MemoryContextDelete(w->context);
	mk_redrive_tell(w);
	return w->sent;
}
