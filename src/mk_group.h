/*
 * mk_group.h
 *		Groups: who may use them, their members, and changes to both.
 *
 * All of it is only noted at the call, and done when the transaction commits.
 */
#ifndef MK_GROUP_H
#define MK_GROUP_H

#include "mk_membership.h"

/* Kafka's timeouts are integers, in milliseconds. */
#define MK_GROUP_MAX_TIMEOUT (INT64CONST(2147483647) * 1000)

/* 22023 for a name that no group, member or instance can have. */
extern void mk_group_check_id(const char *what, const char *id);

/*
 * A group to use: NULL if there is none, 42501 if it is another role's and not
 * granted.  The second is for reading its state: members of pg_monitor may too.
 * The third raises 42704 where there is none.  See mk_membership_get for how
 * long the result is valid.
 */
extern MkGroup *mk_group_find(const char *group_id);
extern MkGroup *mk_group_find_monitored(const char *group_id);
extern MkGroup *mk_group_get(const char *group_id);
extern void mk_group_not_found(const char *group_id);

/* Whether there is such a group, and the caller may see it. */
extern bool mk_group_is_visible(const char *group_id);

/*
 * A member of the group: MK025 if there is none, or if its time is over and
 * "alive", MK082 if it was fenced.
 */
extern MkMember *mk_group_member(const char *group_id, MkGroup *group,
								 const char *member_id, bool alive);

/* Whether the member's time is over, though nobody has removed it yet. */
extern bool mk_group_is_expired(MkMember *member);

/* Whether nobody is a member, but such whose time is over. */
extern bool mk_group_is_empty(MkGroup *group);

/*
 * How often what a poll returns is to be halved: once for each time that members
 * were removed since they did not poll in time, less one for each ten of their
 * max poll intervals that have passed since the last.
 */
extern int mk_group_halved(const MkGroup *group);

/*
 * Whether the owner of a partition, which stands at "position" (-1: at the
 * committed offset), has committed all that it has polled there.
 */
extern bool
mk_group_is_done_with(const MkGroup *group, const MkAssignment *assignment,
					  int64 position, int64 committed);

/* ---------------------------------------------------------------------------
 * Notes
 */

/*
 * The transaction's use of a group.  While it commits, "group" is the group as
 * it is: it stays so to the end, but for what the transaction itself changes.
 */
typedef struct MkGroupUse
{
	char *group_id;
	MkGroup *group;
	bool exclusive;
	List *callers; /* numbers of the members that were touched */
	List *committed; /* partitions, where exclusive: mk_group_committed */
} MkGroupUse;

/*
 * Notes that the transaction uses the group; with "make" it is made, and
 * belongs to the caller, if there is none.
 */
extern MkGroupUse *mk_group_use(const char *group_id, bool make);

/* The same if that was noted before, else NULL. */
extern MkGroupUse *mk_group_find_use(const char *group_id);

typedef enum MkTouch
{
	MK_TOUCH_HEARTBEAT,
	MK_TOUCH_POLL,
	MK_TOUCH_COMMIT
} MkTouch;

/*
 * Notes that the member was heard of, and that whatever is due in the group is
 * to be done: removing members whose time is over, partitions to hand over, new
 * topics.  Polling and committing also hold the member's lock; a commit is
 * fenced.  True if something is due.
 */
extern bool mk_group_touch(MkGroup *group, MkMember *member, MkTouch how);

/* The same for a caller that is no member. */
extern bool mk_group_check(MkGroup *group);

/*
 * Notes that the member lets go of its partitions that are to move, and that it
 * is done with when the transaction commits: of all, or of those for which
 * mk_group_committed is called while committing.
 */
extern void mk_group_let_go(const MkGroup *group, int32 member_no, bool all);
extern void
mk_group_committed(MkGroupUse *use, int32 topic_id, int32 partition);

/*
 * To be called while committing: MK022, MK025 or MK082 unless the member, in
 * that incarnation, still has the partition that it got in that generation.
 */
extern void
mk_group_check_owner(const MkGroupUse *use, int32 group_no, int32 member_no,
					 const char *member_id, const MkTopic *topic,
					 int32 topic_id, int32 partition, int32 generation);

/* MK022 for a transaction that has outlived what it went by. */
extern void mk_group_fence(const char *group_id, const char *detail);

/* MK022 for a generation that is not the group's. */
extern void mk_group_check_generation(const char *group_id,
									  const MkGroup *group, int32 generation);

typedef struct MkJoin
{
	char *group_id;
	char *member_id; /* NULL: one will be made up */
	char *instance_id; /* NULL: a dynamic member */
	int ntopics;
	char **topics; /* sorted, each once */
	bool has_assignor;
	MkAssignor assignor;
	bool has_protocol;
	MkProtocol protocol;
	MkReset reset;
	int64 session_timeout; /* microseconds */
	int64 max_poll_interval;
	int64 rebalance_timeout;
} MkJoin;

/*
 * Notes that a member joins, and sets member_id.  "join" and all in it must be
 * in mk_xact_context(), and the caller may read those of its topics that exist.
 * 42501 if there is no group, and no such topic.
 */
extern void mk_group_join(MkJoin *join);
extern void mk_group_leave(const char *group_id, const char *member_id);
extern void
mk_group_grant(const char *group_id, const char *grantee, bool grant);
extern void mk_group_set_owner(const char *group_id, const char *owner);
extern void mk_group_delete(const char *group_id);

/*
 * Does at once, for maintenance, what is due in a group: see mk_group_touch.
 * Deletes it if it has had no members, and has committed nothing, for
 * minikafka.offsets_retention.
 */
extern void mk_group_maintain(const char *group_id);

/* MK068 */
extern void mk_group_not_empty(const char *group_id);

#endif /* MK_GROUP_H */
