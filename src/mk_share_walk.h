/*
 * mk_share_walk.h
 *		The walk of a share group through a partition: which records to hand out.
 */
#ifndef MK_SHARE_WALK_H
#define MK_SHARE_WALK_H

#include "mk_group_use.h"
#include "mk_scan.h"
#include "mk_share_receipt.h"

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
	MkShareSink sink;
	void *arg;

	int64 found;
	int64 parked; /* records that were set aside with their key */
	int64 bytes;
	bool full; /* it gets no more */
	TimestampTz
		due; /* when the first of what waits is due; DT_NOEND: nothing */
} MkShareRequest;

/* Hands out records of a partition, until the request is full. */
extern void
mk_share_walk(MkShareRequest *request, MkTopic *topic, int32 partition);

/*
 * Makes a checkpoint of the partition, if its start offset has moved.  The caller
 * holds the group's lock, and has an active snapshot.
 */
extern void
mk_share_walk_checkpoint(MkGroup *group, MkTopic *topic, int32 partition);

#endif /* MK_SHARE_WALK_H */
