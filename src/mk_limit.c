/*
 * mk_limit.c
 *		Running code that must come to an end soon.
 *
 * A timer cancels the code, as statement_timeout does.  The error of the
 * cancel becomes one of the extension's own, since a cancel would end a whole
 * pass of maintenance.  Code may catch a cancel and go on, so the timer
 * cancels it again and again.  Code that catches many cancels loses its
 * session, since other sessions wait for the locks that it holds.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "mk_limit.h"

/*
 * After the limit, the code is cancelled at this interval; after so many
 * cancels its session ends.
 */
#define MK_LIMIT_AGAIN_MS 100
#define MK_LIMIT_CANCELS  50

static TimeoutId mk_limit_timer = MAX_TIMEOUTS;
static bool mk_limit_active = false;
static volatile int mk_limit_cancels;

/* The timer's handler; in a signal handler, so it only sets flags. */
static void
mk_limit_handler(void)
{
	if (++mk_limit_cancels > MK_LIMIT_CANCELS)
		ProcDiePending = true;
	QueryCancelPending = true;
	InterruptPending = true;
}

static void
mk_limit_begin(void)
{
	if (mk_limit_timer == MAX_TIMEOUTS)
		mk_limit_timer = RegisterTimeout(USER_TIMEOUT, mk_limit_handler);
	mk_limit_cancels = 0;
	mk_limit_active = true;
	enable_timeout_every(
		mk_limit_timer,
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), MK_LIMIT_MS),
		MK_LIMIT_AGAIN_MS);
}

/* Stops the timer; true if the limit has passed. */
static bool
mk_limit_end(void)
{
	disable_timeout(mk_limit_timer, false);
	mk_limit_active = false;
	if (mk_limit_cancels == 0)
		return false;
	/* a cancel that the code has not processed yet */
	QueryCancelPending = false;
	return true;
}

static void
mk_limit_exceeded(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", what),
			 errdetail("Code of the table's owner ran for more than %d "
					   "seconds.",
					   MK_LIMIT_MS / 1000),
			 errhint("Look at the functions in the table's constraints and "
					 "indexes.")));
}

void
mk_limit_call(void (*function)(void *arg), void *arg, const char *what)
{
	MemoryContext context = CurrentMemoryContext;

	if (mk_limit_active)
	{
		function(arg);
		return;
	}
	mk_limit_begin();
	PG_TRY();
	{
		function(arg);
	}
	PG_CATCH();
	{
		if (mk_limit_end() && geterrcode() == ERRCODE_QUERY_CANCELED)
		{
			MemoryContextSwitchTo(context);
			FlushErrorState();
			mk_limit_exceeded(what);
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (mk_limit_end())
		mk_limit_exceeded(what);
}
