/*
 * mk_owner.c
 *		Running code that the owner of a topic has written: expressions of its
 *		indexes and constraints.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "mk_guc.h"
#include "mk_limit.h"
#include "mk_owner.h"

/* Whether an error comes from the server itself, and so quotes no data. */
static bool
mk_owner_may_pass(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK):
		case ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES):
		case ERRCODE_TO_CATEGORY(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE):
		case ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION):
		case ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR):
			return true;
		default:
			return sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE;
	}
}

/* Whether the error is that a name was not found. */
static bool
mk_owner_is_undefined(int sqlstate)
{
	return sqlstate == ERRCODE_UNDEFINED_FUNCTION ||
		sqlstate == ERRCODE_UNDEFINED_TABLE ||
		sqlstate == ERRCODE_UNDEFINED_OBJECT;
}

void
mk_owner_call(Oid owner, void (*function)(void *arg), void *arg,
			  const char *what)
{
	MemoryContext context = CurrentMemoryContext;
	Oid user;
	int security;
	int nestlevel;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner, security | SECURITY_RESTRICTED_OPERATION);
	nestlevel = NewGUCNestLevel();
	mk_guc_restrict_search_path();
	PG_TRY();
	{
		mk_limit_call(function, arg, what);
	}
	PG_CATCH();
	{
		/* the abort restores user and settings */
		ErrorData *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		if (mk_owner_may_pass(error->sqlerrcode))
		{
			/* these quote statements, which may have been made of contents */
			error->context = NULL;
			error->internalquery = NULL;
			error->internalpos = 0;
			ThrowErrorData(error);
		}
		ereport(ERROR,
				(errcode(error->sqlerrcode), errmsg("%s", what),
				 error->constraint_name != NULL
					 ? errdetail("It violates constraint \"%s\".",
								 error->constraint_name)
					 : 0,
				 mk_owner_is_undefined(error->sqlerrcode)
					 ? errhint("Functions in constraints and indexes run with "
							   "search_path \"pg_catalog, pg_temp\": name the "
							   "schemas, or set a search_path for the "
							   "function.")
					 : 0));
	}
	PG_END_TRY();
	AtEOXact_GUC(false, nestlevel);
	SetUserIdAndSecContext(user, security);
}
