/*
 * mk_role.c
 *		Who owns what has an owner, but is no object of the database.
 *
 * The owner is kept by name, so that a dump can be restored where the role is
 * missing.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/acl.h"

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
				 errdetail("It belongs to role \"%s\", which used it first.",
						   owner)));
}
