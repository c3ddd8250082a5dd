/*
 * mk_end.c
 *		Looking for the end of a partition: its first offset that is not decided.
 *
 * The invariants named here are those of mk_log.c.
 *
 * No record may come below an end that any session has seen: whoever begins to
 * read there would miss it.  So it is not enough that all rows below the end are
 * decided.  The offsets of rows that are gone get records again, if all rows above
 * them are gone too; and the rows of transactions in progress may go.  What can
 * never go is a committed row, and what lies below one never changes: by
 * invariant 1 all rows below it were inserted before it.  So the end is the offset
 * after the highest decided row that has no undecided row below it; or the log
 * start, below which no record is ever written.  (The last decided row of a
 * partition is never removed but by the log start: see mk_compact.c.  A crash can
 * take away commits without synchronous_commit, as it does for everybody.)
 *
 * A walk goes back from the last row, and keeps the first decided row that it has
 * met since the last undecided one.  It stops where it knows that nothing
 * undecided lies further down; at the latest at the end that this session has seen
 * before.  It is not one look in time: a scan copies a page of the index, and then
 * visits the rows.  That does no harm.  Let D be the row that a walk ends up with.
 * It was decided when it was visited.  All rows below it were in the index before
 * its own index entry was, so the walk has met them all down to where it stopped,
 * each after D, and found each decided, or gone for ever.  What comes or ends
 * meanwhile, above D, can only make the result lower than the end is by then, but
 * not lower than it was when the walk began: what was decided then is so still.
 *
 * Where it stops, on a primary: at a decided row, when all transactions that have
 * records in flight have ended, or have been met, that is one of their rows has:
 * the rest of them lie next to it, by invariant 3.  The holders of the in-flight
 * lock are asked for after the last row X was visited, and so after the page with
 * its entry was read.  Let R be an undecided row that the walk does not reach, and
 * X not one of the same transaction, which would have been met.  Then R was
 * sequenced before X was, so by invariant 2 its transaction has held the in-flight
 * lock since before X was inserted, to its end, and was among those holders: a
 * contradiction.  Asked for before the page is read, they would lack a transaction
 * that was sequenced meanwhile, below another that has committed meanwhile.  (Lock
 * manager and buffers are read under their LWLocks, which are the barriers.)
 *
 * On a standby there are no such locks.  But WAL is replayed in its order, and
 * invariant 1 is one about the order of WAL: a transaction writes its rows, and
 * their index entries, before the next one gets the lock.  So whatever is replayed,
 * if a row is there, all are that lie below it; only which transactions have ended
 * may differ from one record of WAL to the next.  The walk takes a snapshot before
 * it reads anything, and counts a row as undecided if the snapshot does not see it:
 * so all rows are judged as of one place in WAL, though the replay goes on
 * meanwhile.  A transaction that fails is gone from the standby with its abort
 * record, or if the primary has crashed with the checkpoint after its restart, or
 * with the promotion; until then its rows are undecided.  Rows have the id of their
 * top transaction, so that subtransactions, and a snapshot that has no room for
 * them, make no difference.  What is replayed after the snapshot can give the row
 * that an entry of the copied page points to a new content, since a standby's
 * vacuum does not wait for the pins of a page that has been split; the snapshot
 * does not see that row, so it makes the result lower, if anything.
 *
 * Where it stops, on a standby: no transaction that the snapshot knows to be in
 * progress has an id older than the snapshot's xmin.  A transaction that has an
 * older id, and rows above the records of a transaction in progress, was running
 * when the latter got its id, before the latter was sequenced.  There are fewer
 * than MaxBackends such transactions, and a standby's MaxBackends is no less than
 * the primary's.  So the walk back ends when it has met that many older
 * transactions; or at the first row that the snapshot sees, if no transaction is
 * in progress.  (No transaction below the snapshot's xmax is in progress then, nor
 * any from xmax on: xmax follows the transactions that have ended.)
 *
 * A session may see the server promoted between two calls, or in one.  All that it
 * has remembered holds: the committed rows stay, and the others go.
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
	int64 end = -1; /* the offset after D; -1 if there is no D */
	bool any = false;
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
			if (!any)
				n = mk_lock_in_flight_holders(topic->topic_id, partition,
											  &xids);
			any = true;
			if (!TransactionIdIsValid(s.undecided))
			{
				if (end < 0)
					end = s.offset + 1;
				if (n > 0)
					n = mk_forget_ended(xids, n);
				done = n == 0;
				continue;
			}
			end = -1;
			if (!TransactionIdEquals(*undecided_xid, s.undecided))
				n = mk_forget_xid(xids, n, s.undecided);
			*undecided_xid = s.undecided;
		}
		mk_scan_end(&s);
	}
	if (xids != NULL)
		pfree(xids);
	return Max(end, p->end);
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
	int64 end; /* the offset after D, -1 if there is no D */
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

		if (!mk_scan_is_visible(&s, w->snapshot))
		{
			w->end = -1;
			continue;
		}
		if (w->end < 0)
			w->end = s.offset + 1;
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
	MkStandbyWalk w = {.bound = Max(p->log_start, p->end - 1), .end = -1};
	int64 segment = p->newest_segment;
	int64 next = PG_INT64_MAX;

	/*
	 * For a relation without a syscache, this is always a new snapshot; unlike
	 * GetLatestSnapshot(), it may be taken while parallel workers run.
	 */
	w.snapshot = RegisterSnapshot(GetCatalogSnapshot(topic->relid));
	w.is_quiet = w.snapshot->xmin == w.snapshot->xmax &&
		w.snapshot->xmax == ReadNextTransactionId();
	while (next >= 0 && segment >= w.bound / topic->segment_records)
	{
		CHECK_FOR_INTERRUPTS();
		next = mk_end_walk_segment(topic, partition, p, segment, next, &w);
		if (next >= 0 && next < segment * topic->segment_records)
			segment--;
	}
	UnregisterSnapshot(w.snapshot);
	return Max(w.end, p->end);
}
