/*
 * mk_numbering.h
 *		Records that producers have numbered: sequences and repeats.
 */
#ifndef MK_NUMBERING_H
#define MK_NUMBERING_H

#include "mk_batch.h"
#include "mk_catalog.h"

/* The arguments of a call about its producer. */
typedef struct MkNumbering
{
	const char *producer;
	int64 sequence;
	bool has_epoch; /* else the current epoch counts */
	int32 epoch;
} MkNumbering;

/* What the caller is to do with the record. */
typedef struct MkNumbered
{
	bool repeated; /* nothing: it is stored, or this transaction has sent it */
	int64 offset; /* then its offset, -1 if that is not known yet */
	MkSequencedBatch *batch; /* otherwise send it in this batch */
} MkNumbered;

/*
 * Defers that the producer sends this sequence to the partition.  Raises MK045
 * if the sequence is not the next one, or if it is a repeat and the record
 * that is still stored has another key or value; MK047 if the epoch is not the
 * current one; both also at commit; 42501 for another role's producer.  With
 * "eager" it takes the producer's lock, to the end of the transaction, so the
 * answer about a repeat is final; without, the record may turn out to be a
 * repeat at commit.
 */
extern void
mk_numbering_send(const MkNumbering *numbering, MkTopic *topic, int32 partition,
				  const MkRecord *record, bool eager, MkNumbered *result);

/*
 * Remembers the offset that append() has returned for a sequence, for a repeat
 * in the same transaction.
 */
extern void
mk_numbering_appended(MkSequencedBatch *batch, int64 sequence, int64 offset);

#endif /* MK_NUMBERING_H */
