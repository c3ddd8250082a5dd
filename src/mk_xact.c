/*
 * mk_xact.c
 *		What a transaction has to do when it commits.
 *
 * send() and its like only defer here.  Records go to one tuplestore,
 * which spills to disk; each rolled back subtransaction leaves a range of void
 * records in it.  Everything else is a deferred action in a list.  The stack of levels
 * says where each subtransaction's began, as async.c does for its
 * notifications; a level is made when a subtransaction first defers something.
 *
 * At commit (XACT_EVENT_PRE_COMMIT), before any lock is taken, records are
 * checked again whose topic's contract has changed.  Then in three passes:
 *
 * 1. Lock and check everything: the deferred actions' locks, then the sequencing locks of
 *	  the touched partitions, each in ascending order, so that two
 *	  transactions can never deadlock here.  Then what can fail has been
 *	  tried, and nothing has been written (but for segments that were needed,
 *	  whose making rolls back).
 * 2. Write: the deferred actions, then the records, at the tail of each partition.
 * 3. Let go: take the in-flight locks, to the end of the transaction, and
 *	  release the sequencing locks, before the flush of WAL.
 *
 * Pass 3 keeps the sequencing lock of a partition, to the end, where others
 * could not go on yet: where it wrote into a segment that it made itself; and
 * everywhere in a SERIALIZABLE transaction, which can still fail; and
 * append(), which took it before, holds it twice.
 *
 * What fails after pass 2 leaves the offsets free, unless a later transaction
 * has taken higher ones by then: that leaves a hole, over which readers step.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_contract.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_number.h"
#include "mk_stale.h"
#include "mk_wakeup.h"
#include "mk_xact.h"

/* Reading back the buffer: at most so many bytes a batch, and one record. */
#define MK_BATCH_BYTES (256 * 1024)

/* A partition that the transaction has sent to. */
typedef struct MkPartitionSends
{
	MkTopic *topic;
	int32 topic_id; /* as when it was first sent to */
	int32 partition;

	/* append() took the sequencing lock in this level, and this base */
	int append_level; /* 0: it did not */
	MkTail append_tail;

	/* during commit */
	int64 records;
	int64 next_offset;
	MkTail tail;
	bool made_segment;
	MkAppender *appender;
	int first; /* of the batch, -1: none */
	int last;
} MkPartitionSends;

/* A topic that the transaction has sent to. */
typedef struct MkTouched
{
	MkTopic *topic;
	int32 sticky; /* -1: not chosen yet */
	int npartitions;
	int *part; /* index into parts, -1: not touched */

	/* the last contract that records were checked against, NULL for none */
	MkContract *contract;
	bool sent;
	bool recheck; /* some were checked against another one */
} MkTouched;

typedef struct MkDeferredKey
{
	const MkDeferredKind *kind;
	uint64 tag;
} MkDeferredKey;

typedef struct MkDeferred
{
	MkDeferredKey key;
	void *action;
	int before; /* the last one of the same key before, -1 if none */
} MkDeferred;

/* The last deferred action of a key */
typedef struct MkLastDeferred
{
	MkDeferredKey key; /* hash key */
	int last;
} MkLastDeferred;

/* What one level of subtransactions has noted. */
typedef struct MkLevel
{
	struct MkLevel *upper;
	int nesting;
	int64 first_record;
	int first_deferred;
	int ncounts;
	int64 *counts; /* live records, for each part */
} MkLevel;

typedef struct MkRange
{
	int64 first;
	int64 end;
} MkRange;

/* Where the buffer is being read */
typedef struct MkReader
{
	int64 position; /* of the next record, with the void ones */
	int range; /* the first void one that does not lie before that */
} MkReader;

/* All of it; NULL while there is none.  In TopTransactionContext. */
typedef struct MkPending
{
	MkLevel *level;
	int nparts;
	MkPartitionSends *parts;
	List *touched; /* of MkTouched */
	MkTouched *last_touched;

	/*
	 * Records; "partition" is the index into parts, and of one that belongs to
	 * a batch "offset" is the sequence, "ts" the index of the batch.
	 */
	Tuplestorestate *buffer;
	bool buffer_failed; /* an error came while it was written */
	int64 nrecords; /* in the buffer, with the void ones */
	int nvoid;
	MkRange *voids; /* ascending */
	bool is_reading; /* from mk_xact_is_same on, where that has come to: */
	MkReader reader;

	int ndeferred;
	MkDeferred *deferred;
	HTAB *last_deferred; /* of MkLastDeferred */

	int nbatches;
	MkSequencedBatch **batches;

	int nsent;
	MkSent *sent; /* in TopMemoryContext */
} MkPending;

static MkPending *mk_pending = NULL;

/*
 * From PRE_COMMIT on nothing can be noted, whether anything was or not; nor
 * read, since the transaction's own rows would look as if they were decided.
 */
static bool mk_committing = false;

/* What last_sent() shows; in TopMemoryContext. */
static int mk_nlast_sent = 0;
static MkSent *mk_last_sent = NULL;

/* ---------------------------------------------------------------------------
 * Deferring
 */

void
mk_xact_check_open(const char *function)
{
	if (unlikely(mk_committing))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot execute %s while the transaction is committing",
						function),
				 errdetail("Nothing can be sent or read any more.")));
}

void
mk_xact_check_writable(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	PreventCommandIfParallelMode(function);
	mk_relation_check_subscriber();
}

MemoryContext
mk_xact_context(void)
{
	return TopTransactionContext;
}

/* The deferred actions of the transaction, with a level for the current nesting. */
static MkPending *
mk_xact_pending(void)
{
	int nesting = GetCurrentTransactionNestLevel();
	MkPending *p = mk_pending;
	MkLevel *level;

	if (p == NULL)
	{
		mk_relation_note_use();
		p = mk_pending =
			MemoryContextAllocZero(TopTransactionContext, sizeof(MkPending));
	}
	if (p->level != NULL && p->level->nesting == nesting)
		return p;

	level = MemoryContextAllocZero(TopTransactionContext, sizeof(MkLevel));
	level->upper = p->level;
	level->nesting = nesting;
	level->first_record = p->nrecords;
	level->first_deferred = p->ndeferred;
	p->level = level;
	return p;
}

/* The last deferred action of a key, made if there is none and "make". */
static MkLastDeferred *
mk_xact_last_deferred(MkPending *p, const MkDeferredKey *key, bool make)
{
	MkLastDeferred *last;
	bool found;

	if (p->last_deferred == NULL)
	{
		HASHCTL ctl = {0};

		if (!make)
			return NULL;
		ctl.keysize = sizeof(MkDeferredKey);
		ctl.entrysize = sizeof(MkLastDeferred);
		ctl.hcxt = TopTransactionContext;
		p->last_deferred = hash_create("minikafka deferred actions", 16, &ctl,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	last = hash_search(p->last_deferred, key, make ? HASH_ENTER : HASH_FIND,
					   &found);
	if (make && !found)
		last->last = -1;
	return last;
}

/* The position of the last deferred action about the same thing, or -1. */
static int
mk_xact_find(MkPending *p, const MkLastDeferred *last,
			 const MkDeferredKind *kind, const void *like)
{
	for (int i = last != NULL ? last->last : -1; i >= 0;
		 i = p->deferred[i].before)
		if (kind->same(p->deferred[i].action, like))
			return i;
	return -1;
}

void
mk_xact_defer(const MkDeferredKind *kind, void *action)
{
	MkPending *p = mk_xact_pending();
	MkDeferredKey key = {kind, kind->tag(action)};
	MkLastDeferred *last = mk_xact_last_deferred(p, &key, true);
	int i = mk_xact_find(p, last, kind, action);

	/* a loop that defers the same again and again takes no memory */
	if (i >= p->level->first_deferred)
	{
		kind->discard(p->deferred[i].action);
		p->deferred[i].action = action;
		return;
	}
	p->deferred = mk_array_grow(TopTransactionContext, p->deferred,
								p->ndeferred, sizeof(MkDeferred));
	p->deferred[p->ndeferred].key = key;
	p->deferred[p->ndeferred].action = action;
	p->deferred[p->ndeferred].before = last->last;
	last->last = p->ndeferred++;
}

const void *
mk_xact_find_deferred(const MkDeferredKind *kind, const void *like)
{
	MkPending *p = mk_pending;
	MkDeferredKey key = {kind, kind->tag(like)};
	int i = p == NULL
		? -1
		: mk_xact_find(p, mk_xact_last_deferred(p, &key, false), kind, like);

	return i < 0 ? NULL : p->deferred[i].action;
}

static MkTouched *
mk_xact_touch(MkPending *p, MkTopic *topic)
{
	MkTouched *t = p->last_touched;
	ListCell *lc;
	MemoryContext old;

	if (likely(t != NULL && t->topic == topic))
		return t;

	foreach (lc, p->touched)
	{
		t = lfirst(lc);
		if (t->topic == topic)
		{
			p->last_touched = t;
			return t;
		}
	}

	old = MemoryContextSwitchTo(TopTransactionContext);
	t = palloc0(sizeof(MkTouched));
	t->topic = topic;
	t->sticky = -1;
	p->touched = lappend(p->touched, t);
	p->last_touched = t;
	MemoryContextSwitchTo(old);
	return t;
}

static int
mk_xact_part(MkPending *p, MkTopic *topic, int32 partition)
{
	MkTouched *t = mk_xact_touch(p, topic);
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

	p->parts = mk_array_grow(TopTransactionContext, p->parts, p->nparts,
							 sizeof(MkPartitionSends));
	part = &p->parts[p->nparts];
	memset(part, 0, sizeof(*part));
	part->topic = topic;
	part->topic_id = topic->topic_id;
	part->partition = partition;
	t->part[partition] = p->nparts;
	return p->nparts++;
}

int32
mk_xact_sticky_partition(MkTopic *topic)
{
	MkTouched *t = mk_xact_touch(mk_xact_pending(), topic);

	if (t->sticky < 0 || t->sticky >= topic->npartitions)
	{
		if (topic->sticky == 0)
			topic->sticky = (uint32) MyProcPid;
		t->sticky = topic->sticky++ % topic->npartitions;
	}
	return t->sticky;
}

static void
mk_xact_begin_buffer(MkPending *p)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);
	ResourceOwner old_owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	p->buffer = tuplestore_begin_heap(false, false, work_mem);
	CurrentResourceOwner = old_owner;
	MemoryContextSwitchTo(old);
}

/*
 * An error in a tuplestore (a full disk, say) leaves it in no state to go on
 * with, also where a subtransaction has caught the error.
 */
static void
mk_xact_check_buffer(MkPending *p)
{
	if (unlikely(p->buffer_failed))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("records that this transaction has sent are lost"),
				 errdetail("An error came while they were buffered."),
				 errhint("Roll the transaction back and run it again.")));
}

static void
mk_xact_add_batch(MkPending *p, MkSequencedBatch *batch, int part)
{
	p->batches = mk_array_grow(TopTransactionContext, p->batches, p->nbatches,
							   sizeof(MkSequencedBatch *));
	batch->index = p->nbatches;
	batch->part = part;
	p->batches[p->nbatches++] = batch;
}

/* Reads the buffer from its beginning. */
static void
mk_xact_rescan(MkPending *p, MkReader *reader)
{
	tuplestore_rescan(p->buffer);
	memset(reader, 0, sizeof(*reader));
}

/* The next record that is not void; false at the end. */
static bool
mk_xact_read(MkPending *p, MkReader *reader, TupleTableSlot *slot)
{
	while (tuplestore_gettupleslot(p->buffer, true, false, slot))
	{
		int64 position = reader->position++;

		while (reader->range < p->nvoid &&
			   position >= p->voids[reader->range].end)
			reader->range++;
		if (reader->range < p->nvoid &&
			position >= p->voids[reader->range].first)
			continue;
		slot_getallattrs(slot);
		return true;
	}
	return false;
}

/* The record that was read, valid as long as the slot has it. */
static void
mk_xact_slot_record(TupleTableSlot *slot, MkRecord *record)
{
	record->key = slot->tts_values[Anum_record_key - 1];
	record->key_isnull = slot->tts_isnull[Anum_record_key - 1];
	record->value = slot->tts_values[Anum_record_value - 1];
	record->value_isnull = slot->tts_isnull[Anum_record_value - 1];
	record->headers = slot->tts_values[Anum_record_headers - 1];
	record->headers_isnull = slot->tts_isnull[Anum_record_headers - 1];
}

/* The batch of the record that was read, and its sequence; NULL if none. */
static MkSequencedBatch *
mk_xact_slot_batch(MkPending *p, TupleTableSlot *slot, int64 *sequence)
{
	if (slot->tts_isnull[Anum_record_ts - 1])
		return NULL;
	*sequence = DatumGetInt64(slot->tts_values[Anum_record_offset - 1]);
	return p->batches[DatumGetInt64(slot->tts_values[Anum_record_ts - 1])];
}

/* Reads on, up to the record of this sequence, or the position "end". */
static bool
mk_xact_read_to(MkPending *p, const MkSequencedBatch *batch, int64 sequence,
				int64 end, TupleTableSlot *slot)
{
	while (p->reader.position < end && mk_xact_read(p, &p->reader, slot))
	{
		int64 found = -1;

		CHECK_FOR_INTERRUPTS();
		if (mk_xact_slot_batch(p, slot, &found) == batch && found == sequence)
			return true;
	}
	return false;
}

bool
mk_xact_is_same(const MkSequencedBatch *batch, int64 sequence,
				const MkRecord *record)
{
	MkPending *p = mk_pending;
	bool same = true;
	bool found = false;
	int64 begun;
	MkRecord former;
	TupleTableSlot *slot;

	mk_xact_check_buffer(p);
	if (p->buffer == NULL)
		return true;
	slot = MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsMinimalTuple);

	/* repeats mostly come in order: from where the last one was */
	begun = p->is_reading ? p->reader.position : 0;
	p->is_reading = false; /* if it fails */
	if (begun > 0)
		found = mk_xact_read_to(p, batch, sequence, p->nrecords, slot);
	if (!found)
	{
		mk_xact_rescan(p, &p->reader);
		found = mk_xact_read_to(p, batch, sequence,
								begun > 0 ? begun : p->nrecords, slot);
	}
	p->is_reading = found;
	if (found)
	{
		mk_xact_slot_record(slot, &former);
		same = mk_scan_is_same(&former, record);
	}
	ExecDropSingleTupleTableSlot(slot);
	return same;
}

bool
mk_xact_is_appended(const MkSequencedBatch *batch)
{
	return batch->index >= 0 && mk_pending->parts[batch->part].append_level > 0;
}

/*
 * Sees to the contract of a topic as it is now; records that were checked
 * against another one are to be checked again.
 */
static void
mk_xact_get_contract(MkTouched *t)
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

static void
mk_xact_check_record(MkTopic *topic, int32 partition, const MkRecord *record)
{
	MkTouched *t = mk_xact_touch(mk_xact_pending(), topic);

	mk_xact_get_contract(t);
	if (unlikely(t->contract != NULL))
		mk_contract_check(t->contract, partition, record);
	t->sent = true;
}

/* Puts a record that was checked into the buffer. */
static void
mk_xact_put(MkTopic *topic, int32 partition, const MkRecord *record,
			MkSequencedBatch *batch, int64 sequence)
{
	MkPending *p = mk_xact_pending();
	MkLevel *level = p->level;
	int part = mk_xact_part(p, topic, partition);
	TupleDesc desc;
	Datum values[Natts_record];
	bool nulls[Natts_record];

	mk_xact_check_buffer(p);
	if (p->buffer == NULL)
		mk_xact_begin_buffer(p);
	nulls[Anum_record_offset - 1] = batch == NULL;
	nulls[Anum_record_ts - 1] = batch == NULL;
	if (batch != NULL)
	{
		if (batch->index < 0)
			mk_xact_add_batch(p, batch, part);
		values[Anum_record_offset - 1] = Int64GetDatum(sequence);
		values[Anum_record_ts - 1] = Int64GetDatum(batch->index);
	}
	values[Anum_record_partition - 1] = Int32GetDatum(part);
	nulls[Anum_record_partition - 1] = false;
	values[Anum_record_key - 1] = record->key;
	nulls[Anum_record_key - 1] = record->key_isnull;
	values[Anum_record_value - 1] = record->value;
	nulls[Anum_record_value - 1] = record->value_isnull;
	values[Anum_record_headers - 1] = record->headers;
	nulls[Anum_record_headers - 1] = record->headers_isnull;

	if (unlikely(part >= level->ncounts))
	{
		int n = Max(8, 2 * part);

		level->counts = level->counts == NULL
			? MemoryContextAlloc(TopTransactionContext, n * sizeof(int64))
			: repalloc(level->counts, n * sizeof(int64));
		while (level->ncounts < n)
			level->counts[level->ncounts++] = 0;
	}
	desc = mk_record_desc();
	p->buffer_failed = true;
	tuplestore_putvalues(p->buffer, desc, values, nulls);
	p->buffer_failed = false;
	p->nrecords++;
	level->counts[part]++;
}

/* The live records of a part. */
static int64
mk_xact_count(MkPending *p, int part)
{
	int64 n = 0;

	for (MkLevel *level = p->level; level != NULL; level = level->upper)
		if (part < level->ncounts)
			n += level->counts[part];
	return n;
}

void
mk_xact_send(MkTopic *topic, int32 partition, const MkRecord *record,
			 MkSequencedBatch *batch, int64 sequence)
{
	mk_xact_check_record(topic, partition, record);
	mk_xact_put(topic, partition, record, batch, sequence);
}

/*
 * The offset that the next record will have.  Takes the sequencing lock, to the
 * end of the transaction.
 */
static int64
mk_xact_next_offset(MkTopic *topic, int32 partition)
{
	MkPending *p = mk_xact_pending();
	int part = mk_xact_part(p, topic, partition);
	int32 topic_id = p->parts[part].topic_id;

	/*
	 * A lock that was taken in a subtransaction went with it; and so long as
	 * it is held the base holds, also when a transaction that was still
	 * committing fails.
	 */
	if (p->parts[part].append_level == 0)
	{
		MkTail tail;
		ResourceOwner owner = CurrentResourceOwner;

		mk_stale_before_append(topic, partition);
		/* as long-lived as the level, also where a portal is not */
		CurrentResourceOwner = CurTransactionResourceOwner;
		mk_lock_sequence(topic_id, partition);
		CurrentResourceOwner = owner;
		mk_catalog_check_topic(topic, topic_id);
		mk_log_tail(topic, partition, &tail);
		mk_log_tail_close(&tail);
		p->parts[part].append_tail = tail;
		p->parts[part].append_level = p->level->nesting;
	}
	return p->parts[part].append_tail.next_offset + mk_xact_count(p, part);
}

int64
mk_xact_append(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence)
{
	int64 offset;

	/* first, since it may run what the owner wrote */
	mk_xact_check_record(topic, partition, record);
	offset = mk_xact_next_offset(topic, partition);
	mk_xact_put(topic, partition, record, batch, sequence);
	return offset;
}

/* ---------------------------------------------------------------------------
 * Subtransactions
 */

static void
mk_xact_merge_level(MkPending *p)
{
	MkLevel *level = p->level;
	MkLevel *upper = level->upper;
	int nesting = level->nesting - 1;

	for (int i = 0; i < p->nparts; i++)
		if (p->parts[i].append_level > nesting)
			p->parts[i].append_level = nesting;

	if (upper == NULL || upper->nesting < nesting)
	{
		level->nesting = nesting;
		return;
	}
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
	p->level = upper;
	pfree(level);
}

/* Tells the deferred actions from "first" on that they were rolled back. */
static void
mk_xact_undo_deferred(const MkPending *p, int first)
{
	for (int i = p->ndeferred - 1; i >= first; i--)
		if (p->deferred[i].key.kind->undone != NULL)
			p->deferred[i].key.kind->undone(p->deferred[i].action);
}

static void
mk_xact_drop_level(MkPending *p)
{
	MkLevel *level = p->level;

	for (int i = 0; i < p->nparts; i++)
		if (p->parts[i].append_level >= level->nesting)
			p->parts[i].append_level = 0;

	mk_xact_undo_deferred(p, level->first_deferred);
	while (p->ndeferred > level->first_deferred)
	{
		MkDeferred *last = &p->deferred[--p->ndeferred];

		mk_xact_last_deferred(p, &last->key, true)->last = last->before;
	}
	p->is_reading = false;
	if (p->nrecords > level->first_record)
	{
		/* ranges that lie inside are swallowed */
		while (p->nvoid > 0 &&
			   p->voids[p->nvoid - 1].first >= level->first_record)
			p->nvoid--;
		if (level->first_record == 0 && !p->buffer_failed)
		{
			tuplestore_clear(p->buffer);
			p->nrecords = 0;
		}
		else if (p->nvoid > 0 &&
				 p->voids[p->nvoid - 1].end == level->first_record)
			p->voids[p->nvoid - 1].end = p->nrecords;
		else
		{
			p->voids = mk_array_grow(TopTransactionContext, p->voids, p->nvoid,
									 sizeof(MkRange));
			p->voids[p->nvoid].first = level->first_record;
			p->voids[p->nvoid].end = p->nrecords;
			p->nvoid++;
		}
	}
	p->level = level->upper;
	if (level->counts != NULL)
		pfree(level->counts);
	pfree(level);
}

static void
mk_subxact_callback(SubXactEvent event, SubTransactionId mySubid,
					SubTransactionId parentSubid, void *arg)
{
	MkPending *p = mk_pending;

	if (p == NULL || p->level == NULL ||
		p->level->nesting < GetCurrentTransactionNestLevel())
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		mk_xact_merge_level(p);
	else if (event == SUBXACT_EVENT_ABORT_SUB)
		mk_xact_drop_level(p);
}

/* ---------------------------------------------------------------------------
 * Committing
 */

/* By rank and tag, then as they were noted. */
static int
mk_compare_deferred(const void *a, const void *b)
{
	const MkDeferred *na = a;
	const MkDeferred *nb = b;

	if (na->key.kind->rank != nb->key.kind->rank)
		return na->key.kind->rank - nb->key.kind->rank;
	if (na->key.tag != nb->key.tag)
		return na->key.tag < nb->key.tag ? -1 : 1;
	/* of one key the later one follows the earlier one */
	return na->before - nb->before;
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

/* Orders the deferred actions, and keeps the last of those about the same thing. */
static void
mk_xact_order_deferred(MkPending *p)
{
	MkDeferred *live;
	int n = 0;

	if (p->ndeferred == 0)
		return;
	live = MemoryContextAllocHuge(TopTransactionContext,
								  p->ndeferred * sizeof(MkDeferred));
	for (int i = 0; i < p->ndeferred; i++)
		if (mk_xact_find_deferred(p->deferred[i].key.kind,
								  p->deferred[i].action) ==
			p->deferred[i].action)
			live[n++] = p->deferred[i];
	qsort(live, n, sizeof(MkDeferred), mk_compare_deferred);
	p->deferred = live;
	p->ndeferred = n;
}

/* The touched partitions that have live records, in order. */
static MkPartitionSends **
mk_xact_order_parts(MkPending *p, int *nparts)
{
	MkPartitionSends **parts = palloc(p->nparts * sizeof(MkPartitionSends *));
	int n = 0;

	for (int i = 0; i < p->nparts; i++)
		p->parts[i].records = mk_xact_count(p, i);
	for (int i = 0; i < p->nbatches; i++)
		p->parts[p->batches[i]->part].records -= p->batches[i]->repeated;
	for (int i = 0; i < p->nparts; i++)
	{
		if (p->parts[i].records > 0)
			parts[n++] = &p->parts[i];
	}
	if (n > 1)
		qsort(parts, n, sizeof(MkPartitionSends *), mk_compare_parts);
	*nparts = n;
	return parts;
}

/* Pass 1, for one partition. */
static void
mk_xact_lock_part(MkPartitionSends *part)
{
	mk_lock_sequence(part->topic_id, part->partition);
	mk_catalog_check_topic(part->topic, part->topic_id);
	if (part->append_level > 0)
		part->tail = part->append_tail;
	else
		mk_log_tail(part->topic, part->partition, &part->tail);
	part->made_segment = mk_log_reserve(part->topic, part->partition,
										&part->tail, part->records);
	mk_log_make_ahead(part->topic, part->partition,
					  part->tail.next_offset + part->records - 1,
					  MK_MAKE_IN_PASSING);
}

static bool
mk_batch_is_repeat(const MkSequencedBatch *batch, int64 sequence)
{
	return batch->repeated > 0 && sequence <= batch->through;
}

/* Pass 1, for records that turned out to be repeats: mostly there are none. */
static void
mk_xact_check_repeats(MkPending *p)
{
	bool any = false;
	MkReader reader;
	TupleTableSlot *slot;
	MemoryContext context;
	MemoryContext old;

	for (int i = 0; i < p->nbatches; i++)
		any = any || p->batches[i]->repeated > 0;
	if (!any)
		return;
	slot = MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsMinimalTuple);
	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka repeat",
									ALLOCSET_DEFAULT_SIZES);
	mk_xact_rescan(p, &reader);
	while (mk_xact_read(p, &reader, slot))
	{
		int64 sequence = 0;
		MkSequencedBatch *batch = mk_xact_slot_batch(p, slot, &sequence);
		MkRecord record;

		CHECK_FOR_INTERRUPTS();
		if (batch == NULL || !mk_batch_is_repeat(batch, sequence))
			continue;
		mk_xact_slot_record(slot, &record);
		old = MemoryContextSwitchTo(context);
		batch->repeat(batch, sequence, &record);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Checks records again whose topic's contract is another than it was.  Holds no
 * lock that anybody waits for, since it runs what owners wrote.
 */
static void
mk_xact_recheck(MkPending *p)
{
	bool recheck = false;
	TupleTableSlot *slot;
	MkReader reader;
	ListCell *lc;

	if (p->nrecords == 0)
		return;
	AcceptInvalidationMessages();
	foreach (lc, p->touched)
	{
		MkTouched *t = lfirst(lc);

		mk_xact_get_contract(t);
		recheck |= t->recheck && t->contract != NULL;
	}
	if (likely(!recheck))
		return;

	slot = MakeSingleTupleTableSlot(mk_record_desc(), &TTSOpsMinimalTuple);
	mk_xact_rescan(p, &reader);
	while (mk_xact_read(p, &reader, slot))
	{
		const MkPartitionSends *part = &p->parts[DatumGetInt32(
			slot->tts_values[Anum_record_partition - 1])];
		MkTouched *t = mk_xact_touch(p, part->topic);
		MkRecord record;

		CHECK_FOR_INTERRUPTS();
		if (!t->recheck || t->contract == NULL)
			continue;
		mk_xact_slot_record(slot, &record);
		mk_contract_check(t->contract, part->partition, &record);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * Pass 2, for the records.  One walk through the buffer; each batch is dealt
 * out to the partitions.
 */
static void
mk_xact_write_records(MkPending *p, MkPartitionSends **parts, int nparts)
{
	TupleTableSlot **slots;
	MkRecord *records;
	int *next;
	MkRecord *run;
	int nslots = 0;
	int room = (int) Min(p->nrecords, MK_APPEND_BATCH);
	MkReader reader;
	bool more = true;
	TimestampTz now = mk_clock_now();

	slots = palloc(room * sizeof(TupleTableSlot *));
	records = palloc(room * sizeof(MkRecord));
	next = palloc(room * sizeof(int));
	run = nparts > 1 ? palloc(room * sizeof(MkRecord)) : NULL;
	for (int i = 0; i < nparts; i++)
	{
		parts[i]->next_offset = parts[i]->tail.next_offset;
		parts[i]->appender = mk_log_append_begin(
			parts[i]->topic, parts[i]->partition, &parts[i]->tail, now,
			mk_xact_touch(p, parts[i]->topic)->contract);
	}

	mk_xact_rescan(p, &reader);
	while (more)
	{
		int n = 0;
		Size bytes = 0;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < nparts; i++)
			parts[i]->first = -1;
		while (n < room && bytes < MK_BATCH_BYTES)
		{
			TupleTableSlot *slot;
			MkPartitionSends *part;
			MkSequencedBatch *batch;
			int64 sequence = 0;

			if (n == nslots)
				slots[nslots++] = MakeSingleTupleTableSlot(mk_record_desc(),
														   &TTSOpsMinimalTuple);
			slot = slots[n];
			more = mk_xact_read(p, &reader, slot);
			if (!more)
				break;
			batch = mk_xact_slot_batch(p, slot, &sequence);
			if (batch != NULL && mk_batch_is_repeat(batch, sequence))
				continue;
			mk_xact_slot_record(slot, &records[n]);
			part = &p->parts[DatumGetInt32(
				slot->tts_values[Anum_record_partition - 1])];
			bytes += ((MinimalTupleTableSlot *) slot)->mintuple->t_len;
			part->next_offset++;
			if (batch != NULL)
				batch->placed(batch, sequence, part->next_offset - 1);
			if (part->first < 0)
				part->first = n;
			else
				next[part->last] = n;
			part->last = n;
			next[n++] = -1;
		}

		if (nparts == 1)
			mk_append_records(parts[0]->appender, records, n);
		else
			for (int i = 0; i < nparts; i++)
			{
				int nrun = 0;

				for (int j = parts[i]->first; j >= 0; j = next[j])
					run[nrun++] = records[j];
				mk_append_records(parts[i]->appender, run, nrun);
			}
		for (int i = 0; i < n; i++)
			ExecClearTuple(slots[i]);
	}

	for (int i = 0; i < nslots; i++)
		ExecDropSingleTupleTableSlot(slots[i]);
}

void
mk_xact_add_sent(const NameData *topic, int32 partition, int64 base_offset,
				 int64 records)
{
	MkPending *p = mk_pending;
	MkSent *sent;

	p->sent =
		mk_array_grow(TopMemoryContext, p->sent, p->nsent, sizeof(MkSent));
	sent = &p->sent[p->nsent++];
	sent->topic = *topic;
	sent->partition = partition;
	sent->base_offset = base_offset;
	sent->records = records;
}

static int
mk_compare_sent(const void *a, const void *b)
{
	const MkSent *sa = a;
	const MkSent *sb = b;
	int order = strcmp(NameStr(sa->topic), NameStr(sb->topic));

	if (order != 0)
		return order;
	if (sa->partition != sb->partition)
		return sa->partition < sb->partition ? -1 : 1;
	return sa->base_offset < sb->base_offset
		? -1
		: sa->base_offset > sb->base_offset;
}

/* Puts it in order, and joins what follows each other. */
static void
mk_xact_order_sent(MkPending *p)
{
	int n = 0;

	if (p->nsent < 2)
		return;
	qsort(p->sent, p->nsent, sizeof(MkSent), mk_compare_sent);
	for (int i = 1; i < p->nsent; i++)
	{
		MkSent *last = &p->sent[n];
		const MkSent *next = &p->sent[i];

		if (last->partition == next->partition &&
			last->base_offset + last->records >= next->base_offset &&
			strcmp(NameStr(last->topic), NameStr(next->topic)) == 0)
			last->records =
				Max(last->records,
					next->base_offset + next->records - last->base_offset);
		else
			p->sent[++n] = *next;
	}
	p->nsent = n + 1;
}

static void
mk_xact_commit_records(MkPending *p)
{
	MkPartitionSends **parts;
	int nparts;

	/* pass 1; what needs no lock is done before it is taken */
	parts = mk_xact_order_parts(p, &nparts);
	if (nparts > 0)
		(void) GetCurrentTransactionId();
	for (int i = 0; i < nparts; i++)
	{
		mk_xact_lock_part(parts[i]);
		if (nparts > 1)
			mk_log_tail_close(&parts[i]->tail);
	}

	/*
	 * The tails may have gone back while we waited for the later locks, if
	 * somebody failed who was committing.  And so that who locks the tables of
	 * the topic in turn comes before us or after us, take theirs in order.
	 */
	for (int i = 0; nparts > 1 && i < nparts; i++)
		if (parts[i]->append_level == 0)
			mk_log_tail(parts[i]->topic, parts[i]->partition, &parts[i]->tail);

	/* pass 2 */
	for (int i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].key.kind->write != NULL)
			p->deferred[i].key.kind->write(p->deferred[i].action);
	for (int i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].key.kind->finish != NULL)
			p->deferred[i].key.kind->finish(p->deferred[i].action);
	if (nparts == 0)
		return;
	mk_xact_write_records(p, parts, nparts);
	for (int i = 0; i < p->nbatches; i++)
		p->batches[i]->done(p->batches[i]);
	/* made now, since it must not fail later */
	for (int i = 0; i < nparts; i++)
		mk_xact_add_sent(&parts[i]->topic->name, parts[i]->partition,
						 parts[i]->tail.next_offset, parts[i]->records);

	for (int i = 0; i < nparts; i++)
		mk_wakeup_at_end(
			mk_wakeup_partition(parts[i]->topic_id, parts[i]->partition));

	/* pass 3 */
	for (int i = 0; i < nparts; i++)
		mk_lock_in_flight(parts[i]->topic_id, parts[i]->partition);
	for (int i = 0; i < nparts; i++)
		if (!parts[i]->made_segment && !IsolationIsSerializable())
			mk_lock_sequence_release(parts[i]->topic_id, parts[i]->partition);

	for (int i = 0; i < nparts; i++)
		mk_append_end(parts[i]->appender);
}

/*
 * Says so when there is no room in the lock table for what the transaction is
 * to lock: each deferred action about one lock, each partition two.
 */
static void
mk_xact_check_locks(const MkPending *p)
{
	int64 needed = 2 * (int64) p->nparts;

	for (int i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].key.kind->lock != NULL)
			needed++;
	if (needed > mk_lock_room())
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("transaction has more to lock than there is room for"),
			 errdetail("The groups, producers and partitions that it has used "
					   "take about " INT64_FORMAT
					   " locks, and there is room for " INT64_FORMAT ".",
					   needed, mk_lock_room()),
			 errhint("Use fewer in a transaction, or raise "
					 "\"max_locks_per_transaction\" to " INT64_FORMAT
					 " or more and restart the server.",
					 mk_lock_setting(needed))));
}

static void
mk_xact_pre_commit(MkPending *p)
{
	MemoryContext context;
	MemoryContext old;
	bool save_read_only = XactReadOnly;

	/* it was not yet when the actions were deferred */
	XactReadOnly = false;
	context = AllocSetContextCreate(TopTransactionContext, "minikafka commit",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	PushActiveSnapshot(GetTransactionSnapshot());

	mk_xact_check_buffer(p);
	mk_xact_recheck(p);
	for (int i = 0; i < p->nparts; i++)
		if (mk_xact_count(p, i) > 0)
			mk_stale_before_append(p->parts[i].topic, p->parts[i].partition);
	mk_xact_order_deferred(p);
	mk_xact_check_locks(p);
	for (int i = 0; i < p->ndeferred; i++)
		if (p->deferred[i].key.kind->lock != NULL)
			p->deferred[i].key.kind->lock(p->deferred[i].action);
	mk_xact_check_repeats(p);
	mk_xact_commit_records(p);
	mk_xact_order_sent(p);
	if (p->buffer != NULL)
		tuplestore_end(p->buffer);

	PopActiveSnapshot();
	CommandCounterIncrement();
	XactReadOnly = save_read_only;

	/* cursors that code of owners has left open: core closed its own before */
	(void) PreCommit_Portals(false);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Whether anything is left that was not rolled back. */
static bool
mk_xact_is_empty(MkPending *p)
{
	if (p->ndeferred > 0)
		return false;
	for (int i = 0; i < p->nparts; i++)
		if (p->parts[i].append_level > 0 || mk_xact_count(p, i) > 0)
			return false;
	return true;
}

static void
mk_xact_pre_prepare(MkPending *p)
{
	if (!mk_xact_is_empty(p))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has sent records or "
						"used a group or a producer")));
	if (p->buffer != NULL)
		tuplestore_end(p->buffer);
}

static void
mk_xact_callback(XactEvent event, void *arg)
{
	MkPending *p = mk_pending;

	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			mk_committing = true;
			if (p != NULL)
				mk_xact_pre_commit(p);
			break;
		case XACT_EVENT_PRE_PREPARE:
			mk_committing = true;
			if (p != NULL)
				mk_xact_pre_prepare(p);
			break;
		case XACT_EVENT_COMMIT:
			if (p != NULL && p->sent != NULL)
			{
				if (mk_last_sent != NULL)
					pfree(mk_last_sent);
				mk_last_sent = p->sent;
				mk_nlast_sent = p->nsent;
			}
			for (int i = 0; p != NULL && i < p->ndeferred; i++)
				if (p->deferred[i].key.kind->done != NULL)
					p->deferred[i].key.kind->done(p->deferred[i].action);
			mk_pending = NULL;
			mk_committing = false;
			break;
		case XACT_EVENT_ABORT:
			if (p != NULL && p->sent != NULL)
				pfree(p->sent);
			if (p != NULL)
				mk_xact_undo_deferred(p, 0);
			mk_pending = NULL;
			mk_committing = false;
			break;
		case XACT_EVENT_PREPARE:
			mk_pending = NULL;
			mk_committing = false;
			break;
		default:
			break;
	}
}

const MkSent *
mk_xact_last_sent(int *n)
{
	*n = mk_nlast_sent;
	return mk_last_sent;
}

void
mk_xact_init(void)
{
	RegisterXactCallback(mk_xact_callback, NULL);
	RegisterSubXactCallback(mk_subxact_callback, NULL);
}
