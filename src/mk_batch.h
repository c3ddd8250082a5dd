/*
 * mk_batch.h
 *		Records that bear sequences.
 *
 * They are a producer's; or those whose offsets somebody is told, and a sequence is
 * whatever names such a record then.
 */
#ifndef MK_BATCH_H
#define MK_BATCH_H

#include "mk_record.h"

/*
 * Records to one partition that bear sequences: of one producer, where they grow by
 * one; or see above.  It must be in mk_xact_context(), and begin with index -1.
 *
 * While the transaction commits, a deferred action's "lock" may find that some
 * of them are repeats.  It then sets "repeated", how many, and "through", the
 * last sequence of those; they are not written.  Before anything is written,
 * "repeat" is called for each of them.  "placed" is called for each of the
 * others, in order, with the offset that it has got; then "done".
 */
typedef struct MkSequencedBatch
{
	int index; /* for mk_outgoing.c, as is the next */
	int part;
	int64 repeated;
	int64 through;
	void (*repeat)(struct MkSequencedBatch *batch, int64 sequence,
				   const MkRecord *record);
	void (*placed)(struct MkSequencedBatch *batch, int64 sequence,
				   int64 offset);
	void (*done)(struct MkSequencedBatch *batch);
} MkSequencedBatch;

#endif /* MK_BATCH_H */
