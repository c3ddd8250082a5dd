/*
 * mk_api.c
 *		What the SQL-callable functions share: checking and converting
 *		arguments.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_group.h"
#include "mk_member.h"
#include "mk_topic.h"
#include "mk_topic_admin.h"
#include "mk_xact.h"

void
mk_api_enter(const char *function)
{
	if (unlikely(InSecurityRestrictedOperation()))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("cannot execute %s within security-restricted operation",
					function)));
	mk_xact_check_open(function);
}

void
mk_api_enter_writer(const char *function)
{
	mk_api_enter(function);
	mk_xact_check_writable(function);
}

void
mk_api_require(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (unlikely(PG_ARGISNULL(arg)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be null", name)));
}

char *
mk_api_cstring(FunctionCallInfo fcinfo, int arg, const char *name)
{
	mk_api_require(fcinfo, arg, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(arg));
}

int32
mk_api_int32(FunctionCallInfo fcinfo, int arg, const char *name)
{
	mk_api_require(fcinfo, arg, name);
	return PG_GETARG_INT32(arg);
}

int64
mk_api_int64(FunctionCallInfo fcinfo, int arg, const char *name)
{
	mk_api_require(fcinfo, arg, name);
	return PG_GETARG_INT64(arg);
}

bool
mk_api_bool(FunctionCallInfo fcinfo, int arg, const char *name)
{
	mk_api_require(fcinfo, arg, name);
	return PG_GETARG_BOOL(arg);
}

int32
mk_api_most(FunctionCallInfo fcinfo, int arg, const char *name)
{
	int32 value = mk_api_int32(fcinfo, arg, name);

	mk_option_check_number(name, value, 1, PG_INT32_MAX);
	return value;
}

char *
mk_api_id(FunctionCallInfo fcinfo, int arg, const char *name)
{
	char *id = mk_api_cstring(fcinfo, arg, name);
	char *what = pstrdup(name);

	for (char *c = what; *c != '\0'; c++)
		if (*c == '_')
			*c = ' ';
	mk_group_check_id(what, id);
	return id;
}

static int
mk_string_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

char **
mk_api_topic_names(FunctionCallInfo fcinfo, int arg, const char *name, int *n)
{
	Datum *datums;
	bool *nulls;
	int total;
	char **names;

	mk_api_require(fcinfo, arg, name);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg), TEXTOID, -1, false,
					  TYPALIGN_INT, &datums, &nulls, &total);
	if (total == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must name a topic", name)));
	names = palloc(total * sizeof(char *));
	for (int i = 0; i < total; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" must not contain nulls", name)));
		names[i] = TextDatumGetCString(datums[i]);
		mk_topic_check_name(names[i]);
	}
	qsort(names, total, sizeof(char *), mk_string_compare);
	*n = 0;
	for (int i = 0; i < total; i++)
		if (i == 0 || strcmp(names[i], names[*n - 1]) != 0)
			names[(*n)++] = names[i];
	return names;
}

int64
mk_api_interval(FunctionCallInfo fcinfo, int arg, const char *name, int64 least)
{
	int64 microseconds;

	mk_api_require(fcinfo, arg, name);
	microseconds = mk_clock_interval(PG_GETARG_INTERVAL_P(arg));
	if (microseconds < least || microseconds > MK_MEMBER_MAX_TIMEOUT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is out of range", name),
				 errdetail("It must be %s, and at most 2147483647 ms.",
						   least > 0 ? "at least 1 ms" : "at least 0")));
	return microseconds;
}

MkTopic *
mk_api_topic(FunctionCallInfo fcinfo, int arg, AclMode mode)
{
	return mk_api_named_topic(fcinfo, arg, "topic", mode);
}

MkTopic *
mk_api_named_topic(FunctionCallInfo fcinfo, int arg, const char *name,
				   AclMode mode)
{
	text *topic;

	mk_api_require(fcinfo, arg, name);
	topic = PG_GETARG_TEXT_PP(arg);
	return mk_topic_get(VARDATA_ANY(topic), VARSIZE_ANY_EXHDR(topic), mode);
}

MkTopic *
mk_api_monitored_topic(FunctionCallInfo fcinfo, int arg)
{
	text *name;

	mk_api_require(fcinfo, arg, "topic");
	name = PG_GETARG_TEXT_PP(arg);
	return mk_topic_get_monitored(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name),
								  ACL_SELECT);
}

int32
mk_api_partition(FunctionCallInfo fcinfo, int arg, const MkTopic *topic)
{
	int32 partition = mk_api_int32(fcinfo, arg, "partition");

	mk_topic_check_partition(topic, partition);
	return partition;
}

Datum
mk_api_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

void
mk_api_connect_procedure(FunctionCallInfo fcinfo)
{
	bool atomic = fcinfo->context == NULL ||
		!IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic;

	SPI_connect_ext(atomic ? 0 : SPI_OPT_NONATOMIC);
}

bool
mk_api_is_unreadable(int sqlstate)
{
	return sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlstate == ERRCODE_UNDEFINED_OBJECT;
}

void
mk_api_not_yet(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s is not supported in this version of minikafka", what)));
}
