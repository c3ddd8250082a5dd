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
	/* of a new group; of an option, only its field counts */
	const MkShareSettings *settings;
	MkTopic *dead_letter_topic; /* of these settings, NULL: none */
	int ntopics;
	MkTopic **topics; /* of the group, by priority */
	int32 *topic_ids; /* of each */

	/* the option that is set */
	const MkOption *option;

	/* a reset, to an offset for each partition */
	MkTopic *topic;
	int32 topic_id;
	int32 npartitions;
	int64 *offsets;
} MkShareChange;

/* The error for a name that is taken: 42710, or MK023 by a consumer group. */
extern void mk_share_change_exists(const char *group_id, MkGroupKind kind);

/* 22023 for settings that do not fit together, or not with the topics. */
extern void mk_share_change_check(const MkGroup *group);

/*
 * Sets the option, or the settings of a new group, in the group in memory, whose
 * own copy of the settings it changes.
 */
extern void mk_share_change_set(MkGroup *group, const MkShareChange *change);

/*
 * The functions below are for the commit; the caller holds mk_lock_group
 * exclusively, and mk_lock_topic_in_use of the topics.  42704 if one was dropped.
 */

/*
 * Makes a share group, which is to belong to this role.  42710 or MK023 if
 * "existing", the group of that name, is not NULL.
 */
extern void
mk_share_change_make(const char *group_id, Oid owner, const MkGroup *existing,
					 const MkShareChange *change);

/*
 * The others change a group that was read for update, and write what they change,
 * but not the group's own row.
 */

/* Begins the topics of a group that was made, by its auto_offset_reset. */
extern void
mk_share_change_begin(const MkGroup *group, const MkShareChange *change);

/* Sets the option; 22023 if the settings do not fit together then. */
extern void mk_share_change_option(MkGroup *group, const MkShareChange *change);

/* Begins a new era in each partition of a topic. */
extern void mk_share_change_reset(MkGroup *group, const MkShareChange *change);

/* Pauses the group, and tells why; a group that is paused stays as it is. */
extern void mk_share_change_pause(MkGroup *group, const char *why);

#endif /* MK_SHARE_CHANGE_H */
