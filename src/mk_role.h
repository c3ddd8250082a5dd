/*
 * mk_role.h
 *		Who owns what has an owner, but is no object of the database.
 */
#ifndef MK_ROLE_H
#define MK_ROLE_H

/*
 * Whether a user has the rights of the role of this name; if there is none any
 * more, only a superuser has.
 */
extern bool mk_role_owns(const char *owner, Oid user);

/* 42501 for the user that does not; "kind" and "name" say of what. */
extern void mk_role_check_owner(const char *owner, Oid user, const char *kind,
								const char *name);

#endif /* MK_ROLE_H */
