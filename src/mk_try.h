/*
 * mk_try.h
 *		Going on after an error.
 */
#ifndef MK_TRY_H
#define MK_TRY_H

#include "utils/elog.h"

/*
 * Calls function(arg) in a subtransaction of its own.  NULL, or if it raised
 * an error whose SQLSTATE "expected" accepts, that, and the subtransaction is
 * rolled back; any other error goes on.  Not in a parallel operation.
 */
extern ErrorData *
mk_try(void (*function)(void *arg), void *arg, bool (*expected)(int sqlstate));

#endif /* MK_TRY_H */
