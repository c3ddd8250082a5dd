/*
 * mk_consumer.h
 *		How far groups have come: committed offsets, and positions of members.
 */
#ifndef MK_CONSUMER_H
#define MK_CONSUMER_H

#include "mk_membership.h"

/* As Kafka's offset.metadata.max.bytes */
#define MK_CONSUMER_MAX_METADATA 4096

/* What a commit is to store; 22023 if next_offset is outside [0, end]. */
typedef struct MkCommit
{
	const char *group_id;
	MkTopic *topic;
	int32 partition;
	int64 next_offset;
	const char *metadata; /* NULL: none */
	const char *member_id; /* NULL: a plain consumer, which needs no group */
	bool has_generation;
	int32 generation;
} MkCommit;

/*
 * Notes a commit.  MK025 for a plain consumer of a group that has members, MK022
 * for a member that does not have the partition, or in another generation.
 */
extern void mk_consumer_commit(const MkCommit *commit);

/* Gets (topic, partition, offset) of what was committed. */
typedef void (*MkOffsetSink)(const MkTopic *topic, int32 partition,
							 int64 offset, void *arg);

/* Notes a commit of all positions of a member. */
extern void
mk_consumer_commit_positions(const char *group_id, const char *member_id,
							 MkOffsetSink sink, void *arg);

/*
 * Notes a commit of what "target" says for each partition of a topic; MK068 if
 * the group has members.
 */
extern void mk_consumer_reset(const char *group_id, MkTopic *topic,
							  const char *target, MkOffsetSink sink, void *arg);

/*
 * Sets a member's position, or pauses a partition; 22023 if the member does not
 * have it, or for an offset outside [0, end].
 */
extern void
mk_consumer_seek(const char *group_id, const char *member_id, MkTopic *topic,
				 int32 partition, int64 next_offset);
extern void mk_consumer_pause(const char *group_id, const char *member_id,
							  MkTopic *topic, int32 partition, bool pause);

/*
 * Where a member stands in a partition that it has: what the transaction has
 * noted, else what is committed now.
 */
typedef struct MkPosition
{
	int64 position; /* -1: at the committed offset */
	int64 committed; /* -1: none */
	int64 turn;
	bool paused;
	bool undone; /* this session has rolled back a poll of what comes next */
} MkPosition;

extern void
mk_consumer_position(const MkGroup *group, const MkMember *member,
					 const MkAssignment *assignment, MkPosition *position);

/*
 * Before the member polls from "position", which mk_consumer_position gave: if
 * that fails, "undone_turn" is the partition's.
 */
extern void
mk_consumer_polling(const MkMember *member, const MkAssignment *assignment,
					const MkPosition *position, int64 undone_turn);

/*
 * Notes that the member has polled from there up to "next".  "turn" is the
 * partition's then, "undone_turn" if this rolls back.  At commit MK101 if
 * another session has polled meanwhile.
 */
extern void mk_consumer_polled(const MkGroup *group, const MkMember *member,
							   const MkAssignment *assignment, MkTopic *topic,
							   const MkPosition *position, int64 next,
							   int64 turn, int64 undone_turn);

/*
 * After it: the committed offset lay beyond the end, where no record is, and goes
 * to "next_offset", where the member was sent; see mk_stale.c.
 */
extern void
mk_consumer_reset_committed(const MkGroup *group, const MkMember *member,
							const MkAssignment *assignment, MkTopic *topic,
							int64 next_offset);

/*
 * The committed offset that the statement sees, or that this transaction has
 * noted; -1 if there is none.
 */
extern int64 mk_consumer_committed(const char *group_id, const MkTopic *topic,
								   int32 partition);

/*
 * The topics in which the group has offsets or members, or had the last, and
 * which the caller may see: a list of MkTopic.
 */
extern List *mk_consumer_topics(const MkGroup *group);

typedef struct MkLag
{
	int64 log_start;
	int64 end;
	int64 committed; /* -1: none */
	int64 lag;
	int64 time_lag; /* microseconds, -1: not known, of a wrong clock */
	const MkMember *owner; /* NULL: nobody has it */
} MkLag;

/*
 * What was looked up of partitions, for all groups that one query asks about;
 * made in the current memory context, and freed with it.
 */
typedef struct HTAB MkEnds;

extern MkEnds *mk_consumer_ends(void);

/* "group" may be NULL: one that the transaction is going to make. */
extern void mk_consumer_lag(const char *group_id, const MkGroup *group,
							const MkTopic *topic, int32 partition, MkEnds *ends,
							MkLag *result);

#endif /* MK_CONSUMER_H */
