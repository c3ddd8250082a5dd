/*
 * mk_share_later.h
 *		Records that a walk of a share group does not hand out, and answers itself.
 */
#ifndef MK_SHARE_LATER_H
#define MK_SHARE_LATER_H

#include "mk_share_answer.h"

/* A record that is to be answered when no scan is open; for this file */
typedef struct MkLaterRecord
{
	uint32 slot;
	int64 offset;
	char *error; /* NULL: it follows */
	MkParkedBy by;
} MkLaterRecord;

/* The records of a walk; all 0 at first */
typedef struct MkShareLater
{
	int n;
	MkLaterRecord *records;
} MkShareLater;

/*
 * The delivery of a record of a slot that is held has failed.  If its acquisition
 * lock has expired, its row has counted the delivery that failed, or not.
 */
extern void mk_share_later_fail(MkShareLater *later, const MkGroup *group,
								MkHeldSlot *held, const MkDelivery *delivery,
								bool counted, const char *error);

/*
 * Whether a record of a slot that is held must not be handed out, because its key
 * is parked.  Then it is to follow; or, if this transaction has set aside a record
 * of the slot, perhaps wait for its end: no row tells of that yet.
 */
extern bool mk_share_later_follow(MkShareLater *later, const MkGroup *group,
								  MkHeldSlot *held, const MkDelivery *delivery,
								  const MkLogRecord *record);

/*
 * Answers them, and counts them in *noted.  Whenever one has followed, calls
 * go_on() with its slot, which may add the next one; up to a limit for *noted.
 */
extern void
mk_share_later_answer(MkShareLater *later, MkGroup *group, MkTopic *topic,
					  MkShareMemory *m, int64 *noted,
					  void (*go_on)(uint32 slot, void *arg), void *arg);

#endif /* MK_SHARE_LATER_H */
