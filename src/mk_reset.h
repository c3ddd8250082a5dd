/*
 * mk_reset.h
 *		reset_offsets(): where a group is to go on.
 */
#ifndef MK_RESET_H
#define MK_RESET_H

#include "mk_consumer.h"

/*
 * Defers that the group goes on, in each partition of a topic, at the offset that
 * the target means (see mk_target.h), and calls the sink with that: a commit of a
 * consumer group, a new era of a share group.  MK068 if the group has members.
 */
extern void mk_reset(const char *group_id, MkTopic *topic, const char *target,
					 MkOffsetSink sink, void *arg);

#endif /* MK_RESET_H */
