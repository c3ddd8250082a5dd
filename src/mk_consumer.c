/*
 * mk_consumer.c
 *		Plain consumers: committed offsets of a group without members.
 *
 * A commit is only noted at the call.  When the transaction commits, the
 * group is made if it is new, and then the offset is written as the newest row
 * of (group, topic, partition), under a lock that is held to the end: two
 * commits of the same are in the order of their locks, and the later counts.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/snapmgr.h"

#include "mk_clock.h"
#include "mk_consumer.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_progress.h"
#include "mk_topic.h"
#include "mk_xact.h"

typedef struct MkGroupNote
{
	char *group_id;
	Oid user; /* who used it */
	MkGroup group; /* since the lock */
} MkGroupNote;

typedef struct MkCommitNote
{
	MkGroupNote *group;
	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int64 next_offset;
	char *metadata; /* NULL: none */
} MkCommitNote;

void
mk_consumer_check_group_id(const char *group_id)
{
	size_t length = strlen(group_id);

	if (length < 1 || length > MK_CONSUMER_MAX_GROUP_ID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid group id \"%s\"", group_id),
				 errhint("A group id has 1 to %d bytes.",
						 MK_CONSUMER_MAX_GROUP_ID)));
}

/* Whether the user may use a group that its owner's name is on. */
static bool
mk_group_allows(const MkGroup *group, Oid user)
{
	Oid owner = get_role_oid(NameStr(group->owner), true);

	return OidIsValid(owner) ? has_privs_of_role(user, owner)
							 : superuser_arg(user);
}

static void
mk_group_check_right(const char *group_id, const MkGroup *group, Oid user)
{
	if (!mk_group_allows(group, user))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for group \"%s\"", group_id),
				 errdetail("It belongs to role \"%s\", which used it first.",
						   NameStr(group->owner))));
}

/* ---------------------------------------------------------------------------
 * Notes
 */

static uint64
mk_group_tag(const void *note)
{
	const MkGroupNote *n = note;

	return mk_lock_group_name_tag(n->group_id);
}

static bool
mk_group_same(const void *a, const void *b)
{
	const MkGroupNote *na = a;
	const MkGroupNote *nb = b;

	return na->user == nb->user && strcmp(na->group_id, nb->group_id) == 0;
}

/*
 * Finds the group, or makes it.  At the call it may not have been there, or
 * may have been another role's that is gone: so the right is checked again.
 */
static void
mk_group_lock(void *note)
{
	MkGroupNote *n = note;

	if (!mk_catalog_group(n->group_id, &n->group))
	{
		mk_lock_group_name(n->group_id);
		if (!mk_catalog_group(n->group_id, &n->group))
			mk_catalog_group_insert(
				n->group_id, GetUserNameFromId(n->user, false), &n->group);
	}
	mk_group_check_right(n->group_id, &n->group, n->user);
}

static const MkNoteKind mk_group_kind = {
	.rank = 2,
	.tag = mk_group_tag,
	.same = mk_group_same,
	.lock = mk_group_lock,
	/* never replaced: it is looked for first */
};

static uint64
mk_commit_tag(const void *note)
{
	const MkCommitNote *n = note;

	return mk_lock_group_partition_tag(n->group->group_id, n->topic_id,
									   n->partition);
}

static bool
mk_commit_same(const void *a, const void *b)
{
	const MkCommitNote *na = a;
	const MkCommitNote *nb = b;

	return na->topic_id == nb->topic_id && na->partition == nb->partition &&
		strcmp(na->group->group_id, nb->group->group_id) == 0;
}

static void
mk_commit_discard(void *note)
{
	MkCommitNote *n = note;

	if (n->metadata != NULL)
		pfree(n->metadata);
	pfree(n);
}

static void
mk_commit_lock(void *note)
{
	MkCommitNote *n = note;

	mk_lock_topic_in_use(n->topic_id);
	mk_lock_group_partition(n->group->group_id, n->topic_id, n->partition);
	mk_catalog_check_topic(n->topic, n->topic_id);
}

static void
mk_commit_write(void *note)
{
	MkCommitNote *n = note;
	MkGroup *group = &n->group->group;
	MkCommitted previous;

	mk_progress_committed(group->group_no, n->topic_id, n->partition, NULL,
						  &previous);
	mk_progress_commit(group->group_no, n->topic_id, n->partition, &previous,
					   n->next_offset, n->metadata, mk_clock_now());
}

static const MkNoteKind mk_commit_kind = {
	.rank = 3,
	.tag = mk_commit_tag,
	.same = mk_commit_same,
	.lock = mk_commit_lock,
	.write = mk_commit_write,
	.discard = mk_commit_discard,
};

bool
mk_consumer_find_group(const char *group_id, MkGroup *group)
{
	MkGroupNote like = {.group_id = unconstify(char *, group_id),
						.user = GetUserId()};

	if (!mk_catalog_group(group_id, group))
	{
		/* one that this transaction will make has no rows yet */
		group->group_no = 0;
		return mk_xact_find_note(&mk_group_kind, &like) != NULL;
	}
	if (!has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		mk_group_check_right(group_id, group, GetUserId());
	return true;
}

void
mk_consumer_commit(const char *group_id, MkTopic *topic, int32 partition,
				   int64 next_offset, const char *metadata)
{
	MkGroup group;
	int64 end;
	MkGroupNote like = {.group_id = unconstify(char *, group_id),
						.user = GetUserId()};
	MkGroupNote *group_note;
	MkCommitNote *note;
	MemoryContext old;

	if (mk_catalog_group(group_id, &group))
		mk_group_check_right(group_id, &group, GetUserId());
	end = mk_log_end(topic, partition);
	if (next_offset < 0 || next_offset > end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offset " INT64_FORMAT " is outside [0, " INT64_FORMAT
						"] of topic \"%s\" partition %d",
						next_offset, end, NameStr(topic->name), partition)));

	old = MemoryContextSwitchTo(mk_xact_context());
	group_note = mk_xact_find_note(&mk_group_kind, &like);
	if (group_note == NULL)
	{
		group_note = palloc0(sizeof(MkGroupNote));
		group_note->group_id = pstrdup(group_id);
		group_note->user = like.user;
		mk_xact_note(&mk_group_kind, group_note);
	}
	note = palloc(sizeof(MkCommitNote));
	note->group = group_note;
	note->topic = topic;
	note->topic_id = topic->topic_id;
	note->partition = partition;
	note->next_offset = next_offset;
	note->metadata = metadata != NULL ? pstrdup(metadata) : NULL;
	mk_xact_note(&mk_commit_kind, note);
	MemoryContextSwitchTo(old);
}

/* What this transaction has noted, else what the statement sees, else -1. */
static int64
mk_committed_offset(const char *group_id, const MkGroup *group,
					const MkTopic *topic, int32 partition)
{
	MkGroupNote group_like = {.group_id = unconstify(char *, group_id)};
	MkCommitNote like = {.group = &group_like,
						 .topic_id = topic->topic_id,
						 .partition = partition};
	MkCommitNote *note = mk_xact_find_note(&mk_commit_kind, &like);
	MkCommitted committed;

	if (note != NULL)
		return note->next_offset;
	if (group != NULL &&
		mk_progress_committed(group->group_no, topic->topic_id, partition,
							  GetActiveSnapshot(), &committed))
		return committed.next_offset;
	return -1;
}

int64
mk_consumer_committed(const char *group_id, const MkTopic *topic,
					  int32 partition)
{
	MkGroup group;
	bool found = mk_consumer_find_group(group_id, &group);

	return mk_committed_offset(group_id, found ? &group : NULL, topic,
							   partition);
}

List *
mk_consumer_topics(const MkGroup *group)
{
	List *result = NIL;
	ListCell *lc;

	foreach (lc, mk_progress_topics(group->group_no, GetActiveSnapshot()))
	{
		MkTopic *topic = mk_catalog_topic_by_id(lfirst_int(lc));

		if (topic != NULL && mk_topic_is_visible(topic))
			result = lappend(result, topic);
	}
	return result;
}

void
mk_consumer_lag(const char *group_id, const MkGroup *group,
				const MkTopic *topic, int32 partition, MkLag *result)
{
	int64 position;
	int64 unread;
	TimestampTz ts;

	result->committed = mk_committed_offset(group_id, group, topic, partition);
	result->log_start = mk_log_start(topic, partition);
	result->end = Max(result->log_start, mk_log_end(topic, partition));
	position = Max(result->committed, result->log_start);
	result->lag = Max(result->end - position, 0);
	result->time_lag = 0;
	if (result->lag > 0 &&
		mk_log_time(topic, partition, position, GetActiveSnapshot(), &unread,
					&ts) &&
		unread < result->end)
		result->time_lag = Max(mk_clock_now() - ts, 0);
}
