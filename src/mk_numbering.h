/*
 * mk_numbering.h
 *		Records that producers have numbered: sequences and repeats.
 */
#ifndef MK_NUMBERING_H
#define MK_NUMBERING_H

#include "mk_batch.h"
#include "mk_catalog.h"

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
mk_numbering_send(const MkNumbering *numbering, MkTopic *topic, int32 partition,
				  const MkRecord *record, bool eager, MkNumbered *result);

/*
 * After an eager one that is not repeated: notes the offset that it will have,
 * for a repeat in the same transaction.
 */
extern void
mk_numbering_appended(MkSequencedBatch *batch, int64 sequence, int64 offset);

#endif /* MK_NUMBERING_H */
