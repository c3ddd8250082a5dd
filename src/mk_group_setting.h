/*
 * mk_group_setting.h
 *		Settings of groups and members that have names, such as the assignor.
 */
#ifndef MK_GROUP_SETTING_H
#define MK_GROUP_SETTING_H

#include "mk_assignor.h"

/* What a group gives to those that use it: partitions, or records. */
typedef enum MkGroupKind
{
	MK_GROUP_CONSUMER,
	MK_GROUP_SHARE
} MkGroupKind;

/* Which records of a share group are handed out in order. */
typedef enum MkShareOrdering
{
	MK_ORDERING_KEY, /* those of a key */
	MK_ORDERING_NONE
} MkShareOrdering;

/* Which topic of a share group comes first. */
typedef enum MkSharePriority
{
	MK_PRIORITY_FAIR, /* each in its turn */
	MK_PRIORITY_STRICT /* in their order */
} MkSharePriority;

/* What becomes of a record of a share group whose last delivery has failed. */
typedef enum MkExhausted
{
	MK_EXHAUSTED_DEFAULT, /* a dead letter if there is a topic; else block */
	MK_EXHAUSTED_DEAD_LETTER,
	MK_EXHAUSTED_DEAD_LETTER_KEY, /* and later ones of its key follow it */
	MK_EXHAUSTED_BLOCK, /* it waits for a person */
	MK_EXHAUSTED_PAUSE /* the group does */
} MkExhausted;

/* How partitions move in a rebalance. */
typedef enum MkProtocol
{
	MK_PROTOCOL_COOPERATIVE,
	MK_PROTOCOL_EAGER
} MkProtocol;

/* Where a member begins in a partition without a committed offset. */
typedef enum MkReset
{
	MK_RESET_EARLIEST,
	MK_RESET_LATEST,
	MK_RESET_NONE
} MkReset;

/* Why a member was removed. */
typedef enum MkRemoved
{
	MK_REMOVED_NOT, /* it is a member */
	MK_REMOVED_LEFT,
	MK_REMOVED_FENCED, /* another took over its instance id */
	MK_REMOVED_SESSION_TIMEOUT,
	MK_REMOVED_MAX_POLL_INTERVAL
} MkRemoved;

/*
 * The names, as in SQL and in the catalog.  Those of the options of share groups are
 * in mk_share_settings.c.
 */
extern const char *mk_group_setting_kind(MkGroupKind kind);
extern const char *mk_group_setting_assignor(MkAssignor assignor);
extern const char *mk_group_setting_protocol(MkProtocol protocol);
extern const char *mk_group_setting_reset(MkReset reset);
extern const char *mk_group_setting_removed(MkRemoved removed);

/* The value of this setting with that name, -1 if there is none. */
typedef enum MkGroupSetting
{
	MK_SETTING_KIND,
	MK_SETTING_ASSIGNOR,
	MK_SETTING_PROTOCOL,
	MK_SETTING_RESET,
	MK_SETTING_REMOVED
} MkGroupSetting;

extern int mk_group_setting_find(MkGroupSetting setting, const char *name);

#endif /* MK_GROUP_SETTING_H */
