/*
 * mk_share_checkpoint.c
 *		Making checkpoints of share groups from what a session remembers.
 *
 * A checkpoint lets sessions begin where another one was, instead of reading all
 * runs, and lets maintenance remove the runs below its start offset.  Its list may
 * have records that are done by now: a walk looks at each of them again.
 */
#include "postgres.h"

#include "mk_lock.h"
#include "mk_share_checkpoint.h"
#include "mk_share_lost.h"

/* For qsort(): by offset. */
static int
mk_exception_compare(const void *a, const void *b)
{
	int64 oa = ((const MkShareException *) a)->offset;
	int64 ob = ((const MkShareException *) b)->offset;

	return oa < ob ? -1 : oa > ob;
}

/* Lists the pending records. */
static void
mk_checkpoint_list(MkShareMemory *m, MkShareCheckpoint *c)
{
	dlist_iter iter;

	c->exceptions = palloc(Max(m->npending, 1) * sizeof(MkShareException));
	c->nexceptions = 0;
	dlist_foreach (iter, &m->pending)
	{
		const MkShareSlot *s = dlist_container(MkShareSlot, node, iter.cur);

		for (const MkSharePending *p = s->head; p != NULL; p = p->next)
		{
			c->exceptions[c->nexceptions].offset = p->offset;
			c->exceptions[c->nexceptions++].slot = s->slot;
		}
	}
	qsort(c->exceptions, c->nexceptions, sizeof(MkShareException),
		  mk_exception_compare);
}

/*
 * What is lost after the former checkpoint, and is not counted by the rest of the new
 * one: it leaves out what is gone.
 */
static int64
mk_checkpoint_lost(const MkShareMemory *m, const MkShareCheckpoint *c,
				   int64 log_start)
{
	const MkShareKey key = {.group_no = m->key.group_no,
							.topic_id = m->key.topic_id,
							.partition = m->key.partition,
							.era = m->era};
	MkShareCheckpoint former;

	(void) mk_share_checkpoint_get(key.group_no, key.topic_id, key.partition,
								   NULL, &former);
	return c->lost + mk_share_lost(&key, &former, log_start) -
		mk_share_lost(&key, c, log_start);
}

void
mk_share_checkpoint_make(MkShareMemory *m, int64 log_start)
{
	const int32 group_no = m->key.group_no;
	const int32 topic_id = m->key.topic_id;
	const int32 partition = m->key.partition;
	MkShareCheckpoint c;

	m->runs = 0;
	if (!m->valid ||
		!mk_lock_share_checkpoint_try(group_no, topic_id, partition))
		return;
	(void) mk_share_checkpoint_peek(group_no, topic_id, partition, NULL, &c);
	if (c.era != m->era || c.high > m->high)
		return;
	/* another session may know more of what was pending */
	mk_share_memory_begin_at(m, c.start);
	if (m->npending > MK_SHARE_MAX_EXCEPTIONS ||
		(c.high == m->high && c.start == mk_share_memory_start(m)))
		return;
	c.high = m->high;
	mk_checkpoint_list(m, &c);
	if (log_start > c.start)
		c.lost = mk_checkpoint_lost(m, &c, log_start);
	mk_share_checkpoint_put(group_no, topic_id, partition, &c);
}
