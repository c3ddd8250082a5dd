/*
 * mk_producer_rows.h
 *		The rows of producers, and of what each has sent to each partition,
 *		newest first.
 *
 * What a transaction has sent to a partition is one row for each run:
 * sequences and offsets that both grow by one.  The key of a row ends in the
 * epoch and the last sequence, so the newest row is the last one, and one
 * index look-up finds the row of a repeated sequence.
 */
#ifndef MK_PRODUCER_ROWS_H
#define MK_PRODUCER_ROWS_H

#include "datatype/timestamp.h"
#include "utils/snapshot.h"

typedef struct MkProducerRow
{
	int32 producer_id;
	NameData owner; /* a role's name */
	int32 epoch;
	bool initialized; /* init_producer() was called, not only send() */
} MkProducerRow;

/* The producer of this name as it is now; false if there is none. */
extern bool mk_producer_rows_get(const char *producer, MkProducerRow *row);

/*
 * Write a new producer's row, the epoch that init_producer() begins, and
 * another owner.  The caller holds mk_lock_producer.
 */
extern void
mk_producer_rows_insert(const char *producer, const MkProducerRow *row);
extern void mk_producer_rows_begin_epoch(const char *producer, int32 epoch);
extern void mk_producer_rows_set_owner(const char *producer, const char *owner);

/* mk_role_look for the owners of all producers. */
extern List *mk_producer_rows_look(List *missing);

/* A run of sequences whose offsets follow each other too. */
typedef struct MkProducerRun
{
	int32 epoch;
	int64 first_sequence;
	int64 last_sequence;
	int64 first_offset; /* of first_sequence */
	TimestampTz at; /* when it was sent */
} MkProducerRun;

/*
 * The newest run, as the snapshot sees it, or for NULL as it is now; false if
 * there is none.
 */
extern bool
mk_producer_rows_last(int32 producer_id, int32 topic_id, int32 partition,
					  Snapshot snapshot, MkProducerRun *row);

/*
 * The newest run as it is now; false if there is none.  There must be none of
 * a later epoch.  It is found faster if it is of this epoch and does not end
 * below the sequence "near".
 */
extern bool
mk_producer_rows_last_near(int32 producer_id, int32 topic_id, int32 partition,
						   int32 epoch, int64 near, MkProducerRun *row);

/* The run that has this sequence; false if it is not known. */
extern bool
mk_producer_rows_find(int32 producer_id, int32 topic_id, int32 partition,
					  int32 epoch, int64 sequence, MkProducerRun *row);

/* Whether minikafka.producer_expiry has passed since the run was sent. */
extern bool mk_producer_rows_has_expired(const MkProducerRun *run);

/* The offset of the last sequence of a run. */
extern int64 mk_producer_rows_last_offset(const MkProducerRun *row);

/*
 * The newest run as it was when the log ended at "tail": without the sequences
 * whose offsets lie there or beyond.  False if there is none.
 */
extern bool
mk_producer_rows_last_below(int32 producer_id, int32 topic_id, int32 partition,
							int64 tail, MkProducerRun *row);

/* Forgets those sequences; the caller holds mk_lock_producer. */
extern void mk_producer_rows_forget(int32 producer_id, int32 topic_id,
									int32 partition, int64 tail);

/* Stores a new run; the caller holds mk_lock_producer. */
extern void mk_producer_rows_put(int32 producer_id, int32 topic_id,
								 int32 partition, const MkProducerRun *row);

/*
 * Remove all runs of a producer in a partition, for a caller that holds
 * mk_lock_producer, and of all producers in a topic that is being dropped.
 */
extern void
mk_producer_rows_delete(int32 producer_id, int32 topic_id, int32 partition);
extern void mk_producer_rows_delete_topic(int32 topic_id);

/* The numbers of all producers that have runs, ascending. */
extern List *mk_producer_rows_ids(Snapshot snapshot);

/* The name of the producer of this number, NULL if there is none. */
extern char *mk_producer_rows_name(int32 producer_id);

/*
 * Removes the runs that are not needed to know the last "known" sequences of
 * the newest run's epoch; all for 0.  Leaves rows that another session is
 * removing.
 */
extern void mk_producer_rows_clean(int32 producer_id, int32 topic_id,
								   int32 partition, int64 known);

/*
 * Calls back for the newest run in each partition that the producer has sent
 * to.
 */
typedef void (*MkProducerRunSink)(int32 topic_id, int32 partition,
								  const MkProducerRun *row, void *arg);
extern void mk_producer_rows_scan(int32 producer_id, Snapshot snapshot,
								  MkProducerRunSink sink, void *arg);

#endif /* MK_PRODUCER_ROWS_H */
