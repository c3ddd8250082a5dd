/*
 * mk_group_setting.h
 *		Settings of groups and members that have names: the assignor, the
 *		protocol, what happens without an offset, and why a member was removed.
 */
#ifndef MK_GROUP_SETTING_H
#define MK_GROUP_SETTING_H

#include "mk_assignor.h"

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

/* The names, as in SQL and in the catalog. */
extern const char *mk_group_setting_assignor(MkAssignor assignor);
extern const char *mk_group_setting_protocol(MkProtocol protocol);
extern const char *mk_group_setting_reset(MkReset reset);
extern const char *mk_group_setting_removed(MkRemoved removed);

/* The setting of that name; false if there is none. */
extern bool
mk_group_setting_find_assignor(const char *name, MkAssignor *assignor);
extern bool
mk_group_setting_find_protocol(const char *name, MkProtocol *protocol);
extern bool mk_group_setting_find_reset(const char *name, MkReset *reset);
extern bool mk_group_setting_find_removed(const char *name, MkRemoved *removed);

#endif /* MK_GROUP_SETTING_H */
