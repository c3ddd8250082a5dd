/*
 * mk_errors.c
 *		Whose fault an error is.
 *
 * A worker's transaction that fails tells something about the record that it works
 * on; but not if the extension itself has refused it, because the group or a
 * producer have changed.  When a transaction aborts, no function tells what its
 * error was: what catches an error forgets it first.  So the extension notes that
 * it raises one.  The note is about the innermost subtransaction: whoever catches
 * the error rolls that back.
 */
#include "postgres.h"

#include "mk_errors.h"

static bool mk_own_error = false;

int
mk_errcode(int sqlstate)
{
	mk_own_error = true;
	return errcode(sqlstate);
}

bool
mk_errors_is_own(void)
{
	return mk_own_error;
}

void
mk_errors_forget(void)
{
	mk_own_error = false;
}
