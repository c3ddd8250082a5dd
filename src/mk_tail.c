/*
 * mk_tail.c
 *		The sequencing lock of each partition, and the tail that is known under it,
 *		in shared memory.
 *
 * To find the tail in the tables takes longer than to write a record, and all
 * other senders wait meanwhile.  So the tail is remembered, in an entry for each
 * partition that has been written to lately.  The tables remain the truth:
 *
 * - An entry is set only by a transaction that holds the sequencing lock and has
 *	 just written the record below it.  What was looked up is never put into an
 *	 entry: the transactions whose rows were met may have failed meanwhile.
 * - It is read only by a holder of the sequencing lock.
 * - It is void whenever the rows below it may be gone.  A transaction that fails
 *	 voids the entries that it was going to write, before it releases its locks,
 *	 however it fails; so does a process that exits.  Until it has come to that,
 *	 the id of the transaction that has set the entry tells.  Everything else that
 *	 removes rows voids the entry too.
 * - An entry that is too low, because of rows that something else has written,
 *	 does not go with the last key of the index: see mk_log.c, which compares the
 *	 two.
 *
 * A void entry costs one look into the tables.  After a restart, and on a server
 * that was a standby, all are void.  There is a fixed number of entries; one that
 * has not been used for long makes room for another.
 *
 * An entry also has a word that says whether the sequencing lock is held.  To try
 * for a lock that is held costs its holder more time than it takes to look at the
 * word.  The word is a hint: it may be wrong for a moment, or if the entry has
 * been given to another partition.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "mk_array.h"
#include "mk_lock.h"
#include "mk_shmem.h"
#include "mk_tail.h"

/* The entries for partitions with the same hash. */
#define MK_TAIL_SETS 256
#define MK_TAIL_WAYS 4

typedef struct MkTailKey
{
	Oid database; /* InvalidOid: the entry is free */
	Oid relid;
	int32 partition;
} MkTailKey;

typedef struct MkTailEntry
{
	MkTailKey key;
	pg_atomic_uint32 held;
	uint64 used; /* by the clock of its set */
	bool is_known;
	FullTransactionId xid; /* that has set it */
	MkKnownTail known;
} MkTailEntry;

typedef struct MkTailSet
{
	slock_t mutex; /* guards everything but "held" */
	uint64 clock;
	MkTailEntry entries[MK_TAIL_WAYS];
} MkTailSet;

static MkTailSet *mk_tail_sets = NULL;

/* An entry that this transaction has something to do with. */
typedef struct MkTailUse
{
	MkTailKey key;
	pg_atomic_uint32 *held; /* where this session has noted that it holds it */
	bool is_writing;
} MkTailUse;

static int mk_nuses = 0;
static int mk_last_use = 0; /* that was asked for */
static MkTailUse *mk_uses = NULL;

static Size
mk_tail_size(void)
{
	return mul_size(MK_TAIL_SETS, sizeof(MkTailSet));
}

static void
mk_tail_attach(void *memory, bool is_new)
{
	mk_tail_sets = memory;
	if (!is_new)
		return;
	memset(mk_tail_sets, 0, mk_tail_size());
	for (int i = 0; i < MK_TAIL_SETS; i++)
	{
		SpinLockInit(&mk_tail_sets[i].mutex);
		for (int j = 0; j < MK_TAIL_WAYS; j++)
			pg_atomic_init_u32(&mk_tail_sets[i].entries[j].held, 0);
	}
}

/* ---------------------------------------------------------------------------
 * Entries
 */

static MkTailKey
mk_tail_key(Oid relid, int32 partition)
{
	MkTailKey key = {MyDatabaseId, relid, partition};

	return key;
}

static bool
mk_tail_is_same(const MkTailKey *a, const MkTailKey *b)
{
	return a->relid == b->relid && a->partition == b->partition &&
		a->database == b->database;
}

static MkTailSet *
mk_tail_set_of(const MkTailKey *key)
{
	uint32 hash =
		hash_combine(murmurhash32(key->relid), murmurhash32(key->partition));

	return &mk_tail_sets[hash_combine(hash, murmurhash32(key->database)) %
						 MK_TAIL_SETS];
}

/*
 * The entry of a partition.  If there is none, with "make" the one that was used
 * longest ago becomes it; else NULL.  The caller holds the mutex.
 */
static MkTailEntry *
mk_tail_entry(MkTailSet *set, const MkTailKey *key, bool make)
{
	MkTailEntry *oldest = &set->entries[0];

	for (int i = 0; i < MK_TAIL_WAYS; i++)
	{
		MkTailEntry *entry = &set->entries[i];

		if (mk_tail_is_same(&entry->key, key))
		{
			entry->used = ++set->clock;
			return entry;
		}
		if (entry->used < oldest->used)
			oldest = entry;
	}
	if (!make)
		return NULL;
	oldest->key = *key;
	oldest->is_known = false;
	oldest->used = ++set->clock;
	return oldest;
}

static void
mk_tail_void_key(const MkTailKey *key)
{
	MkTailSet *set = mk_tail_set_of(key);
	MkTailEntry *entry;

	SpinLockAcquire(&set->mutex);
	entry = mk_tail_entry(set, key, false);
	if (entry != NULL)
		entry->is_known = false;
	SpinLockRelease(&set->mutex);
}

/* ---------------------------------------------------------------------------
 * What this transaction does
 */

/* Voids what the transaction was going to write. */
static void
mk_tail_fail(void)
{
	for (int i = 0; i < mk_nuses; i++)
		if (mk_uses[i].is_writing)
			mk_tail_void_key(&mk_uses[i].key);
}

static void
mk_tail_transaction_end(bool committed)
{
	if (!committed)
		mk_tail_fail();
	for (int i = 0; i < mk_nuses; i++)
		mk_uses[i].is_writing = false;
}

/*
 * A savepoint takes the locks of append() along; that another one may still be
 * held does not matter.
 */
static void
mk_tail_locks_released(bool is_end)
{
	for (int i = 0; i < mk_nuses; i++)
		if (mk_uses[i].held != NULL)
		{
			pg_atomic_write_u32(mk_uses[i].held, 0);
			mk_uses[i].held = NULL;
		}
	if (is_end)
		mk_nuses = 0;
}

/*
 * As a rule nothing is left to do: the transaction has been aborted before.
 * (before_shmem_exit would come before that.)
 */
static void
mk_tail_exit(int code, Datum arg)
{
	mk_tail_fail();
	mk_tail_locks_released(true);
}

static MkTailUse *
mk_tail_use(const MkTailKey *key)
{
	static bool registered = false;
	MkTailUse *use;

	/* a transaction goes through its partitions in the same order each time */
	for (int i = 0; i < mk_nuses; i++)
	{
		int j = (mk_last_use + i) % mk_nuses;

		if (mk_tail_is_same(&mk_uses[j].key, key))
		{
			mk_last_use = j;
			return &mk_uses[j];
		}
	}
	if (!registered)
	{
		on_shmem_exit(mk_tail_exit, (Datum) 0);
		registered = true;
	}
	mk_uses =
		mk_array_grow(TopMemoryContext, mk_uses, mk_nuses, sizeof(MkTailUse));
	mk_last_use = mk_nuses;
	use = &mk_uses[mk_nuses++];
	memset(use, 0, sizeof(*use));
	use->key = *key;
	return use;
}

static const MkShmemUser mk_tail_user = {
	.name = "minikafka tails",
	.size = mk_tail_size,
	.attach = mk_tail_attach,
	.transaction_end = mk_tail_transaction_end,
	.locks_released = mk_tail_locks_released,
};

void
mk_tail_init(void)
{
	mk_shmem_add(&mk_tail_user);
}

/* ---------------------------------------------------------------------------
 * The lock
 */

/* The word of a partition's entry. */
static pg_atomic_uint32 *
mk_tail_word(const MkTailKey *key)
{
	MkTailSet *set = mk_tail_set_of(key);
	MkTailEntry *entry;

	SpinLockAcquire(&set->mutex);
	entry = mk_tail_entry(set, key, true);
	SpinLockRelease(&set->mutex);
	return &entry->held;
}

/* Takes the lock; with "wait" without trying for a while. */
static bool
mk_tail_take(Oid relid, int32 topic_id, int32 partition, bool wait)
{
	MkTailKey key = mk_tail_key(relid, partition);
	MkTailUse *use = NULL;
	pg_atomic_uint32 *held = NULL;

	if (mk_tail_sets != NULL)
	{
		use = mk_tail_use(&key);
		held = use->held != NULL ? use->held : mk_tail_word(&key);
	}
	if (wait)
		mk_lock_sequence(topic_id, partition);
	/* a word that this session has set itself tells nothing */
	else if (!mk_lock_sequence_try(topic_id, partition,
								   use != NULL && use->held == NULL ? held
																	: NULL))
		return false;
	if (held != NULL)
	{
		pg_atomic_write_u32(held, 1);
		use->held = held;
	}
	return true;
}

bool
mk_tail_lock_try(Oid relid, int32 topic_id, int32 partition)
{
	return mk_tail_take(relid, topic_id, partition, false);
}

void
mk_tail_lock(Oid relid, int32 topic_id, int32 partition)
{
	(void) mk_tail_take(relid, topic_id, partition, true);
}

void
mk_tail_unlock(Oid relid, int32 topic_id, int32 partition)
{
	MkTailKey key = mk_tail_key(relid, partition);
	MkTailUse *use;

	mk_lock_sequence_release(topic_id, partition);
	if (mk_tail_sets == NULL)
		return;
	use = mk_tail_use(&key);
	if (use->held != NULL)
		pg_atomic_write_u32(use->held, 0);
	use->held = NULL;
}

/* ---------------------------------------------------------------------------
 * The tail
 */

/*
 * Whether a transaction has failed, and may not have voided its entries yet.  One
 * that ended before the snapshots of this transaction has; the commit log need not
 * have it any more.
 */
static bool
mk_tail_has_failed(FullTransactionId xid)
{
	FullTransactionId next = GetTopFullTransactionIdIfAny();
	uint64 ago;

	if (!FullTransactionIdIsValid(next))
		next = ReadNextFullTransactionId();
	ago = U64FromFullTransactionId(next) - U64FromFullTransactionId(xid);
	return ago <= (uint32) (XidFromFullTransactionId(next) - TransactionXmin) &&
		TransactionIdDidAbort(XidFromFullTransactionId(xid));
}

/* Copies what is known, and the id of the transaction that has set it. */
static bool
mk_tail_copy(const MkTailKey *key, MkKnownTail *known, FullTransactionId *xid)
{
	MkTailSet *set;
	MkTailEntry *entry;
	bool is_known;

	if (mk_tail_sets == NULL)
		return false;
	set = mk_tail_set_of(key);
	SpinLockAcquire(&set->mutex);
	entry = mk_tail_entry(set, key, false);
	is_known = entry != NULL && entry->is_known;
	if (is_known)
	{
		*known = entry->known;
		*xid = entry->xid;
	}
	SpinLockRelease(&set->mutex);
	return is_known;
}

bool
mk_tail_get(Oid relid, int32 partition, MkKnownTail *known)
{
	MkTailKey key = mk_tail_key(relid, partition);
	FullTransactionId xid;

	return mk_tail_copy(&key, known, &xid) && !mk_tail_has_failed(xid);
}

bool
mk_tail_guess(Oid relid, int32 partition, MkKnownTail *known)
{
	MkTailKey key = mk_tail_key(relid, partition);
	FullTransactionId xid;

	return mk_tail_copy(&key, known, &xid);
}

void
mk_tail_begin(Oid relid, int32 partition)
{
	MkTailKey key = mk_tail_key(relid, partition);

	if (mk_tail_sets != NULL)
		mk_tail_use(&key)->is_writing = true;
}

void
mk_tail_set(Oid relid, int32 partition, const MkKnownTail *known)
{
	MkTailKey key = mk_tail_key(relid, partition);
	FullTransactionId xid = GetTopFullTransactionIdIfAny();
	MkTailSet *set;
	MkTailEntry *entry;

	if (mk_tail_sets == NULL)
		return;
	Assert(FullTransactionIdIsValid(xid));
	set = mk_tail_set_of(&key);
	SpinLockAcquire(&set->mutex);
	entry = mk_tail_entry(set, &key, true);
	entry->known = *known;
	entry->xid = xid;
	entry->is_known = true;
	SpinLockRelease(&set->mutex);
}

void
mk_tail_void(Oid relid, int32 partition)
{
	MkTailKey key = mk_tail_key(relid, partition);

	if (mk_tail_sets == NULL)
		return;
	if (partition != MK_TAIL_ALL)
	{
		mk_tail_void_key(&key);
		return;
	}
	for (int i = 0; i < MK_TAIL_SETS; i++)
	{
		MkTailSet *set = &mk_tail_sets[i];

		SpinLockAcquire(&set->mutex);
		for (int j = 0; j < MK_TAIL_WAYS; j++)
			if (set->entries[j].key.relid == relid &&
				set->entries[j].key.database == MyDatabaseId)
				set->entries[j].is_known = false;
		SpinLockRelease(&set->mutex);
	}
}
