/*
 * mk_try.h
 *		Going on after an error.
 */
#ifndef MK_TRY_H
#define MK_TRY_H

/*
 * Calls function(arg) in a subtransaction of its own.  False, and the
 * subtransaction rolled back, if it raised an error whose SQLSTATE "expected"
 * accepts; any other error goes on.  Not in a parallel operation.
 */
extern bool
mk_try(void (*function)(void *arg), void *arg, bool (*expected)(int sqlstate));

#endif /* MK_TRY_H */
