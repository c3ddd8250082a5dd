/*
 * mk_undone.c
 *		What this session has polled and rolled back.
 *
 * Notes are made when a transaction aborts, where nothing may fail.  So they are in
 * a table of fixed size, in which a partition of a member may have one of a few
 * places; if all of them are taken, it takes that of the oldest note.  A note that
 * is lost this way, or with the session, costs one more poll that is rolled back.
 * One possible place would not be enough: two partitions that took it from each
 * other would come first in turns for ever, and no other would be read.
 *
 * Notes are never removed.  Once the member's offset has left the range, in
 * whatever session, the note has no effect.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "mk_undone.h"

#define MK_UNDONE_PLACES 1024
#define MK_UNDONE_WAYS   16 /* consecutive places that a partition may have */

typedef struct MkUndone
{
	int32 member_no; /* 0: the place is free */
	int32 topic_id;
	int32 partition;
	int64 first;
	int64 next;
	int64 turn;
	uint64 number; /* grows with each note */
} MkUndone;

/* The table; NULL until a poll is rolled back */
static MkUndone *mk_undone = NULL;
static uint64 mk_undone_number = 0;

/* The read that has begun; member_no 0: none */
static MkUndone mk_undone_reading;

/*
 * The place of a member's partition.  If it has none, a free place, or that of the
 * oldest note.
 */
static MkUndone *
mk_undone_place(int32 member_no, int32 topic_id, int32 partition)
{
	uint32 hash = hash_combine(
		hash_combine(murmurhash32(member_no), murmurhash32(topic_id)),
		murmurhash32(partition));
	MkUndone *oldest = NULL;

	for (uint32 i = 0; i < MK_UNDONE_WAYS; i++)
	{
		MkUndone *u = &mk_undone[(hash + i) % MK_UNDONE_PLACES];

		if (u->member_no == 0 ||
			(u->member_no == member_no && u->topic_id == topic_id &&
			 u->partition == partition))
			return u;
		if (oldest == NULL || u->number < oldest->number)
			oldest = u;
	}
	return oldest;
}

void
mk_undone_add(int32 member_no, int32 topic_id, int32 partition, int64 first,
			  int64 next, int64 turn)
{
	MkUndone *u;

	Assert(member_no != 0 && first < next);
	if (mk_undone == NULL)
		mk_undone = MemoryContextAllocExtended(
			TopMemoryContext, MK_UNDONE_PLACES * sizeof(MkUndone),
			MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (mk_undone == NULL)
		return;
	u = mk_undone_place(member_no, topic_id, partition);
	u->number = ++mk_undone_number;
	u->member_no = member_no;
	u->topic_id = topic_id;
	u->partition = partition;
	u->first = first;
	u->next = next;
	u->turn = turn;
}

void
mk_undone_begin(int32 member_no, int32 topic_id, int32 partition, int64 first,
				int64 turn)
{
	mk_undone_reading.member_no = member_no;
	mk_undone_reading.topic_id = topic_id;
	mk_undone_reading.partition = partition;
	mk_undone_reading.first = first;
	mk_undone_reading.turn = turn;
}

void
mk_undone_end(void)
{
	mk_undone_reading.member_no = 0;
}

void
mk_undone_interrupted(int32 member_no)
{
	const MkUndone *u = &mk_undone_reading;

	if (u->member_no != 0 && u->member_no == member_no)
		mk_undone_add(u->member_no, u->topic_id, u->partition, u->first,
					  u->first + 1, u->turn);
	mk_undone_end();
}

bool
mk_undone_find(int32 member_no, int32 topic_id, int32 partition, int64 offset,
			   int64 *turn)
{
	const MkUndone *u;

	if (likely(mk_undone == NULL))
		return false;
	u = mk_undone_place(member_no, topic_id, partition);
	if (u->member_no != member_no || u->topic_id != topic_id ||
		u->partition != partition || offset < u->first || offset >= u->next)
		return false;
	*turn = u->turn;
	return true;
}
