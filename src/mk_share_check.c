/*
 * mk_share_check.c
 *		Checking the rows of share groups, for check_topic().
 *
 * An exception whose record is done by now is no problem, nor are runs below the
 * start offset, or rows of former eras: these are removed later.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "mk_share_check.h"
#include "mk_share_rows.h"
#include "mk_share_settings.h"

/* What is checked, and who is told */
typedef struct MkShareCheck
{
	MkShareKey key;
	Snapshot snapshot;
	MkShareProblem problem;
	void *arg;
} MkShareCheck;

static void
mk_share_report(const MkShareCheck *check, int64 offset, const char *problem)
{
	check->problem(
		offset,
		psprintf("share group number %d %s", check->key.group_no, problem),
		check->arg);
}

/* Rows of an era that has not begun would hold at once when it begins. */
static void
mk_check_eras(const MkShareCheck *check, MkRelation rel, MkRelation index)
{
	const int32 keys[] = {check->key.group_no, check->key.topic_id,
						  check->key.partition};
	List *eras =
		mk_rows_values(rel, index, lengthof(keys), keys, check->snapshot);

	if (eras != NIL && llast_int(eras) > check->key.era)
		mk_share_report(check, -1, "has rows of a later era than the present");
}

static void
mk_check_exceptions(const MkShareCheck *check, const MkShareCheckpoint *c)
{
	for (int i = 0; i < c->nexceptions; i++)
	{
		int64 offset = c->exceptions[i].offset;

		if (offset >= 0 && offset < c->high &&
			(i == 0 || offset > c->exceptions[i - 1].offset))
			continue;
		mk_share_report(check, offset,
						"has a checkpoint whose exceptions are out of order");
		return;
	}
}

static void
mk_check_runs(const MkShareCheck *check, int64 start)
{
	int64 last = -1;
	MkShareRuns runs;
	MkShareRun run;

	mk_share_runs_begin(&runs, &check->key, start);
	while (mk_share_runs_next(&runs, &run))
	{
		CHECK_FOR_INTERRUPTS();
		if (run.first <= last || run.first < 0 || run.first > run.last)
		{
			mk_share_report(check, run.first,
							"has a run that overlaps another, or is none");
			break;
		}
		last = run.last;
	}
	mk_share_runs_end(&runs);
}

void
mk_share_check(int32 group_no, int32 topic_id, int32 partition,
			   Snapshot snapshot, MkShareProblem problem, void *arg)
{
	MkShareCheck check = {.key = {.group_no = group_no,
								  .topic_id = topic_id,
								  .partition = partition},
						  .snapshot = snapshot,
						  .problem = problem,
						  .arg = arg};
	const MkShareSettings *settings = mk_share_settings_get(group_no, snapshot);
	MkShareCheckpoint c;

	if (settings == NULL)
	{
		mk_share_report(&check, -1, "has rows, and does not exist");
		return;
	}
	(void) mk_share_checkpoint_get(group_no, topic_id, partition, snapshot, &c);
	check.key.era = c.era;
	if (c.era > settings->epoch)
		mk_share_report(&check, -1, "has a checkpoint of a later era");
	mk_check_eras(&check, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY);
	mk_check_eras(&check, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY);
	mk_check_exceptions(&check, &c);
	mk_check_runs(&check, c.start);
}
