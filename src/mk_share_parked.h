/*
 * mk_share_parked.h
 *		Parked keys of share groups: records that follow an earlier one of their key
 *		to the dead-letter topic.
 */
#ifndef MK_SHARE_PARKED_H
#define MK_SHARE_PARKED_H

#include "mk_batch.h"
#include "mk_membership.h"
#include "mk_parked_rows.h"
#include "mk_scan.h"

/* To be called once, in _PG_init, after mk_xact_init. */
extern void mk_share_parked_init(void);

/* Whether keys of the group may be parked. */
static inline bool
mk_share_parks(const MkGroup *group)
{
	return group->share->parks && group->share->ordering == MK_ORDERING_KEY;
}

/* An earlier record of the key, which was set aside */
typedef struct MkParkedBy
{
	int64 offset; /* its place in the order of the key */
	int32 letter_topic_id; /* where its dead letter is or was */
} MkParkedBy;

/*
 * What is known of the rows of a slot while its lock is held; all 0 at first.  No
 * other session adds rows then, and a redrive only replaces letters.
 */
typedef struct MkParkedKnown
{
	uint64 round; /* the rest is void in another one; see mk_share_parked.c */
	bool empty; /* there is none */
	/* of this key, in TopTransactionContext; NULL: of none */
	struct varlena *record_key;
	int64 letters; /* no letter with a place before this one is there */
	/* nothing with a place before this one comes after this offset, or a later one */
	int64 returned;
	int64 offset;
} MkParkedKnown;

/*
 * Whether a record is to follow an earlier one of its key: that lies in the
 * dead-letter topic, or was sent back and comes after it.  The caller holds the
 * lock of the slot.
 */
extern bool mk_share_parked_find(const MkShareKey *key, uint32 slot,
								 const MkLogRecord *record,
								 MkParkedKnown *known, MkParkedBy *by);

/*
 * At commit, before letters of the transaction have an offset: the record at this
 * offset is done, so if it was sent back its row means nothing any more; nor do the
 * rows of letters that were found to be gone.
 */
extern void mk_share_parked_done(const MkShareKey *key, uint32 slot,
								 int64 offset, const MkParkedKnown *known);
extern void mk_share_parked_forget(const MkShareKey *key, uint32 slot,
								   const MkParkedKnown *known);

/* A record that becomes a dead letter with its key */
typedef struct MkParking
{
	MkShareKey key;
	uint32 slot;
	int32 deliveries;
} MkParking;

/*
 * The batch and the sequence with which a dead letter is to be sent, so that the
 * commit notes where it is; NULL if the record has no key, and parks none.  The
 * caller holds the lock of the slot.
 */
extern MkSequencedBatch *
mk_share_parked_leave(const MkParking *parking, const MkLogRecord *record,
					  const MkTopic *target, int32 target_partition,
					  int64 *sequence);

/*
 * The same for a dead letter that is sent on: so that the commit notes where its
 * record comes again.  NULL if it parks no key; or does so no more, because it is
 * sent elsewhere.  The caller holds mk_lock_redrive of its topic.
 */
extern MkSequencedBatch *
mk_share_parked_return(const MkTopic *topic, int32 partition, int64 offset,
					   const MkTopic *target, int32 target_partition,
					   int64 *sequence);

/*
 * Receives the first dead letter of each parked key, and how many the key has.  The
 * row lives until the sink returns.
 */
typedef void (*MkParkedSink)(const MkParked *first, int64 letters, void *arg);
extern void
mk_share_parked_list(const MkShareKey *key, MkParkedSink sink, void *arg);

/*
 * Lets a key go on: that of the dead letter whose place is "offset".  False if there
 * is none.  The first function takes mk_lock_redrive of the topics of its letters;
 * then the caller takes the lock of the slot, and calls the second.
 */
extern bool
mk_share_parked_lock(const MkShareKey *key, uint32 slot, int64 offset);
extern bool
mk_share_parked_release(const MkShareKey *key, uint32 slot, int64 offset);

/*
 * Removes rows of a partition that park nothing any more.  The caller holds the
 * lock of the group.
 */
extern void mk_share_parked_clean(const MkGroup *group, const MkTopic *topic,
								  int32 partition);

#endif /* MK_SHARE_PARKED_H */
