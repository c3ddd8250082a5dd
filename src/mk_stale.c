/*
 * mk_stale.c
 *		Stale offsets: offsets of groups and producers beyond the tail of the
 *		log.
 *
 * The tail never moves back.  So no offset that a group has committed, and no
 * offset that a producer has received, lies beyond it.  If one does, the
 * records are lost but the offsets are not: a dump was restored without the
 * records, or without the last of them.  Once the log grew past such an
 * offset, the group would skip new records, and a new record of the producer
 * would be taken for a repetition.
 *
 * So stale offsets are reset before the log grows: when the first record is
 * appended, when a member polls (see mk_poll.c), and in the first pass of
 * maintenance.  This looks up each group and each producer, so it happens once
 * for a partition; then the partition is settled.  A partition that was created
 * in this database is settled from the beginning.  The table of settled
 * partitions is not part of a dump.
 *
 * The locks are those that a consumer or producer takes when it commits, and the
 * exclusive one of a share group, but they are taken before all others of the
 * transaction.  If the transaction also changes such a group itself, this violates
 * the order of locks, and a deadlock is possible, once after such a restore.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_compacted.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_membership.h"
#include "mk_producer_rows.h"
#include "mk_progress.h"
#include "mk_redriven.h"
#include "mk_parked_rows.h"
#include "mk_partition.h"
#include "mk_share_cut.h"
#include "mk_share_rows.h"
#include "mk_stale.h"
#include "mk_tail.h"

/* A group or a producer that has stale offsets. */
typedef struct MkStale
{
	uint64 tag; /* of its lock; the locks are taken in this order */
	char *name;
	int32 number; /* group_no or producer_id */
} MkStale;

static int
mk_stale_compare(const ListCell *a, const ListCell *b)
{
	const MkStale *sa = lfirst(a);
	const MkStale *sb = lfirst(b);

	return sa->tag < sb->tag ? -1 : sa->tag > sb->tag;
}

static List *
mk_stale_add(List *list, uint64 tag, char *name, int32 number)
{
	MkStale *s = palloc(sizeof(MkStale));

	s->tag = tag;
	s->name = name;
	s->number = number;
	return lappend(list, s);
}

/* ---------------------------------------------------------------------------
 * Groups
 */

/* Reads the group's offsets; whether one of them is stale. */
static bool
mk_stale_progress(const MkTopic *topic, int32 partition, int32 group_no,
				  int64 tail, MkProgress *p)
{
	return mk_progress_get(group_no, topic->topic_id, partition, NULL, p) &&
		(p->committed > tail || p->position > tail);
}

/* The groups with stale offsets, as a list of MkStale in the order of locks. */
static List *
mk_stale_groups(const MkTopic *topic, int32 partition, int64 tail)
{
	List *stale = NIL;
	ListCell *lc;

	foreach (lc, mk_progress_groups(SnapshotSelf))
	{
		MkProgress progress;
		char *name;

		CHECK_FOR_INTERRUPTS();
		if (!mk_stale_progress(topic, partition, lfirst_int(lc), tail,
							   &progress))
			continue;
		name = mk_group_rows_name(lfirst_int(lc));
		if (name != NULL)
			stale = mk_stale_add(
				stale,
				mk_lock_group_partition_tag(name, topic->topic_id, partition),
				name, lfirst_int(lc));
	}
	list_sort(stale, mk_stale_compare);
	return stale;
}

/*
 * The auto_offset_reset of the member that owns the partition, else of any
 * member, else "earliest".
 */
static MkReset
mk_stale_rule(const MkGroup *group, const MkTopic *topic, int32 partition)
{
	MkAssignment *a =
		mk_membership_assignment(group, topic->topic_id, partition);
	MkMember *m = a != NULL ? mk_membership_member_no(group, a->owner) : NULL;

	for (int i = 0; m == NULL && i < group->nmembers; i++)
		if (group->members[i].removed == MK_REMOVED_NOT)
			m = &group->members[i];
	return m != NULL ? m->reset : MK_RESET_EARLIEST;
}

/* Locks the group, looks again, and resets its offsets if they are stale. */
static bool
mk_stale_reset_group(const MkTopic *topic, int32 partition, const MkStale *s)
{
	MkGroup *group;
	MkProgress p;
	int64 tail;

	mk_lock_group_partition(s->name, topic->topic_id, partition);
	AcceptInvalidationMessages();
	group = mk_membership_get(s->name);
	tail = mk_log_next_offset(topic, partition);
	if (group == NULL || group->group_no != s->number ||
		!mk_stale_progress(topic, partition, s->number, tail, &p))
		return false;
	if (p.position > tail)
		p.position = -1;
	if (p.committed > tail)
	{
		p.committed = -1;
		p.metadata = NULL;
		p.committed_at = mk_clock_now();
		p.committed_by = NULL;
		p.committed_generation = -1;
		switch (mk_stale_rule(group, topic, partition))
		{
			case MK_RESET_EARLIEST:
				p.committed = mk_log_start(topic, partition);
				break;
			case MK_RESET_LATEST:
				p.committed = mk_log_end(topic, partition);
				break;
			case MK_RESET_NONE:
				break;
		}
	}
	mk_progress_put(s->number, topic->topic_id, partition, &p);
	return true;
}

/* ---------------------------------------------------------------------------
 * Share groups: a record that they are done with, or have tried, is lost, and its
 * offset may be given again
 */

/* The share groups with stale offsets, like mk_stale_groups(). */
static List *
mk_stale_shares(const MkTopic *topic, int32 partition, int64 tail)
{
	List *stale = NIL;
	ListCell *lc;

	foreach (lc, mk_share_rows_groups(SnapshotSelf))
	{
		char *name;

		CHECK_FOR_INTERRUPTS();
		if (!mk_share_is_beyond(lfirst_int(lc), topic->topic_id, partition,
								tail))
			continue;
		name = mk_group_rows_name(lfirst_int(lc));
		if (name != NULL)
			stale = mk_stale_add(stale, mk_lock_group_tag(name), name,
								 lfirst_int(lc));
	}
	list_sort(stale, mk_stale_compare);
	return stale;
}

/* Locks the group, looks again, and begins an era without its stale offsets. */
static bool
mk_stale_reset_share(const MkTopic *topic, int32 partition, const MkStale *s)
{
	MkGroup *group;
	int64 tail;

	mk_lock_group(s->name, true);
	AcceptInvalidationMessages();
	group = mk_membership_get_for_update(s->name);
	tail = mk_log_next_offset(topic, partition);
	if (group == NULL || group->group_no != s->number ||
		group->kind != MK_GROUP_SHARE ||
		!mk_share_is_beyond(s->number, topic->topic_id, partition, tail))
		return false;
	group->share->epoch++;
	mk_share_cut(s->number, topic->topic_id, partition, tail,
				 group->share->epoch);
	mk_group_rows_put_share(group);
	mk_group_rows_put_group(group);
	return true;
}

/* ---------------------------------------------------------------------------
 * Producers
 */

/* The producers with stale offsets, like mk_stale_groups(). */
static List *
mk_stale_producers(const MkTopic *topic, int32 partition, int64 tail)
{
	List *stale = NIL;
	ListCell *lc;

	foreach (lc, mk_producer_rows_ids(SnapshotSelf))
	{
		MkProducerRun row;
		char *name;

		CHECK_FOR_INTERRUPTS();
		if (!mk_producer_rows_last(lfirst_int(lc), topic->topic_id, partition,
								   NULL, &row) ||
			mk_producer_rows_last_offset(&row) < tail)
			continue;
		name = mk_producer_rows_name(lfirst_int(lc));
		if (name != NULL)
			stale = mk_stale_add(stale, mk_lock_producer_tag(name), name,
								 lfirst_int(lc));
	}
	list_sort(stale, mk_stale_compare);
	return stale;
}

/* Locks the producer, looks again, and forgets its stale sequences. */
static bool
mk_stale_reset_producer(const MkTopic *topic, int32 partition, const MkStale *s)
{
	MkProducerRun row;
	int64 tail;

	mk_lock_producer(s->name);
	tail = mk_log_next_offset(topic, partition);
	if (!mk_producer_rows_last(s->number, topic->topic_id, partition, NULL,
							   &row) ||
		mk_producer_rows_last_offset(&row) < tail)
		return false;
	mk_producer_rows_forget(s->number, topic->topic_id, partition, tail);
	return true;
}

/* ---------------------------------------------------------------------------
 * All of them
 */

void
mk_stale_forget(const MkTopic *topic, int32 partition, MkForgotten *forgotten)
{
	int32 topic_id = topic->topic_id;
	int64 tail = mk_log_next_offset(topic, partition);
	List *groups = mk_stale_groups(topic, partition, tail);
	List *shares = mk_stale_shares(topic, partition, tail);
	List *producers = mk_stale_producers(topic, partition, tail);
	ListCell *lc;

	memset(forgotten, 0, sizeof(*forgotten));
	forgotten->tail = tail;
	/* records that are lost from the tables are not to be remembered either */
	mk_tail_void(topic->relid, partition);
	mk_lock_topic_in_use(topic_id);
	mk_catalog_check_topic(topic, topic_id);
	mk_compacted_forget(topic, partition, tail);
	mk_redriven_forget_beyond(topic, partition, tail);
	mk_parked_forget_beyond(topic_id, partition, tail);
	foreach (lc, shares)
		if (mk_stale_reset_share(topic, partition, lfirst(lc)))
			forgotten->groups++;
	foreach (lc, groups)
		if (mk_stale_reset_group(topic, partition, lfirst(lc)))
			forgotten->groups++;
	foreach (lc, producers)
		if (mk_stale_reset_producer(topic, partition, lfirst(lc)))
			forgotten->producers++;
	mk_catalog_settle(topic, partition);
}

void
mk_stale_before_append(const MkTopic *topic, int32 partition)
{
	MkForgotten forgotten;

	if (likely(mk_partition_is_settled(topic, partition)))
		return;
	/* whoever has dropped it has its locks */
	mk_catalog_check_topic(topic, topic->topic_id);
	Assert(!mk_lock_sequence_is_mine(topic->topic_id, partition));
	mk_stale_forget(topic, partition, &forgotten);
}
