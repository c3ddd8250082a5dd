/*
 * mk_share_change.c
 *		Changes to share groups, made when a transaction commits.
 *
 * Each is made under the group's lock in exclusive mode, and counts the group's
 * version up.  A transaction that answers for records of the group holds the lock
 * in shared mode at its commit, and then looks whether the settings and the eras
 * are those by which it got the records.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "mk_group.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_share_change.h"
#include "mk_share_rows.h"

void
mk_share_change_exists(const MkGroup *group)
{
	mk_group_check_kind(group, MK_GROUP_SHARE);
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("group \"%s\" already exists", group->group_id)));
}

/* ---------------------------------------------------------------------------
 * Beginning
 */

/* An MkDeliverySink that notes that there is one. */
static bool
mk_note_delivery(const MkDelivery *delivery, void *arg)
{
	*(bool *) arg = true;
	return false;
}

/* Whether the group has something written about a partition. */
static bool
mk_has_state(const MkGroup *g, int32 topic_id, int32 partition)
{
	const MkShareKey key = {
		.group_no = g->group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint checkpoint;
	MkShareRuns runs;
	MkShareRun run;
	bool found = mk_share_checkpoint_peek(g->group_no, topic_id, partition,
										  NULL, &checkpoint);

	if (!found)
	{
		mk_share_runs_begin(&runs, &key, 0);
		found = mk_share_runs_next(&runs, &run);
		mk_share_runs_end(&runs);
	}
	if (!found)
		mk_delivery_scan(&key, 0, NULL, mk_note_delivery, &found);
	return found;
}

/*
 * Begins a topic that is new to the group: with "latest", at the end of each
 * partition that there is.  A partition that is made later is read from its start.
 */
static void
mk_begin_topic(const MkGroup *g, const MkTopic *topic)
{
	if (g->share->reset != MK_RESET_LATEST)
		return;
	for (int32 i = 0; i < topic->npartitions; i++)
	{
		MkShareCheckpoint checkpoint = {0};

		CHECK_FOR_INTERRUPTS();
		/* the group had the topic before, and goes on where it stands */
		if (mk_has_state(g, topic->topic_id, i))
			continue;
		checkpoint.high = Max(mk_log_start(topic, i), mk_log_end(topic, i));
		mk_share_checkpoint_put(g->group_no, topic->topic_id, i, &checkpoint);
	}
}

void
mk_share_change_make(const char *group_id, Oid owner, const MkGroup *existing,
					 const MkShareChange *change)
{
	List *topic_ids = NIL;

	Assert(mk_lock_group_is_mine(group_id, true));
	if (existing != NULL)
		mk_share_change_exists(existing);
	for (int i = 0; i < change->ntopics; i++)
	{
		mk_catalog_check_topic(change->topics[i], change->topic_ids[i]);
		topic_ids = lappend_int(topic_ids, change->topic_ids[i]);
	}
	if (change->dead_letter_topic != NULL)
		mk_catalog_check_topic(change->dead_letter_topic,
							   change->settings->dead_letter_topic_id);
	mk_group_rows_make_share(group_id, GetUserNameFromId(owner, false),
							 change->settings, topic_ids);
}

void
mk_share_change_begin(const MkGroup *g, const MkShareChange *change)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	for (int i = 0; i < change->ntopics; i++)
		mk_begin_topic(g, change->topics[i]);
}
