/*
 * mk_producer.c
 *		Idempotent producers: epochs, owners, and forgetting what they have
 *		sent.
 *
 * A call reads the producer as it is then, and defers that the transaction
 * uses it.  While the transaction commits, it locks its producers, to its end,
 * and checks that what the calls went by still holds: that no other session
 * has begun an epoch, and that the roles that used the producer may.  See
 * mk_numbering.c for the records that a producer sends.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"

#include "mk_errors.h"
#include "mk_lock.h"
#include "mk_number.h"
#include "mk_producer.h"
#include "mk_role.h"
#include "mk_rows.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* What a transaction has deferred about a producer. */
struct MkDeferredProducer
{
	MkProducerUse *use;
	List *
		users; /* OIDs of the roles that have used it; the first one makes it */
	bool is_new; /* at the call there was no such producer */
	bool sends; /* if it is new: the transaction sends in epoch 0 */
	bool begins; /* the transaction begins an epoch */
	MkProducerRow row; /* as it was at the call */
	int32 epoch; /* the one that it begins */
};

void
mk_producer_fence(const char *producer, int32 epoch, int32 current)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_INVALID_PRODUCER_EPOCH),
			 errmsg("epoch %d of producer \"%s\" is not its current one", epoch,
					producer),
			 current < 0 ? errdetail("There is no such producer yet.")
						 : errdetail("Its epoch is %d.", current),
			 epoch < current
				 ? errhint("A newer instance has called "
						   "minikafka.init_producer(): stop this one.")
				 : errhint("Epochs come from minikafka.init_producer().")));
}

/* Raises MK047: another session has begun an epoch since this one looked. */
static void
mk_superseded(const char *producer, int32 epoch)
{
	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_INVALID_PRODUCER_EPOCH),
			 errmsg("another session has begun epoch %d of producer \"%s\"",
					epoch, producer),
			 errhint("Stop this one, if that is a newer instance.")));
}

/* ---------------------------------------------------------------------------
 * The use of a producer, a deferred action
 */

static uint64
mk_producer_tag(const void *deferred)
{
	return mk_lock_producer_tag(
		((const MkDeferredProducer *) deferred)->use->producer);
}

static bool
mk_producer_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredProducer *) a)->use->producer,
				  ((const MkDeferredProducer *) b)->use->producer) == 0;
}

/*
 * Raises MK047 if another session has begun an epoch since the call, also that
 * of a producer that did not exist at the call.  "found" tells whether the
 * producer exists now, as d->use->row says.
 */
static void
mk_producer_check(const MkDeferredProducer *d, bool found)
{
	const MkProducerRow *now = &d->use->row;

	if (!d->begins)
	{
		if (d->is_new && found && now->initialized)
			mk_superseded(d->use->producer, now->epoch);
		if (!d->is_new && (!found || now->epoch != d->row.epoch))
			mk_producer_fence(d->use->producer, d->row.epoch, now->epoch);
		return;
	}
	if (found == d->is_new ||
		(found &&
		 (now->producer_id != d->row.producer_id ||
		  now->epoch != d->row.epoch)))
		mk_superseded(d->use->producer, now->epoch);
}

/*
 * Locks the producer, makes it if there is none, and checks the rights again.
 */
static void
mk_producer_lock(void *deferred)
{
	MkDeferredProducer *d = deferred;
	MkProducerUse *use = d->use;
	bool found;
	ListCell *lc;

	mk_lock_producer(use->producer);
	AcceptInvalidationMessages();
	found = mk_producer_rows_get(use->producer, &use->row);
	mk_producer_check(d, found);
	if (!found)
	{
		use->row.producer_id = d->begins
			? d->row.producer_id
			: mk_number_next(MK_REL_PRODUCER_ID_SEQ);
		namestrcpy(&use->row.owner,
				   GetUserNameFromId(linitial_oid(d->users), false));
		use->row.epoch = d->begins ? d->epoch : 0;
		use->row.initialized = d->begins;
		mk_producer_rows_insert(use->producer, &use->row);
	}
	foreach (lc, d->users)
		mk_role_check_owner(NameStr(use->row.owner), lfirst_oid(lc), "producer",
							use->producer);
	use->former_epoch = found ? use->row.epoch : 0;
	if (found && d->begins)
	{
		use->row.epoch = d->epoch;
		mk_producer_rows_begin_epoch(use->producer, d->epoch);
	}
}

static const MkDeferredKind mk_producer_kind = {
	.rank = MK_RANK_PRODUCER,
	.tag = mk_producer_tag,
	.same = mk_producer_same,
	.lock = mk_producer_lock,
	.discard = pfree,
};

/*
 * A copy of a deferred action, to be changed: it goes when the savepoint is
 * rolled back.
 */
static MkDeferredProducer *
mk_producer_copy(const MkDeferredProducer *before)
{
	MkDeferredProducer *d =
		MemoryContextAlloc(mk_xact_context(), sizeof(MkDeferredProducer));

	*d = *before;
	return d;
}

/*
 * The transaction's deferred action.  If there is none, a new one is deferred,
 * which has the producer as it is now, and *is_fresh is set.  42501 for
 * another role's producer.
 */
static const MkDeferredProducer *
mk_producer_deferred(const char *producer, bool *is_fresh)
{
	MkProducerUse like_use = {.producer = unconstify(char *, producer)};
	MkDeferredProducer like = {.use = &like_use};
	const MkDeferredProducer *before =
		mk_xact_find_deferred(&mk_producer_kind, &like);
	MkDeferredProducer *d;
	Oid user = GetUserId();
	MemoryContext old;

	*is_fresh = before == NULL;
	if (before != NULL && list_member_oid(before->users, user))
		return before;

	old = MemoryContextSwitchTo(mk_xact_context());
	if (before != NULL)
		d = mk_producer_copy(before);
	else
	{
		d = palloc0(sizeof(MkDeferredProducer));
		d->use = palloc0(sizeof(MkProducerUse));
		d->use->producer = pstrdup(producer);
		d->is_new = !mk_producer_rows_get(producer, &d->row);
		if (d->is_new)
			d->row.epoch = -1;
	}
	if (!d->is_new)
		mk_role_check_owner(NameStr(d->row.owner), user, "producer", producer);
	else if (d->users != NIL)
		mk_role_check_owner(GetUserNameFromId(linitial_oid(d->users), false),
							user, "producer", producer);
	d->users = lappend_oid(list_copy(d->users), user);
	mk_xact_defer(&mk_producer_kind, d);
	MemoryContextSwitchTo(old);
	return d;
}

void
mk_producer_use(const char *producer, bool has_epoch, int32 epoch, bool eager,
				MkProducerUsed *used)
{
	bool is_fresh;
	const MkDeferredProducer *d = mk_producer_deferred(producer, &is_fresh);

	if (eager)
	{
		/* a role without the right has failed, and makes no session wait */
		mk_lock_producer(producer);
		is_fresh = false;
	}
	used->deferred = d;
	used->use = d->use;
	used->row = d->row;
	if (d->begins)
		used->epoch = d->epoch;
	else
	{
		/* another session may have made it, or begun an epoch */
		bool exists = is_fresh ? used->row.epoch >= 0
							   : mk_producer_rows_get(producer, &used->row);

		if (!exists)
			used->row.epoch = -1;
		else
			mk_role_check_owner(NameStr(used->row.owner), GetUserId(),
								"producer", producer);
		used->epoch = Max(used->row.epoch, 0);
		if (d->is_new ? used->row.epoch >= 0 && used->row.initialized
					  : used->row.epoch != d->row.epoch)
			mk_superseded(producer, used->row.epoch);
	}
	if (has_epoch && epoch != used->epoch)
		mk_producer_fence(producer, epoch,
						  d->begins ? used->epoch : used->row.epoch);
}

void
mk_producer_sends(const MkProducerUsed *used)
{
	MkDeferredProducer *d;

	if (!used->deferred->is_new || used->deferred->sends ||
		used->deferred->begins)
		return;
	d = mk_producer_copy(used->deferred);
	d->sends = true;
	mk_xact_defer(&mk_producer_kind, d);
}

void
mk_producer_begin_epoch(const char *producer, int32 *producer_id, int32 *epoch)
{
	bool is_fresh;
	const MkDeferredProducer *before =
		mk_producer_deferred(producer, &is_fresh);
	MkDeferredProducer *d;
	int32 last = before->begins ? before->epoch
		: before->sends         ? 0
								: before->row.epoch;

	if (last == PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("epochs of producer \"%s\" are used up", producer),
				 errhint("Use another producer name.")));
	/* a role without any right takes no name */
	if (before->is_new && !mk_topic_any_allows(ACL_INSERT))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to create producer \"%s\"", producer),
			 errhint("A new producer needs INSERT on a topic.")));
	d = mk_producer_copy(before);
	if (d->is_new && !d->begins)
		d->row.producer_id = mk_number_next(MK_REL_PRODUCER_ID_SEQ);
	d->begins = true;
	d->epoch = last + 1;
	mk_xact_defer(&mk_producer_kind, d);
	*producer_id = d->row.producer_id;
	*epoch = d->epoch;
}

/* ---------------------------------------------------------------------------
 * Giving a producer to another role
 */

typedef struct MkDeferredGift
{
	char *producer;
	char *owner;
	Oid user; /* that gives it */
} MkDeferredGift;

static uint64
mk_give_tag(const void *deferred)
{
	return mk_lock_producer_tag(((const MkDeferredGift *) deferred)->producer);
}

static bool
mk_give_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredGift *) a)->producer,
				  ((const MkDeferredGift *) b)->producer) == 0;
}

static void
mk_give_check(const MkDeferredGift *d)
{
	MkProducerRow row;

	if (!mk_producer_rows_get(d->producer, &row))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("producer \"%s\" does not exist", d->producer),
				 errhint("Its first record, or minikafka.init_producer(), "
						 "makes it.")));
	mk_role_check_give(NameStr(row.owner), d->owner, d->user, "producer",
					   d->producer);
}

static void
mk_give_lock(void *deferred)
{
	const MkDeferredGift *d = deferred;

	mk_lock_producer(d->producer);
	AcceptInvalidationMessages();
	mk_give_check(d);
}

/* Not before those are checked that have used it in this transaction. */
static void
mk_give_write(void *deferred)
{
	const MkDeferredGift *d = deferred;

	mk_producer_rows_set_owner(d->producer, d->owner);
}

static const MkDeferredKind mk_give_kind = {
	.rank = MK_RANK_PRODUCER,
	.tag = mk_give_tag,
	.same = mk_give_same,
	.lock = mk_give_lock,
	.write = mk_give_write,
	.discard = pfree,
};

void
mk_producer_set_owner(const char *producer, const char *owner)
{
	MemoryContext old = MemoryContextSwitchTo(mk_xact_context());
	MkDeferredGift *d = palloc(sizeof(MkDeferredGift));

	d->producer = pstrdup(producer);
	d->owner = pstrdup(owner);
	d->user = GetUserId();
	MemoryContextSwitchTo(old);
	mk_give_check(d);
	mk_xact_defer(&mk_give_kind, d);
}

bool
mk_producer_counts(const MkProducerRow *producer, const MkProducerRun *row)
{
	return row->epoch == producer->epoch && !mk_producer_rows_has_expired(row);
}

bool
mk_producer_find(const char *producer, MkProducerRow *row)
{
	if (!mk_producer_rows_get(producer, row))
		return false;
	if (!has_privs_of_role(GetUserId(), ROLE_PG_MONITOR))
		mk_role_check_owner(NameStr(row->owner), GetUserId(), "producer",
							producer);
	return true;
}

/* ---------------------------------------------------------------------------
 * Forgetting
 */

/* How many sequences are known, at least; Kafka keeps five batches. */
#define MK_KNOWN_SEQUENCES 1000

typedef struct MkClean
{
	int32 producer_id;
	bool locked;
} MkClean;

/* Locks the producer, on the first call only. */
static void
mk_clean_lock(MkClean *c)
{
	char *producer = c->locked ? NULL : mk_producer_rows_name(c->producer_id);

	if (producer != NULL)
		mk_lock_producer(producer);
	c->locked = true;
}

static void
mk_clean_partition(int32 topic_id, int32 partition, const MkProducerRun *row,
				   void *arg)
{
	MkClean *c = arg;
	MkProducerRun now;
	int64 known = MK_KNOWN_SEQUENCES;

	if (mk_producer_rows_has_expired(row))
	{
		mk_clean_lock(c);
		if (mk_producer_rows_last(c->producer_id, topic_id, partition, NULL,
								  &now) &&
			mk_producer_rows_has_expired(&now))
			known = 0;
	}
	mk_producer_rows_clean(c->producer_id, topic_id, partition, known);
}

void
mk_producer_clean(int32 producer_id)
{
	MkClean c = {.producer_id = producer_id};

	mk_producer_rows_scan(producer_id, mk_rows_now(), mk_clean_partition, &c);
}
