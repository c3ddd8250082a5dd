/*
 * mk_stale.c
 *		What groups and producers have noted about records that the log does not
 *		have: offsets beyond its tail.
 *
 * No offset that a group has committed, and none that a producer was told, lies
 * beyond the tail, since that never goes back.  Where one does, the records are
 * lost while the notes are not: a dump was restored without the records, or
 * without the last of them.  Were the notes left as they are, then as soon as the
 * log has grown past them a group would skip new records, and a new record be
 * taken for a repeat.
 *
 * So they go before the log grows: when a record is appended to a log that has
 * none, when a member polls (see mk_poll.c), and in a pass of maintenance over a
 * partition whose newest segment has no record.  That takes a look for each group
 * and producer, so it is done once for a partition, and not for one that was made
 * here: what is settled is noted where no dump takes it along.
 *
 * The locks are those of a committing consumer or producer, taken before all
 * others of the transaction.  That is out of their order where the transaction
 * also changes such a group itself: a deadlock is possible then, once after such a
 * restore.
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
#include "mk_stale.h"

/* A group or a producer that has such notes. */
typedef struct MkStale
{
	uint64 tag; /* of its lock */
	char *name;
	int32 number;
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

static bool
mk_stale_progress(const MkTopic *topic, int32 partition, int32 group_no,
				  int64 tail, MkProgress *p)
{
	return mk_progress_get(group_no, topic->topic_id, partition, NULL, p) &&
		(p->committed > tail || p->position > tail);
}

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

/* Whose rule counts: the owner's of the partition, else any member's. */
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
 * Producers
 */

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
 * Both
 */

void
mk_stale_forget(const MkTopic *topic, int32 partition, MkForgotten *forgotten)
{
	int32 topic_id = topic->topic_id;
	int64 tail = mk_log_next_offset(topic, partition);
	List *groups = mk_stale_groups(topic, partition, tail);
	List *producers = mk_stale_producers(topic, partition, tail);
	ListCell *lc;

	memset(forgotten, 0, sizeof(*forgotten));
	forgotten->tail = tail;
	mk_lock_topic_in_use(topic_id);
	mk_catalog_check_topic(topic, topic_id);
	mk_compacted_forget(topic, partition, tail);
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

	if (unlikely(mk_log_is_empty(topic, partition)) &&
		!mk_catalog_is_settled(topic, partition))
		mk_stale_forget(topic, partition, &forgotten);
}
