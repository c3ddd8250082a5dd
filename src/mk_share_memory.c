/*
 * mk_share_memory.c
 *		What a session remembers of a partition of a share group.
 *
 * Each slot has a list of its own, of which a walk looks at the head only.  So a
 * record that holds up many others of its key costs a walk no more than one that
 * holds up none.
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "mk_relation.h"
#include "mk_share_memory.h"

/* A session that walks through more partitions forgets the others. */
#define MK_MAX_MEMORIES 1000

static HTAB *mk_memories = NULL;

void
mk_share_memory_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(MkShareMemoryKey);
	ctl.entrysize = sizeof(MkShareMemory);
	ctl.hcxt = TopMemoryContext;
	mk_memories = hash_create("minikafka share groups", 16, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

MkShareMemory *
mk_share_memory_get(int32 group_no, int32 topic_id, int32 partition, bool make)
{
	const MkShareMemoryKey key = {mk_relation_oid(MK_REL_SHARE_DONE), group_no,
								  topic_id, partition};
	MkShareMemory *m;
	bool found;

	m = hash_search(mk_memories, &key, make ? HASH_ENTER : HASH_FIND, &found);
	if (make && !found)
	{
		MkShareMemoryKey copy = m->key;

		memset(m, 0, sizeof(*m));
		m->key = copy;
		dlist_init(&m->pending);
		dlist_init(&m->unseen);
	}
	return m;
}

void
mk_share_memory_trim(void)
{
	HASH_SEQ_STATUS status;
	MkShareMemory *m;

	if (hash_get_num_entries(mk_memories) <= MK_MAX_MEMORIES)
		return;
	hash_seq_init(&status, mk_memories);
	while ((m = hash_seq_search(&status)) != NULL)
	{
		if (m->context != NULL)
			MemoryContextDelete(m->context);
		hash_search(mk_memories, &m->key, HASH_REMOVE, NULL);
	}
}

void
mk_share_memory_begin(MkShareMemory *m, int64 high)
{
	HASHCTL ctl = {0};

	m->valid = false;
	if (m->context != NULL)
		MemoryContextReset(m->context);
	else
		m->context = AllocSetContextCreate(
			TopMemoryContext, "minikafka share group", ALLOCSET_DEFAULT_SIZES);
	ctl.keysize = sizeof(uint32);
	ctl.entrysize = sizeof(MkShareSlot);
	ctl.hcxt = m->context;
	m->slots = hash_create("minikafka slots", 64, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	m->unused = NULL;
	dlist_init(&m->pending);
	dlist_init(&m->unseen);
	m->npending = 0;
	m->nheads = 0;
	m->runs = 0;
	m->own = InvalidTransactionId;
	m->high = high;
	m->start = 0;
}

/*
 * Of two snapshots the earlier one has the lower xmax, or else more transactions
 * below it that are in progress.
 */
bool
mk_share_memory_is_earlier(const MkShareMemory *m, Snapshot snapshot)
{
	/* an imported one may not see what the session has done since */
	if (TransactionIdIsValid(m->own) && XidInMVCCSnapshot(m->own, snapshot))
		return true;
	return TransactionIdPrecedes(snapshot->xmax, m->xmax) ||
		(snapshot->xmax == m->xmax && snapshot->xcnt > m->xcnt);
}

MkShareSlot *
mk_share_memory_slot(MkShareMemory *m, uint32 slot, bool make)
{
	MkShareSlot *s;
	bool found;

	s = hash_search(m->slots, &slot, make ? HASH_ENTER : HASH_FIND, &found);
	if (make && !found)
	{
		s->head = s->tail = NULL;
		s->due = 0;
		s->unseen = InvalidTransactionId;
	}
	return s;
}

void
mk_share_memory_add(MkShareMemory *m, MkShareSlot *s, int64 offset)
{
	MkSharePending *p = m->unused;

	Assert(s->tail == NULL || s->tail->offset < offset);
	if (p != NULL)
		m->unused = p->next;
	else
		p = MemoryContextAlloc(m->context, sizeof(MkSharePending));
	p->offset = offset;
	p->next = NULL;
	if (s->head == NULL)
	{
		s->head = p;
		s->due = 0;
		dlist_push_tail(&m->pending, &s->node);
		m->nheads++;
	}
	else
		s->tail->next = p;
	s->tail = p;
	m->npending++;
}

void
mk_share_memory_begin_at(MkShareMemory *m, int64 start)
{
	dlist_mutable_iter iter;

	m->start = Max(m->start, start);
	m->high = Max(m->high, start);
	dlist_foreach_modify (iter, &m->pending)
	{
		MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		while (s->head != NULL && s->head->offset < m->start)
			mk_share_memory_pop(m, s);
		mk_share_memory_release(m, s);
	}
}

int64
mk_share_memory_start(MkShareMemory *m)
{
	int64 start = m->high;
	dlist_iter iter;

	dlist_foreach (iter, &m->pending)
	{
		const MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		start = Min(start, s->head->offset);
	}
	return start;
}

void
mk_share_memory_pop(MkShareMemory *m, MkShareSlot *s)
{
	MkSharePending *p = s->head;

	s->head = p->next;
	s->due = 0;
	p->next = m->unused;
	m->unused = p;
	m->npending--;
	if (s->head == NULL)
	{
		s->tail = NULL;
		dlist_delete(&s->node);
		m->nheads--;
	}
}

void
mk_share_memory_pass_turn(MkShareMemory *m, MkShareSlot *s)
{
	if (s->head == NULL)
		return;
	dlist_delete(&s->node);
	dlist_push_tail(&m->pending, &s->node);
}

void
mk_share_memory_set_unseen(MkShareMemory *m, MkShareSlot *s, TransactionId xid)
{
	if (!TransactionIdIsValid(s->unseen))
		dlist_push_tail(&m->unseen, &s->unseen_node);
	s->unseen = xid;
}

void
mk_share_memory_set_seen(MkShareMemory *m, MkShareSlot *s)
{
	dlist_delete(&s->unseen_node);
	s->unseen = InvalidTransactionId;
	mk_share_memory_release(m, s);
}

void
mk_share_memory_forget_due(MkShareMemory *m)
{
	dlist_iter iter;

	dlist_foreach (iter, &m->pending)
		dlist_container(MkShareSlot, node, iter.cur)->due = 0;
}

void
mk_share_memory_release(MkShareMemory *m, MkShareSlot *s)
{
	if (s->head == NULL && !TransactionIdIsValid(s->unseen))
		hash_search(m->slots, &s->slot, HASH_REMOVE, NULL);
}
