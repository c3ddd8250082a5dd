/*
 * mk_share_rows.c
 *		Rows of share groups: what is done, and deliveries that did not end well.
 *
 * The rows as they are now are read with SnapshotSelf, as in mk_progress.c.
 * Checkpoints and the deliveries of a record are newest-first rows, for which
 * mk_rows_clean's rule holds.  A run has no successor.  It is removed only below
 * the start offset of a checkpoint that every snapshot sees, so nobody who reads
 * the newest checkpoint that the own snapshot sees looks for it.  The same is
 * true of the deliveries of records that such a checkpoint counts as done.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_lock.h"
#include "mk_share_rows.h"

/* Column numbers, as in sql/parts/12_share.sql */
enum
{
	Anum_checkpoint_group_no = 1,
	Anum_checkpoint_topic_id,
	Anum_checkpoint_partition,
	Anum_checkpoint_number,
	Anum_checkpoint_era,
	Anum_checkpoint_high,
	Anum_checkpoint_exceptions,
	Anum_checkpoint_slots,
	Anum_checkpoint_made_at,
	Anum_checkpoint_lost,
	Natts_checkpoint = Anum_checkpoint_lost
};
StaticAssertDecl(Natts_checkpoint == MK_NATTS_SHARE_CHECKPOINT,
				 "all columns are listed");

enum
{
	Anum_done_group_no = 1,
	Anum_done_topic_id,
	Anum_done_partition,
	Anum_done_era,
	Anum_done_last_offset,
	Anum_done_first_offset,
	Natts_done = Anum_done_first_offset
};
StaticAssertDecl(Natts_done == MK_NATTS_SHARE_DONE, "all columns are listed");

enum
{
	Anum_delivery_group_no = 1,
	Anum_delivery_topic_id,
	Anum_delivery_partition,
	Anum_delivery_era,
	Anum_delivery_record_offset,
	Anum_delivery_number,
	Anum_delivery_acquisition,
	Anum_delivery_state,
	Anum_delivery_deliveries,
	Anum_delivery_slot,
	Anum_delivery_until,
	Anum_delivery_at,
	Anum_delivery_error,
	Natts_delivery = Anum_delivery_error
};
StaticAssertDecl(Natts_delivery == MK_NATTS_SHARE_DELIVERY,
				 "all columns are listed");

static const char *const mk_states[] = {
	[MK_DELIVERY_NONE] = "", /* no row says so */
	[MK_DELIVERY_LOCKED] = "locked", [MK_DELIVERY_RELEASED] = "released",
	[MK_DELIVERY_FAILED] = "failed", [MK_DELIVERY_BLOCKED] = "blocked",
};
StaticAssertDecl(lengthof(mk_states) == MK_DELIVERY_BLOCKED + 1,
				 "each state has a name");

/* ---------------------------------------------------------------------------
 * What runs and deliveries share: keys that begin with an MkShareKey, and then
 * an offset
 */

StaticAssertDecl(Anum_done_era == MK_SHARE_ANUM_ERA &&
					 Anum_done_last_offset == MK_SHARE_ANUM_OFFSET,
				 "the era ends the key, and an offset follows");
StaticAssertDecl(Anum_delivery_era == MK_SHARE_ANUM_ERA &&
					 Anum_delivery_record_offset == MK_SHARE_ANUM_OFFSET,
				 "the era ends the key, and an offset follows");

/* Begins a scan of rows whose offset compares to this one as "strategy" says. */
static void
mk_share_begin(MkRows *rows, MkRelation rel, MkRelation index,
			   Snapshot snapshot, const MkShareKey *key,
			   StrategyNumber strategy, int64 offset)
{
	const int32 equal[] = {key->group_no, key->topic_id, key->partition,
						   key->era};
	ScanKeyData keys[MK_SHARE_ANUM_OFFSET];

	for (int i = 0; i < (int) lengthof(equal); i++)
		ScanKeyInit(&keys[i], i + 1, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(equal[i]));
	ScanKeyInit(&keys[lengthof(equal)], lengthof(equal) + 1, strategy,
				strategy == BTEqualStrategyNumber ? F_INT8EQ : F_INT8GE,
				Int64GetDatum(offset));
	mk_rows_begin_keys(rows, rel, index,
					   snapshot != NULL ? snapshot : mk_rows_now(),
					   lengthof(keys), keys);
}

void
mk_share_begin_rows(MkRows *rows, MkRelation rel, MkRelation index,
					const MkShareKey *key)
{
	const int32 keys[] = {key->group_no, key->topic_id, key->partition,
						  key->era};

	mk_rows_begin(rows, rel, index, mk_rows_now(), lengthof(keys), keys);
}

void
mk_share_begin_rows_at(MkRows *rows, MkRelation rel, MkRelation index,
					   const MkShareKey *key, int64 from)
{
	mk_share_begin(rows, rel, index, NULL, key, BTGreaterEqualStrategyNumber,
				   from);
}

/* ---------------------------------------------------------------------------
 * Runs
 */

void
mk_share_runs_begin(MkShareRuns *runs, const MkShareKey *key, int64 from)
{
	mk_share_begin_rows_at(&runs->rows, MK_REL_SHARE_DONE,
						   MK_REL_SHARE_DONE_PKEY, key, from);
}

void
mk_share_run_read(const MkRows *rows, HeapTuple tuple, MkShareRun *run)
{
	run->first = mk_rows_int64(rows, tuple, Anum_done_first_offset);
	run->last = mk_rows_int64(rows, tuple, Anum_done_last_offset);
	run->xid = HeapTupleHeaderGetXmin(tuple->t_data);
}

bool
mk_share_runs_next(MkShareRuns *runs, MkShareRun *run)
{
	HeapTuple tuple = mk_rows_next(&runs->rows, ForwardScanDirection);

	if (tuple == NULL)
		return false;
	mk_share_run_read(&runs->rows, tuple, run);
	return true;
}

void
mk_share_runs_end(MkShareRuns *runs)
{
	mk_rows_end(&runs->rows);
}

bool
mk_share_run_find(const MkShareKey *key, int64 offset, MkShareRun *run)
{
	MkShareRuns runs;
	bool found;

	/* runs do not overlap, so the first that ends there or later decides */
	mk_share_runs_begin(&runs, key, offset);
	found = mk_share_runs_next(&runs, run) && run->first <= offset;
	mk_share_runs_end(&runs);
	return found;
}

void
mk_share_run_put(const MkShareKey *key, int64 first, int64 last)
{
	Datum values[Natts_done];
	bool nulls[Natts_done] = {0};

	Assert(first <= last);
	values[Anum_done_group_no - 1] = Int32GetDatum(key->group_no);
	values[Anum_done_topic_id - 1] = Int32GetDatum(key->topic_id);
	values[Anum_done_partition - 1] = Int32GetDatum(key->partition);
	values[Anum_done_era - 1] = Int32GetDatum(key->era);
	values[Anum_done_last_offset - 1] = Int64GetDatum(last);
	values[Anum_done_first_offset - 1] = Int64GetDatum(first);
	mk_rows_insert(MK_REL_SHARE_DONE, NULL, values, nulls);
}

/* ---------------------------------------------------------------------------
 * Checkpoints
 */

/*
 * The data of an array of numbers, which has n elements of this type; n is -1
 * for any number.  *array is to be freed if it is not the datum itself.
 */
static void *
mk_share_array(Datum datum, Oid type, int *n, ArrayType **array)
{
	ArrayType *a = DatumGetArrayTypeP(datum);
	int elements = ArrayGetNItems(ARR_NDIM(a), ARR_DIMS(a));

	if (ARR_NDIM(a) > 1 || ARR_HASNULL(a) || ARR_ELEMTYPE(a) != type ||
		elements > MK_SHARE_MAX_EXCEPTIONS || (*n >= 0 && *n != elements))
		elog(ERROR, "checkpoint of a share group has a wrong array");
	*n = elements;
	*array = a;
	return ARR_DATA_PTR(a);
}

/* Reads the exceptions of a checkpoint. */
static void
mk_share_read_exceptions(const MkRows *rows, HeapTuple tuple,
						 MkShareCheckpoint *c)
{
	Datum offsets = mk_rows_column(rows, tuple, Anum_checkpoint_exceptions);
	Datum slots = mk_rows_column(rows, tuple, Anum_checkpoint_slots);
	int n = -1;
	ArrayType *offset_array;
	ArrayType *slot_array;
	const int64 *offset = mk_share_array(offsets, INT8OID, &n, &offset_array);
	const int32 *slot = mk_share_array(slots, INT4OID, &n, &slot_array);

	c->nexceptions = n;
	if (n > 0)
		c->exceptions = palloc(n * sizeof(MkShareException));
	for (int i = 0; i < n; i++)
	{
		c->exceptions[i].offset = offset[i];
		c->exceptions[i].slot = (uint32) slot[i];
	}
	if ((Pointer) offset_array != DatumGetPointer(offsets))
		pfree(offset_array);
	if ((Pointer) slot_array != DatumGetPointer(slots))
		pfree(slot_array);
}

/* Reads the first exception of a checkpoint only; without any, "otherwise". */
static int64
mk_share_read_start(const MkRows *rows, HeapTuple tuple, int64 otherwise)
{
	Size size = ARR_OVERHEAD_NONULLS(1) + sizeof(int64);
	Datum offsets = mk_rows_column(rows, tuple, Anum_checkpoint_exceptions);
	struct varlena *slice = PG_DETOAST_DATUM_SLICE(offsets, 0, size - VARHDRSZ);
	int64 start = otherwise;

	if (VARSIZE_ANY_EXHDR(slice) == size - VARHDRSZ)
		memcpy(&start, VARDATA_ANY(slice) + ARR_OVERHEAD_NONULLS(1) - VARHDRSZ,
			   sizeof(int64));
	pfree(slice);
	return start;
}

/* Begins a scan of the checkpoints of a partition. */
static void
mk_share_begin_checkpoints(MkRows *rows, int32 group_no, int32 topic_id,
						   int32 partition, Snapshot snapshot)
{
	const int32 keys[] = {group_no, topic_id, partition};

	mk_rows_begin(rows, MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY,
				  snapshot != NULL ? snapshot : mk_rows_now(), lengthof(keys),
				  keys);
}

/*
 * Reads the row that the scan has found, with or without its list; whether there
 * is one.
 */
static bool
mk_share_read_checkpoint(const MkRows *rows, HeapTuple tuple, bool exceptions,
						 MkShareCheckpoint *c)
{
	memset(c, 0, sizeof(*c));
	if (tuple == NULL)
		return false;
	c->number = mk_rows_int64(rows, tuple, Anum_checkpoint_number);
	c->era = mk_rows_int32(rows, tuple, Anum_checkpoint_era);
	c->high = mk_rows_int64(rows, tuple, Anum_checkpoint_high);
	c->lost = mk_rows_int64(rows, tuple, Anum_checkpoint_lost);
	if (exceptions)
		mk_share_read_exceptions(rows, tuple, c);
	c->start = exceptions ? mk_share_checkpoint_start(c)
						  : mk_share_read_start(rows, tuple, c->high);
	return true;
}

/* Reads the newest checkpoint that the snapshot sees. */
static bool
mk_share_newest_checkpoint(int32 group_no, int32 topic_id, int32 partition,
						   Snapshot snapshot, bool exceptions,
						   MkShareCheckpoint *c)
{
	MkRows rows;
	bool found;

	mk_share_begin_checkpoints(&rows, group_no, topic_id, partition, snapshot);
	found = mk_share_read_checkpoint(
		&rows, mk_rows_next(&rows, BackwardScanDirection), exceptions, c);
	mk_rows_end(&rows);
	return found;
}

bool
mk_share_checkpoint_get(int32 group_no, int32 topic_id, int32 partition,
						Snapshot snapshot, MkShareCheckpoint *checkpoint)
{
	return mk_share_newest_checkpoint(group_no, topic_id, partition, snapshot,
									  true, checkpoint);
}

bool
mk_share_checkpoint_peek(int32 group_no, int32 topic_id, int32 partition,
						 Snapshot snapshot, MkShareCheckpoint *checkpoint)
{
	return mk_share_newest_checkpoint(group_no, topic_id, partition, snapshot,
									  false, checkpoint);
}

int64
mk_share_checkpoint_number(int32 group_no, int32 topic_id, int32 partition,
						   Snapshot snapshot)
{
	const int32 keys[] = {group_no, topic_id, partition};
	int64 number = 0;

	(void) mk_rows_greatest(
		MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY, lengthof(keys),
		keys, snapshot != NULL ? snapshot : mk_rows_now(), &number);
	return number;
}

bool
mk_share_checkpoint_settled(int32 group_no, int32 topic_id, int32 partition,
							MkShareCheckpoint *checkpoint)
{
	MkRows rows;
	HeapTuple tuple;
	bool found;

	mk_share_begin_checkpoints(&rows, group_no, topic_id, partition, NULL);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL && !mk_rows_all_see(tuple, mk_rows_horizon(&rows)))
		tuple = NULL;
	found = mk_share_read_checkpoint(&rows, tuple, true, checkpoint);
	mk_rows_end(&rows);
	return found;
}

void
mk_share_checkpoint_put(int32 group_no, int32 topic_id, int32 partition,
						MkShareCheckpoint *c)
{
	Datum values[Natts_checkpoint];
	bool nulls[Natts_checkpoint] = {0};
	int n = c->nexceptions;
	Datum *elements = palloc(Max(n, 1) * sizeof(Datum));
	ArrayType *offsets;
	ArrayType *slots;

	if (n > MK_SHARE_MAX_EXCEPTIONS)
		elog(ERROR, "checkpoint of a share group has %d exceptions", n);
	c->number++;
	for (int i = 0; i < n; i++)
	{
		Assert(c->exceptions[i].offset < c->high);
		Assert(i == 0 || c->exceptions[i - 1].offset < c->exceptions[i].offset);
		elements[i] = Int64GetDatum(c->exceptions[i].offset);
	}
	offsets = construct_array(elements, n, INT8OID, sizeof(int64),
							  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	for (int i = 0; i < n; i++)
		elements[i] = Int32GetDatum((int32) c->exceptions[i].slot);
	slots = construct_array(elements, n, INT4OID, sizeof(int32), true,
							TYPALIGN_INT);
	values[Anum_checkpoint_group_no - 1] = Int32GetDatum(group_no);
	values[Anum_checkpoint_topic_id - 1] = Int32GetDatum(topic_id);
	values[Anum_checkpoint_partition - 1] = Int32GetDatum(partition);
	values[Anum_checkpoint_number - 1] = Int64GetDatum(c->number);
	values[Anum_checkpoint_era - 1] = Int32GetDatum(c->era);
	values[Anum_checkpoint_high - 1] = Int64GetDatum(c->high);
	values[Anum_checkpoint_exceptions - 1] = PointerGetDatum(offsets);
	values[Anum_checkpoint_slots - 1] = PointerGetDatum(slots);
	values[Anum_checkpoint_made_at - 1] = TimestampTzGetDatum(mk_clock_now());
	values[Anum_checkpoint_lost - 1] = Int64GetDatum(c->lost);
	mk_rows_insert(MK_REL_SHARE_CHECKPOINT, NULL, values, nulls);
	pfree(offsets);
	pfree(slots);
	pfree(elements);
}

int64
mk_share_checkpoint_start(const MkShareCheckpoint *checkpoint)
{
	return checkpoint->nexceptions > 0 ? checkpoint->exceptions[0].offset
									   : checkpoint->high;
}

/* The place of an offset in the exceptions, -1 if it is none of them. */
static int
mk_share_checkpoint_find(const MkShareCheckpoint *c, int64 offset)
{
	int low = 0;
	int high = c->nexceptions;

	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (c->exceptions[middle].offset == offset)
			return middle;
		if (c->exceptions[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

bool
mk_share_checkpoint_is_done(const MkShareCheckpoint *c, int64 offset)
{
	return offset < c->high && mk_share_checkpoint_find(c, offset) < 0;
}

int64
mk_share_start_offset(int32 group_no, int32 topic_id, int32 partition)
{
	MkShareKey key = {
		.group_no = group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint c;
	MkShareRuns runs;
	MkShareRun run;
	int64 start;
	int i = 0;

	(void) mk_share_checkpoint_get(group_no, topic_id, partition, NULL, &c);
	key.era = c.era;
	start = mk_share_checkpoint_start(&c);
	mk_share_runs_begin(&runs, &key, start);
	while (mk_share_runs_next(&runs, &run))
	{
		if (run.last < start)
			continue;
		if (run.first > start)
			break;
		start = run.last + 1;
		/* what the checkpoint does not list is done, too */
		while (i < c.nexceptions && c.exceptions[i].offset < start)
			i++;
		if (start < c.high)
			start = i < c.nexceptions ? c.exceptions[i].offset : c.high;
	}
	mk_share_runs_end(&runs);
	return start;
}

/* ---------------------------------------------------------------------------
 * Deliveries
 */

const char *
mk_delivery_state_name(MkDeliveryState state)
{
	return mk_states[state];
}

static MkDeliveryState
mk_delivery_find_state(const char *name)
{
	for (int i = MK_DELIVERY_LOCKED; i < (int) lengthof(mk_states); i++)
		if (strcmp(mk_states[i], name) == 0)
			return (MkDeliveryState) i;
	elog(ERROR, "unknown state of a delivery");
	return MK_DELIVERY_NONE;
}

void
mk_delivery_read(const MkRows *rows, HeapTuple tuple, MkDelivery *d)
{
	char *state = mk_rows_text(rows, tuple, Anum_delivery_state);

	d->offset = mk_rows_int64(rows, tuple, Anum_delivery_record_offset);
	d->number = mk_rows_int64(rows, tuple, Anum_delivery_number);
	d->acquisition = mk_rows_int64(rows, tuple, Anum_delivery_acquisition);
	d->state = mk_delivery_find_state(state);
	d->count = mk_rows_int32(rows, tuple, Anum_delivery_deliveries);
	d->slot = (uint32) mk_rows_int32(rows, tuple, Anum_delivery_slot);
	d->until = mk_rows_time_or(rows, tuple, Anum_delivery_until, DT_NOBEGIN);
	d->at = mk_rows_time(rows, tuple, Anum_delivery_at);
	d->error = mk_rows_text_or_null(rows, tuple, Anum_delivery_error);
	d->xid = HeapTupleHeaderGetXmin(tuple->t_data);
	pfree(state);
}

void
mk_delivery_none(int64 offset, MkDelivery *delivery)
{
	memset(delivery, 0, sizeof(*delivery));
	delivery->offset = offset;
	delivery->until = DT_NOBEGIN;
}

bool
mk_delivery_waits(const MkDelivery *d, TimestampTz now)
{
	return d->state == MK_DELIVERY_BLOCKED ||
		((d->state == MK_DELIVERY_RELEASED || d->state == MK_DELIVERY_FAILED) &&
		 d->until > now);
}

bool
mk_delivery_get(const MkShareKey *key, int64 offset, MkDelivery *delivery)
{
	MkRows rows;
	HeapTuple tuple;

	mk_delivery_none(offset, delivery);
	mk_share_begin(&rows, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY,
				   NULL, key, BTEqualStrategyNumber, offset);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		mk_delivery_read(&rows, tuple, delivery);
	mk_rows_end(&rows);
	return tuple != NULL;
}

void
mk_delivery_put(const MkShareKey *key, MkDelivery *d)
{
	Datum values[Natts_delivery];
	bool nulls[Natts_delivery] = {0};
	Datum state;

	Assert(d->state != MK_DELIVERY_NONE);
	Assert(mk_lock_share_slot_is_mine(key->group_no, key->topic_id,
									  key->partition, d->slot));
	d->number++;
	d->at = mk_clock_now();
	state = CStringGetTextDatum(mk_states[d->state]);
	values[Anum_delivery_group_no - 1] = Int32GetDatum(key->group_no);
	values[Anum_delivery_topic_id - 1] = Int32GetDatum(key->topic_id);
	values[Anum_delivery_partition - 1] = Int32GetDatum(key->partition);
	values[Anum_delivery_era - 1] = Int32GetDatum(key->era);
	values[Anum_delivery_record_offset - 1] = Int64GetDatum(d->offset);
	values[Anum_delivery_number - 1] = Int64GetDatum(d->number);
	values[Anum_delivery_acquisition - 1] = Int64GetDatum(d->acquisition);
	values[Anum_delivery_state - 1] = state;
	values[Anum_delivery_deliveries - 1] = Int32GetDatum(d->count);
	values[Anum_delivery_slot - 1] = Int32GetDatum((int32) d->slot);
	values[Anum_delivery_until - 1] = TimestampTzGetDatum(d->until);
	nulls[Anum_delivery_until - 1] = d->until == DT_NOBEGIN;
	values[Anum_delivery_at - 1] = TimestampTzGetDatum(d->at);
	mk_rows_set_text(values, nulls, Anum_delivery_error, d->error);
	mk_rows_insert(MK_REL_SHARE_DELIVERY, NULL, values, nulls);
	pfree(DatumGetPointer(state));
}

/* Gives a record's newest row to the sink, if there is one; whether to go on. */
static bool
mk_delivery_give(MkDelivery *d, MkDeliverySink sink, void *arg)
{
	bool more = d->number == 0 || sink(d, arg);

	if (d->error != NULL)
		pfree(d->error);
	memset(d, 0, sizeof(*d));
	return more;
}

void
mk_delivery_scan(const MkShareKey *key, int64 from, Snapshot snapshot,
				 MkDeliverySink sink, void *arg)
{
	MkDelivery newest = {0};
	bool more = true;
	MkRows rows;
	HeapTuple tuple;

	mk_share_begin(&rows, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY,
				   snapshot, key, BTGreaterEqualStrategyNumber, from);
	while (more && (tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		MkDelivery d;

		CHECK_FOR_INTERRUPTS();
		mk_delivery_read(&rows, tuple, &d);
		if (newest.offset != d.offset)
			more = mk_delivery_give(&newest, sink, arg);
		else if (newest.error != NULL)
			pfree(newest.error); /* there is a newer row */
		newest = d;
	}
	if (more)
		(void) mk_delivery_give(&newest, sink, arg);
	mk_rows_end(&rows);
}

/* ---------------------------------------------------------------------------
 * Removing rows
 */

/* The tables, each with its key. */
static const struct
{
	MkRelation rel;
	MkRelation pkey;
} mk_share_tables[] = {
	{MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY},
	{MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY},
	{MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY},
	{MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY},
};

/* Removes the rows with these values in the first columns. */
static void
mk_share_rows_delete(int nkeys, const int32 *values)
{
	for (int i = 0; i < (int) lengthof(mk_share_tables); i++)
		mk_rows_delete_all(mk_share_tables[i].rel, mk_share_tables[i].pkey,
						   nkeys, values);
}

void
mk_share_rows_delete_topic(int32 topic_id)
{
	ListCell *lc;

	foreach (lc, mk_share_rows_groups(NULL))
	{
		const int32 keys[] = {lfirst_int(lc), topic_id};

		mk_share_rows_delete(lengthof(keys), keys);
	}
}

void
mk_share_rows_delete_group(int32 group_no)
{
	mk_share_rows_delete(1, &group_no);
}

/* The distinct values of a column in the rows of all these tables, ascending. */
static List *
mk_share_rows_values(int nkeys, const int32 *values, Snapshot snapshot)
{
	List *all = NIL;

	for (int i = 0; i < (int) lengthof(mk_share_tables); i++)
		all = list_concat_unique_int(all,
									 mk_rows_values(mk_share_tables[i].rel,
													mk_share_tables[i].pkey,
													nkeys, values, snapshot));
	list_sort(all, list_int_cmp);
	return all;
}

List *
mk_share_rows_groups(Snapshot snapshot)
{
	return mk_share_rows_values(0, NULL, snapshot);
}

List *
mk_share_rows_topics(int32 group_no, Snapshot snapshot)
{
	return mk_share_rows_values(1, &group_no, snapshot);
}

List *
mk_share_rows_partitions(int32 group_no, int32 topic_id, Snapshot snapshot)
{
	const int32 keys[] = {group_no, topic_id};

	return mk_share_rows_values(lengthof(keys), keys, snapshot);
}
