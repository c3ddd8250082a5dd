/*
 * mk_api.h
 *		What the SQL-callable functions share: checking and converting
 *		arguments.
 *
 * None of the SQL functions is strict, since NULL has a meaning for most
 * arguments.  So they get each argument by one of these functions.
 */
#ifndef MK_API_H
#define MK_API_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "mk_catalog.h"

/*
 * Each SQL function calls this first: raises 42501 in a security-restricted
 * operation, where the code of another role may run as the user, and 55000
 * when the transaction is committing.
 */
extern void mk_api_enter(const char *function);

/* The same for a function that writes; see mk_xact_check_writable. */
extern void mk_api_enter_writer(const char *function);

/* Raises 22023 if the argument is NULL. */
extern void mk_api_require(FunctionCallInfo fcinfo, int arg, const char *name);

/* Get an argument, or raise 22023 if it is NULL; "name" is for the message. */
extern char *mk_api_cstring(FunctionCallInfo fcinfo, int arg, const char *name);
extern int32 mk_api_int32(FunctionCallInfo fcinfo, int arg, const char *name);
extern int64 mk_api_int64(FunctionCallInfo fcinfo, int arg, const char *name);
/* The same for a number that must be positive. */
extern int32 mk_api_most(FunctionCallInfo fcinfo, int arg, const char *name);
extern bool mk_api_bool(FunctionCallInfo fcinfo, int arg, const char *name);

/*
 * Gets the name of a group, a member, an instance, a producer, a consumer or an
 * event; 22023 if it is NULL, empty or too long.
 */
extern char *mk_api_id(FunctionCallInfo fcinfo, int arg, const char *name);

/*
 * Gets an interval, in microseconds; 22023 if it is NULL, less than "least" or
 * too long.
 */
extern int64 mk_api_interval(FunctionCallInfo fcinfo, int arg, const char *name,
							 int64 least);

/* Gets the topic that the argument names; see mk_topic_get. */
extern MkTopic *mk_api_topic(FunctionCallInfo fcinfo, int arg, AclMode mode);

/* The same for an argument of another name than "topic". */
extern MkTopic *mk_api_named_topic(FunctionCallInfo fcinfo, int arg,
								   const char *name, AclMode mode);

/* The same for reading; members of pg_monitor need no right to the topic. */
extern MkTopic *mk_api_monitored_topic(FunctionCallInfo fcinfo, int arg);

/*
 * Gets an array of names of topics, which need not exist: sorted, each once.
 * 22023 if it or an element is NULL, if it is empty, and for a name that no
 * topic can have.
 */
extern char **
mk_api_topic_names(FunctionCallInfo fcinfo, int arg, const char *name, int *n);

/* Gets a partition of the topic; 42704 if it does not exist. */
extern int32
mk_api_partition(FunctionCallInfo fcinfo, int arg, const MkTopic *topic);

/* Makes a row of the result type of the SQL function that calls this. */
extern Datum mk_api_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/*
 * Connects a procedure to SPI, so that it can commit where that is allowed: see
 * mk_step_commit.  A commit frees all memory that the procedure has not allocated
 * in a context of its own.
 */
extern void mk_api_connect_procedure(FunctionCallInfo fcinfo);

/*
 * For mk_try: whether an error means that a topic cannot be read (it was
 * altered, or row-level security applies), or that it was dropped meanwhile.
 */
extern bool mk_api_is_unreadable(int sqlstate);

/* Raises 0A000 for an argument or option that has no effect yet. */
extern void mk_api_not_yet(const char *what);

#endif /* MK_API_H */
