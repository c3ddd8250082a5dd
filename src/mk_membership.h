/*
 * mk_membership.h
 *		Groups as the session knows them: with members, assignment and grants.
 */
#ifndef MK_MEMBERSHIP_H
#define MK_MEMBERSHIP_H

#include "mk_group_rows.h"

/* Bytes of the name of a group, a member or an instance, at most */
#define MK_MEMBERSHIP_MAX_ID 255

extern void mk_membership_init(void);

/*
 * The group as it is now, NULL if there is none.  The session's own copy: valid
 * until the next call for the same group.
 */
extern MkGroup *mk_membership_get(const char *group_id);

/* The same, but only its row and its grantees, and not kept. */
extern bool mk_membership_get_rights(const char *group_id, MkGroup *group);

/*
 * Looks for roles that are gone: adds owners of groups, and grantees, to the
 * list; see mk_role_look.
 */
extern List *mk_membership_look(List *missing);

/*
 * Forgets what the session has read of groups, if those are many.  To be called
 * where no result of mk_membership_get is in use.
 */
extern void mk_membership_trim(void);

/*
 * A copy of the group in the current memory context, to be changed and written
 * (see mk_group_rows.h); NULL if there is none.  The caller holds mk_lock_group
 * exclusively.
 */
extern MkGroup *mk_membership_get_for_update(const char *group_id);

/* The member of this id or number, NULL if there is none. */
extern MkMember *
mk_membership_member(const MkGroup *group, const char *member_id);
extern MkMember *mk_membership_member_no(const MkGroup *group, int32 member_no);

/* The same, also one that was removed. */
extern MkMember *
mk_membership_any_member(const MkGroup *group, const char *member_id);

/* The assignment of a partition, NULL if no member has it. */
extern MkAssignment *
mk_membership_assignment(const MkGroup *group, int32 topic_id, int32 partition);

/* Whether the group has the topic. */
extern bool mk_membership_has_topic(const MkGroup *group, int32 topic_id);

/* The topic, NULL if it was dropped. */
extern MkTopic *mk_membership_topic(MkGroupTopic *topic);
extern MkTopic *mk_membership_topic_by_id(const MkGroup *group, int32 topic_id);

#endif /* MK_MEMBERSHIP_H */
