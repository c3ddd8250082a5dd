/*
 * mk_undone.h
 *		What this session has polled and rolled back.
 *
 * A poll that was rolled back is undone: its records come again.
 */
#ifndef MK_UNDONE_H
#define MK_UNDONE_H

/*
 * Notes that a poll of the offsets in [first, next) was rolled back.  "turn" is the
 * partition's turn from now on.  Raises no error.
 */
extern void mk_undone_add(int32 member_no, int32 topic_id, int32 partition,
						  int64 first, int64 next, int64 turn);

/*
 * The same for a read that fails: mk_undone_begin is called before each read of a
 * poll, and mk_undone_end after all of them.  mk_undone_interrupted is called when
 * the transaction of a member's poll has rolled back; if a read had begun and not
 * ended, it notes that.
 */
extern void mk_undone_begin(int32 member_no, int32 topic_id, int32 partition,
							int64 first, int64 turn);
extern void mk_undone_end(void);
extern void mk_undone_interrupted(int32 member_no);

/* Whether "offset" is in a poll that was rolled back; *turn is the turn then. */
extern bool mk_undone_find(int32 member_no, int32 topic_id, int32 partition,
						   int64 offset, int64 *turn);

#endif /* MK_UNDONE_H */
