/*
 * mk_undone.h
 *		What this session has polled, and rolled back.
 */
#ifndef MK_UNDONE_H
#define MK_UNDONE_H

/*
 * Notes that a poll of offsets in [first, next) was rolled back, and that "turn"
 * is the partition's turn from now on.  Raises no error.
 */
extern void mk_undone_add(int32 member_no, int32 topic_id, int32 partition,
						  int64 first, int64 next, int64 turn);

/*
 * The same for a read that may raise an error, and for the case that it does: to
 * be called before; after all reads of the call; and when the transaction of the
 * member's poll has rolled back.
 */
extern void mk_undone_begin(int32 member_no, int32 topic_id, int32 partition,
							int64 first, int64 turn);
extern void mk_undone_end(void);
extern void mk_undone_interrupted(int32 member_no);

/* Whether "offset" is in what was rolled back, and the turn that is due to that. */
extern bool mk_undone_find(int32 member_no, int32 topic_id, int32 partition,
						   int64 offset, int64 *turn);

#endif /* MK_UNDONE_H */
