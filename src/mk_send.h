/*
 * mk_send.h
 *		Records that a transaction sends.
 *
 * The records are kept until the transaction commits.  Then they get their
 * offsets and are written.
 */
#ifndef MK_SEND_H
#define MK_SEND_H

#include "mk_batch.h"
#include "mk_catalog.h"
#include "mk_record.h"

/* To be called once, in _PG_init, after mk_xact_init. */
extern void mk_send_init(void);

/*
 * Raises what mk_contract_check raises if the record is not as the topic's
 * contract says.
 */
extern void
mk_send_check_record(MkTopic *topic, int32 partition, const MkRecord *record);

/*
 * Sends a record when the transaction commits.  Raises what mk_contract_check
 * raises if the record is not as the topic's contract says.  The record is
 * copied.  "batch" is NULL for a record without a sequence.
 */
extern void
mk_send_record(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence);

/*
 * The same, and returns the offset that the record will have.  Takes the
 * sequencing lock, to the end of the transaction.
 */
extern int64
mk_send_append(MkTopic *topic, int32 partition, const MkRecord *record,
			   MkSequencedBatch *batch, int64 sequence);

/* Whether mk_send_append was called for the batch's partition. */
extern bool mk_send_is_appended(const MkSequencedBatch *batch);

/*
 * Whether the record that the transaction has sent with this sequence has the
 * same key and value; true too if there is none.
 */
extern bool mk_send_is_same(const MkSequencedBatch *batch, int64 sequence,
							const MkRecord *record);

/*
 * The partition for records without a key: one for the transaction and the
 * topic; the next transaction of the session takes the next one.
 */
extern int32 mk_send_sticky_partition(MkTopic *topic);

#endif /* MK_SEND_H */
