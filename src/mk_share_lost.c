/*
 * mk_share_lost.c
 *		Records that were removed before a share group was done with them.
 *
 * What is gone counts as done: a walk passes over it, and the next checkpoint does not
 * list it.  So a checkpoint keeps their number, which is the former one and what only
 * the former checkpoint still tells.  A record is counted once, and for as long as the
 * era lasts.  A hole counts too, since nothing tells any more what it was.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "mk_share_lost.h"

/* An MkDeliverySink that keeps the first offset. */
static bool
mk_lost_keep(const MkDelivery *delivery, void *arg)
{
	*(int64 *) arg = delivery->offset;
	return false;
}

/*
 * The first offset about which there is a row; PG_INT64_MAX if there is none.  Without
 * a checkpoint the group has begun at the log start of that time, which only its first
 * rows tell.
 */
static int64
mk_lost_first(const MkShareKey *key)
{
	int64 first = PG_INT64_MAX;
	MkShareRuns runs;
	MkShareRun run;

	mk_delivery_scan(key, 0, NULL, mk_lost_keep, &first);
	mk_share_runs_begin(&runs, key, 0);
	if (mk_share_runs_next(&runs, &run))
		first = Min(first, run.first);
	mk_share_runs_end(&runs);
	return first;
}

/* The number of offsets from one to another that no run has. */
static int64
mk_lost_between(const MkShareKey *key, int64 from, int64 to)
{
	int64 lost = Max(to - from, 0);
	MkShareRuns runs;
	MkShareRun run;

	if (lost == 0)
		return 0;
	mk_share_runs_begin(&runs, key, from);
	while (mk_share_runs_next(&runs, &run) && run.first < to)
	{
		CHECK_FOR_INTERRUPTS();
		lost -= Min(run.last + 1, to) - Max(run.first, from);
	}
	mk_share_runs_end(&runs);
	return lost;
}

int64
mk_share_lost(const MkShareKey *key, const MkShareCheckpoint *checkpoint,
			  int64 log_start)
{
	bool none = checkpoint->number == 0 && checkpoint->high == 0;
	int64 lost = checkpoint->lost;
	MkShareRun run;

	if (log_start == 0)
		return lost;
	for (int i = 0; i < checkpoint->nexceptions &&
		 checkpoint->exceptions[i].offset < log_start;
		 i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!mk_share_run_find(key, checkpoint->exceptions[i].offset, &run))
			lost++;
	}
	return lost +
		mk_lost_between(key, none ? mk_lost_first(key) : checkpoint->high,
						log_start);
}
