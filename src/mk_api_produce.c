/*
 * mk_api_produce.c
 *		The SQL functions that send records.
 *
 * Text becomes bytea in UTF-8 here; jsonb and json their text.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "mk_api.h"
#include "mk_compat.h"
#include "mk_headers.h"
#include "mk_topic.h"
#include "mk_xact.h"

typedef enum MkForm
{
	MK_FORM_TEXT, /* text, or json: its text */
	MK_FORM_JSONB,
	MK_FORM_BYTEA
} MkForm;

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
				mk_api_text_to_utf8(PG_DETOAST_DATUM_PACKED(datum)));
		case MK_FORM_BYTEA:
			return PointerGetDatum(PG_DETOAST_DATUM_PACKED(datum));
		case MK_FORM_JSONB:
			jsonb = DatumGetJsonbP(datum);
			initStringInfo(&buf);
			appendStringInfoSpaces(&buf, VARHDRSZ);
			(void) JsonbToCString(&buf, &jsonb->root, VARSIZE(jsonb));
			SET_VARSIZE(buf.data, buf.len);
			return PointerGetDatum(
				mk_api_text_to_utf8((struct varlena *) buf.data));
	}
	pg_unreachable();
}

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

/* A record counts with its key, its value and its headers. */
static void
mk_check_size(const MkTopic *topic, const MkRecord *r)
{
	Size bytes = 0;

	if (!r->key_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->key));
	if (!r->value_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->value));
	if (!r->headers_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->headers));
	if (bytes > (Size) topic->max_message_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("record of %zu bytes is too large for topic \"%s\"",
						bytes, NameStr(topic->name)),
				 errdetail("Its \"max_message_bytes\" is %d.",
						   topic->max_message_bytes),
				 errhint("The topic's owner can raise it with "
						 "minikafka.set_topic_option().")));
}

/* The partition of a record for which none was asked. */
static int32
mk_choose_partition(MkTopic *topic, const MkRecord *r)
{
	struct varlena *key;

	if (r->key_isnull)
		return mk_xact_sticky_partition(topic);
	key = (struct varlena *) DatumGetPointer(r->key);
	return mk_topic_partition_for_key(topic, VARDATA_ANY(key),
									  VARSIZE_ANY_EXHDR(key));
}

/* The arguments producer, sequence and epoch, from "first" on. */
static void
mk_check_no_producer(FunctionCallInfo fcinfo, int first)
{
	static const char *const names[] = {"producer", "sequence", "epoch"};

	for (int i = 0; i < 3; i++)
		if (unlikely(!PG_ARGISNULL(first + i)))
			mk_api_not_yet(psprintf("argument \"%s\"", names[i]));
}

/* ---------------------------------------------------------------------------
 * send()
 */

/* send(topic, value, key, headers, partition, producer, sequence, epoch) */
static Datum
mk_send(FunctionCallInfo fcinfo, MkForm value_form, MkForm key_form)
{
	MkTopic *topic;
	MkRecord record;
	int32 partition;

	mk_api_enter("send()");
	mk_xact_check_writable("send()");
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	mk_check_no_producer(fcinfo, 5);
	mk_set_value(&record, PG_GETARG_DATUM(1), PG_ARGISNULL(1), value_form);
	mk_set_key(&record, PG_GETARG_DATUM(2), PG_ARGISNULL(2), key_form);
	mk_set_headers(&record, PG_GETARG_DATUM(3), PG_ARGISNULL(3));
	mk_check_size(topic, &record);
	partition = PG_ARGISNULL(4) ? mk_choose_partition(topic, &record)
								: mk_api_partition(fcinfo, 4, topic);
	mk_xact_send(topic, partition, &record);
	PG_RETURN_INT32(partition);
}

PG_FUNCTION_INFO_V1(minikafka_send_text);
Datum
minikafka_send_text(PG_FUNCTION_ARGS)
{
	return mk_send(fcinfo, MK_FORM_TEXT, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_jsonb);
Datum
minikafka_send_jsonb(PG_FUNCTION_ARGS)
{
	return mk_send(fcinfo, MK_FORM_JSONB, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_bytea_text);
Datum
minikafka_send_bytea_text(PG_FUNCTION_ARGS)
{
	return mk_send(fcinfo, MK_FORM_BYTEA, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_bytea);
Datum
minikafka_send_bytea(PG_FUNCTION_ARGS)
{
	return mk_send(fcinfo, MK_FORM_BYTEA, MK_FORM_BYTEA);
}

/* ---------------------------------------------------------------------------
 * send_many()
 */

typedef struct MkArray
{
	int n;
	Datum *values;
	bool *nulls;
} MkArray;

/* An array argument; 22023 if it has more than one dimension. */
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

/* send_many(topic, payloads, keys, headers) */
static Datum
mk_send_many(FunctionCallInfo fcinfo, MkForm value_form, MkForm key_form)
{
	MkTopic *topic;
	MkArray payloads;
	MkArray keys = {0};
	MkArray headers = {0};
	bool has_keys = !PG_ARGISNULL(2);
	bool has_headers = !PG_ARGISNULL(3);
	MemoryContext context;
	MemoryContext old;

	mk_api_enter("send_many()");
	mk_xact_check_writable("send_many()");
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
		mk_check_size(topic, &record);
		mk_xact_send(topic, mk_choose_partition(topic, &record), &record);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_INT64(payloads.n);
}

PG_FUNCTION_INFO_V1(minikafka_send_many_text);
Datum
minikafka_send_many_text(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, MK_FORM_TEXT, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_many_jsonb);
Datum
minikafka_send_many_jsonb(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, MK_FORM_JSONB, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_send_many_bytea);
Datum
minikafka_send_many_bytea(PG_FUNCTION_ARGS)
{
	return mk_send_many(fcinfo, MK_FORM_BYTEA, MK_FORM_BYTEA);
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

	mk_api_enter("append()");
	mk_xact_check_writable("append()");
	topic = mk_api_topic(fcinfo, 0, ACL_INSERT);
	partition = mk_api_partition(fcinfo, 1, topic);
	mk_check_no_producer(fcinfo, 5);
	mk_set_key(&record, PG_GETARG_DATUM(2), PG_ARGISNULL(2), key_form);
	mk_set_value(&record, PG_GETARG_DATUM(3), PG_ARGISNULL(3), value_form);
	mk_set_headers(&record, PG_GETARG_DATUM(4), PG_ARGISNULL(4));
	mk_check_size(topic, &record);
	offset = mk_xact_next_offset(topic, partition);
	mk_xact_send(topic, partition, &record);
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
	sent = mk_xact_last_sent(&n);
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
