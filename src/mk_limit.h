/*
 * mk_limit.h
 *		Running code that must come to an end soon: code that the owner of a
 *		table has written, while other sessions wait for its locks.
 */
#ifndef MK_LIMIT_H
#define MK_LIMIT_H

/* The limit, in milliseconds. */
#define MK_LIMIT_MS 5000

/*
 * Calls the function.  Raises 55000 with the message "what" if it runs for
 * longer than the limit.  A cancel by a user stays a cancel.  If the function
 * calls this again, the inner call has no limit of its own.
 */
extern void
mk_limit_call(void (*function)(void *arg), void *arg, const char *what);

#endif /* MK_LIMIT_H */
