/*
 * mk_share_seek.c
 *		A cursor over the runs, or the deliveries, of a partition of a share group.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "mk_share_seek.h"

/*
 * So many rows are read on before the index is descended again; one if that was in
 * vain the last time.
 */
#define MK_SEEK_NEAR 16

static void
mk_share_seek_begin(MkShareSeek *s, const MkShareKey *key, MkRelation rel,
					MkRelation index)
{
	s->key = *key;
	s->rel = rel;
	s->index = index;
	s->context = CurrentMemoryContext;
	s->open = false;
	s->near = MK_SEEK_NEAR;
	s->rows_read = 0;
}

void
mk_share_seek_runs(MkShareSeek *s, const MkShareKey *key)
{
	mk_share_seek_begin(s, key, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY);
}

void
mk_share_seek_deliveries(MkShareSeek *s, const MkShareKey *key)
{
	mk_share_seek_begin(s, key, MK_REL_SHARE_DELIVERY,
						MK_REL_SHARE_DELIVERY_PKEY);
}

static void
mk_share_seek_next(MkShareSeek *s)
{
	s->rows_read++;
	s->tuple = mk_rows_next(&s->rows, ForwardScanDirection);
	s->offset = s->tuple != NULL
		? mk_rows_int64(&s->rows, s->tuple, MK_SHARE_ANUM_OFFSET)
		: PG_INT64_MAX;
}

/* Moves to the first row at this offset or later. */
static void
mk_share_seek_to(MkShareSeek *s, int64 offset)
{
	MemoryContext old = MemoryContextSwitchTo(s->context);

	if (s->open && offset >= s->asked && s->offset < offset)
	{
		for (int i = 0; s->offset < offset && i < s->near; i++)
			mk_share_seek_next(s);
		s->near = s->offset < offset ? 1 : MK_SEEK_NEAR;
	}
	if (!s->open || offset < s->asked || s->offset < offset)
	{
		mk_share_seek_close(s);
		mk_share_begin_rows_at(&s->rows, s->rel, s->index, &s->key, offset);
		s->open = true;
		mk_share_seek_next(s);
	}
	s->asked = offset;
	MemoryContextSwitchTo(old);
}

bool
mk_share_seek_run(MkShareSeek *s, int64 offset, MkShareRun *run)
{
	mk_share_seek_to(s, offset);
	if (s->tuple == NULL)
		return false;
	mk_share_run_read(&s->rows, s->tuple, run);
	return true;
}

bool
mk_share_seek_delivery(MkShareSeek *s, int64 offset, MkDelivery *d)
{
	MemoryContext old;

	mk_delivery_none(offset, d);
	mk_share_seek_to(s, offset);
	if (s->tuple == NULL || s->offset != offset)
		return false;
	mk_delivery_read(&s->rows, s->tuple, d);
	old = MemoryContextSwitchTo(s->context);
	mk_share_seek_next(s);
	MemoryContextSwitchTo(old);
	s->asked = offset + 1;
	/* the newest row is the last, perhaps of many */
	if (s->tuple != NULL && s->offset == offset)
		(void) mk_delivery_get(&s->key, offset, d);
	return true;
}

void
mk_share_seek_close(MkShareSeek *s)
{
	if (s->open)
		mk_rows_end(&s->rows);
	s->open = false;
}
