/*
 * mk_log.c
 *		The log of a partition: its end, reading it, appending to it.
 *
 * The invariants on which everything else stands:
 *
 * 1. Records are appended only by a transaction that is committing and holds
 *	  the partition's sequencing lock.  It starts at the tail, which counts
 *	  the rows of transactions that are still committing, and inserts in the
 *	  order of the offsets, each row with its index entry.  So when any
 *	  session sees a row committed, every row of a lower offset that will ever
 *	  exist has been inserted before it.  This holds on a standby too, since
 *	  WAL is replayed in order.
 *
 * 2. After that the transaction releases the sequencing lock, but holds the
 *	  in-flight lock to its end.  So an undecided row (its inserter is in
 *	  progress) belongs to a holder of the in-flight lock, or to the one
 *	  transaction that is sequencing, whose rows are the last of all.
 *
 * 3. The rows that a transaction writes into one partition form one
 *	  contiguous run of offsets.
 *
 * A reader scans with a dirty snapshot, which sees committed and undecided
 * rows.  It stops at the first undecided row, and at the first row that is not
 * visible to a snapshot taken before the scan began.  An offset without a row,
 * below a row that is returned, is a hole: the higher row was committed when
 * the snapshot was taken, so by invariant 1 every row below it had been
 * inserted when the scan began.  Without the second rule this would not hold:
 * an index scan copies a page and visits the rows afterwards, and the offsets
 * of aborted rows are assigned again, so a scan could miss rows committed
 * meanwhile below others that it returns.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_compat.h"
#include "mk_end.h"
#include "mk_errors.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_partition.h"
#include "mk_scan.h"
#include "mk_segment.h"
#include "mk_tail.h"

/* ---------------------------------------------------------------------------
 * Appending
 */

void
mk_log_append_ahead(const MkTopic *topic, int32 partition, MkAppender *appender)
{
	MkPartition *p = mk_partition_fresh(topic, partition);
	MkKnownTail known;
	int64 guess = p->tail;

	if (mk_tail_guess(topic->relid, partition, &known))
		guess = known.next_offset;
	guess = Max(guess, p->log_start) / topic->segment_records;
	guess = Min(guess, p->newest_segment);
	mk_partition_at(p, guess);
	mk_append_open_ahead(appender, guess, &p->segment_relid);
	p->blank_ahead =
		mk_partition_is_blank(topic, partition, p, guess + 1) ? guess + 1 : 0;
}

void
mk_log_append_start(const MkTopic *topic, int32 partition, MkAppender *appender,
					MkTail *tail, TimestampTz ts)
{
	int64 segment = tail->next_offset / topic->segment_records;

	Assert(mk_lock_sequence_is_mine(topic->topic_id, partition));
	if (mk_append_segment(appender, segment) == NULL)
	{
		if (tail->is_open && segment == tail->segment_number)
		{
			mk_append_take(appender, segment, &tail->segment);
			tail->is_open = false;
		}
		else
			mk_append_close_ahead(appender);
	}
	mk_log_tail_close(tail);
	mk_tail_begin(topic->relid, partition);
	mk_append_start(appender, tail->next_offset, Max(ts, tail->ts));
}

void
mk_log_append_done(const MkTopic *topic, int32 partition,
				   const MkAppender *appender, const MkTail *tail)
{
	MkKnownTail known;

	Assert(mk_lock_sequence_is_mine(topic->topic_id, partition));
	mk_append_last(appender, &known.next_offset, &known.ts, &known.file);
	known.leaf = known.file == tail->file ? tail->leaf : InvalidBlockNumber;
	mk_tail_set(topic->relid, partition, &known);
}

bool
mk_log_reserve(const MkTopic *topic, int32 partition, MkAppender *appender,
			   MkTail *tail, int64 n)
{
	int64 first = tail->next_offset;
	MkPartition *p = mk_partition_get(topic, partition);
	int64 last;

	Assert(n > 0 && partition >= 0 && partition < topic->npartitions);
	Assert(mk_lock_sequence_is_mine(topic->topic_id, partition));
	if (n > PG_INT64_MAX - topic->segment_records - first)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("offsets of topic \"%s\" partition %d are used up",
						NameStr(topic->name), partition)));
	last = (first + n - 1) / topic->segment_records;
	if (p->newest_segment >= last)
		return false;

	/*
	 * Another session may be making it, or may have made it while this one
	 * waited.  A session that locks the whole topic locks the tables above
	 * first, so hold no lock on a segment when those are needed.
	 */
	mk_log_tail_close(tail);
	mk_append_close_ahead(appender);
	mk_lock_maker(topic->topic_id, partition);
	mk_partition_refresh(topic, partition, p);
	if (p->newest_segment >= last)
		return false;

	/*
	 * after delete_records() to the end, the log may continue in a later
	 * segment
	 */
	for (int64 k = Max(p->newest_segment + 1, first / topic->segment_records);
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
	MkPartition *p = mk_partition_get(topic, partition);
	int64 records = topic->segment_records;
	int64 segment = last / records;

	if (last - segment * records < records / 2 || p->newest_segment > segment ||
		(how == MK_MAKE_IN_PASSING && p->not_in_passing == segment + 1) ||
		!mk_lock_maker_try(topic->topic_id, partition))
		return;
	mk_partition_refresh(topic, partition, p);
	if (p->newest_segment != segment)
		return;
	if (!mk_segment_make(topic, partition, segment + 1, how) &&
		how == MK_MAKE_IN_PASSING)
		p->not_in_passing = segment + 1;
}

/* ---------------------------------------------------------------------------
 * Where it starts and ends
 */

int64
mk_log_start(const MkTopic *topic, int32 partition)
{
	return mk_partition_fresh(topic, partition)->log_start;
}

int64
mk_log_end(const MkTopic *topic, int32 partition)
{
	MkPartition *p = mk_partition_get(topic, partition);
	int64 end;
	TransactionId xid;

	/* not if the id is a future one, as it becomes after two billion others */
	if (TransactionIdIsValid(p->undecided_xid) &&
		TransactionIdPrecedes(p->undecided_xid, ReadNextTransactionId()) &&
		TransactionIdIsInProgress(p->undecided_xid))
		return p->end;

	mk_partition_refresh(topic, partition, p);
	if (RecoveryInProgress())
	{
		end = mk_end_walk_standby(topic, partition, p);
		xid = InvalidTransactionId;
	}
	else
		end = mk_end_walk(topic, partition, p, &xid);

	/* no record is ever written below the log start, as it is now */
	mk_partition_refresh(topic, partition, p);
	p->end = Max(end, p->log_start);
	p->undecided_xid = xid;
	return p->end;
}

/* ---------------------------------------------------------------------------
 * Reading
 */

/*
 * Passes the records from start to last to the sink; see mk_log_read.  Returns
 * the offset after the last record that the sink took, or start if there was
 * none.
 *
 * If an offset is missing, the log start may have passed it during the walk:
 * the walk then ends there and sets *passed.  The log start moves in an
 * earlier transaction than the one that removes the rows, so a session that
 * misses a row sees the new log start.
 */
static int64
mk_log_walk(const MkTopic *topic, int32 partition, int64 start, int64 last,
			int64 max_records, int64 max_bytes, bool fetch, Snapshot snapshot,
			MkLogSink sink, void *arg, bool *passed)
{
	int64 records = topic->segment_records;
	MkPartition *p = mk_partition_fresh(topic, partition);
	int64 newest = Min(p->newest_segment, last / records);
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

		if (!mk_partition_scan(&s, topic, partition, p, k, AccessShareLock,
							   start, last))
		{
			int64 after = mk_catalog_next_segment(topic, partition, k + 1);

			mk_partition_check_dropped(topic, partition, k);
			k = after < 0 ? newest : after - 1;
			continue;
		}
		while (!done && mk_scan_next(&s, ForwardScanDirection))
		{
			MkLogRecord r;

			if (s.offset > next)
			{
				mk_partition_refresh(topic, partition, p);
				*passed = p->log_start > next;
			}
			done = *passed || !mk_scan_is_visible(&s, snapshot);
			if (done)
				break;
			mk_scan_record(&s, &r);
			bytes += r.bytes;
			done = found > 0 && bytes > max_bytes;
			if (done)
				break;
			old = MemoryContextSwitchTo(record_context);
			if (fetch)
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

/* mk_log_try_read() and mk_log_try_look(), which differ by "fetch". */
static bool
mk_log_read_from(const MkTopic *topic, int32 partition, int64 start,
				 int64 max_records, int64 max_bytes, bool fetch,
				 Snapshot snapshot, MkLogSink sink, void *arg)
{
	MkPartition *p = mk_partition_fresh(topic, partition);
	int64 next;
	bool passed;

	if (start < p->log_start)
		return false;

	/*
	 * A reader that continues where it was is not beyond the end: no need to
	 * look.  On a standby it may be, but must not read there: what lies between
	 * is still to come.
	 */
	if (start > p->end && start > mk_log_end(topic, partition))
		return RecoveryInProgress();
	next = mk_log_walk(topic, partition, start, PG_INT64_MAX, max_records,
					   max_bytes, fetch, snapshot, sink, arg, &passed);
	if (passed && next == start)
		return false;

	/* all below the start was decided, and so was all that the sink took */
	if (start <= p->end && next > p->end)
	{
		p->end = next;
		p->undecided_xid = InvalidTransactionId;
	}
	return true;
}

bool
mk_log_try_read(const MkTopic *topic, int32 partition, int64 start,
				int64 max_records, int64 max_bytes, Snapshot snapshot,
				MkLogSink sink, void *arg)
{
	return mk_log_read_from(topic, partition, start, max_records, max_bytes,
							true, snapshot, sink, arg);
}

bool
mk_log_try_look(const MkTopic *topic, int32 partition, int64 start,
				Snapshot snapshot, MkLogSink sink, void *arg)
{
	return mk_log_read_from(topic, partition, start, PG_INT64_MAX, PG_INT64_MAX,
							false, snapshot, sink, arg);
}

void
mk_log_read(const MkTopic *topic, int32 partition, int64 start,
			int64 max_records, int64 max_bytes, Snapshot snapshot,
			MkLogSink sink, void *arg)
{
	MkPartition *p;

	if (mk_log_try_read(topic, partition, start, max_records, max_bytes,
						snapshot, sink, arg))
		return;
	p = mk_partition_get(topic, partition);
	ereport(ERROR,
			(errcode(ERRCODE_MK_OFFSET_OUT_OF_RANGE),
			 start < p->log_start
				 ? errmsg("offset " INT64_FORMAT " is below " INT64_FORMAT
						  ", the log start of topic \"%s\" partition %d",
						  start, p->log_start, NameStr(topic->name), partition)
				 : errmsg("offset " INT64_FORMAT " is beyond " INT64_FORMAT
						  ", the end of topic \"%s\" partition %d",
						  start, p->end, NameStr(topic->name), partition),
			 errhint("Go on where your reset policy says; minikafka.offsets() "
					 "gives the log start and the end.")));
}

bool
mk_log_get(const MkTopic *topic, int32 partition, int64 offset, MkLogSink sink,
		   void *arg)
{
	MkPartition *p = mk_partition_fresh(topic, partition);
	bool found;
	MkScan s;

	if (offset < p->log_start ||
		!mk_partition_scan(&s, topic, partition, p,
						   offset / topic->segment_records, AccessShareLock,
						   offset, offset))
		return false;
	found = mk_scan_next(&s, ForwardScanDirection) &&
		!TransactionIdIsValid(s.undecided);
	if (found && sink != NULL)
	{
		MkLogRecord r;

		mk_scan_record(&s, &r);
		(void) sink(&r, arg);
	}
	mk_scan_end(&s);
	return found;
}

/* The first record that a walk finds. */
typedef struct MkFirst
{
	int64 offset;
	TimestampTz ts;
} MkFirst;

/* A sink that keeps the offset and the time of a record. */
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
		/* if there is no hole, the scan need not read a page of keys */
		if (mk_log_walk(topic, partition, offset, offset, 1, 0, false, snapshot,
						mk_take_first, &first, &passed) == offset)
			(void) mk_log_walk(topic, partition, offset, PG_INT64_MAX, 1, 0,
							   false, snapshot, mk_take_first, &first, &passed);
		/* if the log start has passed the offset, look from there on */
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
		if (!mk_log_time(topic, partition, middle, snapshot, &found, &found_ts))
		{
			/* a record that the snapshot does not see is below the result */
			high = middle;
			result = -1;
		}
		else if (found >= high)
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

	/* a snapshot that sees all records below the end */
	PushActiveSnapshot(GetLatestSnapshot());
	snapshot = GetActiveSnapshot();

	/* usually the first record is new enough */
	if (mk_log_time(topic, partition, log_start, snapshot, &offset, &ts) &&
		ts >= oldest)
		offset = log_start;
	else
		offset = mk_log_offset_for_time(topic, partition, oldest, snapshot);
	PopActiveSnapshot();
	return offset < 0 ? end : Min(offset, end);
}
