/*
 * mk_share.c
 *		Acquiring records of share groups: over all partitions, and waiting.
 *
 * Each look begins with another partition, so that workers meet less often and no
 * partition starves.  With priority "strict" that holds within a topic only.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "mk_array.h"
#include "mk_clock.h"
#include "mk_group.h"
#include "mk_lock.h"
#include "mk_poll.h"
#include "mk_share.h"
#include "mk_share_held.h"
#include "mk_share_memory.h"
#include "mk_share_parked.h"
#include "mk_topic.h"
#include "mk_wakeup.h"

/* With which partition the next look begins; sessions begin with different ones. */
static uint32 mk_share_turn = 0;
static bool mk_share_has_turn = false;

typedef struct MkShareSource
{
	MkTopic *topic;
	int32 partition;
} MkShareSource;

typedef struct MkShareLook
{
	const char *group_id;
	MkShareRequest request;
	bool listens;
	bool is_late; /* it may have missed what came before it listened */
	int nsources;
	MkShareSource *sources;
} MkShareLook;

/* Adds the partitions of a topic, beginning with this one. */
static void
mk_share_add_topic(MkShareLook *look, MkTopic *topic, uint32 first)
{
	for (int32 i = 0; i < topic->npartitions; i++)
	{
		MkShareSource *source;

		look->sources = mk_array_grow(CurrentMemoryContext, look->sources,
									  look->nsources, sizeof(MkShareSource));
		source = &look->sources[look->nsources++];
		source->topic = topic;
		source->partition =
			(int32) ((first + (uint32) i) % (uint32) topic->npartitions);
	}
}

/* Finds the group and its partitions. */
static void
mk_share_look_begin(MkShareLook *look)
{
	MkGroup *group = mk_group_get_share(look->group_id);
	bool strict = group->share->priority == MK_PRIORITY_STRICT;

	look->request.group = group;
	look->request.now = mk_clock_now();
	look->request.due = DT_NOEND;
	look->sources = NULL;
	look->nsources = 0;
	if (!mk_share_has_turn)
		mk_share_turn = pg_prng_uint32(&pg_global_prng_state);
	mk_share_has_turn = true;
	mk_share_turn++;
	for (int i = 0; i < group->ntopics; i++)
	{
		MkTopic *topic = mk_membership_topic(&group->topics[i]);

		if (topic == NULL)
			continue;
		mk_topic_check_readable(topic);
		mk_share_add_topic(look, topic, strict ? mk_share_turn : 0);
	}
}

/* For qsort() */
static int
mk_channel_compare(const void *a, const void *b)
{
	MkChannel ca = *(const MkChannel *) a;
	MkChannel cb = *(const MkChannel *) b;

	return ca < cb ? -1 : ca > cb;
}

/*
 * Listens for records of the partitions and for changes of the group: always to
 * the same channels in the same order, whatever partition comes first.
 */
static void
mk_share_look_listen(MkShareLook *look)
{
	int n = look->nsources + 1;
	MkChannel *channels = palloc(n * sizeof(MkChannel));

	channels[0] = mk_wakeup_group(look->request.group->group_no);
	for (int i = 0; i < look->nsources; i++)
		channels[i + 1] = mk_wakeup_partition(look->sources[i].topic->topic_id,
											  look->sources[i].partition);
	qsort(channels, n, sizeof(MkChannel), mk_channel_compare);
	look->is_late =
		mk_wakeup_listen(channels, n, look->request.group->group_no);
}

/* Looks at all partitions once. */
static void
mk_share_look(MkShareLook *look, Snapshot snapshot)
{
	const MkShareSettings *share;
	int first = 0;

	mk_share_look_begin(look);
	if (look->listens)
		mk_share_look_listen(look);
	share = look->request.group->share;
	if (share->paused || look->nsources == 0)
		return;
	look->request.snapshot = snapshot;
	if (share->priority == MK_PRIORITY_FAIR)
		first = (int) (mk_share_turn % (uint32) look->nsources);
	look->request.hasty = share->priority == MK_PRIORITY_FAIR;
	do
	{
		look->request.left = false;
		for (int i = 0; i < look->nsources && !look->request.full; i++)
		{
			const MkShareSource *source =
				&look->sources[(first + i) % look->nsources];

			mk_share_walk(&look->request, source->topic, source->partition);
		}
		look->request.hasty = false;
	} while (look->request.left && look->request.found == 0);
}

static MemoryContext
mk_share_look_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "minikafka look",
								 ALLOCSET_DEFAULT_SIZES);
}

/* Looks again and again; see mk_poll.c. */
static void
mk_share_wait(MkShareLook *look, MemoryContext context, TimestampTz until)
{
	int round = 0;

	look->listens = true;
	PG_TRY();
	{
		do
		{
			MemoryContextReset(context);
			PushActiveSnapshot(GetLatestSnapshot());
			mk_share_look(look, GetActiveSnapshot());
			PopActiveSnapshot();
		} while (
			look->request.found == 0 && look->request.noted == 0 &&
			(look->is_late || mk_poll_sleep(&round, until, look->request.due)));
	}
	PG_CATCH();
	{
		mk_poll_stop();
		PG_RE_THROW();
	}
	PG_END_TRY();
	/* there may be more */
	if (look->request.found > 0)
		mk_wakeup_notify_share(look->request.group->group_no);
	mk_poll_stop();
}

void
mk_share_acquire(const MkShareAcquire *a)
{
	MkShareLook look = {.group_id = a->group_id,
						.request = {.max_records = a->max_records,
									.max_bytes = a->max_bytes,
									.lock_duration = a->lock_duration,
									.accept = a->accept,
									.sink = a->sink,
									.arg = a->arg}};
	MemoryContext context;
	MemoryContext old;

	if (mk_share_held_is_empty())
		mk_share_memory_trim();
	context = mk_share_look_context();
	old = MemoryContextSwitchTo(context);
	mk_share_look(&look, GetActiveSnapshot());
	/*
	 * What was noted, such as the failure of a rollback, takes effect at the
	 * commit, which is not to wait: its keys are held until then.
	 */
	if (look.request.found == 0 && look.request.noted == 0 &&
		!IsolationUsesXactSnapshot() && a->max_wait > 0)
		mk_share_wait(&look, context, GetCurrentTimestamp() + a->max_wait);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

bool
mk_share_is_ready(const char *group_id, TimestampTz *due)
{
	MkShareLook look = {
		.group_id = group_id,
		.listens = true,
		.request = {.max_records = 1, .max_bytes = 1, .probe = true}};
	MemoryContext context;
	MemoryContext old;

	if (mk_share_held_is_empty())
		mk_share_memory_trim();
	context = mk_share_look_context();
	old = MemoryContextSwitchTo(context);
	do
		mk_share_look(&look, GetActiveSnapshot());
	while (look.is_late && look.request.found == 0);
	*due = look.request.due;
	/* this takes none of them; ending to listen passes it on to another worker */
	if (look.request.found > 0)
		mk_wakeup_notify_share(look.request.group->group_no);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return look.request.found > 0;
}

void
mk_share_maintain(const char *group_id)
{
	MkGroup *group = mk_membership_get(group_id);

	if (group == NULL || group->kind != MK_GROUP_SHARE)
		return;
	/* the order of locks is that of a commit */
	for (int i = 0; i < group->ntopics; i++)
		if (!mk_lock_topic_in_use_try(group->topics[i].topic_id))
			return;
	mk_lock_group(group_id, false);
	AcceptInvalidationMessages();
	group = mk_membership_get(group_id);
	if (group == NULL || group->kind != MK_GROUP_SHARE)
		return;
	mk_share_memory_trim();
	PushActiveSnapshot(GetLatestSnapshot());
	for (int i = 0; i < group->ntopics; i++)
	{
		MkTopic *topic = mk_membership_topic(&group->topics[i]);

		for (int32 j = 0; topic != NULL && j < topic->npartitions; j++)
		{
			mk_share_walk_checkpoint(group, topic, j);
			if (group->share->parks)
				mk_share_parked_clean(group, topic, j);
		}
	}
	PopActiveSnapshot();
}
