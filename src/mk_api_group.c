/*
 * mk_api_group.c
 *		The SQL functions of groups: members, positions, committed offsets.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_api.h"
#include "mk_compat.h"
#include "mk_consumer.h"
#include "mk_group.h"
#include "mk_group_admin.h"
#include "mk_lag.h"
#include "mk_liveness.h"
#include "mk_member.h"
#include "mk_progress.h"
#include "mk_reset.h"
#include "mk_topic.h"
#include "mk_topic_admin.h"
#include "mk_try.h"
#include "mk_xact.h"

static char *
mk_group_id(FunctionCallInfo fcinfo)
{
	return mk_api_id(fcinfo, 0, "group_id");
}

static char *
mk_member_id(FunctionCallInfo fcinfo)
{
	return mk_api_id(fcinfo, 1, "member_id");
}

/* ---------------------------------------------------------------------------
 * Members
 */

/*
 * Reads the topics that a member subscribes to, each once.  42501 if it may not
 * read one that exists.
 */
static void
mk_join_topics(FunctionCallInfo fcinfo, MkJoin *join)
{
	join->topics = mk_api_topic_names(fcinfo, 1, "topics", &join->ntopics);
	for (int i = 0; i < join->ntopics; i++)
	{
		MkTopic *topic = mk_catalog_topic_by_name(join->topics[i]);

		if (topic != NULL)
			mk_topic_check_readable(topic);
		else
			ereport(
				NOTICE,
				(errmsg("topic \"%s\" does not exist", join->topics[i]),
				 errdetail("The member reads it as soon as it is created.")));
	}
}

/* A setting by its name; 22023 for one that is not "known". */
static int
mk_join_setting(FunctionCallInfo fcinfo, int arg, const char *argument,
				MkGroupSetting setting, const char *known)
{
	const char *name = mk_api_cstring(fcinfo, arg, argument);
	int value = mk_group_setting_find(setting, name);

	if (value < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown %s \"%s\"", argument, name),
				 errhint("There are %s.", known)));
	return value;
}

/* A timeout in microseconds */
static int64
mk_join_timeout(FunctionCallInfo fcinfo, int arg, const char *name,
				int64 default_seconds)
{
	return PG_ARGISNULL(arg) ? default_seconds * USECS_PER_SEC
							 : mk_api_interval(fcinfo, arg, name, 1000);
}

/*
 * join_group(group_id, topics, member_id, instance_id, assignor, protocol,
 * auto_offset_reset, session_timeout, max_poll_interval, rebalance_timeout)
 */
PG_FUNCTION_INFO_V1(minikafka_join_group);
Datum
minikafka_join_group(PG_FUNCTION_ARGS)
{
	MkJoin *join;
	MemoryContext old;

	mk_api_enter_writer("join_group()");
	old = MemoryContextSwitchTo(mk_xact_context());
	join = palloc0(sizeof(MkJoin));
	join->group_id = mk_group_id(fcinfo);
	mk_join_topics(fcinfo, join);
	if (!PG_ARGISNULL(2))
		join->member_id = mk_api_id(fcinfo, 2, "member_id");
	if (!PG_ARGISNULL(3))
		join->instance_id = mk_api_id(fcinfo, 3, "instance_id");

	join->has_assignor = !PG_ARGISNULL(4);
	if (join->has_assignor)
		join->assignor = (MkAssignor) mk_join_setting(
			fcinfo, 4, "assignor", MK_SETTING_ASSIGNOR,
			"sticky, range and roundrobin");
	join->has_protocol = !PG_ARGISNULL(5);
	if (join->has_protocol)
		join->protocol = (MkProtocol) mk_join_setting(fcinfo, 5, "protocol",
													  MK_SETTING_PROTOCOL,
													  "cooperative and eager");
	if (!PG_ARGISNULL(6))
		join->reset = (MkReset) mk_join_setting(fcinfo, 6, "auto_offset_reset",
												MK_SETTING_RESET,
												"earliest, latest and none");
	join->session_timeout = mk_join_timeout(fcinfo, 7, "session_timeout", 45);
	join->max_poll_interval =
		mk_join_timeout(fcinfo, 8, "max_poll_interval", 5 * 60);
	join->rebalance_timeout =
		mk_join_timeout(fcinfo, 9, "rebalance_timeout", 30);
	mk_member_join(join);
	MemoryContextSwitchTo(old);
	PG_RETURN_TEXT_P(cstring_to_text(join->member_id));
}

PG_FUNCTION_INFO_V1(minikafka_leave_group);
Datum
minikafka_leave_group(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("leave_group()");
	mk_member_leave(mk_group_id(fcinfo), mk_member_id(fcinfo));
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_heartbeat);
Datum
minikafka_heartbeat(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkGroup *group;
	MkMember *member;

	mk_api_enter_writer("heartbeat()");
	group_id = mk_group_id(fcinfo);
	group = mk_group_find(group_id);
	member = mk_member_get(group_id, group, mk_member_id(fcinfo), true);
	mk_member_touch(group, member, MK_TOUCH_HEARTBEAT);
	PG_RETURN_INT32(group->generation);
}

/* Adds a row of three columns to the result. */
static void
mk_put_row(FunctionCallInfo fcinfo, Datum *values)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool nulls[3] = {0};

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(minikafka_assignment);
Datum
minikafka_assignment(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkGroup *group;
	MkMember *member;

	mk_api_enter("assignment()");
	group_id = mk_group_id(fcinfo);
	group = mk_group_find_monitored(group_id);
	member = mk_member_get(group_id, group, mk_member_id(fcinfo), false);
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < group->nassignments; i++)
	{
		MkAssignment *a = &group->assignments[i];
		MkTopic *topic;

		if (a->owner != member->member_no)
			continue;
		topic = mk_membership_topic_by_id(group, a->topic_id);
		if (topic != NULL && mk_topic_is_visible(topic))
		{
			Datum values[] = {CStringGetTextDatum(NameStr(topic->name)),
							  Int32GetDatum(a->partition),
							  BoolGetDatum(a->target != a->owner)};

			mk_put_row(fcinfo, values);
		}
	}
	return (Datum) 0;
}

/* ---------------------------------------------------------------------------
 * Positions and committed offsets
 */

/* An MkOffsetSink that adds a row to the result */
static void
mk_offset_row(const MkTopic *topic, int32 partition, int64 offset, void *arg)
{
	Datum values[] = {CStringGetTextDatum(NameStr(topic->name)),
					  Int32GetDatum(partition), Int64GetDatum(offset)};

	mk_put_row(arg, values);
}

PG_FUNCTION_INFO_V1(minikafka_commit);
Datum
minikafka_commit(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("commit()");
	InitMaterializedSRF(fcinfo, 0);
	mk_consumer_commit_positions(mk_group_id(fcinfo), mk_member_id(fcinfo),
								 mk_offset_row, fcinfo);
	return (Datum) 0;
}

/*
 * commit_offset(group_id, topic, partition, next_offset, metadata, member_id,
 * generation)
 */
PG_FUNCTION_INFO_V1(minikafka_commit_offset);
Datum
minikafka_commit_offset(PG_FUNCTION_ARGS)
{
	MkCommit commit = {0};

	mk_api_enter_writer("commit_offset()");
	commit.group_id = mk_group_id(fcinfo);
	commit.topic = mk_api_topic(fcinfo, 1, ACL_SELECT);
	commit.partition = mk_api_partition(fcinfo, 2, commit.topic);
	commit.next_offset = mk_api_int64(fcinfo, 3, "next_offset");
	if (!PG_ARGISNULL(4))
		commit.metadata = mk_api_cstring(fcinfo, 4, "metadata");
	if (commit.metadata != NULL &&
		strlen(commit.metadata) > MK_CONSUMER_MAX_METADATA)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("metadata of %zu bytes is too large",
						strlen(commit.metadata)),
				 errdetail("It may have %d bytes.", MK_CONSUMER_MAX_METADATA)));
	if (!PG_ARGISNULL(5))
		commit.member_id = mk_api_id(fcinfo, 5, "member_id");
	commit.has_generation = !PG_ARGISNULL(6);
	if (commit.has_generation)
		commit.generation = PG_GETARG_INT32(6);
	mk_consumer_commit(&commit);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_committed);
Datum
minikafka_committed(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkGroup *group;
	MkTopic *topic;
	int32 partition;
	int64 offset;

	mk_api_enter("committed()");
	group_id = mk_group_id(fcinfo);
	topic = mk_api_monitored_topic(fcinfo, 1);
	partition = mk_api_partition(fcinfo, 2, topic);
	group = mk_group_find_monitored(group_id);
	if (group != NULL)
		mk_group_check_kind(group, MK_GROUP_CONSUMER);
	offset = mk_consumer_committed(group_id, group, topic, partition);
	if (offset < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(offset);
}

/* reset_offsets(group_id, topic, target) */
PG_FUNCTION_INFO_V1(minikafka_reset_offsets);
Datum
minikafka_reset_offsets(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkTopic *topic;

	mk_api_enter_writer("reset_offsets()");
	group_id = mk_group_id(fcinfo);
	topic = mk_api_topic(fcinfo, 1, ACL_SELECT);
	InitMaterializedSRF(fcinfo, 0);
	mk_reset(group_id, topic, mk_api_cstring(fcinfo, 2, "target"),
			 mk_offset_row, fcinfo);
	return (Datum) 0;
}

/* seek(group_id, member_id, topic, partition, next_offset) */
PG_FUNCTION_INFO_V1(minikafka_seek);
Datum
minikafka_seek(PG_FUNCTION_ARGS)
{
	char *group_id;
	char *member_id;
	MkTopic *topic;
	int64 next_offset;

	mk_api_enter_writer("seek()");
	group_id = mk_group_id(fcinfo);
	member_id = mk_member_id(fcinfo);
	topic = mk_api_topic(fcinfo, 2, ACL_SELECT);
	next_offset = mk_api_int64(fcinfo, 4, "next_offset");
	mk_consumer_seek(group_id, member_id, topic,
					 mk_api_partition(fcinfo, 3, topic), next_offset);
	PG_RETURN_VOID();
}

/* pause(group_id, member_id, topic, partition), and resume() */
static Datum
mk_pause(FunctionCallInfo fcinfo, bool pause)
{
	char *group_id;
	char *member_id;
	MkTopic *topic;

	mk_api_enter_writer(pause ? "pause()" : "resume()");
	group_id = mk_group_id(fcinfo);
	member_id = mk_member_id(fcinfo);
	topic = mk_api_topic(fcinfo, 2, ACL_SELECT);
	mk_consumer_pause(group_id, member_id, topic,
					  mk_api_partition(fcinfo, 3, topic), pause);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_pause);
Datum
minikafka_pause(PG_FUNCTION_ARGS)
{
	return mk_pause(fcinfo, true);
}

PG_FUNCTION_INFO_V1(minikafka_resume);
Datum
minikafka_resume(PG_FUNCTION_ARGS)
{
	return mk_pause(fcinfo, false);
}

/* ---------------------------------------------------------------------------
 * Groups
 */

PG_FUNCTION_INFO_V1(minikafka_delete_group);
Datum
minikafka_delete_group(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("delete_group()");
	mk_group_admin_delete(mk_group_id(fcinfo));
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_grant_group);
Datum
minikafka_grant_group(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("grant_group()");
	mk_group_admin_grant(mk_group_id(fcinfo),
						 mk_api_cstring(fcinfo, 1, "grantee"), true);
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(minikafka_revoke_group);
Datum
minikafka_revoke_group(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("revoke_group()");
	mk_group_admin_grant(mk_group_id(fcinfo),
						 mk_api_cstring(fcinfo, 1, "grantee"), false);
	PG_RETURN_VOID();
}

/* set_group_owner(group_id, owner) */
PG_FUNCTION_INFO_V1(minikafka_set_group_owner);
Datum
minikafka_set_group_owner(PG_FUNCTION_ARGS)
{
	mk_api_enter_writer("set_group_owner()");
	mk_group_admin_set_owner(mk_group_id(fcinfo),
							 mk_api_cstring(fcinfo, 1, "owner"));
	PG_RETURN_VOID();
}

/* Whether the views show a group to the current user. */
PG_FUNCTION_INFO_V1(minikafka_group_is_visible);
Datum
minikafka_group_is_visible(PG_FUNCTION_ARGS)
{
	mk_api_enter("group_is_visible()");
	PG_RETURN_BOOL(mk_group_is_visible(mk_group_id(fcinfo)));
}

/* member_is_expired(group_id, member_id), for the views */
PG_FUNCTION_INFO_V1(minikafka_member_is_expired);
Datum
minikafka_member_is_expired(PG_FUNCTION_ARGS)
{
	MkGroup *group;
	MkMember *member;

	mk_api_enter("member_is_expired()");
	group = mk_group_find_monitored(mk_group_id(fcinfo));
	member = group != NULL ? mk_membership_member(group, mk_member_id(fcinfo))
						   : NULL;
	PG_RETURN_BOOL(member == NULL || mk_liveness_is_expired(member));
}

/* group_commits(group_id), for the view group_offsets */
PG_FUNCTION_INFO_V1(minikafka_group_commits);
Datum
minikafka_group_commits(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MkGroup *group;
	ListCell *lc;

	mk_api_enter("group_commits()");
	group = mk_group_find_monitored(mk_group_id(fcinfo));
	InitMaterializedSRF(fcinfo, 0);
	if (group == NULL)
		return (Datum) 0;
	foreach (lc, mk_lag_topics(group))
	{
		MkTopic *topic = lfirst(lc);
		Datum name = CStringGetTextDatum(NameStr(topic->name));

		for (int32 i = 0; i < topic->npartitions; i++)
		{
			MkProgress p;
			Datum values[7] = {name, Int32GetDatum(i)};
			bool nulls[7] = {0};

			CHECK_FOR_INTERRUPTS();
			mk_progress_get(group->group_no, topic->topic_id, i,
							GetActiveSnapshot(), &p);
			if (p.committed < 0)
				continue;
			values[2] = Int64GetDatum(p.committed);
			nulls[3] = p.metadata == NULL;
			if (!nulls[3])
				values[3] = CStringGetTextDatum(p.metadata);
			values[4] = TimestampTzGetDatum(p.committed_at);
			nulls[5] = nulls[6] = p.committed_by == NULL;
			if (!nulls[5])
				values[5] = CStringGetTextDatum(p.committed_by);
			values[6] = Int32GetDatum(p.committed_generation);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 nulls);
		}
	}
	return (Datum) 0;
}

/* A look at the lag in all partitions of a topic */
typedef struct MkLagCall
{
	const char *group_id;
	const MkGroup *group;
	const MkTopic *topic;
	int32 npartitions;
	MkEnds *ends;
	MkLag *lags;
} MkLagCall;

/* Runs it; under mk_try() if the topic may be broken. */
static void
mk_lag_call(void *arg)
{
	MkLagCall *call = arg;

	for (int32 i = 0; i < call->npartitions; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mk_lag_get(call->group_id, call->group, call->topic, i, call->ends,
				   &call->lags[i]);
	}
}

/*
 * The ends of partitions, for as long as the query lasts: the view consumer_lag
 * calls lag() for each group.
 */
static MkEnds *
mk_call_ends(FunctionCallInfo fcinfo)
{
	MemoryContext old;

	if (fcinfo->flinfo->fn_extra == NULL)
	{
		old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = mk_lag_ends();
		MemoryContextSwitchTo(old);
	}
	return fcinfo->flinfo->fn_extra;
}

/* Which members of the group have timeouts that passed; NULL without members. */
static bool *
mk_lag_expired(const MkGroup *group)
{
	bool *expired = NULL;

	if (group != NULL && group->nmembers > 0)
		expired = palloc0(group->nmembers * sizeof(bool));
	for (int i = 0; expired != NULL && i < group->nmembers; i++)
		expired[i] = group->members[i].removed == MK_REMOVED_NOT &&
			mk_liveness_is_expired(&group->members[i]);
	return expired;
}

/*
 * Adds the rows of lag() for one topic.  With "quietly" they have NULLs if the
 * topic cannot be read.
 */
static void
mk_lag_rows(FunctionCallInfo fcinfo, const char *group_id, const MkGroup *group,
			const MkTopic *topic, bool quietly)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MkLagCall call = {.group_id = group_id,
					  .group = group,
					  .topic = topic,
					  .npartitions = topic->npartitions,
					  .ends = mk_call_ends(fcinfo)};
	bool *expired = mk_lag_expired(group);
	bool unreadable = false;
	Datum name = CStringGetTextDatum(NameStr(topic->name));

	call.lags = palloc0(call.npartitions * sizeof(MkLag));
	if (!quietly)
		mk_lag_call(&call);
	else
		unreadable = mk_try(mk_lag_call, &call, mk_api_is_unreadable) != NULL;

	for (int32 i = 0; i < call.npartitions; i++)
	{
		const MkLag *lag = &call.lags[i];
		const int64 more[] = {lag->ready, lag->in_flight, lag->waiting,
							  lag->lost};
		Datum values[8 + lengthof(more)] = {0};
		bool nulls[8 + lengthof(more)];
		Interval time_lag = {.time = lag->time_lag};

		memset(nulls, unreadable, sizeof(nulls));
		values[0] = name;
		values[1] = Int32GetDatum(i);
		nulls[0] = nulls[1] = false;
		values[2] = Int64GetDatum(lag->log_start);
		values[3] = Int64GetDatum(lag->end);
		values[4] = Int64GetDatum(lag->committed);
		nulls[4] |= lag->committed < 0;
		values[5] = Int64GetDatum(lag->lag);
		values[6] = IntervalPGetDatum(&time_lag);
		nulls[6] |= lag->time_lag < 0;
		nulls[7] |= lag->owner == NULL || expired[lag->owner - group->members];
		if (!nulls[7])
			values[7] = CStringGetTextDatum(lag->owner->member_id);
		for (int j = 0; j < (int) lengthof(more); j++)
		{
			values[8 + j] = Int64GetDatum(more[j]);
			nulls[8 + j] |= more[j] < 0;
		}
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* lag(group_id, topic) */
PG_FUNCTION_INFO_V1(minikafka_lag);
Datum
minikafka_lag(PG_FUNCTION_ARGS)
{
	char *group_id;
	MkGroup *group;

	mk_api_enter("lag()");
	group_id = mk_group_id(fcinfo);
	group = mk_group_find_monitored(group_id);
	if (group == NULL && mk_group_use_find(group_id) == NULL)
		mk_group_not_found(group_id);
	InitMaterializedSRF(fcinfo, 0);
	if (!PG_ARGISNULL(1))
		mk_lag_rows(fcinfo, group_id, group, mk_api_monitored_topic(fcinfo, 1),
					false);
	else if (group != NULL)
	{
		ListCell *lc;

		foreach (lc, mk_lag_topics(group))
			mk_lag_rows(fcinfo, group_id, group, lfirst(lc), true);
	}
	return (Datum) 0;
}
