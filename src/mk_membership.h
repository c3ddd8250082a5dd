/*
 * mk_membership.h
 *		Groups: their settings, members, assignment and grants, as the catalog
 *		has them.
 */
#ifndef MK_MEMBERSHIP_H
#define MK_MEMBERSHIP_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/itemptr.h"

#include "mk_assignor.h"
#include "mk_catalog.h"

/* Bytes of the name of a group, a member or an instance, at most */
#define MK_MEMBERSHIP_MAX_ID 255

typedef enum MkProtocol
{
	MK_PROTOCOL_COOPERATIVE,
	MK_PROTOCOL_EAGER
} MkProtocol;

typedef enum MkReset
{
	MK_RESET_EARLIEST,
	MK_RESET_LATEST,
	MK_RESET_NONE
} MkReset;

/* Why a member is none any more */
typedef enum MkRemoved
{
	MK_REMOVED_NOT,
	MK_REMOVED_LEFT,
	MK_REMOVED_FENCED, /* another took over its instance id */
	MK_REMOVED_SESSION_TIMEOUT,
	MK_REMOVED_MAX_POLL_INTERVAL
} MkRemoved;

typedef struct MkMember
{
	int32 member_no; /* of this incarnation */
	char *member_id;
	char *instance_id; /* NULL: a dynamic member */
	int ntopics;
	char **topics; /* sorted, each once */
	int32 *topic_ids; /* of each, 0 if there is none yet */
	MkReset reset;
	int64 session_timeout; /* microseconds */
	int64 max_poll_interval;
	int64 rebalance_timeout;
	TimestampTz joined_at;
	MkRemoved removed;
	TimestampTz removed_at;
	ItemPointerData tid;

	/* heartbeats as they were last looked up; may be newer by now */
	TimestampTz seen;
	TimestampTz polled;
	/* the same that were told without having committed */
	TimestampTz seen_sign;
	TimestampTz polled_sign;
} MkMember;

/* Who has a partition, and who is to have it */
typedef struct MkAssignment
{
	int32 topic_id;
	int32 partition;
	int32 owner; /* member_no */
	int32 generation; /* since which it has it */
	int32 target; /* the same, unless it is to move */
	TimestampTz handover_at; /* at the latest, if it is to move */
	ItemPointerData tid;
} MkAssignment;

/* A topic that the group reads. */
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
	NameData owner; /* a role's name */
	int32 generation;
	int64 version;
	bool has_settings; /* the next two: since the first member */
	MkAssignor assignor;
	MkProtocol protocol;
	char *rebalanced_why; /* a sentence's part; NULL: it was not */
	TimestampTz rebalanced_at;
	int32 halved; /* how often what a poll returns was halved */
	TimestampTz halved_at; /* the last time, DT_NOBEGIN: never */
	int64 halved_for; /* microseconds; then each time is taken back */
	List *grantees; /* role names */
	int nmembers;
	MkMember *members; /* also removed ones; by member id */
	int nassignments;
	MkAssignment *assignments; /* by topic_id and partition */
	int ntopics;
	MkGroupTopic *topics; /* by topic_id */
	ItemPointerData tid;

	/* before that nobody is to be removed, and nothing handed over */
	TimestampTz next_check;
} MkGroup;

extern void mk_membership_init(void);

/*
 * The group as it is now, NULL if there is none.  The backend's own copy: valid
 * until the next call for the same group.
 */
extern MkGroup *mk_membership_get(const char *group_id);

/* The same, but only its row and its grantees, and not kept. */
extern bool mk_membership_get_rights(const char *group_id, MkGroup *group);

/* The names of all groups. */
extern List *mk_membership_names(void);

/* mk_role_look for the owners of groups, and for whom they are granted to. */
extern List *mk_membership_look(List *missing);

/* The name of the group of this number, NULL if there is none. */
extern char *mk_membership_name(int32 group_no);

/* The numbers of all members of all groups, in no order. */
extern List *mk_membership_numbers(void);

/*
 * Forgets what the backend has read of groups, if those are many.  To be called
 * where no result of mk_membership_get is in use.
 */
extern void mk_membership_trim(void);

/*
 * A group as mk_membership_get has it, in the current memory context, whose numbers and lists the
 * caller may change.  The caller holds mk_lock_group exclusively, and may then
 * use the functions below.
 */
extern MkGroup *mk_membership_get_for_update(const char *group_id);

/* Makes a group that there is not; the caller holds mk_lock_group exclusively. */
extern void mk_membership_make(const char *group_id, const char *owner);

/* Each writes that part of the group as it is in memory. */
extern void mk_membership_put_group(MkGroup *group); /* and counts up version */
extern void mk_membership_put_member(const MkGroup *group, MkMember *member);
extern void mk_membership_delete_member(const MkGroup *group, MkMember *member);
extern void
mk_membership_put_assignment(const MkGroup *group, MkAssignment *assignment);
extern void mk_membership_delete_assignment(MkAssignment *assignment);
extern void
mk_membership_grant(const MkGroup *group, const char *grantee, bool grant);

/* Removes all rows of a group but the one that keeps its generation. */
extern void mk_membership_delete(MkGroup *group);

/* The member that is no removed one, by id or by number, or NULL. */
extern MkMember *
mk_membership_member(const MkGroup *group, const char *member_id);
extern MkMember *mk_membership_member_no(const MkGroup *group, int32 member_no);

/* The same, also a removed one. */
extern MkMember *
mk_membership_any_member(const MkGroup *group, const char *member_id);

/* The assignment of a partition, NULL if nobody has it. */
extern MkAssignment *
mk_membership_assignment(const MkGroup *group, int32 topic_id, int32 partition);

/* The topic, NULL if it is gone. */
extern MkTopic *mk_membership_topic(MkGroupTopic *topic);
extern MkTopic *mk_membership_topic_by_id(const MkGroup *group, int32 topic_id);

/* How the settings are called. */
extern const char *mk_membership_assignor_name(MkAssignor assignor);
extern const char *mk_membership_protocol_name(MkProtocol protocol);

/* The setting of this name; false if there is none. */
extern bool mk_membership_assignor(const char *name, MkAssignor *assignor);
extern bool mk_membership_protocol(const char *name, MkProtocol *protocol);
extern bool mk_membership_reset(const char *name, MkReset *reset);

#endif /* MK_MEMBERSHIP_H */
