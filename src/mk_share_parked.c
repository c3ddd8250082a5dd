/*
 * mk_share_parked.c
 *		Parked keys of share groups: records that follow an earlier one of their key
 *		to the dead-letter topic.
 *
 * With on_exhausted = dead_letter_key, no record of a key is handed out before an
 * earlier one that was set aside.  Each such record has a row: it is a dead letter;
 * or redrive() has sent it back, as a new record at the end of its partition.  Its
 * place in the order of the key is its offset when it was first set aside, whatever
 * it has become.  So a record follows if an earlier one
 *
 * - is a dead letter that still exists and was not sent on; or
 * - was sent back, and comes after it in the log.
 *
 * The second is about records that have arrived before a redrive, and that no walk
 * has come to yet.  They become dead letters in their turn; what was redriven is
 * handed out meanwhile, for its place is before theirs.  If it fails again, what
 * came after it follows again.  Thus the records of a key are processed in their
 * order, however often they are redriven.  A key is free when nothing of that is
 * left.
 *
 * Whether a record follows is decided under the lock of its slot, by the rows as
 * they are then.  Dead letters of the key are added under that lock, so those of
 * the session that had it before are visible.  A redrive does not take it.  It
 * removes the row of the letter and adds one that says where the record is, and
 * both become visible at once.  So letters are read first: who misses one finds
 * where it has gone.  What this transaction itself has set aside is not visible
 * yet; see mk_share_later.c.
 *
 * The offsets of letters and of what comes back are not known before the commit.
 * So they are sent with a batch, which tells them.
 *
 * A key may have very many rows.  So a row is removed by the transaction in which
 * what was sent back is done, or that finds the letter gone; and while a transaction
 * holds a slot, it remembers up to which place no row holds up its records.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "mk_array.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_share_parked.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * Who follows
 */

/*
 * What is known of a slot is void after a savepoint was rolled back: the transaction
 * itself may have sent a letter elsewhere in it.
 */
static uint64 mk_parked_round = 1;

/* Whether the dead letter can still be sent back. */
static bool
mk_parked_is_there(const MkParked *p)
{
	MkTopic *topic = mk_catalog_topic_by_id(p->letter_topic_id);

	return topic != NULL && p->letter_partition < topic->npartitions &&
		p->letter_offset >= mk_log_start(topic, p->letter_partition) &&
		mk_log_get(topic, p->letter_partition, p->letter_offset, NULL, NULL);
}

/*
 * Whether the slot has no row.  A letter whose row goes while a scan passes by has
 * another one, which the next scan finds.
 */
static bool
mk_parked_is_empty(const MkShareKey *key, uint32 slot)
{
	bool any = false;

	for (int i = 0; i < 2 && !any; i++)
	{
		MkParkedScan scan;

		mk_parked_begin_slot(&scan, key, slot);
		any = mk_parked_next(&scan);
		mk_parked_end(&scan);
	}
	return !any;
}

/*
 * Brings what is known up to date.  Returns whether there is nothing to look for.
 */
static bool
mk_parked_know(const MkShareKey *key, uint32 slot,
			   const struct varlena *record_key, MkParkedKnown *known)
{
	bool other = known->record_key == NULL ||
		!mk_parked_same_key(known->record_key, record_key);

	if (known->round == mk_parked_round && (known->empty || !other))
		return known->empty;
	if (known->round != mk_parked_round)
		known->empty = mk_parked_is_empty(key, slot);
	known->round = mk_parked_round;
	known->letters = 0;
	known->returned = 0;
	known->offset = 0;
	if (other)
	{
		if (known->record_key != NULL)
			pfree(known->record_key);
		known->record_key = NULL;
		known->record_key =
			MemoryContextAlloc(TopTransactionContext, VARSIZE_ANY(record_key));
		memcpy(known->record_key, record_key, VARSIZE_ANY(record_key));
	}
	return known->empty;
}

/* The place of a record: its offset, unless it was sent back. */
static int64
mk_parked_place(const MkShareKey *key, uint32 slot,
				const struct varlena *record_key, int64 offset)
{
	MkParkedScan scan;
	int64 place = offset;

	mk_parked_begin_returned(&scan, key, slot, offset, 0);
	while (mk_parked_next(&scan))
		if (mk_parked_has_key(&scan.row, record_key))
			place = scan.row.offset;
	mk_parked_end(&scan);
	return place;
}

/*
 * Looks for a row of the key before a place that holds up a record: a letter that is
 * there, or what was sent back and comes after the record.  Begins at *from, and sets
 * it to the place up to which there is none.
 */
static bool
mk_parked_find(MkParkedScan *scan, const struct varlena *record_key,
			   int64 offset, int64 place, int64 *from, MkParkedBy *by)
{
	bool found = false;

	*from = place;
	while (!found && mk_parked_next(scan) && scan->row.offset < place)
		found = mk_parked_has_key(&scan->row, record_key) &&
			(scan->row.returned != MK_NOT_RETURNED
				 ? scan->row.returned > offset
				 : mk_parked_is_there(&scan->row));
	if (found)
	{
		by->offset = *from = scan->row.offset;
		by->letter_topic_id = scan->row.letter_topic_id;
	}
	mk_parked_end(scan);
	return found;
}

/* The same for a record with a key, and what is known of its slot. */
static bool
mk_parked_find_for(const MkShareKey *key, uint32 slot,
				   const struct varlena *record_key, int64 offset,
				   MkParkedKnown *known, MkParkedBy *by)
{
	MkParkedScan scan;
	int64 place;

	if (mk_parked_know(key, slot, record_key, known))
		return false;
	place = mk_parked_place(key, slot, record_key, offset);
	/* what comes before a later record may come after this one */
	if (offset < known->offset)
		known->returned = 0;
	known->offset = offset;
	/* letters first: who misses one finds where it has gone */
	if (known->letters < place)
	{
		mk_parked_begin_returned(&scan, key, slot, MK_NOT_RETURNED,
								 known->letters);
		if (mk_parked_find(&scan, record_key, offset, place, &known->letters,
						   by))
			return true;
	}
	if (known->returned >= place)
		return false;
	mk_parked_begin_places(&scan, key, slot, known->returned);
	return mk_parked_find(&scan, record_key, offset, place, &known->returned,
						  by);
}

/* The key of a record, which has one. */
static struct varlena *
mk_parked_key_of(const MkLogRecord *record)
{
	return PG_DETOAST_DATUM_PACKED(record->record.key);
}

bool
mk_share_parked_find(const MkShareKey *key, uint32 slot,
					 const MkLogRecord *record, MkParkedKnown *known,
					 MkParkedBy *by)
{
	struct varlena *record_key;
	bool found;

	Assert(mk_lock_share_slot_is_mine(key->group_no, key->topic_id,
									  key->partition, slot));
	if (record->record.key_isnull)
		return false;
	record_key = mk_parked_key_of(record);
	found =
		mk_parked_find_for(key, slot, record_key, record->offset, known, by);
	if (PointerGetDatum(record_key) != record->record.key)
		pfree(record_key);
	return found;
}

void
mk_share_parked_done(const MkShareKey *key, uint32 slot, int64 offset,
					 const MkParkedKnown *known)
{
	MkParkedScan scan;

	if (known->round == mk_parked_round && known->empty)
		return;
	mk_parked_begin_returned(&scan, key, slot, offset, 0);
	while (mk_parked_next(&scan))
		mk_parked_delete(&scan);
	mk_parked_end(&scan);
}

void
mk_share_parked_forget(const MkShareKey *key, uint32 slot,
					   const MkParkedKnown *known)
{
	MkParkedScan scan;

	if (known->round != mk_parked_round || known->empty || known->letters == 0)
		return;
	mk_parked_begin_returned(&scan, key, slot, MK_NOT_RETURNED, 0);
	while (mk_parked_next(&scan) && scan.row.offset < known->letters)
		if (mk_parked_has_key(&scan.row, known->record_key))
			mk_parked_delete(&scan);
	mk_parked_end(&scan);
}

/* ---------------------------------------------------------------------------
 * What the transaction sends
 */

/*
 * What the transaction sends between two partitions: dead letters to one, from
 * anywhere; or what comes back from a partition of a dead-letter topic to another
 * one.  A sequence is an index into rows, or the offset of the letter.
 */
typedef struct MkParkedSends
{
	MkSequencedBatch batch; /* the first */
	struct MkParkedSends *next;
	int32 topic_id; /* of dead letters */
	int32 partition;
	int32 target_id; /* 0: letters are sent there */
	int32 target_partition;
	int n;
	MkParked *rows; /* of the letters that are sent */
} MkParkedSends;

/* Of the transaction; in mk_xact_context() */
static MkParkedSends *mk_parked_sends = NULL;

/* A batch's "repeat": there are no repeats. */
static void
mk_parked_repeat(MkSequencedBatch *batch, int64 sequence,
				 const MkRecord *record)
{
	elog(ERROR, "a dead letter was sent twice");
}

static void
mk_parked_done(MkSequencedBatch *batch)
{
}

/* The sends between two partitions; a new batch calls "placed". */
static MkParkedSends *
mk_parked_sends_get(int32 topic_id, int32 partition, int32 target_id,
					int32 target_partition,
					void (*placed)(MkSequencedBatch *batch, int64 sequence,
								   int64 offset))
{
	MkParkedSends *s;

	StaticAssertStmt(offsetof(MkParkedSends, batch) == 0, "batch comes first");
	for (s = mk_parked_sends; s != NULL; s = s->next)
		if (s->topic_id == topic_id && s->partition == partition &&
			s->target_id == target_id &&
			s->target_partition == target_partition)
			return s;
	mk_xact_begin_use();
	s = MemoryContextAllocZero(mk_xact_context(), sizeof(MkParkedSends));
	s->batch.index = -1;
	s->batch.repeat = mk_parked_repeat;
	s->batch.placed = placed;
	s->batch.done = mk_parked_done;
	s->topic_id = topic_id;
	s->partition = partition;
	s->target_id = target_id;
	s->target_partition = target_partition;
	s->next = mk_parked_sends;
	mk_parked_sends = s;
	return s;
}

/* A batch's "placed": writes the row of a dead letter. */
static void
mk_letters_placed(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkParkedSends *letters = (MkParkedSends *) batch;

	letters->rows[sequence].letter_offset = offset;
	mk_parked_put(&letters->rows[sequence]);
}

MkSequencedBatch *
mk_share_parked_leave(const MkParking *parking, const MkLogRecord *record,
					  const MkTopic *target, int32 target_partition,
					  int64 *sequence)
{
	MkParkedSends *letters;
	MkParked *row;
	MemoryContext old;

	if (record->record.key_isnull)
		return NULL;
	letters = mk_parked_sends_get(target->topic_id, target_partition, 0, 0,
								  mk_letters_placed);
	old = MemoryContextSwitchTo(mk_xact_context());
	letters->rows = mk_array_grow(mk_xact_context(), letters->rows, letters->n,
								  sizeof(MkParked));
	row = &letters->rows[letters->n];
	row->key = parking->key;
	row->slot = parking->slot;
	row->returned = MK_NOT_RETURNED;
	row->record_key = PG_DETOAST_DATUM_COPY(record->record.key);
	row->offset = mk_parked_place(&parking->key, parking->slot, row->record_key,
								  record->offset);
	row->deliveries = parking->deliveries;
	row->letter_topic_id = target->topic_id;
	row->letter_partition = target_partition;
	MemoryContextSwitchTo(old);
	*sequence = letters->n++;
	return &letters->batch;
}

/* ---------------------------------------------------------------------------
 * What comes back
 */

/*
 * Begins a scan, and moves to the row of the dead letter at this place.  Returns
 * whether there is one; the caller ends the scan.
 */
static bool
mk_parked_seek_letter(MkParkedScan *scan, int32 topic_id, int32 partition,
					  int64 offset)
{
	mk_parked_begin_letters(scan, topic_id, partition, offset);
	while (mk_parked_next(scan) && scan->row.letter_offset == offset)
		if (scan->row.returned == MK_NOT_RETURNED)
			return true;
	return false;
}

/*
 * A batch's "placed": replaces the row of the letter, unless its key was released
 * since.
 */
static void
mk_returns_placed(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	const MkParkedSends *r = (MkParkedSends *) batch;
	MkParkedScan scan;

	if (mk_parked_seek_letter(&scan, r->topic_id, r->partition, sequence))
	{
		MkParked row = scan.row;

		row.returned = offset;
		mk_parked_delete(&scan);
		mk_parked_put(&row);
	}
	mk_parked_end(&scan);
}

MkSequencedBatch *
mk_share_parked_return(const MkTopic *topic, int32 partition, int64 offset,
					   const MkTopic *target, int32 target_partition,
					   int64 *sequence)
{
	MkParkedScan scan;
	bool comes_back = false;

	Assert(mk_lock_redrive_is_mine(topic->topic_id));
	if (mk_parked_seek_letter(&scan, topic->topic_id, partition, offset))
	{
		comes_back = scan.row.key.topic_id == target->topic_id &&
			scan.row.key.partition == target_partition;
		if (!comes_back)
			mk_parked_delete(&scan);
	}
	mk_parked_end(&scan);
	if (!comes_back)
		return NULL;
	*sequence = offset;
	return &mk_parked_sends_get(topic->topic_id, partition, target->topic_id,
								target_partition, mk_returns_placed)
				->batch;
}

/* ---------------------------------------------------------------------------
 * What people see, and what they release
 */

/* A key of the slot that a list is at */
typedef struct MkParkedKey
{
	MkParked first;
	int64 letters;
} MkParkedKey;

/* Gives the keys of a slot to the sink. */
static void
mk_parked_give(List **keys, MkParkedSink sink, void *arg)
{
	ListCell *lc;

	foreach (lc, *keys)
	{
		MkParkedKey *k = lfirst(lc);

		sink(&k->first, k->letters, arg);
		pfree(k->first.record_key);
	}
	list_free_deep(*keys);
	*keys = NIL;
}

/* Counts a letter for its key, which may be a new one of the slot. */
static List *
mk_parked_count(List *keys, const MkParked *row)
{
	MkParkedKey *k;
	ListCell *lc;

	foreach (lc, keys)
	{
		k = lfirst(lc);
		if (mk_parked_has_key(&k->first, row->record_key))
		{
			k->letters++;
			return keys;
		}
	}
	if (!mk_parked_is_there(row))
		return keys;
	k = palloc(sizeof(MkParkedKey));
	k->first = *row;
	k->first.record_key =
		PG_DETOAST_DATUM_COPY(PointerGetDatum(row->record_key));
	k->letters = 1;
	return lappend(keys, k);
}

void
mk_share_parked_list(const MkShareKey *key, MkParkedSink sink, void *arg)
{
	MkParkedScan scan;
	List *keys = NIL;
	uint32 slot = 0;

	mk_parked_begin_era(&scan, key);
	while (mk_parked_next(&scan))
	{
		if (scan.row.slot != slot)
			mk_parked_give(&keys, sink, arg);
		slot = scan.row.slot;
		if (scan.row.returned == MK_NOT_RETURNED)
			keys = mk_parked_count(keys, &scan.row);
	}
	mk_parked_give(&keys, sink, arg);
	mk_parked_end(&scan);
}

/* The key of the letter of this place, NULL if there is none. */
static struct varlena *
mk_parked_key_at(const MkShareKey *key, uint32 slot, int64 offset)
{
	MkParkedScan scan;
	struct varlena *record_key = NULL;

	mk_parked_begin_slot(&scan, key, slot);
	while (record_key == NULL && mk_parked_next(&scan) &&
		   scan.row.returned == MK_NOT_RETURNED)
		if (scan.row.offset == offset)
			record_key =
				PG_DETOAST_DATUM_COPY(PointerGetDatum(scan.row.record_key));
	mk_parked_end(&scan);
	return record_key;
}

bool
mk_share_parked_lock(const MkShareKey *key, uint32 slot, int64 offset)
{
	const struct varlena *record_key = mk_parked_key_at(key, slot, offset);
	List *topic_ids = NIL;
	MkParkedScan scan;
	ListCell *lc;

	if (record_key == NULL)
		return false;
	mk_parked_begin_slot(&scan, key, slot);
	while (mk_parked_next(&scan))
		if (mk_parked_has_key(&scan.row, record_key))
			topic_ids =
				list_append_unique_int(topic_ids, scan.row.letter_topic_id);
	mk_parked_end(&scan);
	list_sort(topic_ids, list_int_cmp);
	foreach (lc, topic_ids)
		mk_lock_redrive(lfirst_int(lc));
	return true;
}

bool
mk_share_parked_release(const MkShareKey *key, uint32 slot, int64 offset)
{
	const struct varlena *record_key = mk_parked_key_at(key, slot, offset);
	MkParkedScan scan;

	Assert(mk_lock_share_slot_is_mine(key->group_no, key->topic_id,
									  key->partition, slot));
	if (record_key == NULL)
		return false;
	mk_parked_begin_slot(&scan, key, slot);
	while (mk_parked_next(&scan))
		if (mk_parked_has_key(&scan.row, record_key))
			mk_parked_delete(&scan);
	mk_parked_end(&scan);
	return true;
}

/* ---------------------------------------------------------------------------
 * Maintenance
 */

void
mk_share_parked_clean(const MkGroup *group, const MkTopic *topic,
					  int32 partition)
{
	const int32 keys[] = {group->group_no, topic->topic_id, partition};
	MkShareCheckpoint newest;
	ListCell *lc;

	(void) mk_share_checkpoint_peek(group->group_no, topic->topic_id, partition,
									NULL, &newest);
	foreach (lc,
			 mk_rows_values(MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY,
							lengthof(keys), keys, NULL))
	{
		const MkShareKey key = {.group_no = group->group_no,
								.topic_id = topic->topic_id,
								.partition = partition,
								.era = lfirst_int(lc)};
		MkParkedScan scan;

		mk_parked_begin_era(&scan, &key);
		while (mk_parked_next(&scan))
			if (key.era != newest.era ||
				(scan.row.returned == MK_NOT_RETURNED
					 ? !mk_parked_is_there(&scan.row)
					 : scan.row.returned < newest.start))
				mk_parked_delete(&scan);
		mk_parked_end(&scan);
	}
}

/* ---------------------------------------------------------------------------
 * The end of the transaction
 */

static void
mk_parked_transaction_end(bool committed)
{
	mk_parked_sends = NULL;
}

static void
mk_parked_subxact_abort(int nesting)
{
	mk_parked_round++;
}

static const MkParticipant mk_parked_participant = {
	.subxact_abort = mk_parked_subxact_abort,
	.end = mk_parked_transaction_end,
};

void
mk_share_parked_init(void)
{
	mk_xact_add_participant(&mk_parked_participant);
}
