/*
 * mk_share_cut.h
 *		What share groups know of records that are lost.
 */
#ifndef MK_SHARE_CUT_H
#define MK_SHARE_CUT_H

/*
 * Of what the group has noted about records, in the present era: the offset after the
 * last one; 0 if that is nothing.
 */
extern int64
mk_share_noted_end(int32 group_no, int32 topic_id, int32 partition);

/* Whether the group has something noted about records from the tail on. */
extern bool
mk_share_is_beyond(int32 group_no, int32 topic_id, int32 partition, int64 tail);

/*
 * Begins an era, the new epoch of the group, in which all that was noted about
 * records below the tail is as it was, and nothing is noted about others.  The
 * caller holds the group's lock exclusively, and writes the epoch.
 */
extern void mk_share_cut(int32 group_no, int32 topic_id, int32 partition,
						 int64 tail, int32 era);

#endif /* MK_SHARE_CUT_H */
