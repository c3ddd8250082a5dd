/*
 * mk_end.h
 *		Looking for the end of a partition: its first offset that is not decided.
 */
#ifndef MK_END_H
#define MK_END_H

#include "mk_partition.h"

/*
 * Looks for the end, on a primary.  Returns it, and in *undecided_xid the inserter
 * of the first undecided row, while which is in progress the end stays; or
 * InvalidTransactionId.  The end may have moved on meanwhile.
 */
extern int64 mk_end_walk(const MkTopic *topic, int32 partition, MkPartition *p,
						 TransactionId *undecided_xid);

/* The same on a standby. */
extern int64
mk_end_walk_standby(const MkTopic *topic, int32 partition, MkPartition *p);

#endif /* MK_END_H */
