/*
 * mk_role.c
 *		Owners of things that are not objects of the database: groups,
 *		producers and consumers of the inbox.
 *
 * An owner is stored by name, so that a dump can be restored where the role
 * does not exist.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"

#include "mk_compat.h"
#include "mk_role.h"

bool
mk_role_owns(const char *owner, Oid user)
{
	Oid role = get_role_oid(owner, true);

	return OidIsValid(role) ? has_privs_of_role(user, role)
							: superuser_arg(user);
}

void
mk_role_check_owner(const char *owner, Oid user, const char *kind,
					const char *name)
{
	if (!mk_role_owns(owner, user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for %s \"%s\"", kind, name),
				 errdetail("It belongs to role \"%s\".", owner)));
}

void
mk_role_check_give(const char *owner, const char *new_owner, Oid user,
				   const char *kind, const char *name)
{
	mk_role_check_owner(owner, user, kind, name);
	mk_check_can_set_role(user, get_role_oid(new_owner, false));
}

/* ---------------------------------------------------------------------------
 * Roles that do not exist
 */

/* A role that does not exist, and what names it. */
typedef struct MkMissingRole
{
	char *role;
	int count; /* of the things that name it */
	char *what; /* the first of these, and "belongs" or "is granted" */
} MkMissingRole;

List *
mk_role_look(List *missing, const char *role, const char *kind,
			 const char *name, bool granted)
{
	MkMissingRole *m;
	ListCell *lc;

	if (OidIsValid(get_role_oid(role, true)))
		return missing;
	foreach (lc, missing)
	{
		m = lfirst(lc);
		if (strcmp(m->role, role) == 0)
		{
			m->count++;
			return missing;
		}
	}
	m = palloc(sizeof(MkMissingRole));
	m->role = pstrdup(role);
	m->count = 1;
	m->what = psprintf("%s \"%s\" %s", kind, name,
					   granted ? "is granted" : "belongs");
	return lappend(missing, m);
}

void
mk_role_warn(const List *missing)
{
	ListCell *lc;

	foreach (lc, missing)
	{
		const MkMissingRole *m = lfirst(lc);

		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("%s to role \"%s\", which does not exist", m->what,
						m->role),
				 m->count > 1
					 ? errdetail_plural("It is named by %d other group, "
										"producer or inbox consumer.",
										"It is named by %d other groups, "
										"producers or inbox consumers.",
										m->count - 1, m->count - 1)
					 : 0,
				 errhint("A new role of that name would have the rights. Use "
						 "minikafka.set_group_owner(), "
						 "minikafka.set_producer_owner(), "
						 "minikafka.set_inbox_owner() or "
						 "minikafka.revoke_group().")));
	}
}
