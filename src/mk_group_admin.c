/*
 * mk_group_admin.c
 *		Administration of groups: grants, owners, deletion, maintenance.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_group.h"
#include "mk_group_admin.h"
#include "mk_group_use.h"
#include "mk_guc.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_progress.h"
#include "mk_rebalance.h"
#include "mk_role.h"
#include "mk_topic.h"

void
mk_group_admin_grant(const char *group_id, const char *grantee, bool grant)
{
	MkGroup *g = mk_group_use_get(group_id);
	const MkGroupChange change = {
		.kind = grant ? MK_CHANGE_GRANT : MK_CHANGE_REVOKE, .name = grantee};

	mk_group_check_right(g, GetUserId(), true);
	/* a grant to a role that was dropped can still be revoked */
	if (grant || !mk_group_is_granted(g, grantee))
		(void) get_role_oid(grantee, false);
	mk_group_use_defer(group_id, &change);
}

void
mk_group_admin_set_owner(const char *group_id, const char *owner)
{
	MkGroup *g = mk_group_use_get(group_id);
	const MkGroupChange change = {.kind = MK_CHANGE_OWNER, .name = owner};

	mk_role_check_give(NameStr(g->owner), owner, GetUserId(), "group",
					   group_id);
	mk_group_use_defer(group_id, &change);
}

void
mk_group_admin_delete(const char *group_id)
{
	MkGroup *g = mk_group_get(group_id);
	const MkGroupChange change = {.kind = MK_CHANGE_DELETE};
	ListCell *lc;

	mk_group_check_right(g, GetUserId(), true);
	if (!mk_liveness_is_empty(g))
		mk_group_not_empty(group_id);
	if (mk_group_use_find(group_id) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot delete group \"%s\" in a transaction that has "
						"used it",
						group_id)));
	foreach (lc, mk_group_topics(g))
		mk_topic_defer_use(lfirst_int(lc));
	mk_group_use_defer(group_id, &change);
}

/*
 * Whether the group has had no members, and has committed nothing, for
 * minikafka.offsets_retention.  Its last members are remembered (see
 * mk_group_change.c), so it is known when they went.  A group that has had neither
 * members nor commits stays.
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

/* Whether anything is due in the group.  Only delete_group() ends a share group. */
static bool
mk_group_needs(MkGroup *g, TimestampTz now, bool *expired)
{
	if (g->kind == MK_GROUP_SHARE)
		return false;
	*expired = mk_group_has_expired(g, now);
	return *expired || mk_liveness_is_due(g, now) ||
		mk_rebalance_is_due(g, NULL);
}

/*
 * The first look, without the lock, is a cheap one: most of the time nothing is
 * due.
 */
void
mk_group_admin_maintain(const char *group_id)
{
	MkGroupChange change = {.user = BOOTSTRAP_SUPERUSERID};
	MkGroupChanges changes = {.group_id = group_id,
							  .changes = list_make1(&change)};
	TimestampTz now = mk_clock_now();
	MkGroup *g = mk_membership_get(group_id);
	bool expired;
	ListCell *lc;

	if (g == NULL || !mk_group_needs(g, now, &expired))
		return;
	if (expired)
		foreach (lc, mk_group_topics(g))
			mk_lock_topic_in_use(lfirst_int(lc));
	mk_lock_group(group_id, true);
	AcceptInvalidationMessages();
	g = mk_membership_get(group_id);
	if (g == NULL || !mk_group_needs(g, now, &expired))
		return;
	change.kind = expired ? MK_CHANGE_DELETE : MK_CHANGE_CHECK;
	mk_group_change_apply(&changes);
}
