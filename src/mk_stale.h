/*
 * mk_stale.h
 *		What groups and producers have noted about records that the log does not
 *		have: offsets beyond its tail.
 */
#ifndef MK_STALE_H
#define MK_STALE_H

#include "mk_catalog.h"

typedef struct MkForgotten
{
	int groups;
	int producers;
	int64 tail; /* beyond which it was */
} MkForgotten;

/*
 * Resets the offsets of groups that lie beyond the tail of a partition, and
 * forgets sequences whose records would.  A group's offset goes to where its
 * member's auto_offset_reset says, that of a group without members to the log
 * start.  Takes, to the end of the transaction, the locks of what it changes, and
 * that the topic is in use.  Costs a look for each group and producer; the
 * partition is settled then.
 */
extern void
mk_stale_forget(const MkTopic *topic, int32 partition, MkForgotten *forgotten);

/*
 * To be called before records are appended, and before any lock for that is
 * taken: does the above if the log has no record, and the partition is not settled,
 * since the first ones would
 * hide what lies beyond them.
 */
extern void mk_stale_before_append(const MkTopic *topic, int32 partition);

#endif /* MK_STALE_H */
