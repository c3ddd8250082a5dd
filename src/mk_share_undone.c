/*
 * mk_share_undone.c
 *		Records of share groups that this session has worked on in vain.
 *
 * Entries are added when a transaction aborts, where nothing may fail, so they
 * are in a table of fixed size.  What is lost there, or with the session, costs
 * one more delivery.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "mk_share_undone.h"

#define MK_MAX_SHARE_UNDONE 1024

static MkShareUndone *mk_undones = NULL;
static int mk_nundones = 0; /* entries that were ever used */
static int mk_oldest_undone = 0;

void
mk_share_undone_prepare(void)
{
	if (mk_undones == NULL)
		mk_undones = MemoryContextAllocZero(
			TopMemoryContext, MK_MAX_SHARE_UNDONE * sizeof(MkShareUndone));
}

MkShareUndone *
mk_share_undone_find(Oid catalog, int32 group_no, int32 topic_id,
					 int32 partition, int64 offset)
{
	for (int i = 0; i < mk_nundones; i++)
	{
		MkShareUndone *u = &mk_undones[i];

		if (u->offset == offset && u->partition == partition &&
			u->topic_id == topic_id && u->group_no == group_no &&
			u->catalog == catalog)
			return u;
	}
	return NULL;
}

/* A place for a new entry. */
static MkShareUndone *
mk_share_undone_place(void)
{
	MkShareUndone *u;

	for (int i = 0; i < mk_nundones; i++)
		if (!OidIsValid(mk_undones[i].catalog))
			return &mk_undones[i];
	if (mk_nundones < MK_MAX_SHARE_UNDONE)
		return &mk_undones[mk_nundones++];
	u = &mk_undones[mk_oldest_undone];
	mk_oldest_undone = (mk_oldest_undone + 1) % MK_MAX_SHARE_UNDONE;
	return u;
}

void
mk_share_undone_add(const MkShareUndone *undone)
{
	MkShareUndone *u = mk_share_undone_find(undone->catalog, undone->group_no,
											undone->topic_id, undone->partition,
											undone->offset);
	int32 failures = undone->failures;

	if (u == NULL)
		u = mk_share_undone_place();
	else if (u->number == undone->number && u->era == undone->era)
		failures += u->failures;
	*u = *undone;
	u->failures = failures;
}

void
mk_share_undone_remove(MkShareUndone *undone)
{
	undone->catalog = InvalidOid;
	/* the usual end: nothing to look through any more */
	while (mk_nundones > 0 && !OidIsValid(mk_undones[mk_nundones - 1].catalog))
		mk_nundones--;
}

MkShareUndone *
mk_share_undone_next(Oid catalog, int32 group_no, MkShareUndone *last)
{
	for (int i = last != NULL ? (int) (last - mk_undones) + 1 : 0;
		 i < mk_nundones; i++)
		if (mk_undones[i].group_no == group_no &&
			mk_undones[i].catalog == catalog)
			return &mk_undones[i];
	return NULL;
}
