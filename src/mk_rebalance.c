/*
 * mk_rebalance.c
 *		Giving the partitions of a group's topics to its members.
 *
 * An assignment is identified by its owner and the generation in which the owner
 * got the partition.  A transaction that has polled or committed under an
 * assignment that has changed since is fenced when it commits.  No pair of owner
 * and generation comes again: a member gets a partition only in a rebalance, which
 * begins a generation, or at a handover, in a generation in which another member
 * had the partition; and a member that joins again has a new number.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_lock.h"
#include "mk_log.h"
#include "mk_progress.h"
#include "mk_rebalance.h"

static int
mk_name_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* Whether the member's topics include this one. */
static bool
mk_subscribes_to(const MkMember *member, const char *topic)
{
	return bsearch(&topic, member->topics, member->ntopics, sizeof(char *),
				   mk_name_compare) != NULL;
}

static bool
mk_any_member_subscribes_to(const MkGroup *g, const char *topic)
{
	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT &&
			mk_subscribes_to(&g->members[i], topic))
			return true;
	return false;
}

static int
mk_group_topic_compare(const void *a, const void *b)
{
	int32 ta = ((const MkGroupTopic *) a)->topic_id;
	int32 tb = ((const MkGroupTopic *) b)->topic_id;

	return ta < tb ? -1 : ta > tb;
}

/* Whether a topic of the member is new, or has more partitions than assigned. */
static bool
mk_member_is_due(const MkGroup *g, const MkMember *member)
{
	for (int i = 0; i < member->ntopics; i++)
	{
		MkTopic *topic = mk_catalog_topic_by_name(member->topics[i]);
		MkGroupTopic key;
		MkGroupTopic *assigned;

		if (topic == NULL)
			continue;
		key.topic_id = topic->topic_id;
		/* g->topics is NULL if there are none, which bsearch() does not take */
		assigned = g->ntopics == 0
			? NULL
			: bsearch(&key, g->topics, g->ntopics, sizeof(MkGroupTopic),
					  mk_group_topic_compare);
		if (assigned == NULL || assigned->npartitions != topic->npartitions)
			return true;
	}
	return false;
}

bool
mk_rebalance_is_due(const MkGroup *g, const MkMember *member)
{
	if (g->kind == MK_GROUP_SHARE)
		return false; /* no partition of it is assigned */

	/* a topic that was dropped, or has a name that no member subscribes to */
	for (int i = 0; i < g->ntopics; i++)
	{
		MkTopic *topic = mk_membership_topic(&g->topics[i]);

		if (topic == NULL ||
			!mk_any_member_subscribes_to(g, NameStr(topic->name)))
			return true;
	}

	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT &&
			(member == NULL || member == &g->members[i]) &&
			mk_member_is_due(g, &g->members[i]))
			return true;
	return false;
}

/* ---------------------------------------------------------------------------
 * Subscriptions
 */

/* A topic of a member */
typedef struct MkSubscription
{
	char *topic;
	int32 topic_id;
} MkSubscription;

static int
mk_subscription_compare(const void *a, const void *b)
{
	return strcmp(((const MkSubscription *) a)->topic,
				  ((const MkSubscription *) b)->topic);
}

/* Finds the topic by its number, else by its name; true if either has changed. */
static bool
mk_subscription_follow(MkSubscription *s)
{
	MkTopic *topic = mk_catalog_topic_by_name(s->topic);
	MkTopic *same;

	/* as a rule nothing has changed, and the look-up of a name is fast */
	if (s->topic_id == (topic != NULL ? topic->topic_id : 0))
		return false;
	same = s->topic_id != 0 ? mk_catalog_topic_by_id(s->topic_id) : NULL;
	if (same != NULL)
		s->topic = pstrdup(NameStr(same->name));
	else
		s->topic_id = topic != NULL ? topic->topic_id : 0;
	return true;
}

/* See mk_rebalance_follow; does not write the member. */
static bool
mk_member_follow(MkMember *m)
{
	MkSubscription *s = palloc(Max(m->ntopics, 1) * sizeof(MkSubscription));
	bool changed = false;
	int n = 0;

	for (int i = 0; i < m->ntopics; i++)
	{
		s[i].topic = m->topics[i];
		s[i].topic_id = m->topic_ids[i];
		changed |= mk_subscription_follow(&s[i]);
	}
	if (!changed)
		return false;
	qsort(s, m->ntopics, sizeof(MkSubscription), mk_subscription_compare);
	/* the member may have subscribed to the new name, too */
	for (int i = 0; i < m->ntopics; i++)
		if (i == 0 || mk_subscription_compare(&s[i], &s[n - 1]) != 0)
			s[n++] = s[i];
	/* leave the former arrays alone: they may be a MkJoin's */
	m->topics = palloc(Max(n, 1) * sizeof(char *));
	m->topic_ids = palloc(Max(n, 1) * sizeof(int32));
	m->ntopics = n;
	for (int i = 0; i < n; i++)
	{
		m->topics[i] = s[i].topic;
		m->topic_ids[i] = s[i].topic_id;
	}
	return true;
}

bool
mk_rebalance_follow(MkGroup *g)
{
	bool changed = false;

	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT &&
			mk_member_follow(&g->members[i]))
		{
			mk_group_rows_put_member(g, &g->members[i]);
			changed = true;
		}
	return changed;
}

/* ---------------------------------------------------------------------------
 * Changes in memory
 */

bool
mk_rebalance_is_done_with(const MkGroup *group, const MkAssignment *a,
						  int64 position, int64 committed)
{
	MkTopic *topic;

	if (position <= committed)
		return true;
	topic = mk_membership_topic_by_id(group, a->topic_id);
	/* only a seek() puts a position beyond the end */
	return topic == NULL || position > mk_log_end(topic, a->partition);
}

void
mk_rebalance_hand_over(MkGroup *g, MkAssignment *a)
{
	a->owner = a->target;
	a->generation = g->generation;
	a->handover_at = DT_NOEND;
}

void
mk_rebalance_replace(MkGroup *g, int32 former_no, int32 member_no)
{
	for (int i = 0; i < g->nassignments; i++)
	{
		MkAssignment *a = &g->assignments[i];
		bool moves = a->owner != a->target;

		if (a->target == former_no)
			a->target = member_no;
		if (a->owner != former_no)
			continue;
		if (moves)
			mk_rebalance_hand_over(g, a);
		else
			a->owner = member_no;
	}
}

/* A topic as it was when the rebalance began */
typedef struct MkSharedTopic
{
	const char *name;
	int32 topic_id;
	int32 npartitions;
} MkSharedTopic;

/* What mk_assign() works on */
typedef struct MkSharing
{
	int nmembers;
	MkMember **members; /* in the assignor's order */
	MkAssignorMember *subscribers;
	int ntopics;
	MkSharedTopic *topics; /* in the order of their names */
	int *npartitions;
	int *owners;
} MkSharing;

static int
mk_topic_compare(const void *a, const void *b)
{
	return strcmp(((const MkSharedTopic *) a)->name,
				  ((const MkSharedTopic *) b)->name);
}

/* Finds all topics that exist and have a subscriber. */
static void
mk_sharing_topics(MkSharing *s, const MkGroup *g)
{
	int room = 0;
	int n = 0;

	for (int i = 0; i < g->nmembers; i++)
		room += g->members[i].ntopics;
	s->topics = palloc(Max(room, 1) * sizeof(MkSharedTopic));
	for (int i = 0; i < g->nmembers; i++)
		for (int j = 0; j < g->members[i].ntopics; j++)
			if (g->members[i].removed == MK_REMOVED_NOT)
			{
				s->topics[n].name = g->members[i].topics[j];
				s->topics[n++].topic_id = 0;
			}
	qsort(s->topics, n, sizeof(MkSharedTopic), mk_topic_compare);

	for (int i = 0; i < n; i++)
	{
		MkTopic *topic;

		if (i > 0 && mk_topic_compare(&s->topics[i], &s->topics[i - 1]) == 0)
			continue;
		topic = mk_catalog_topic_by_name(s->topics[i].name);
		if (topic == NULL)
			continue;
		s->topics[i].topic_id = topic->topic_id;
		s->topics[i].npartitions = topic->npartitions;
	}
	for (int i = 0; i < n; i++)
		if (s->topics[i].topic_id != 0)
			s->topics[s->ntopics++] = s->topics[i];
	s->npartitions = palloc(Max(s->ntopics, 1) * sizeof(int));
	for (int i = 0; i < s->ntopics; i++)
		s->npartitions[i] = s->topics[i].npartitions;
}

/* Finds the members, in the assignor's order, and which topics each reads. */
static void
mk_sharing_members(MkSharing *s, MkGroup *g)
{
	s->subscribers = palloc0((g->nmembers + 1) * sizeof(MkAssignorMember));
	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT)
		{
			s->subscribers[s->nmembers].member_id = g->members[i].member_id;
			s->subscribers[s->nmembers].instance_id = g->members[i].instance_id;
			s->nmembers++;
		}
	qsort(s->subscribers, s->nmembers, sizeof(MkAssignorMember),
		  mk_assignor_compare);

	s->members = palloc0((s->nmembers + 1) * sizeof(MkMember *));
	for (int i = 0; i < s->nmembers; i++)
	{
		MkMember *m = mk_membership_member(g, s->subscribers[i].member_id);
		int *topics = palloc(Max(s->ntopics, 1) * sizeof(int));
		int n = 0;

		CHECK_FOR_INTERRUPTS();
		for (int t = 0; t < s->ntopics; t++)
			if (mk_subscribes_to(m, s->topics[t].name))
				topics[n++] = t;
		s->subscribers[i].topics = topics;
		s->subscribers[i].ntopics = n;
		s->members[i] = m;
	}
}

/* Computes s->owners: the member that is to have each partition. */
static void
mk_sharing_assign(MkSharing *s, const MkGroup *g)
{
	int total = 0;
	int k = 0;
	int nsubscriptions = 0;
	int *scratch;

	for (int m = 0; m < s->nmembers; m++)
		nsubscriptions += s->subscribers[m].ntopics;
	scratch =
		palloc(MK_ASSIGNOR_SCRATCH(s->nmembers, s->ntopics, nsubscriptions) *
			   sizeof(int));
	for (int t = 0; t < s->ntopics; t++)
		total += s->npartitions[t];
	s->owners = palloc(Max(total, 1) * sizeof(int));
	for (int t = 0; t < s->ntopics; t++)
		for (int p = 0; p < s->npartitions[t]; p++)
		{
			MkAssignment *a =
				mk_membership_assignment(g, s->topics[t].topic_id, p);

			s->owners[k] = -1;
			for (int m = 0; a != NULL && m < s->nmembers; m++)
				if (s->members[m]->member_no == a->target)
					s->owners[k] = m;
			k++;
		}
	mk_assign(g->assignor, s->subscribers, s->nmembers, s->npartitions,
			  s->ntopics, s->owners, scratch);
}

static int
mk_assignment_compare(const void *a, const void *b)
{
	const MkAssignment *aa = a;
	const MkAssignment *ab = b;

	if (aa->topic_id != ab->topic_id)
		return aa->topic_id < ab->topic_id ? -1 : 1;
	return aa->partition - ab->partition;
}

/* Sets *a to the next assignment of a partition; "before" is NULL for a new one. */
static void
mk_assignment_next(MkGroup *g, const MkSharedTopic *topic, int32 partition,
				   const MkAssignment *before, int32 target, TimestampTz now,
				   MkAssignment *a)
{
	MkMember *owner =
		before != NULL ? mk_membership_member_no(g, before->owner) : NULL;

	if (before != NULL)
		*a = *before;
	else
	{
		memset(a, 0, sizeof(*a));
		a->topic_id = topic->topic_id;
		a->partition = partition;
	}
	a->target = target;
	if (g->protocol == MK_PROTOCOL_EAGER || owner == NULL ||
		!mk_subscribes_to(owner, topic->name))
		mk_rebalance_hand_over(g, a);
	else if (a->owner == a->target)
		a->handover_at = DT_NOEND;
	else if (before->owner == before->target)
		a->handover_at = now + owner->rebalance_timeout;
}

void
mk_rebalance(MkGroup *g, TimestampTz now)
{
	MkSharing s = {0};
	MkAssignment *next;
	int n = 0;
	int k = 0;

	Assert(mk_lock_group_is_mine(g->group_id, true));
	g->generation++;
	mk_sharing_topics(&s, g);
	mk_sharing_members(&s, g);
	mk_sharing_assign(&s, g);

	for (int t = 0; t < s.ntopics; t++)
		n += s.npartitions[t];
	next = palloc(Max(n, 1) * sizeof(MkAssignment));
	/* each topic has a subscriber, so each partition gets an owner */
	for (int t = 0; t < s.ntopics; t++)
		for (int p = 0; p < s.npartitions[t]; p++, k++)
		{
			Assert(s.owners[k] >= 0 && s.owners[k] < s.nmembers);
			mk_assignment_next(
				g, &s.topics[t], p,
				mk_membership_assignment(g, s.topics[t].topic_id, p),
				s.members[s.owners[k]]->member_no, now, &next[k]);
		}
	Assert(k == n);
	qsort(next, n, sizeof(MkAssignment), mk_assignment_compare);
	g->assignments = next;
	g->nassignments = n;
}

/* ---------------------------------------------------------------------------
 * Writing
 */

static bool
mk_list_has_name(List *names, const char *name)
{
	ListCell *lc;

	foreach (lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

/* Commits the end of a partition, for a group that has no offset there yet. */
static void
mk_begin_at_end(const MkGroup *g, const MkAssignment *a, MkTopic *topic,
				TimestampTz now)
{
	MkProgress progress;
	MkMember *m = mk_membership_member_no(g, a->owner);

	if (mk_progress_get(g->group_no, a->topic_id, a->partition, NULL,
						&progress) &&
		progress.committed >= 0)
		return;
	progress.committed = mk_log_end(topic, a->partition);
	progress.committed_at = now;
	progress.committed_by = m->member_id;
	progress.committed_generation = g->generation;
	mk_progress_put(g->group_no, a->topic_id, a->partition, &progress);
}

/* Begins a partition that is new to the group; see mk_rebalance_write. */
static void
mk_begin_partition(const MkGroup *g, const MkAssignment *a, List *topics,
				   TimestampTz now)
{
	MkTopic *topic;

	if (mk_membership_member_no(g, a->owner)->reset != MK_RESET_LATEST)
		return;
	topic = mk_catalog_topic_by_id(a->topic_id);
	if (topic != NULL && !mk_list_has_name(topics, NameStr(topic->name)))
		mk_begin_at_end(g, a, topic, now);
}

void
mk_rebalance_write(MkGroup *g, const MkAssignment *before, int nbefore,
				   List *topics, TimestampTz now)
{
	int i = 0;

	/* both are ordered by topic and partition */
	for (int j = 0; j <= g->nassignments; j++)
	{
		MkAssignment *a = j < g->nassignments ? &g->assignments[j] : NULL;

		CHECK_FOR_INTERRUPTS();
		while (i < nbefore &&
			   (a == NULL || mk_assignment_compare(&before[i], a) < 0))
		{
			MkAssignment gone = before[i++];

			mk_group_rows_delete_assignment(&gone);
		}
		if (a == NULL)
			break;
		if (i >= nbefore || mk_assignment_compare(&before[i], a) != 0)
		{
			mk_group_rows_put_assignment(g, a);
			mk_begin_partition(g, a, topics, now);
			continue;
		}
		if (before[i].owner != a->owner || before[i].target != a->target ||
			before[i].handover_at != a->handover_at ||
			(g->protocol != MK_PROTOCOL_EAGER &&
			 before[i].generation != a->generation))
			mk_group_rows_put_assignment(g, a);
		i++;
	}
}
