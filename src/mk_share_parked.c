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
 * Looks for the first dead letter of a key.  Returns whether the slot has any row.
 */
static bool
mk_parked_first_letter(const MkShareKey *key, uint32 slot,
					   const struct varlena *record_key, bool *found,
					   MkParkedBy *by)
{
	MkParkedScan scan;
	bool any = false;

	*found = false;
	mk_parked_begin_slot(&scan, key, slot, MK_NOT_RETURNED);
	while (!*found && mk_parked_next(&scan))
	{
		any = true;
		if (scan.row.returned != MK_NOT_RETURNED)
			break;
		if (!mk_parked_has_key(&scan.row, record_key) ||
			!mk_parked_is_there(&scan.row))
			continue;
		by->offset = scan.row.offset;
		by->letter_topic_id = scan.row.letter_topic_id;
		*found = true;
	}
	mk_parked_end(&scan);
	return any;
}

/*
 * Looks for the first record that was sent back, comes after this one, and whose
 * place is before it.  *place is the offset of this record; or, if that was sent
 * back itself, set to its own place.
 */
static bool
mk_parked_later(const MkShareKey *key, uint32 slot,
				const struct varlena *record_key, int64 offset, int64 *place,
				MkParkedBy *by)
{
	MkParkedScan scan;
	bool found = false;

	mk_parked_begin_slot(&scan, key, slot, offset);
	while (!found && mk_parked_next(&scan))
	{
		if (!mk_parked_has_key(&scan.row, record_key))
			continue;
		if (scan.row.returned == offset)
			*place = scan.row.offset;
		else if (scan.row.offset < *place)
		{
			by->offset = scan.row.offset;
			by->letter_topic_id = scan.row.letter_topic_id;
			found = true;
		}
	}
	mk_parked_end(&scan);
	return found;
}

/* The same, and sets the record's own place. */
static bool
mk_parked_find(const MkShareKey *key, uint32 slot, const MkLogRecord *record,
			   int64 *place, MkParkedBy *by)
{
	struct varlena *record_key;
	MkParkedBy letter;
	bool found;
	bool later = false;

	Assert(mk_lock_share_slot_is_mine(key->group_no, key->topic_id,
									  key->partition, slot));
	*place = record->offset;
	if (record->record.key_isnull)
		return false;
	record_key = PG_DETOAST_DATUM_PACKED(record->record.key);
	if (mk_parked_first_letter(key, slot, record_key, &found, &letter))
		later =
			mk_parked_later(key, slot, record_key, record->offset, place, by);
	if (PointerGetDatum(record_key) != record->record.key)
		pfree(record_key);
	if (!found || letter.offset >= *place)
		return later;
	*by = letter;
	return true;
}

bool
mk_share_parked_find(const MkShareKey *key, uint32 slot,
					 const MkLogRecord *record, MkParkedBy *by)
{
	int64 place;

	return mk_parked_find(key, slot, record, &place, by);
}

/* ---------------------------------------------------------------------------
 * What the transaction sends
 */

/* The dead letters that the transaction sends to a partition */
typedef struct MkLetters
{
	MkSequencedBatch batch; /* the first; a sequence is an index into rows */
	struct MkLetters *next;
	int32 topic_id;
	int32 partition;
	int n;
	MkParked *rows;
} MkLetters;

/*
 * What the transaction sends from a partition of a dead-letter topic to another
 * one; a sequence is the offset of the letter.
 */
typedef struct MkReturns
{
	MkSequencedBatch batch; /* the first */
	struct MkReturns *next;
	int32 topic_id;
	int32 partition;
	int32 target_id;
	int32 target_partition;
} MkReturns;

/* Of the transaction; in mk_xact_context() */
static MkLetters *mk_letters = NULL;
static MkReturns *mk_returns = NULL;

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

static void
mk_parked_init_batch(MkSequencedBatch *batch,
					 void (*placed)(MkSequencedBatch *batch, int64 sequence,
									int64 offset))
{
	mk_xact_begin_use();
	batch->index = -1;
	batch->repeat = mk_parked_repeat;
	batch->placed = placed;
	batch->done = mk_parked_done;
}

/* A batch's "placed": writes the row of a dead letter. */
static void
mk_letters_placed(MkSequencedBatch *batch, int64 sequence, int64 offset)
{
	MkLetters *letters = (MkLetters *) batch;

	letters->rows[sequence].letter_offset = offset;
	mk_parked_put(&letters->rows[sequence]);
}

static MkLetters *
mk_letters_get(int32 topic_id, int32 partition)
{
	MkLetters *l;

	StaticAssertStmt(offsetof(MkLetters, batch) == 0, "batch comes first");
	for (l = mk_letters; l != NULL; l = l->next)
		if (l->topic_id == topic_id && l->partition == partition)
			return l;
	l = MemoryContextAllocZero(mk_xact_context(), sizeof(MkLetters));
	mk_parked_init_batch(&l->batch, mk_letters_placed);
	l->topic_id = topic_id;
	l->partition = partition;
	l->next = mk_letters;
	mk_letters = l;
	return l;
}

MkSequencedBatch *
mk_share_parked_leave(const MkParking *parking, const MkLogRecord *record,
					  const MkTopic *target, int32 target_partition,
					  int64 *sequence)
{
	MkLetters *letters;
	MkParked *row;
	MkParkedBy by;
	int64 place;
	MemoryContext old;

	if (record->record.key_isnull)
		return NULL;
	(void) mk_parked_find(&parking->key, parking->slot, record, &place, &by);
	letters = mk_letters_get(target->topic_id, target_partition);
	old = MemoryContextSwitchTo(mk_xact_context());
	letters->rows = mk_array_grow(mk_xact_context(), letters->rows, letters->n,
								  sizeof(MkParked));
	row = &letters->rows[letters->n];
	row->key = parking->key;
	row->slot = parking->slot;
	row->returned = MK_NOT_RETURNED;
	row->offset = place;
	row->record_key = PG_DETOAST_DATUM_COPY(record->record.key);
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
	const MkReturns *r = (MkReturns *) batch;
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

static MkReturns *
mk_returns_get(int32 topic_id, int32 partition, int32 target_id,
			   int32 target_partition)
{
	MkReturns *r;

	StaticAssertStmt(offsetof(MkReturns, batch) == 0, "batch comes first");
	for (r = mk_returns; r != NULL; r = r->next)
		if (r->topic_id == topic_id && r->partition == partition &&
			r->target_id == target_id &&
			r->target_partition == target_partition)
			return r;
	r = MemoryContextAllocZero(mk_xact_context(), sizeof(MkReturns));
	mk_parked_init_batch(&r->batch, mk_returns_placed);
	r->topic_id = topic_id;
	r->partition = partition;
	r->target_id = target_id;
	r->target_partition = target_partition;
	r->next = mk_returns;
	mk_returns = r;
	return r;
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
	return &mk_returns_get(topic->topic_id, partition, target->topic_id,
						   target_partition)
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

	mk_parked_begin_slot(&scan, key, slot, MK_NOT_RETURNED);
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
	mk_parked_begin_slot(&scan, key, slot, MK_NOT_RETURNED);
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
	mk_parked_begin_slot(&scan, key, slot, MK_NOT_RETURNED);
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
	mk_letters = NULL;
	mk_returns = NULL;
}

static const MkParticipant mk_parked_participant = {
	.end = mk_parked_transaction_end,
};

void
mk_share_parked_init(void)
{
	mk_xact_add_participant(&mk_parked_participant);
}
