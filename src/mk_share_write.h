/*
 * mk_share_write.h
 *		What a commit writes about the records of share groups that it held.
 */
#ifndef MK_SHARE_WRITE_H
#define MK_SHARE_WRITE_H

#include "mk_group_use.h"
#include "mk_share_memory.h"
#include "mk_share_parked.h"
#include "mk_share_rows.h"

/* What becomes of a record when the transaction commits. */
typedef enum MkShareOutcome
{
	MK_OUTCOME_NONE, /* not answered */
	MK_OUTCOME_DONE, /* accepted, rejected, a dead letter, or gone */
	/* the others hold up the later records of the slot */
	MK_OUTCOME_LOCK, /* acquired under a lock, to "until" */
	MK_OUTCOME_RELEASE, /* available from "until" on; not counted */
	MK_OUTCOME_FAIL, /* to be tried again from "until" on */
	MK_OUTCOME_BLOCK /* waits for a person */
} MkShareOutcome;

typedef struct MkShareAnswer
{
	MkShareOutcome outcome;
	TimestampTz until; /* DT_NOBEGIN: at once */
	int32 count; /* of deliveries, from now on */
	bool renewed; /* the acquisition is the one that the record had */
	bool letter; /* a dead letter is sent */
	bool parks; /* and its key is parked: it holds up the later records */
	bool follows; /* an earlier one of its key to there; then MK_OUTCOME_DONE */
	char *error; /* NULL: none; in mk_xact_context() */
} MkShareAnswer;

/* A slot that the transaction has locked */
typedef struct MkHeldSlot
{
	MkShareMemory *memory;
	uint32 slot;
	MkShareKey key;
	MkGroupUse *use; /* NULL until it has a record */
	/* of the group, when the slot was locked; -1: the era may be a former one */
	int64 version;
	int32 ordering_epoch;
	bool parks; /* keys of the group may be parked */
	int nesting; /* of the subtransaction that has the lock */
	int last; /* number of its last record, -1: none */
	bool gap; /* an earlier record may be neither done nor held */
	MkParkedKnown known;
} MkHeldSlot;

typedef struct MkHeldRecord
{
	int slot; /* number of the slot */
	int before; /* number of the slot's record before this one, -1: none */
	int nesting; /* of the subtransaction that acquired it */
	int64 offset;
	bool accept; /* it is accepted unless it is answered otherwise */
	bool delivered; /* handed out, to be answered in this transaction */
	bool taken; /* to be answered: another transaction has acquired it */
	MkDelivery delivery; /* the newest one when it was acquired */
	MkShareAnswer answer;
} MkHeldRecord;

/*
 * Writes a row for each run of records that are done, over slots, and one for each
 * delivery that did not end well.  All of them are answered.
 */
extern void
mk_share_write(const MkHeldSlot *slots, MkHeldRecord *records, int n);

#endif /* MK_SHARE_WRITE_H */
