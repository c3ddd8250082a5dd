/*
 * mk_rebalance.h
 *		Giving the partitions of a group's topics to its members.
 *
 * All functions but the first work on a group that was read for update, and
 * leave the writing of its assignments to mk_rebalance_write.
 */
#ifndef MK_REBALANCE_H
#define MK_REBALANCE_H

#include "mk_membership.h"

/*
 * Whether there are other topics or partitions than those that are assigned,
 * as far as "member" subscribes to them (NULL: any member).
 */
extern bool mk_rebalance_is_due(const MkGroup *group, const MkMember *member);

/*
 * Has the members' subscriptions follow topics that were renamed, and notes the
 * numbers of those that were made since.  True if any has changed; those members
 * are written.
 */
extern bool mk_rebalance_follow(MkGroup *group);

/*
 * Whether the owner of a partition, which stands at "position" (-1: at the
 * committed offset), has committed all that it has polled there.
 */
extern bool
mk_rebalance_is_done_with(const MkGroup *group, const MkAssignment *assignment,
						  int64 position, int64 committed);

/* Gives a partition that is to move to who is to have it. */
extern void mk_rebalance_hand_over(MkGroup *group, MkAssignment *assignment);

/*
 * Puts a new incarnation of a member in the place of a former one, which may
 * have been of another member id.  What was to move from that moves.
 */
extern void
mk_rebalance_replace(MkGroup *group, int32 former_no, int32 member_no);

/*
 * Begins the next generation and assigns all anew.  Eager: every partition
 * moves.  Cooperative: one that another member has moves when that lets it go,
 * or has not done so within its rebalance timeout; now is the time that this
 * counts from.
 */
extern void mk_rebalance(MkGroup *group, TimestampTz now);

/*
 * Writes how the assignments differ from "before", the group's as they were
 * read.  Where a partition is new to the group, and its member begins at the
 * end ("latest"), that is committed as the offset to begin at; unless "topics"
 * has its topic, a list of names that the group has subscribed to already: then
 * the partition was made since, and is read from its start.
 */
extern void mk_rebalance_write(MkGroup *group, const MkAssignment *before,
							   int nbefore, List *topics, TimestampTz now);

#endif /* MK_REBALANCE_H */
