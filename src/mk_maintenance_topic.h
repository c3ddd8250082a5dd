/*
 * mk_maintenance_topic.h
 *		Maintenance of topics: next segments, retention, compaction.
 */
#ifndef MK_MAINTENANCE_TOPIC_H
#define MK_MAINTENANCE_TOPIC_H

#include "mk_catalog.h"
#include "mk_step.h"

/* All of it, for all topics. */
extern void mk_maintenance_topics(const MkSteps *steps);

/*
 * Retention, or compaction, of all partitions of one topic.  Returns how many
 * records were removed.
 */
extern int64 mk_maintenance_topic_retain(const MkSteps *steps, MkTopic *topic);
extern int64 mk_maintenance_topic_compact(const MkSteps *steps, MkTopic *topic);

#endif /* MK_MAINTENANCE_TOPIC_H */
