/*
 * mk_stale.h
 *		Stale offsets: offsets of groups and producers beyond the tail of the
 *		log.
 */
#ifndef MK_STALE_H
#define MK_STALE_H

#include "mk_catalog.h"

/* What mk_stale_forget() has reset. */
typedef struct MkForgotten
{
	int groups;
	int producers;
	int64 tail; /* the stale offsets lay beyond it */
} MkForgotten;

/*
 * Resets the offsets of groups that lie beyond the tail of a partition, and
 * forgets the sequences of producers whose records lie there.  A group's offset
 * is reset as its member's auto_offset_reset says, that of a group without
 * members to the log start.  A share group forgets what it has noted of records
 * there, in a new era.  Marks the partition as settled.  Looks up each
 * group and each producer.  Takes mk_lock_topic_in_use and the locks of the
 * groups and producers that it changes, until the end of the transaction.
 */
extern void
mk_stale_forget(const MkTopic *topic, int32 partition, MkForgotten *forgotten);

/*
 * Does the same if the partition is not settled: records that are appended would
 * hide the stale offsets beyond them.  Call it before records are appended.  The caller does not hold the
 * sequencing lock of the partition yet.
 */
extern void mk_stale_before_append(const MkTopic *topic, int32 partition);

#endif /* MK_STALE_H */
