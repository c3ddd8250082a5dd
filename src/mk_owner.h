/*
 * mk_owner.h
 *		Running code that the owner of a topic has written: expressions of its
 *		indexes and constraints.
 */
#ifndef MK_OWNER_H
#define MK_OWNER_H

/*
 * Calls the function as that role, in a security-restricted operation and with
 * a search_path that the caller cannot choose, as REINDEX does.  The function
 * may run for the limit of mk_limit_call.
 *
 * An error of the function may quote a key or a value.  So it is raised again
 * with its SQLSTATE, but with the message "what", which must not contain any
 * data.  Errors of the server itself (cancel, shutdown, no memory, no lock, no
 * right, a serialization failure) stay as they are, except that they lose the
 * context inside the function, which quotes statements.
 */
extern void mk_owner_call(Oid owner, void (*function)(void *arg), void *arg,
						  const char *what);

#endif /* MK_OWNER_H */
