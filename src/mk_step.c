/*
 * mk_step.c
 *		Steps: parts of maintenance, each in a transaction of its own.
 *
 * A step holds its locks and its snapshot for a fraction of a second.  Its work
 * stays done if a later step fails.
 *
 * In a pass over everything each step runs in a subtransaction, so that its
 * error becomes a warning and the pass goes on, and under a short lock_timeout.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "mk_guc.h"
#include "mk_step.h"
#include "mk_try.h"

/* How long a step of a pass waits for a lock. */
#define MK_LOCK_TIMEOUT "1s"

typedef struct MkStepCall
{
	MkStep step;
	void *arg;
	MemoryContext context; /* to run it in; NULL: the current one */
} MkStepCall;

/* PostgreSQL's own error does not tell what to do. */
void
mk_step_commit(void)
{
	if (!SPI_inside_nonatomic_context() || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("procedure cannot commit in a transaction block"),
				 errdetail("A function, or a PL/pgSQL block with EXCEPTION, "
						   "does not allow this either."),
				 errhint("Call it outside of a transaction block.")));
	SPI_commit();
}

void
mk_step_begin(MkSteps *steps, bool is_pass,
			  void (*report)(const char *activity))
{
	steps->is_pass = is_pass;
	steps->report = report;
	steps->context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka maintenance", ALLOCSET_DEFAULT_SIZES);
	mk_step_commit();
}

void
mk_step_end(MkSteps *steps)
{
	MemoryContextDelete(steps->context);
	steps->context = NULL;
}

/* Runs a step of a pass, in its subtransaction. */
static void
mk_step_call(void *arg)
{
	const MkStepCall *call = arg;

	/* the setting ends with the subtransaction */
	mk_guc_set("lock_timeout", MK_LOCK_TIMEOUT);
	if (call->context != NULL)
		MemoryContextSwitchTo(call->context);
	call->step(call->arg);
}

/* A pass survives all errors but a cancel and a shutdown. */
static bool
mk_step_may_fail(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) != ERRCODE_OPERATOR_INTERVENTION;
}

void
mk_step_report(const ErrorData *error, const char *what)
{
	/* another session holds a lock, or has dropped the step's object */
	bool quiet = error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT ||
		!OidIsValid(get_extension_oid("minikafka", true));

	ereport(
		quiet ? DEBUG1 : WARNING,
		(errcode(error->sqlerrcode),
		 errmsg("%s failed: %s", what, error->message),
		 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
		 error->hint != NULL ? errhint("%s", error->hint) : 0));
}

/* Begins the transaction of a step. */
static void
mk_step_enter(const MkSteps *steps, const char *what)
{
	Assert(!ActiveSnapshotSet());
	if (steps->report != NULL)
		steps->report(what);
	/* whatever the session's default: a step sees the rows as they are now */
	XactIsoLevel = XACT_READ_COMMITTED;
	PushActiveSnapshot(GetTransactionSnapshot());
}

/* See mk_step_run and mk_step_run_async. */
static bool
mk_step_do(const MkSteps *steps, MkStep step, void *arg, const char *what,
		   bool asynchronous)
{
	MkStepCall call = {step, arg, NULL};
	ErrorData *error = NULL;
	MemoryContext context = AllocSetContextCreate(
		steps->context, "minikafka step", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool failed;

	mk_step_enter(steps, what);
	if (asynchronous)
		mk_guc_set("synchronous_commit", "off");
	if (steps->is_pass)
		error = mk_try(mk_step_call, &call, mk_step_may_fail);
	else
		step(arg);
	PopActiveSnapshot();
	if (error != NULL)
		mk_step_report(error, what);
	failed = error != NULL;
	SPI_commit();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	CHECK_FOR_INTERRUPTS();
	return !failed;
}

bool
mk_step_run(const MkSteps *steps, MkStep step, void *arg, const char *what)
{
	return mk_step_do(steps, step, arg, what, false);
}

bool
mk_step_run_async(const MkSteps *steps, MkStep step, void *arg,
				  const char *what)
{
	return mk_step_do(steps, step, arg, what, true);
}

/*
 * Commits a step.  If that fails, SPI has ended the transaction and begun another
 * one, and the error can be dealt with as that of a subtransaction.
 */
static ErrorData *
mk_step_try_commit(MemoryContext context)
{
	ErrorData *volatile error = NULL;

	PG_TRY();
	{
		SPI_commit();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (!mk_step_may_fail(error->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	return error;
}

ErrorData *
mk_step_try(const MkSteps *steps, MkStep step, void *arg, const char *what)
{
	MemoryContext context = AllocSetContextCreate(
		steps->context, "minikafka step", ALLOCSET_DEFAULT_SIZES);
	MkStepCall call = {step, arg, context};
	ErrorData *error;
	ErrorData *commit_error;
	MemoryContext old = MemoryContextSwitchTo(steps->context);

	mk_step_enter(steps, what);
	/* to the end of the transaction, for its commit */
	mk_guc_set("lock_timeout", MK_LOCK_TIMEOUT);
	error = mk_try(mk_step_call, &call, mk_step_may_fail);
	PopActiveSnapshot();
	commit_error = mk_step_try_commit(steps->context);
	if (error == NULL)
		error = commit_error;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	CHECK_FOR_INTERRUPTS();
	return error;
}

typedef struct MkStepList
{
	MemoryContext context;
	List *(*lister)(void);
	List *list;
} MkStepList;

static void
mk_step_do_list(void *arg)
{
	MkStepList *l = arg;
	MemoryContext old = MemoryContextSwitchTo(l->context);

	l->list = l->lister();
	MemoryContextSwitchTo(old);
}

List *
mk_step_list(const MkSteps *steps, List *(*lister)(void), const char *what)
{
	MkStepList l = {.context = steps->context, .lister = lister};

	(void) mk_step_run(steps, mk_step_do_list, &l, what);
	return l.list;
}
