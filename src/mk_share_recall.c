/*
 * mk_share_recall.c
 *		What a session remembers of a partition of a share group, brought up to date.
 *
 * The state begins at the newest checkpoint that the snapshot sees.  What the
 * session remembers holds for its later snapshots.  For an earlier one it begins
 * anew, and where a newer checkpoint says more than it remembers.
 */
#include "postgres.h"

#include "utils/snapmgr.h"

#include "mk_share_recall.h"
#include "mk_share_rows.h"
#include "mk_share_slot.h"

/*
 * Begins with the newest checkpoint that the snapshot sees.  If the ordering was
 * ever changed, its slots may be those of the former one.
 */
static void
mk_recall_load(MkShareMemory *m, const MkGroup *group, const MkTopic *topic,
			   Snapshot snapshot)
{
	bool reordered = group->share->ordering_epoch > 0;
	MkShareCheckpoint c;

	(void) mk_share_checkpoint_get(m->key.group_no, m->key.topic_id,
								   m->key.partition, snapshot, &c);
	mk_share_memory_begin(m, c.high);
	m->era = c.era;
	m->ordering_epoch = group->share->ordering_epoch;
	m->checkpoint = c.number;
	m->start = c.start;
	for (int i = 0; i < c.nexceptions; i++)
	{
		int64 offset = c.exceptions[i].offset;
		uint32 slot = c.exceptions[i].slot;

		if (reordered &&
			!mk_share_slot_of(group, topic, m->key.partition, offset, &slot))
			continue;
		mk_share_memory_add(m, mk_share_memory_slot(m, slot, true), offset);
	}
	/* not if an error has left out some of them: they would count as done */
	m->valid = true;
}

/*
 * Whether what the session remembers holds for this snapshot and group, and is as
 * good as a checkpoint.  Runs below the start offset of a checkpoint that the
 * snapshot sees may have been removed, so all below it counts as done.
 */
static bool
mk_recall_is_current(MkShareMemory *m, const MkGroup *group, Snapshot snapshot)
{
	MkShareCheckpoint c;

	if (!m->valid || mk_share_memory_is_earlier(m, snapshot) ||
		m->ordering_epoch != group->share->ordering_epoch)
		return false;
	if (mk_share_checkpoint_number(m->key.group_no, m->key.topic_id,
								   m->key.partition, snapshot) == m->checkpoint)
		return true;
	(void) mk_share_checkpoint_peek(m->key.group_no, m->key.topic_id,
									m->key.partition, snapshot, &c);
	if (c.number < m->checkpoint || c.era != m->era || c.high > m->high)
		return false;
	m->checkpoint = c.number;
	mk_share_memory_begin_at(m, c.start);
	return true;
}

MkShareMemory *
mk_share_recall(const MkGroup *group, const MkTopic *topic, int32 partition,
				Snapshot snapshot, bool *loaded)
{
	MkShareMemory *m =
		mk_share_memory_get(group->group_no, topic->topic_id, partition, true);
	dlist_mutable_iter iter;

	*loaded = !mk_recall_is_current(m, group, snapshot);
	if (*loaded)
		mk_recall_load(m, group, topic, snapshot);
	/* an operator may have answered a record that waits: see mk_share_answer.c */
	if (m->version != group->version)
		mk_share_memory_forget_due(m);
	m->version = group->version;
	m->xmax = snapshot->xmax;
	m->xcnt = snapshot->xcnt;
	dlist_foreach_modify (iter, &m->unseen)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, unseen_node, iter.cur);

		if (!XidInMVCCSnapshot(s->unseen, snapshot))
			mk_share_memory_set_seen(m, s);
	}
	return m;
}
