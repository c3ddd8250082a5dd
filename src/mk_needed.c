/*
 * mk_needed.c
 *		What groups still need of a partition: topic options "keep_unread" and
 *		"delete_read".
 *
 * A group reads a topic if one of its members subscribes to it, or if it has
 * committed an offset in any of its partitions.  Such a group needs a partition
 * from its committed offset on, or from its member's position if that is lower,
 * as after seek(); and if it has committed none there, all of it.  A share group
 * needs each of its topics from its start offset on.  So retention that heeds what
 * groups need never takes a record from a group that is there.
 *
 * Maintenance looks at all groups and then moves the log start.  Meanwhile no
 * group may go back to what is about to be removed, and no group may begin to
 * read.  So maintenance holds mk_lock_needed exclusively from before its last
 * look to the end of its transaction, and a transaction that makes a group need
 * more takes it shared before it writes.  A transaction that only goes forward,
 * as most do, takes no lock for this: it makes the group need less.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "mk_lock.h"
#include "mk_log.h"
#include "mk_membership.h"
#include "mk_needed.h"
#include "mk_progress.h"
#include "mk_share_rows.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * What is needed
 */

/* Whether a member subscribes to the topic. */
static bool
mk_needed_is_subscribed(const MkGroup *g, const MkTopic *topic)
{
	for (int i = 0; i < g->nmembers; i++)
		for (int j = 0; j < g->members[i].ntopics; j++)
			if (g->members[i].removed == MK_REMOVED_NOT &&
				(g->members[i].topic_ids[j] == topic->topic_id ||
				 strcmp(g->members[i].topics[j], NameStr(topic->name)) == 0))
				return true;
	return false;
}

/* Whether the group has committed an offset in any partition of the topic. */
static bool
mk_needed_has_offsets(const MkGroup *g, const MkTopic *topic)
{
	for (int32 i = 0; i < topic->npartitions; i++)
	{
		MkProgress p;

		CHECK_FOR_INTERRUPTS();
		if (mk_progress_get(g->group_no, topic->topic_id, i, NULL, &p) &&
			p.committed >= 0)
			return true;
	}
	return false;
}

/*
 * What a consumer group needs.  An offset beyond the end is one that a restore
 * without the records has left behind (see mk_stale.c): the group is going to
 * begin anew.
 */
static int64
mk_needed_by_consumers(const MkGroup *g, const MkTopic *topic, int32 partition)
{
	const MkAssignment *a =
		mk_membership_assignment(g, topic->topic_id, partition);
	MkProgress p;

	(void) mk_progress_get(g->group_no, topic->topic_id, partition, NULL, &p);
	if (p.committed < 0)
		return mk_needed_is_subscribed(g, topic) ||
				mk_needed_has_offsets(g, topic)
			? 0
			: MK_NEEDED_NOTHING;
	/* the end after the offset: both grow */
	if (p.committed > mk_log_end(topic, partition))
		return 0;
	if (a != NULL && p.member_no == a->owner && p.generation == a->generation &&
		p.position >= 0)
		return Min(p.position, p.committed);
	return p.committed;
}

/* What a share group needs: all from its start offset on. */
static int64
mk_needed_by_share(const MkGroup *g, const MkTopic *topic, int32 partition)
{
	MkShareCheckpoint checkpoint;
	int64 start;
	int64 end;
	bool reads = false;

	for (int i = 0; i < g->ntopics; i++)
		reads |= g->topics[i].topic_id == topic->topic_id;
	if (!reads)
		return MK_NEEDED_NOTHING;
	(void) mk_share_checkpoint_peek(g->group_no, topic->topic_id, partition,
									NULL, &checkpoint);
	start = mk_share_start_offset(g->group_no, topic->topic_id, partition);
	/* the end after the rest: all of them grow */
	end = mk_log_end(topic, partition);
	return checkpoint.high > end || start > end ? 0 : start;
}

int64
mk_needed_from(const MkTopic *topic, int32 partition)
{
	int64 log_start = mk_log_start(topic, partition);
	int64 result = MK_NEEDED_NOTHING;
	ListCell *lc;

	foreach (lc, mk_group_rows_names())
	{
		const MkGroup *g = mk_membership_get(lfirst(lc));
		int64 needed;

		CHECK_FOR_INTERRUPTS();
		if (g == NULL)
			continue;
		needed = g->kind == MK_GROUP_SHARE
			? mk_needed_by_share(g, topic, partition)
			: mk_needed_by_consumers(g, topic, partition);
		result = Min(result, Max(needed, log_start));
		if (result == log_start)
			break;
	}
	return result;
}

/* ---------------------------------------------------------------------------
 * When it grows
 */

/* The topics of which a group is going to need more, while committing. */
static List *mk_growing = NIL;

/* There is one such action in a transaction. */
static uint64
mk_needed_tag(const void *action)
{
	return 0;
}

static bool
mk_needed_same(const void *a, const void *b)
{
	return true;
}

static void
mk_needed_lock(void *action)
{
	ListCell *lc;

	list_sort(mk_growing, list_int_cmp);
	foreach (lc, mk_growing)
		(void) mk_lock_needed(lfirst_int(lc), false, true);
}

/* The list was in the memory of the passes. */
static void
mk_needed_forget(void *action)
{
	mk_growing = NIL;
}

static const MkDeferredKind mk_needed_kind = {
	.rank = MK_RANK_NEEDED,
	.tag = mk_needed_tag,
	.same = mk_needed_same,
	.lock = mk_needed_lock,
	.done = mk_needed_forget,
	.undone = mk_needed_forget,
	.discard = pfree,
};

void
mk_needed_defer(void)
{
	if (mk_xact_find_deferred(&mk_needed_kind, NULL) == NULL)
		mk_xact_defer(&mk_needed_kind,
					  MemoryContextAllocZero(mk_xact_context(), sizeof(int)));
}

void
mk_needed_grows(int32 topic_id)
{
	mk_growing = list_append_unique_int(mk_growing, topic_id);
}
