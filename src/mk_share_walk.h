/*
 * mk_share_walk.h
 *		The walk of a share group through a partition: which records to hand out.
 */
#ifndef MK_SHARE_WALK_H
#define MK_SHARE_WALK_H

#include "mk_share_record.h"

/* Hands out records of a partition, until the request is full. */
extern void
mk_share_walk(MkShareRequest *request, MkTopic *topic, int32 partition);

/*
 * Makes a checkpoint of the partition, if its start offset has moved.  The caller
 * holds the group's lock, and has an active snapshot.
 */
extern void
mk_share_walk_checkpoint(MkGroup *group, MkTopic *topic, int32 partition);

#endif /* MK_SHARE_WALK_H */
