/*
 * mk_step.h
 *		Steps: parts of maintenance, each in a transaction of its own.
 */
#ifndef MK_STEP_H
#define MK_STEP_H

#include "nodes/pg_list.h"
#include "utils/elog.h"

/* What all steps of one call have in common. */
typedef struct MkSteps
{
	bool is_pass; /* over everything: goes on after errors, never waits long */
	void (*report)(const char *activity); /* or NULL */
	MemoryContext context; /* of what outlives a step */
} MkSteps;

/*
 * Commits the transaction of a procedure, which is connected to SPI.  2D000 if
 * it was called where it cannot commit.
 */
extern void mk_step_commit(void);

/*
 * Prepares for steps: ends the current transaction, whose snapshot and isolation
 * level do not suit them.  The caller is connected to SPI and may commit
 * (SPI_OPT_NONATOMIC), and holds no snapshot and no lock that it still needs.
 */
extern void mk_step_begin(MkSteps *steps, bool is_pass,
						  void (*report)(const char *activity));
extern void mk_step_end(MkSteps *steps);

/*
 * Runs step(arg) in a memory context of its own, and commits; false if the step
 * failed, which only a step of a pass survives.  "what" names the step in the
 * warning about that and in pg_stat_activity.
 */
typedef void (*MkStep)(void *arg);
extern bool
mk_step_run(const MkSteps *steps, MkStep step, void *arg, const char *what);

/*
 * The same without waiting for the WAL flush: for a step that the next pass
 * repeats if a crash undoes it.
 */
extern bool mk_step_run_async(const MkSteps *steps, MkStep step, void *arg,
							  const char *what);

/*
 * The same, and survives an error of the step whoever calls it, and one of its commit, during
 * which it waits for no lock longer than a step of a pass does.  Returns the error,
 * in steps->context, or NULL; reports nothing.
 */
extern ErrorData *
mk_step_try(const MkSteps *steps, MkStep step, void *arg, const char *what);

/* Reports the error of a step of a pass as a WARNING, if it is worth one. */
extern void mk_step_report(const ErrorData *error, const char *what);

/*
 * Calls the lister in a step.  Returns its list, in steps->context; NIL if the
 * step fails.
 */
extern List *
mk_step_list(const MkSteps *steps, List *(*lister)(void), const char *what);

#endif /* MK_STEP_H */
