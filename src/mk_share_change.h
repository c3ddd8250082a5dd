/*
 * mk_share_change.h
 *		Changes to share groups, made when a transaction commits.
 *
 * mk_group_change.h has those that both kinds of groups know.
 */
#ifndef MK_SHARE_CHANGE_H
#define MK_SHARE_CHANGE_H

#include "mk_membership.h"

/*
 * What a change asks for; fields that its kind does not need are 0.  It lives to
 * the end of the transaction.
 */
typedef struct MkShareChange
{
	const MkShareSettings *settings; /* of a new group */
	MkTopic *dead_letter_topic; /* of these settings, NULL: none */
	int ntopics;
	MkTopic **topics; /* of the group, by priority */
	int32 *topic_ids; /* of each */
} MkShareChange;

/*
 * The functions below are for the commit; the caller holds mk_lock_group
 * exclusively, and mk_lock_topic_in_use of the topics.
 */

/*
 * Makes a share group, which is to belong to this role.  42710 if "existing", the
 * group of that name, is one, MK023 if it is a consumer group; 42704 if a topic was
 * dropped.
 */
extern void
mk_share_change_make(const char *group_id, Oid owner, const MkGroup *existing,
					 const MkShareChange *change);

/* Begins the topics of a group that was made, by its auto_offset_reset. */
extern void
mk_share_change_begin(const MkGroup *group, const MkShareChange *change);

/* 42710, or MK023 if it is a group of the other kind. */
extern void mk_share_change_exists(const MkGroup *group);

#endif /* MK_SHARE_CHANGE_H */
