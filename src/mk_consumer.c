/*
 * mk_consumer.c
 *		How far groups have come: committed offsets, and positions of members.
 *
 * A call defers the change of a group's progress in a partition to the commit.
 * The commit locks the group's partition, to the end of the transaction, checks
 * that what the calls relied on still holds, and writes the next row.  A plain
 * consumer relies on a group without members.  A member relies on having the
 * partition, in the same generation, and on no other session having polled or
 * committed for it meanwhile.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_consumer.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_member.h"
#include "mk_needed.h"
#include "mk_progress.h"
#include "mk_topic.h"
#include "mk_undone.h"
#include "mk_xact.h"

/* The deferred action: what the commit changes of a group's progress. */
typedef struct MkProgressAction
{
	MkGroupUse *use;
	int32 group_no; /* of a member */
	MkTopic *topic;
	int32 topic_id;
	int32 partition;

	int32 member_no; /* 0: a plain consumer */
	char *member_id;
	int32 generation; /* in which it got the partition */
	bool resets; /* reset_offsets() of a plain consumer */
	bool checks_generation; /* the group's generation must be the next */
	int32 checked_generation;

	bool moves; /* sets the position */
	int64 position;
	int64 turn;
	bool polled; /* from seen_position, which the row must still have */
	int64 seen_position;
	int64 first_offset; /* the first that was polled */
	int64 polled_end; /* the offset after the last one, whatever seek() did */
	int64 undone_turn; /* the partition's turn if the poll is rolled back */

	bool pauses; /* sets "paused" */
	bool paused;

	bool commits; /* sets the committed offset */
	int64 committed;
	char *metadata;
	int32 committed_generation;
	bool commits_position; /* after seen_committed, which the row must have */
	int64 seen_committed;

	MkProgress progress; /* the row, once it is locked */
} MkProgressAction;

/* ---------------------------------------------------------------------------
 * Deferred actions
 */

static uint64
mk_progress_action_tag(const void *deferred)
{
	const MkProgressAction *d = deferred;

	return mk_lock_group_partition_tag(d->use->group_id, d->topic_id,
									   d->partition);
}

static bool
mk_progress_action_same(const void *a, const void *b)
{
	const MkProgressAction *na = a;
	const MkProgressAction *nb = b;

	return na->topic_id == nb->topic_id && na->partition == nb->partition &&
		strcmp(na->use->group_id, nb->use->group_id) == 0;
}

static void
mk_progress_action_discard(void *deferred)
{
	MkProgressAction *d = deferred;

	if (d->metadata != NULL)
		pfree(d->metadata);
	if (d->member_id != NULL)
		pfree(d->member_id);
	pfree(d);
}

/* MK025 for a plain consumer */
static void
mk_outsider(const char *group_id)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_UNKNOWN_MEMBER_ID),
			 errmsg("group \"%s\" has members", group_id),
			 errdetail("While a group has members, only its members can commit "
					   "its offsets."),
			 errhint("Name the member in argument \"member_id\".")));
}

/* MK101 */
static void
mk_concurrent(const MkProgressAction *d, const char *what)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_CONCURRENT_POLL),
			 errmsg("another session has %s for member \"%s\" of group \"%s\"",
					what, d->member_id, d->use->group_id),
			 errdetail("Partition %d of topic \"%s\" moved on during this "
					   "transaction.",
					   d->partition, NameStr(d->topic->name)),
			 errhint("The transaction is rolled back: poll again.  Only one "
					 "session at a time should poll for a member.")));
}

/* Whether the row's position is that of this member and assignment. */
static bool
mk_is_of(const MkProgress *p, int32 member_no, int32 generation)
{
	return p->number > 0 && member_no != 0 && p->member_no == member_no &&
		p->generation == generation;
}

/* Locks the partition, checks what the calls relied on, and reads the row. */
static void
mk_progress_action_lock(void *deferred)
{
	MkProgressAction *d = deferred;
	MkProgress *p = &d->progress;

	mk_lock_group_partition(d->use->group_id, d->topic_id, d->partition);
	mk_catalog_check_topic(d->topic, d->topic_id);
	if (d->member_no != 0)
		mk_member_check_owner(d->use, d->group_no, d->member_no, d->member_id,
							  d->topic, d->topic_id, d->partition,
							  d->generation);
	else if (!mk_liveness_is_empty(d->use->group))
	{
		if (d->resets)
			mk_group_not_empty(d->use->group_id);
		mk_outsider(d->use->group_id);
	}
	if (d->checks_generation)
		mk_group_check_generation(d->use->group_id, d->use->group,
								  d->checked_generation);

	mk_progress_get(d->use->group->group_no, d->topic_id, d->partition, NULL,
					p);
	if (!mk_is_of(p, d->member_no, d->generation))
	{
		p->member_no = d->member_no;
		p->generation = d->generation;
		p->position = -1;
		p->turn = 0;
		p->paused = false;
	}
	if (d->commits && d->member_no != 0)
		mk_group_use_committed(d->use, d->topic_id, d->partition);
	if (d->polled && p->position != d->seen_position)
		mk_concurrent(d, "polled");
	if (d->commits_position && p->committed != d->seen_committed)
		mk_concurrent(d, "committed");
	/* the group begins to read the partition, or goes back */
	if ((d->commits && (p->committed < 0 || d->committed < p->committed)) ||
		(d->moves && d->position < p->committed))
		mk_needed_grows(d->topic_id);
}

/* Writes the next row. */
static void
mk_progress_action_write(void *deferred)
{
	MkProgressAction *d = deferred;
	MkProgress *p = &d->progress;

	if (d->moves)
	{
		p->position = d->position;
		p->turn = Max(p->turn, d->turn);
	}
	if (d->pauses)
		p->paused = d->paused;
	if (d->commits)
	{
		p->committed = d->committed;
		p->metadata = d->metadata;
		p->committed_at = mk_clock_now();
		p->committed_by = d->member_id;
		p->committed_generation = d->committed_generation;
	}
	Assert(mk_lock_group_partition_is_mine(d->use->group_id, d->topic_id,
										   d->partition));
	mk_progress_put(d->use->group->group_no, d->topic_id, d->partition, p);
}

/* Notes for this session's next polls what was polled in vain. */
static void
mk_progress_action_undone(void *deferred)
{
	const MkProgressAction *d = deferred;

	if (d->polled)
		mk_undone_add(d->member_no, d->topic_id, d->partition, d->first_offset,
					  d->polled_end, d->undone_turn);
}

static const MkDeferredKind mk_progress_action_kind = {
	.rank = MK_RANK_PROGRESS,
	.tag = mk_progress_action_tag,
	.same = mk_progress_action_same,
	.lock = mk_progress_action_lock,
	.write = mk_progress_action_write,
	.undone = mk_progress_action_undone,
	.discard = mk_progress_action_discard,
};

/* The transaction's deferred action about the partition, or NULL. */
static const MkProgressAction *
mk_progress_action_find(const char *group_id, int32 topic_id, int32 partition)
{
	MkGroupUse use = {.group_id = unconstify(char *, group_id)};
	MkProgressAction like = {
		.use = &use, .topic_id = topic_id, .partition = partition};

	return mk_xact_find_deferred(&mk_progress_action_kind, &like);
}

/*
 * A copy of the transaction's deferred action, or a new one, to be changed and
 * deferred.  The member is NULL for a plain consumer.  MK022 if the deferred
 * action so far is another member's, or of another generation: replacing it
 * would drop a check that must fail.
 */
static MkProgressAction *
mk_progress_action_copy(MkGroupUse *use, const MkGroup *group,
						const MkMember *member, int32 generation,
						MkTopic *topic, int32 partition)
{
	const MkProgressAction *before =
		mk_progress_action_find(use->group_id, topic->topic_id, partition);
	int32 member_no = member != NULL ? member->member_no : 0;
	MkProgressAction *d;
	MemoryContext old;

	if (before != NULL && before->member_no != 0 &&
		(before->member_no != member_no || before->generation != generation))
		mk_group_fence(use->group_id,
					   psprintf("Member \"%s\" has lost partition %d of topic "
								"\"%s\", or got it anew.",
								before->member_id, partition,
								NameStr(topic->name)));

	mk_topic_defer_use(topic->topic_id);
	mk_needed_defer();
	old = MemoryContextSwitchTo(mk_xact_context());
	d = palloc0(sizeof(MkProgressAction));
	if (before != NULL)
	{
		*d = *before;
		d->metadata =
			before->metadata != NULL ? pstrdup(before->metadata) : NULL;
	}
	d->use = use;
	d->group_no = group != NULL ? group->group_no : 0;
	d->topic = topic;
	d->topic_id = topic->topic_id;
	d->partition = partition;
	d->member_no = member_no;
	d->member_id = member != NULL ? pstrdup(member->member_id) : NULL;
	d->generation = generation;
	MemoryContextSwitchTo(old);
	return d;
}

/* Adds the generation that a commit names. */
static void
mk_progress_action_generation(MkProgressAction *d, const MkCommit *c)
{
	d->checks_generation |= c->has_generation;
	if (c->has_generation)
		d->checked_generation = c->generation;
}

/* Adds a committed offset, and defers the action. */
static void
mk_progress_action_commit(MkProgressAction *d, int64 next_offset,
						  const char *metadata, int32 generation)
{
	if (d->metadata != NULL)
		pfree(d->metadata);
	d->commits = true;
	d->committed = next_offset;
	d->metadata = metadata != NULL
		? MemoryContextStrdup(mk_xact_context(), metadata)
		: NULL;
	d->committed_generation = generation;
	mk_xact_defer(&mk_progress_action_kind, d);
}

/* ---------------------------------------------------------------------------
 * Plain consumers
 */

/*
 * Uses a group that has no live members.  Defers to remove members whose timeouts
 * have passed.
 */
static MkGroupUse *
mk_use_without_members(const char *group_id, MkGroup *group)
{
	MkGroupUse *use = mk_group_use(group_id, true);

	if (group != NULL)
		mk_group_use_check(group);
	return use;
}

/* 22023 for an offset that cannot be a position. */
static void
mk_check_offset(const MkTopic *topic, int32 partition, int64 next_offset)
{
	int64 end = mk_log_end(topic, partition);

	if (next_offset < 0 || next_offset > end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offset " INT64_FORMAT " is outside [0, " INT64_FORMAT
						"] of topic \"%s\" partition %d",
						next_offset, end, NameStr(topic->name), partition)));
}

/* As in Kafka, commits of plain consumers have generation -1. */
#define MK_NO_GENERATION (-1)

/* commit_offset() without a member */
static void
mk_commit_plain(const MkCommit *c)
{
	MkGroup *group = mk_group_find(c->group_id);
	MkProgressAction *d;

	if (group != NULL)
		mk_group_check_kind(group, MK_GROUP_CONSUMER);
	if (c->has_generation)
		mk_group_check_generation(c->group_id, group, c->generation);
	if (group != NULL && !mk_liveness_is_empty(group))
		mk_outsider(c->group_id);
	mk_check_offset(c->topic, c->partition, c->next_offset);
	d = mk_progress_action_copy(mk_use_without_members(c->group_id, group),
								group, NULL, 0, c->topic, c->partition);
	mk_progress_action_generation(d, c);
	mk_progress_action_commit(d, c->next_offset, c->metadata, MK_NO_GENERATION);
}

int64
mk_consumer_committed(const char *group_id, const MkGroup *group,
					  const MkTopic *topic, int32 partition)
{
	const MkProgressAction *deferred =
		mk_progress_action_find(group_id, topic->topic_id, partition);
	MkProgress progress;

	if (deferred != NULL && deferred->commits)
		return deferred->committed;
	if (group == NULL)
		return -1;
	mk_progress_get(group->group_no, topic->topic_id, partition,
					GetActiveSnapshot(), &progress);
	return progress.committed;
}

void
mk_consumer_reset(MkGroup *group, MkTopic *topic, int32 partition, int64 offset)
{
	MkProgressAction *d =
		mk_progress_action_copy(mk_use_without_members(group->group_id, group),
								group, NULL, 0, topic, partition);

	d->resets = true;
	mk_progress_action_commit(d, offset, NULL, MK_NO_GENERATION);
}

/* ---------------------------------------------------------------------------
 * Members
 */

/*
 * The error for a partition that is not the member's.  "a" is its assignment,
 * NULL if there is none; a member that must release it is its owner still.
 */
static void
mk_not_assigned(const MkGroup *group, const MkMember *member,
				const MkAssignment *a, const MkTopic *topic, int32 partition,
				int sqlstate)
{
	bool revoking = a != NULL && a->owner == member->member_no;

	ereport(
		ERROR,
		(mk_errcode(sqlstate),
		 errmsg("partition %d of topic \"%s\" is not assigned to member "
				"\"%s\" of group \"%s\"",
				partition, NameStr(topic->name), member->member_id,
				group->group_id),
		 revoking
			 ? errhint("minikafka.assignment() shows it as revoking: it "
					   "counts as not assigned.")
			 : errhint(
				   "minikafka.assignment() shows the member's partitions.")));
}

/* commit_offset() of a member */
static void
mk_commit_member(const MkCommit *c)
{
	MkGroup *group = mk_group_find(c->group_id);
	MkMember *member;
	MkAssignment *a;
	MkProgressAction *d;

	if (c->has_generation &&
		(group == NULL ||
		 mk_membership_any_member(group, c->member_id) == NULL))
		mk_group_check_generation(c->group_id, group, c->generation);
	member = mk_member_get(c->group_id, group, c->member_id, true);
	if (c->has_generation)
		mk_group_check_generation(c->group_id, group, c->generation);
	a = mk_membership_assignment(group, c->topic->topic_id, c->partition);
	if (a == NULL || a->owner != member->member_no)
		mk_not_assigned(group, member, a, c->topic, c->partition,
						ERRCODE_MK_ILLEGAL_GENERATION);
	mk_check_offset(c->topic, c->partition, c->next_offset);
	d = mk_progress_action_copy(mk_group_use(c->group_id, false), group, member,
								a->generation, c->topic, c->partition);
	mk_progress_action_generation(d, c);
	mk_progress_action_commit(d, c->next_offset, c->metadata,
							  group->generation);
	mk_member_touch(group, member, MK_TOUCH_COMMIT);
	mk_member_let_go(group, member->member_no, false);
}

void
mk_consumer_commit(const MkCommit *commit)
{
	if (commit->member_id == NULL)
		mk_commit_plain(commit);
	else
		mk_commit_member(commit);
}

/* Where the member reads next; -1 if there is neither position nor offset. */
static int64
mk_position_offset(const MkPosition *position)
{
	return position->position >= 0 ? position->position : position->committed;
}

void
mk_consumer_position(const MkGroup *group, const MkMember *member,
					 const MkAssignment *a, MkPosition *position)
{
	const MkProgressAction *deferred =
		mk_progress_action_find(group->group_id, a->topic_id, a->partition);
	MkProgress p;
	int64 undone_turn;
	bool is_of;

	mk_progress_get(group->group_no, a->topic_id, a->partition, NULL, &p);
	is_of = mk_is_of(&p, member->member_no, a->generation);
	position->position = is_of ? p.position : -1;
	position->turn = is_of ? p.turn : 0;
	position->paused = is_of && p.paused;
	position->committed = p.committed;
	if (deferred != NULL && deferred->moves)
	{
		position->position = deferred->position;
		position->turn = Max(position->turn, deferred->turn);
	}
	if (deferred != NULL && deferred->pauses)
		position->paused = deferred->paused;
	if (deferred != NULL && deferred->commits)
		position->committed = deferred->committed;
	position->undone =
		mk_undone_find(member->member_no, a->topic_id, a->partition,
					   mk_position_offset(position), &undone_turn);
	if (position->undone)
		position->turn = Max(position->turn, undone_turn);
}

void
mk_consumer_polling(const MkMember *member, const MkAssignment *a,
					const MkPosition *position, int64 undone_turn)
{
	mk_undone_begin(member->member_no, a->topic_id, a->partition,
					mk_position_offset(position), undone_turn);
}

void
mk_consumer_polled(const MkGroup *group, const MkMember *member,
				   const MkAssignment *a, MkTopic *topic,
				   const MkPosition *position, int64 next, int64 turn,
				   int64 undone_turn)
{
	MkProgressAction *d =
		mk_progress_action_copy(mk_group_use(group->group_id, false), group,
								member, a->generation, topic, a->partition);
	int64 from = mk_position_offset(position);

	if (!d->moves)
	{
		d->polled = true;
		d->seen_position = position->position;
		d->first_offset = from;
		/* a poll that went back to the log's start begins at "from" again */
		d->polled_end = Max(next, from + 1);
	}
	else if (d->polled && from <= d->polled_end)
		d->polled_end = Max(d->polled_end, next);
	d->moves = true;
	d->position = next;
	d->turn = turn;
	d->undone_turn = undone_turn;
	mk_xact_defer(&mk_progress_action_kind, d);
}

void
mk_consumer_reset_committed(const MkGroup *group, const MkMember *member,
							const MkAssignment *a, MkTopic *topic,
							int64 next_offset)
{
	MkProgressAction *d =
		mk_progress_action_copy(mk_group_use(group->group_id, false), group,
								member, a->generation, topic, a->partition);

	mk_progress_action_commit(d, next_offset, NULL, group->generation);
}

void
mk_consumer_commit_positions(const char *group_id, const char *member_id,
							 MkOffsetSink sink, void *arg)
{
	MkGroup *group = mk_group_find(group_id);
	MkMember *member = mk_member_get(group_id, group, member_id, true);

	for (int i = 0; i < group->nassignments; i++)
	{
		MkAssignment *a = &group->assignments[i];
		MkTopic *topic;
		MkPosition p;
		MkProgressAction *d;

		if (a->owner != member->member_no)
			continue;
		mk_consumer_position(group, member, a, &p);
		if (p.position < 0)
			continue;
		topic = mk_membership_topic_by_id(group, a->topic_id);
		if (topic == NULL)
			continue;
		/* the end went back, as after a restore: there is nothing to commit */
		if (p.position > p.committed &&
			p.position > mk_log_end(topic, a->partition))
			continue;
		sink(topic, a->partition, p.position, arg);
		if (p.position == p.committed)
			continue;
		d = mk_progress_action_copy(mk_group_use(group_id, false), group,
									member, a->generation, topic, a->partition);
		if (!d->commits)
		{
			d->commits_position = true;
			d->seen_committed = p.committed;
		}
		mk_progress_action_commit(d, p.position, NULL, group->generation);
	}
	mk_member_touch(group, member, MK_TOUCH_COMMIT);
	mk_member_let_go(group, member->member_no, true);
}

/* A deferred action about a partition that the member has and keeps. */
static MkProgressAction *
mk_progress_action_assigned(const char *group_id, const char *member_id,
							MkTopic *topic, int32 partition)
{
	MkGroup *group = mk_group_find(group_id);
	MkMember *member = mk_member_get(group_id, group, member_id, true);
	MkAssignment *a =
		mk_membership_assignment(group, topic->topic_id, partition);
	MkProgressAction *d;

	if (a == NULL || a->owner != member->member_no || a->target != a->owner)
		mk_not_assigned(group, member, a, topic, partition,
						ERRCODE_INVALID_PARAMETER_VALUE);
	d = mk_progress_action_copy(mk_group_use(group_id, false), group, member,
								a->generation, topic, partition);
	mk_member_touch(group, member, MK_TOUCH_HEARTBEAT);
	return d;
}

void
mk_consumer_seek(const char *group_id, const char *member_id, MkTopic *topic,
				 int32 partition, int64 next_offset)
{
	MkProgressAction *d =
		mk_progress_action_assigned(group_id, member_id, topic, partition);

	mk_check_offset(topic, partition, next_offset);
	d->moves = true;
	d->position = next_offset;
	mk_xact_defer(&mk_progress_action_kind, d);
}

void
mk_consumer_pause(const char *group_id, const char *member_id, MkTopic *topic,
				  int32 partition, bool pause)
{
	MkProgressAction *d =
		mk_progress_action_assigned(group_id, member_id, topic, partition);

	d->pauses = true;
	d->paused = pause;
	mk_xact_defer(&mk_progress_action_kind, d);
}
