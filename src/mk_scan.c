/*
 * mk_scan.c
 *		A scan of the records of one segment, in the order of their offsets.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_compat.h"
#include "mk_scan.h"

bool
mk_scan_begin(MkScan *s, const MkTopic *topic, int32 partition, int64 segment,
			  LOCKMODE lockmode, Snapshot snapshot, int64 from, int64 to,
			  Oid *known)
{
	ScanKeyData keys[2];
	int nkeys = to < PG_INT64_MAX ? 2 : 1;

	if (!mk_segment_open(topic, partition, segment, lockmode, known,
						 &s->segment))
		return false;
	InitDirtySnapshot(s->dirty);
	s->dirty.xmin = InvalidTransactionId;
	s->slot = table_slot_create(s->segment.rel, NULL);
	s->scan =
		mk_index_beginscan(s->segment.rel, s->segment.pkey,
						   snapshot != NULL ? snapshot : &s->dirty, nkeys, 0);
	ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_INT8GE,
				Int64GetDatum(from));
	ScanKeyInit(&keys[1], 1, BTLessEqualStrategyNumber, F_INT8LE,
				Int64GetDatum(to));
	index_rescan(s->scan, keys, nkeys, NULL, 0);
	return true;
}

Datum
mk_scan_nullable(MkScan *s, AttrNumber attno, bool *isnull)
{
	return slot_getattr(s->slot, attno, isnull);
}

Datum
mk_scan_column(MkScan *s, AttrNumber attno)
{
	bool isnull;

	return slot_getattr(s->slot, attno, &isnull);
}

bool
mk_scan_is_visible(MkScan *s, Snapshot snapshot)
{
	return !TransactionIdIsValid(s->undecided) &&
		table_tuple_satisfies_snapshot(s->segment.rel, s->slot, snapshot);
}

bool
mk_scan_next(MkScan *s, ScanDirection direction)
{
	CHECK_FOR_INTERRUPTS();
	if (!index_getnext_slot(s->scan, direction, s->slot))
		return false;
	s->undecided = s->dirty.xmin;
	s->offset = DatumGetInt64(mk_scan_column(s, Anum_record_offset));
	return true;
}

void
mk_scan_end_open(MkScan *s)
{
	index_endscan(s->scan);
	ExecDropSingleTupleTableSlot(s->slot);
}

void
mk_scan_end(MkScan *s)
{
	mk_scan_end_open(s);
	mk_segment_close(&s->segment, false);
}

void
mk_scan_end_keep(MkScan *s)
{
	mk_scan_end_open(s);
	mk_segment_close(&s->segment, true);
}

/* ---------------------------------------------------------------------------
 * Records
 */

/* The size of a value in bytes, as it was sent. */
static int64
mk_bytes(Datum datum, bool isnull)
{
	return isnull ? 0 : (int64) toast_raw_datum_size(datum) - VARHDRSZ;
}

void
mk_scan_record(MkScan *s, MkLogRecord *r)
{
	slot_getallattrs(s->slot);
	r->offset = s->offset;
	r->ts = DatumGetTimestampTz(s->slot->tts_values[Anum_record_ts - 1]);
	r->record.key = s->slot->tts_values[Anum_record_key - 1];
	r->record.key_isnull = s->slot->tts_isnull[Anum_record_key - 1];
	r->record.value = s->slot->tts_values[Anum_record_value - 1];
	r->record.value_isnull = s->slot->tts_isnull[Anum_record_value - 1];
	r->record.headers = s->slot->tts_values[Anum_record_headers - 1];
	r->record.headers_isnull = s->slot->tts_isnull[Anum_record_headers - 1];
	r->bytes = mk_bytes(r->record.key, r->record.key_isnull) +
		mk_bytes(r->record.value, r->record.value_isnull) +
		mk_bytes(r->record.headers, r->record.headers_isnull);
}

/* Fetches a value that is stored out of line; it may still be compressed. */
static Datum
mk_fetch_external(Datum datum, bool isnull)
{
	if (isnull || !VARATT_IS_EXTERNAL(DatumGetPointer(datum)))
		return datum;
	return PointerGetDatum(
		detoast_external_attr((struct varlena *) DatumGetPointer(datum)));
}

void
mk_scan_keep(MkLogRecord *r)
{
	r->record.key = mk_fetch_external(r->record.key, r->record.key_isnull);
	r->record.value =
		mk_fetch_external(r->record.value, r->record.value_isnull);
	r->record.headers =
		mk_fetch_external(r->record.headers, r->record.headers_isnull);
}

static Datum
mk_copy(Datum datum, bool isnull)
{
	return isnull ? (Datum) 0 : PointerGetDatum(PG_DETOAST_DATUM_COPY(datum));
}

void
mk_scan_copy(MkLogRecord *r)
{
	r->record.key = mk_copy(r->record.key, r->record.key_isnull);
	r->record.value = mk_copy(r->record.value, r->record.value_isnull);
	r->record.headers = mk_copy(r->record.headers, r->record.headers_isnull);
}

/* Whether two values are equal, or both NULL. */
static bool
mk_is_same(Datum a, bool a_isnull, Datum b, bool b_isnull)
{
	struct varlena *va;
	struct varlena *vb;
	bool same;

	if (a_isnull || b_isnull)
		return a_isnull && b_isnull;
	/* decided without the contents, which may be large and out of line */
	if (mk_bytes(a, false) != mk_bytes(b, false))
		return false;
	va = PG_DETOAST_DATUM_PACKED(a);
	vb = PG_DETOAST_DATUM_PACKED(b);
	same = memcmp(VARDATA_ANY(va), VARDATA_ANY(vb), VARSIZE_ANY_EXHDR(va)) == 0;
	if (PointerGetDatum(va) != a)
		pfree(va);
	if (PointerGetDatum(vb) != b)
		pfree(vb);
	return same;
}

bool
mk_scan_is_same(const MkRecord *a, const MkRecord *b)
{
	return mk_is_same(a->key, a->key_isnull, b->key, b->key_isnull) &&
		mk_is_same(a->value, a->value_isnull, b->value, b->value_isnull);
}
