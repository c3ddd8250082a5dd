/*
 * mk_member.c
 *		Calls of members: joining, leaving, and being alive.
 *
 * Each call defers a heartbeat to the commit.  A transaction that commits an
 * offset also relies on its member: the commit checks that the member is still
 * there, in the same incarnation, under the group's lock.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "mk_clock.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_member.h"
#include "mk_rebalance.h"
#include "mk_sign.h"
#include "mk_topic.h"
#include "mk_undone.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * Finding
 */

/* A timeout as text */
static const char *
mk_seconds(int64 microseconds)
{
	return microseconds % USECS_PER_SEC == 0
		? psprintf(INT64_FORMAT " s", microseconds / USECS_PER_SEC)
		: psprintf("%g s", (double) microseconds / USECS_PER_SEC);
}

/* Why a member was removed, or is to be: a sentence. */
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

/* MK082 */
static void
mk_member_fenced(const char *group_id, const MkMember *m)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_FENCED_INSTANCE_ID),
			 errmsg("member \"%s\" of group \"%s\" was fenced", m->member_id,
					group_id),
			 errdetail("Another process has joined under its instance id "
					   "\"%s\".",
					   m->instance_id),
			 errhint("Stop this one.")));
}

/* How the member avoids that the next time: the end of a sentence, or nothing. */
static const char *
mk_removed_remedy(MkRemoved why)
{
	return why == MK_REMOVED_MAX_POLL_INTERVAL
		? ", and poll fewer records at a time, with argument \"max_records\""
		: "";
}

/* MK025; "m" is the member that was removed, or NULL. */
static void
mk_member_unknown(const char *group_id, const char *member_id,
				  const MkMember *m, MkRemoved why)
{
	ereport(
		ERROR,
		(mk_errcode(ERRCODE_MK_UNKNOWN_MEMBER_ID),
		 errmsg("group \"%s\" has no member \"%s\"", group_id, member_id),
		 errhint("%s%sJoin with minikafka.join_group(), which takes "
				 "effect at COMMIT%s.",
				 m != NULL ? mk_removed_why(m, why) : "", m != NULL ? " " : "",
				 m != NULL ? mk_removed_remedy(why) : "")));
}

MkMember *
mk_member_get(const char *group_id, MkGroup *group, const char *member_id,
			  bool alive)
{
	MkMember *m =
		group != NULL ? mk_membership_any_member(group, member_id) : NULL;
	MkRemoved why;

	if (group != NULL)
		mk_group_check_kind(group, MK_GROUP_CONSUMER);
	if (m == NULL)
		mk_member_unknown(group_id, member_id, NULL, MK_REMOVED_NOT);
	why = m->removed;
	if (why == MK_REMOVED_FENCED)
		mk_member_fenced(group_id, m);
	if (why == MK_REMOVED_NOT && alive)
		why = mk_liveness_look(m, mk_clock_now());
	if (why != MK_REMOVED_NOT)
		mk_member_unknown(group_id, member_id, m, why);
	return m;
}

/* MK022 for a member that was removed, or has joined again. */
static void
mk_member_fence(const char *group_id, const MkMember *m)
{
	if (m->removed == MK_REMOVED_NOT)
		mk_group_fence(
			group_id,
			psprintf("Member \"%s\" has joined again.", m->member_id));
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_ILLEGAL_GENERATION),
			 errmsg("group \"%s\" was rebalanced during this transaction",
					group_id),
			 errdetail_internal("Member \"%s\" was removed. %s", m->member_id,
								mk_removed_why(m, m->removed)),
			 errhint("The transaction is rolled back: join again in a new "
					 "one%s.",
					 mk_removed_remedy(m->removed))));
}

/*
 * The member of that number, while committing; MK022, MK025 or MK082 if it was
 * removed or has joined again.
 */
static MkMember *
mk_member_check(const MkGroupUse *use, int32 group_no, int32 member_no,
				const char *member_id)
{
	const MkGroup *g = use->group;
	bool same = g != NULL && g->group_no == group_no;
	MkMember *m = same ? mk_membership_member_no(g, member_no) : NULL;

	Assert(mk_lock_group_is_mine(use->group_id, use->exclusive));
	if (m != NULL)
		return m;
	if (g != NULL)
		mk_group_check_kind(g, MK_GROUP_CONSUMER);
	m = same ? mk_membership_any_member(g, member_id) : NULL;
	if (m == NULL || m->removed == MK_REMOVED_LEFT)
		mk_member_unknown(use->group_id, member_id, m, MK_REMOVED_LEFT);
	if (m->removed == MK_REMOVED_FENCED)
		mk_member_fenced(use->group_id, m);
	mk_member_fence(use->group_id, m);
	return NULL;
}

/* ---------------------------------------------------------------------------
 * Deferred actions
 */

/* The deferred action: what the commit does about one member. */
typedef struct MkDeferredMember
{
	MkGroupUse *use;
	int32 group_no;
	int32 member_no;
	char *member_id;
	bool fenced; /* the transaction fails unless the member lasts */
	int32 generation; /* at the call, if fenced */
	TimestampTz polled; /* when it polled, 0 if it did not */
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

/* Checks that the member has lasted, if it must. */
static void
mk_member_lock(void *deferred)
{
	MkDeferredMember *d = deferred;

	mk_group_use_called(d->use, d->member_no);
	if (!d->fenced)
		return;
	(void) mk_member_check(d->use, d->group_no, d->member_no, d->member_id);
	if (d->use->group->protocol == MK_PROTOCOL_EAGER &&
		d->use->group->generation != d->generation)
		mk_group_fence(d->use->group_id, "Every partition was assigned anew.");
}

/* Writes the heartbeat, if the member lasts. */
static void
mk_member_write(void *deferred)
{
	const MkDeferredMember *d = deferred;
	const MkGroup *g = d->use->group;
	MkMember *m = g != NULL && g->group_no == d->group_no
		? mk_membership_member_no(g, d->member_no)
		: NULL;

	if (m != NULL)
		mk_liveness_write(m, d->polled, mk_clock_now());
}

/* The tables have what the session's sign tells. */
static void
mk_member_done(void *deferred)
{
	const MkDeferredMember *d = deferred;

	mk_sign_withdraw(d->member_no, d->polled != 0);
}

/* If reading has failed, notes what was being read. */
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

/* ---------------------------------------------------------------------------
 * Calls
 */

bool
mk_member_touch(MkGroup *g, MkMember *m, MkTouch how)
{
	static const MkGroupChange check = {.kind = MK_CHANGE_CHECK};
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
	mk_liveness_sign(m, how == MK_TOUCH_POLL, now);
	if (how == MK_TOUCH_COMMIT && !d->fenced)
	{
		d->fenced = true;
		d->generation = g->generation;
	}
	mk_xact_defer(&mk_member_kind, d);
	MemoryContextSwitchTo(old);
	if (!mk_liveness_is_due(g, now) && !mk_rebalance_is_due(g, m))
		return false;
	mk_group_use_defer(g->group_id, &check);
	return true;
}

void
mk_member_let_go(const MkGroup *group, int32 member_no, bool all)
{
	const MkGroupChange change = {.kind = all ? MK_CHANGE_LET_GO
											  : MK_CHANGE_LET_GO_COMMITTED,
								  .member_no = member_no};

	mk_group_use_defer(group->group_id, &change);
}

void
mk_member_check_owner(const MkGroupUse *use, int32 group_no, int32 member_no,
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
 * Joining and leaving
 */

/*
 * Whether the joiner may make the group: it reads a topic that exists.  So a role
 * without a right to any topic cannot occupy names.
 */
static bool
mk_join_may_make(const MkJoin *join)
{
	for (int i = 0; i < join->ntopics; i++)
		if (mk_catalog_topic_by_name(join->topics[i]) != NULL)
			return true;
	return superuser();
}

/* A random UUID (version 4), as gen_random_uuid() makes it; palloc'd. */
static char *
mk_make_member_id(void)
{
	pg_uuid_t uuid;

	if (!pg_strong_random(&uuid, UUID_LEN))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate a member id")));
	uuid.data[6] = (uuid.data[6] & 0x0f) | 0x40;
	uuid.data[8] = (uuid.data[8] & 0x3f) | 0x80;
	return DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&uuid)));
}

void
mk_member_join(MkJoin *join)
{
	MkGroup *g = mk_group_find(join->group_id);
	MkGroupChange change = {.kind = MK_CHANGE_JOIN, .join = join};
	bool may_make = mk_join_may_make(join);

	if (g != NULL)
		mk_group_check_kind(g, MK_GROUP_CONSUMER);
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

		join->member_id = mk_make_member_id();
		MemoryContextSwitchTo(old);
	}
	/* the commit writes offsets for partitions that are begun at their end */
	for (int i = 0; join->reset == MK_RESET_LATEST && i < join->ntopics; i++)
	{
		MkTopic *topic = mk_catalog_topic_by_name(join->topics[i]);

		if (topic != NULL)
			mk_topic_defer_use(topic->topic_id);
	}
	if (g != NULL && !mk_liveness_is_empty(g))
		mk_group_change_check_join(join, g);
	mk_group_use(join->group_id, may_make);
	mk_group_use_defer(join->group_id, &change);
}

void
mk_member_leave(const char *group_id, const char *member_id)
{
	MkGroup *g = mk_group_find(group_id);
	MkMember *m = mk_member_get(group_id, g, member_id, false);
	const MkGroupChange change = {
		.kind = MK_CHANGE_LEAVE, .member_no = m->member_no, .name = member_id};

	mk_group_use_defer(group_id, &change);
}
