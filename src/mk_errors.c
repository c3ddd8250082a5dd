/*
 * mk_errors.c
 *		Whose fault an error is.
 *
 * A worker's transaction that fails tells something about the record that it works
 * on; but not if the extension itself has refused it, because the group or a
 * producer have changed, or because a call was wrong.  When a transaction aborts,
 * no function tells what its error was: what catches an error forgets it first.  So
 * the extension notes that it raises one, or that one leaves a function of which no
 * error counts.  The note is about the innermost subtransaction: whoever catches
 * the error rolls that back.
 *
 * The SQLSTATE of an error that reaches the client is known, if the server logs
 * errors: it does so before the transaction aborts.  Then nothing was caught, and
 * after the innermost subtransaction the others may abort of the same error: it is
 * forgotten when the client goes on from a savepoint.
 */
#include "postgres.h"

#include "mk_errors.h"

static bool mk_own_error = false;
static int mk_sqlstate = 0;
static emit_log_hook_type mk_next_emit_log = NULL;

int
mk_errcode(int sqlstate)
{
	mk_own_error = true;
	return errcode(sqlstate);
}

Datum
mk_errors_call(PGFunction function, FunctionCallInfo fcinfo)
{
	Datum result;

	PG_TRY();
	{
		result = function(fcinfo);
	}
	PG_CATCH();
	{
		mk_own_error = true;
		PG_RE_THROW();
	}
	PG_END_TRY();
	return result;
}

bool
mk_errors_is_own(void)
{
	return mk_own_error;
}

int
mk_errors_sqlstate(void)
{
	return mk_sqlstate;
}

void
mk_errors_forget(void)
{
	mk_own_error = false;
	mk_sqlstate = 0;
}

void
mk_errors_forget_caught(void)
{
	if (mk_sqlstate == 0)
		mk_errors_forget();
}

static void
mk_emit_log(ErrorData *edata)
{
	/* what follows in a transaction that has failed is no cause */
	if (edata->elevel == ERROR && mk_sqlstate == 0)
		mk_sqlstate = edata->sqlerrcode;
	if (mk_next_emit_log != NULL)
		mk_next_emit_log(edata);
}

void
mk_errors_init(void)
{
	mk_next_emit_log = emit_log_hook;
	emit_log_hook = mk_emit_log;
}
