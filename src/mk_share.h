/*
 * mk_share.h
 *		Acquiring records of share groups: over all partitions, and waiting.
 */
#ifndef MK_SHARE_H
#define MK_SHARE_H

#include "mk_share_walk.h"

typedef struct MkShareAcquire
{
	const char *group_id;
	int64 max_records;
	int64 max_bytes;
	int64 max_wait; /* microseconds, as is the next */
	int64 lock_duration; /* 0: to be answered in this transaction */
	bool accept;
	MkShareSink sink;
	void *arg;
} MkShareAcquire;

/* Hands out records of the group, if there are none after max_wait. */
extern void mk_share_acquire(const MkShareAcquire *acquire);

/*
 * Whether acquire() would find a record; listens for it if not.  *due is when the
 * first of the records that wait is due.  mk_poll_stop() ends listening.
 */
extern bool mk_share_is_ready(const char *group_id, TimestampTz *due);

/*
 * Makes checkpoints of a share group where its start offset has moved: in a step of
 * maintenance, without handing out anything.
 */
extern void mk_share_maintain(const char *group_id);

#endif /* MK_SHARE_H */
