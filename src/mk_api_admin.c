/*
 * mk_api_admin.c
 *		The SQL functions for the maintenance of topics.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "mk_api.h"
#include "mk_check.h"
#include "mk_delivery.h"
#include "mk_log.h"
#include "mk_maintenance.h"
#include "mk_producer_rows.h"
#include "mk_progress.h"
#include "mk_segment_check.h"
#include "mk_share_check.h"
#include "mk_share_cut.h"
#include "mk_share_rows.h"
#include "mk_tail.h"
#include "mk_topic.h"

/* delete_records(topic, partition, before_offset) */
PG_FUNCTION_INFO_V1(minikafka_delete_records);
Datum
minikafka_delete_records(PG_FUNCTION_ARGS)
{
	MkTopic *topic;
	int32 partition;

	mk_api_enter_writer("delete_records()");
	topic = mk_api_topic(fcinfo, 0, ACL_DELETE);
	partition = mk_api_partition(fcinfo, 1, topic);
	PG_RETURN_INT64(mk_topic_delete_records(
		topic, partition, mk_api_int64(fcinfo, 2, "before_offset")));
}

/* ---------------------------------------------------------------------------
 * check_topic()
 */

/* The result of check_topic(). */
typedef struct MkReport
{
	ReturnSetInfo *rsinfo;
	MkTopic *topic;
	bool *sound; /* for each partition: its log has no errors */
} MkReport;

/* Adds a row to the result; a negative partition or offset is NULL. */
static void
mk_report(const char *severity, int32 partition, int64 offset,
		  const char *problem, void *arg)
{
	MkReport *report = arg;
	Datum values[4] = {0};
	bool nulls[4] = {0};

	values[0] = CStringGetTextDatum(severity);
	values[1] = Int32GetDatum(partition);
	nulls[1] = partition < 0;
	values[2] = Int64GetDatum(offset);
	nulls[2] = offset < 0;
	values[3] = CStringGetTextDatum(problem);
	tuplestore_putvalues(report->rsinfo->setResult, report->rsinfo->setDesc,
						 values, nulls);

	/* something else has written: the next sender is to look for itself */
	if (strcmp(severity, "error") == 0)
		mk_tail_void(report->topic->relid,
					 partition < 0 ? MK_TAIL_ALL : partition);
}

/* Checks a committed offset of a group. */
static void
mk_check_committed(int32 group_no, int32 partition, const MkProgress *progress,
				   void *arg)
{
	MkReport *report = arg;
	int64 next_offset = progress->committed;
	int64 end;

	if (partition < 0 || partition >= report->topic->npartitions)
	{
		mk_report("error", partition, next_offset,
				  psprintf("group number %d has an offset of a partition that "
						   "does not exist",
						   group_no),
				  arg);
		return;
	}
	if (!report->sound[partition])
		return;
	end = mk_log_end(report->topic, partition);
	/* -1: the group has committed none */
	if (next_offset < -1 || next_offset > end)
		mk_report("error", partition, next_offset,
				  psprintf("group number %d has committed an offset outside "
						   "[0, " INT64_FORMAT "]",
						   group_no, end),
				  arg);
}

/* Checks the last offset of a producer. */
static void
mk_check_produced(int32 topic_id, int32 partition, const MkProducerRun *row,
				  void *arg)
{
	MkReport *report = arg;
	int64 tail;

	/* on a standby one table may be behind the other */
	if (RecoveryInProgress() || topic_id != report->topic->topic_id ||
		partition < 0 || partition >= report->topic->npartitions ||
		!report->sound[partition])
		return;
	tail = mk_log_next_offset(report->topic, partition);
	if (mk_producer_rows_last_offset(row) >= tail)
		mk_report("error", partition, mk_producer_rows_last_offset(row),
				  psprintf("a producer has sent a record at or beyond the "
						   "end, " INT64_FORMAT,
						   tail),
				  arg);
}

/* The partition of a group's rows */
typedef struct MkShared
{
	MkReport *report;
	int32 partition;
} MkShared;

/* An MkShareProblem */
static void
mk_report_shared(int64 offset, const char *problem, void *arg)
{
	MkShared *shared = arg;

	mk_report("error", shared->partition, offset, problem, shared->report);
}

/* Checks the rows of a share group about a partition. */
static void
mk_check_shared_partition(MkReport *report, int32 group_no, int32 partition)
{
	const MkTopic *topic = report->topic;
	MkShared shared = {.report = report, .partition = partition};
	int64 noted;
	int64 tail;

	mk_share_check(group_no, topic->topic_id, partition, GetActiveSnapshot(),
				   mk_report_shared, &shared);
	if (partition < 0 || partition >= topic->npartitions)
	{
		mk_report("error", partition, -1,
				  psprintf("share group number %d has rows of a partition that "
						   "does not exist",
						   group_no),
				  report);
		return;
	}
	/* on a standby one table may be behind the other */
	if (RecoveryInProgress() || !report->sound[partition])
		return;
	/* the tail comes last: both grow */
	noted = mk_share_noted_end(group_no, topic->topic_id, partition);
	tail = mk_log_next_offset(topic, partition);
	if (noted > tail)
		mk_report("error", partition, noted - 1,
				  psprintf("share group number %d has rows about records at or "
						   "beyond the end, " INT64_FORMAT,
						   group_no, tail),
				  report);
}

PG_FUNCTION_INFO_V1(minikafka_check_topic);
Datum
minikafka_check_topic(PG_FUNCTION_ARGS)
{
	MkReport report;
	ListCell *lc;

	mk_api_enter("check_topic()");
	report.topic = mk_api_topic(fcinfo, 0, ACL_SELECT);
	InitMaterializedSRF(fcinfo, 0);
	report.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	report.sound = palloc(report.topic->npartitions * sizeof(bool));
	foreach (lc, mk_segment_strangers(report.topic, -1))
		mk_report("error", -1, -1, lfirst(lc), &report);
	for (int32 i = 0; i < report.topic->npartitions; i++)
		report.sound[i] = mk_check_partition(
			report.topic, i, GetActiveSnapshot(), mk_report, &report);
	mk_progress_scan_topic(report.topic->topic_id, GetActiveSnapshot(),
						   mk_check_committed, &report);
	foreach (lc, mk_producer_rows_ids(GetActiveSnapshot()))
		mk_producer_rows_scan(lfirst_int(lc), GetActiveSnapshot(),
							  mk_check_produced, &report);
	foreach (lc, mk_share_rows_groups(GetActiveSnapshot()))
	{
		int32 group_no = lfirst_int(lc);
		ListCell *lc2;

		foreach (lc2,
				 mk_share_rows_partitions(group_no, report.topic->topic_id,
										  GetActiveSnapshot()))
			mk_check_shared_partition(&report, group_no, lfirst_int(lc2));
	}
	return (Datum) 0;
}

/* ---------------------------------------------------------------------------
 * maintain(), deliver_due(), expire(), compact()
 */

/* What each procedure does first. */
static void
mk_begin_procedure(FunctionCallInfo fcinfo, const char *name)
{
	mk_api_enter_writer(name);
	mk_api_connect_procedure(fcinfo);
}

PG_FUNCTION_INFO_V1(minikafka_maintain);
Datum
minikafka_maintain(PG_FUNCTION_ARGS)
{
	mk_begin_procedure(fcinfo, "maintain()");
	mk_delivery_run(true, NULL);
	mk_maintenance_run(NULL);
	SPI_finish();
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_deliver_due);
Datum
minikafka_deliver_due(PG_FUNCTION_ARGS)
{
	mk_begin_procedure(fcinfo, "deliver_due()");
	mk_delivery_run(false, NULL);
	SPI_finish();
	PG_RETURN_VOID();
}

/* Runs a procedure on a topic; its result is the number of removed records. */
static Datum
mk_maintain_topic(FunctionCallInfo fcinfo, const char *name,
				  int64 (*maintain)(const char *topic))
{
	Datum removed;
	bool isnull = false;

	mk_begin_procedure(fcinfo, name);
	removed = Int64GetDatum(maintain(mk_api_cstring(fcinfo, 0, "topic")));
	SPI_finish();
	return mk_api_row(fcinfo, &removed, &isnull);
}

PG_FUNCTION_INFO_V1(minikafka_expire);
Datum
minikafka_expire(PG_FUNCTION_ARGS)
{
	return mk_maintain_topic(fcinfo, "expire()", mk_maintenance_expire);
}

PG_FUNCTION_INFO_V1(minikafka_compact);
Datum
minikafka_compact(PG_FUNCTION_ARGS)
{
	return mk_maintain_topic(fcinfo, "compact()", mk_maintenance_compact);
}

/* ---------------------------------------------------------------------------
 * refuse_write()
 */

/* The trigger on the tables of topics. */
PG_FUNCTION_INFO_V1(minikafka_refuse_write);
Datum
minikafka_refuse_write(PG_FUNCTION_ARGS)
{
	Relation rel;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						"minikafka.refuse_write")));
	rel = ((TriggerData *) fcinfo->context)->tg_relation;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("cannot write to table \"%s.%s\" directly",
					get_namespace_name(RelationGetNamespace(rel)),
					RelationGetRelationName(rel)),
			 errdetail("It is the log of a topic."),
			 errhint("Use minikafka.send() to add records and "
					 "minikafka.delete_records() to move the log start.")));
	return PointerGetDatum(NULL);
}
