/*
 * mk_redriven.h
 *		Which dead letters were sent on: runs of offsets.
 *
 * Unless stated otherwise, the caller holds mk_lock_redrive of the topic.
 */
#ifndef MK_REDRIVEN_H
#define MK_REDRIVEN_H

#include "utils/snapshot.h"

#include "mk_catalog.h"

/*
 * Whether the record at this offset was sent on; if so, *last is the last offset
 * of its run; if not, the last one before the next run.  With a snapshot, which
 * is an MVCC one, as it sees the rows, and the caller need not hold the lock; NULL:
 * as they are now.
 */
extern bool mk_redriven_find(const MkTopic *topic, int32 partition,
							 int64 offset, Snapshot snapshot, int64 *last);

/* Adds the offsets from first to last, of which none is in a run. */
extern void
mk_redriven_add(const MkTopic *topic, int32 partition, int64 first, int64 last);

/* Removes runs that lie wholly below the log start. */
extern void mk_redriven_forget_below(const MkTopic *topic, int32 partition,
									 int64 log_start);

/*
 * Removes offsets from the tail on, for a log that has lost records.  Takes the
 * lock if there are runs.
 */
extern void
mk_redriven_forget_beyond(const MkTopic *topic, int32 partition, int64 tail);

/* Removes all rows about a topic.  The caller holds mk_lock_topic_drop. */
extern void mk_redriven_delete_topic(int32 topic_id);

#endif /* MK_REDRIVEN_H */
