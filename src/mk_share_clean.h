/*
 * mk_share_clean.h
 *		Removing rows of share groups that are not needed any more.
 */
#ifndef MK_SHARE_CLEAN_H
#define MK_SHARE_CLEAN_H

/*
 * Removes rows of a group, up to a limit; true if it has reached that, so there
 * may be more.  These are, in each partition, the checkpoints before the newest
 * one that every snapshot sees; the runs below the start offset of that; the
 * deliveries of records that it counts as done; deliveries that have a successor
 * which every snapshot sees; and what belongs to former eras.
 */
extern bool mk_share_clean(int32 group_no);

#endif /* MK_SHARE_CLEAN_H */
