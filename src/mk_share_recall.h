/*
 * mk_share_recall.h
 *		What a session remembers of a partition of a share group, brought up to date.
 */
#ifndef MK_SHARE_RECALL_H
#define MK_SHARE_RECALL_H

#include "mk_group_use.h"
#include "mk_share_memory.h"
#include "mk_topic.h"

/*
 * What the session remembers of the partition, as far as it holds for the snapshot.
 * Sets *loaded if it began anew, with a checkpoint.
 */
extern MkShareMemory *
mk_share_recall(const MkGroup *group, const MkTopic *topic, int32 partition,
				Snapshot snapshot, bool *loaded);

#endif /* MK_SHARE_RECALL_H */
