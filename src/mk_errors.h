/*
 * mk_errors.h
 *		The SQLSTATEs of class MK: Kafka's error codes, by their numbers.
 *
 * Where a standard SQLSTATE fits, it is used instead; see doc/reference.md.
 *
 * mk_errcode() takes the place of errcode() where an error is nobody's fault but
 * the caller's or another session's, whatever the records hold that it works on:
 * that is so for all of these but OFFSET_OUT_OF_RANGE and CONFLICTING_EVENT.
 */
#ifndef MK_ERRORS_H
#define MK_ERRORS_H

#include "fmgr.h"
#include "utils/elog.h"

#define ERRCODE_MK_OFFSET_OUT_OF_RANGE MAKE_SQLSTATE('M', 'K', '0', '0', '1')

#define ERRCODE_MK_ILLEGAL_GENERATION MAKE_SQLSTATE('M', 'K', '0', '2', '2')
#define ERRCODE_MK_INCONSISTENT_GROUP_PROTOCOL \
	MAKE_SQLSTATE('M', 'K', '0', '2', '3')
#define ERRCODE_MK_UNKNOWN_MEMBER_ID MAKE_SQLSTATE('M', 'K', '0', '2', '5')
#define ERRCODE_MK_OUT_OF_ORDER_SEQUENCE_NUMBER \
	MAKE_SQLSTATE('M', 'K', '0', '4', '5')
#define ERRCODE_MK_INVALID_PRODUCER_EPOCH MAKE_SQLSTATE('M', 'K', '0', '4', '7')
#define ERRCODE_MK_NON_EMPTY_GROUP        MAKE_SQLSTATE('M', 'K', '0', '6', '8')
#define ERRCODE_MK_FENCED_INSTANCE_ID     MAKE_SQLSTATE('M', 'K', '0', '8', '2')

#define ERRCODE_MK_INVALID_RECORD_STATE MAKE_SQLSTATE('M', 'K', '1', '2', '1')

/* The inbox has this event with another payload. */
#define ERRCODE_MK_CONFLICTING_EVENT MAKE_SQLSTATE('M', 'K', '1', '0', '0')

/* Another session has polled or committed for the same member. */
#define ERRCODE_MK_CONCURRENT_POLL MAKE_SQLSTATE('M', 'K', '1', '0', '1')

/* To be called once, in _PG_init. */
extern void mk_errors_init(void);

/*
 * The same as errcode(), for errors that say nothing about a record of a share
 * group that the transaction works on; see mk_share_held.c.
 */
extern int mk_errcode(int sqlstate);

/* Calls a function of which no error says something about such a record. */
extern Datum mk_errors_call(PGFunction function, FunctionCallInfo fcinfo);

/*
 * Whether such an error was raised in the subtransaction that aborts now, or in the
 * transaction; the SQLSTATE of the error that ends it, 0 if that is not known; and
 * forgetting both, when that has been told to all who ask, or at a beginning; or
 * only if something has caught the error.
 */
extern bool mk_errors_is_own(void);
extern int mk_errors_sqlstate(void);
extern void mk_errors_forget(void);
extern void mk_errors_forget_caught(void);

#endif /* MK_ERRORS_H */
