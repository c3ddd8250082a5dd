/*
 * mk_wakeup.c
 *		Waking sessions that wait for what another session commits.
 *
 * Each process has a slot in shared memory, which has the channels that it
 * listens to.  A session that notifies reads all slots up to the highest one
 * that was ever used, without a lock, and sets the latches of the sessions
 * that listen.  If none listens, it reads one number.
 *
 * No session is missed.  A session that waits writes its slot first and looks
 * for records afterwards; a session that commits makes its records visible
 * first and reads the slots afterwards; both have a full barrier in between.
 * So either the first finds the records or the second finds the slot.  The
 * content of a slot that is just being written does not matter: its session
 * has not looked yet.
 *
 * A record of a share group is for one worker, so of its workers only one is woken
 * at a time: one that has not been woken yet.  If it finds a record it wakes the
 * next one, since there may be more.  If it finds none, another session has it, and
 * wakes one when it releases it.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "mk_array.h"
#include "mk_compat.h"
#include "mk_shmem.h"
#include "mk_wakeup.h"

/* A session that listens to more channels is woken by all of them. */
#define MK_MAX_CHANNELS 61
#define MK_ALL_CHANNELS (-1)

typedef struct MkSlot
{
	Oid database; /* InvalidOid: listens to nothing */
	bool notified; /* set by other sessions */
	int32 group_no; /* 0: every notification wakes it */
	int n;
	MkChannel channels[MK_MAX_CHANNELS];
} MkSlot;

typedef struct MkWakeup
{
	pg_atomic_uint32 listeners;
	pg_atomic_uint32 nslots; /* up to the highest that was ever used */
	MkSlot slots[FLEXIBLE_ARRAY_MEMBER]; /* by the number of the process */
} MkWakeup;

static MkWakeup *mk_wakeup = NULL;
static bool mk_listening = false;

/* Whether a notification was taken of which the session has not made use yet. */
static bool mk_woken = false;

/* The channels to notify when the transaction ends; in its memory. */
static int mk_npending = 0;
static MkChannel *mk_pending = NULL;

static Size
mk_wakeup_size(void)
{
	return add_size(offsetof(MkWakeup, slots),
					mul_size(MaxBackends, sizeof(MkSlot)));
}

static void
mk_wakeup_attach(void *memory, bool is_new)
{
	mk_wakeup = memory;
	if (is_new)
	{
		memset(mk_wakeup, 0, mk_wakeup_size());
		pg_atomic_init_u32(&mk_wakeup->listeners, 0);
		pg_atomic_init_u32(&mk_wakeup->nslots, 0);
	}
}

/*
 * After a failure too: records that came after those of the transaction can be
 * read now.
 */
static void
mk_wakeup_transaction_end(bool committed)
{
	for (int i = 0; i < mk_npending; i++)
		mk_wakeup_notify(mk_pending[i]);
	mk_npending = 0;
	mk_pending = NULL;
}

/* The share groups of which one is to be woken when locks are released */
static int mk_nreleased = 0;
static int32 *mk_released = NULL;

static void
mk_wakeup_locks_released(bool is_end)
{
	for (int i = 0; i < mk_nreleased; i++)
		mk_wakeup_notify_share(mk_released[i]);
	if (!is_end)
		return;
	mk_nreleased = 0;
	mk_released = NULL;
}

static const MkShmemUser mk_wakeup_user = {
	.name = "minikafka listeners",
	.size = mk_wakeup_size,
	.attach = mk_wakeup_attach,
	.transaction_end = mk_wakeup_transaction_end,
	.locks_released = mk_wakeup_locks_released,
};

void
mk_wakeup_init(void)
{
	mk_shmem_add(&mk_wakeup_user);
}

bool
mk_wakeup_is_on(void)
{
	return mk_wakeup != NULL;
}

MkChannel
mk_wakeup_partition(int32 topic_id, int32 partition)
{
	return hash_combine(murmurhash32(topic_id), murmurhash32(partition));
}

MkChannel
mk_wakeup_group(int32 group_no)
{
	/* so that it differs from all topics, whose numbers are positive */
	return mk_wakeup_partition(-1, group_no);
}

static void
mk_wakeup_exit(int code, Datum arg)
{
	mk_wakeup_stop();
}

/* Counts the session among those that listen. */
static void
mk_wakeup_begin(void)
{
	static bool registered = false;
	uint32 nslots = pg_atomic_read_u32(&mk_wakeup->nslots);

	if (!registered)
	{
		before_shmem_exit(mk_wakeup_exit, (Datum) 0);
		registered = true;
	}
	while (nslots <= (uint32) mk_proc_number() &&
		   !pg_atomic_compare_exchange_u32(&mk_wakeup->nslots, &nslots,
										   mk_proc_number() + 1))
		;
	pg_atomic_fetch_add_u32(&mk_wakeup->listeners, 1);
	mk_listening = true;
}

bool
mk_wakeup_listen(const MkChannel *channels, int n, int32 group_no)
{
	MkSlot *slot;

	if (mk_wakeup == NULL)
		return false;
	slot = &mk_wakeup->slots[mk_proc_number()];
	if (n > MK_MAX_CHANNELS)
		n = MK_ALL_CHANNELS;
	if (mk_listening && slot->n == n && slot->group_no == group_no &&
		(n == MK_ALL_CHANNELS ||
		 memcmp(slot->channels, channels, n * sizeof(MkChannel)) == 0))
		return false;

	if (n != MK_ALL_CHANNELS)
		memcpy(slot->channels, channels, n * sizeof(MkChannel));
	slot->n = n;
	slot->group_no = group_no;
	slot->database = MyDatabaseId;
	if (!mk_listening)
		mk_wakeup_begin();
	pg_memory_barrier();
	return true;
}

bool
mk_wakeup_take(void)
{
	volatile MkSlot *slot;
	bool notified;

	if (!mk_listening)
		return false;
	slot = &mk_wakeup->slots[mk_proc_number()];
	notified = slot->notified;
	slot->notified = false;
	mk_woken |= notified;
	pg_memory_barrier();
	return notified;
}

void
mk_wakeup_looked(void)
{
	mk_woken = false;
}

void
mk_wakeup_stop(void)
{
	volatile MkSlot *slot;
	bool woken = mk_woken;

	mk_woken = false;
	if (!mk_listening)
		return;
	slot = &mk_wakeup->slots[mk_proc_number()];
	slot->database = InvalidOid;
	pg_atomic_fetch_sub_u32(&mk_wakeup->listeners, 1);
	mk_listening = false;
	/* what this worker was woken for is for another one, also after an error */
	if (slot->group_no != 0 && (slot->notified || woken))
		mk_wakeup_notify_share(slot->group_no);
}

/* Whether a slot, which may be changing, has the channel. */
static bool
mk_slot_has(const volatile MkSlot *slot, MkChannel channel)
{
	int n = slot->n;

	if (n == MK_ALL_CHANNELS)
		return true;
	for (int i = 0; i < n; i++)
		if (slot->channels[i] == channel)
			return true;
	return false;
}

/*
 * The number of slots to look at; 0 if no session listens.
 */
static uint32
mk_wakeup_slots(void)
{
	if (mk_wakeup == NULL)
		return 0;
	pg_memory_barrier();
	if (likely(pg_atomic_read_u32(&mk_wakeup->listeners) == 0))
		return 0;
	return pg_atomic_read_u32(&mk_wakeup->nslots);
}

static void
mk_wakeup_set(uint32 number)
{
	((volatile MkSlot *) &mk_wakeup->slots[number])->notified = true;
	SetLatch(&GetPGProcByNumber(number)->procLatch);
}

/* Share groups of which a notification wakes one worker each; others, all. */
#define MK_MAX_WOKEN_GROUPS 16

void
mk_wakeup_notify(MkChannel channel)
{
	uint32 nslots = mk_wakeup_slots();
	int32 woken[MK_MAX_WOKEN_GROUPS];
	int nwoken = 0;

	for (uint32 i = 0; i < nslots; i++)
	{
		volatile MkSlot *slot = &mk_wakeup->slots[i];
		int32 group_no = slot->group_no;
		bool is_woken = false;

		if (slot->database != MyDatabaseId || !mk_slot_has(slot, channel))
			continue;
		if (group_no != 0)
		{
			for (int j = 0; j < nwoken; j++)
				is_woken |= woken[j] == group_no;
			if (is_woken || slot->notified)
				continue;
			if (nwoken < MK_MAX_WOKEN_GROUPS)
				woken[nwoken++] = group_no;
		}
		mk_wakeup_set(i);
	}
}

void
mk_wakeup_notify_share(int32 group_no)
{
	uint32 nslots = mk_wakeup_slots();

	mk_woken = false;
	for (uint32 i = 0; i < nslots; i++)
	{
		volatile MkSlot *slot = &mk_wakeup->slots[i];

		if (slot->database == MyDatabaseId && slot->group_no == group_no &&
			!slot->notified)
		{
			mk_wakeup_set(i);
			return;
		}
	}
}

void
mk_wakeup_when_released(int32 group_no)
{
	if (mk_wakeup == NULL ||
		(mk_nreleased > 0 && mk_released[mk_nreleased - 1] == group_no))
		return;
	mk_released = mk_array_grow(TopTransactionContext, mk_released,
								mk_nreleased, sizeof(int32));
	mk_released[mk_nreleased++] = group_no;
}

void
mk_wakeup_at_end(MkChannel channel)
{
	if (mk_wakeup == NULL)
		return;
	mk_pending = mk_array_grow(TopTransactionContext, mk_pending, mk_npending,
							   sizeof(MkChannel));
	mk_pending[mk_npending++] = channel;
}
