/*
 * mk_end.c
 *		Looking for the end of a partition: its first undecided offset.
 *
 * The invariants that are referred to here are those of mk_log.c.
 *
 * On a primary, a walk back from the last row goes on until it has met every
 * transaction that has records in flight, or has seen that it has ended, and has
 * reached a decided row; or until the end of the last look, below which all is
 * decided.  The walk asks for the holders of the in-flight lock after it has
 * seen the last row, so that each undecided row up to that is a holder's, or
 * lies at the very end.
 *
 * On a standby no locks tell which transactions have records in flight.  But of
 * the transactions that a snapshot knows to be in progress, none has an older id
 * than its xmin.  A transaction that has an older id, and rows above the records
 * of one that is in progress, was running when that one got its id, before it
 * was sequenced.  There are fewer than MaxBackends of those, and a standby's
 * MaxBackends is no less than the primary's.  So the walk back ends when it has
 * met as many transactions that are older; or at the first one, if none is in
 * progress: see invariant 1.  (Then none is below the snapshot's xmax, nor from
 * there on: xmax goes by the transactions that have ended.)  What the snapshot
 * does not see counts as undecided.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/snapmgr.h"

#include "mk_end.h"
#include "mk_lock.h"

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
