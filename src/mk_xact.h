/*
 * mk_xact.h
 *		What a transaction does when it commits.
 *
 * A function that an application calls only defers what it is asked to do.
 * When the transaction commits, everything that was not rolled back is done in
 * three passes: all locks are taken and everything is checked, all is written,
 * and the locks that others wait for are released.  Two kinds of things take
 * part:
 *
 * - Deferred actions: one about each thing (a group, a member, a producer), of
 *	 which the last one counts.  This is the place for almost everything.
 * - Participants: files that keep something of their own for the transaction,
 *	 because it is too much for a list of actions, as the records that it sends.
 */
#ifndef MK_XACT_H
#define MK_XACT_H

/* To be called once, in _PG_init. */
extern void mk_xact_init(void);

/*
 * Raises 55000 when the transaction is committing: nothing can be deferred any
 * more, nor read, since the transaction's own rows would look as if they were
 * decided.  "function" is for the message.
 */
extern void mk_xact_check_open(const char *function);

/*
 * Whether the transaction is committing, or is preparing: what the user has it do has
 * been done.  True also when it then aborts.
 */
extern bool mk_xact_is_committing(void);

/*
 * Raises an error where nothing may be deferred: in a read-only transaction, in
 * recovery, in a parallel operation, and on a logical subscriber.
 */
extern void mk_xact_check_writable(const char *function);

/*
 * The memory of what lives to the end of the transaction: that of its actions,
 * and of all that they point to.
 */
extern MemoryContext mk_xact_context(void);

/* ---------------------------------------------------------------------------
 * Deferred actions
 */

/*
 * The order in which the actions of a transaction take their locks; see
 * mk_lock.h.  A new kind of lock has a new rank, at its place in that order.
 */
typedef enum MkDeferredRank
{
	MK_RANK_TOPIC, /* is in use */
	MK_RANK_LOG_START,
	MK_RANK_GROUP,
	MK_RANK_MEMBER,
	MK_RANK_PROGRESS, /* of a group in a partition */
	MK_RANK_NEEDED, /* what groups need of topics */
	MK_RANK_PRODUCER,
	MK_RANK_OUTPUT, /* of a producer to a partition */
	MK_RANK_REPEAT,
	MK_RANK_SCHEDULE
} MkDeferredRank;

/*
 * A kind of deferred action.  Two actions about the same thing have the same
 * "tag" and are "same"; the later one counts.
 *
 * When the transaction commits, the actions that were not rolled back are
 * ordered by rank and tag.  "lock" is called for each, and may fail; when the
 * participants have taken their locks too, "write" for each; then "finish" for
 * each.  When the transaction has committed, "done" is called for each.
 * "undone" is called for each action that rolls back, with its transaction or
 * subtransaction.  Each of these may be NULL; "tag", "same" and "discard" may
 * not.
 *
 * When a savepoint is rolled back, its actions go, and the ones about the same
 * things from before it hold again, as they were.  Therefore:
 *
 * - An action never changes before commit.  To change what is deferred about a
 *	 thing, copy the last action, change the copy, and defer that.
 * - What several actions point to does not change before commit either; or
 *	 else each of them holds all that tells how much of it is its own.  From
 *	 "lock" on it may change, since no savepoint is left then.
 * - "discard" frees an action that is replaced within its own savepoint, and
 *	 what it alone points to; nothing that a copy, or an action of another
 *	 kind, shares.
 * - "done" and "undone" must not fail, so they must not allocate memory, nor
 *	 look at anything but the action and what the session itself has: its
 *	 memory, and locks that it holds.
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

/*
 * Defers an action, which must be in mk_xact_context().  It replaces the one
 * about the same thing.
 */
extern void mk_xact_defer(const MkDeferredKind *kind, void *action);

/*
 * The last deferred action of this kind about the same thing as "like", or
 * NULL: to look at, and to copy.  It is valid until the next mk_xact_defer
 * about that thing.  Not to be called while the transaction commits.
 */
extern const void *
mk_xact_find_deferred(const MkDeferredKind *kind, const void *like);

/* ---------------------------------------------------------------------------
 * Participants
 */

/*
 * A participant.  It calls mk_xact_begin_use() before it first keeps something
 * for a transaction; without that none of these is called.  Each may be NULL.
 */
typedef struct MkParticipant
{
	/*
	 * The subtransaction at this nesting level commits: what it has kept is
	 * now its parent's.  Or it has aborted: all that is void.
	 */
	void (*subxact_commit)(int nesting);
	void (*subxact_abort)(int nesting);

	/* whether all that was kept has been rolled back */
	bool (*is_empty)(void);

	/*
	 * When the transaction commits: checks what it can without a lock; tells
	 * how many locks it will take, for the error if there is no room for them;
	 * takes them, after those of the deferred actions, and checks the rest;
	 * writes, after the deferred actions have written (mk_send.c, which is the last
	 * one, takes its locks there); and lets locks go.
	 */
	void (*check)(void);
	int64 (*count_locks)(void);
	void (*lock)(void);
	void (*write)(void);
	void (*let_go)(void);

	/* frees what the end of the transaction does not free */
	void (*close)(void);

	/* the transaction has ended; must not fail, so must not allocate memory */
	void (*end)(bool committed);
} MkParticipant;

/* Adds a participant, which must be static; to be called in _PG_init. */
extern void mk_xact_add_participant(const MkParticipant *participant);

/* The transaction has something to do when it commits. */
extern void mk_xact_begin_use(void);

#endif /* MK_XACT_H */
