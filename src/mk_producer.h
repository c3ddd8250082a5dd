/*
 * mk_producer.h
 *		Idempotent producers: epochs, owners, and what is known of their sequences.
 */
#ifndef MK_PRODUCER_H
#define MK_PRODUCER_H

#include "mk_catalog.h"
#include "mk_producer_rows.h"

/* A transaction's use of a producer. */
typedef struct MkProducerUse
{
	char *producer;
	MkProducerRow row; /* since the lock: what will hold */
	int32 former_epoch; /* since then: before those that are begun */
} MkProducerUse;

typedef struct MkDeferredProducer MkDeferredProducer;

/* What a call finds when it uses a producer. */
typedef struct MkProducerUsed
{
	const MkDeferredProducer *deferred; /* for mk_producer_sends */
	MkProducerUse *use;
	MkProducerRow row; /* as it is now; epoch -1: there is none */
	int32 epoch; /* in which the transaction sends */
} MkProducerUsed;

/*
 * Defers that the transaction uses the producer: while it commits, it takes the
 * producer's lock, to its end, and makes the producer if there is none.  MK047 if
 * "has_epoch" and the epoch is not the current one, and if another session has
 * begun an epoch, also at commit; 42501 for another role's producer.  With "eager"
 * the lock is taken at once.
 */
extern void mk_producer_use(const char *producer, bool has_epoch, int32 epoch,
							bool eager, MkProducerUsed *used);

/* Defers that the transaction sends in that epoch. */
extern void mk_producer_sends(const MkProducerUsed *used);

/*
 * Raises MK047: the epoch is not the producer's current one, which is -1 if there
 * is no such producer.
 */
extern void mk_producer_fence(const char *producer, int32 epoch, int32 current);

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
