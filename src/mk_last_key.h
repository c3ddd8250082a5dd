/*
 * mk_last_key.h
 *		The last key of an index.
 */
#ifndef MK_LAST_KEY_H
#define MK_LAST_KEY_H

#include "storage/block.h"
#include "utils/relcache.h"

/*
 * Sets *key to the last key of a btree whose first column is a bigint, of a live
 * row or a dead one.  Returns false if there is none near the end.  *leaf is a hint
 * where that page was in this file of the index, or InvalidBlockNumber; the call
 * sets it.
 */
extern bool mk_last_key(Relation index, BlockNumber *leaf, int64 *key);

#endif /* MK_LAST_KEY_H */
