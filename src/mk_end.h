/*
 * mk_end.h
 *		Looking for the end of a partition: its first undecided offset.
 */
#ifndef MK_END_H
#define MK_END_H

#include "mk_partition.h"

/*
 * One look for the end, on a primary.  Returns the first undecided offset and
 * its inserter; or the tail, with InvalidTransactionId.  The end may have moved
 * back if that inserter has ended meanwhile: then look again.
 */
extern int64 mk_end_walk(const MkTopic *topic, int32 partition, MkPartition *p,
						 TransactionId *undecided_xid);

/* The same on a standby, where one look is enough. */
extern int64
mk_end_walk_standby(const MkTopic *topic, int32 partition, MkPartition *p);

#endif /* MK_END_H */
