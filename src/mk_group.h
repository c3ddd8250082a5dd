/*
 * mk_group.h
 *		Groups: finding one, and the right to use it.
 *
 * Nothing here depends on what kind of group it is.
 */
#ifndef MK_GROUP_H
#define MK_GROUP_H

#include "mk_membership.h"

/* 22023 for a name that no group, member or instance can have. */
extern void mk_group_check_id(const char *what, const char *id);

/*
 * A group that the current user uses: NULL if there is none, 42501 without the
 * right.  mk_group_get raises 42704 where there is none, and mk_group_get_share also
 * MK023 if it is no share group.  mk_group_find_monitored
 * is for functions that show a group's state, which members of pg_monitor may
 * also see.  See mk_membership_get for how long the result is valid.
 */
extern MkGroup *mk_group_find(const char *group_id);
extern MkGroup *mk_group_get(const char *group_id);
extern MkGroup *mk_group_get_share(const char *group_id);
extern MkGroup *mk_group_find_monitored(const char *group_id);

/* Whether there is such a group, and the current user may see it. */
extern bool mk_group_is_visible(const char *group_id);

/* Whether the current user may use the group. */
extern bool mk_group_may_use(const MkGroup *group);

/*
 * 42501 unless the user may use the group; or, with "own", unless the user has
 * the privileges of its owner.
 */
extern void mk_group_check_right(const MkGroup *group, Oid user, bool own);

/* Whether the use of the group is granted to the role of this name. */
extern bool mk_group_is_granted(const MkGroup *group, const char *grantee);

/*
 * The numbers of the topics about which the group has rows that tell how far it
 * has come, ascending.
 */
extern List *mk_group_topics(const MkGroup *group);

/*
 * MK023 unless the group is of this kind; and the same for a share group that may be
 * NULL, then 42704.
 */
extern void mk_group_check_kind(const MkGroup *group, MkGroupKind kind);
extern MkGroup *mk_group_check_share(MkGroup *group, const char *group_id);

/* MK022 for a generation that is not the group's. */
extern void mk_group_check_generation(const char *group_id,
									  const MkGroup *group, int32 generation);

/*
 * Errors about a group: 42704; MK023 for a name that is that of a group of this
 * kind; MK068; and MK022 for a transaction whose calls relied on an assignment, or
 * on the settings or offsets of a share group, that hold no longer, with a sentence
 * that tells which.
 */
extern void mk_group_not_found(const char *group_id);
extern void mk_group_share_not_found(const char *group_id);
extern void mk_group_is_other_kind(const char *group_id, MkGroupKind kind);
extern void mk_group_not_empty(const char *group_id);
extern void mk_group_fence(const char *group_id, const char *detail);
extern void mk_group_share_fence(const char *group_id, const char *detail);

#endif /* MK_GROUP_H */
