/*
 * mk_group_change.h
 *		Changes to groups and their members, made when a transaction commits.
 */
#ifndef MK_GROUP_CHANGE_H
#define MK_GROUP_CHANGE_H

#include "mk_share_change.h"

typedef enum MkGroupChangeKind
{
	MK_CHANGE_CHECK, /* nothing but what is due */
	MK_CHANGE_LET_GO, /* a member lets go of all partitions that are to move */
	MK_CHANGE_LET_GO_COMMITTED, /* of those that it commits */
	MK_CHANGE_LEAVE,
	/* those below are errors if the group does not exist any more */
	MK_CHANGE_JOIN,
	MK_CHANGE_GRANT,
	MK_CHANGE_REVOKE,
	MK_CHANGE_OWNER,
	/* of share groups; the last two by whoever notices the reason, "name", or answers */
	MK_CHANGE_CREATE,
	MK_CHANGE_OPTION,
	MK_CHANGE_RESET,
	MK_CHANGE_PAUSE,
	MK_CHANGE_READY, /* a record that waited may do so no more: only the version */
	MK_CHANGE_DELETE
} MkGroupChangeKind;

/* How a member joins. */
typedef struct MkJoin
{
	char *group_id;
	char *member_id;
	char *instance_id; /* NULL: a dynamic member */
	int ntopics;
	char **topics; /* sorted, each once */
	bool has_assignor;
	MkAssignor assignor;
	bool has_protocol;
	MkProtocol protocol;
	MkReset reset;
	int64 session_timeout; /* microseconds, as are the next two */
	int64 max_poll_interval;
	int64 rebalance_timeout;
} MkJoin;

/* One change to a group; fields that the kind does not need are 0. */
typedef struct MkGroupChange
{
	MkGroupChangeKind kind;
	int32 member_no;
	const char *name; /* of a member or a role; why a group pauses */
	Oid user; /* that made the call */
	const MkJoin *join;
	const MkShareChange *share;
} MkGroupChange;

/* A partition */
typedef struct MkGroupPartition
{
	int32 topic_id;
	int32 partition;
} MkGroupPartition;

/* What a transaction asks for in one group, when it commits. */
typedef struct MkGroupChanges
{
	const char *group_id;
	List *changes; /* of MkGroupChange, in the order of the calls */
	List *callers; /* numbers of the members that made calls: they are alive */
	List *committed; /* of MkGroupPartition: offsets of these were committed */
} MkGroupChanges;

/* Whether a change lets go of partitions. */
extern bool mk_group_change_lets_go(const MkGroupChange *change);

/* The one that creates the group, NULL if none does. */
extern const MkGroupChange *mk_group_change_creation(List *changes);

/* Whether any of the changes changes the group, as it is in memory. */
extern bool mk_group_change_is_any(const MkGroup *group, List *changes);

/*
 * Makes the changes, and all that is due in the group, in at most one rebalance.
 * The caller holds mk_lock_group exclusively, and has written what the
 * transaction commits.
 */
extern void mk_group_change_apply(const MkGroupChanges *changes);

/*
 * MK023 or MK082 if the member cannot join the group as it is: its settings
 * contradict the group's, or it is fenced.
 */
extern void
mk_group_change_check_join(const MkJoin *join, const MkGroup *group);

#endif /* MK_GROUP_CHANGE_H */
