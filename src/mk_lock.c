/*
 * mk_lock.c
 *		Every lock tag of the extension.
 *
 * A tag's fields: the database; two numbers that name the object; and the
 * kind.  PostgreSQL's own advisory locks use only the kinds 1 and 2.
 */
#include "postgres.h"

#include "access/twophase.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/s_lock.h"
#include "utils/resowner.h"

#include "mk_compat.h"
#include "mk_lock.h"

/*
 * A committing session tries again and again before it sleeps in the lock
 * manager: first spinning, for as long as another session needs to write a few
 * records, and then with short sleeps.  The lock manager hands a lock to the
 * first session in its queue, which must be woken first, while no other
 * session can have the lock; with many clients and few processors the queue
 * then never gets empty.  With 32 clients on one partition and 2 processors,
 * queueing at once gives 0.5 of the rate of a plain INSERT, and this gives
 * 0.95.  A lock that is held for long, by append(), costs some 15 ms of this at
 * first.
 */
#define MK_TRIES          200
#define MK_TRIES_SPINNING 3
#define MK_SPINS_PER_TRY  100
#define MK_TRY_SLEEP_US   20

static LOCKTAG
mk_tag(MkLockKind kind, uint32 a, uint32 b)
{
	LOCKTAG tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, a, b, kind);
	return tag;
}

/* Waits for a lock. */
static void
mk_acquire(MkLockKind kind, uint32 a, uint32 b, LOCKMODE mode)
{
	LOCKTAG tag = mk_tag(kind, a, b);

	(void) LockAcquire(&tag, mode, false, false);
}

/* Takes a lock if it is free; returns whether it did. */
static bool
mk_acquire_try(const LOCKTAG *tag, LOCKMODE mode)
{
	return LockAcquire(tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

bool
mk_lock_sequence_try(int32 topic_id, int32 partition, pg_atomic_uint32 *held)
{
	LOCKTAG tag = mk_tag(MK_LOCK_SEQUENCE, topic_id, partition);

	for (int i = 0; i <= MK_TRIES; i++)
	{
		if ((held == NULL || pg_atomic_read_u32(held) == 0) &&
			mk_acquire_try(&tag, ShareUpdateExclusiveLock))
			return true;
		if (i < MK_TRIES_SPINNING)
		{
			for (int j = 0; j < MK_SPINS_PER_TRY &&
				 (held == NULL || pg_atomic_read_u32(held) != 0);
				 j++)
				SPIN_DELAY();
		}
		else
			pg_usleep(MK_TRY_SLEEP_US);
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

void
mk_lock_sequence(int32 topic_id, int32 partition)
{
	mk_acquire(MK_LOCK_SEQUENCE, topic_id, partition, ShareUpdateExclusiveLock);
}

void
mk_lock_sequence_release(int32 topic_id, int32 partition)
{
	LOCKTAG tag = mk_tag(MK_LOCK_SEQUENCE, topic_id, partition);

	(void) LockRelease(&tag, ShareUpdateExclusiveLock, false);
}

void
mk_lock_in_flight(int32 topic_id, int32 partition)
{
	mk_acquire(MK_LOCK_IN_FLIGHT, topic_id, partition, RowExclusiveLock);
}

int
mk_lock_in_flight_holders(int32 topic_id, int32 partition, TransactionId **xids)
{
	LOCKTAG tag = mk_tag(MK_LOCK_IN_FLIGHT, topic_id, partition);
	VirtualTransactionId *vxids;
	int nvxids;
	int nxids = 0;

	vxids = GetLockConflicts(&tag, ShareLock, &nvxids);
	*xids = nvxids > 0 ? palloc(nvxids * sizeof(TransactionId)) : NULL;
	for (int i = 0; i < nvxids; i++)
	{
		TransactionId xid = mk_vxid_get_xid(vxids[i]);

		if (TransactionIdIsValid(xid))
			(*xids)[nxids++] = xid;
	}
	return nxids;
}

void
mk_lock_maker(int32 topic_id, int32 partition)
{
	mk_acquire(MK_LOCK_MAKER, topic_id, partition, ExclusiveLock);
}

bool
mk_lock_maker_try(int32 topic_id, int32 partition)
{
	LOCKTAG tag = mk_tag(MK_LOCK_MAKER, topic_id, partition);

	return mk_acquire_try(&tag, ExclusiveLock);
}

void
mk_lock_changing(int32 topic_id, int32 partition)
{
	mk_acquire(MK_LOCK_CHANGING, topic_id, partition, AccessShareLock);
}

bool
mk_lock_is_changing(int32 topic_id, int32 partition)
{
	LOCKTAG tag = mk_tag(MK_LOCK_CHANGING, topic_id, partition);

	/* despite its name, this counts the holders too */
	return LockWaiterCount(&tag) > 0;
}

void
mk_lock_topic_in_use(int32 topic_id)
{
	mk_acquire(MK_LOCK_TOPIC, topic_id, 0, RowShareLock);
}

bool
mk_lock_topic_in_use_try(int32 topic_id)
{
	LOCKTAG tag = mk_tag(MK_LOCK_TOPIC, topic_id, 0);

	return mk_acquire_try(&tag, RowShareLock);
}

void
mk_lock_topic_drop(int32 topic_id)
{
	mk_acquire(MK_LOCK_TOPIC, topic_id, 0, ExclusiveLock);
}

bool
mk_lock_needed(int32 topic_id, bool exclusive, bool wait)
{
	LOCKTAG tag = mk_tag(MK_LOCK_NEEDED, topic_id, 0);

	return LockAcquire(&tag, exclusive ? ExclusiveLock : RowShareLock, false,
					   !wait) != LOCKACQUIRE_NOT_AVAIL;
}

void
mk_lock_log_start(int32 topic_id, int32 partition)
{
	mk_acquire(MK_LOCK_LOG_START, topic_id, partition, ExclusiveLock);
}

/* The mode of a lock that is shared by some. */
static LOCKMODE
mk_mode(bool exclusive)
{
	return exclusive ? ExclusiveLock : RowShareLock;
}

void
mk_lock_numbers(int32 sequence, bool exclusive)
{
	mk_acquire(MK_LOCK_NUMBERS, sequence, 0, mk_mode(exclusive));
}

void
mk_lock_numbers_release(int32 sequence, bool exclusive)
{
	LOCKTAG tag = mk_tag(MK_LOCK_NUMBERS, sequence, 0);

	(void) LockRelease(&tag, mk_mode(exclusive), false);
}

void
mk_lock_schedule(void)
{
	mk_acquire(MK_LOCK_SCHEDULE, 0, 0, mk_mode(false));
}

bool
mk_lock_schedule_move_try(void)
{
	LOCKTAG tag = mk_tag(MK_LOCK_SCHEDULE, 0, 0);

	return mk_acquire_try(&tag, mk_mode(true));
}

bool
mk_lock_delivery_try(void)
{
	LOCKTAG tag = mk_tag(MK_LOCK_DELIVERY, 0, 0);

	return mk_acquire_try(&tag, ExclusiveLock);
}

static uint64
mk_hash(const void *key, int length, uint64 seed)
{
	return DatumGetUInt64(hash_any_extended(key, length, seed));
}

static void
mk_acquire_hash(MkLockKind kind, uint64 hash, LOCKMODE mode)
{
	mk_acquire(kind, (uint32) (hash >> 32), (uint32) hash, mode);
}

void
mk_lock_topic_name(const char *name)
{
	mk_acquire_hash(MK_LOCK_TOPIC_NAME, mk_hash(name, strlen(name), 0),
					ExclusiveLock);
}

uint64
mk_lock_group_tag(const char *name)
{
	return mk_hash(name, strlen(name), 0);
}

void
mk_lock_group(const char *name, bool exclusive)
{
	mk_acquire_hash(MK_LOCK_GROUP, mk_lock_group_tag(name), mk_mode(exclusive));
}

void
mk_lock_group_release(const char *name, bool exclusive)
{
	uint64 hash = mk_lock_group_tag(name);
	LOCKTAG tag = mk_tag(MK_LOCK_GROUP, (uint32) (hash >> 32), (uint32) hash);

	(void) LockRelease(&tag, mk_mode(exclusive), false);
}

void
mk_lock_member(int32 member_no)
{
	ResourceOwner owner = CurrentResourceOwner;

	/* as long-lived as the subtransaction, even if the portal is not */
	CurrentResourceOwner = CurTransactionResourceOwner;
	mk_acquire(MK_LOCK_MEMBER, member_no, 0, AccessShareLock);
	CurrentResourceOwner = owner;
}

bool
mk_lock_member_is_held(int32 member_no)
{
	LOCKTAG tag = mk_tag(MK_LOCK_MEMBER, member_no, 0);

	/* despite its name, this counts the holders too */
	return LockWaiterCount(&tag) > 0;
}

static LOCKTAG
mk_sign_tag(int32 member_no, bool polled, uint32 seconds)
{
	return mk_tag(polled ? MK_LOCK_MEMBER_POLLED : MK_LOCK_MEMBER_SEEN,
				  member_no, seconds);
}

bool
mk_lock_sign(int32 member_no, bool polled, uint32 seconds)
{
	LOCKTAG tag = mk_sign_tag(member_no, polled, seconds);

	return mk_lock_session_try(&tag, AccessShareLock) != LOCKACQUIRE_NOT_AVAIL;
}

bool
mk_lock_sign_is_mine(int32 member_no, bool polled, uint32 seconds)
{
	LOCKTAG tag = mk_sign_tag(member_no, polled, seconds);

	return mk_lock_held_by_me(&tag, AccessShareLock);
}

void
mk_lock_sign_release(int32 member_no, bool polled, uint32 seconds)
{
	LOCKTAG tag = mk_sign_tag(member_no, polled, seconds);

	if (mk_lock_held_by_me(&tag, AccessShareLock))
		(void) LockRelease(&tag, AccessShareLock, true);
}

void
mk_lock_signs(int32 member_no, uint32 *seen, uint32 *polled)
{
	LockData *data = GetLockStatusData();

	*seen = *polled = 0;
	for (int i = 0; i < data->nelements; i++)
	{
		const LOCKTAG *tag = &data->locks[i].locktag;

		if (tag->locktag_type != LOCKTAG_ADVISORY ||
			tag->locktag_field1 != MyDatabaseId ||
			tag->locktag_field2 != (uint32) member_no)
			continue;
		if (tag->locktag_field4 == MK_LOCK_MEMBER_POLLED)
			*polled = Max(*polled, tag->locktag_field3);
		if (tag->locktag_field4 == MK_LOCK_MEMBER_SEEN)
			*seen = Max(*seen, tag->locktag_field3);
	}
	/*
	 * the data are of all locks of the server, and there may be many members
	 */
	pfree(data->locks);
	pfree(data);
	*seen = Max(*seen, *polled);
}

uint64
mk_lock_group_partition_tag(const char *group_id, int32 topic_id,
							int32 partition)
{
	const int32 numbers[2] = {topic_id, partition};

	return mk_hash(group_id, strlen(group_id),
				   mk_hash(numbers, sizeof(numbers), 0));
}

void
mk_lock_group_partition(const char *group_id, int32 topic_id, int32 partition)
{
	mk_acquire_hash(MK_LOCK_GROUP_PARTITION,
					mk_lock_group_partition_tag(group_id, topic_id, partition),
					ExclusiveLock);
}

uint64
mk_lock_producer_tag(const char *name)
{
	return mk_hash(name, strlen(name), 0);
}

void
mk_lock_producer(const char *name)
{
	ResourceOwner owner = CurrentResourceOwner;

	/* append() takes it at the call: see mk_lock_member */
	CurrentResourceOwner = CurTransactionResourceOwner;
	mk_acquire_hash(MK_LOCK_PRODUCER, mk_lock_producer_tag(name),
					ExclusiveLock);
	CurrentResourceOwner = owner;
}

/*
 * The tag of a slot.  All slots of a server lie in the same space, so two may have
 * the same tag; then one waits for the other for nothing.
 */
static LOCKTAG
mk_share_slot_tag(int32 group_no, int32 topic_id, int32 partition, uint32 slot)
{
	const int32 numbers[4] = {group_no, topic_id, partition, (int32) slot};
	uint64 hash = mk_hash(numbers, sizeof(numbers), 0);

	return mk_tag(MK_LOCK_SHARE_SLOT, (uint32) (hash >> 32), (uint32) hash);
}

bool
mk_lock_share_slot_try(int32 group_no, int32 topic_id, int32 partition,
					   uint32 slot)
{
	LOCKTAG tag = mk_share_slot_tag(group_no, topic_id, partition, slot);
	ResourceOwner owner = CurrentResourceOwner;
	bool taken;

	/* it outlives a cursor, but not a savepoint */
	CurrentResourceOwner = CurTransactionResourceOwner;
	taken = mk_acquire_try(&tag, ExclusiveLock);
	CurrentResourceOwner = owner;
	return taken;
}

void
mk_lock_share_slot_release(int32 group_no, int32 topic_id, int32 partition,
						   uint32 slot)
{
	LOCKTAG tag = mk_share_slot_tag(group_no, topic_id, partition, slot);
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	(void) LockRelease(&tag, ExclusiveLock, false);
	CurrentResourceOwner = owner;
}

bool
mk_lock_share_slot_is_held(int32 group_no, int32 topic_id, int32 partition,
						   uint32 slot)
{
	LOCKTAG tag = mk_share_slot_tag(group_no, topic_id, partition, slot);

	/* despite its name, this counts the holders too */
	return LockWaiterCount(&tag) > 0;
}

int
mk_lock_share_slot_holder(int32 group_no, int32 topic_id, int32 partition,
						  uint32 slot)
{
	LOCKTAG tag = mk_share_slot_tag(group_no, topic_id, partition, slot);
	VirtualTransactionId *vxids;
	int nvxids;
	int pid = 0;

	/* this costs less, and most slots are free */
	if (LockWaiterCount(&tag) == 0)
		return 0;
	if (mk_lock_held_by_me(&tag, ExclusiveLock))
		return MyProcPid;
	vxids = GetLockConflicts(&tag, ExclusiveLock, &nvxids);
	for (int i = 0; i < nvxids && pid == 0; i++)
		pid = mk_vxid_get_pid(vxids[i]);
	return pid;
}

static LOCKTAG
mk_share_checkpoint_tag(int32 group_no, int32 topic_id, int32 partition)
{
	const int32 numbers[3] = {group_no, topic_id, partition};
	uint64 hash = mk_hash(numbers, sizeof(numbers), 0);

	return mk_tag(MK_LOCK_SHARE_CHECKPOINT, (uint32) (hash >> 32),
				  (uint32) hash);
}

bool
mk_lock_share_checkpoint_try(int32 group_no, int32 topic_id, int32 partition)
{
	LOCKTAG tag = mk_share_checkpoint_tag(group_no, topic_id, partition);

	return mk_acquire_try(&tag, ExclusiveLock);
}

bool
mk_lock_cleaning(int32 topic_id, int32 partition, bool wait)
{
	LOCKTAG tag = mk_tag(MK_LOCK_CLEANING, topic_id, partition);

	if (!wait)
		return mk_acquire_try(&tag, ExclusiveLock);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return true;
}

/* How many backends and prepared transactions the lock table is sized for. */
static int64
mk_lock_backends(void)
{
	return MaxBackends + max_prepared_xacts;
}

int64
mk_lock_room(void)
{
	return max_locks_per_xact * mk_lock_backends();
}

int64
mk_lock_setting(int64 needed)
{
	return needed / mk_lock_backends() + 1;
}

void
mk_lock_redrive(int32 topic_id)
{
	mk_acquire(MK_LOCK_REDRIVE, topic_id, 0, ExclusiveLock);
}

#ifdef USE_ASSERT_CHECKING

static bool
mk_is_mine(MkLockKind kind, uint32 a, uint32 b, LOCKMODE mode)
{
	LOCKTAG tag = mk_tag(kind, a, b);

	return mk_lock_held_by_me(&tag, mode);
}

static bool
mk_hash_is_mine(MkLockKind kind, uint64 hash, LOCKMODE mode)
{
	return mk_is_mine(kind, (uint32) (hash >> 32), (uint32) hash, mode);
}

bool
mk_lock_sequence_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_SEQUENCE, topic_id, partition,
					  ShareUpdateExclusiveLock);
}

bool
mk_lock_in_flight_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_IN_FLIGHT, topic_id, partition, RowExclusiveLock);
}

bool
mk_lock_maker_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_MAKER, topic_id, partition, ExclusiveLock);
}

bool
mk_lock_changing_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_CHANGING, topic_id, partition, AccessShareLock);
}

bool
mk_lock_topic_in_use_is_mine(int32 topic_id)
{
	return mk_is_mine(MK_LOCK_TOPIC, topic_id, 0, RowShareLock);
}

bool
mk_lock_topic_drop_is_mine(int32 topic_id)
{
	return mk_is_mine(MK_LOCK_TOPIC, topic_id, 0, ExclusiveLock);
}

bool
mk_lock_log_start_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_LOG_START, topic_id, partition, ExclusiveLock);
}

bool
mk_lock_topic_name_is_mine(const char *name)
{
	return mk_hash_is_mine(MK_LOCK_TOPIC_NAME, mk_hash(name, strlen(name), 0),
						   ExclusiveLock);
}

bool
mk_lock_group_is_mine(const char *name, bool exclusive)
{
	uint64 hash = mk_lock_group_tag(name);

	return mk_hash_is_mine(MK_LOCK_GROUP, hash, mk_mode(true)) ||
		(!exclusive && mk_hash_is_mine(MK_LOCK_GROUP, hash, mk_mode(false)));
}

bool
mk_lock_group_partition_is_mine(const char *group_id, int32 topic_id,
								int32 partition)
{
	return mk_hash_is_mine(
		MK_LOCK_GROUP_PARTITION,
		mk_lock_group_partition_tag(group_id, topic_id, partition),
		ExclusiveLock);
}

bool
mk_lock_member_is_mine(int32 member_no)
{
	return mk_is_mine(MK_LOCK_MEMBER, member_no, 0, AccessShareLock);
}

bool
mk_lock_producer_is_mine(const char *name)
{
	return mk_hash_is_mine(MK_LOCK_PRODUCER, mk_lock_producer_tag(name),
						   ExclusiveLock);
}

bool
mk_lock_redrive_is_mine(int32 topic_id)
{
	return mk_is_mine(MK_LOCK_REDRIVE, topic_id, 0, ExclusiveLock);
}

bool
mk_lock_schedule_is_mine(bool move)
{
	return mk_is_mine(MK_LOCK_SCHEDULE, 0, 0, mk_mode(move));
}

bool
mk_lock_delivery_is_mine(void)
{
	return mk_is_mine(MK_LOCK_DELIVERY, 0, 0, ExclusiveLock);
}

bool
mk_lock_cleaning_is_mine(int32 topic_id, int32 partition)
{
	return mk_is_mine(MK_LOCK_CLEANING, topic_id, partition, ExclusiveLock);
}

bool
mk_lock_share_slot_is_mine(int32 group_no, int32 topic_id, int32 partition,
						   uint32 slot)
{
	LOCKTAG tag = mk_share_slot_tag(group_no, topic_id, partition, slot);

	return mk_lock_held_by_me(&tag, ExclusiveLock);
}

bool
mk_lock_share_checkpoint_is_mine(int32 group_no, int32 topic_id,
								 int32 partition)
{
	LOCKTAG tag = mk_share_checkpoint_tag(group_no, topic_id, partition);

	return mk_lock_held_by_me(&tag, ExclusiveLock);
}

#endif /* USE_ASSERT_CHECKING */
