/*
 * mk_share_answer.h
 *		Answers to deliveries of share groups: what becomes of a record.
 */
#ifndef MK_SHARE_ANSWER_H
#define MK_SHARE_ANSWER_H

#include "mk_share_held.h"
#include "mk_share_parked.h"
#include "mk_share_receipt.h"

typedef enum MkShareAcknowledge
{
	MK_ACKNOWLEDGE_ACCEPT,
	MK_ACKNOWLEDGE_RELEASE,
	MK_ACKNOWLEDGE_FAIL,
	MK_ACKNOWLEDGE_REJECT
} MkShareAcknowledge;

/* One call of acknowledge(). */
typedef struct MkShareAcknowledgement
{
	MkGroup *group;
	MkShareReceipt receipt;
	MkShareAcknowledge type;
	const char *error; /* NULL: none */
	int64 retry_after; /* microseconds; -1: not told */
} MkShareAcknowledgement;

/*
 * Answers a record: one that the transaction holds; or one that no session holds,
 * if the receipt is that of its newest delivery.  Returns what becomes of it, as
 * acknowledge() does.  MK121 if the receipt does not fit; 55P03 if another session
 * holds the record's slot for a moment too long.
 */
extern const char *mk_share_acknowledge(const MkShareAcknowledgement *a);

/*
 * The delivery of a record that the transaction holds has failed.  Returns what
 * becomes of it.
 */
extern const char *
mk_share_answer_fail(MkGroup *group, MkTopic *topic, MkHeldRecord *record,
					 const char *error, int64 retry_after);

/* A record of a parked key, which the transaction holds, follows the earlier one. */
extern void mk_share_answer_follow(MkGroup *group, MkTopic *topic,
								   MkHeldRecord *record, const MkParkedBy *by);

/*
 * Extends the acquisition lock of a record, which the receipt names, to now and
 * "duration" microseconds.  Returns its new end.  MK121 if the lock was lost.
 */
extern TimestampTz
mk_share_renew(MkGroup *group, const MkShareReceipt *receipt, int64 duration);

#endif /* MK_SHARE_ANSWER_H */
