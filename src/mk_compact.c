/*
 * mk_compact.c
 *		The newest record of each key of a partition.
 *
 * A pass scans backwards from its upper bound to the log start.  The first
 * record of a key that it finds is the newest, and is kept.  The pass adds the
 * key to its set of keys and removes all earlier records of that key.  When the
 * set is full, the pass continues to the log start with the keys that it has.
 * Then it empties the set and starts again below the records whose keys are
 * done.  Among the records below "clean" no key occurs twice, so the pass does
 * not add the keys of these records.
 *
 * Each record that the pass removes either has a later record of the same key,
 * or is a tombstone with no earlier record of its key.  So the pass can stop
 * anywhere, and other sessions can append, read, or move the log start
 * meanwhile.  The last record of the partition always stays, because it
 * determines the next offset.
 *
 * Rows are removed as by DELETE: older snapshots still see them, and vacuum
 * frees the space.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "mk_compact.h"
#include "mk_keyset.h"
#include "mk_lock.h"
#include "mk_partition.h"

/* The most records that one step reads, and removes. */
#define MK_STEP_RECORDS 200000
#define MK_STEP_REMOVED 20000

struct MkCompaction
{
	const MkTopic *topic;
	int32 partition;
	int64 clean;
	int64 bound;
	int64 horizon;

	MemoryContext context;
	MkKeySet *keys;
	int64 next; /* the scan continues below this offset */
	int64 again; /* if full: where the scan starts again, below this offset */
	bool full; /* the set of keys has no more room */
	bool first; /* no record was found yet */

	int64 removed;
	int64 records;
	int64 tombstones;
	List *remains; /* of MkRemains */
};

MkCompaction *
mk_compact_begin(const MkTopic *topic, int32 partition, int64 clean,
				 int64 bound, int64 horizon, Size bytes)
{
	MkCompaction *c = palloc0(sizeof(MkCompaction));

	c->topic = topic;
	c->partition = partition;
	c->clean = clean;
	c->bound = bound;
	c->horizon = horizon;
	c->context = CurrentMemoryContext;
	c->keys = mk_keyset_make(bytes);
	c->next = bound;
	c->first = true;
	return c;
}

/*
 * The key of the row; false if it is NULL.  The caller frees *copy if it is not
 * NULL.
 */
static bool
mk_scan_key(MkScan *s, const char **key, uint32 *length, void **copy)
{
	bool isnull;
	Datum datum = mk_scan_nullable(s, Anum_record_key, &isnull);
	struct varlena *value;

	*copy = NULL;
	if (isnull)
		return false;
	value = PG_DETOAST_DATUM_PACKED(datum);
	if (PointerGetDatum(value) != datum)
		*copy = value;
	*key = VARDATA_ANY(value);
	*length = VARSIZE_ANY_EXHDR(value);
	return true;
}

/* Whether the key has a later record; adds the key to the set if not. */
static bool
mk_compact_is_superseded(MkCompaction *c, MkScan *s)
{
	const char *key;
	uint32 length;
	void *copy;
	bool superseded = false;

	if (!mk_scan_key(s, &key, &length, &copy))
		return false;
	if (c->full || s->offset < c->clean)
		superseded = mk_keyset_has(c->keys, key, length);
	else
		switch (mk_keyset_add(c->keys, key, length))
		{
			case MK_KEY_ADDED:
				break;
			case MK_KEY_KNOWN:
				superseded = true;
				break;
			case MK_KEY_NO_ROOM:
				c->full = true;
				c->again = s->offset + 1;
				break;
		}
	if (copy != NULL)
		pfree(copy);
	return superseded;
}

/* The size of a column's value in the TOAST table. */
static int64
mk_toast_bytes(MkScan *s, AttrNumber attno)
{
	bool isnull;
	Datum datum = mk_scan_nullable(s, attno, &isnull);
	struct varatt_external pointer;

	if (isnull || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(datum)))
		return 0;
	VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(datum));
	return VARATT_EXTERNAL_GET_EXTSIZE(pointer);
}

/* Counts a record that stays. */
static void
mk_compact_count(MkCompaction *c, MkScan *s, int64 segment, bool is_tombstone)
{
	MkRemains *r = c->remains != NIL ? llast(c->remains) : NULL;
	bool should_free;
	HeapTuple tuple;

	if (r == NULL || r->segment != segment)
	{
		MemoryContext old = MemoryContextSwitchTo(c->context);

		r = palloc0(sizeof(MkRemains));
		r->segment = segment;
		c->remains = lappend(c->remains, r);
		MemoryContextSwitchTo(old);
	}
	tuple = ExecFetchSlotHeapTuple(s->slot, false, &should_free);
	r->bytes += MAXALIGN(tuple->t_len) + sizeof(ItemIdData) +
		mk_toast_bytes(s, Anum_record_key) +
		mk_toast_bytes(s, Anum_record_value) +
		mk_toast_bytes(s, Anum_record_headers);
	c->records++;
	if (is_tombstone)
		c->tombstones++;
}

/* Removes the record if the pass must; returns whether it did. */
static bool
mk_compact_row(MkCompaction *c, MkScan *s, int64 segment)
{
	bool counts;
	bool superseded;
	bool is_tombstone;

	superseded = mk_compact_is_superseded(c, s);
	/* once the set is full, the scan comes here again, and counts then */
	counts = !c->full;
	(void) mk_scan_nullable(s, Anum_record_value, &is_tombstone);
	if (superseded || (is_tombstone && s->offset < c->horizon && !c->first))
	{
		simple_heap_delete(s->segment.rel, &s->slot->tts_tid);
		c->removed++;
		return true;
	}
	if (counts)
		mk_compact_count(c, s, segment, is_tombstone && !c->first);
	c->first = false;
	return false;
}

/* Scans back to the beginning of a segment, or to the limits of the step. */
static void
mk_compact_segment(MkCompaction *c, int64 segment, int64 log_start, int *looked,
				   int *removed)
{
	int64 start = segment * c->topic->segment_records;
	bool more = true;
	MkScan s;

	if (!mk_scan_begin(&s, c->topic, c->partition, segment, RowExclusiveLock,
					   NULL, Max(start, log_start), c->next - 1, NULL))
	{
		mk_partition_check_dropped(c->topic, c->partition, segment);
		c->next = start;
		return;
	}
	while (*looked < MK_STEP_RECORDS && *removed < MK_STEP_REMOVED &&
		   (more = mk_scan_next(&s, BackwardScanDirection)))
	{
		(*looked)++;
		if (mk_compact_row(c, &s, segment))
			(*removed)++;
		c->next = s.offset;
	}
	if (!more)
		c->next = start;
	if (*removed > 0)
		mk_scan_end_keep(&s);
	else
		mk_scan_end(&s);
}

bool
mk_compact_step(MkCompaction *c)
{
	int64 log_start = mk_log_start(c->topic, c->partition);
	int looked = 0;
	int removed = 0;

	Assert(mk_lock_cleaning_is_mine(c->topic->topic_id, c->partition));
	/* a step that has removed records of one segment locks no other */
	while (looked < MK_STEP_RECORDS && removed == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (c->next <= log_start)
		{
			if (!c->full)
				return false;
			mk_keyset_reset(c->keys);
			c->full = false;
			c->next = c->again;
		}
		else
			mk_compact_segment(c, (c->next - 1) / c->topic->segment_records,
							   log_start, &looked, &removed);
	}
	return true;
}

int64
mk_compact_removed(const MkCompaction *c)
{
	return c->removed;
}

void
mk_compact_result(const MkCompaction *c, int64 *records, int64 *tombstones)
{
	*records = c->records;
	*tombstones = c->tombstones;
}

List *
mk_compact_remains(const MkCompaction *c)
{
	return c->remains;
}

bool
mk_compact_is_empty(const MkTopic *topic, int32 partition, int64 segment)
{
	int64 start = segment * topic->segment_records;
	bool empty;
	MkScan s;

	if (!mk_scan_begin(&s, topic, partition, segment, AccessShareLock, NULL,
					   Max(start, mk_log_start(topic, partition)),
					   start + topic->segment_records - 1, NULL))
	{
		mk_partition_check_dropped(topic, partition, segment);
		return true;
	}
	empty = !mk_scan_next(&s, ForwardScanDirection);
	mk_scan_end(&s);
	return empty;
}

/*
 * Passes the row to the sink if it is the first of its key, and no tombstone.
 * Returns false to stop.
 */
static bool
mk_latest_row(MkScan *s, MkKeySet *keys, MemoryContext context, MkLogSink sink,
			  void *arg)
{
	const char *key;
	uint32 length;
	void *copy;
	bool isnull;
	bool is_first;
	bool go_on;
	MkLogRecord record;
	MemoryContext old;

	if (!mk_scan_key(s, &key, &length, &copy))
		return true;
	is_first = mk_keyset_add(keys, key, length) == MK_KEY_ADDED;
	if (copy != NULL)
		pfree(copy);
	(void) mk_scan_nullable(s, Anum_record_value, &isnull);
	if (!is_first || isnull)
		return true;
	mk_scan_record(s, &record);
	old = MemoryContextSwitchTo(context);
	mk_scan_keep(&record);
	go_on = sink(&record, arg);
	MemoryContextSwitchTo(old);
	MemoryContextReset(context);
	return go_on;
}

void
mk_compact_latest(const MkTopic *topic, int32 partition, Snapshot snapshot,
				  MkLogSink sink, void *arg)
{
	int64 log_start = mk_log_start(topic, partition);
	MkKeySet *keys = mk_keyset_make(SIZE_MAX);
	MemoryContext row_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka record", ALLOCSET_DEFAULT_SIZES);
	int64 *segments;
	int n = mk_catalog_segments(topic, partition, &segments);
	bool go_on = true;

	for (int i = n - 1;
		 go_on && i >= 0 && segments[i] >= log_start / topic->segment_records;
		 i--)
	{
		MkScan s;

		if (!mk_scan_begin(&s, topic, partition, segments[i], AccessShareLock,
						   snapshot, log_start, PG_INT64_MAX, NULL))
		{
			mk_partition_check_dropped(topic, partition, segments[i]);
			continue;
		}
		while (go_on && mk_scan_next(&s, BackwardScanDirection))
			go_on = mk_latest_row(&s, keys, row_context, sink, arg);
		mk_scan_end(&s);
	}
	mk_keyset_free(keys);
	MemoryContextDelete(row_context);
}
