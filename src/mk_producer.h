/*
 * mk_producer.h
 *		Idempotent producers: epochs, owners, and forgetting what they have
 *		sent.
 */
#ifndef MK_PRODUCER_H
#define MK_PRODUCER_H

#include "mk_catalog.h"
#include "mk_producer_rows.h"

/* A transaction's use of a producer. */
typedef struct MkProducerUse
{
	char *producer;

	/* both since the lock is held, during commit */
	MkProducerRow row; /* as it will be after this transaction */
	int32 former_epoch; /* the epoch before this transaction */
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
 * Defers that the transaction uses the producer: while the transaction
 * commits, it takes the producer's lock, to its end, and makes the producer if
 * there is none.  With "eager" it takes the lock at once.  Raises MK047 if
 * "has_epoch" and the epoch is not the current one, and, also at commit, if
 * another session has begun an epoch meanwhile; 42501 for another role's
 * producer.
 */
extern void mk_producer_use(const char *producer, bool has_epoch, int32 epoch,
							bool eager, MkProducerUsed *used);

/* To be called when the transaction is going to send in used->epoch. */
extern void mk_producer_sends(const MkProducerUsed *used);

/*
 * Raises MK047: the epoch is not the producer's current one; "current" is -1 if
 * there is no such producer.
 */
extern void mk_producer_fence(const char *producer, int32 epoch, int32 current);

/*
 * Defers that the producer begins its next epoch, and returns that.  Raises
 * MK047 at commit if another session has begun one meanwhile; 42501 for
 * another role's producer, and for a new producer if the user has INSERT on no
 * topic.
 */
extern void
mk_producer_begin_epoch(const char *producer, int32 *producer_id, int32 *epoch);

/*
 * Defers that the producer gets another owner.  Raises 42704 if there is no
 * such producer or role, and 42501 as mk_role_check_give does, both also at
 * commit.
 */
extern void mk_producer_set_owner(const char *producer, const char *owner);

/*
 * Finds the producer, to show its state: false if there is none; 42501 if it is
 * another role's, unless the user is a member of pg_monitor.
 */
extern bool mk_producer_find(const char *producer, MkProducerRow *row);

/*
 * Whether the producer's next record follows this run: of its epoch, not
 * expired.
 */
extern bool
mk_producer_counts(const MkProducerRow *producer, const MkProducerRun *row);

/*
 * Removes rows about what the producer has sent that are not needed any more:
 * of each partition all but the last sequences, or all if those have expired.
 * The producer's name and epoch stay, so that older epochs stay fenced.  Waits
 * for the producer's lock only if something has expired.
 */
extern void mk_producer_clean(int32 producer_id);

#endif /* MK_PRODUCER_H */
