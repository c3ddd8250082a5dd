/*
 * mk_consumer.h
 *		Plain consumers: committed offsets of a group without members.
 */
#ifndef MK_CONSUMER_H
#define MK_CONSUMER_H

#include "nodes/pg_list.h"

#include "mk_catalog.h"

/* As Kafka's offset.metadata.max.bytes */
#define MK_CONSUMER_MAX_METADATA 4096
#define MK_CONSUMER_MAX_GROUP_ID 255

/* 22023 for a name that no group can have. */
extern void mk_consumer_check_group_id(const char *group_id);

/*
 * Notes that the group has read the partition up to next_offset, which must
 * lie in [0, end] (22023).  42501 if the group belongs to another role; one
 * that does not exist is made at commit, and belongs to the caller.
 */
extern void
mk_consumer_commit(const char *group_id, MkTopic *topic, int32 partition,
				   int64 next_offset, const char *metadata);

/*
 * The committed offset that the statement sees, or that this transaction has
 * noted; -1 if there is none.
 */
extern int64 mk_consumer_committed(const char *group_id, const MkTopic *topic,
								   int32 partition);

/*
 * A group for reading its state: 42501 if it belongs to another role and the
 * caller is no member of pg_monitor; false if there is none.
 */
extern bool mk_consumer_find_group(const char *group_id, MkGroup *group);

/*
 * The topics in which the group has committed offsets, and which the caller
 * may see: a list of MkTopic.
 */
extern List *mk_consumer_topics(const MkGroup *group);

typedef struct MkLag
{
	int64 log_start;
	int64 end;
	int64 committed; /* -1: none */
	int64 lag;
	int64 time_lag; /* microseconds */
} MkLag;

extern void
mk_consumer_lag(const char *group_id, const MkGroup *group,
				const MkTopic *topic, int32 partition, MkLag *result);

#endif /* MK_CONSUMER_H */
