/*
 * mk_schedule_rows.h
 *		Rows of scheduled records, and where a look for those that are due begins.
 */
#ifndef MK_SCHEDULE_ROWS_H
#define MK_SCHEDULE_ROWS_H

#include "c.h"
#include "datatype/timestamp.h"

#include "mk_record.h"

/* A scheduled record. */
typedef struct MkScheduled
{
	int64 id;
	int32 topic_id;
	TimestampTz at; /* when it is to be sent */
	TimestampTz due; /* when it is tried next */
	NameData scheduled_by; /* a role */
	TimestampTz scheduled_at;
	int32 attempts; /* that have failed */
	const char *error; /* of the last one, NULL for none */
	MkRecord record;
} MkScheduled;

/* Inserts a row. */
extern void mk_schedule_rows_insert(const MkScheduled *scheduled);

/*
 * The row of this id, as it is now; false if there is none.  All is palloc'd.
 */
extern bool mk_schedule_rows_get(int64 id, MkScheduled *scheduled);

/*
 * Removes the row of this id, as the transaction's own or a later one will see it:
 * false if there is none, or if another transaction is removing it.  Never waits.
 */
extern bool mk_schedule_rows_remove(int64 id);

/*
 * Removes all rows of a topic.  Never waits: a row that another transaction is
 * removing stays if that rolls back.
 */
extern void mk_schedule_rows_delete_topic(int32 topic_id);

/*
 * A look: takes the records that are due from their table, in the order of "due",
 * "at" and id, and calls the sink with each, whose memory lasts for the call.  Leaves
 * out the rows that another transaction is removing.  The caller holds
 * mk_lock_delivery_try.
 */
typedef void (*MkScheduledSink)(MkScheduled *scheduled, void *arg);

typedef struct MkScheduleLook
{
	TimestampTz now; /* what is due by then */
	int64 max_records;
	int64 max_bytes; /* of keys and values; but at least a record */
	MkScheduledSink sink;
	void *arg;

	/* the result */
	int64 taken;
	TimestampTz
		next; /* when the first record is due that is left, or DT_NOEND */
	bool is_far; /* the way to the first record was long */
} MkScheduleLook;

extern void mk_schedule_rows_look(MkScheduleLook *look);

/*
 * Where looks begin: no row is due earlier, except those whose transactions are
 * committing.  The epoch is 0 if nothing is stored.
 */
typedef struct MkScheduleStart
{
	int64 epoch;
	TimestampTz due;
} MkScheduleStart;

extern void mk_schedule_rows_start(MkScheduleStart *start);

/*
 * Moves the start down, for a row that is due before it.  The caller holds
 * mk_lock_schedule since before it has read the start.
 */
extern void
mk_schedule_rows_start_lower(const MkScheduleStart *start, TimestampTz due);

/*
 * Moves the start up to the first row, or to the time now if there is none.  The
 * caller holds mk_lock_schedule_move_try and mk_lock_delivery_try.
 */
extern void mk_schedule_rows_start_raise(TimestampTz now);

#endif /* MK_SCHEDULE_ROWS_H */
