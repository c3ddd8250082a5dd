/*
 * mk_lag.c
 *		How far groups are behind the ends of partitions.
 *
 * A query may ask about many groups of the same partitions, so it looks up each
 * partition once.
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_consumer.h"
#include "mk_lag.h"
#include "mk_log.h"
#include "mk_progress.h"
#include "mk_share_survey.h"
#include "mk_topic.h"

List *
mk_lag_topics(const MkGroup *group)
{
	List *numbers = mk_progress_topics(group->group_no, GetActiveSnapshot());
	List *result = NIL;
	ListCell *lc;

	for (int i = 0; i < group->ntopics; i++)
		numbers = list_append_unique_int(numbers, group->topics[i].topic_id);
	/* without members, also the topics that the last ones read */
	for (int i = 0; group->ntopics == 0 && i < group->nmembers; i++)
		for (int j = 0; j < group->members[i].ntopics; j++)
			numbers =
				list_append_unique_int(numbers, group->members[i].topic_ids[j]);
	list_sort(numbers, list_int_cmp);
	foreach (lc, numbers)
	{
		MkTopic *topic = mk_catalog_topic_by_id(lfirst_int(lc));

		if (topic != NULL && mk_topic_is_visible(topic))
			result = lappend(result, topic);
	}
	return result;
}

/* A partition, as the query has found it. */
typedef struct MkEnd
{
	/* hash key */
	int32 topic_id;
	int32 partition;

	int64 log_start;
	int64 end;

	/* the record that was looked up last: many groups stand at the same one */
	int64 position; /* -1: none yet */
	bool found;
	TimestampTz ts;
} MkEnd;

MkEnds *
mk_lag_ends(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = offsetof(MkEnd, log_start);
	ctl.entrysize = sizeof(MkEnd);
	ctl.hcxt = CurrentMemoryContext;
	return hash_create("minikafka ends", 64, &ctl,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The entry of a partition; looks it up if it is new. */
static MkEnd *
mk_end_get(MkEnds *ends, const MkTopic *topic, int32 partition)
{
	MkEnd key = {.topic_id = topic->topic_id, .partition = partition};
	MkEnd *e = hash_search(ends, &key, HASH_FIND, NULL);

	if (e != NULL)
		return e;
	key.log_start = mk_log_start(topic, partition);
	key.end = Max(key.log_start, mk_log_end(topic, partition));
	key.position = -1;
	e = hash_search(ends, &key, HASH_ENTER, NULL);
	*e = key;
	return e;
}

/* The time of the first record from a position on.  False if there is none. */
static bool
mk_end_time(MkEnd *e, const MkTopic *topic, int64 position, TimestampTz *ts)
{
	int64 offset;

	if (e->position != position)
	{
		e->position = -1;
		e->found = mk_log_time(topic, e->partition, position,
							   GetActiveSnapshot(), &offset, &e->ts) &&
			offset < e->end;
		e->position = position;
	}
	*ts = e->ts;
	return e->found;
}

/* Sets the age of the first record from a position on. */
static void
mk_lag_set_time(MkEnd *e, const MkTopic *topic, int64 position, MkLag *result)
{
	TimestampTz ts;

	result->time_lag = 0;
	if (result->lag > 0 && mk_end_time(e, topic, position, &ts))
		result->time_lag =
			mk_clock_is_ahead(ts) ? -1 : Max(mk_clock_now() - ts, 0);
}

/* The same as mk_lag_get, of a share group. */
static void
mk_lag_get_share(const MkGroup *group, const MkTopic *topic, MkEnd *e,
				 MkLag *result)
{
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "minikafka survey", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	MkShareLag share;

	mk_share_survey_lag(group, topic, e->partition, e->log_start, e->end,
						&share);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	result->owner = NULL;
	result->committed = share.start;
	result->log_start = e->log_start;
	result->end = e->end;
	result->lag = share.ready + share.in_flight + share.waiting;
	result->ready = share.ready;
	result->in_flight = share.in_flight;
	result->waiting = share.waiting;
	result->lost = share.lost;
	mk_lag_set_time(e, topic, share.start, result);
}

void
mk_lag_get(const char *group_id, const MkGroup *group, const MkTopic *topic,
		   int32 partition, MkEnds *ends, MkLag *result)
{
	MkEnd *e = mk_end_get(ends, topic, partition);
	int64 position;
	MkAssignment *a = group != NULL
		? mk_membership_assignment(group, topic->topic_id, partition)
		: NULL;

	if (group != NULL && group->kind == MK_GROUP_SHARE)
	{
		mk_lag_get_share(group, topic, e, result);
		return;
	}
	result->owner = a != NULL ? mk_membership_member_no(group, a->owner) : NULL;
	result->committed =
		mk_consumer_committed(group_id, group, topic, partition);
	result->log_start = e->log_start;
	result->end = e->end;
	position = Max(result->committed, result->log_start);
	result->lag = Max(result->end - position, 0);
	result->ready = result->in_flight = result->waiting = -1;
	result->lost = result->committed < 0
		? -1
		: Max(result->log_start - result->committed, 0);
	mk_lag_set_time(e, topic, position, result);
}
