/*
 * mk_share_check.h
 *		Checking the rows of share groups.
 */
#ifndef MK_SHARE_CHECK_H
#define MK_SHARE_CHECK_H

#include "utils/snapshot.h"

/* Is told of a problem; "offset" is -1 for none. */
typedef void (*MkShareProblem)(int64 offset, const char *problem, void *arg);

/*
 * Checks the rows of a group about a partition, as the snapshot sees them, for what
 * can be seen without the log.  Reads each run since the start offset, but of each kind of
 * problem reports the first one only.
 */
extern void
mk_share_check(int32 group_no, int32 topic_id, int32 partition,
			   Snapshot snapshot, MkShareProblem problem, void *arg);

#endif /* MK_SHARE_CHECK_H */
