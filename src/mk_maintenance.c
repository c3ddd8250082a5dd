/*
 * mk_maintenance.c
 *		Looking after topics and what the extension remembers.
 *
 * A pass notes what share groups have done, then goes through the partitions of all
 * topics (mk_maintenance_topic.c), then through groups, producers and the inbox
 * (mk_maintenance_state.c).
 */
#include "postgres.h"

#include "mk_maintenance.h"
#include "mk_maintenance_state.h"
#include "mk_maintenance_topic.h"
#include "mk_number.h"
#include "mk_step.h"
#include "mk_topic.h"

/* Why a pass may not begin. */
typedef struct MkObstacle
{
	bool subscriber; /* a subscription writes the tables */
	bool restoring; /* a dump is being restored */
} MkObstacle;

/*
 * During a restore the tables may hold a part of what the dump has: a group
 * before its offsets, a segment before its rows.  pg_dump sets sequences after
 * it has loaded all tables, so until then rows have numbers that no sequence
 * has given.
 */
static void
mk_do_look_for_obstacle(void *arg)
{
	MkObstacle *obstacle = arg;

	obstacle->subscriber = mk_relation_is_subscriber();
	obstacle->restoring = !obstacle->subscriber && mk_number_is_unset();
}

void
mk_maintenance_run(void (*report)(const char *activity))
{
	MkSteps steps;
	MkObstacle obstacle = {0};

	mk_step_begin(&steps, true, report);
	(void) mk_step_run(&steps, mk_do_look_for_obstacle, &obstacle,
					   "maintenance");
	if (obstacle.subscriber)
		ereport(
			WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the topics of this database are copies of another "
					"server's"),
			 errdetail("Maintenance does nothing while a subscription writes "
					   "them.")));
	else if (obstacle.restoring)
		ereport(
			WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("a dump of minikafka is being restored"),
			 errdetail("Rows have numbers that no sequence of minikafka has "
					   "given: a restore sets the sequences at its end. "
					   "Maintenance does nothing before that."),
			 errhint("If no dump is being restored, send something, or "
					 "use SELECT setval('minikafka.topic_id', max("
					 "topic_id)) FROM minikafka.topic.")));
	else
	{
		mk_maintenance_checkpoints(&steps);
		mk_maintenance_topics(&steps);
		mk_maintenance_state(&steps);
	}
	mk_step_end(&steps);
}

int64
mk_maintenance_expire(const char *name)
{
	MkTopic *topic = mk_topic_get_owned(name);
	MkSteps steps;
	int64 removed;

	mk_step_begin(&steps, false, NULL);
	removed = mk_maintenance_topic_retain(&steps, topic);
	mk_step_end(&steps);
	return removed;
}

int64
mk_maintenance_compact(const char *name)
{
	MkTopic *topic = mk_topic_get_owned(name);
	MkSteps steps;
	int64 removed;

	if (!topic->compacts)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("topic \"%s\" is not compacted", name),
				 errhint("Use minikafka.set_topic_option('%s', "
						 "'cleanup_policy', 'compact').",
						 name)));
	mk_step_begin(&steps, false, NULL);
	removed = mk_maintenance_topic_compact(&steps, topic);
	mk_step_end(&steps);
	return removed;
}
