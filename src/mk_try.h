/*
 * mk_try.h
 *		Going on after an error.
 */
#ifndef MK_TRY_H
#define MK_TRY_H

#include "utils/elog.h"

/*
 * Calls function(arg) in a subtransaction of its own.  Returns NULL if it has
 * succeeded.  If it has raised an error whose SQLSTATE "expected" accepts,
 * rolls the subtransaction back and returns the error, in the current memory
 * context; any other error is raised again.  Not to be called in a parallel
 * operation.
 */
extern ErrorData *
mk_try(void (*function)(void *arg), void *arg, bool (*expected)(int sqlstate));

#endif /* MK_TRY_H */
