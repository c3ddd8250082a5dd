/*
 * mk_end.h
 *		Looking for the end of a partition: its first undecided offset.
 */
#ifndef MK_END_H
#define MK_END_H

#include "mk_partition.h"

/*
 * Looks once for the end, on a primary.  Returns the first undecided offset,
 * and its inserter in *undecided_xid; or the tail, and InvalidTransactionId.
 * If that inserter has ended meanwhile, the end may have moved back: then the
 * caller looks again.
 */
extern int64 mk_end_walk(const MkTopic *topic, int32 partition, MkPartition *p,
						 TransactionId *undecided_xid);

/* The same on a standby, where one look is enough. */
extern int64
mk_end_walk_standby(const MkTopic *topic, int32 partition, MkPartition *p);

#endif /* MK_END_H */
