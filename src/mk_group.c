/*
 * mk_group.c
 *		Groups: finding one, and the right to use it.
 *
 * A group belongs to a role, which may grant its use to others.  Rights are
 * checked at the call, and again when the transaction commits (mk_group_use.c):
 * by then the group may be another one of the same name.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"

#include "mk_errors.h"
#include "mk_group.h"
#include "mk_progress.h"
#include "mk_role.h"
#include "mk_share_rows.h"

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

/* Whether the user may use the group. */
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

bool
mk_group_may_use(const MkGroup *group)
{
	return mk_group_allows(group, GetUserId());
}

bool
mk_group_is_granted(const MkGroup *group, const char *grantee)
{
	ListCell *lc;

	foreach (lc, group->grantees)
		if (strcmp(lfirst(lc), grantee) == 0)
			return true;
	return false;
}

void
mk_group_check_right(const MkGroup *group, Oid user, bool own)
{
	if (own ? !mk_role_owns(NameStr(group->owner), user)
			: !mk_group_allows(group, user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for group \"%s\"", group->group_id),
				 errdetail("It belongs to role \"%s\".", NameStr(group->owner)),
				 own ? 0
					 : errhint("That role can grant it with "
							   "minikafka.grant_group().")));
}

bool
mk_group_is_visible(const char *group_id)
{
	MkGroup group;

	return mk_membership_get_rights(group_id, &group) &&
		(mk_group_allows(&group, GetUserId()) ||
		 has_privs_of_role(GetUserId(), ROLE_PG_MONITOR));
}

/* ---------------------------------------------------------------------------
 * Finding
 */

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

MkGroup *
mk_group_get(const char *group_id)
{
	MkGroup *group = mk_group_find(group_id);

	if (group == NULL)
		mk_group_not_found(group_id);
	return group;
}

MkGroup *
mk_group_check_share(MkGroup *group, const char *group_id)
{
	if (group == NULL)
		mk_group_share_not_found(group_id);
	mk_group_check_kind(group, MK_GROUP_SHARE);
	return group;
}

MkGroup *
mk_group_get_share(const char *group_id)
{
	return mk_group_check_share(mk_group_find(group_id), group_id);
}

/* ---------------------------------------------------------------------------
 * Errors
 */

void
mk_group_not_found(const char *group_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("group \"%s\" does not exist", group_id),
			 errhint("The first minikafka.join_group() or "
					 "minikafka.commit_offset() creates a consumer group, "
					 "minikafka.create_share_group() a share group.")));
}

void
mk_group_share_not_found(const char *group_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("group \"%s\" does not exist", group_id),
			 errhint("minikafka.create_share_group() creates a share "
					 "group, when its transaction commits.")));
}

List *
mk_group_topics(const MkGroup *group)
{
	return group->kind == MK_GROUP_SHARE
		? mk_share_rows_topics(group->group_no, NULL)
		: mk_progress_topics(group->group_no, NULL);
}

void
mk_group_is_other_kind(const char *group_id, MkGroupKind kind)
{
	bool share = kind == MK_GROUP_SHARE;

	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_INCONSISTENT_GROUP_PROTOCOL),
			 errmsg("group \"%s\" is a %s group", group_id,
					mk_group_setting_kind(kind)),
			 share ? errdetail("A share group has no members and no committed "
							   "offsets.")
				   : 0,
			 share ? errhint("minikafka.acquire() hands out its records, and "
							 "minikafka.acknowledge() takes what becomes of "
							 "each.")
				   : errhint("minikafka.create_share_group() creates a share "
							 "group, under a name that no group has.")));
}

void
mk_group_check_kind(const MkGroup *group, MkGroupKind kind)
{
	if (group->kind != kind)
		mk_group_is_other_kind(group->group_id, group->kind);
}

void
mk_group_not_empty(const char *group_id)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_NON_EMPTY_GROUP),
			 errmsg("group \"%s\" has members", group_id),
			 errhint("Stop them first: a member leaves with "
					 "minikafka.leave_group(), or is removed after its "
					 "timeouts.")));
}

void
mk_group_fence(const char *group_id, const char *detail)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_ILLEGAL_GENERATION),
			 errmsg("group \"%s\" was rebalanced during this transaction",
					group_id),
			 errdetail_internal("%s", detail),
			 errhint("The transaction is rolled back: poll again in a new "
					 "one.")));
}

void
mk_group_share_fence(const char *group_id, const char *detail)
{
	ereport(
		ERROR,
		(mk_errcode(ERRCODE_MK_ILLEGAL_GENERATION),
		 errmsg("group \"%s\" was changed during this transaction", group_id),
		 errdetail_internal("%s", detail),
		 errhint("The transaction is rolled back: acquire again in a new "
				 "one.")));
}

void
mk_group_check_generation(const char *group_id, const MkGroup *group,
						  int32 generation)
{
	if (group == NULL || group->generation != generation)
		ereport(ERROR,
				(mk_errcode(ERRCODE_MK_ILLEGAL_GENERATION),
				 errmsg("generation %d is not that of group \"%s\"", generation,
						group_id),
				 group == NULL
					 ? errdetail("The group does not exist.")
					 : errdetail("Its generation is %d.", group->generation),
				 errhint("minikafka.heartbeat() returns the generation; "
						 "minikafka.poll() continues under the new one.")));
}
