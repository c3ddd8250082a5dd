/*
 * mk_api_produce.c
 *		The SQL functions that send records.
 *
 * They store text as bytea in UTF-8, and jsonb and json as their text.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_compat.h"
#include "mk_headers.h"
#include "mk_numbering.h"
#include "mk_producer.h"
#include "mk_schedule.h"
#include "mk_send.h"
#include "mk_sent.h"
#include "mk_topic.h"
#include "mk_utf8.h"

/* The type of an argument that is a key or a value. */
typedef enum MkForm
{
	MK_FORM_TEXT, /* text, or json */
	MK_FORM_JSONB,
	MK_FORM_BYTEA
} MkForm;

/*
 * The forms of the arguments of the SQL function that is called: of several that
 * differ in the types of the value and the key.  As long-lived as the call's flinfo.
 */
static const MkForm *
mk_get_forms(FunctionCallInfo fcinfo)
{
	FmgrInfo *flinfo = fcinfo->flinfo;
	MkForm *forms = flinfo->fn_extra;
	Oid *types;
	int n;

	if (forms != NULL)
		return forms;
	(void) get_func_signature(flinfo->fn_oid, &types, &n);
	forms = MemoryContextAlloc(flinfo->fn_mcxt, n * sizeof(MkForm));
	for (int i = 0; i < n; i++)
		forms[i] = types[i] == BYTEAOID ? MK_FORM_BYTEA
			: types[i] == JSONBOID      ? MK_FORM_JSONB
										: MK_FORM_TEXT;
	flinfo->fn_extra = forms;
	return forms;
}

/* A key or a value as bytea. */
static Datum
mk_bytes_of(Datum datum, MkForm form)
{
	StringInfoData buf;
	Jsonb *jsonb;

	switch (form)
	{
		case MK_FORM_TEXT:
			return PointerGetDatum(
				mk_utf8_from_text(PG_DETOAST_DATUM_PACKED(datum)));
		case MK_FORM_BYTEA:
			return PointerGetDatum(PG_DETOAST_DATUM_PACKED(datum));
		case MK_FORM_JSONB:
			jsonb = DatumGetJsonbP(datum);
			initStringInfo(&buf);
			appendStringInfoSpaces(&buf, VARHDRSZ);
			(void) JsonbToCString(&buf, &jsonb->root, VARSIZE(jsonb));
			SET_VARSIZE(buf.data, buf.len);
			return PointerGetDatum(
				mk_utf8_from_text((struct varlena *) buf.data));
	}
	pg_unreachable();
}

/* Each sets a part of a record from an argument. */
static void
mk_set_key(MkRecord *record, Datum datum, bool isnull, MkForm form)
{
	record->key_isnull = isnull;
	record->key = isnull ? (Datum) 0 : mk_bytes_of(datum, form);
}

static void
mk_set_value(MkRecord *record, Datum datum, bool isnull, MkForm form)
{
	record->value_isnull = isnull;
	record->value = isnull ? (Datum) 0 : mk_bytes_of(datum, form);
}

static void
mk_set_headers(MkRecord *record, Datum datum, bool isnull)
{
	Jsonb *headers =
		isnull ? NULL : mk_headers_normalize(DatumGetJsonbP(datum));

	record->headers_isnull = headers == NULL;
	record->headers = headers == NULL ? (Datum) 0 : JsonbPGetDatum(headers);
}

/*
 * Gets the arguments producer, sequence and epoch, of which the first one has
 * the number "first"; false if there is no producer.
 */
static bool
mk_get_numbering(FunctionCallInfo fcinfo, int first, MkNumbering *numbering)
{
	if (PG_ARGISNULL(first))
	{
		if (!PG_ARGISNULL(first + 1) || !PG_ARGISNULL(first + 2))
			ereport(
				ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arguments \"sequence\" and \"epoch\" need argument "
						"\"producer\"")));
		return false;
	}
	numbering->producer = mk_api_id(fcinfo, first, "producer");
	numbering->sequence = mk_api_int64(fcinfo, first + 1, "sequence");
	mk_option_check_number("sequence", numbering->sequence, 0, PG_INT64_MAX);
	numbering->has_epoch = !PG_ARGISNULL(first + 2);
	if (numbering->has_epoch)
	{
		numbering->epoch = PG_GETARG_INT32(first + 2);
		mk_option_check_number("epoch", numbering->epoch, 0, PG_INT32_MAX);
	}
	return true;
}

/* ---------------------------------------------------------------------------
 * send()
 */

/* send(topic, value, key, headers, partition, producer, sequence, epoch) */
PG_FUNCTION_INFO_V1(minikafka_send);
Datum
minikafka_send(PG_FUNCTION_ARGS)
{
	const MkForm *forms = mk_get_forms(fcinfo);
	MkTopic *topic;
	MkRecord record;
	int32 partition;
	MkNumbering numbering;
	MkNumbered numbered = {0};

	mk_api_enter_writer("send()");
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	mk_set_value(&record, PG_GETARG_DATUM(1), PG_ARGISNULL(1), forms[1]);
	mk_set_key(&record, PG_GETARG_DATUM(2), PG_ARGISNULL(2), forms[2]);
	mk_set_headers(&record, PG_GETARG_DATUM(3), PG_ARGISNULL(3));
	mk_topic_check_record(topic, &record);
	partition = PG_ARGISNULL(4) ? mk_topic_choose_partition(topic, &record)
								: mk_api_partition(fcinfo, 4, topic);
	if (mk_get_numbering(fcinfo, 5, &numbering))
	{
		if (PG_ARGISNULL(2) && PG_ARGISNULL(4))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a record of a producer needs a key or a "
							"partition"),
					 errdetail("Without either, it could go to another "
							   "partition when it is sent again.")));
		mk_numbering_send(&numbering, topic, partition, &record, false,
						  &numbered);
	}
	if (!numbered.repeated)
		mk_send_record(topic, partition, &record, numbered.batch,
					   numbering.sequence);
	PG_RETURN_INT32(partition);
}

/* ---------------------------------------------------------------------------
 * send_at(), cancel_send()
 */

/* send_at(topic, value, at, key, headers) */
PG_FUNCTION_INFO_V1(minikafka_send_at);
Datum
minikafka_send_at(PG_FUNCTION_ARGS)
{
	const MkForm *forms = mk_get_forms(fcinfo);
	MkTopic *topic;
	MkRecord record;
	TimestampTz at;

	mk_api_enter_writer("send_at()");
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	mk_set_value(&record, PG_GETARG_DATUM(1), PG_ARGISNULL(1), forms[1]);
	mk_api_require(fcinfo, 2, "at");
	at = PG_GETARG_TIMESTAMPTZ(2);
	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be finite", "at")));
	mk_set_key(&record, PG_GETARG_DATUM(3), PG_ARGISNULL(3), forms[3]);
	mk_set_headers(&record, PG_GETARG_DATUM(4), PG_ARGISNULL(4));
	mk_topic_check_record(topic, &record);
	PG_RETURN_INT64(mk_schedule_record(topic, &record, at));
}

/* cancel_send(id) */
PG_FUNCTION_INFO_V1(minikafka_cancel_send);
Datum
minikafka_cancel_send(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("cancel_send()");
	PG_RETURN_BOOL(mk_schedule_cancel(mk_api_int64(fcinfo, 0, "id")));
}

/* ---------------------------------------------------------------------------
 * send_many(), send_many_json(), send_many_bytes()
 */

/* The elements of an array argument. */
typedef struct MkArray
{
	int n;
	Datum *values;
	bool *nulls;
} MkArray;

/* Gets an array; 22023 if it has more than one dimension. */
static void
mk_get_array(FunctionCallInfo fcinfo, int arg, const char *name,
			 MkArray *result)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(arg);

	if (ARR_NDIM(array) > 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" must be a one-dimensional array", name)));
	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
					  &result->values, &result->nulls, &result->n);
}

/*
 * send_many(topic, payloads, keys, headers), or the SQL function of another
 * name.  The functions have different names since overloads that differ only in
 * an array's type would make a call with untyped arguments ambiguous.
 */
static Datum
mk_send_many(FunctionCallInfo fcinfo, const char *name, MkForm value_form,
			 MkForm key_form)
{
	MkTopic *topic;
	MkArray payloads;
	MkArray keys = {0};
	MkArray headers = {0};
	bool has_keys = !PG_ARGISNULL(2);
	bool has_headers = !PG_ARGISNULL(3);
	MemoryContext context;
	MemoryContext old;

	mk_api_enter_writer(name);
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	mk_api_require(fcinfo, 1, "payloads");
	mk_get_array(fcinfo, 1, "payloads", &payloads);
	if (has_keys)
		mk_get_array(fcinfo, 2, "keys", &keys);
	if (has_headers)
		mk_get_array(fcinfo, 3, "headers", &headers);
	if ((has_keys && keys.n != payloads.n) ||
		(has_headers && headers.n != payloads.n))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arrays \"payloads\", \"keys\" and \"headers\" must be "
						"of one length"),
				 has_keys && has_headers
					 ? errdetail("They have %d, %d and %d elements.",
								 payloads.n, keys.n, headers.n)
					 : errdetail("They have %d and %d elements.", payloads.n,
								 has_keys ? keys.n : headers.n)));

	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka send_many",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	for (int i = 0; i < payloads.n; i++)
	{
		MkRecord record;

		CHECK_FOR_INTERRUPTS();
		mk_set_value(&record, payloads.values[i], payloads.nulls[i],
					 value_form);
		mk_set_key(&record, has_keys ? keys.values[i] : (Datum) 0,
				   !has_keys || keys.nulls[i], key_form);
		mk_set_headers(&record, has_headers ? headers.values[i] : (Datum) 0,
					   !has_headers || headers.nulls[i]);
		mk_topic_check_record(topic, &record);
		mk_send_record(topic, mk_topic_choose_partition(topic, &record),
					   &record, NULL, 0);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_INT64(payloads.n);
}

PG_FUNCTION_INFO_V1(minikafka_send_many);
Datum
minikafka_send_many(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, "send_many()", MK_FORM_TEXT, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_many_json);
Datum
minikafka_send_many_json(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, "send_many_json()", MK_FORM_JSONB,
						MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_many_bytes);
Datum
minikafka_send_many_bytes(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, "send_many_bytes()", MK_FORM_BYTEA,
						MK_FORM_BYTEA);
}

/* ---------------------------------------------------------------------------
 * append()
 */

/* append(topic, partition, key, value, headers, producer, sequence, epoch) */
static Datum
mk_append(FunctionCallInfo fcinfo, MkForm value_form, MkForm key_form)
{
	MkTopic *topic;
	MkRecord record;
	int32 partition;
	int64 offset;
	MkNumbering numbering;
	MkNumbered numbered = {0};

	mk_api_enter_writer("append()");
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	partition = mk_api_partition(fcinfo, 1, topic);
	mk_set_key(&record, PG_GETARG_DATUM(2), PG_ARGISNULL(2), key_form);
	mk_set_value(&record, PG_GETARG_DATUM(3), PG_ARGISNULL(3), value_form);
	mk_set_headers(&record, PG_GETARG_DATUM(4), PG_ARGISNULL(4));
	mk_topic_check_record(topic, &record);
	if (mk_get_numbering(fcinfo, 5, &numbering))
	{
		/* the producer's lock comes before the partition's */
		mk_numbering_send(&numbering, topic, partition, &record, true,
						  &numbered);
		if (numbered.repeated && numbered.offset < 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("sequence " INT64_FORMAT
							" of producer \"%s\" has no offset yet",
							numbering.sequence, numbering.producer),
					 errdetail("This transaction has sent it with "
							   "minikafka.send().")));
		if (numbered.repeated)
			PG_RETURN_INT64(numbered.offset);
	}
	offset = mk_send_append(topic, partition, &record, numbered.batch,
							numbering.sequence);
	if (numbered.batch != NULL)
		mk_numbering_appended(numbered.batch, numbering.sequence, offset);
	PG_RETURN_INT64(offset);
}

PG_FUNCTION_INFO_V1(minikafka_append_text);
Datum
minikafka_append_text(PG_FUNCTION_ARGS)
{
	return mk_append(fcinfo, MK_FORM_TEXT, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_append_jsonb);
Datum
minikafka_append_jsonb(PG_FUNCTION_ARGS)
{
	return mk_append(fcinfo, MK_FORM_JSONB, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_append_bytea);
Datum
minikafka_append_bytea(PG_FUNCTION_ARGS)
{
	return mk_append(fcinfo, MK_FORM_BYTEA, MK_FORM_BYTEA);
}

/* ---------------------------------------------------------------------------
 * last_sent()
 */

PG_FUNCTION_INFO_V1(minikafka_last_sent);
Datum
minikafka_last_sent(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const MkSent *sent;
	int n;

	mk_api_enter("last_sent()");
	InitMaterializedSRF(fcinfo, 0);
	sent = mk_sent_last(&n);
	for (int i = 0; i < n; i++)
	{
		Datum values[4];
		bool nulls[4] = {0};

		values[0] = CStringGetTextDatum(NameStr(sent[i].topic));
		values[1] = Int32GetDatum(sent[i].partition);
		values[2] = Int64GetDatum(sent[i].base_offset);
		values[3] = Int64GetDatum(sent[i].records);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---------------------------------------------------------------------------
 * init_producer(), producer_state()
 */

PG_FUNCTION_INFO_V1(minikafka_init_producer);
Datum
minikafka_init_producer(PG_FUNCTION_ARGS)
{
	TupleDesc desc;
	Datum values[2];
	bool nulls[2] = {0};
	int32 producer_id;
	int32 epoch;

	mk_api_enter_writer("init_producer()");
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	mk_producer_begin_epoch(mk_api_id(fcinfo, 0, "producer"), &producer_id,
							&epoch);
	values[0] = Int64GetDatum(producer_id);
	values[1] = Int32GetDatum(epoch);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* set_producer_owner(producer, owner) */
PG_FUNCTION_INFO_V1(minikafka_set_producer_owner);
Datum
minikafka_set_producer_owner(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("set_producer_owner()");
	mk_producer_set_owner(mk_api_id(fcinfo, 0, "producer"),
						  mk_api_cstring(fcinfo, 1, "owner"));
	PG_RETURN_VOID();
}

/* What producer_state() returns rows of, and where they go. */
typedef struct MkState
{
	MkProducerRow producer;
	ReturnSetInfo *rsinfo;
} MkState;

/* A MkProducerRunSink: makes a row of the result, if the topic still exists. */
static void
mk_state_row(int32 topic_id, int32 partition, const MkProducerRun *row,
			 void *arg)
{
	MkState *state = arg;
	MkTopic *topic = mk_catalog_topic_by_id(topic_id);
	Datum values[5];
	bool nulls[5] = {0};

	if (topic == NULL || !mk_producer_counts(&state->producer, row))
		return;
	values[0] = CStringGetTextDatum(NameStr(topic->name));
	values[1] = Int32GetDatum(partition);
	values[2] = Int32GetDatum(row->epoch);
	values[3] = Int64GetDatum(row->last_sequence);
	values[4] = Int64GetDatum(row->first_offset +
							  (row->last_sequence - row->first_sequence));
	tuplestore_putvalues(state->rsinfo->setResult, state->rsinfo->setDesc,
						 values, nulls);
}

PG_FUNCTION_INFO_V1(minikafka_producer_state);
Datum
minikafka_producer_state(PG_FUNCTION_ARGS)
{
	char *producer;
	MkState state;

	mk_api_enter("producer_state()");
	producer = mk_api_id(fcinfo, 0, "producer");
	InitMaterializedSRF(fcinfo, 0);
	state.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	if (mk_producer_find(producer, &state.producer))
		mk_producer_rows_scan(state.producer.producer_id, GetActiveSnapshot(),
							  mk_state_row, &state);
	return (Datum) 0;
}
