/*
 * mk_last_key.c
 *		The last key of an index.
 *
 * It tells, for the price of a page or two, whether anything has been written
 * behind a known row.  A scan would visit rows.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "mk_compat.h"
#include "mk_last_key.h"

/*
 * So many pages lie behind the one that is known at most: a new one, or one that a
 * vacuum has left empty.
 */
#define MK_LEAVES_BEHIND 2

static BTPageOpaque
mk_leaf_opaque(Buffer buffer)
{
	return BTPageGetOpaque(BufferGetPage(buffer));
}

/* A page, locked; InvalidBuffer if it is no leaf, or none any more. */
static Buffer
mk_leaf_at(Relation index, BlockNumber block)
{
	Buffer buffer = ReadBuffer(index, block);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	_bt_checkpage(index, buffer);
	if (P_ISLEAF(mk_leaf_opaque(buffer)) && !P_IGNORE(mk_leaf_opaque(buffer)))
		return buffer;
	UnlockReleaseBuffer(buffer);
	return InvalidBuffer;
}

/* The last key of a page, and the page; false if it is empty. */
static bool
mk_leaf_key(Relation index, Buffer buffer, BlockNumber *leaf, int64 *key)
{
	Page page = BufferGetPage(buffer);
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	IndexTuple tuple;
	bool isnull;

	if (last < P_FIRSTDATAKEY(mk_leaf_opaque(buffer)))
		return false;
	tuple = (IndexTuple) PageGetItem(page, PageGetItemId(page, last));
	*key = DatumGetInt64(
		index_getattr(tuple, 1, RelationGetDescr(index), &isnull));
	*leaf = BufferGetBlockNumber(buffer);
	return true;
}

/* Goes right from a page; false if the end is not near. */
static bool
mk_last_key_from(Relation index, BlockNumber block, BlockNumber *leaf,
				 int64 *key)
{
	bool found = false;

	for (int i = 0; i <= MK_LEAVES_BEHIND; i++)
	{
		Buffer buffer = mk_leaf_at(index, block);
		bool is_last;

		if (!BufferIsValid(buffer))
			return false;
		found |= mk_leaf_key(index, buffer, leaf, key);
		is_last = P_RIGHTMOST(mk_leaf_opaque(buffer));
		block = mk_leaf_opaque(buffer)->btpo_next;
		UnlockReleaseBuffer(buffer);
		if (is_last)
			return found;
	}
	return false;
}

bool
mk_last_key(Relation index, BlockNumber *leaf, int64 *key)
{
	Buffer buffer;
	BlockNumber before;
	bool found;

	if (BlockNumberIsValid(*leaf) && mk_last_key_from(index, *leaf, leaf, key))
		return true;
	buffer = mk_bt_last_leaf(index);
	if (!BufferIsValid(buffer))
		return false;
	found = mk_leaf_key(index, buffer, leaf, key);
	before = P_LEFTMOST(mk_leaf_opaque(buffer))
		? InvalidBlockNumber
		: mk_leaf_opaque(buffer)->btpo_prev;
	UnlockReleaseBuffer(buffer);
	/* a vacuum has emptied the last page, which it never removes */
	if (!found && BlockNumberIsValid(before))
		found = mk_last_key_from(index, before, leaf, key);
	return found;
}
