/*
 * mk_xact.c
 *		What a transaction does when it commits.
 *
 * Deferred actions are a list.  A hash table finds the last one about a thing,
 * and each knows the one that it replaces.  The stack of levels tells where
 * the actions of each subtransaction begin, as async.c does for its
 * notifications; a level is made when a subtransaction first defers something.
 *
 * At commit (XACT_EVENT_PRE_COMMIT) the participants check what needs no lock.
 * Then come three passes:
 *
 * 1. Lock and check everything: the locks of the deferred actions by rank and
 *	  tag, then those of the participants, each in ascending order.  So two
 *	  transactions can never deadlock here, and when something fails nothing has
 *	  been written.
 * 2. Write: the deferred actions, then the participants.  The sequencing locks of
 *	  partitions, which come last in the order, are taken here, by the last
 *	  participant that writes: what takes time has been done by then.
 * 3. Let go: the participants release the locks that other sessions wait for,
 *	  before the WAL is flushed.
 *
 * Each backend has at most one transaction at a time, so all state is static;
 * its memory is in TopTransactionContext.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/snapmgr.h"

#include "mk_array.h"
#include "mk_errors.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_relation.h"
#include "mk_xact.h"

typedef struct MkDeferredKey
{
	const MkDeferredKind *kind;
	uint64 tag;
} MkDeferredKey;

typedef struct MkDeferred
{
	MkDeferredKey key;
	void *action;
	int before; /* the last one of the same key before, -1 if none */
} MkDeferred;

/* The last deferred action of a key; those of other things may have it too. */
typedef struct MkLastDeferred
{
	MkDeferredKey key; /* hash key */
	int last;
} MkLastDeferred;

/* What one level of subtransactions has deferred. */
typedef struct MkLevel
{
	struct MkLevel *upper;
	int nesting;
	int first_deferred;
} MkLevel;

/* All of it. */
typedef struct MkPending
{
	bool in_use;
	MkLevel *level;
	int ndeferred;
	MkDeferred *deferred;
	HTAB *last_deferred; /* of MkLastDeferred; NULL until there is one */
} MkPending;

static MkPending mk_pending = {0};

/* From PRE_COMMIT on, whether anything is pending or not. */
static bool mk_committing = false;

#define MK_MAX_PARTICIPANTS 4

static const MkParticipant *mk_participants[MK_MAX_PARTICIPANTS];
static int mk_nparticipants = 0;

/* Calls a callback of each participant that has it. */
#define MK_TELL_PARTICIPANTS(callback, ...)                 \
	do                                                      \
	{                                                       \
		for (int i_ = 0; i_ < mk_nparticipants; i_++)       \
			if (mk_participants[i_]->callback != NULL)      \
				mk_participants[i_]->callback(__VA_ARGS__); \
	} while (0)

/* ---------------------------------------------------------------------------
 * Deferring
 */

void
mk_xact_check_open(const char *function)
{
	if (unlikely(mk_committing))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot execute %s while the transaction is committing",
						function),
				 errdetail("Nothing can be sent or read any more.")));
}

bool
mk_xact_is_committing(void)
{
	return mk_committing;
}

void
mk_xact_check_writable(const char *function)
{
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	PreventCommandIfParallelMode(function);
	mk_relation_check_subscriber();
}

MemoryContext
mk_xact_context(void)
{
	return TopTransactionContext;
}

void
mk_xact_add_participant(const MkParticipant *participant)
{
	Assert(mk_nparticipants < MK_MAX_PARTICIPANTS);
	mk_participants[mk_nparticipants++] = participant;
}

void
mk_xact_begin_use(void)
{
	if (mk_pending.in_use)
		return;
	mk_number_catch_up();
	mk_pending.in_use = true;
}

/* The level of the current nesting, made if there is none. */
static MkLevel *
mk_xact_level(void)
{
	int nesting = GetCurrentTransactionNestLevel();
	MkLevel *level = mk_pending.level;

	if (level != NULL && level->nesting == nesting)
		return level;
	Assert(level == NULL || level->nesting < nesting);
	level = MemoryContextAlloc(TopTransactionContext, sizeof(MkLevel));
	level->upper = mk_pending.level;
	level->nesting = nesting;
	level->first_deferred = mk_pending.ndeferred;
	mk_pending.level = level;
	return level;
}

/*
 * The last deferred action of a key; if there is none, with "make" it is made.
 */
static MkLastDeferred *
mk_xact_last_deferred(const MkDeferredKey *key, bool make)
{
	MkLastDeferred *last;
	bool found;

	if (mk_pending.last_deferred == NULL)
	{
		HASHCTL ctl = {0};

		if (!make)
			return NULL;
		ctl.keysize = sizeof(MkDeferredKey);
		ctl.entrysize = sizeof(MkLastDeferred);
		ctl.hcxt = TopTransactionContext;
		mk_pending.last_deferred =
			hash_create("minikafka deferred actions", 16, &ctl,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	last = hash_search(mk_pending.last_deferred, key,
					   make ? HASH_ENTER : HASH_FIND, &found);
	if (make && !found)
		last->last = -1;
	return last;
}

/* The position of the last deferred action about the same thing, or -1. */
static int
mk_xact_find(const MkLastDeferred *last, const MkDeferredKind *kind,
			 const void *like)
{
	const MkDeferred *deferred = mk_pending.deferred;

	for (int i = last != NULL ? last->last : -1; i >= 0; i = deferred[i].before)
		if (kind->same(deferred[i].action, like))
			return i;
	return -1;
}

void
mk_xact_defer(const MkDeferredKind *kind, void *action)
{
	MkPending *p = &mk_pending;
	MkDeferredKey key = {kind, kind->tag(action)};
	MkLevel *level;
	MkLastDeferred *last;
	int i;

	Assert(!mk_committing);
	Assert(GetMemoryChunkContext(action) == mk_xact_context());
	mk_xact_begin_use();
	level = mk_xact_level();
	last = mk_xact_last_deferred(&key, true);
	i = mk_xact_find(last, kind, action);

	/* a loop that defers the same again and again takes no memory */
	if (i >= level->first_deferred)
	{
		kind->discard(p->deferred[i].action);
		p->deferred[i].action = action;
		return;
	}
	p->deferred = mk_array_grow(TopTransactionContext, p->deferred,
								p->ndeferred, sizeof(MkDeferred));
	p->deferred[p->ndeferred].key = key;
	p->deferred[p->ndeferred].action = action;
	p->deferred[p->ndeferred].before = last->last;
	last->last = p->ndeferred++;
}

const void *
mk_xact_find_deferred(const MkDeferredKind *kind, const void *like)
{
	MkDeferredKey key = {kind, kind->tag(like)};
	int i = mk_xact_find(mk_xact_last_deferred(&key, false), kind, like);

	return i < 0 ? NULL : mk_pending.deferred[i].action;
}

/* ---------------------------------------------------------------------------
 * Subtransactions
 */

/* Gives the actions of a level to the level above. */
static void
mk_xact_merge_level(void)
{
	MkLevel *level = mk_pending.level;
	MkLevel *upper = level->upper;

	if (upper == NULL || upper->nesting < level->nesting - 1)
		level->nesting--;
	else
	{
		mk_pending.level = upper;
		pfree(level);
	}
}

/* Tells the actions from the first-th on that they were rolled back. */
static void
mk_xact_undo_deferred(int first)
{
	for (int i = mk_pending.ndeferred - 1; i >= first; i--)
	{
		const MkDeferred *deferred = &mk_pending.deferred[i];

		if (deferred->key.kind->undone != NULL)
			deferred->key.kind->undone(deferred->action);
	}
}

/* Forgets the actions of a level; those that they replaced hold again. */
static void
mk_xact_drop_level(void)
{
	MkPending *p = &mk_pending;
	MkLevel *level = p->level;

	mk_xact_undo_deferred(level->first_deferred);
	while (p->ndeferred > level->first_deferred)
	{
		const MkDeferred *deferred = &p->deferred[--p->ndeferred];
		MkLastDeferred *last = mk_xact_last_deferred(&deferred->key, false);

		Assert(last != NULL && last->last == p->ndeferred);
		last->last = deferred->before;
	}
	p->level = level->upper;
	pfree(level);
}

static void
mk_subxact_callback(SubXactEvent event, SubTransactionId mySubid,
					SubTransactionId parentSubid, void *arg)
{
	int nesting = GetCurrentTransactionNestLevel();
	bool has_level =
		mk_pending.level != NULL && mk_pending.level->nesting >= nesting;

	if (event == SUBXACT_EVENT_START_SUB)
		mk_errors_forget();
	if (!mk_pending.in_use)
	{
		if (event == SUBXACT_EVENT_ABORT_SUB)
			mk_errors_forget_caught();
		return;
	}
	Assert(!has_level || mk_pending.level->nesting == nesting);
	if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		if (has_level)
			mk_xact_merge_level();
		MK_TELL_PARTICIPANTS(subxact_commit, nesting);
	}
	else if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		if (has_level)
			mk_xact_drop_level();
		MK_TELL_PARTICIPANTS(subxact_abort, nesting);
		mk_errors_forget_caught();
	}
}

/* ---------------------------------------------------------------------------
 * Committing
 */

/* By rank and tag, then in the order in which they were deferred. */
static int
mk_compare_deferred(const void *a, const void *b)
{
	const MkDeferred *da = a;
	const MkDeferred *db = b;

	if (da->key.kind->rank != db->key.kind->rank)
		return da->key.kind->rank - db->key.kind->rank;
	if (da->key.tag != db->key.tag)
		return da->key.tag < db->key.tag ? -1 : 1;
	/* of one key the later one follows the earlier one */
	return da->before - db->before;
}

/* Keeps the last of the actions about the same thing, and sorts them. */
static void
mk_xact_order_deferred(void)
{
	MkPending *p = &mk_pending;
	MkDeferred *live;
	int n = 0;

	if (p->ndeferred == 0)
		return;
	live = MemoryContextAllocHuge(TopTransactionContext,
								  p->ndeferred * sizeof(MkDeferred));
	for (int i = 0; i < p->ndeferred; i++)
		if (mk_xact_find_deferred(p->deferred[i].key.kind,
								  p->deferred[i].action) ==
			p->deferred[i].action)
			live[n++] = p->deferred[i];
	qsort(live, n, sizeof(MkDeferred), mk_compare_deferred);
	p->deferred = live;
	p->ndeferred = n;
}

/* Calls a callback of each deferred action whose kind has it. */
#define MK_TELL_DEFERRED(callback)                                  \
	do                                                              \
	{                                                               \
		for (int i_ = 0; i_ < mk_pending.ndeferred; i_++)           \
			if (mk_pending.deferred[i_].key.kind->callback != NULL) \
				mk_pending.deferred[i_].key.kind->callback(         \
					mk_pending.deferred[i_].action);                \
	} while (0)

/*
 * Raises an error if the lock table has no room for what the transaction is to
 * lock: each deferred action about one lock, and those of the participants.
 */
static void
mk_xact_check_locks(void)
{
	int64 needed = 0;

	for (int i = 0; i < mk_nparticipants; i++)
		if (mk_participants[i]->count_locks != NULL)
			needed += mk_participants[i]->count_locks();
	for (int i = 0; i < mk_pending.ndeferred; i++)
		if (mk_pending.deferred[i].key.kind->lock != NULL)
			needed++;
	if (needed > mk_lock_room())
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("transaction has more to lock than there is room for"),
			 errdetail("The groups, producers and partitions that it has used "
					   "take about " INT64_FORMAT
					   " locks, and there is room for " INT64_FORMAT ".",
					   needed, mk_lock_room()),
			 errhint("Use fewer in a transaction, or raise "
					 "\"max_locks_per_transaction\" to " INT64_FORMAT
					 " or more and restart the server.",
					 mk_lock_setting(needed))));
}

static void
mk_xact_pre_commit(void)
{
	MemoryContext context;
	MemoryContext old;
	bool save_read_only = XactReadOnly;

	/* the transaction may have become read-only since */
	XactReadOnly = false;
	context = AllocSetContextCreate(TopTransactionContext, "minikafka commit",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	PushActiveSnapshot(GetTransactionSnapshot());

	MK_TELL_PARTICIPANTS(check);
	mk_xact_order_deferred();
	mk_xact_check_locks();

	/* pass 1 */
	MK_TELL_DEFERRED(lock);
	MK_TELL_PARTICIPANTS(lock);

	/* pass 2 */
	MK_TELL_DEFERRED(write);
	MK_TELL_DEFERRED(finish);
	MK_TELL_PARTICIPANTS(write);

	/* pass 3 */
	MK_TELL_PARTICIPANTS(let_go);
	MK_TELL_PARTICIPANTS(close);

	PopActiveSnapshot();
	CommandCounterIncrement();
	XactReadOnly = save_read_only;

	/* cursors that code of owners has left open: core closed its own before */
	(void) PreCommit_Portals(false);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* PREPARE is refused, unless all that was to be done has been rolled back. */
static void
mk_xact_pre_prepare(void)
{
	bool empty = mk_pending.ndeferred == 0;

	for (int i = 0; i < mk_nparticipants; i++)
		if (mk_participants[i]->is_empty != NULL)
			empty = empty && mk_participants[i]->is_empty();
	if (!empty)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that has sent records or "
						"used a group or a producer"),
				 errhint("End it with COMMIT, or call minikafka in a "
						 "transaction of its own.")));
	MK_TELL_PARTICIPANTS(close);
}

/* The transaction has ended; the memory of what it had to do goes with it. */
static void
mk_xact_end(bool committed)
{
	if (mk_pending.in_use)
		MK_TELL_PARTICIPANTS(end, committed);
	memset(&mk_pending, 0, sizeof(mk_pending));
	mk_committing = false;
	mk_errors_forget();
}

static void
mk_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			mk_committing = true;
			if (mk_pending.in_use)
				mk_xact_pre_commit();
			break;
		case XACT_EVENT_PRE_PREPARE:
			mk_committing = true;
			if (mk_pending.in_use)
				mk_xact_pre_prepare();
			break;
		case XACT_EVENT_COMMIT:
			MK_TELL_DEFERRED(done);
			mk_xact_end(true);
			break;
		case XACT_EVENT_ABORT:
			mk_xact_undo_deferred(0);
			mk_xact_end(false);
			break;
		case XACT_EVENT_PREPARE:
			mk_xact_end(false);
			break;
		default:
			break;
	}
}

void
mk_xact_init(void)
{
	RegisterXactCallback(mk_xact_callback, NULL);
	RegisterSubXactCallback(mk_subxact_callback, NULL);
}
