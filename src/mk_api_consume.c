/*
 * mk_api_consume.c
 *		The SQL functions that read records and commit offsets.
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_compat.h"
#include "mk_consumer.h"
#include "mk_log.h"
#include "mk_topic.h"
#include "mk_try.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * fetch(), fetch_text(), fetch_json()
 */

typedef enum MkForm
{
	MK_FORM_BYTEA,
	MK_FORM_TEXT,
	MK_FORM_JSON
} MkForm;

typedef struct MkFetch
{
	MkForm form;
	const MkTopic *topic;
	int32 partition;
	Datum topic_name;
	Datum no_headers;
	ReturnSetInfo *rsinfo;
	int64 found;
} MkFetch;

/* The argument is a C string, and then the jsonb. */
static void
mk_jsonb_in(void *datum)
{
	*(Datum *) datum = DirectFunctionCall1(jsonb_in, *(Datum *) datum);
}

/* Also what jsonb cannot hold, and what nests too deeply. */
static bool
mk_is_no_jsonb(int sqlstate)
{
	return ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_DATA_EXCEPTION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/*
 * Decodes a key or a value in place.  NULL, or why it cannot be decoded, as a
 * sentence.
 */
static const char *
mk_decode(Datum *datum, bool isnull, MkForm form)
{
	text *decoded;
	ErrorData *error;

	if (isnull || form == MK_FORM_BYTEA)
		return NULL;
	decoded = mk_api_utf8_to_text(PG_DETOAST_DATUM_PACKED(*datum));
	if (decoded == NULL)
		return GetDatabaseEncoding() == PG_UTF8
			? "It is not valid UTF-8."
			: psprintf(
				  "It is not valid UTF-8, or encoding %s lacks a character "
				  "of it.",
				  GetDatabaseEncodingName());
	if (form == MK_FORM_TEXT)
	{
		*datum = PointerGetDatum(decoded);
		return NULL;
	}
	*datum = CStringGetDatum(text_to_cstring(decoded));
	error = mk_try(mk_jsonb_in, datum, mk_is_no_jsonb);
	if (error == NULL)
		return NULL;
	return error->detail == NULL
		? psprintf("%s.", error->message)
		: psprintf("%s: %s", error->message, error->detail);
}

/* The sink of mk_log_read: a row of the result. */
static bool
mk_fetch_row(const MkLogRecord *r, void *arg)
{
	MkFetch *f = arg;
	Datum values[7];
	bool nulls[7] = {0};
	MkForm key_form = f->form == MK_FORM_JSON ? MK_FORM_TEXT : f->form;
	const char *why;

	values[0] = f->topic_name;
	values[1] = Int32GetDatum(f->partition);
	values[2] = Int64GetDatum(r->offset);
	values[3] = TimestampTzGetDatum(r->ts);
	values[4] = r->record.key;
	nulls[4] = r->record.key_isnull;
	values[5] = r->record.value;
	nulls[5] = r->record.value_isnull;
	values[6] = r->record.headers_isnull ? f->no_headers : r->record.headers;

	why = mk_decode(&values[4], nulls[4], key_form);
	if (why == NULL)
		why = mk_decode(&values[5], nulls[5], f->form);
	if (why != NULL)
	{
		/* the records before it are returned, and the next call fails */
		if (f->found > 0)
			return false;
		ereport(ERROR,
				(errcode(f->form == MK_FORM_JSON
							 ? ERRCODE_INVALID_TEXT_REPRESENTATION
							 : ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("cannot read the record at offset " INT64_FORMAT
						" of topic \"%s\" partition %d as %s",
						r->offset, NameStr(f->topic->name), f->partition,
						f->form == MK_FORM_JSON ? "JSON" : "text"),
				 errdetail_internal("%s", why),
				 errhint("Read it as bytes with minikafka.fetch(), and go on "
						 "at offset " INT64_FORMAT " to step over it.",
						 r->offset + 1)));
	}
	tuplestore_putvalues(f->rsinfo->setResult, f->rsinfo->setDesc, values,
						 nulls);
	f->found++;
	return true;
}

/* fetch(topic, partition, start_offset, max_records, max_bytes) */
static Datum
mk_fetch(FunctionCallInfo fcinfo, MkForm form)
{
	MkFetch f;
	int64 start;
	int32 max_records;
	int32 max_bytes;

	mk_api_enter("fetch()");
	f.topic = mk_api_topic(fcinfo, 0, ACL_SELECT);
	f.partition = mk_api_partition(fcinfo, 1, f.topic);
	start = mk_api_int64(fcinfo, 2, "start_offset");
	max_records = mk_api_int32(fcinfo, 3, "max_records");
	max_bytes = mk_api_int32(fcinfo, 4, "max_bytes");
	mk_topic_check_number("start_offset", start, 0, PG_INT64_MAX);
	mk_topic_check_number("max_records", max_records, 1, PG_INT32_MAX);
	mk_topic_check_number("max_bytes", max_bytes, 1, PG_INT32_MAX);

	InitMaterializedSRF(fcinfo, 0);
	f.form = form;
	f.topic_name = PG_GETARG_DATUM(0);
	f.no_headers = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	f.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	f.found = 0;
	mk_log_read(f.topic, f.partition, start, max_records, max_bytes,
				GetActiveSnapshot(), mk_fetch_row, &f);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(minikafka_fetch);
Datum
minikafka_fetch(PG_FUNCTION_ARGS)
{
	return mk_fetch(fcinfo, MK_FORM_BYTEA);
}

PG_FUNCTION_INFO_V1(minikafka_fetch_text);
Datum
minikafka_fetch_text(PG_FUNCTION_ARGS)
{
	return mk_fetch(fcinfo, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_fetch_json);
Datum
minikafka_fetch_json(PG_FUNCTION_ARGS)
{
	return mk_fetch(fcinfo, MK_FORM_JSON);
}

/* ---------------------------------------------------------------------------
 * offsets(), offset_for_time()
 */

/* A composite result of the calling function. */
static Datum
mk_row(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

typedef struct MkOffsets
{
	FunctionCallInfo fcinfo;
	Datum values[2];
	bool nulls[2];
} MkOffsets;

/* offsets(topic, partition) */
static void
mk_offsets(void *arg)
{
	MkOffsets *o = arg;
	FunctionCallInfo fcinfo = o->fcinfo;
	MkTopic *topic;
	int32 partition;

	topic = mk_api_monitored_topic(fcinfo, 0);
	partition = mk_api_partition(fcinfo, 1, topic);
	o->values[1] = Int64GetDatum(mk_log_end(topic, partition));
	o->values[0] = Int64GetDatum(mk_log_start(topic, partition));
}

PG_FUNCTION_INFO_V1(minikafka_offsets);
Datum
minikafka_offsets(PG_FUNCTION_ARGS)
{
	MkOffsets o = {.fcinfo = fcinfo};

	mk_api_enter("offsets()");
	mk_offsets(&o);
	return mk_row(fcinfo, o.values, o.nulls);
}

/* What makes a topic unreadable, or makes it go away meanwhile. */
static bool
mk_is_unreadable(int sqlstate)
{
	return sqlstate == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ||
		sqlstate == ERRCODE_FEATURE_NOT_SUPPORTED ||
		sqlstate == ERRCODE_UNDEFINED_OBJECT;
}

/* The same for a view over all topics, of which one may be broken. */
PG_FUNCTION_INFO_V1(minikafka_try_offsets);
Datum
minikafka_try_offsets(PG_FUNCTION_ARGS)
{
	MkOffsets o = {.fcinfo = fcinfo};

	mk_api_enter("try_offsets()");
	if (mk_try(mk_offsets, &o, mk_is_unreadable) != NULL)
		memset(o.nulls, true, sizeof(o.nulls));
	return mk_row(fcinfo, o.values, o.nulls);
}

PG_FUNCTION_INFO_V1(minikafka_offset_for_time);
Datum
minikafka_offset_for_time(PG_FUNCTION_ARGS)
{
	MkTopic *topic;
	int32 partition;
	int64 offset;

	mk_api_enter("offset_for_time()");
	topic = mk_api_topic(fcinfo, 0, ACL_SELECT);
	partition = mk_api_partition(fcinfo, 1, topic);
	mk_api_require(fcinfo, 2, "ts");
	offset = mk_log_offset_for_time(topic, partition, PG_GETARG_TIMESTAMPTZ(2),
									GetActiveSnapshot());
	if (offset < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(offset);
}

/* ---------------------------------------------------------------------------
 * Plain consumers
 */

static char *
mk_api_group_id(FunctionCallInfo fcinfo, int arg)
{
	char *group_id = mk_api_cstring(fcinfo, arg, "group_id");

	mk_consumer_check_group_id(group_id);
	return group_id;
}

/*
 * commit_offset(group_id, topic, partition, next_offset, metadata, member_id,
 * generation)
 */
PG_FUNCTION_INFO_V1(minikafka_commit_offset);
Datum
minikafka_commit_offset(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkTopic *topic;
	int32 partition;
	int64 next_offset;
	char *metadata;

	mk_api_enter("commit_offset()");
	mk_xact_check_writable("commit_offset()");
	group_id = mk_api_group_id(fcinfo, 0);
	topic = mk_api_topic(fcinfo, 1, ACL_SELECT);
	partition = mk_api_partition(fcinfo, 2, topic);
	next_offset = mk_api_int64(fcinfo, 3, "next_offset");
	metadata = PG_ARGISNULL(4) ? NULL : mk_api_cstring(fcinfo, 4, "metadata");
	if (metadata != NULL && strlen(metadata) > MK_CONSUMER_MAX_METADATA)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("metadata of %zu bytes is too large", strlen(metadata)),
				 errdetail("It may have %d bytes.", MK_CONSUMER_MAX_METADATA)));
	if (!PG_ARGISNULL(5))
		mk_api_not_yet("argument \"member_id\"");
	if (!PG_ARGISNULL(6))
		mk_api_not_yet("argument \"generation\"");
	mk_consumer_commit(group_id, topic, partition, next_offset, metadata);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_committed);
Datum
minikafka_committed(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkTopic *topic;
	int64 offset;

	mk_api_enter("committed()");
	group_id = mk_api_group_id(fcinfo, 0);
	topic = mk_api_monitored_topic(fcinfo, 1);
	offset = mk_consumer_committed(group_id, topic,
								   mk_api_partition(fcinfo, 2, topic));
	if (offset < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(offset);
}

typedef struct MkLagCall
{
	const char *group_id;
	const MkGroup *group;
	const MkTopic *topic;
	int32 partition;
	MkLag lag;
} MkLagCall;

static void
mk_lag_call(void *arg)
{
	MkLagCall *call = arg;

	mk_consumer_lag(call->group_id, call->group, call->topic, call->partition,
					&call->lag);
}

/*
 * The rows of lag() for one topic; with "quietly", NULLs where the topic
 * cannot be read.
 */
static void
mk_lag_rows(ReturnSetInfo *rsinfo, const char *group_id, const MkGroup *group,
			const MkTopic *topic, bool quietly)
{
	for (int32 i = 0; i < topic->npartitions; i++)
	{
		MkLagCall call = {.group_id = group_id,
						  .group = group,
						  .topic = topic,
						  .partition = i};
		Datum values[8] = {0};
		bool nulls[8] = {0};
		Interval *time_lag = palloc0(sizeof(Interval));

		CHECK_FOR_INTERRUPTS();
		if (!quietly)
			mk_lag_call(&call);
		else if (mk_try(mk_lag_call, &call, mk_is_unreadable) != NULL)
			memset(nulls, true, sizeof(nulls));
		time_lag->time = call.lag.time_lag;
		values[0] = CStringGetTextDatum(NameStr(topic->name));
		values[1] = Int32GetDatum(i);
		nulls[0] = nulls[1] = false;
		values[2] = Int64GetDatum(call.lag.log_start);
		values[3] = Int64GetDatum(call.lag.end);
		values[4] = Int64GetDatum(call.lag.committed);
		nulls[4] |= call.lag.committed < 0;
		values[5] = Int64GetDatum(call.lag.lag);
		values[6] = IntervalPGetDatum(time_lag);
		nulls[7] = true;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* lag(group_id, topic) */
PG_FUNCTION_INFO_V1(minikafka_lag);
Datum
minikafka_lag(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	char *group_id;
	MkGroup group;

	mk_api_enter("lag()");
	group_id = mk_api_group_id(fcinfo, 0);
	if (!mk_consumer_find_group(group_id, &group))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("group \"%s\" does not exist", group_id),
				 errhint("The first minikafka.commit_offset() makes it.")));
	InitMaterializedSRF(fcinfo, 0);
	if (!PG_ARGISNULL(1))
		mk_lag_rows(rsinfo, group_id, &group, mk_api_monitored_topic(fcinfo, 1),
					false);
	else
	{
		List *topics = mk_consumer_topics(&group);
		ListCell *lc;

		foreach (lc, topics)
			mk_lag_rows(rsinfo, group_id, &group, lfirst(lc), true);
	}
	return (Datum) 0;
}
