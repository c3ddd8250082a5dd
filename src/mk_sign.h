/*
 * mk_sign.h
 *		Signs of life: when members were heard of by transactions that have not
 *		committed.
 */
#ifndef MK_SIGN_H
#define MK_SIGN_H

#include "datatype/timestamp.h"

/*
 * Tells all sessions that the member polled, or was heard of otherwise, at this
 * time.  The sign survives a rollback.  It ends when the session gives the next
 * such sign, withdraws it, or ends.  After "lasts" microseconds it is not needed
 * any more, and may end.
 */
extern void
mk_sign_give(int32 member_no, bool polled, TimestampTz now, int64 lasts);

/*
 * The time of this session's last sign, not after "now"; DT_NOBEGIN if there is
 * none.  A poll also counts as being heard of.
 */
extern TimestampTz mk_sign_given(int32 member_no, bool polled, TimestampTz now);

/*
 * Withdraws this session's signs that the member was heard of, and with "polled"
 * also that it polled.  Raises no error.
 */
extern void mk_sign_withdraw(int32 member_no, bool polled);

/*
 * The times of the last signs of all sessions, at most a second too late;
 * DT_NOBEGIN if there are none.  Looks at all locks of the server.
 */
extern void
mk_sign_look(int32 member_no, TimestampTz *seen, TimestampTz *polled);

#endif /* MK_SIGN_H */
