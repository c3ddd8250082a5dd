/*
 * mk_group_change.c
 *		Changes to groups and their members, made when a transaction commits.
 *
 * All changes that a transaction asks for in a group, and all that is due there,
 * are made at once, in at most one rebalance: first partitions that members let
 * go of are handed over, then dead members are removed, then come the changes in
 * the order of their calls, and last the rebalance.  What the transaction has
 * polled and committed was checked against the group as it was before, and is
 * written by now.
 *
 * The group in memory is changed first, and each part that has changed is
 * written.  At the end comes the group's own row, with the next version.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_group_change.h"
#include "mk_heartbeat.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_progress.h"
#include "mk_rebalance.h"
#include "mk_role.h"
#include "mk_share_rows.h"
#include "mk_wakeup.h"

/* How long, and for how many members, it is remembered why they were removed. */
#define MK_REMEMBER_TIME    USECS_PER_HOUR
#define MK_REMEMBER_MEMBERS 100

/* How many changes the reason for a rebalance names. */
#define MK_WHY_CHANGES 5

/* A group that is being changed. */
typedef struct MkUpdate
{
	const MkGroupChanges *changes;
	MkGroup *group;
	TimestampTz now;
	bool changed; /* something of it */
	bool rebalance;
	StringInfoData why; /* it is rebalanced: a part of a sentence */
	int nwhy;
} MkUpdate;

bool
mk_group_change_lets_go(const MkGroupChange *change)
{
	return change->kind == MK_CHANGE_LET_GO ||
		change->kind == MK_CHANGE_LET_GO_COMMITTED;
}

const MkGroupChange *
mk_group_change_creation(List *changes)
{
	ListCell *lc;

	foreach (lc, changes)
		if (((const MkGroupChange *) lfirst(lc))->kind == MK_CHANGE_CREATE)
			return lfirst(lc);
	return NULL;
}

/* Whether this member has the partition and is to lose it. */
static bool
mk_is_moving(const MkAssignment *a, int32 member_no)
{
	return a->owner == member_no && a->target != member_no;
}

bool
mk_group_change_is_any(const MkGroup *g, List *changes)
{
	ListCell *lc;

	if (g == NULL)
		return true;
	foreach (lc, changes)
	{
		const MkGroupChange *change = lfirst(lc);

		if (!mk_group_change_lets_go(change))
			return true;
		for (int i = 0; i < g->nassignments; i++)
			if (mk_is_moving(&g->assignments[i], change->member_no))
				return true;
	}
	return false;
}

/* ---------------------------------------------------------------------------
 * What is due
 */

/* Asks for a rebalance, and notes why. */
static void
mk_update_why(MkUpdate *u, const char *what, const char *member_id)
{
	u->rebalance = true;
	if (u->nwhy++ < MK_WHY_CHANGES)
		appendStringInfo(&u->why, "%smember \"%s\" %s", u->nwhy > 1 ? ", " : "",
						 member_id, what);
	else if (u->nwhy == MK_WHY_CHANGES + 1)
		appendStringInfoString(&u->why, ", and others");
}

/* The incarnation of a member that bears this number has ended. */
static void
mk_update_gone(MkUpdate *u, int32 member_no)
{
	mk_heartbeat_delete(member_no);
	u->changed = true;
}

/* Removes a member.  Its row stays for a while: see mk_update_forget. */
static void
mk_update_remove(MkUpdate *u, MkMember *m, MkRemoved why)
{
	mk_update_gone(u, m->member_no);
	m->removed = why;
	m->removed_at = u->now;
	mk_group_rows_put_member(u->group, m);
	mk_update_why(u,
				  why == MK_REMOVED_LEFT ? "left"
					  : why == MK_REMOVED_SESSION_TIMEOUT
					  ? "exceeded its session timeout"
					  : "exceeded its max poll interval",
				  m->member_id);
}

static void
mk_update_hand_over(MkUpdate *u, MkAssignment *a)
{
	mk_rebalance_hand_over(u->group, a);
	u->changed = true;
}

/*
 * Hands a partition over that is to move, if this is its owner and is done with
 * it.
 */
static void
mk_update_release(MkUpdate *u, MkAssignment *a, int32 member_no)
{
	MkProgress p;

	if (!mk_is_moving(a, member_no))
		return;
	mk_progress_get(u->group->group_no, a->topic_id, a->partition, NULL, &p);
	if (p.member_no != member_no || p.generation != a->generation ||
		mk_rebalance_is_done_with(u->group, a, p.position, p.committed))
		mk_update_hand_over(u, a);
}

/* Makes a change that lets go of partitions. */
static void
mk_update_let_go(MkUpdate *u, const MkGroupChange *change)
{
	MkGroup *g = u->group;
	ListCell *lc;

	if (change->kind == MK_CHANGE_LET_GO)
		for (int i = 0; i < g->nassignments; i++)
			mk_update_release(u, &g->assignments[i], change->member_no);
	if (change->kind == MK_CHANGE_LET_GO_COMMITTED)
		foreach (lc, u->changes->committed)
		{
			const MkGroupPartition *p = lfirst(lc);
			MkAssignment *a =
				mk_membership_assignment(g, p->topic_id, p->partition);

			if (a != NULL)
				mk_update_release(u, a, change->member_no);
		}
}

/*
 * Removes members whose timeouts have passed, except those that made calls in
 * this transaction.  Hands over partitions whose time has come.
 */
static void
mk_update_expire(MkUpdate *u)
{
	MkGroup *g = u->group;

	for (int i = 0; i < g->nmembers; i++)
	{
		MkMember *m = &g->members[i];
		MkRemoved why;

		if (m->removed != MK_REMOVED_NOT ||
			list_member_int(u->changes->callers, m->member_no))
			continue;
		why = mk_liveness_look(m, u->now);
		if (why == MK_REMOVED_MAX_POLL_INTERVAL)
			mk_liveness_halve(g, m, u->now);
		if (why != MK_REMOVED_NOT)
			mk_update_remove(u, m, why);
	}
	for (int i = 0; i < g->nassignments; i++)
		if (g->assignments[i].handover_at <= u->now)
			mk_update_hand_over(u, &g->assignments[i]);
}

/* ---------------------------------------------------------------------------
 * Joining and leaving
 */

/* MK023 if the joiner has another value of a setting than the group. */
static void
mk_check_setting(const char *group_id, const char *setting, bool has,
				 const char *value, const char *groups)
{
	if (has && strcmp(value, groups) != 0)
		ereport(ERROR,
				(mk_errcode(ERRCODE_MK_INCONSISTENT_GROUP_PROTOCOL),
				 errmsg("group \"%s\" has %s \"%s\", not \"%s\"", group_id,
						setting, groups, value),
				 errhint("Join with the group's settings; the first member of "
						 "an empty group chooses them.")));
}

static void
mk_join_check_settings(const MkJoin *join, const MkGroup *g)
{
	mk_check_setting(join->group_id, "assignor", join->has_assignor,
					 mk_group_setting_assignor(join->assignor),
					 mk_group_setting_assignor(g->assignor));
	mk_check_setting(join->group_id, "protocol", join->has_protocol,
					 mk_group_setting_protocol(join->protocol),
					 mk_group_setting_protocol(g->protocol));
}

/* The member that has this instance id, NULL if none has. */
static MkMember *
mk_instance_holder(const MkGroup *g, const char *instance_id)
{
	for (int i = 0; instance_id != NULL && i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT &&
			g->members[i].instance_id != NULL &&
			strcmp(g->members[i].instance_id, instance_id) == 0)
			return &g->members[i];
	return NULL;
}

/*
 * The member whose place the joiner takes: that which has its instance id, else
 * that which has its member id; NULL if there is none.  MK082 if its member id
 * was fenced under this instance id, or belongs to another member.
 */
static MkMember *
mk_join_former(const MkJoin *join, const MkGroup *g)
{
	MkMember *holder = mk_instance_holder(g, join->instance_id);
	MkMember *same = mk_membership_any_member(g, join->member_id);

	if (same != NULL && join->instance_id != NULL && same != holder &&
		(same->removed == MK_REMOVED_FENCED
			 ? strcmp(same->instance_id, join->instance_id) == 0
			 : same->removed == MK_REMOVED_NOT && holder != NULL))
		ereport(ERROR,
				(mk_errcode(ERRCODE_MK_FENCED_INSTANCE_ID),
				 errmsg("member \"%s\" of group \"%s\" cannot join with "
						"instance id \"%s\"",
						join->member_id, join->group_id, join->instance_id),
				 errdetail("The instance id belongs to another member."),
				 errhint("Stop this process, or join with another member "
						 "id.")));
	if (holder != NULL)
		return holder;
	return same != NULL && same->removed == MK_REMOVED_NOT ? same : NULL;
}

void
mk_group_change_check_join(const MkJoin *join, const MkGroup *group)
{
	mk_join_check_settings(join, group);
	(void) mk_join_former(join, group);
}

static bool
mk_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether the joiner takes the place of a former member without a rebalance. */
static bool
mk_join_is_unchanged(const MkJoin *join, const MkMember *former)
{
	if (former == NULL || former->ntopics != join->ntopics ||
		!mk_same_text(former->instance_id, join->instance_id))
		return false;
	for (int i = 0; i < join->ntopics; i++)
		if (strcmp(former->topics[i], join->topics[i]) != 0)
			return false;
	return true;
}

/* The group's entry for a member id: also a removed member's, or a new one. */
static MkMember *
mk_update_entry(MkGroup *g, const char *member_id)
{
	MkMember *m = mk_membership_any_member(g, member_id);

	if (m == NULL)
	{
		MkMember *members = palloc((g->nmembers + 1) * sizeof(MkMember));

		if (g->nmembers > 0)
			memcpy(members, g->members, g->nmembers * sizeof(MkMember));
		g->members = members;
		m = &members[g->nmembers++];
		memset(m, 0, sizeof(*m));
		ItemPointerSetInvalid(&m->tid);
	}
	return m;
}

/*
 * A member joins: the first one sets the group's settings; a former incarnation
 * ends; the new one gets a number, a row and a heartbeat.
 */
static void
mk_update_join(MkUpdate *u, const MkJoin *join)
{
	MkGroup *g = u->group;
	bool first = true;
	MkMember *former;
	MkMember *m;
	int32 former_no;
	int32 member_no = mk_number_next(MK_REL_MEMBER_NO_SEQ);

	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed == MK_REMOVED_NOT)
			first = false;
	if (!first)
		mk_join_check_settings(join, g);
	else
	{
		g->has_settings = true;
		g->assignor = join->has_assignor ? join->assignor : MK_ASSIGNOR_STICKY;
		g->protocol =
			join->has_protocol ? join->protocol : MK_PROTOCOL_COOPERATIVE;
	}

	former = mk_join_former(join, g);
	former_no = former != NULL ? former->member_no : 0;
	if (!mk_join_is_unchanged(join, former))
		mk_update_why(u, "joined", join->member_id);
	if (former != NULL)
	{
		mk_update_gone(u, former_no);
		mk_rebalance_replace(g, former_no, member_no);
		if (strcmp(former->member_id, join->member_id) != 0)
		{
			former->removed = MK_REMOVED_FENCED;
			former->removed_at = u->now;
			mk_group_rows_put_member(g, former);
		}
	}

	m = mk_update_entry(g, join->member_id);
	m->member_no = member_no;
	m->member_id = join->member_id;
	m->instance_id = join->instance_id;
	m->ntopics = join->ntopics;
	m->topics = join->topics;
	m->topic_ids = palloc0(Max(m->ntopics, 1) * sizeof(int32));
	for (int i = 0; i < m->ntopics; i++)
	{
		MkTopic *topic = mk_catalog_topic_by_name(m->topics[i]);

		m->topic_ids[i] = topic != NULL ? topic->topic_id : 0;
	}
	m->reset = join->reset;
	m->session_timeout = join->session_timeout;
	m->max_poll_interval = join->max_poll_interval;
	m->rebalance_timeout = join->rebalance_timeout;
	m->removed = MK_REMOVED_NOT;
	m->seen = m->polled = m->joined_at = u->now;
	mk_group_rows_put_member(g, m);
	mk_heartbeat_put(member_no, true, u->now);
	u->changed = true;
}

/* MK022 if the member has joined again since the call. */
static void
mk_update_leave(MkUpdate *u, const MkGroupChange *change)
{
	MkMember *m = mk_membership_member_no(u->group, change->member_no);

	if (m != NULL)
		mk_update_remove(u, m, MK_REMOVED_LEFT);
	else if (mk_membership_member(u->group, change->name) != NULL)
		mk_group_fence(
			u->changes->group_id,
			psprintf("Member \"%s\" has joined again.", change->name));
}

/* ---------------------------------------------------------------------------
 * All changes
 */

/* For qsort(): later times come first. */
static int
mk_newest_first(const void *a, const void *b)
{
	TimestampTz ta = *(const TimestampTz *) a;
	TimestampTz tb = *(const TimestampTz *) b;

	return ta > tb ? -1 : ta < tb;
}

/* Deletes members that were removed long ago, or before many others. */
static void
mk_update_forget(MkUpdate *u)
{
	MkGroup *g = u->group;
	TimestampTz since = u->now - MK_REMEMBER_TIME;
	TimestampTz *times = palloc(Max(g->nmembers, 1) * sizeof(TimestampTz));
	int n = 0;

	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed != MK_REMOVED_NOT)
			times[n++] = g->members[i].removed_at;
	qsort(times, n, sizeof(TimestampTz), mk_newest_first);
	if (n > MK_REMEMBER_MEMBERS)
		since = Max(since, times[MK_REMEMBER_MEMBERS - 1]);
	for (int i = 0; i < g->nmembers; i++)
		if (g->members[i].removed != MK_REMOVED_NOT &&
			g->members[i].removed_at < since)
			mk_group_rows_delete_member(&g->members[i]);
}

/* The topics that the members subscribe to: a list of names. */
static List *
mk_subscribed_topics(const MkGroup *g)
{
	List *topics = NIL;

	for (int i = 0; i < g->nmembers; i++)
		for (int j = 0; j < g->members[i].ntopics; j++)
			if (g->members[i].removed == MK_REMOVED_NOT)
				topics = lappend(topics, g->members[i].topics[j]);
	return topics;
}

/* Makes a change.  True if the group is deleted now. */
static bool
mk_update_make(MkUpdate *u, const MkGroupChange *change)
{
	ListCell *lc;

	switch (change->kind)
	{
		case MK_CHANGE_CHECK:
		case MK_CHANGE_LET_GO:
		case MK_CHANGE_LET_GO_COMMITTED:
			break;
		case MK_CHANGE_JOIN:
			mk_group_check_kind(u->group, MK_GROUP_CONSUMER);
			mk_update_join(u, change->join);
			break;
		case MK_CHANGE_LEAVE:
			mk_update_leave(u, change);
			break;
		case MK_CHANGE_GRANT:
		case MK_CHANGE_REVOKE:
			mk_group_check_right(u->group, change->user, true);
			mk_group_rows_grant(u->group, change->name,
								change->kind == MK_CHANGE_GRANT);
			u->changed = true;
			break;
		case MK_CHANGE_OWNER:
			mk_role_check_give(NameStr(u->group->owner), change->name,
							   change->user, "group", u->changes->group_id);
			namestrcpy(&u->group->owner, change->name);
			u->changed = true;
			break;
		case MK_CHANGE_CREATE:
			/* mk_group_use.c has made it */
			mk_share_change_begin(u->group, change->share);
			u->changed = true;
			break;
		case MK_CHANGE_OPTION:
			mk_group_check_right(u->group, change->user, true);
			mk_group_check_kind(u->group, MK_GROUP_SHARE);
			mk_share_change_option(u->group, change->share);
			u->changed = true;
			break;
		case MK_CHANGE_RESET:
			mk_group_check_kind(u->group, MK_GROUP_SHARE);
			mk_share_change_reset(u->group, change->share);
			u->changed = true;
			break;
		case MK_CHANGE_PAUSE:
			mk_group_check_kind(u->group, MK_GROUP_SHARE);
			mk_share_change_pause(u->group, change->name);
			u->changed = true;
			break;
		case MK_CHANGE_READY:
			u->changed = true;
			break;
		case MK_CHANGE_DELETE:
			mk_group_check_right(u->group, change->user, true);
			for (int i = 0; i < u->group->nmembers; i++)
				if (u->group->members[i].removed == MK_REMOVED_NOT)
					mk_group_not_empty(u->changes->group_id);
			/* locked at the call, except for those that came since then */
			foreach (lc, mk_group_topics(u->group))
				mk_lock_topic_in_use(lfirst_int(lc));
			mk_progress_delete_group(u->group->group_no);
			mk_share_rows_delete_group(u->group->group_no);
			mk_group_rows_delete(u->group);
			return true;
	}
	return false;
}

/* Whether the member subscribes to the topic. */
static bool
mk_member_reads(const MkMember *m, int32 topic_id)
{
	for (int i = 0; i < m->ntopics; i++)
		if (m->topic_ids[i] == topic_id)
			return true;
	return false;
}

/* Tells the session whose member has joined that it has nothing to read. */
static void
mk_update_tell(const MkUpdate *u, const MkGroupChange *change)
{
	const MkGroup *g = u->group;
	const MkMember *m;
	int npartitions = 0;

	if (change->kind != MK_CHANGE_JOIN)
		return;
	m = mk_membership_member(g, change->join->member_id);
	for (int i = 0; i < g->nassignments; i++)
		if (m == NULL || g->assignments[i].target == m->member_no)
			return;
		else if (mk_member_reads(m, g->assignments[i].topic_id))
			npartitions++;
	if (npartitions > 0)
		ereport(NOTICE,
				(errmsg("member \"%s\" of group \"%s\" gets no partition",
						m->member_id, g->group_id),
				 errdetail_plural("Its topics have %d partition, which "
								  "another member has.",
								  "Its topics have %d partitions, which "
								  "other members have.",
								  npartitions, npartitions),
				 errhint("It gets partitions when other members leave, or "
						 "after minikafka.add_partitions().")));
}

void
mk_group_change_apply(const MkGroupChanges *changes)
{
	MkUpdate u = {.changes = changes, .now = mk_clock_now()};
	bool due;
	MkAssignment *before;
	int nbefore;
	List *topics;
	ListCell *lc;

	Assert(changes->changes != NIL);
	u.group = mk_membership_get_for_update(changes->group_id);
	if (u.group == NULL)
	{
		foreach (lc, changes->changes)
			if (((const MkGroupChange *) lfirst(lc))->kind >= MK_CHANGE_JOIN)
				mk_group_not_found(changes->group_id);
		return;
	}
	nbefore = u.group->nassignments;
	before = palloc(Max(nbefore, 1) * sizeof(MkAssignment));
	if (nbefore > 0)
		memcpy(before, u.group->assignments, nbefore * sizeof(MkAssignment));

	initStringInfo(&u.why);
	u.changed = mk_rebalance_follow(u.group);
	foreach (lc, changes->changes)
		mk_update_let_go(&u, lfirst(lc));
	mk_update_expire(&u);
	topics = mk_subscribed_topics(u.group);
	foreach (lc, changes->changes)
		if (mk_update_make(&u, lfirst(lc)))
			return;
	due = mk_rebalance_is_due(u.group, NULL);
	if (u.rebalance || due)
	{
		u.changed = true;
		if (due && !u.rebalance)
			appendStringInfoString(&u.why, "topics or partitions changed");
		mk_rebalance(u.group, u.now);
		u.group->rebalanced_at = u.now;
		u.group->rebalanced_why = u.why.data;
	}
	if (!u.changed)
		return;
	mk_rebalance_write(u.group, before, nbefore, topics, u.now);
	mk_update_forget(&u);
	mk_group_rows_put_group(u.group);
	foreach (lc, changes->changes)
		mk_update_tell(&u, lfirst(lc));
	mk_wakeup_at_end(mk_wakeup_group(u.group->group_no));
}
