/*
 * mk_share_lost.h
 *		Records that were removed before a share group was done with them.
 */
#ifndef MK_SHARE_LOST_H
#define MK_SHARE_LOST_H

#include "mk_share_rows.h"

/*
 * How many records of the era the group has lost, as of this checkpoint, which is the
 * newest one, or is to be: those that the checkpoint has counted, and the offsets
 * below the log start that neither it nor a run counts as done.  The active snapshot
 * is none older than the checkpoint was read with.
 */
extern int64
mk_share_lost(const MkShareKey *key, const MkShareCheckpoint *checkpoint,
			  int64 log_start);

#endif /* MK_SHARE_LOST_H */
