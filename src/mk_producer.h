/*
 * mk_producer.h
 *		Idempotent producers: sequences, epochs, repeats.
 */
#ifndef MK_PRODUCER_H
#define MK_PRODUCER_H

#include "mk_batch.h"
#include "mk_catalog.h"
#include "mk_producer_rows.h"

/* What a call says of its producer. */
typedef struct MkNumbering
{
	const char *producer;
	int64 sequence;
	bool has_epoch; /* else the current one */
	int32 epoch;
} MkNumbering;

/* What is to be done with the record */
typedef struct MkNumbered
{
	bool repeated; /* nothing: it is there, or this transaction has sent it */
	int64 offset; /* then its offset; -1 where that is not known yet */
	MkSequencedBatch *batch; /* else it is to be sent with this */
} MkNumbered;

/*
 * Notes that the producer sends this sequence to the partition.  MK045 if it is
 * not the next, or a repeat of a record that is still there, and that has another
 * key or value; MK047 if the epoch is not the current one, both also at commit;
 * 42501 for another role's producer.  With "eager" the producer's lock is
 * taken, to the end of the transaction, so that what is said of a repeat is
 * final; else one may still turn out to be one.
 */
extern void
mk_producer_send(const MkNumbering *numbering, MkTopic *topic, int32 partition,
				 const MkRecord *record, bool eager, MkNumbered *result);

/*
 * After an eager one that is not repeated: notes the offset that it will have,
 * for a repeat in the same transaction.
 */
extern void
mk_producer_appended(MkSequencedBatch *batch, int64 sequence, int64 offset);

/*
 * Notes that the producer begins its next epoch, and returns it.  MK047 at
 * commit, if another session has begun one meanwhile.  A new producer takes
 * INSERT on some topic, else 42501.
 */
extern void
mk_producer_begin_epoch(const char *producer, int32 *producer_id, int32 *epoch);

/*
 * Notes that the producer is given to another role: 42704 if there is no such
 * producer or role, 42501 as mk_role_check_give, both also at commit.
 */
extern void mk_producer_set_owner(const char *producer, const char *owner);

/*
 * The producer for reading its state: false if there is none, 42501 if it is
 * another role's and the caller is no member of pg_monitor.
 */
extern bool mk_producer_find(const char *producer, MkProducerRow *row);

/* Whether the row still tells where it goes on. */
extern bool
mk_producer_counts(const MkProducerRow *producer, const MkProducerRun *row);

/*
 * Removes what is not needed any more of what a producer has sent: all but the
 * last sequences to a partition, and all if that has expired.  Its name and its
 * epoch stay, so that older ones stay fenced.
 */
extern void mk_producer_clean(int32 producer_id);

#endif /* MK_PRODUCER_H */
