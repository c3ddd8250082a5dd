/*
 * mk_member.h
 *		Calls of members: joining, leaving, and being alive.
 */
#ifndef MK_MEMBER_H
#define MK_MEMBER_H

#include "mk_group_use.h"

/* Kafka's timeouts are integers, in milliseconds; this is in microseconds. */
#define MK_MEMBER_MAX_TIMEOUT (INT64CONST(2147483647) * 1000)

/*
 * A member of the group: MK025 if there is none of that name, MK082 if it was
 * fenced.  With "alive" also MK025 if one of its timeouts has passed.  "group"
 * may be NULL: the group does not exist.
 */
extern MkMember *mk_member_get(const char *group_id, MkGroup *group,
							   const char *member_id, bool alive);

/* What a member does. */
typedef enum MkTouch
{
	MK_TOUCH_HEARTBEAT,
	MK_TOUCH_POLL,
	MK_TOUCH_COMMIT
} MkTouch;

/*
 * A call of a member: defers its heartbeat and what is due in the group, such as
 * removing dead members, handing partitions over, and reading new topics.
 * Polling and committing also take the member's lock.  After a commit the
 * transaction is fenced: MK022, MK025 or MK082 if the member does not last until
 * the transaction commits.  True if something is due.
 */
extern bool mk_member_touch(MkGroup *group, MkMember *member, MkTouch how);

/*
 * Defers that the member lets go of its partitions that are to move and that it
 * is done with: of all, or of those that the transaction commits (see
 * mk_group_use_committed).
 */
extern void mk_member_let_go(const MkGroup *group, int32 member_no, bool all);

/*
 * While committing: MK022, MK025 or MK082 unless the member, in that
 * incarnation, still has the partition that it got in that generation.
 */
extern void
mk_member_check_owner(const MkGroupUse *use, int32 group_no, int32 member_no,
					  const char *member_id, const MkTopic *topic,
					  int32 topic_id, int32 partition, int32 generation);

/*
 * Defers that a member joins.  If "member_id" is NULL, makes one up.  "join" and
 * all in it must be in mk_xact_context(), and the caller may read those of its
 * topics that exist.  42501 if neither the group exists nor any of the topics.
 */
extern void mk_member_join(MkJoin *join);
extern void mk_member_leave(const char *group_id, const char *member_id);

#endif /* MK_MEMBER_H */
