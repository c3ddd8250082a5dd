/*
 * mk_group_rows.h
 *		The catalog's rows of groups: their settings, grants, members and
 *		assignments.
 *
 * mk_membership.h has what reads a whole group and keeps it.  What only share
 * groups have is in mk_share_settings.h.
 */
#ifndef MK_GROUP_ROWS_H
#define MK_GROUP_ROWS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

#include "mk_catalog.h"
#include "mk_group_setting.h"
#include "mk_share_settings.h"

typedef struct MkMember
{
	int32 member_no; /* of this incarnation */
	char *member_id;
	char *instance_id; /* NULL: a dynamic member */
	int ntopics;
	char **topics; /* sorted, each once */
	int32 *topic_ids; /* of each, 0 if there is none yet */
	MkReset reset;
	int64 session_timeout; /* microseconds, as are the next two */
	int64 max_poll_interval;
	int64 rebalance_timeout;
	TimestampTz joined_at;
	MkRemoved removed;
	TimestampTz removed_at;
	ItemPointerData tid;

	/* for mk_liveness.c: heartbeats as last read; there may be newer ones */
	TimestampTz seen;
	TimestampTz polled;
	/* the same of signs, which transactions in progress give */
	TimestampTz seen_sign;
	TimestampTz polled_sign;
} MkMember;

/* Which member has a partition, and which is to have it */
typedef struct MkAssignment
{
	int32 topic_id;
	int32 partition;
	int32 owner; /* a member_no */
	int32 generation; /* in which the owner got it */
	int32 target; /* a member_no: the owner's, unless the partition moves */
	TimestampTz handover_at; /* DT_NOEND, or when it moves at the latest */
	ItemPointerData tid;
} MkAssignment;

/* A topic that the group reads */
typedef struct MkGroupTopic
{
	int32 topic_id;
	int32 npartitions; /* that are assigned */
	MkTopic *topic; /* for mk_membership_topic */
} MkGroupTopic;

typedef struct MkGroup
{
	char *group_id;
	int32 group_no;
	MkGroupKind kind;
	MkShareSettings *share; /* NULL for a consumer group */
	NameData owner; /* a role's name */
	int32 generation;
	int64 version; /* grows with each change to any of the rows */
	bool has_settings; /* the next two: since the first member */
	MkAssignor assignor;
	MkProtocol protocol;
	char *rebalanced_why; /* NULL: it never was; see mk_group_change.c */
	TimestampTz rebalanced_at;
	int32 halved; /* how often the size of polls was halved */
	TimestampTz halved_at; /* the last time, DT_NOBEGIN: never */
	int64 halved_for; /* microseconds after which one halving ends */
	List *grantees; /* role names */
	int nmembers;
	MkMember *members; /* also removed ones; by member id */
	int nassignments;
	MkAssignment *assignments; /* by topic_id and partition */
	int ntopics;
	MkGroupTopic *topics; /* by topic_id; of a share group, by priority */
	ItemPointerData tid;

	/* for mk_liveness.c: before that time nothing is due */
	TimestampTz next_check;
} MkGroup;

/*
 * Reads a group's own row, without what other rows say of it; false if there is
 * none, or if it is that of a deleted group.  A NULL snapshot is a new one.
 * *own tells whether this transaction has written the row.
 */
extern bool mk_group_rows_get(const char *group_id, Snapshot snapshot,
							  MkGroup *group, bool *own);

/* Reads the grantees of a group whose own row was read. */
extern void mk_group_rows_get_grantees(MkGroup *group, Snapshot snapshot);

/*
 * All of a group, in the current memory context; NULL if there is none.  It is
 * read with one new snapshot, so that its parts fit together.
 */
extern MkGroup *mk_group_rows_get_whole(const char *group_id, bool *own);

/* The names of all groups. */
extern List *mk_group_rows_names(void);

/* The name of the group of this number, NULL if there is none. */
extern char *mk_group_rows_name(int32 group_no);

/* The numbers of all members of all groups, in no order. */
extern List *mk_group_rows_members(void);

/*
 * Writing.  The caller holds mk_lock_group exclusively, and has read the group
 * by mk_membership_get_for_update.  Each function writes a part of the group as
 * it is in memory.
 */

/* Also counts up the version, so it comes after all other changes. */
extern void mk_group_rows_put_group(MkGroup *group);

/*
 * Makes a group that does not exist: a consumer group, or a share group with
 * these settings and topics, whose numbers are in the order of their priority.
 */
extern void mk_group_rows_make(const char *group_id, const char *owner);
extern void
mk_group_rows_make_share(const char *group_id, const char *owner,
						 const MkShareSettings *settings, List *topic_ids);

/* Writes the settings of a share group, or the numbers of its topics. */
extern void mk_group_rows_put_share(const MkGroup *group);
extern void mk_group_rows_put_topics(const MkGroup *group, List *topic_ids);

/* A member or an assignment whose tid is not valid is new. */
extern void mk_group_rows_put_member(const MkGroup *group, MkMember *member);
extern void mk_group_rows_delete_member(MkMember *member);
extern void
mk_group_rows_put_assignment(const MkGroup *group, MkAssignment *assignment);
extern void mk_group_rows_delete_assignment(MkAssignment *assignment);

/* Grants the use of the group to a role, or revokes that. */
extern void
mk_group_rows_grant(const MkGroup *group, const char *grantee, bool grant);

/*
 * Deletes a group: all its rows but its own, which has no owner from now on and
 * keeps the generation, so that it never comes again.
 */
extern void mk_group_rows_delete(MkGroup *group);

#endif /* MK_GROUP_ROWS_H */
