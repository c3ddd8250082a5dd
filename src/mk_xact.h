/*
 * mk_xact.h
 *		What a transaction has to do when it commits.
 */
#ifndef MK_XACT_H
#define MK_XACT_H

#include "mk_catalog.h"
#include "mk_log.h"

/* To be called once, in _PG_init. */
extern void mk_xact_init(void);

/* ---------------------------------------------------------------------------
 * Records
 */

/*
 * 55000 when the transaction is committing: what it has sent has been
 * sequenced.  "function" is for the message.
 */
extern void mk_xact_check_open(const char *function);

/*
 * Raises an error where nothing may be noted: in a read-only transaction, in
 * recovery, and in a parallel operation.
 */
extern void mk_xact_check_writable(const char *function);

/*
 * Records that bear sequences, which grow by one: of one producer to one
 * partition.  It must be in mk_xact_context(), and begin with index -1.
 *
 * When the transaction commits, a deferred action's "lock" may find that some are repeats:
 * it sets "repeated", how many, and "through", the last sequence of those, and
 * they are left out: before anything is written, "repeat" is called for each of
 * them.  "placed" is called for each of the others, in order, with the offset that
 * it got; then "done".
 */
typedef struct MkSequencedBatch
{
	int index; /* for mk_xact.c, as is the next */
	int part;
	int64 repeated;
	int64 through;
	void (*repeat)(struct MkSequencedBatch *batch, int64 sequence,
				   const MkRecord *record);
	void (*placed)(struct MkSequencedBatch *batch, int64 sequence,
				   int64 offset);
	void (*done)(struct MkSequencedBatch *batch);
} MkSequencedBatch;

/*
 * Notes a record, to be sent at commit, if it is as the topic's contract says
 * (see mk_contract_check).  The record is copied.  "batch" is NULL for one
 * without a sequence.
 */
extern void
mk_xact_send(MkTopic *topic, int32 partition, const MkRecord *record,
			 MkSequencedBatch *batch, int64 sequence);

/*
 * Whether the record that was noted with this sequence has the same key and
 * value; true too if there is none.
 */
extern bool mk_xact_is_same(const MkSequencedBatch *batch, int64 sequence,
							const MkRecord *record);

/*
 * The same, and the offset that it will have.  Takes the sequencing lock, to
 * the end of the transaction.
 */
extern int64
mk_xact_append(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence);

/* Whether mk_xact_append was called for the batch's partition. */
extern bool mk_xact_is_appended(const MkSequencedBatch *batch);

/*
 * The partition for records without a key: one for the transaction and the
 * topic; the next transaction of the session takes the next one.
 */
extern int32 mk_xact_sticky_partition(MkTopic *topic);

/*
 * What the session's last committed transaction that sent has sent; also what
 * was there already, of a sequence that it repeated.
 */
typedef struct MkSent
{
	NameData topic;
	int32 partition;
	int64 base_offset;
	int64 records;
} MkSent;

extern const MkSent *mk_xact_last_sent(int *n);

/* Adds to it, while committing. */
extern void mk_xact_add_sent(const NameData *topic, int32 partition,
							 int64 base_offset, int64 records);

/* ---------------------------------------------------------------------------
 * Notes: whatever else is to be done at commit
 */

/* The order of the locks: see mk_lock.h. */
typedef enum MkDeferredRank
{
	MK_RANK_TOPIC, /* is in use */
	MK_RANK_LOG_START,
	MK_RANK_GROUP,
	MK_RANK_MEMBER,
	MK_RANK_PROGRESS, /* of a group in a partition */
	MK_RANK_PRODUCER,
	MK_RANK_OUTPUT, /* of a producer to a partition */
	MK_RANK_REPEAT
} MkDeferredRank;

/*
 * A kind of deferred action.  Two deferred actions about the same thing have the same "tag" and are
 * "same"; the later counts.  At commit all deferred actions that were not rolled back are
 * ordered by rank and tag.  Then "lock" is called for each that has one (it may
 * fail), then, when all else is locked and checked, "write", then "finish".
 *
 * The deferred actions of a savepoint go when it is rolled back, and the ones about the
 * same things from before it hold again, as they were.  So:
 *
 * - A deferred action never changes before commit.  Something new about the same thing is
 *	 a copy of the last deferred action, changed, and noted in its place.
 * - What several deferred actions point to does not change before commit either; or else
 *	 each of them holds all that tells how much of it is its own.  From "lock" on
 *	 it may change, since then no savepoint is left.
 * - "discard" frees a deferred action that is replaced within its own level, and what it
 *	 alone points to; nothing that a copy, or a deferred action of another kind, shares.
 *
 * "done" is called for each of them when the transaction has committed, "undone"
 * for each deferred action when it, or its subtransaction, has rolled back.  Neither may
 * fail, so neither may need memory, or look at anything but the deferred action and what
 * the session itself has: its memory, and locks that it holds.
 */
typedef struct MkDeferredKind
{
	MkDeferredRank rank;
	uint64 (*tag)(const void *action);
	bool (*same)(const void *a, const void *b);
	void (*lock)(void *action);
	void (*write)(void *action);
	void (*finish)(void *action);
	void (*done)(void *action);
	void (*undone)(void *action);
	void (*discard)(void *action);
} MkDeferredKind;

/* Where a deferred action and all that it points to must be allocated. */
extern MemoryContext mk_xact_context(void);

/* Adds a deferred action, which replaces the one about the same thing. */
extern void mk_xact_defer(const MkDeferredKind *kind, void *action);

/*
 * The last deferred action of this kind about the same thing as "like", or NULL: to look
 * at, and to copy.  It is valid until the next mk_xact_defer about that thing.
 * Not while committing.
 */
extern const void *
mk_xact_find_deferred(const MkDeferredKind *kind, const void *like);

#endif /* MK_XACT_H */
