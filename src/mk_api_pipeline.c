/*
 * mk_api_pipeline.c
 *		The SQL functions at both ends of a pipeline: the outbox trigger and the
 *		inbox.
 */
#include "postgres.h"

#include "commands/trigger.h"
#include "fmgr.h"

#include "mk_api.h"
#include "mk_inbox.h"
#include "mk_outbox.h"

/* outbox(topic, key columns, -column ...), a row trigger */
PG_FUNCTION_INFO_V1(minikafka_outbox);
Datum
minikafka_outbox(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"minikafka.outbox")));
	mk_api_enter_writer("outbox()");
	mk_outbox_send((TriggerData *) fcinfo->context, fcinfo->flinfo);
	return PointerGetDatum(NULL);
}

/* inbox_accept(consumer, event_id, payload) */
PG_FUNCTION_INFO_V1(minikafka_inbox_accept);
Datum
minikafka_inbox_accept(PG_FUNCTION_ARGS)
{
	char *consumer;
	char *event_id;

	mk_api_enter_writer("inbox_accept()");
	consumer = mk_api_id(fcinfo, 0, "consumer");
	event_id = mk_api_id(fcinfo, 1, "event_id");
	PG_RETURN_BOOL(mk_inbox_accept(
		consumer, event_id, PG_ARGISNULL(2) ? NULL : PG_GETARG_BYTEA_PP(2)));
}

/* set_inbox_owner(consumer, owner) */
PG_FUNCTION_INFO_V1(minikafka_set_inbox_owner);
Datum
minikafka_set_inbox_owner(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("set_inbox_owner()");
	mk_inbox_set_owner(mk_api_id(fcinfo, 0, "consumer"),
					   mk_api_cstring(fcinfo, 1, "owner"));
	PG_RETURN_VOID();
}
