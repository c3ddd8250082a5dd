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
 * The committed offset that this transaction is going to write, else the one that
 * the statement sees; -1 if there is none.  "group" may be NULL: it does not exist
 * yet.
 */
extern int64 mk_consumer_committed(const char *group_id, const MkGroup *group,
								   const MkTopic *topic, int32 partition);

#endif /* MK_CONSUMER_H */
