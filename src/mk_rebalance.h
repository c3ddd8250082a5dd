/*
 * mk_rebalance.h
 *		Giving the partitions of a group's topics to its members.
 *
 * The first two functions look at any group.  The others change a group that was
 * read for update (see mk_membership.h), in memory; mk_rebalance_write writes the
 * assignments.
 */
#ifndef MK_REBALANCE_H
#define MK_REBALANCE_H

#include "mk_membership.h"

/*
 * Whether the topics and partitions are not the ones that are assigned: a topic
 * was made, renamed or dropped, or got more partitions.  Looks for new ones only
 * among the topics of "member" (NULL: of all members).
 */
extern bool mk_rebalance_is_due(const MkGroup *group, const MkMember *member);

/*
 * Whether the owner of a partition, which stands at "position" (-1: at the
 * committed offset), has committed all that it has polled there.
 */
extern bool
mk_rebalance_is_done_with(const MkGroup *group, const MkAssignment *assignment,
						  int64 position, int64 committed);

/*
 * Follows topics: subscriptions get the new names of topics that were renamed, and
 * the numbers of topics that were made since the member joined.  Writes the members
 * whose subscriptions have changed; true if there are any.
 */
extern bool mk_rebalance_follow(MkGroup *group);

/* Gives a partition to its target; its owner has let go of it, or must. */
extern void mk_rebalance_hand_over(MkGroup *group, MkAssignment *assignment);

/*
 * Puts a new incarnation of a member in the place of a former one, which may have
 * had another member id.  Partitions that were to move away from the former one
 * move now.
 */
extern void
mk_rebalance_replace(MkGroup *group, int32 former_no, int32 member_no);

/*
 * Begins the next generation, and assigns all partitions anew.  With the eager
 * protocol every partition moves at once.  With the cooperative one, a partition
 * whose owner is alive moves when the owner lets go of it, and at the latest when
 * the owner's rebalance timeout has passed since "now".
 */
extern void mk_rebalance(MkGroup *group, TimestampTz now);

/*
 * Writes the assignments that differ from "before", which are those that the
 * group was read with.
 *
 * If a partition is new to the group, and its member's auto_offset_reset is
 * "latest", commits the partition's end as the offset to begin at.  Not so if its
 * topic is in "topics", the names that the group subscribed to before: then the
 * partition was made since, and is read from its start.
 */
extern void mk_rebalance_write(MkGroup *group, const MkAssignment *before,
							   int nbefore, List *topics, TimestampTz now);

#endif /* MK_REBALANCE_H */
