/*
 * mk_parked_rows.c
 *		Rows of share groups about the records of parked keys.
 *
 * A row says that a record is a dead letter, or that it was sent back and where it
 * is now.  The former are added by the session that has the lock of the slot.  They
 * are replaced by the latter under the redrive lock of the topic of the letter.
 * A row that means nothing any more is removed by the commit of a session that has
 * the lock of the slot and has come to it, or else by maintenance.
 *
 * The primary key has the letters of a slot first, by their place in the order of
 * the key, and then what was returned, by its offset.  Another index has all of
 * them by their place.  So what holds up a record is among the first rows that a
 * scan finds.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_parked_rows.h"

/* Column numbers, as in sql/parts/13_share_parked.sql */
enum
{
	Anum_parked_group_no = 1,
	Anum_parked_topic_id,
	Anum_parked_partition,
	Anum_parked_era,
	Anum_parked_slot,
	Anum_parked_returned_offset,
	Anum_parked_record_offset,
	Anum_parked_key,
	Anum_parked_deliveries,
	Anum_parked_dead_letter_topic_id,
	Anum_parked_dead_letter_partition,
	Anum_parked_dead_letter_offset,
	Anum_parked_at,
	Natts_parked = Anum_parked_at
};
StaticAssertDecl(Natts_parked == MK_NATTS_SHARE_PARKED,
				 "all columns are listed");
StaticAssertDecl(Anum_parked_era == MK_SHARE_ANUM_ERA, "the era ends the key");

/* The first columns of two indexes, which name a slot */
#define MK_PARKED_SLOT_KEYS 5

/* ---------------------------------------------------------------------------
 * Scanning
 */

static void
mk_parked_start(MkParkedScan *s)
{
	s->tuple = NULL;
	s->row.record_key = NULL;
}

/* Sets the first n keys, of columns from "attno" on. */
static void
mk_parked_equal(ScanKey keys, AttrNumber attno, int n, const int32 *values)
{
	for (int i = 0; i < n; i++)
		ScanKeyInit(&keys[i], attno + i, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(values[i]));
}

/* Begins a scan with the keys of a slot, and so many more that are set. */
static void
mk_parked_begin_with(MkParkedScan *s, MkRelation index, const MkShareKey *key,
					 uint32 slot, ScanKey keys, int more)
{
	const int32 equal[] = {key->group_no, key->topic_id, key->partition,
						   key->era, (int32) slot};

	StaticAssertStmt(lengthof(equal) == MK_PARKED_SLOT_KEYS,
					 "all keys of a slot are set");
	mk_parked_equal(keys, Anum_parked_group_no, lengthof(equal), equal);
	mk_parked_start(s);
	mk_rows_begin_keys(&s->rows, MK_REL_SHARE_PARKED, index, mk_rows_now(),
					   lengthof(equal) + more, keys);
}

void
mk_parked_begin_slot(MkParkedScan *s, const MkShareKey *key, uint32 slot)
{
	ScanKeyData keys[MK_PARKED_SLOT_KEYS];

	mk_parked_begin_with(s, MK_REL_SHARE_PARKED_PKEY, key, slot, keys, 0);
}

void
mk_parked_begin_places(MkParkedScan *s, const MkShareKey *key, uint32 slot,
					   int64 from)
{
	ScanKeyData keys[MK_PARKED_SLOT_KEYS + 1];

	ScanKeyInit(&keys[MK_PARKED_SLOT_KEYS], Anum_parked_record_offset,
				BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(from));
	mk_parked_begin_with(s, MK_REL_SHARE_PARKED_PLACE_IDX, key, slot, keys, 1);
}

void
mk_parked_begin_returned(MkParkedScan *s, const MkShareKey *key, uint32 slot,
						 int64 returned, int64 from)
{
	ScanKeyData keys[MK_PARKED_SLOT_KEYS + 2];

	ScanKeyInit(&keys[MK_PARKED_SLOT_KEYS], Anum_parked_returned_offset,
				BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(returned));
	ScanKeyInit(&keys[MK_PARKED_SLOT_KEYS + 1], Anum_parked_record_offset,
				BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(from));
	mk_parked_begin_with(s, MK_REL_SHARE_PARKED_PKEY, key, slot, keys, 2);
}

void
mk_parked_begin_era(MkParkedScan *s, const MkShareKey *key)
{
	mk_parked_start(s);
	mk_share_begin_rows(&s->rows, MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY,
						key);
}

void
mk_parked_begin_letters(MkParkedScan *s, int32 topic_id, int32 partition,
						int64 from)
{
	const int32 equal[] = {topic_id, partition};
	ScanKeyData keys[lengthof(equal) + 1];

	mk_parked_equal(keys, Anum_parked_dead_letter_topic_id, lengthof(equal),
					equal);
	ScanKeyInit(&keys[lengthof(equal)], Anum_parked_dead_letter_offset,
				BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(from));
	mk_parked_start(s);
	mk_rows_begin_keys(&s->rows, MK_REL_SHARE_PARKED,
					   MK_REL_SHARE_PARKED_LETTER_IDX, mk_rows_now(),
					   lengthof(keys), keys);
}

static void
mk_parked_read(const MkRows *rows, HeapTuple tuple, MkParked *p)
{
	Datum key = mk_rows_column(rows, tuple, Anum_parked_key);

	p->key.group_no = mk_rows_int32(rows, tuple, Anum_parked_group_no);
	p->key.topic_id = mk_rows_int32(rows, tuple, Anum_parked_topic_id);
	p->key.partition = mk_rows_int32(rows, tuple, Anum_parked_partition);
	p->key.era = mk_rows_int32(rows, tuple, Anum_parked_era);
	p->slot = (uint32) mk_rows_int32(rows, tuple, Anum_parked_slot);
	p->returned = mk_rows_int64(rows, tuple, Anum_parked_returned_offset);
	p->offset = mk_rows_int64(rows, tuple, Anum_parked_record_offset);
	p->record_key = PG_DETOAST_DATUM_COPY(key);
	p->deliveries = mk_rows_int32(rows, tuple, Anum_parked_deliveries);
	p->letter_topic_id =
		mk_rows_int32(rows, tuple, Anum_parked_dead_letter_topic_id);
	p->letter_partition =
		mk_rows_int32(rows, tuple, Anum_parked_dead_letter_partition);
	p->letter_offset =
		mk_rows_int64(rows, tuple, Anum_parked_dead_letter_offset);
	p->at = mk_rows_time(rows, tuple, Anum_parked_at);
}

bool
mk_parked_next(MkParkedScan *s)
{
	if (s->row.record_key != NULL)
		pfree(s->row.record_key);
	s->row.record_key = NULL;
	CHECK_FOR_INTERRUPTS();
	s->tuple = mk_rows_next(&s->rows, ForwardScanDirection);
	if (s->tuple == NULL)
		return false;
	mk_parked_read(&s->rows, s->tuple, &s->row);
	return true;
}

void
mk_parked_end(MkParkedScan *s)
{
	if (s->row.record_key != NULL)
		pfree(s->row.record_key);
	mk_rows_end(&s->rows);
}

bool
mk_parked_same_key(const struct varlena *a, const struct varlena *b)
{
	Size length = VARSIZE_ANY_EXHDR(a);

	return VARSIZE_ANY_EXHDR(b) == length &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), length) == 0;
}

bool
mk_parked_has_key(const MkParked *p, const struct varlena *key)
{
	return mk_parked_same_key(p->record_key, key);
}

/* ---------------------------------------------------------------------------
 * Writing
 */

void
mk_parked_delete(MkParkedScan *s)
{
	(void) mk_rows_try_delete(&s->rows, s->tuple);
}

void
mk_parked_put(const MkParked *p)
{
	MkParkedScan scan;
	Datum values[Natts_parked];
	bool nulls[Natts_parked] = {0};

	/* a key may have very many others */
	mk_parked_begin_returned(&scan, &p->key, p->slot, p->returned, p->offset);
	while (mk_parked_next(&scan) && scan.row.offset == p->offset)
		mk_parked_delete(&scan);
	mk_parked_end(&scan);

	values[Anum_parked_group_no - 1] = Int32GetDatum(p->key.group_no);
	values[Anum_parked_topic_id - 1] = Int32GetDatum(p->key.topic_id);
	values[Anum_parked_partition - 1] = Int32GetDatum(p->key.partition);
	values[Anum_parked_era - 1] = Int32GetDatum(p->key.era);
	values[Anum_parked_slot - 1] = Int32GetDatum((int32) p->slot);
	values[Anum_parked_returned_offset - 1] = Int64GetDatum(p->returned);
	values[Anum_parked_record_offset - 1] = Int64GetDatum(p->offset);
	values[Anum_parked_key - 1] = PointerGetDatum(p->record_key);
	values[Anum_parked_deliveries - 1] = Int32GetDatum(p->deliveries);
	values[Anum_parked_dead_letter_topic_id - 1] =
		Int32GetDatum(p->letter_topic_id);
	values[Anum_parked_dead_letter_partition - 1] =
		Int32GetDatum(p->letter_partition);
	values[Anum_parked_dead_letter_offset - 1] =
		Int64GetDatum(p->letter_offset);
	values[Anum_parked_at - 1] = TimestampTzGetDatum(mk_clock_now());
	mk_rows_insert(MK_REL_SHARE_PARKED, NULL, values, nulls);
}

bool
mk_parked_is_any(int32 group_no)
{
	MkRows rows;
	bool any;

	mk_rows_begin(&rows, MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY,
				  mk_rows_now(), 1, &group_no);
	any = mk_rows_next(&rows, ForwardScanDirection) != NULL;
	mk_rows_end(&rows);
	return any;
}

/* ---------------------------------------------------------------------------
 * Removing
 */

/* Whether a row is about a record from the tail on. */
static bool
mk_parked_is_lost(const MkParked *p, int64 tail)
{
	return p->offset >= tail || p->returned >= tail;
}

bool
mk_parked_is_beyond(const MkShareKey *key, int64 tail)
{
	MkParkedScan scan;
	bool beyond = false;

	mk_parked_begin_era(&scan, key);
	while (!beyond && mk_parked_next(&scan))
		beyond = mk_parked_is_lost(&scan.row, tail);
	mk_parked_end(&scan);
	return beyond;
}

void
mk_parked_cut(const MkShareKey *key, int64 tail, int32 era)
{
	MkParkedScan scan;

	mk_parked_begin_era(&scan, key);
	while (mk_parked_next(&scan))
	{
		if (!mk_parked_is_lost(&scan.row, tail))
		{
			MkParked now = scan.row;

			now.key.era = era;
			mk_parked_put(&now);
		}
		mk_parked_delete(&scan);
	}
	mk_parked_end(&scan);
}

void
mk_parked_forget_beyond(int32 topic_id, int32 partition, int64 tail)
{
	MkParkedScan scan;

	mk_parked_begin_letters(&scan, topic_id, partition, tail);
	while (mk_parked_next(&scan))
		if (scan.row.returned == MK_NOT_RETURNED)
			mk_parked_delete(&scan);
	mk_parked_end(&scan);
}

void
mk_parked_delete_letters(int32 topic_id)
{
	ListCell *lc;

	foreach (lc,
			 mk_rows_values(MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_LETTER_IDX,
							1, &topic_id, NULL))
	{
		MkParkedScan scan;

		mk_parked_begin_letters(&scan, topic_id, lfirst_int(lc), 0);
		while (mk_parked_next(&scan))
			mk_parked_delete(&scan);
		mk_parked_end(&scan);
	}
}
