/*
 * mk_group_use.h
 *		A transaction's use of a group.
 */
#ifndef MK_GROUP_USE_H
#define MK_GROUP_USE_H

#include "mk_group_change.h"

/*
 * A transaction's use of a group.  All but group_id is for the commit: from then
 * on "group" is the group as it is, and stays so to the end, except for what the
 * transaction itself changes.  NULL if it was deleted meanwhile.
 */
typedef struct MkGroupUse
{
	char *group_id;
	MkGroup *group;
	bool exclusive; /* which lock the transaction holds */
	List *callers; /* see MkGroupChanges */
	List *committed;
} MkGroupUse;

/*
 * Defers locking the group to the commit, and checking there that the current
 * user may use it.  With "make", the commit makes a consumer group if there is none;
 * it belongs to the current user.  MK023 then for a share group.
 */
extern MkGroupUse *mk_group_use(const char *group_id, bool make);

/* The transaction's use of the group so far, NULL if there is none. */
extern MkGroupUse *mk_group_use_find(const char *group_id);

/*
 * As mk_group_get and mk_group_get_share, but as the commit of this transaction
 * would leave the group if it came now, so far as that has been deferred: a share
 * group that it makes, and the settings of one.  A copy in the current memory
 * context, which may be changed.
 */
extern MkGroup *mk_group_use_get(const char *group_id);
extern MkGroup *mk_group_use_get_share(const char *group_id);

/* Also defers a change; it is copied, except for its "join" and its "share". */
extern void
mk_group_use_defer(const char *group_id, const MkGroupChange *change);

/* Defers to do what is due in the group, if something is; true if so. */
extern bool mk_group_use_check(MkGroup *group);

/* While committing: the transaction holds the group's lock. */

/* Adds a member that made a call. */
extern void mk_group_use_called(MkGroupUse *use, int32 member_no);

/* Adds a partition for MK_CHANGE_LET_GO_COMMITTED. */
extern void
mk_group_use_committed(MkGroupUse *use, int32 topic_id, int32 partition);

#endif /* MK_GROUP_USE_H */
