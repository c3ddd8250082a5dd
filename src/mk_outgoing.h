/*
 * mk_outgoing.h
 *		What the transaction is going to send: to which topics and partitions,
 *		and in which levels of subtransactions.
 *
 * All of it is in TopTransactionContext.
 */
#ifndef MK_OUTGOING_H
#define MK_OUTGOING_H

#include "mk_batch.h"
#include "mk_buffer.h"
#include "mk_catalog.h"
#include "mk_contract.h"
#include "mk_log.h"

/* What the transaction sends to one partition. */
typedef struct MkPartitionSends
{
	MkTopic *topic;
	int32 topic_id; /* as when it was first sent to */
	int32 partition;

	/* append() took the sequencing lock at this nesting level, and found this tail */
	int append_level; /* 0: it did not */
	MkTail append_tail;

	/* during commit */
	int64 records;
	int64 next_offset;
	MkTail tail;
	bool made_segment;
	MkAppender *appender;
	int first; /* of the chunk, -1: none */
	int last;
} MkPartitionSends;

/* What the transaction sends to one topic. */
typedef struct MkTopicSends
{
	MkTopic *topic;
	int32 sticky; /* -1: not chosen yet */
	int npartitions;
	int *part; /* index into parts, -1: nothing is sent there */

	/* the last contract that records were checked against, NULL for none */
	MkContract *contract;
	bool sent;
	bool recheck; /* some were checked against another one */
} MkTopicSends;

/* What one level of subtransactions sends. */
typedef struct MkOutgoingLevel
{
	struct MkOutgoingLevel *upper;
	int nesting;
	int64 first_record;
	int ncounts;
	int64 *counts; /* live records, for each part */
} MkOutgoingLevel;

/* All of it. */
typedef struct MkOutgoing
{
	MkOutgoingLevel *level;
	int nparts;
	MkPartitionSends *parts;
	List *topics; /* of MkTopicSends */
	MkTopicSends *last_topic;

	MkBuffer buffer;
	bool is_reading; /* for mk_send_is_same, which has come to: */
	MkBufferReader reader;

	int nbatches;
	MkSequencedBatch **batches;

	/* during commit: the parts that have live records, in order */
	int nlocked;
	MkPartitionSends **locked;
	int nslots;
	TupleTableSlot *
		*slots; /* to be dropped when the locks have been released */
} MkOutgoing;

/* What there is, NULL for nothing. */
extern MkOutgoing *mk_outgoing_get(void);

/*
 * What there is, made if there is nothing; with a level for the current
 * nesting.  To be called before each change.
 */
extern MkOutgoing *mk_outgoing_begin(void);

/* What is sent to a topic, made if there is nothing; it does not move. */
extern MkTopicSends *mk_outgoing_topic(MkOutgoing *out, MkTopic *topic);

/* The index in "parts" of a partition, made if there is none. */
extern int mk_outgoing_part(MkOutgoing *out, MkTopic *topic, int32 partition);

/*
 * Puts a record that was checked into the buffer.  "batch" is NULL for a record
 * without a sequence.  55000 as mk_buffer_check.
 */
extern void
mk_outgoing_put(MkTopic *topic, int32 partition, const MkRecord *record,
				MkSequencedBatch *batch, int64 sequence);

/* The live records of a part. */
extern int64 mk_outgoing_count(const MkOutgoing *out, int part);

/* For a participant of the transaction: see mk_xact.h. */
extern void mk_outgoing_subxact_commit(int nesting);
extern void mk_outgoing_subxact_abort(int nesting);
extern bool mk_outgoing_is_empty(void);
extern void mk_outgoing_end(bool committed);

#endif /* MK_OUTGOING_H */
