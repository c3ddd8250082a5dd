/*
 * mk_end.c
 *		Looking for the end of a partition: its first undecided offset.
 *
 * The invariants named here are those of mk_log.c.
 *
 * On a primary, the walk goes back from the last row until it has reached a
 * decided row and, for every transaction that has records in flight, has met
 * one of its rows or seen that it ended.  It also stops at the end that the
 * last look found, below which all is decided.  The walk asks for the holders
 * of the in-flight lock after it has seen the last row, so each undecided row
 * up to that one belongs to a holder, or lies at the very end.
 *
 * On a standby no locks tell which transactions have records in flight.  But
 * no transaction that a snapshot knows to be in progress has an id older than
 * the snapshot's xmin.  A transaction that has an older id, and rows above the
 * records of a transaction in progress, was running when the latter got its
 * id, before the latter was sequenced.  There are fewer than MaxBackends such
 * transactions, and a standby's MaxBackends is no less than the primary's.  So
 * the walk back ends when it has met that many older transactions; or at the
 * first one, if no transaction is in progress: see invariant 1.  (No
 * transaction below the snapshot's xmax is in progress then, nor any from xmax
 * on: xmax follows the transactions that have ended.)  Rows that the snapshot
 * does not see count as undecided.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "mk_end.h"
#include "mk_lock.h"

/* Removes xid from the array; returns the new length. */
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

/* Removes the transactions that have ended; returns the new length. */
static int
mk_forget_ended(TransactionId *xids, int n)
{
	for (int i = n - 1; i >= 0; i--)
		if (!TransactionIdIsInProgress(xids[i]))
			xids[i] = xids[--n];
	return n;
}

int64
mk_end_walk(const MkTopic *topic, int32 partition, MkPartition *p,
			TransactionId *undecided_xid)
{
	int64 bound = Max(p->log_start, p->end - 1);
	int64 end = -1; /* the last row's successor */
	int64 undecided = -1;
	TransactionId *xids = NULL;
	int n = 0;
	bool done = false;

	*undecided_xid = InvalidTransactionId;
	for (int64 segment = p->newest_segment;
		 !done && segment >= bound / topic->segment_records; segment--)
	{
		MkScan s;

		if (!mk_partition_scan(&s, topic, partition, p, segment,
							   AccessShareLock, bound, PG_INT64_MAX))
		{
			mk_partition_check_dropped(topic, partition, segment);
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
	return undecided >= 0 ? undecided : Max(end, p->end);
}

/* The inserter of the row, and whether it is older than all in progress. */
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
 * Returns the lowest offset at or after "from" that transaction xid wrote.
 * The transaction wrote "to", and by invariant 3 all offsets in between.
 */
static int64
mk_end_run_start(const MkTopic *topic, int32 partition, MkPartition *p,
				 int64 segment, Snapshot snapshot, TransactionId xid,
				 int64 from, int64 to)
{
	while (from < to)
	{
		int64 middle = from + (to - from) / 2;
		bool is_old;
		MkScan s;

		if (!mk_partition_scan(&s, topic, partition, p, segment,
							   AccessShareLock, from, middle))
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

/*
 * After this many rows of one transaction, the walk jumps over the rest of
 * them.
 */
#define MK_LONG_RUN 100

/*
 * The state of a walk on a standby.  An inserter is old if it is older than
 * all transactions in progress.
 */
typedef struct MkStandbyWalk
{
	Snapshot snapshot;
	bool is_quiet; /* no transaction was in progress */
	int64 bound; /* all below it is decided */
	int64 end; /* the last row's successor, -1 if none was met */
	int64 undecided; /* the lowest undecided offset, -1 if none was met */
	TransactionId xid; /* the last old inserter met */
	int rows; /* how many of its rows were met in succession */
	int nold; /* how many old inserters were met */
} MkStandbyWalk;

/*
 * Walks back through a segment from "to"; returns the offset to continue from,
 * or -1 at the end.
 */
static int64
mk_end_walk_segment(const MkTopic *topic, int32 partition, MkPartition *p,
					int64 segment, int64 to, MkStandbyWalk *w)
{
	int64 start = segment * topic->segment_records;
	int64 next = start - 1;
	int64 run = -1;
	MkScan s;

	if (!mk_partition_scan(&s, topic, partition, p, segment, AccessShareLock,
						   w->bound, to))
	{
		mk_partition_check_dropped(topic, partition, segment);
		return next;
	}
	while (run < 0 && mk_scan_next(&s, BackwardScanDirection))
	{
		bool is_old;
		TransactionId xid;

		w->end = Max(w->end, s.offset + 1);
		if (!mk_scan_is_visible(&s, w->snapshot))
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
		next = mk_end_run_start(topic, partition, p, segment, w->snapshot,
								w->xid, Max(start, w->bound), run) -
			1;
	return next < w->bound ? -1 : next;
}

int64
mk_end_walk_standby(const MkTopic *topic, int32 partition, MkPartition *p)
{
	MkStandbyWalk w = {
		.bound = Max(p->log_start, p->end - 1), .end = -1, .undecided = -1};
	int64 segment = p->newest_segment;
	int64 next = PG_INT64_MAX;

	PushActiveSnapshot(GetLatestSnapshot());
	w.snapshot = GetActiveSnapshot();
	w.is_quiet = w.snapshot->xmin == w.snapshot->xmax &&
		w.snapshot->xmax == ReadNextTransactionId();
	while (next >= 0 && segment >= w.bound / topic->segment_records)
	{
		CHECK_FOR_INTERRUPTS();
		next = mk_end_walk_segment(topic, partition, p, segment, next, &w);
		if (next >= 0 && next < segment * topic->segment_records)
			segment--;
	}
	PopActiveSnapshot();
	return w.undecided >= 0 ? w.undecided : Max(w.end, p->end);
}
