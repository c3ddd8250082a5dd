/*
 * mk_api_share.c
 *		The SQL functions that hand out records of share groups, and take answers.
 *
 * No error of theirs says something about the records that the transaction holds,
 * not even that of a wrong argument: a worker with a typing error is not to send
 * every record to the dead letters.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_api_record.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_share.h"
#include "mk_share_answer.h"

/* ---------------------------------------------------------------------------
 * acquire(), acquire_text(), acquire_json()
 */

/* The columns of a row */
enum
{
	MK_ACQUIRED_TOPIC,
	MK_ACQUIRED_PARTITION,
	MK_ACQUIRED_RECORD, /* several */
	MK_ACQUIRED_COUNT = MK_ACQUIRED_RECORD + MK_API_RECORD_COLUMNS,
	MK_ACQUIRED_RECEIPT,
	MK_ACQUIRED_TOKEN,
	MK_ACQUIRED_COLUMNS
};

typedef struct MkAcquired
{
	ReturnSetInfo *rsinfo;
	MkForm form;
} MkAcquired;

/* An MkShareSink that adds a row to the result */
static const char *
mk_acquired_row(const MkTopic *topic, int32 partition, const MkLogRecord *r,
				const MkDelivery *d, const MkShareReceipt *receipt, void *arg)
{
	MkAcquired *acquired = arg;
	Datum values[MK_ACQUIRED_COLUMNS];
	bool nulls[MK_ACQUIRED_COLUMNS] = {0};
	char text[MK_RECEIPT_SIZE];
	const char *why =
		mk_api_record_columns(r, acquired->form, &values[MK_ACQUIRED_RECORD],
							  &nulls[MK_ACQUIRED_RECORD]);

	if (why != NULL)
		return why;
	mk_share_receipt_format(receipt, text);
	values[MK_ACQUIRED_TOPIC] = CStringGetTextDatum(NameStr(topic->name));
	values[MK_ACQUIRED_PARTITION] = Int32GetDatum(partition);
	values[MK_ACQUIRED_COUNT] = Int32GetDatum(d->count + 1);
	values[MK_ACQUIRED_RECEIPT] = CStringGetTextDatum(text);
	nulls[MK_ACQUIRED_TOKEN] = receipt->kind != MK_RECEIPT_LOCK;
	values[MK_ACQUIRED_TOKEN] = Int64GetDatum(mk_share_receipt_token(receipt));
	tuplestore_putvalues(acquired->rsinfo->setResult, acquired->rsinfo->setDesc,
						 values, nulls);
	return NULL;
}

/*
 * acquire(group_id, max_records, max_bytes, max_wait, lock_duration, accept)
 */
static Datum
mk_api_acquire(FunctionCallInfo fcinfo, MkForm form)
{
	MkAcquired acquired = {.form = form};
	MkShareAcquire acquire = {.sink = mk_acquired_row, .arg = &acquired};

	mk_api_enter_writer("acquire()");
	acquire.group_id = mk_api_id(fcinfo, 0, "group_id");
	acquire.max_records = mk_api_most(fcinfo, 1, "max_records");
	acquire.max_bytes = mk_api_most(fcinfo, 2, "max_bytes");
	acquire.max_wait = mk_api_interval(fcinfo, 3, "max_wait", 0);
	if (!PG_ARGISNULL(4))
		acquire.lock_duration =
			mk_api_interval(fcinfo, 4, "lock_duration", 1000);
	acquire.accept = mk_api_bool(fcinfo, 5, "accept");
	if (acquire.accept && acquire.lock_duration > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot acquire with both lock_duration and accept"),
				 errdetail("A record under an acquisition lock is acknowledged "
						   "in a later transaction.")));
	InitMaterializedSRF(fcinfo, 0);
	acquired.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	mk_share_acquire(&acquire);
	return (Datum) 0;
}

static Datum
mk_api_acquire_bytea(FunctionCallInfo fcinfo)
{
	return mk_api_acquire(fcinfo, MK_FORM_BYTEA);
}

PG_FUNCTION_INFO_V1(minikafka_acquire);
Datum
minikafka_acquire(PG_FUNCTION_ARGS)
{
	return mk_errors_call(mk_api_acquire_bytea, fcinfo);
}

static Datum
mk_api_acquire_text(FunctionCallInfo fcinfo)
{
	return mk_api_acquire(fcinfo, MK_FORM_TEXT);
}

PG_FUNCTION_INFO_V1(minikafka_acquire_text);
Datum
minikafka_acquire_text(PG_FUNCTION_ARGS)
{
	return mk_errors_call(mk_api_acquire_text, fcinfo);
}

static Datum
mk_api_acquire_json(FunctionCallInfo fcinfo)
{
	return mk_api_acquire(fcinfo, MK_FORM_JSON);
}

PG_FUNCTION_INFO_V1(minikafka_acquire_json);
Datum
minikafka_acquire_json(PG_FUNCTION_ARGS)
{
	return mk_errors_call(mk_api_acquire_json, fcinfo);
}

/* ---------------------------------------------------------------------------
 * acknowledge(), renew()
 */

/* The group and the receipt of a call. */
static MkGroup *
mk_answer_arguments(FunctionCallInfo fcinfo, MkShareReceipt *receipt)
{
	char *group_id = mk_api_id(fcinfo, 0, "group_id");

	mk_share_receipt_parse(mk_api_cstring(fcinfo, 1, "receipt"), receipt);
	return mk_group_get_share(group_id);
}

static const char *const mk_acknowledge_types[] = {
	[MK_ACKNOWLEDGE_ACCEPT] = "accept",
	[MK_ACKNOWLEDGE_RELEASE] = "release",
	[MK_ACKNOWLEDGE_FAIL] = "fail",
	[MK_ACKNOWLEDGE_REJECT] = "reject",
};

static MkShareAcknowledge
mk_acknowledge_type(FunctionCallInfo fcinfo, int arg)
{
	const char *type = mk_api_cstring(fcinfo, arg, "type");

	for (int i = 0; i < (int) lengthof(mk_acknowledge_types); i++)
		if (strcmp(type, mk_acknowledge_types[i]) == 0)
			return (MkShareAcknowledge) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown type of acknowledgement \"%s\"", type),
			 errhint("There are accept, release, fail and reject.")));
}

/* acknowledge(group_id, receipt, type, error, retry_after) */
static Datum
mk_api_acknowledge(FunctionCallInfo fcinfo)
{
	MkShareAcknowledgement a = {.retry_after = -1};
	const char *result;

	mk_api_enter_writer("acknowledge()");
	a.type = mk_acknowledge_type(fcinfo, 2);
	if (!PG_ARGISNULL(3))
		a.error = mk_api_cstring(fcinfo, 3, "error");
	if (!PG_ARGISNULL(4))
		a.retry_after = mk_api_interval(fcinfo, 4, "retry_after", 0);
	if (a.retry_after >= 0 && a.type != MK_ACKNOWLEDGE_RELEASE &&
		a.type != MK_ACKNOWLEDGE_FAIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("retry_after is for release and fail only")));
	a.group = mk_answer_arguments(fcinfo, &a.receipt);
	result = mk_share_acknowledge(&a);
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

PG_FUNCTION_INFO_V1(minikafka_acknowledge);
Datum
minikafka_acknowledge(PG_FUNCTION_ARGS)
{
	return mk_errors_call(mk_api_acknowledge, fcinfo);
}

/* renew(group_id, receipt, lock_duration) */
static Datum
mk_api_renew(FunctionCallInfo fcinfo)
{
	MkShareReceipt receipt;
	MkGroup *group;
	int64 duration;
	TimestampTz until;

	mk_api_enter_writer("renew()");
	duration = mk_api_interval(fcinfo, 2, "lock_duration", 1000);
	group = mk_answer_arguments(fcinfo, &receipt);
	until = mk_share_renew(group, &receipt, duration);
	PG_RETURN_TIMESTAMPTZ(until);
}

PG_FUNCTION_INFO_V1(minikafka_renew);
Datum
minikafka_renew(PG_FUNCTION_ARGS)
{
	return mk_errors_call(mk_api_renew, fcinfo);
}
