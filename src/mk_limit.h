/*
 * mk_limit.h
 *		Running what must come to an end soon: what the owner of a table has
 *		written, where others wait for it.
 */
#ifndef MK_LIMIT_H
#define MK_LIMIT_H

/* How long it may run, in milliseconds */
#define MK_LIMIT_MS 5000

/*
 * Calls the function.  Raises 55000 with the message "what" if it runs for
 * longer than the limit; a cancel by a user stays a cancel.  Calls inside of
 * the function are under the limit that there is.
 */
extern void
mk_limit_call(void (*function)(void *arg), void *arg, const char *what);

#endif /* MK_LIMIT_H */
