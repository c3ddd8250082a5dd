/*
 * mk_sign.h
 *		Signs of life: when members were heard of in transactions that have not
 *		committed.
 */
#ifndef MK_SIGN_H
#define MK_SIGN_H

#include "datatype/timestamp.h"

/*
 * Tells all sessions that the member polled, or was heard of otherwise, at this
 * time.  It stays so when the transaction rolls back: until the session gives
 * the next such sign, withdraws it, or ends; or for as long as "lasts" says,
 * after which nobody needs it.
 */
extern void
mk_sign_give(int32 member_no, bool polled, TimestampTz now, int64 lasts);

/*
 * When this session has last given a sign, by now; DT_NOBEGIN if none.  Polling
 * counts as being heard of.
 */
extern TimestampTz mk_sign_given(int32 member_no, bool polled, TimestampTz now);

/*
 * Takes back what this session has told: that the member was heard of, and with
 * "polled" that it polled.  Raises no error.
 */
extern void mk_sign_withdraw(int32 member_no, bool polled);

/*
 * When any session has last given a sign, at most a second later than it was;
 * DT_NOBEGIN if none has.  Looks at all locks.
 */
extern void
mk_sign_look(int32 member_no, TimestampTz *seen, TimestampTz *polled);

#endif /* MK_SIGN_H */
