/*
 * mk_role.h
 *		Who owns what has an owner, but is no object of the database: groups,
 *		producers, consumers of the inbox.
 */
#ifndef MK_ROLE_H
#define MK_ROLE_H

#include "nodes/pg_list.h"

/*
 * Whether a user has the rights of the role of this name; if there is none any
 * more, only a superuser has.
 */
extern bool mk_role_owns(const char *owner, Oid user);

/* 42501 for the user that does not; "kind" and "name" say of what. */
extern void mk_role_check_owner(const char *owner, Oid user, const char *kind,
								const char *name);

/*
 * For giving it to another role, as ALTER ... OWNER TO: 42501 unless the user
 * has the rights of the owner and may become the new one, 42704 if there is no
 * role of that name.
 */
extern void mk_role_check_give(const char *owner, const char *new_owner,
							   Oid user, const char *kind, const char *name);

/*
 * Looks for the role that something belongs to, or is granted to.  If it does not
 * exist, so that a new role of that name would get the rights, it is added to the
 * list, of which the second function warns.
 */
extern List *mk_role_look(List *missing, const char *role, const char *kind,
						  const char *name, bool granted);
extern void mk_role_warn(const List *missing);

#endif /* MK_ROLE_H */
