/*
 * mk_role.h
 *		Owners of things that are not objects of the database: groups,
 *		producers and consumers of the inbox.
 */
#ifndef MK_ROLE_H
#define MK_ROLE_H

#include "nodes/pg_list.h"

/*
 * Whether a user has the rights of the role of this name.  If the role does not
 * exist any more, only a superuser has them.
 */
extern bool mk_role_owns(const char *owner, Oid user);

/*
 * Raises 42501 unless the user has the rights of the owner of a thing; "kind"
 * and "name" are for the message.
 */
extern void mk_role_check_owner(const char *owner, Oid user, const char *kind,
								const char *name);

/*
 * Checks whether the user may give a thing to another role, as ALTER ... OWNER
 * TO does: raises 42501 unless the user has the rights of the owner and may
 * become the new owner, and 42704 if the new owner does not exist.
 */
extern void mk_role_check_give(const char *owner, const char *new_owner,
							   Oid user, const char *kind, const char *name);

/*
 * Looks for the role that a thing belongs to, or, with "granted", is granted
 * to.  If the role does not exist, a new role of that name would get its
 * rights: then it is added to the list.  mk_role_warn raises a WARNING for
 * each role in the list.
 */
extern List *mk_role_look(List *missing, const char *role, const char *kind,
						  const char *name, bool granted);
extern void mk_role_warn(const List *missing);

#endif /* MK_ROLE_H */
