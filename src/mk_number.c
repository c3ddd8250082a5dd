/*
 * mk_number.c
 *		Numbers from the extension's sequences.
 *
 * No number is used twice: a sequence that is behind the numbers in the tables,
 * as after a logical copy, is advanced past them first.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "mk_lock.h"
#include "mk_number.h"
#include "mk_rows.h"

/*
 * Where the numbers of the sequences are stored: in the first or the second
 * column of an index.  These include tables that may have rows about an object
 * after the object itself is gone.  (The numbers of members in group_assignment
 * and group_progress are left out: they are valid only with the generation of
 * the group, which never comes again.)
 */
static const struct
{
	MkRelation sequence;
	MkRelation rel;
	MkRelation index;
	int column; /* of the index, 1 or 2 */
} mk_bearers[] = {
	{MK_REL_TOPIC_ID_SEQ, MK_REL_TOPIC, MK_REL_TOPIC_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_COMPACTION, MK_REL_COMPACTION_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SETTLED, MK_REL_SETTLED_IDX, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_REDRIVEN, MK_REL_REDRIVEN_PKEY, 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_LETTER_IDX,
	 1},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY,
	 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY, 2},
	{MK_REL_TOPIC_ID_SEQ, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY, 2},
	{MK_REL_GROUP_NO_SEQ, MK_REL_GROUP, MK_REL_GROUP_NO_KEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_GRANT, MK_REL_GRANT_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_MEMBER, MK_REL_MEMBER_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_ASSIGNMENT, MK_REL_ASSIGNMENT_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_PROGRESS, MK_REL_PROGRESS_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_GROUP, MK_REL_SHARE_GROUP_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_TOPIC, MK_REL_SHARE_TOPIC_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_CHECKPOINT, MK_REL_SHARE_CHECKPOINT_PKEY,
	 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_DONE, MK_REL_SHARE_DONE_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_DELIVERY, MK_REL_SHARE_DELIVERY_PKEY, 1},
	{MK_REL_GROUP_NO_SEQ, MK_REL_SHARE_PARKED, MK_REL_SHARE_PARKED_PKEY, 1},
	{MK_REL_MEMBER_NO_SEQ, MK_REL_MEMBER, MK_REL_MEMBER_NO_KEY, 1},
	{MK_REL_MEMBER_NO_SEQ, MK_REL_HEARTBEAT, MK_REL_HEARTBEAT_IDX, 1},
	{MK_REL_PRODUCER_ID_SEQ, MK_REL_PRODUCER, MK_REL_PRODUCER_ID_KEY, 1},
	{MK_REL_PRODUCER_ID_SEQ, MK_REL_PRODUCED, MK_REL_PRODUCED_PKEY, 1},
	{MK_REL_CONSUMER_NO_SEQ, MK_REL_INBOX_CONSUMER, MK_REL_CONSUMER_NO_KEY, 1},
	{MK_REL_CONSUMER_NO_SEQ, MK_REL_INBOX, MK_REL_INBOX_PKEY, 1},
	{MK_REL_SCHEDULED_ID_SEQ, MK_REL_SCHEDULED, MK_REL_SCHEDULED_PKEY, 1},
};

static const MkRelation mk_sequences[] = {
	MK_REL_TOPIC_ID_SEQ,    MK_REL_GROUP_NO_SEQ,    MK_REL_MEMBER_NO_SEQ,
	MK_REL_PRODUCER_ID_SEQ, MK_REL_CONSUMER_NO_SEQ, MK_REL_SCHEDULED_ID_SEQ};

/* mk_relation_load_count() when mk_number_catch_up() last looked, 0 if never. */
static uint64 mk_checked = 0;

/* The last number that a sequence returned, 0 if there is none. */
static int64
mk_number_last(MkRelation sequence)
{
	Relation rel = table_open(mk_relation_oid(sequence), AccessShareLock);
	SysScanDesc scan =
		systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple tuple = systable_getnext(scan);
	Form_pg_sequence_data data;
	int64 last = 0;

	if (HeapTupleIsValid(tuple))
	{
		data = (Form_pg_sequence_data) GETSTRUCT(tuple);
		last = data->last_value - (data->is_called ? 0 : 1);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return last;
}

/*
 * The greatest number of a sequence in any row, 0 if there is none.  Includes
 * rows of transactions that are still in progress.  Looks once at each index
 * whose first column has the number.  With "thorough", also looks at the
 * indexes whose second column has it, once for each value of the first column.
 */
static int64
mk_number_greatest(MkRelation sequence, bool thorough)
{
	SnapshotData dirty;
	int64 greatest = 0;

	InitDirtySnapshot(dirty);
	for (int i = 0; i < (int) lengthof(mk_bearers); i++)
	{
		MkRelation rel = mk_bearers[i].rel;
		MkRelation index = mk_bearers[i].index;
		int64 found;
		ListCell *lc;

		if (mk_bearers[i].sequence != sequence)
			continue;
		if (mk_bearers[i].column == 1)
		{
			if (mk_rows_greatest(rel, index, 0, NULL, &dirty, &found))
				greatest = Max(greatest, found);
			continue;
		}
		if (!thorough)
			continue;
		foreach (lc, mk_rows_values(rel, index, 0, NULL, &dirty))
		{
			const int32 first = lfirst_int(lc);

			if (mk_rows_greatest(rel, index, 1, &first, &dirty, &found))
				greatest = Max(greatest, found);
		}
	}
	return greatest;
}

/* Sets a sequence, as its owner, because the user does not have the right. */
static void
mk_number_set_last(MkRelation sequence, int64 last)
{
	Oid relid = mk_relation_oid(sequence);
	Relation rel = relation_open(relid, AccessShareLock);
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(rel->rd_rel->relowner,
						   context | SECURITY_LOCAL_USERID_CHANGE);
	relation_close(rel, AccessShareLock);
	(void) DirectFunctionCall2(setval_oid, ObjectIdGetDatum(relid),
							   Int64GetDatum(last));
	SetUserIdAndSecContext(user, context);
}

/*
 * A session may have taken a number from the sequence without having written
 * its row yet.  The sequence only advances, so other sessions get later
 * numbers.  To ensure this, no other session takes a number between the look
 * at the tables and the change of the sequence: that is what the lock is for.
 * A thorough look is needed only if the sequence is at its beginning, or is
 * behind.  Otherwise the rows that only a thorough look finds were removed
 * with their object.
 */
int32
mk_number_next(MkRelation sequence)
{
	Oid relid = mk_relation_oid(sequence);
	int64 greatest;
	int64 next;

	mk_lock_numbers(sequence, true);
	next = nextval_internal(relid, false);
	greatest = mk_number_greatest(sequence, false);
	if (next == 1 || next <= greatest)
		greatest = mk_number_greatest(sequence, true);
	if (next <= greatest)
	{
		mk_number_set_last(sequence, greatest);
		next = nextval_internal(relid, false);
	}
	mk_lock_numbers_release(sequence, true);
	return (int32) next;
}

/* Whether a scheduled record has this id, or will if a transaction commits. */
static bool
mk_number_is_scheduled(int64 id)
{
	SnapshotData dirty;
	ScanKeyData key;
	MkRows rows;
	bool found;

	InitDirtySnapshot(dirty);
	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(id));
	mk_rows_begin_keys(&rows, MK_REL_SCHEDULED, MK_REL_SCHEDULED_PKEY, &dirty,
					   1, &key);
	found = mk_rows_next(&rows, ForwardScanDirection) != NULL;
	mk_rows_end(&rows);
	return found;
}

/*
 * Records are scheduled often, and are sent about in the order of their ids.  So
 * the greatest id may be behind many rows that are gone, and is looked for only
 * if the sequence turns out to be behind.  Until then sessions share the lock.
 */
int64
mk_number_next_scheduled(void)
{
	const MkRelation sequence = MK_REL_SCHEDULED_ID_SEQ;
	Oid relid = mk_relation_oid(sequence);
	int64 next;
	int64 greatest;

	mk_lock_numbers(sequence, false);
	next = nextval_internal(relid, false);
	mk_lock_numbers_release(sequence, false);
	if (next > 1 && !mk_number_is_scheduled(next))
		return next;
	mk_lock_numbers(sequence, true);
	greatest = mk_number_greatest(sequence, true);
	if (next <= greatest)
	{
		if (mk_number_last(sequence) < greatest)
			mk_number_set_last(sequence, greatest);
		next = nextval_internal(relid, false);
	}
	mk_lock_numbers_release(sequence, true);
	return next;
}

bool
mk_number_is_unset(void)
{
	bool borne = false;

	for (int i = 0; i < (int) lengthof(mk_sequences); i++)
	{
		if (mk_number_last(mk_sequences[i]) > 0)
			return false;
		borne = borne || mk_number_greatest(mk_sequences[i], true) > 0;
	}
	return borne;
}

void
mk_number_catch_up(void)
{
	uint64 load_count = mk_relation_load_count();

	if (likely(mk_checked == load_count))
		return;
	/* usually one look: the sequence of topics is in use */
	if (mk_number_last(MK_REL_TOPIC_ID_SEQ) == 0 && mk_number_is_unset())
		for (int i = 0; i < (int) lengthof(mk_sequences); i++)
		{
			MkRelation sequence = mk_sequences[i];
			int64 greatest;

			mk_lock_numbers(sequence, true);
			greatest = mk_number_greatest(sequence, true);
			if (greatest > mk_number_last(sequence))
				mk_number_set_last(sequence, greatest);
			mk_lock_numbers_release(sequence, true);
		}
	mk_checked = load_count;
}
