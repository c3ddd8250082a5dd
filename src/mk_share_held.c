/*
 * mk_share_held.c
 *		Records of share groups that a transaction holds, and its answers.
 *
 * A transaction holds a record by the lock of its slot, which ends with the
 * transaction or with the savepoint in which it was taken.  Until the commit
 * nothing is written.  The commit then fails if a record was not answered, or if
 * the group was reset meanwhile; otherwise it writes a row for each run of
 * offsets that are done, and one for each delivery that did not end well.
 *
 * Slots, records, and what answers have replaced are three stacks: what a
 * subtransaction has added lies on top, and goes when it is rolled back.
 *
 * "Done" holds from the commit on.  The rows are visible to other sessions before
 * the locks of the slots are released, so a session that gets such a lock finds
 * them.
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/lock.h"
#include "utils/inval.h"

#include "mk_array.h"
#include "mk_errors.h"
#include "mk_group.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_share_checkpoint.h"
#include "mk_share_held.h"
#include "mk_share_undone.h"
#include "mk_topic.h"
#include "mk_wakeup.h"
#include "mk_xact.h"

/* How many runs are written and read before the next checkpoint. */
#define MK_CHECKPOINT_RUNS 1000

/* Finds a slot by the memory of its partition and its number. */
typedef struct MkHeldKey
{
	MkShareMemory *memory;
	uint64 slot;
} MkHeldKey;

typedef struct MkHeldEntry
{
	MkHeldKey key; /* hash key */
	int number;
} MkHeldEntry;

/* An answer that another one has replaced in a subtransaction */
typedef struct MkReplaced
{
	int record;
	int nesting; /* of the subtransaction that has answered */
	MkShareAnswer answer;
} MkReplaced;

/* What the transaction holds; the memory is TopTransactionContext. */
static struct
{
	int nslots;
	MkHeldSlot *slots;
	HTAB *entries; /* of MkHeldEntry; NULL until there is one */
	int nrecords;
	MkHeldRecord *records;
	int nreplaced;
	MkReplaced *replaced;
} mk_held;

bool
mk_share_held_is_empty(void)
{
	return mk_held.nslots == 0;
}

/* ---------------------------------------------------------------------------
 * Slots
 */

/* How many slots a transaction may hold: half of its share of the lock table. */
static int
mk_held_max_slots(void)
{
	return Max(max_locks_per_xact / 2, 1);
}

static MkHeldEntry *
mk_held_entry(MkShareMemory *m, uint32 slot, HASHACTION action)
{
	const MkHeldKey key = {m, slot};

	if (mk_held.entries == NULL)
	{
		HASHCTL ctl = {0};

		if (action != HASH_ENTER)
			return NULL;
		ctl.keysize = sizeof(MkHeldKey);
		ctl.entrysize = sizeof(MkHeldEntry);
		ctl.hcxt = TopTransactionContext;
		mk_held.entries = hash_create("minikafka held slots", 16, &ctl,
									  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	return hash_search(mk_held.entries, &key, action, NULL);
}

MkHeldSlot *
mk_share_held_find(MkShareMemory *m, uint32 slot)
{
	const MkHeldEntry *entry = mk_held_entry(m, slot, HASH_FIND);

	return entry != NULL ? &mk_held.slots[entry->number] : NULL;
}

bool
mk_share_held_by_any(const MkShareMemory *m, uint32 slot)
{
	return mk_lock_share_slot_is_held(m->key.group_no, m->key.topic_id,
									  m->key.partition, slot);
}

MkHeldSlot *
mk_share_held_lock(const MkGroup *group, MkShareMemory *m, uint32 slot,
				   bool *full)
{
	MkHeldSlot *s;

	*full = mk_held.nslots >= mk_held_max_slots();
	if (*full ||
		!mk_lock_share_slot_try(m->key.group_no, m->key.topic_id,
								m->key.partition, slot))
		return NULL;
	mk_xact_begin_use();
	mk_share_undone_prepare();
	mk_errors_forget();
	mk_wakeup_when_released(m->key.group_no);
	mk_held.slots = mk_array_grow(TopTransactionContext, mk_held.slots,
								  mk_held.nslots, sizeof(MkHeldSlot));
	s = &mk_held.slots[mk_held.nslots];
	s->memory = m;
	s->slot = slot;
	s->key.group_no = m->key.group_no;
	s->key.topic_id = m->key.topic_id;
	s->key.partition = m->key.partition;
	s->key.era = m->era;
	s->use = NULL;
	/* with a snapshot from before a reset, the era is a former one */
	s->version = m->era == group->share->epoch ? group->version : -1;
	s->ordering_epoch = group->share->ordering_epoch;
	s->parks = group->share->parks;
	s->nesting = GetCurrentTransactionNestLevel();
	s->last = -1;
	s->gap = false;
	memset(&s->known, 0, sizeof(s->known));
	mk_held_entry(m, slot, HASH_ENTER)->number = mk_held.nslots++;
	return s;
}

/* Forgets the slot on top of the stack. */
static void
mk_held_pop_slot(void)
{
	const MkHeldSlot *s = &mk_held.slots[--mk_held.nslots];

	(void) mk_held_entry(s->memory, s->slot, HASH_REMOVE);
}

/* Moves the slot on top of the stack to a lower place. */
static void
mk_held_move_slot(int to)
{
	const MkHeldSlot *s = &mk_held.slots[mk_held.nslots - 1];

	mk_held_entry(s->memory, s->slot, HASH_FIND)->number = to;
	for (int i = s->last; i >= 0; i = mk_held.records[i].before)
		mk_held.records[i].slot = to;
	mk_held.slots[to] = *s;
	mk_held.nslots--;
}

int
mk_share_held_room(void)
{
	return mk_held_max_slots() - mk_held.nslots;
}

int
mk_share_held_slots(void)
{
	return mk_held.nslots;
}

bool
mk_share_held_unlock_unused(int first)
{
	int before = mk_held.nslots;

	for (int i = mk_held.nslots - 1; i >= first; i--)
	{
		const MkHeldSlot *s = &mk_held.slots[i];

		if (s->last >= 0)
			continue;
		mk_lock_share_slot_release(s->key.group_no, s->key.topic_id,
								   s->key.partition, s->slot);
		if (i == mk_held.nslots - 1)
			mk_held_pop_slot();
		else
		{
			(void) mk_held_entry(s->memory, s->slot, HASH_REMOVE);
			mk_held_move_slot(i);
		}
	}
	return mk_held.nslots < before;
}

/* Whether an answer holds up the later records of the slot. */
static bool
mk_answer_closes(const MkShareAnswer *answer)
{
	return answer->outcome > MK_OUTCOME_DONE || answer->parks;
}

/* Whether a record was not handed out: a walk has answered it instead. */
static bool
mk_held_is_noted(const MkHeldRecord *r)
{
	return !r->delivered && !r->taken && r->answer.outcome != MK_OUTCOME_LOCK;
}

/*
 * The record of this number, or the last one before it that was handed out, or
 * holds up the slot; -1: none.
 */
static int
mk_held_skip_noted(int i)
{
	while (i >= 0 && mk_held_is_noted(&mk_held.records[i]) &&
		   !mk_answer_closes(&mk_held.records[i].answer))
		i = mk_held.records[i].before;
	return i;
}

bool
mk_share_held_is_closed(const MkHeldSlot *s)
{
	int i = mk_held_skip_noted(s != NULL ? s->last : -1);

	/*
	 * An answer that closes the slot has released all that come after it, but
	 * for what was not handed out.
	 */
	return i >= 0 && mk_answer_closes(&mk_held.records[i].answer);
}

bool
mk_share_held_closes(const MkHeldRecord *record)
{
	return mk_answer_closes(&record->answer);
}

bool
mk_share_held_has_follower(const MkHeldSlot *s)
{
	for (int i = s->last; i >= 0; i = mk_held.records[i].before)
		if (mk_held.records[i].answer.follows)
			return true;
	return false;
}

int64
mk_share_held_last_offset(const MkHeldSlot *s)
{
	return s != NULL && s->last >= 0 ? mk_held.records[s->last].offset : -1;
}

/* ---------------------------------------------------------------------------
 * Records and answers
 */

MkHeldRecord *
mk_share_held_add(const MkGroup *group, MkHeldSlot *s, int64 offset,
				  const MkDelivery *delivery)
{
	MkHeldRecord *r;

	Assert(offset > mk_share_held_last_offset(s));
	Assert(mk_lock_share_slot_is_mine(s->key.group_no, s->key.topic_id,
									  s->key.partition, s->slot));
	if (s->last < 0)
	{
		mk_topic_defer_use(s->key.topic_id);
		s->use = mk_group_use(group->group_id, false);
	}
	mk_held.records = mk_array_grow(TopTransactionContext, mk_held.records,
									mk_held.nrecords, sizeof(MkHeldRecord));
	r = &mk_held.records[mk_held.nrecords];
	memset(r, 0, sizeof(*r));
	r->slot = (int) (s - mk_held.slots);
	r->before = s->last;
	r->nesting = GetCurrentTransactionNestLevel();
	r->offset = offset;
	r->delivery = *delivery;
	if (delivery->error != NULL)
		r->delivery.error =
			MemoryContextStrdup(TopTransactionContext, delivery->error);
	s->last = mk_held.nrecords++;
	return r;
}

MkHeldRecord *
mk_share_held_record(MkHeldSlot *s, int64 offset)
{
	for (int i = s->last; i >= 0; i = mk_held.records[i].before)
		if (mk_held.records[i].offset == offset)
			return &mk_held.records[i];
	return NULL;
}

MkHeldRecord *
mk_share_held_find_record(const MkShareMemory *m, int64 offset)
{
	for (int i = 0; i < mk_held.nrecords; i++)
	{
		MkHeldRecord *r = &mk_held.records[i];

		if (r->offset == offset && mk_held.slots[r->slot].memory == m)
			return r;
	}
	return NULL;
}

MkHeldSlot *
mk_share_held_slot_of(const MkHeldRecord *record)
{
	return &mk_held.slots[record->slot];
}

MkHeldRecord *
mk_share_held_before(const MkHeldRecord *record)
{
	int i = mk_held_skip_noted(record->before);

	return i >= 0 ? &mk_held.records[i] : NULL;
}

int64
mk_share_held_letters(int32 group_no)
{
	int64 letters = 0;

	for (int i = 0; i < mk_held.nrecords; i++)
		if (mk_held.records[i].answer.letter &&
			mk_held.slots[mk_held.records[i].slot].key.group_no == group_no)
			letters++;
	return letters;
}

/* Sets an answer, so that the savepoint can restore the former one. */
static void
mk_held_set_answer(MkHeldRecord *r, const MkShareAnswer *answer)
{
	int nesting = GetCurrentTransactionNestLevel();

	if (nesting > r->nesting)
	{
		MkReplaced *replaced;

		mk_held.replaced =
			mk_array_grow(TopTransactionContext, mk_held.replaced,
						  mk_held.nreplaced, sizeof(MkReplaced));
		replaced = &mk_held.replaced[mk_held.nreplaced++];
		replaced->record = (int) (r - mk_held.records);
		replaced->nesting = nesting;
		replaced->answer = r->answer;
	}
	r->answer = *answer;
}

void
mk_share_held_answer(MkHeldRecord *record, const MkShareAnswer *answer)
{
	int number = (int) (record - mk_held.records);

	Assert(answer->outcome != MK_OUTCOME_NONE);
	if (mk_answer_closes(answer))
		for (int i = mk_held.slots[record->slot].last; i > number;
			 i = mk_held.records[i].before)
		{
			MkHeldRecord *later = &mk_held.records[i];
			const MkShareAnswer release = {.outcome = MK_OUTCOME_RELEASE,
										   .until = DT_NOBEGIN,
										   .count = later->delivery.count};

			/* what was not handed out stays failed, or a dead letter */
			if (!mk_held_is_noted(later))
				mk_held_set_answer(later, &release);
		}
	mk_held_set_answer(record, answer);
}

/* ---------------------------------------------------------------------------
 * Savepoints
 */

static void
mk_held_subxact_commit(int nesting)
{
	for (int i = mk_held.nslots - 1;
		 i >= 0 && mk_held.slots[i].nesting >= nesting; i--)
		mk_held.slots[i].nesting = nesting - 1;
	for (int i = mk_held.nrecords - 1;
		 i >= 0 && mk_held.records[i].nesting >= nesting; i--)
		mk_held.records[i].nesting = nesting - 1;
	for (int i = mk_held.nreplaced - 1;
		 i >= 0 && mk_held.replaced[i].nesting >= nesting; i--)
		mk_held.replaced[i].nesting = nesting - 1;
}

/*
 * Notes the records from this number on: they are rolled back.  An error of the
 * extension itself says nothing about them, nor does one in its part of the commit.
 */
static void
mk_held_note_undone(int first)
{
	int delivered = 0;

	if (mk_xact_is_committing() || mk_errors_is_own())
		return;
	for (int i = first; i < mk_held.nrecords; i++)
		delivered += mk_held.records[i].delivered ? 1 : 0;
	for (int i = first; i < mk_held.nrecords; i++)
	{
		const MkHeldRecord *r = &mk_held.records[i];
		const MkHeldSlot *s = &mk_held.slots[r->slot];
		const MkShareUndone undone = {.catalog = s->memory->key.catalog,
									  .group_no = s->key.group_no,
									  .topic_id = s->key.topic_id,
									  .partition = s->key.partition,
									  .era = s->key.era,
									  .slot = s->slot,
									  .offset = r->offset,
									  .number = r->delivery.number,
									  .sqlstate = mk_errors_sqlstate(),
									  .failures = delivered == 1 ? 1 : 0};

		if (r->delivered)
			mk_share_undone_add(&undone);
	}
}

static void
mk_held_subxact_abort(int nesting)
{
	int first = mk_held.nrecords;

	while (mk_held.nreplaced > 0 &&
		   mk_held.replaced[mk_held.nreplaced - 1].nesting >= nesting)
	{
		const MkReplaced *r = &mk_held.replaced[--mk_held.nreplaced];

		mk_held.records[r->record].answer = r->answer;
	}
	while (first > 0 && mk_held.records[first - 1].nesting >= nesting)
		first--;
	mk_held_note_undone(first);
	while (mk_held.nrecords > first)
	{
		const MkHeldRecord *r = &mk_held.records[--mk_held.nrecords];

		mk_held.slots[r->slot].last = r->before;
		if (r->delivery.error != NULL)
			pfree(r->delivery.error);
	}
	while (mk_held.nslots > 0 &&
		   mk_held.slots[mk_held.nslots - 1].nesting >= nesting)
		mk_held_pop_slot();
}

/* ---------------------------------------------------------------------------
 * Commit
 */

/* MK121 */
static void
mk_held_unanswered(const MkHeldRecord *r)
{
	const MkHeldSlot *s = &mk_held.slots[r->slot];

	ereport(ERROR,
			(mk_errcode(ERRCODE_MK_INVALID_RECORD_STATE),
			 errmsg("record " INT64_FORMAT " in partition %d was acquired from "
					"group \"%s\" and not acknowledged",
					r->offset, s->key.partition, s->use->group_id),
			 errdetail("A transaction cannot commit before each record that it "
					   "has acquired is acknowledged."),
			 errhint("Call minikafka.acknowledge() for each record before "
					 "COMMIT; or acquire with accept => true, so that the "
					 "commit accepts them; or with lock_duration, to "
					 "acknowledge in a later transaction.")));
}

static bool
mk_held_is_empty(void)
{
	return mk_held.nrecords == 0;
}

static void
mk_held_check(void)
{
	const MkShareAnswer accept = {.outcome = MK_OUTCOME_DONE};

	for (int i = 0; i < mk_held.nrecords; i++)
	{
		MkHeldRecord *r = &mk_held.records[i];

		if (r->answer.outcome != MK_OUTCOME_NONE)
			continue;
		if (!r->accept)
			mk_held_unanswered(r);
		r->answer = accept;
	}
}

/* 42704 if the topic was dropped. */
static void
mk_held_check_topic(const MkHeldSlot *s)
{
	const int32 topic_id = s->key.topic_id;
	const MkGroup *group = s->use->group;

	/* locking a table does this, an advisory lock does not */
	AcceptInvalidationMessages();
	if (group != NULL && mk_membership_topic_by_id(group, topic_id) != NULL)
		return;
	/* the group may have another list of topics by now */
	if (mk_catalog_topic_by_id(topic_id) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("topic of records that were acquired from group "
						"\"%s\" does not exist",
						s->use->group_id),
				 errdetail("It was dropped meanwhile.")));
}

/* MK022: the locks of slots protect the records no more. */
static void
mk_held_check_slot(const MkHeldSlot *s)
{
	const MkGroup *group = s->use->group;
	MkShareCheckpoint newest;

	if (group == NULL || group->group_no != s->key.group_no)
		mk_group_share_not_found(s->use->group_id);
	if (group->version == s->version)
		return;
	if (group->share->ordering_epoch != s->ordering_epoch)
		mk_group_share_fence(s->use->group_id,
							 "The ordering was changed since the records were "
							 "acquired.");
	if (group->share->parks != s->parks)
		mk_group_share_fence(
			s->use->group_id,
			"The option on_exhausted was changed since the records "
			"were acquired.");
	(void) mk_share_checkpoint_peek(s->key.group_no, s->key.topic_id,
									s->key.partition, NULL, &newest);
	if (newest.era != s->key.era)
		mk_group_share_fence(s->use->group_id,
							 "The offsets were reset since the records were "
							 "acquired.");
}

/* Whether the check of one slot is that of the other, too. */
static bool
mk_held_is_checked_with(const MkHeldSlot *s, const MkHeldSlot *other)
{
	return s->memory == other->memory && s->version == other->version &&
		s->key.era == other->key.era &&
		s->ordering_epoch == other->ordering_epoch;
}

static void
mk_held_lock(void)
{
	const MkHeldSlot *checked = NULL;

	for (int i = 0; i < mk_held.nslots; i++)
	{
		const MkHeldSlot *s = &mk_held.slots[i];

		if (s->last < 0)
			continue;
		if (checked != NULL && mk_held_is_checked_with(s, checked))
			continue;
		if (checked == NULL || s->key.topic_id != checked->key.topic_id)
			mk_held_check_topic(s);
		mk_held_check_slot(s);
		checked = s;
	}
}

static void
mk_held_write(void)
{
	mk_share_write(mk_held.slots, mk_held.records, mk_held.nrecords);
	for (int i = 0; i < mk_held.nslots; i++)
	{
		const MkHeldSlot *s = &mk_held.slots[i];
		MkTopic *topic;

		if (s->memory->runs < MK_CHECKPOINT_RUNS || s->last < 0)
			continue;
		/* its table can be dropped by hand at any time */
		topic = mk_catalog_topic_by_id(s->key.topic_id);
		if (topic != NULL)
			mk_share_checkpoint_make(s->memory,
									 mk_log_start(topic, s->key.partition));
	}
}

/* Remembers that the records are done, and that they are not undone. */
static void
mk_held_remember(void)
{
	for (int i = 0; i < mk_held.nrecords; i++)
	{
		const MkHeldRecord *r = &mk_held.records[i];
		const MkHeldSlot *s = &mk_held.slots[r->slot];
		MkShareMemory *m = s->memory;
		MkShareSlot *slot;
		MkShareUndone *undone =
			mk_share_undone_find(m->key.catalog, s->key.group_no,
								 s->key.topic_id, s->key.partition, r->offset);

		if (undone != NULL)
			mk_share_undone_remove(undone);
		if (r->answer.outcome != MK_OUTCOME_DONE || !m->valid ||
			m->era != s->key.era)
			continue;
		slot = mk_share_memory_slot(m, s->slot, false);
		if (slot != NULL && slot->head != NULL &&
			slot->head->offset == r->offset)
		{
			mk_share_memory_pop(m, slot);
			mk_share_memory_pass_turn(m, slot);
			mk_share_memory_release(m, slot);
			m->own = GetTopTransactionIdIfAny();
		}
	}
}

static void
mk_held_end(bool committed)
{
	if (committed)
		mk_held_remember();
	else
		mk_held_note_undone(0);
	memset(&mk_held, 0, sizeof(mk_held));
}

static const MkParticipant mk_held_participant = {
	.subxact_commit = mk_held_subxact_commit,
	.subxact_abort = mk_held_subxact_abort,
	.is_empty = mk_held_is_empty,
	.check = mk_held_check,
	.lock = mk_held_lock,
	.write = mk_held_write,
	.end = mk_held_end,
};

void
mk_share_held_init(void)
{
	mk_xact_add_participant(&mk_held_participant);
}
