/*
 * mk_share_checkpoint.h
 *		Making checkpoints of share groups from what a session remembers.
 */
#ifndef MK_SHARE_CHECKPOINT_H
#define MK_SHARE_CHECKPOINT_H

#include "mk_share_memory.h"
#include "mk_share_rows.h"

/*
 * Makes a checkpoint, unless another session is making one or has made one that
 * is as good, or the memory is of another era than the newest checkpoint.  The
 * caller holds the group's lock.
 */
extern void mk_share_checkpoint_make(MkShareMemory *m, int64 log_start);

#endif /* MK_SHARE_CHECKPOINT_H */
