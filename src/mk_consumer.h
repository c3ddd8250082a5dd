/*
 * mk_consumer.h
 *		How far groups have come: committed offsets, and positions of members.
 */
#ifndef MK_CONSUMER_H
#define MK_CONSUMER_H

#include "mk_membership.h"

/* As Kafka's offset.metadata.max.bytes */
#define MK_CONSUMER_MAX_METADATA 4096

/* What a commit stores; 22023 if next_offset is outside [0, end]. */
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
 * Defers a commit.  MK025 for a plain consumer of a group that has members.  MK022
 * for a member that does not have the partition, or if the generation is not the
 * group's.
 */
extern void mk_consumer_commit(const MkCommit *commit);

/* Is called with each offset that the commit stores. */
typedef void (*MkOffsetSink)(const MkTopic *topic, int32 partition,
							 int64 offset, void *arg);

/* Defers a commit of all positions of a member. */
extern void
mk_consumer_commit_positions(const char *group_id, const char *member_id,
							 MkOffsetSink sink, void *arg);

/*
 * Defers a commit of an offset by reset_offsets(): the group has no members, or MK068
 * at the commit.
 */
extern void mk_consumer_reset(MkGroup *group, MkTopic *topic, int32 partition,
							  int64 offset);

/*
 * Defers setting a member's position, or pausing or resuming a partition.  22023 if
 * the member does not have the partition, or it is to move, and for an offset
 * outside [0, end].
 */
extern void
mk_consumer_seek(const char *group_id, const char *member_id, MkTopic *topic,
				 int32 partition, int64 next_offset);
extern void mk_consumer_pause(const char *group_id, const char *member_id,
							  MkTopic *topic, int32 partition, bool pause);

/*
 * Where a member stands in a partition that it has: what this transaction defers,
 * else what other transactions have committed by now.
 */
typedef struct MkPosition
{
	int64 position; /* -1: at the committed offset */
	int64 committed; /* -1: none */
	int64 turn; /* partitions are polled by ascending turn */
	bool paused;
	bool undone; /* this session rolled back a poll of the next record */
} MkPosition;

extern void
mk_consumer_position(const MkGroup *group, const MkMember *member,
					 const MkAssignment *assignment, MkPosition *position);

/*
 * To be called before reading for a poll, with what mk_consumer_position gave.  If
 * reading fails, the partition's next turn is "undone_turn".
 */
extern void
mk_consumer_polling(const MkMember *member, const MkAssignment *assignment,
					const MkPosition *position, int64 undone_turn);

/*
 * Defers that the member has polled from there up to "next".  The partition's next
 * turn is "turn", or "undone_turn" if this is rolled back.  The commit raises MK101
 * if another session has polled meanwhile.
 */
extern void mk_consumer_polled(const MkGroup *group, const MkMember *member,
							   const MkAssignment *assignment, MkTopic *topic,
							   const MkPosition *position, int64 next,
							   int64 turn, int64 undone_turn);

/*
 * Defers, after that, to commit "next_offset": the committed offset lay beyond the
 * end, and the member reads from there by its auto_offset_reset; see mk_stale.c.
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
