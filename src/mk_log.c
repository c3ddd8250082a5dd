/*
 * mk_log.c
 *		The log of a partition: its end, reading it, appending to it.
 *
 * The invariants, on which everything else stands:
 *
 * 1. Records are appended only by a transaction that is committing and holds
 *	  the partition's sequencing lock.  It starts at the tail, which counts the
 *	  rows of transactions that are still committing, and inserts in the order
 *	  of the offsets, each with its index entry.  So a row that anybody has
 *	  seen committed was inserted after every row of a lower offset that will
 *	  ever be there; on a standby too, since WAL is replayed in order.
 *
 * 2. After that it lets the sequencing lock go, but holds the in-flight lock
 *	  to its end.  So a row that is undecided (its inserter is in progress)
 *	  belongs to a holder of the in-flight lock, or to the one transaction that
 *	  is sequencing, whose rows are the last of all.
 *
 * 3. The rows that a transaction puts into one partition are one contiguous
 *	  run of offsets.
 *
 * A reader scans with a dirty snapshot: it sees committed rows and undecided
 * ones.  It stops at the first undecided row, and at the first that is not
 * visible to a snapshot that was taken before the scan began.  An offset that
 * no row bears, below a row that is handed out, is a hole: that row was
 * committed when the snapshot was taken, so by invariant 1 every row below it
 * had been inserted when the scan began.  Without the second rule this would
 * not hold: an index scan copies a page and visits the rows afterwards, and
 * the offsets of rows that were aborted are given again, so rows committed
 * meanwhile could be missed below others that are not.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_scan.h"
#include "mk_segment.h"

/*
 * What this backend remembers of a partition.  The number of a topic could
 * come again after DROP EXTENSION, the OID of its table does not.
 */
typedef struct MkPartitionKey
{
	Oid relid;
	int32 partition;
} MkPartitionKey;

typedef struct MkHint
{
	MkPartitionKey key;

	/* of the catalog, as of this generation */
	uint64 generation;
	int64 log_start;
	int64 newest_segment; /* -1 if there is none */

	/* a segment that could not be made in passing: it is not tried again */
	int64 not_in_passing;

	/* where the next record went when we last looked */
	int64 tail;

	/*
	 * The end when we last looked, which never moves back; it still is the end
	 * while this transaction is in progress.
	 */
	int64 end;
	TransactionId undecided_xid;

	/* the table of a segment that we opened last */
	int64 segment;
	Oid segment_relid;
} MkHint;

static HTAB *mk_hints = NULL;

void
mk_log_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(MkPartitionKey);
	ctl.entrysize = sizeof(MkHint);
	ctl.hcxt = TopMemoryContext;
	mk_hints = hash_create("minikafka partitions", 64, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static MkHint *
mk_hint(const MkTopic *topic, int32 partition)
{
	MkPartitionKey key = {topic->relid, partition};
	MkHint *hint;
	bool found;

	hint = hash_search(mk_hints, &key, HASH_ENTER, &found);
	if (!found)
		memset((char *) hint + sizeof(key), 0, sizeof(*hint) - sizeof(key));
	return hint;
}

/*
 * The log start and the newest segment as they are now; see mk_lock_changing
 * for why what is remembered can be trusted.  On a standby there are no locks.
 */
static void
mk_refresh(const MkTopic *topic, int32 partition, MkHint *hint)
{
	bool changing =
		RecoveryInProgress() || mk_lock_is_changing(topic->topic_id, partition);
	uint64 generation;

	AcceptInvalidationMessages();
	generation = mk_catalog_generation();
	if (likely(!changing && hint->generation == generation))
		return;
	hint->newest_segment = mk_catalog_newest_segment(topic, partition);
	hint->log_start = mk_catalog_log_start(topic, partition);
	hint->generation = changing ? 0 : generation;
	if (hint->newest_segment < 0)
		mk_catalog_check_topic(topic, topic->topic_id);
}

/* What is remembered of a partition, refreshed. */
static MkHint *
mk_fresh_hint(const MkTopic *topic, int32 partition)
{
	MkHint *hint = mk_hint(topic, partition);

	mk_refresh(topic, partition, hint);
	return hint;
}

/*
 * Scans the rows of a segment from "from" to "to".  False if there is no such
 * table.
 */
static bool
mk_log_scan(MkScan *s, const MkTopic *topic, int32 partition, MkHint *hint,
			int64 segment, LOCKMODE lockmode, int64 from, int64 to)
{
	if (hint->segment != segment)
	{
		hint->segment = segment;
		hint->segment_relid = InvalidOid;
	}
	return mk_scan_begin(s, topic, partition, segment, lockmode, NULL, from, to,
						 &hint->segment_relid);
}

/*
 * There is no table of this segment: fine if the log start has passed it
 * meanwhile, or if compaction has left nothing in it, and dropped it.
 */
static bool
mk_log_may_be_dropped(const MkTopic *topic, int32 partition, int64 segment)
{
	mk_catalog_check_topic(topic, topic->topic_id);
	return (segment + 1) * topic->segment_records <=
		mk_log_start(topic, partition) ||
		mk_catalog_next_segment(topic, partition, segment) != segment;
}

void
mk_log_check_dropped(const MkTopic *topic, int32 partition, int64 segment)
{
	if (!mk_log_may_be_dropped(topic, partition, segment))
		mk_segment_missing(topic, partition, segment);
}

static void
mk_log_unsound(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", problem),
			 errhint("Undo the change with ALTER TABLE; "
					 "minikafka.check_topic() shows what else is wrong.")));
}

/* Looks at a segment; one that the log start has passed may be missing. */
static void
mk_log_check_table(const MkTopic *topic, int32 partition, int64 segment)
{
	bool missing;
	const char *problem =
		mk_segment_problem(topic, partition, segment, &missing);

	if (missing)
		mk_log_check_dropped(topic, partition, segment);
	else if (problem != NULL)
		mk_log_unsound(problem);
}

void
mk_log_check_tables(const MkTopic *topic, int32 partition)
{
	const char *problem = mk_segment_partition_problem(topic, partition);
	int64 newest = mk_catalog_newest_segment(topic, partition);
	List *strangers = mk_segment_strangers(topic, partition);
	int64 *segments;
	int n;

	if (partition == 0)
		strangers = list_concat(strangers, mk_segment_strangers(topic, -1));
	if (problem != NULL)
		mk_log_unsound(problem);
	n = mk_segment_unattached(topic, partition, &segments);
	for (int i = 0; i < n; i++)
		mk_log_check_table(topic, partition, segments[i]);
	if (newest < 0)
		mk_log_unsound("partition has no segment");
	mk_log_check_table(topic, partition, newest);
	if (strangers != NIL)
		mk_log_unsound(linitial(strangers));
}

/* ---------------------------------------------------------------------------
 * Appending
 */

/*
 * Looks for the last row at or after "from".  Segments made ahead have none;
 * that is one at most, as a rule.
 */
static bool
mk_log_last_row(const MkTopic *topic, int32 partition, MkHint *hint, int64 from,
				MkTail *tail)
{
	for (int64 segment = hint->newest_segment;
		 segment >= from / topic->segment_records; segment--)
	{
		MkScan s;

		if (!mk_log_scan(&s, topic, partition, hint, segment, RowExclusiveLock,
						 from, PG_INT64_MAX))
		{
			mk_log_check_dropped(topic, partition, segment);
			return false;
		}
		if (mk_scan_next(&s, BackwardScanDirection))
		{
			tail->next_offset = s.offset + 1;
			tail->ts = DatumGetTimestampTz(mk_scan_column(&s, Anum_record_ts));
			tail->segment_number = segment;
			tail->is_open = true;
			mk_scan_end_open(&s);
			tail->segment = s.segment;
			return true;
		}
		mk_scan_end(&s);
	}
	return false;
}

void
mk_log_tail(const MkTopic *topic, int32 partition, MkTail *tail)
{
	MkHint *hint = mk_fresh_hint(topic, partition);
	int64 guess = Max(hint->log_start, hint->tail - 1);

	tail->next_offset = 0;
	tail->ts = DT_NOBEGIN;
	tail->is_open = false;

	/*
	 * The last row is the last one at or after any offset, if there is one;
	 * from where it was before, the scan need not read a page of keys.
	 */
	if (!mk_log_last_row(topic, partition, hint, guess, tail) &&
		guess > hint->log_start)
		(void) mk_log_last_row(topic, partition, hint, hint->log_start, tail);
	hint->tail = tail->next_offset;

	/*
	 * Read after the rows: who removed rows had moved the log start, in a
	 * transaction before.
	 */
	mk_refresh(topic, partition, hint);
	tail->next_offset = Max(tail->next_offset, hint->log_start);
}

int64
mk_log_next_offset(const MkTopic *topic, int32 partition)
{
	MkTail tail;

	mk_log_tail(topic, partition, &tail);
	mk_log_tail_close(&tail);
	return tail.next_offset;
}

TimestampTz
mk_log_last_time(const MkTopic *topic, int32 partition)
{
	MkTail tail;

	mk_log_tail(topic, partition, &tail);
	mk_log_tail_close(&tail);
	return tail.ts;
}

/* Whether the segment has a decided row at or after "from". */
static bool
mk_log_has_row(const MkTopic *topic, int32 partition, MkHint *hint,
			   int64 segment, int64 from)
{
	MkScan s;
	bool found = false;

	if (!mk_log_scan(&s, topic, partition, hint, segment, AccessShareLock, from,
					 PG_INT64_MAX))
	{
		mk_log_check_dropped(topic, partition, segment);
		return false;
	}
	while (!found && mk_scan_next(&s, BackwardScanDirection))
		found = !TransactionIdIsValid(s.undecided);
	if (found)
		hint->tail = Max(hint->tail, s.offset + 1);
	mk_scan_end(&s);
	return found;
}

bool
mk_log_is_empty(const MkTopic *topic, int32 partition)
{
	MkHint *hint = mk_hint(topic, partition);

	if (likely(hint->tail > hint->log_start))
		return false;
	mk_refresh(topic, partition, hint);
	for (int64 segment = hint->newest_segment;
		 segment >= hint->log_start / topic->segment_records; segment--)
		if (mk_log_has_row(topic, partition, hint, segment, hint->log_start))
			return false;
	return true;
}

bool
mk_log_newest_is_empty(const MkTopic *topic, int32 partition)
{
	MkHint *hint = mk_fresh_hint(topic, partition);

	return !mk_log_has_row(topic, partition, hint, hint->newest_segment,
						   hint->log_start);
}

void
mk_log_tail_close(MkTail *tail)
{
	if (tail->is_open)
		mk_segment_close(&tail->segment, false);
	tail->is_open = false;
}

MkAppender *
mk_log_append_begin(const MkTopic *topic, int32 partition, MkTail *tail,
					TimestampTz ts, MkContract *contract)
{
	MkSegment *open = NULL;

	if (tail->is_open &&
		tail->next_offset / topic->segment_records == tail->segment_number)
	{
		open = &tail->segment;
		tail->is_open = false;
	}
	mk_log_tail_close(tail);
	return mk_append_begin(topic, partition, tail->next_offset,
						   Max(ts, tail->ts), open, contract);
}

bool
mk_log_reserve(const MkTopic *topic, int32 partition, MkTail *tail, int64 n)
{
	int64 first = tail->next_offset;
	MkHint *hint = mk_hint(topic, partition);
	int64 last;

	if (n > PG_INT64_MAX - topic->segment_records - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("offsets of topic \"%s\" partition %d are used up",
						NameStr(topic->name), partition)));
	last = (first + n - 1) / topic->segment_records;
	if (hint->newest_segment >= last)
		return false;

	/*
	 * Somebody may be making it, or may have made it while we waited.  Who
	 * locks the whole topic comes from the tables above, so have no lock on a
	 * segment when those are needed.
	 */
	mk_log_tail_close(tail);
	mk_lock_maker(topic->topic_id, partition);
	mk_refresh(topic, partition, hint);
	if (hint->newest_segment >= last)
		return false;

	/* after delete_records to the end, the log may go on in a later segment */
	for (int64 k =
			 Max(hint->newest_segment + 1, first / topic->segment_records);
		 k <= last; k++)
	{
		CHECK_FOR_INTERRUPTS();
		mk_segment_make(topic, partition, k, MK_MAKE_NEEDED);
	}
	return true;
}

void
mk_log_make_ahead(const MkTopic *topic, int32 partition, int64 last, MkMake how)
{
	MkHint *hint = mk_hint(topic, partition);
	int64 records = topic->segment_records;
	int64 segment = last / records;

	if (last - segment * records < records / 2 ||
		hint->newest_segment > segment ||
		(how == MK_MAKE_IN_PASSING && hint->not_in_passing == segment + 1) ||
		!mk_lock_maker_try(topic->topic_id, partition))
		return;
	mk_refresh(topic, partition, hint);
	if (hint->newest_segment != segment)
		return;
	if (!mk_segment_make(topic, partition, segment + 1, how) &&
		how == MK_MAKE_IN_PASSING)
		hint->not_in_passing = segment + 1;
}

/* ---------------------------------------------------------------------------
 * The end
 */

/* Takes xid out of the array; returns the new length. */
static int
mk_forget_xid(TransactionId *xids, int n, TransactionId xid)
{
	for (int i = 0; i < n; i++)
		if (TransactionIdEquals(xids[i], xid))
		{
			xids[i] = xids[n - 1];
			return n - 1;
		}
	return n;
}

/* Takes those out that have ended; returns the new length. */
static int
mk_forget_ended(TransactionId *xids, int n)
{
	for (int i = n - 1; i >= 0; i--)
		if (!TransactionIdIsInProgress(xids[i]))
			xids[i] = xids[--n];
	return n;
}

/*
 * One look for the end: a walk back from the last row, until all who have
 * records in flight have been met, or have ended, and a decided row is
 * reached; or to the end of before, below which all is decided.  The holders
 * are asked for after the last row was seen, so that each undecided row up to
 * it is a holder's, or lies at the very end.  Returns the first undecided
 * offset and its inserter, or the tail and InvalidTransactionId.
 */
static int64
mk_log_walk_back(const MkTopic *topic, int32 partition, MkHint *hint,
				 TransactionId *undecided_xid)
{
	int64 bound = Max(hint->log_start, hint->end - 1);
	int64 end = -1; /* the last row's successor */
	int64 undecided = -1;
	TransactionId *xids = NULL;
	int n = 0;
	bool done = false;

	*undecided_xid = InvalidTransactionId;
	for (int64 segment = hint->newest_segment;
		 !done && segment >= bound / topic->segment_records; segment--)
	{
		MkScan s;

		if (!mk_log_scan(&s, topic, partition, hint, segment, AccessShareLock,
						 bound, PG_INT64_MAX))
		{
			mk_log_check_dropped(topic, partition, segment);
			break;
		}
		while (!done && mk_scan_next(&s, BackwardScanDirection))
		{
			if (end < 0)
			{
				end = s.offset + 1;
				n = mk_lock_in_flight_holders(topic->topic_id, partition,
											  &xids);
			}
			if (!TransactionIdIsValid(s.undecided))
			{
				if (n > 0)
					n = mk_forget_ended(xids, n);
				done = n == 0;
				continue;
			}
			undecided = s.offset;
			if (!TransactionIdEquals(*undecided_xid, s.undecided))
				n = mk_forget_xid(xids, n, s.undecided);
			*undecided_xid = s.undecided;
		}
		mk_scan_end(&s);
	}
	if (xids != NULL)
		pfree(xids);
	return undecided >= 0 ? undecided : Max(end, hint->end);
}

/*
 * On a standby no locks tell who has records in flight.  But of the transactions
 * that a snapshot knows to be in progress, none has an older id than its xmin;
 * and whoever has one above the records of such a transaction, and an older id,
 * was running when that got its id, before it was sequenced.  Of those there are
 * fewer than MaxBackends, which a standby has as many of as the primary.  So the
 * walk back ends when it has met as many transactions that are older; or at the
 * first one, if none is in progress: see invariant 1.  (None is below the
 * snapshot's xmax then, nor from there on: xmax goes by the transactions that
 * have ended.)  What the snapshot does not see counts as undecided.
 */

/* The inserter of the row; and whether it is older than all in progress. */
static TransactionId
mk_scan_inserter(MkScan *s, Snapshot snapshot, bool *is_old)
{
	bool should_free;
	HeapTuple tuple = ExecFetchSlotHeapTuple(s->slot, false, &should_free);
	TransactionId xid = HeapTupleHeaderGetRawXmin(tuple->t_data);

	Assert(!should_free);
	*is_old = HeapTupleHeaderXminFrozen(tuple->t_data) ||
		TransactionIdPrecedes(xid, snapshot->xmin);
	return xid;
}

/*
 * The first of the offsets from "from" on that a transaction has, which has "to":
 * by invariant 3 all in between.
 */
static int64
mk_log_run_start(const MkTopic *topic, int32 partition, MkHint *hint,
				 int64 segment, Snapshot snapshot, TransactionId xid,
				 int64 from, int64 to)
{
	while (from < to)
	{
		int64 middle = from + (to - from) / 2;
		bool is_old;
		MkScan s;

		if (!mk_log_scan(&s, topic, partition, hint, segment, AccessShareLock,
						 from, middle))
			break;
		if (mk_scan_next(&s, BackwardScanDirection) &&
			mk_scan_inserter(&s, snapshot, &is_old) == xid)
			to = s.offset;
		else
			from = middle + 1;
		mk_scan_end(&s);
	}
	return to;
}

/* From so many rows of a transaction on, the rest of them is jumped over. */
#define MK_LONG_RUN 100

typedef struct MkStandbyWalk
{
	Snapshot snapshot;
	bool is_quiet; /* no transaction was in progress */
	int64 bound; /* below that all is decided */
	int64 end; /* the last row's successor, -1 if none was met */
	int64 undecided; /* the first, -1 if none was met */
	TransactionId xid; /* the last one met that is older than all in progress */
	int rows; /* of it */
	int nold; /* how many such were met */
} MkStandbyWalk;

/* Walks back from "to" on; returns where to go on, or -1 at the end. */
static int64
mk_log_walk_standby(const MkTopic *topic, int32 partition, MkHint *hint,
					int64 segment, int64 to, MkStandbyWalk *w)
{
	int64 start = segment * topic->segment_records;
	int64 next = start - 1;
	int64 run = -1;
	MkScan s;

	if (!mk_log_scan(&s, topic, partition, hint, segment, AccessShareLock,
					 w->bound, to))
	{
		mk_log_check_dropped(topic, partition, segment);
		return next;
	}
	while (run < 0 && mk_scan_next(&s, BackwardScanDirection))
	{
		bool is_old;
		TransactionId xid;

		w->end = Max(w->end, s.offset + 1);
		if (!mk_scan_is_settled(&s, w->snapshot))
		{
			w->undecided = s.offset;
			continue;
		}
		xid = mk_scan_inserter(&s, w->snapshot, &is_old);
		if (w->is_quiet ||
			(is_old && xid != w->xid && ++w->nold >= MaxBackends))
		{
			next = -1;
			break;
		}
		if (!is_old)
			continue;
		w->rows = xid == w->xid ? w->rows + 1 : 1;
		w->xid = xid;
		if (w->rows % MK_LONG_RUN == 0)
			run = s.offset;
	}
	mk_scan_end(&s);
	if (run >= 0)
		next = mk_log_run_start(topic, partition, hint, segment, w->snapshot,
								w->xid, Max(start, w->bound), run) -
			1;
	return next < w->bound ? -1 : next;
}

static int64
mk_log_standby_end(const MkTopic *topic, int32 partition, MkHint *hint)
{
	MkStandbyWalk w = {.bound = Max(hint->log_start, hint->end - 1),
					   .end = -1,
					   .undecided = -1};
	int64 segment = hint->newest_segment;
	int64 next = PG_INT64_MAX;

	PushActiveSnapshot(GetLatestSnapshot());
	w.snapshot = GetActiveSnapshot();
	w.is_quiet = w.snapshot->xmin == w.snapshot->xmax &&
		w.snapshot->xmax == ReadNextTransactionId();
	while (next >= 0 && segment >= w.bound / topic->segment_records)
	{
		CHECK_FOR_INTERRUPTS();
		next = mk_log_walk_standby(topic, partition, hint, segment, next, &w);
		if (next >= 0 && next < segment * topic->segment_records)
			segment--;
	}
	PopActiveSnapshot();
	return w.undecided >= 0 ? w.undecided : Max(w.end, hint->end);
}

int64
mk_log_start(const MkTopic *topic, int32 partition)
{
	return mk_fresh_hint(topic, partition)->log_start;
}

int64
mk_log_end(const MkTopic *topic, int32 partition)
{
	MkHint *hint = mk_hint(topic, partition);
	int64 end;
	TransactionId xid;

	/* not one of the future, which an id becomes after two billion others */
	if (TransactionIdIsValid(hint->undecided_xid) &&
		TransactionIdPrecedes(hint->undecided_xid, ReadNextTransactionId()) &&
		TransactionIdIsInProgress(hint->undecided_xid))
		return hint->end;

	if (RecoveryInProgress())
	{
		mk_refresh(topic, partition, hint);
		hint->end = mk_log_standby_end(topic, partition, hint);
		hint->undecided_xid = InvalidTransactionId;
		mk_refresh(topic, partition, hint);
		hint->end = Max(hint->end, hint->log_start);
		return hint->end;
	}

	/*
	 * If the first undecided row's inserter ended during the walk, its offset
	 * may be free again, and lower ones too: look again.
	 */
	do
	{
		CHECK_FOR_INTERRUPTS();
		mk_refresh(topic, partition, hint);
		end = mk_log_walk_back(topic, partition, hint, &xid);
	} while (TransactionIdIsValid(xid) && !TransactionIdIsInProgress(xid));

	mk_refresh(topic, partition, hint);
	hint->end = Max(end, hint->log_start);
	hint->undecided_xid = xid;
	return hint->end;
}

/* ---------------------------------------------------------------------------
 * Reading
 */

/*
 * Hands out the records from start to last; see mk_log_read.  Returns the
 * offset after the last one, start if there was none.
 *
 * Where an offset is missing, the log start may have passed it during the walk:
 * then the walk ends there, and "passed" is set.  The log start moves in a
 * transaction before the rows go, so who misses a row sees that.
 */
static int64
mk_log_walk(const MkTopic *topic, int32 partition, int64 start, int64 last,
			int64 max_records, int64 max_bytes, Snapshot snapshot,
			MkLogSink sink, void *arg, bool *passed)
{
	int64 records = topic->segment_records;
	MkHint *hint = mk_fresh_hint(topic, partition);
	int64 newest = Min(hint->newest_segment, last / records);
	int64 next = start;
	int64 found = 0;
	int64 bytes = 0;
	bool done = false;
	MemoryContext record_context;
	MemoryContext old;

	*passed = false;
	record_context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka record", ALLOCSET_DEFAULT_SIZES);
	for (int64 k = start / records; !done && k <= newest; k++)
	{
		MkScan s;

		if (!mk_log_scan(&s, topic, partition, hint, k, AccessShareLock, start,
						 last))
		{
			int64 after = mk_catalog_next_segment(topic, partition, k + 1);

			mk_log_check_dropped(topic, partition, k);
			k = after < 0 ? newest : after - 1;
			continue;
		}
		while (!done && mk_scan_next(&s, ForwardScanDirection))
		{
			MkLogRecord r;

			if (s.offset > next)
			{
				mk_refresh(topic, partition, hint);
				*passed = hint->log_start > next;
			}
			done = *passed || !mk_scan_is_settled(&s, snapshot);
			if (done)
				break;
			mk_scan_record(&s, &r);
			bytes += r.bytes;
			done = found > 0 && bytes > max_bytes;
			if (done)
				break;
			old = MemoryContextSwitchTo(record_context);
			mk_scan_keep(&r);
			done = !sink(&r, arg);
			MemoryContextSwitchTo(old);
			MemoryContextReset(record_context);
			if (done)
				break;
			found++;
			next = s.offset + 1;
			done = found >= max_records;
		}
		mk_scan_end(&s);
	}
	MemoryContextDelete(record_context);
	return next;
}

bool
mk_log_try_read(const MkTopic *topic, int32 partition, int64 start,
				int64 max_records, int64 max_bytes, Snapshot snapshot,
				MkLogSink sink, void *arg)
{
	MkHint *hint = mk_fresh_hint(topic, partition);
	int64 next;
	bool passed;

	/* who reads on from where he was is not beyond the end: no need to look */
	if (start < hint->log_start ||
		(start > hint->end && start > mk_log_end(topic, partition) &&
		 !RecoveryInProgress()))
		return false;
	next = mk_log_walk(topic, partition, start, PG_INT64_MAX, max_records,
					   max_bytes, snapshot, sink, arg, &passed);
	if (passed && next == start)
		return false;

	/* all below the start was decided, and all that was handed out */
	if (start <= hint->end && next > hint->end)
	{
		hint->end = next;
		hint->undecided_xid = InvalidTransactionId;
	}
	return true;
}

void
mk_log_read(const MkTopic *topic, int32 partition, int64 start,
			int64 max_records, int64 max_bytes, Snapshot snapshot,
			MkLogSink sink, void *arg)
{
	MkHint *hint;

	if (mk_log_try_read(topic, partition, start, max_records, max_bytes,
						snapshot, sink, arg))
		return;
	hint = mk_hint(topic, partition);
	ereport(
		ERROR,
		(errcode(ERRCODE_MK_OFFSET_OUT_OF_RANGE),
		 start < hint->log_start
			 ? errmsg("offset " INT64_FORMAT " is below " INT64_FORMAT
					  ", the log start of topic \"%s\" partition %d",
					  start, hint->log_start, NameStr(topic->name), partition)
			 : errmsg("offset " INT64_FORMAT " is beyond " INT64_FORMAT
					  ", the end of topic \"%s\" partition %d",
					  start, hint->end, NameStr(topic->name), partition),
		 errhint("Go on where your reset policy says; minikafka.offsets() "
				 "gives the log start and the end.")));
}

bool
mk_log_get(const MkTopic *topic, int32 partition, int64 offset, MkLogSink sink,
		   void *arg)
{
	MkHint *hint = mk_fresh_hint(topic, partition);
	bool found;
	MkScan s;

	if (offset < hint->log_start ||
		!mk_log_scan(&s, topic, partition, hint,
					 offset / topic->segment_records, AccessShareLock, offset,
					 offset))
		return false;
	found = mk_scan_next(&s, ForwardScanDirection) &&
		!TransactionIdIsValid(s.undecided);
	if (found)
	{
		MkLogRecord r;

		mk_scan_record(&s, &r);
		(void) sink(&r, arg);
	}
	mk_scan_end(&s);
	return found;
}

typedef struct MkFirst
{
	int64 offset;
	TimestampTz ts;
} MkFirst;

static bool
mk_take_first(const MkLogRecord *record, void *arg)
{
	MkFirst *first = arg;

	first->offset = record->offset;
	first->ts = record->ts;
	return true;
}

bool
mk_log_time(const MkTopic *topic, int32 partition, int64 offset,
			Snapshot snapshot, int64 *found, TimestampTz *ts)
{
	MkFirst first = {.offset = -1};
	bool passed;

	do
	{
		/* where there is no hole, the scan need not read a page of keys */
		if (mk_log_walk(topic, partition, offset, offset, 1, 0, snapshot,
						mk_take_first, &first, &passed) == offset)
			(void) mk_log_walk(topic, partition, offset, PG_INT64_MAX, 1, 0,
							   snapshot, mk_take_first, &first, &passed);
		/* where the log start has passed it, from there on */
		if (passed)
			offset = mk_log_start(topic, partition);
	} while (passed);
	*found = first.offset;
	*ts = first.ts;
	return first.offset >= 0;
}

int64
mk_log_offset_for_time(const MkTopic *topic, int32 partition, TimestampTz ts,
					   Snapshot snapshot)
{
	int64 low = mk_log_start(topic, partition);
	int64 high = mk_log_end(topic, partition);
	int64 result = -1;

	/* times never go back along a partition */
	while (low < high)
	{
		int64 middle = low + (high - low) / 2;
		int64 found;
		TimestampTz found_ts;

		CHECK_FOR_INTERRUPTS();
		if (!mk_log_time(topic, partition, middle, snapshot, &found,
						 &found_ts) ||
			found >= high)
			high = middle;
		else if (found_ts >= ts)
		{
			result = found;
			high = middle;
		}
		else
			low = found + 1;
	}
	return result;
}

int64
mk_log_since(const MkTopic *topic, int32 partition, TimestampTz oldest,
			 int64 end)
{
	int64 log_start = mk_log_start(topic, partition);
	int64 offset;
	TimestampTz ts;
	Snapshot snapshot;

	/* one that sees all below the end */
	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();

	/* most often the first record is young enough */
	if (mk_log_time(topic, partition, log_start, snapshot, &offset, &ts) &&
		ts >= oldest)
		offset = log_start;
	else
		offset = mk_log_offset_for_time(topic, partition, oldest, snapshot);
	PopActiveSnapshot();
	return offset < 0 ? end : Min(offset, end);
}

/* ---------------------------------------------------------------------------
 * Checking
 */

typedef struct MkCheck
{
	const MkTopic *topic;
	int32 partition;
	int64 next; /* the offset to come */
	TimestampTz ts; /* of the record before */
	bool ahead; /* that is one of the future */
	bool compacted; /* so holes are as they should be */
	MkLogProblem report;
	void *arg;
} MkCheck;

static void
mk_check_row(MkCheck *c, MkScan *s, int64 from, int64 to)
{
	TimestampTz ts = DatumGetTimestampTz(mk_scan_column(s, Anum_record_ts));
	int32 partition = DatumGetInt32(mk_scan_column(s, Anum_record_partition));

	if (s->offset < from || s->offset >= to)
	{
		c->report(
			"error", c->partition, s->offset,
			psprintf("offset is in table \"%s\", which holds " INT64_FORMAT
					 " to " INT64_FORMAT,
					 RelationGetRelationName(s->segment.rel), from, to - 1),
			c->arg);
		return;
	}
	if (partition != c->partition)
		c->report("error", c->partition, s->offset,
				  psprintf("record says it is of partition %d", partition),
				  c->arg);
	if (ts < c->ts)
		c->report("error", c->partition, s->offset,
				  "ts is before that of the record before", c->arg);
	else
		c->ts = ts;
	if (!c->ahead && mk_clock_is_ahead(ts))
	{
		c->ahead = true;
		c->report("warning", c->partition, s->offset,
				  "ts is in the future, so that of later records is too",
				  c->arg);
	}
	/* the log start may have passed it meanwhile */
	if (s->offset > c->next && !c->compacted)
		c->next = Max(c->next, mk_log_start(c->topic, c->partition));
	if (s->offset > c->next && !c->compacted)
		c->report(
			"notice", c->partition, c->next,
			psprintf("hole of " INT64_FORMAT " offsets", s->offset - c->next),
			c->arg);
	c->next = s->offset + 1;
}

/*
 * Checks the rows of a segment from c->next on, and those that do not belong
 * into it.  False at the first row that is not decided or not seen.
 */
static bool
mk_check_segment(MkCheck *c, MkHint *hint, int64 segment, Snapshot snapshot)
{
	int64 from = segment * c->topic->segment_records;
	bool settled = true;
	MkScan s;

	if (!mk_log_scan(&s, c->topic, c->partition, hint, segment, AccessShareLock,
					 PG_INT64_MIN, PG_INT64_MAX))
		return true;
	while (settled && mk_scan_next(&s, ForwardScanDirection))
	{
		settled = mk_scan_is_settled(&s, snapshot);
		if (settled && (s.offset >= c->next || s.offset < from))
			mk_check_row(c, &s, from, from + c->topic->segment_records);
	}
	mk_scan_end(&s);
	return settled;
}

bool
mk_log_check(const MkTopic *topic, int32 partition, Snapshot snapshot,
			 MkLogProblem report, void *arg)
{
	MkHint *hint = mk_fresh_hint(topic, partition);
	MkCheck c = {.topic = topic,
				 .partition = partition,
				 .next =
					 hint->log_start, /* rows below it are removed some day */
				 .ts = DT_NOBEGIN,
				 .report = report,
				 .arg = arg};
	int64 *segments;
	int n = mk_catalog_segments(topic, partition, &segments);
	const char *problem = mk_segment_partition_problem(topic, partition);
	List *strangers = mk_segment_strangers(topic, partition);
	ListCell *lc;
	bool sound = true;
	bool go_on = true;
	MkCompacted pass;

	c.compacted =
		topic->compacts || mk_catalog_compacted(topic, partition, &pass);
	if (problem != NULL)
		report("error", partition, -1, problem, arg);
	foreach (lc, strangers)
		report("error", partition, -1, lfirst(lc), arg);
	for (int i = 0; i < n; i++)
	{
		int64 from = segments[i] * topic->segment_records;
		bool missing;

		problem = mk_segment_problem(topic, partition, segments[i], &missing);
		if (missing && mk_log_may_be_dropped(topic, partition, segments[i]))
			continue;
		if (problem != NULL)
		{
			report("error", partition, from, problem, arg);
			sound = false;
			c.next = Max(c.next, from + topic->segment_records);
		}
		else if (go_on)
			go_on = mk_check_segment(&c, hint, segments[i], snapshot);
	}
	if (n == 0)
	{
		report("error", partition, -1, "partition has no segment", arg);
		sound = false;
	}
	return sound;
}
