/*
 * mk_share_record.h
 *		A record that a walk of a share group has come to: whether it is handed out.
 */
#ifndef MK_SHARE_RECORD_H
#define MK_SHARE_RECORD_H

#include "mk_group_use.h"
#include "mk_scan.h"
#include "mk_share_later.h"
#include "mk_share_receipt.h"
#include "mk_share_seek.h"

/*
 * Receives a record that is handed out; its values live until the sink returns.
 * Returns NULL, or a message why the record cannot be decoded: then its delivery
 * has failed.
 */
typedef const char *(*MkShareSink)(const MkTopic *topic, int32 partition,
								   const MkLogRecord *record,
								   const MkDelivery *delivery,
								   const MkShareReceipt *receipt, void *arg);

/* What a call of acquire() asks for, and what it has got so far. */
typedef struct MkShareRequest
{
	MkGroup *group;
	Snapshot snapshot;
	TimestampTz now;
	int64 max_records;
	int64 max_bytes;
	int64
		lock_duration; /* microseconds; 0: to be answered in the transaction */
	bool accept;
	bool probe; /* only tells by "found" whether there is a record */
	bool hasty; /* to leave a partition where others are at work */
	MkShareSink sink;
	void *arg;

	int64 found;
	int64 noted; /* what was not handed out, but changes at the commit */
	int64 bytes;
	bool full; /* it gets no more */
	bool left; /* there may be more in a partition that was left in haste */
	TimestampTz
		due; /* when the first of what waits is due; DT_NOEND: nothing */
} MkShareRequest;

/* So many slots are locked before what is done in them is looked up. */
#define MK_WALK_BATCH 64

/* A slot whose records are handed out */
typedef struct MkWalkSlot
{
	MkShareSlot *slot;
	MkSharePending *next; /* the next one; NULL: none */
} MkWalkSlot;

typedef struct MkWalk
{
	MkShareRequest *request;
	MkTopic *topic;
	int32 partition;
	MkShareMemory *memory;
	MkShareKey key;
	bool advance; /* only remembers what is done */
	bool loaded; /* the memory has begun anew */
	bool no_slots; /* the transaction holds as many as it may */
	bool stop; /* there is nothing beyond for now */
	bool more; /* the log goes on behind what was read */
	int64 passed; /* records that were read and could not be handed out */
	int64 young; /* no record from this offset on is due; see mk_due.h */
	int first_slot; /* the walk has locked the slots from this number on */
	MemoryContext record_context;

	/* perhaps as of before the locks */
	MkShareSeek hints; /* runs */
	MkShareSeek waiting; /* deliveries */
	bool waits; /* the walk has met a record that waits */
	/* opened after the last slot was locked */
	MkShareSeek runs;
	MkShareSeek deliveries;

	/* slots whose records are to be handed out next */
	int max_batch; /* how many of them, or of kept records, are enough */
	int nbatch;
	MkWalkSlot batch[MK_WALK_BATCH];

	/* those of these records that were read in the log, by offset */
	int nkept;
	MkLogRecord *kept;
	int64 kept_bytes;
	MemoryContext kept_context;

	MkShareLater later;
} MkWalk;

/* What became of a record of a slot. */
typedef enum MkWalkResult
{
	MK_WALK_DONE, /* or gone */
	MK_WALK_TAKEN,
	MK_WALK_BLOCKED /* it holds up the slot */
} MkWalkResult;

/* Whether a run has this offset; of another one *run is the first that ends later. */
extern bool mk_walk_find_run(MkShareSeek *seek, int64 offset, MkShareRun *run);

/* Whether the statement does not see who has written the run. */
extern bool mk_walk_is_unseen(const MkWalk *w, const MkShareRun *run);

/*
 * Whether the first pending record of a slot waits, as far as that can be told without
 * the lock of the slot; "exists" if it was just read in the log.  False if the walk
 * has not met a waiting record.
 */
extern bool mk_walk_still_waits(MkWalk *w, MkShareSlot *s, bool exists);

/*
 * A record of a slot that the transaction has locked: hands it out, if possible.  A
 * probe has not locked it, and only counts the record.
 */
extern MkWalkResult
mk_walk_record(MkWalk *w, MkShareSlot *s, MkHeldSlot *held, int64 offset);

#endif /* MK_SHARE_RECORD_H */
