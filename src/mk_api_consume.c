/*
 * mk_api_consume.c
 *		The SQL functions that read records.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_api_record.h"
#include "mk_compact.h"
#include "mk_compat.h"
#include "mk_json.h"
#include "mk_log.h"
#include "mk_poll.h"
#include "mk_topic.h"
#include "mk_try.h"
#include "mk_utf8.h"

/* ---------------------------------------------------------------------------
 * fetch(), fetch_text(), fetch_json()
 */

/* The next record of a partition, which cannot be decoded */
typedef struct MkRefusal
{
	char *topic;
	int32 partition;
	int64 offset;
	char *why;
} MkRefusal;

/* The rows of a result */
typedef struct MkRecordRows
{
	MkForm form;
	ReturnSetInfo *rsinfo;
	const MkTopic *topic; /* of the row before */
	int32 partition;
	Datum topic_name;
	int64 found;
	int64 found_here; /* in the partition */
	List *refusals; /* of MkRefusal */
	const char *skip; /* how to skip a record, for a hint */
} MkRecordRows;

/* "skip" is how to skip a record, for a hint. */
static void
mk_record_rows_begin(MkRecordRows *rows, FunctionCallInfo fcinfo, MkForm form,
					 const char *skip)
{
	InitMaterializedSRF(fcinfo, 0);
	memset(rows, 0, sizeof(*rows));
	rows->form = form;
	rows->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	rows->skip = skip;
}

/* Remembers a record that cannot be decoded. */
static void
mk_record_refuse(MkRecordRows *rows, const MkTopic *topic, int32 partition,
				 int64 offset, const char *why)
{
	MemoryContext old =
		MemoryContextSwitchTo(rows->rsinfo->econtext->ecxt_per_query_memory);
	MkRefusal *refusal = palloc(sizeof(MkRefusal));

	refusal->topic = pstrdup(NameStr(topic->name));
	refusal->partition = partition;
	refusal->offset = offset;
	refusal->why = pstrdup(why);
	rows->refusals = lappend(rows->refusals, refusal);
	MemoryContextSwitchTo(old);
}

/*
 * Adds a row.  False for a record that cannot be decoded: the call returns the
 * records of its partition before it.  If it is the partition's first record, it
 * is also reported.
 */
static bool
mk_record_row(MkRecordRows *rows, const MkTopic *topic, int32 partition,
			  const MkLogRecord *r)
{
	Datum values[2 + MK_API_RECORD_COLUMNS];
	bool nulls[2 + MK_API_RECORD_COLUMNS] = {0};
	const char *why;

	if (topic != rows->topic)
	{
		MemoryContext old = MemoryContextSwitchTo(
			rows->rsinfo->econtext->ecxt_per_query_memory);

		rows->topic_name = CStringGetTextDatum(NameStr(topic->name));
		MemoryContextSwitchTo(old);
	}
	if (topic != rows->topic || partition != rows->partition)
		rows->found_here = 0;
	rows->topic = topic;
	rows->partition = partition;

	values[0] = rows->topic_name;
	values[1] = Int32GetDatum(partition);
	why = mk_api_record_columns(r, rows->form, &values[2], &nulls[2]);
	if (why != NULL)
	{
		if (rows->found_here == 0)
			mk_record_refuse(rows, topic, partition, r->offset, why);
		return false;
	}
	tuplestore_putvalues(rows->rsinfo->setResult, rows->rsinfo->setDesc, values,
						 nulls);
	rows->found++;
	rows->found_here++;
	return true;
}

/*
 * Reports what could not be decoded.  If there are no rows, this is an error; else
 * a warning for each partition that returns nothing.
 */
static void
mk_record_rows_end(MkRecordRows *rows)
{
	bool is_json = rows->form == MK_FORM_JSON;
	ListCell *lc;

	foreach (lc, rows->refusals)
	{
		const MkRefusal *r = lfirst(lc);

		ereport(rows->found == 0 ? ERROR : WARNING,
				(errcode(is_json ? ERRCODE_INVALID_TEXT_REPRESENTATION
								 : ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("cannot read the record at offset " INT64_FORMAT
						" of topic \"%s\" partition %d as %s",
						r->offset, r->topic, r->partition,
						is_json ? "JSON" : "text"),
				 errdetail_internal("%s", r->why),
				 errhint("Read it as bytes with minikafka.fetch(), or skip it "
						 "%s offset " INT64_FORMAT ".",
						 rows->skip, r->offset + 1)));
	}
}

/* What a fetch returns, and from where */
typedef struct MkFetch
{
	MkRecordRows rows;
	const MkTopic *topic;
	int32 partition;
} MkFetch;

/* The sink of mk_log_read */
static bool
mk_fetch_row(const MkLogRecord *r, void *arg)
{
	MkFetch *f = arg;

	return mk_record_row(&f->rows, f->topic, f->partition, r);
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
	mk_option_check_number("start_offset", start, 0, PG_INT64_MAX);
	max_records = mk_api_most(fcinfo, 3, "max_records");
	max_bytes = mk_api_most(fcinfo, 4, "max_bytes");

	mk_record_rows_begin(&f.rows, fcinfo, form, "by reading on from");
	mk_log_read(f.topic, f.partition, start, max_records, max_bytes,
				GetActiveSnapshot(), mk_fetch_row, &f);
	mk_record_rows_end(&f.rows);
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

/* latest(topic) */
PG_FUNCTION_INFO_V1(minikafka_latest);
Datum
minikafka_latest(PG_FUNCTION_ARGS)
{
	MkFetch f;

	mk_api_enter("latest()");
	f.topic = mk_api_topic(fcinfo, 0, ACL_SELECT);
	mk_record_rows_begin(&f.rows, fcinfo, MK_FORM_BYTEA, "by reading on from");
	for (f.partition = 0; f.partition < f.topic->npartitions; f.partition++)
		mk_compact_latest(f.topic, f.partition, GetActiveSnapshot(),
						  mk_fetch_row, &f);
	return (Datum) 0;
}

/* ---------------------------------------------------------------------------
 * poll(), poll_text(), poll_json()
 */

/* The sink of mk_poll */
static bool
mk_poll_row(const MkTopic *topic, int32 partition, const MkLogRecord *r,
			void *arg)
{
	return mk_record_row(arg, topic, partition, r);
}

/* poll(group_id, member_id, max_records, max_bytes, max_wait, topics) */
static Datum
mk_api_poll(FunctionCallInfo fcinfo, MkForm form)
{
	MkRecordRows rows;
	MkPoll poll = {0};

	mk_api_enter_writer("poll()");
	poll.group_id = mk_api_id(fcinfo, 0, "group_id");
	poll.member_id = mk_api_id(fcinfo, 1, "member_id");
	poll.max_records = mk_api_most(fcinfo, 2, "max_records");
	poll.max_bytes = mk_api_most(fcinfo, 3, "max_bytes");
	poll.max_wait = mk_api_interval(fcinfo, 4, "max_wait", 0);
	if (!PG_ARGISNULL(5))
		poll.topics = mk_api_topic_names(fcinfo, 5, "topics", &poll.ntopics);
	poll.sink = mk_poll_row;
	poll.arg = &rows;
	mk_record_rows_begin(&rows, fcinfo, form, "with minikafka.seek() to");
	mk_poll(&poll);
	mk_record_rows_end(&rows);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(minikafka_poll);
Datum
minikafka_poll(PG_FUNCTION_ARGS)
{
	return mk_api_poll(fcinfo, MK_FORM_BYTEA);
}

PG_FUNCTION_INFO_V1(minikafka_poll_text);
Datum
minikafka_poll_text(PG_FUNCTION_ARGS)
{
	return mk_api_poll(fcinfo, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_poll_json);
Datum
minikafka_poll_json(PG_FUNCTION_ARGS)
{
	return mk_api_poll(fcinfo, MK_FORM_JSON);
}

/* ---------------------------------------------------------------------------
 * is_json(), is_text(): for CHECK constraints, so they also work in
 * security-restricted operations
 */

PG_FUNCTION_INFO_V1(minikafka_is_json);
Datum
minikafka_is_json(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(mk_json_decode(PG_GETARG_BYTEA_PP(0), NULL) != NULL);
}

PG_FUNCTION_INFO_V1(minikafka_is_text);
Datum
minikafka_is_text(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(mk_utf8_to_text(PG_GETARG_BYTEA_PP(0)) != NULL);
}

/* ---------------------------------------------------------------------------
 * offsets(), offset_for_time()
 */

/* The arguments and the result of offsets(), for mk_try() */
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
	return mk_api_row(fcinfo, o.values, o.nulls);
}

/* The same for views over all topics: NULLs for a partition that cannot be read. */
PG_FUNCTION_INFO_V1(minikafka_try_offsets);
Datum
minikafka_try_offsets(PG_FUNCTION_ARGS)
{
	MkOffsets o = {.fcinfo = fcinfo};

	mk_api_enter("try_offsets()");
	if (mk_try(mk_offsets, &o, mk_api_is_unreadable) != NULL)
		memset(o.nulls, true, sizeof(o.nulls));
	return mk_api_row(fcinfo, o.values, o.nulls);
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
