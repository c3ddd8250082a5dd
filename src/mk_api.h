/*
 * mk_api.h
 *		What the SQL-callable functions share: checking and converting
 *		arguments.
 *
 * None of the functions is strict, since a NULL mostly has a meaning; so each
 * argument is taken with one of these.
 */
#ifndef MK_API_H
#define MK_API_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "mk_catalog.h"

/*
 * To be called first: raises 42501 in a security-restricted operation, where
 * somebody else's code may run as the user, and 55000 when the transaction is
 * committing.
 */
extern void mk_api_enter(const char *function);

/* 22023 when the argument is NULL. */
extern void mk_api_require(FunctionCallInfo fcinfo, int arg, const char *name);

/* An argument that must not be NULL, and its name for the message. */
extern char *mk_api_cstring(FunctionCallInfo fcinfo, int arg, const char *name);
extern int32 mk_api_int32(FunctionCallInfo fcinfo, int arg, const char *name);
extern int64 mk_api_int64(FunctionCallInfo fcinfo, int arg, const char *name);
extern bool mk_api_bool(FunctionCallInfo fcinfo, int arg, const char *name);

/* The name of a group, a member or an instance. */
extern char *mk_api_id(FunctionCallInfo fcinfo, int arg, const char *name);

/* An interval, in microseconds; 22023 if it is less than that, or too long. */
extern int64 mk_api_interval(FunctionCallInfo fcinfo, int arg, const char *name,
							 int64 least);

/* The topic named by the argument; see mk_topic_get. */
extern MkTopic *mk_api_topic(FunctionCallInfo fcinfo, int arg, AclMode mode);

/* The same for reading, also for members of pg_monitor. */
extern MkTopic *mk_api_monitored_topic(FunctionCallInfo fcinfo, int arg);

/* The partition of the topic, which must exist. */
extern int32
mk_api_partition(FunctionCallInfo fcinfo, int arg, const MkTopic *topic);

/* A row as the result of the calling function. */
extern Datum mk_api_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

/*
 * Connects a procedure that commits to SPI.  What is not in memory of its own is
 * gone when it does.
 */
extern void mk_api_connect_procedure(FunctionCallInfo fcinfo);

/*
 * For mk_try: whether the error is that a topic is unreadable (altered by hand,
 * row-level security), or was dropped meanwhile.
 */
extern bool mk_api_is_unreadable(int sqlstate);

/* 0A000 for an argument or option that has no effect yet. */
extern void mk_api_not_yet(const char *what);

#endif /* MK_API_H */
