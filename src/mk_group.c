/*
 * mk_group.c
 *		Groups: who may use them, their members, and changes to both.
 *
 * At the call everything is only noted, and no lock is taken that anybody waits
 * for.  When the transaction commits, it takes the lock of each group that it
 * has used, to its end: in a shared mode if it leaves the group's members and
 * their partitions as they are; exclusively if it changes them.  So whoever
 * reads them under the lock can rely on them, and who gets a partition finds
 * what the one before has committed.
 *
 * A member whose time is over, a partition that is to be handed over and a
 * topic that was made are noticed by the calls of the members.  That a change
 * is due is noted, and it is made when that transaction commits; until then the
 * call goes on with what there is.
 *
 * A member counts as alive as long as a transaction that has polled for it is
 * in progress: it holds the member's lock (shared, nobody waits for it), up to
 * the max poll interval.  That it was heard of, others cannot see in the tables
 * before that transaction has committed, and never if it rolls back; so where
 * what they see is older than a tenth of the timeouts, the session gives a sign
 * of life besides (mk_sign.c).
 *
 * Members that are removed because they did not poll in time, though they were
 * alive, had too much to do: from then on polls of the group return half as many
 * records, for a while.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_guc.h"
#include "mk_heartbeat.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_progress.h"
#include "mk_rebalance.h"
#include "mk_role.h"
#include "mk_sign.h"
#include "mk_topic.h"
#include "mk_undone.h"
#include "mk_wakeup.h"
#include "mk_xact.h"

/* Heartbeats are written when they are older than this part of a timeout. */
#define MK_HEARTBEAT_FRACTION 10

/* How long it is remembered why a member was removed, and of how many. */
#define MK_REMEMBER_TIME    USECS_PER_HOUR
#define MK_REMEMBER_MEMBERS 100

/*
 * What polls return is halved so often at most, and doubled again after so many
 * max poll intervals.
 */
#define MK_MAX_HALVED     30
#define MK_HALVED_PERIODS 10

void
mk_group_check_id(const char *what, const char *id)
{
	size_t length = strlen(id);

	if (length == strspn(id, " \t\r\n") || length > MK_MEMBERSHIP_MAX_ID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid %s \"%s\"", what, id),
				 errhint("It must have 1 to %d bytes, not all blank.",
						 MK_MEMBERSHIP_MAX_ID)));
}

/* ---------------------------------------------------------------------------
 * Rights
 */

static bool
mk_group_allows(const MkGroup *group, Oid user)
{
	ListCell *lc;

	if (mk_role_owns(NameStr(group->owner), user))
		return true;
	foreach (lc, group->grantees)
	{
		Oid grantee = get_role_oid(lfirst(lc), true);

		if (OidIsValid(grantee) && has_privs_of_role(user, grantee))
			return true;
	}
	return false;
}

static bool
mk_group_is_granted(const MkGroup *group, const char *grantee)
{
	ListCell *lc;

	foreach (lc, group->grantees)
		if (strcmp(lfirst(lc), grantee) == 0)
			return true;
	return false;
}

static void
mk_group_check_right(const MkGroup *group, Oid user, bool own)
{
	if (own ? !mk_role_owns(NameStr(group->owner), user)
			: !mk_group_allows(group, user))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for group \"%s\"", group->group_id),
			 errdetail("It belongs to role \"%s\".", NameStr(group->owner)),
			 own ? 0 : errhint("That role can use minikafka.grant_group().")));
}

bool
mk_group_is_visible(const char *group_id)
{
	MkGroup group;

	return mk_membership_get_rights(group_id, &group) &&
		(mk_group_allows(&group, GetUserId()) ||
		 has_privs_of_role(GetUserId(), ROLE_PG_MONITOR));
}

MkGroup *
mk_group_find(const char *group_id)
{
	MkGroup *group;

	mk_membership_trim();
	group = mk_membership_get(group_id);
	if (group != NULL)
		mk_group_check_right(group, GetUserId(), false);
	return group;
}

MkGroup *
mk_group_find_monitored(const char *group_id)
{
	MkGroup *group;

	mk_membership_trim();
	group = mk_membership_get(group_id);
	if (group != NULL && !has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		mk_group_check_right(group, GetUserId(), false);
	return group;
}

void
mk_group_not_found(const char *group_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("group \"%s\" does not exist", group_id),
			 errhint("The first minikafka.join_group() or "
					 "minikafka.commit_offset() makes it.")));
}

MkGroup *
mk_group_get(const char *group_id)
{
	MkGroup *group = mk_group_find(group_id);

	if (group == NULL)
		mk_group_not_found(group_id);
	return group;
}

void
mk_group_not_empty(const char *group_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_NON_EMPTY_GROUP),
			 errmsg("group \"%s\" has members", group_id),
			 errhint("Stop them first: each leaves with "
					 "minikafka.leave_group(), or when its timeouts have "
					 "passed.")));
}

/* ---------------------------------------------------------------------------
 * Members
 */

/* When the member's time is over, by what is known of it: not at work; at all. */
static TimestampTz
mk_member_session_end(const MkMember *m)
{
	return Max(m->seen, m->seen_sign) + m->session_timeout;
}

static TimestampTz
mk_member_poll_end(const MkMember *m)
{
	return Max(m->polled, m->polled_sign) + m->max_poll_interval;
}

/* Which of its timeouts has passed. */
static MkRemoved
mk_member_overdue(const MkMember *m, bool at_work, TimestampTz now)
{
	if (now > mk_member_poll_end(m))
		return MK_REMOVED_MAX_POLL_INTERVAL;
	if (!at_work && now > mk_member_session_end(m))
		return MK_REMOVED_SESSION_TIMEOUT;
	return MK_REMOVED_NOT;
}

/*
 * Whether the member's time is over, and why.  That its lock is held, and its
 * signs of life, are looked at before the heartbeats: else a transaction that
 * commits in between could be missed by both.
 */
static MkRemoved
mk_member_expired(MkMember *m, TimestampTz now)
{
	bool at_work;

	if (likely(mk_member_overdue(m, false, now) == MK_REMOVED_NOT))
		return MK_REMOVED_NOT;

	at_work = mk_lock_member_is_held(m->member_no);
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	if (mk_member_overdue(m, at_work, now) == MK_REMOVED_NOT)
		return MK_REMOVED_NOT;
	mk_sign_look(m->member_no, &m->seen_sign, &m->polled_sign);
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	return mk_member_overdue(m, at_work, now);
}

static const char *
mk_seconds(int64 microseconds)
{
	return microseconds % USECS_PER_SEC == 0
		? psprintf(INT64_FORMAT " s", microseconds / USECS_PER_SEC)
		: psprintf("%g s", (double) microseconds / USECS_PER_SEC);
}

/* As a sentence */
static const char *
mk_removed_why(const MkMember *m, MkRemoved why)
{
	if (why == MK_REMOVED_SESSION_TIMEOUT)
		return psprintf("It was not heard of for its session timeout, %s.",
						mk_seconds(m->session_timeout));
	if (why == MK_REMOVED_MAX_POLL_INTERVAL)
		return psprintf("It did not poll for its max poll interval, %s.",
						mk_seconds(m->max_poll_interval));
	return "It has left.";
}

static void
mk_member_fenced(const char *group_id, const MkMember *m)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_FENCED_INSTANCE_ID),
			 errmsg("member \"%s\" of group \"%s\" was fenced", m->member_id,
					group_id),
			 errdetail("Another process has joined under its instance id "
					   "\"%s\".",
					   m->instance_id),
			 errhint("Stop this one.")));
}

/* What a member can do against it: the end of a sentence, or nothing. */
static const char *
mk_removed_remedy(MkRemoved why)
{
	return why == MK_REMOVED_MAX_POLL_INTERVAL
		? ", and poll fewer records at a time, by argument \"max_records\""
		: "";
}

static void
mk_member_unknown(const char *group_id, const char *member_id,
				  const MkMember *m, MkRemoved why)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_MK_UNKNOWN_MEMBER_ID),
		 errmsg("group \"%s\" has no member \"%s\"", group_id, member_id),
		 errhint("%s%sJoin with minikafka.join_group(), which takes "
				 "effect at COMMIT%s.",
				 m != NULL ? mk_removed_why(m, why) : "", m != NULL ? " " : "",
				 m != NULL ? mk_removed_remedy(why) : "")));
}

MkMember *
mk_group_member(const char *group_id, MkGroup *group, const char *member_id,
				bool alive)
{
	MkMember *m =
		group != NULL ? mk_membership_any_member(group, member_id) : NULL;
	MkRemoved why;

	if (m == NULL)
		mk_member_unknown(group_id, member_id, NULL, MK_REMOVED_NOT);
	why = m->removed;
	if (why == MK_REMOVED_FENCED)
		mk_member_fenced(group_id, m);
	if (why == MK_REMOVED_NOT && alive)
		why = mk_member_expired(m, mk_clock_now());
	if (why != MK_REMOVED_NOT)
		mk_member_unknown(group_id, member_id, m, why);
	return m;
}

bool
mk_group_is_expired(MkMember *member)
{
	return mk_member_expired(member, mk_clock_now()) != MK_REMOVED_NOT;
}

bool
mk_group_is_empty(MkGroup *group)
{
	for (int i = 0; i < group->nmembers; i++)
		if (group->members[i].removed == MK_REMOVED_NOT &&
			!mk_group_is_expired(&group->members[i]))
			return false;
	return true;
}

int
mk_group_halved(const MkGroup *group)
{
	int64 times;

	if (likely(group->halved == 0))
		return 0;
	times = Max(mk_clock_now() - group->halved_at, 0) / group->halved_for;
	return times < group->halved ? group->halved - (int) times : 0;
}

/* Whether anything is to be done by now; remembers until when it is not. */
static bool
mk_group_is_due(MkGroup *g, TimestampTz now)
{
	TimestampTz next = DT_NOEND;

	if (likely(now < g->next_check))
		return false;
	for (int i = 0; i < g->nassignments; i++)
	{
		if (g->assignments[i].handover_at <= now)
			return true;
		next = Min(next, g->assignments[i].handover_at);
	}
	for (int i = 0; i < g->nmembers; i++)
	{
		MkMember *m = &g->members[i];

		if (m->removed != MK_REMOVED_NOT)
			continue;
		if (mk_member_expired(m, now) != MK_REMOVED_NOT)
			return true;
		next = Min(next, mk_member_session_end(m));
		next = Min(next, mk_member_poll_end(m));
	}
	g->next_check = next;
	return false;
}

/* ---------------------------------------------------------------------------
 * Deferred actions of groups
 */

typedef enum MkActionKind
{
	MK_ACTION_CHECK, /* do what is due */
	MK_ACTION_LET_GO,
	MK_ACTION_LET_GO_COMMITTED,
	MK_ACTION_LEAVE,
	/* those below are errors where there is no group any more */
	MK_ACTION_JOIN,
	MK_ACTION_GRANT,
	MK_ACTION_REVOKE,
	MK_ACTION_OWNER,
	MK_ACTION_DELETE
} MkActionKind;

/* One change to a group; what is not needed is 0. */
typedef struct MkAction
{
	MkActionKind kind;
	int32 member_no;
	const char *name; /* of a member or a role */
	Oid user; /* who calls */
	const MkJoin *join;
} MkAction;

/* The actions are in the order of the calls. */
typedef struct MkDeferredGroup
{
	MkGroupUse *use;
	List *users; /* OIDs of the roles that have used it */
	Oid maker; /* the role that makes it, if there is none; or InvalidOid */
	List *actions;
} MkDeferredGroup;

static uint64
mk_group_tag(const void *deferred)
{
	return mk_lock_group_tag(
		((const MkDeferredGroup *) deferred)->use->group_id);
}

static bool
mk_group_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredGroup *) a)->use->group_id,
				  ((const MkDeferredGroup *) b)->use->group_id) == 0;
}

static void
mk_group_discard(void *deferred)
{
	MkDeferredGroup *d = deferred;

	list_free(d->users);
	list_free(d->actions);
	pfree(d);
}

static bool
mk_is_let_go(const MkAction *action)
{
	return action->kind == MK_ACTION_LET_GO ||
		action->kind == MK_ACTION_LET_GO_COMMITTED;
}

static bool
mk_is_moving(const MkAssignment *a, int32 member_no)
{
	return a->owner == member_no && a->target != member_no;
}

/* Whether the deferred action changes the group. */
static bool
mk_group_changes(const MkDeferredGroup *d, const MkGroup *g)
{
	ListCell *lc;

	if (g == NULL)
		return true;
	foreach (lc, d->actions)
	{
		const MkAction *action = lfirst(lc);

		if (!mk_is_let_go(action))
			return true;
		for (int i = 0; i < g->nassignments; i++)
			if (mk_is_moving(&g->assignments[i], action->member_no))
				return true;
	}
	return false;
}

/*
 * Takes the lock in the mode that is needed, and makes the group if need be.  At
 * the call it may not have been there, or may have been another role's that is
 * gone: so the right is checked again.
 */
static void
mk_group_lock(void *deferred)
{
	MkDeferredGroup *d = deferred;
	MkGroupUse *use = d->use;
	ListCell *lc;
	bool exclusive = mk_group_changes(d, mk_membership_get(use->group_id));

	for (;;)
	{
		mk_lock_group(use->group_id, exclusive);
		AcceptInvalidationMessages();
		use->group = mk_membership_get(use->group_id);
		if (exclusive || !mk_group_changes(d, use->group))
			break;
		mk_lock_group_release(use->group_id, false);
		exclusive = true;
	}
	use->exclusive = exclusive;
	if (use->group == NULL && OidIsValid(d->maker))
	{
		mk_group_rows_make(use->group_id, GetUserNameFromId(d->maker, false));
		use->group = mk_membership_get(use->group_id);
	}
	if (use->group == NULL)
		return; /* it was deleted: who needs it finds that */
	foreach (lc, d->users)
		mk_group_check_right(use->group, lfirst_oid(lc), false);
}

static void mk_group_finish(void *deferred);

static const MkDeferredKind mk_group_kind = {
	.rank = MK_RANK_GROUP,
	.tag = mk_group_tag,
	.same = mk_group_same,
	.lock = mk_group_lock,
	.finish = mk_group_finish,
	.discard = mk_group_discard,
};

static const MkDeferredGroup *
mk_group_find_deferred(const char *group_id)
{
	MkGroupUse use = {.group_id = unconstify(char *, group_id)};
	MkDeferredGroup like = {.use = &use};

	return mk_xact_find_deferred(&mk_group_kind, &like);
}

MkGroupUse *
mk_group_find_use(const char *group_id)
{
	const MkDeferredGroup *d = mk_group_find_deferred(group_id);

	return d != NULL ? d->use : NULL;
}

/*
 * A copy of a deferred action, to be changed: it goes when the savepoint is
 * rolled back.
 */
static MkDeferredGroup *
mk_group_copy(const MkDeferredGroup *before)
{
	MkDeferredGroup *d = palloc(sizeof(MkDeferredGroup));

	*d = *before;
	d->users = list_copy(before->users);
	d->actions = list_copy(before->actions);
	return d;
}

/*
 * The transaction's deferred action, which the user is in; with "make" as one
 * that makes the group.
 */
static const MkDeferredGroup *
mk_group_deferred(const char *group_id, bool make)
{
	const MkDeferredGroup *before = mk_group_find_deferred(group_id);
	MkDeferredGroup *d;
	Oid user = GetUserId();
	MemoryContext old;

	if (before != NULL && before->actions != NIL &&
		((const MkAction *) llast(before->actions))->kind == MK_ACTION_DELETE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("group \"%s\" is to be deleted by this transaction",
						group_id)));
	if (before != NULL && list_member_oid(before->users, user) &&
		(!make || OidIsValid(before->maker)))
		return before;

	old = MemoryContextSwitchTo(mk_xact_context());
	if (before != NULL)
		d = mk_group_copy(before);
	else
	{
		d = palloc0(sizeof(MkDeferredGroup));
		d->use = palloc0(sizeof(MkGroupUse));
		d->use->group_id = pstrdup(group_id);
	}
	d->users = list_append_unique_oid(d->users, user);
	if (make && !OidIsValid(d->maker))
		d->maker = user;
	mk_xact_defer(&mk_group_kind, d);
	MemoryContextSwitchTo(old);
	return d;
}

MkGroupUse *
mk_group_use(const char *group_id, bool make)
{
	return mk_group_deferred(group_id, make)->use;
}

/* Adds an action; a new deferred one, so that it goes when the savepoint does. */
static void
mk_group_act(const char *group_id, const MkAction *action)
{
	const MkDeferredGroup *before = mk_group_deferred(group_id, false);
	MkDeferredGroup *d;
	MkAction *copy;
	ListCell *lc;
	MemoryContext old;

	/* some say the same again and again */
	foreach (lc, before->actions)
	{
		const MkAction *a = lfirst(lc);

		if (a->kind == action->kind &&
			(a->kind == MK_ACTION_CHECK ||
			 (mk_is_let_go(a) && a->member_no == action->member_no)))
			return;
	}
	old = MemoryContextSwitchTo(mk_xact_context());
	copy = palloc(sizeof(MkAction));
	*copy = *action;
	copy->user = GetUserId();
	if (copy->name != NULL)
		copy->name = pstrdup(copy->name);
	d = mk_group_copy(before);
	d->actions = lappend(d->actions, copy);
	mk_xact_defer(&mk_group_kind, d);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------------------
 * Deferred actions of members
 */

typedef struct MkDeferredMember
{
	MkGroupUse *use;
	int32 group_no;
	int32 member_no;
	char *member_id;
	bool fenced;
	int32 generation; /* at the call, where fenced */
	TimestampTz polled; /* 0: it did not */
} MkDeferredMember;

static uint64
mk_member_tag(const void *deferred)
{
	return ((const MkDeferredMember *) deferred)->member_no;
}

static bool
mk_member_same(const void *a, const void *b)
{
	return ((const MkDeferredMember *) a)->member_no ==
		((const MkDeferredMember *) b)->member_no;
}

static void
mk_member_discard(void *deferred)
{
	MkDeferredMember *d = deferred;

	pfree(d->member_id);
	pfree(d);
}

void
mk_group_fence(const char *group_id, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_MK_ILLEGAL_GENERATION),
			 errmsg("group \"%s\" was rebalanced during this transaction",
					group_id),
			 errdetail_internal("%s", detail),
			 errhint("It is rolled back: poll again, in a new transaction.")));
}

/* The same for a member that is not the one it was: removed, or joined again. */
static void
mk_group_fence_removed(const char *group_id, const MkMember *m)
{
	if (m->removed == MK_REMOVED_NOT)
		mk_group_fence(
			group_id,
			psprintf("Member \"%s\" has joined again.", m->member_id));
	ereport(ERROR,
			(errcode(ERRCODE_MK_ILLEGAL_GENERATION),
			 errmsg("group \"%s\" was rebalanced during this transaction",
					group_id),
			 errdetail_internal("Member \"%s\" was removed. %s", m->member_id,
								mk_removed_why(m, m->removed)),
			 errhint("It is rolled back: join again, in a new transaction%s.",
					 mk_removed_remedy(m->removed))));
}

void
mk_group_check_generation(const char *group_id, const MkGroup *group,
						  int32 generation)
{
	if (group == NULL || group->generation != generation)
		ereport(ERROR,
				(errcode(ERRCODE_MK_ILLEGAL_GENERATION),
				 errmsg("generation %d is not that of group \"%s\"", generation,
						group_id),
				 group == NULL
					 ? errdetail("The group does not exist.")
					 : errdetail("Its generation is %d.", group->generation),
				 errhint("minikafka.heartbeat() tells the generation; "
						 "minikafka.poll() goes on under the new one.")));
}

/* The member of this number; an error if it is none any more. */
static MkMember *
mk_member_check(const MkGroupUse *use, int32 group_no, int32 member_no,
				const char *member_id)
{
	const MkGroup *g = use->group;
	bool same = g != NULL && g->group_no == group_no;
	MkMember *m = same ? mk_membership_member_no(g, member_no) : NULL;

	if (m != NULL)
		return m;
	m = same ? mk_membership_any_member(g, member_id) : NULL;
	if (m == NULL || m->removed == MK_REMOVED_LEFT)
		mk_member_unknown(use->group_id, member_id, m, MK_REMOVED_LEFT);
	if (m->removed == MK_REMOVED_FENCED)
		mk_member_fenced(use->group_id, m);
	mk_group_fence_removed(use->group_id, m);
	return NULL;
}

static void
mk_member_lock(void *deferred)
{
	MkDeferredMember *d = deferred;

	d->use->callers = lappend_int(d->use->callers, d->member_no);
	if (!d->fenced)
		return;
	(void) mk_member_check(d->use, d->group_no, d->member_no, d->member_id);
	if (d->use->group->protocol == MK_PROTOCOL_EAGER &&
		d->use->group->generation != d->generation)
		mk_group_fence(d->use->group_id, "Every partition was assigned anew.");
}

/*
 * The heartbeat.  It is written only when the last one is older than a part of
 * the timeouts.
 */
static void
mk_member_write(void *deferred)
{
	MkDeferredMember *d = deferred;
	TimestampTz now = mk_clock_now();
	const MkGroup *g = d->use->group;
	MkMember *m = g != NULL && g->group_no == d->group_no
		? mk_membership_member_no(g, d->member_no)
		: NULL;
	int64 period;

	if (m == NULL)
		return;
	period =
		Min(m->session_timeout, m->max_poll_interval) / MK_HEARTBEAT_FRACTION;
	if (now <= m->seen + period && d->polled <= m->polled + period)
		return;
	mk_heartbeat_get(d->member_no, &m->seen, &m->polled);
	if (d->polled > m->polled + period)
		mk_heartbeat_put(d->member_no, true, d->polled);
	if (now > Max(m->seen, d->polled) + period)
		mk_heartbeat_put(d->member_no, false, now);
}

/* What the session has told of the member is in the tables by now. */
static void
mk_member_done(void *deferred)
{
	const MkDeferredMember *d = deferred;

	mk_sign_withdraw(d->member_no, d->polled != 0);
}

/* What was being read, if it is that which failed. */
static void
mk_member_undone(void *deferred)
{
	mk_undone_interrupted(((const MkDeferredMember *) deferred)->member_no);
}

static const MkDeferredKind mk_member_kind = {
	.rank = MK_RANK_MEMBER,
	.tag = mk_member_tag,
	.same = mk_member_same,
	.lock = mk_member_lock,
	.write = mk_member_write,
	.done = mk_member_done,
	.undone = mk_member_undone,
	.discard = mk_member_discard,
};

/* Lets others know at once that the member is heard of, if they do not yet. */
static void
mk_member_sign(MkMember *m, bool polls, TimestampTz now)
{
	const TimestampTz *last = polls ? &m->polled : &m->seen;
	int64 period =
		Min(m->session_timeout, m->max_poll_interval) / MK_HEARTBEAT_FRACTION;

	if (now <= *last + period ||
		now <= mk_sign_given(m->member_no, polls, now) + period)
		return;
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	if (now > *last + period)
		mk_sign_give(m->member_no, polls, now,
					 Max(m->session_timeout, m->max_poll_interval));
}

static bool
mk_group_defer_check(MkGroup *g, bool due)
{
	const MkAction action = {.kind = MK_ACTION_CHECK};

	if (due)
		mk_group_act(g->group_id, &action);
	return due;
}

bool
mk_group_check(MkGroup *g)
{
	return mk_group_defer_check(g, mk_group_is_due(g, mk_clock_now()));
}

bool
mk_group_touch(MkGroup *g, MkMember *m, MkTouch how)
{
	MkDeferredMember like = {.member_no = m->member_no};
	const MkDeferredMember *before =
		mk_xact_find_deferred(&mk_member_kind, &like);
	MkDeferredMember *d;
	MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
	TimestampTz now = mk_clock_now();

	d = palloc0(sizeof(MkDeferredMember));
	if (before != NULL)
		*d = *before;
	d->use = mk_group_use(g->group_id, false);
	d->group_no = g->group_no;
	d->member_no = m->member_no;
	d->member_id = pstrdup(m->member_id);
	if (how != MK_TOUCH_HEARTBEAT)
		mk_lock_member(m->member_no);
	if (how == MK_TOUCH_POLL)
		d->polled = now;
	mk_member_sign(m, how == MK_TOUCH_POLL, now);
	if (how == MK_TOUCH_COMMIT && !d->fenced)
	{
		d->fenced = true;
		d->generation = g->generation;
	}
	mk_xact_defer(&mk_member_kind, d);
	MemoryContextSwitchTo(old);
	return mk_group_defer_check(
		g, mk_group_is_due(g, now) || mk_rebalance_is_due(g, m));
}

bool
mk_group_is_done_with(const MkGroup *group, const MkAssignment *a,
					  int64 position, int64 committed)
{
	MkTopic *topic;

	if (position <= committed)
		return true;
	topic = mk_membership_topic_by_id(group, a->topic_id);
	/* beyond the end is where a seek() has put it */
	return topic == NULL || position > mk_log_end(topic, a->partition);
}

void
mk_group_let_go(const MkGroup *group, int32 member_no, bool all)
{
	const MkAction action = {.kind = all ? MK_ACTION_LET_GO
										 : MK_ACTION_LET_GO_COMMITTED,
							 .member_no = member_no};

	mk_group_act(group->group_id, &action);
}

void
mk_group_committed(MkGroupUse *use, int32 topic_id, int32 partition)
{
	MkAssignment *a;

	if (!use->exclusive)
		return;
	a = palloc0(sizeof(MkAssignment));
	a->topic_id = topic_id;
	a->partition = partition;
	use->committed = lappend(use->committed, a);
}

void
mk_group_check_owner(const MkGroupUse *use, int32 group_no, int32 member_no,
					 const char *member_id, const MkTopic *topic,
					 int32 topic_id, int32 partition, int32 generation)
{
	MkAssignment *a;

	(void) mk_member_check(use, group_no, member_no, member_id);
	a = mk_membership_assignment(use->group, topic_id, partition);
	if (a == NULL || a->owner != member_no || a->generation != generation)
		mk_group_fence(
			use->group_id,
			psprintf(
				"Member \"%s\" has lost partition %d of topic \"%s\", or got "
				"it anew.",
				member_id, partition, NameStr(topic->name)));
}

/* ---------------------------------------------------------------------------
 * Changes, while committing
 */

typedef struct MkChange
{
	MkGroupUse *use;
	MkGroup *group;
	TimestampTz now;
	bool changed;
	bool rebalance;
	StringInfoData why; /* it is rebalanced */
	int nwhy;
} MkChange;

/* How many changes are named that a rebalance was made for. */
#define MK_WHY_CHANGES 5

static void
mk_change_why(MkChange *c, const char *what, const char *member_id)
{
	c->rebalance = true;
	if (c->nwhy++ < MK_WHY_CHANGES)
		appendStringInfo(&c->why, "%smember \"%s\" %s", c->nwhy > 1 ? ", " : "",
						 member_id, what);
	else if (c->nwhy == MK_WHY_CHANGES + 1)
		appendStringInfoString(&c->why, ", and others");
}

/* A member's number is none any more. */
static void
mk_change_gone(MkChange *c, int32 member_no)
{
	mk_heartbeat_delete(member_no);
	c->changed = true;
}

static void
mk_change_remove(MkChange *c, MkMember *m, MkRemoved why)
{
	mk_change_gone(c, m->member_no);
	m->removed = why;
	m->removed_at = c->now;
	mk_group_rows_put_member(c->group, m);
	mk_change_why(c,
				  why == MK_REMOVED_LEFT ? "left"
					  : why == MK_REMOVED_SESSION_TIMEOUT
					  ? "exceeded its session timeout"
					  : "exceeded its max poll interval",
				  m->member_id);
}

static void
mk_change_hand_over(MkChange *c, MkAssignment *a)
{
	mk_rebalance_hand_over(c->group, a);
	c->changed = true;
}

/* Hands a partition over that its owner lets go of, if it is done with it. */
static void
mk_change_release(MkChange *c, MkAssignment *a, int32 member_no)
{
	MkProgress p;

	if (!mk_is_moving(a, member_no))
		return;
	mk_progress_get(c->group->group_no, a->topic_id, a->partition, NULL, &p);
	if (p.member_no != member_no || p.generation != a->generation ||
		mk_group_is_done_with(c->group, a, p.position, p.committed))
		mk_change_hand_over(c, a);
}

static void
mk_change_let_go(MkChange *c, const MkAction *action)
{
	MkGroup *g = c->group;
	ListCell *lc;

	if (action->kind == MK_ACTION_LET_GO)
		for (int i = 0; i < g->nassignments; i++)
			mk_change_release(c, &g->assignments[i], action->member_no);
	if (action->kind == MK_ACTION_LET_GO_COMMITTED)
		foreach (lc, c->use->committed)
		{
			const MkAssignment *like = lfirst(lc);
			MkAssignment *a =
				mk_membership_assignment(g, like->topic_id, like->partition);

			if (a != NULL)
				mk_change_release(c, a, action->member_no);
		}
}

/*
 * Notes that a member that did not poll in time had more to do than it could, if
 * it was alive then.  Of those that polled before this was last noted it is
 * known already.
 */
static void
mk_change_halve(MkChange *c, const MkMember *m)
{
	MkGroup *g = c->group;

	if (mk_member_session_end(m) < mk_member_poll_end(m) &&
		!mk_lock_member_is_held(m->member_no))
		return;
	if (Max(m->polled, m->polled_sign) <= g->halved_at)
		return;
	g->halved = Min(mk_group_halved(g) + 1, MK_MAX_HALVED);
	g->halved_at = c->now;
	g->halved_for = MK_HALVED_PERIODS * m->max_poll_interval;
}

/* Removes who is dead, but not who is calling; hands over what is due. */
static void
mk_change_expire(MkChange *c)
{
	MkGroup *g = c->group;

	for (int i = 0; i < g->nmembers; i++)
	{
		MkMember *m = &g->members[i];
		MkRemoved why;

		if (m->removed != MK_REMOVED_NOT ||
			list_member_int(c->use->callers, m->member_no))
			continue;
		why = mk_member_expired(m, c->now);
		if (why == MK_REMOVED_MAX_POLL_INTERVAL)
			mk_change_halve(c, m);
		if (why != MK_REMOVED_NOT)
			mk_change_remove(c, m, why);
	}
	for (int i = 0; i < g->nassignments; i++)
		if (g->assignments[i].handover_at <= c->now)
			mk_change_hand_over(c, &g->assignments[i]);
}

static void
mk_check_setting(const char *group_id, const char *setting, bool has,
				 const char *value, const char *groups)
{
	if (has && strcmp(value, groups) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_MK_INCONSISTENT_GROUP_PROTOCOL),
				 errmsg("group \"%s\" has %s \"%s\", not \"%s\"", group_id,
						setting, groups, value),
				 errhint("Join with the group's settings; the first member of "
						 "an empty group chooses them.")));
}

/* MK023 where the joiner's settings contradict those of the members. */
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
 * Whose place the joiner takes: the member that has its instance id, or its
 * member id; NULL if none.  MK082 when its member id is one that was fenced for
 * its instance id, or another member's.
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
				(errcode(ERRCODE_MK_FENCED_INSTANCE_ID),
				 errmsg("member \"%s\" of group \"%s\" cannot join with "
						"instance id \"%s\"",
						join->member_id, join->group_id, join->instance_id),
				 errdetail("That belongs to another member."),
				 errhint("Stop this process, or join with another member "
						 "id.")));
	if (holder != NULL)
		return holder;
	return same != NULL && same->removed == MK_REMOVED_NOT ? same : NULL;
}

static bool
mk_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether the joiner takes the place of a former one without a rebalance. */
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

/* The entry of a member, a new one if there is none of its id. */
static MkMember *
mk_change_entry(MkGroup *g, const char *member_id)
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

static void
mk_change_join(MkChange *c, const MkJoin *join)
{
	MkGroup *g = c->group;
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
		mk_change_why(c, "joined", join->member_id);
	if (former != NULL)
	{
		mk_change_gone(c, former_no);
		mk_rebalance_replace(g, former_no, member_no);
		if (strcmp(former->member_id, join->member_id) != 0)
		{
			former->removed = MK_REMOVED_FENCED;
			former->removed_at = c->now;
			mk_group_rows_put_member(g, former);
		}
	}

	m = mk_change_entry(g, join->member_id);
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
	m->seen = m->polled = m->joined_at = c->now;
	mk_group_rows_put_member(g, m);
	mk_heartbeat_put(member_no, true, c->now);
	c->changed = true;
}

/* The member may have been removed meanwhile; but not have joined again. */
static void
mk_change_leave(MkChange *c, const MkAction *action)
{
	MkMember *m = mk_membership_member_no(c->group, action->member_no);

	if (m != NULL)
		mk_change_remove(c, m, MK_REMOVED_LEFT);
	else if (mk_membership_member(c->group, action->name) != NULL)
		mk_group_fence(
			c->use->group_id,
			psprintf("Member \"%s\" has joined again.", action->name));
}

static int
mk_newest_first(const void *a, const void *b)
{
	TimestampTz ta = *(const TimestampTz *) a;
	TimestampTz tb = *(const TimestampTz *) b;

	return ta > tb ? -1 : ta < tb;
}

/* Forgets why members were removed, but of the last ones. */
static void
mk_change_forget(MkChange *c)
{
	MkGroup *g = c->group;
	TimestampTz since = c->now - MK_REMEMBER_TIME;
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

/* True if the group was deleted. */
static bool
mk_change_act(MkChange *c, const MkAction *action)
{
	ListCell *lc;

	switch (action->kind)
	{
		case MK_ACTION_CHECK:
		case MK_ACTION_LET_GO:
		case MK_ACTION_LET_GO_COMMITTED:
			break;
		case MK_ACTION_JOIN:
			mk_change_join(c, action->join);
			break;
		case MK_ACTION_LEAVE:
			mk_change_leave(c, action);
			break;
		case MK_ACTION_GRANT:
		case MK_ACTION_REVOKE:
			mk_group_check_right(c->group, action->user, true);
			mk_group_rows_grant(c->group, action->name,
								action->kind == MK_ACTION_GRANT);
			c->changed = true;
			break;
		case MK_ACTION_OWNER:
			mk_role_check_give(NameStr(c->group->owner), action->name,
							   action->user, "group", c->use->group_id);
			namestrcpy(&c->group->owner, action->name);
			c->changed = true;
			break;
		case MK_ACTION_DELETE:
			mk_group_check_right(c->group, action->user, true);
			for (int i = 0; i < c->group->nmembers; i++)
				if (c->group->members[i].removed == MK_REMOVED_NOT)
					mk_group_not_empty(c->use->group_id);
			/* those that it had at the call are locked already */
			foreach (lc, mk_progress_topics(c->group->group_no, NULL))
				mk_lock_topic_in_use(lfirst_int(lc));
			mk_progress_delete_group(c->group->group_no);
			mk_group_rows_delete(c->group);
			return true;
	}
	return false;
}

static bool
mk_member_reads(const MkMember *m, int32 topic_id)
{
	for (int i = 0; i < m->ntopics; i++)
		if (m->topic_ids[i] == topic_id)
			return true;
	return false;
}

/* Tells the session that joins that the member has nothing to read. */
static void
mk_change_tell(const MkChange *c, const MkAction *action)
{
	const MkGroup *g = c->group;
	const MkMember *m;
	int npartitions = 0;

	if (action->kind != MK_ACTION_JOIN)
		return;
	m = mk_membership_member(g, action->join->member_id);
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
				 errhint("It gets some when others go, or after "
						 "minikafka.add_partitions().")));
}

/*
 * Makes the changes, in one rebalance.  What the transaction has read and
 * committed was checked against the group as it was before, and is written by
 * now.
 */
static void
mk_group_finish(void *deferred)
{
	MkDeferredGroup *d = deferred;
	MkChange c = {.use = d->use};
	bool due;
	MkAssignment *before;
	int nbefore;
	List *topics;
	ListCell *lc;

	if (d->actions == NIL || !d->use->exclusive)
		return;
	c.group = mk_membership_get_for_update(d->use->group_id);
	c.now = mk_clock_now();
	if (c.group == NULL)
	{
		foreach (lc, d->actions)
			if (((const MkAction *) lfirst(lc))->kind >= MK_ACTION_JOIN)
				mk_group_not_found(d->use->group_id);
		return;
	}
	nbefore = c.group->nassignments;
	before = palloc(Max(nbefore, 1) * sizeof(MkAssignment));
	if (nbefore > 0)
		memcpy(before, c.group->assignments, nbefore * sizeof(MkAssignment));

	initStringInfo(&c.why);
	c.changed = mk_rebalance_follow(c.group);
	foreach (lc, d->actions)
		mk_change_let_go(&c, lfirst(lc));
	mk_change_expire(&c);
	topics = mk_subscribed_topics(c.group);
	foreach (lc, d->actions)
		if (mk_change_act(&c, lfirst(lc)))
			return;
	due = mk_rebalance_is_due(c.group, NULL);
	if (c.rebalance || due)
	{
		c.changed = true;
		if (due && !c.rebalance)
			appendStringInfoString(&c.why, "topics or partitions changed");
		mk_rebalance(c.group, c.now);
		c.group->rebalanced_at = c.now;
		c.group->rebalanced_why = c.why.data;
	}
	if (!c.changed)
		return;
	mk_rebalance_write(c.group, before, nbefore, topics, c.now);
	mk_change_forget(&c);
	mk_group_rows_put_group(c.group);
	foreach (lc, d->actions)
		mk_change_tell(&c, lfirst(lc));
	mk_wakeup_at_end(mk_wakeup_group(c.group->group_no));
}

/* ---------------------------------------------------------------------------
 * Noting changes
 */

/*
 * Whether the caller may make the group: it has a right to a topic, so that a
 * role without any takes no name.
 */
static bool
mk_join_may_make(const MkJoin *join)
{
	for (int i = 0; i < join->ntopics; i++)
		if (mk_catalog_topic_by_name(join->topics[i]) != NULL)
			return true;
	return superuser();
}

void
mk_group_join(MkJoin *join)
{
	MkGroup *g = mk_group_find(join->group_id);
	MkAction action = {.kind = MK_ACTION_JOIN, .join = join};
	bool may_make = mk_join_may_make(join);

	if (g == NULL && !may_make)
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to create group \"%s\"", join->group_id),
			 errdetail("None of its topics exists."),
			 errhint("Its first member needs SELECT on a topic that "
					 "exists.")));
	if (join->member_id == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
		pg_uuid_t uuid;

		if (!pg_strong_random(&uuid, UUID_LEN))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate a member id")));
		/* as gen_random_uuid() does: version 4 of the usual variant */
		uuid.data[6] = (uuid.data[6] & 0x0f) | 0x40;
		uuid.data[8] = (uuid.data[8] & 0x3f) | 0x80;
		join->member_id = DatumGetCString(
			DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
		MemoryContextSwitchTo(old);
	}
	/* a partition that is begun at its end gets a committed offset */
	for (int i = 0; join->reset == MK_RESET_LATEST && i < join->ntopics; i++)
	{
		MkTopic *topic = mk_catalog_topic_by_name(join->topics[i]);

		if (topic != NULL)
			mk_topic_defer_use(topic->topic_id);
	}
	if (g != NULL && !mk_group_is_empty(g))
	{
		mk_join_check_settings(join, g);
		(void) mk_join_former(join, g);
	}
	mk_group_use(join->group_id, may_make);
	mk_group_act(join->group_id, &action);
}

void
mk_group_leave(const char *group_id, const char *member_id)
{
	MkGroup *g = mk_group_find(group_id);
	MkMember *m = mk_group_member(group_id, g, member_id, false);
	const MkAction action = {
		.kind = MK_ACTION_LEAVE, .member_no = m->member_no, .name = member_id};

	mk_group_act(group_id, &action);
}

void
mk_group_grant(const char *group_id, const char *grantee, bool grant)
{
	MkGroup *g = mk_group_get(group_id);
	const MkAction action = {.kind = grant ? MK_ACTION_GRANT : MK_ACTION_REVOKE,
							 .name = grantee};

	mk_group_check_right(g, GetUserId(), true);
	/* one that was dropped can still be revoked */
	if (grant || !mk_group_is_granted(g, grantee))
		(void) get_role_oid(grantee, false);
	mk_group_act(group_id, &action);
}

void
mk_group_set_owner(const char *group_id, const char *owner)
{
	MkGroup *g = mk_group_get(group_id);
	const MkAction action = {.kind = MK_ACTION_OWNER, .name = owner};

	mk_role_check_give(NameStr(g->owner), owner, GetUserId(), "group",
					   group_id);
	mk_group_act(group_id, &action);
}

void
mk_group_delete(const char *group_id)
{
	MkGroup *g = mk_group_get(group_id);
	const MkAction action = {.kind = MK_ACTION_DELETE};
	ListCell *lc;

	mk_group_check_right(g, GetUserId(), true);
	if (!mk_group_is_empty(g))
		mk_group_not_empty(group_id);
	if (mk_group_find_use(group_id) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot delete group \"%s\" in a transaction that has "
						"used it",
						group_id)));
	foreach (lc, mk_progress_topics(g->group_no, NULL))
		mk_topic_defer_use(lfirst_int(lc));
	mk_group_act(group_id, &action);
}

/* ---------------------------------------------------------------------------
 * Maintenance
 */

/*
 * Whether the group has had no members, and has committed nothing, for so long
 * that it is to go.  It remembers the members that it had last, see
 * mk_change_forget.  One of which nothing is known stays.
 */
static bool
mk_group_has_expired(const MkGroup *g, TimestampTz now)
{
	TimestampTz last = DT_NOBEGIN;

	for (int i = 0; i < g->nmembers; i++)
	{
		if (g->members[i].removed == MK_REMOVED_NOT)
			return false;
		last = Max(last, g->members[i].removed_at);
	}
	last = Max(last, mk_progress_last_commit(g->group_no));
	return last != DT_NOBEGIN &&
		now > last + mk_guc_offsets_retention * USECS_PER_SEC;
}

static bool
mk_group_needs(MkGroup *g, TimestampTz now, bool *expired)
{
	*expired = mk_group_has_expired(g, now);
	return *expired || mk_group_is_due(g, now) || mk_rebalance_is_due(g, NULL);
}

void
mk_group_maintain(const char *group_id)
{
	MkGroupUse use = {.group_id = unconstify(char *, group_id),
					  .exclusive = true};
	MkAction action = {.user = BOOTSTRAP_SUPERUSERID};
	MkDeferredGroup n = {.use = &use, .actions = list_make1(&action)};
	TimestampTz now = mk_clock_now();
	MkGroup *g = mk_membership_get(group_id);
	bool expired;
	ListCell *lc;

	if (g == NULL || !mk_group_needs(g, now, &expired))
		return;
	if (expired)
		foreach (lc, mk_progress_topics(g->group_no, NULL))
			mk_lock_topic_in_use(lfirst_int(lc));
	mk_lock_group(group_id, true);
	AcceptInvalidationMessages();
	use.group = mk_membership_get(group_id);
	if (use.group == NULL || !mk_group_needs(use.group, now, &expired))
		return;
	action.kind = expired ? MK_ACTION_DELETE : MK_ACTION_CHECK;
	mk_group_finish(&n);
}
