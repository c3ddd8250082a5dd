/*
 * mk_share_rows.h
 *		Rows of share groups: what is done, and deliveries that did not end well.
 *
 * All of it only grows.  The state of a partition begins at a checkpoint: below
 * its "high" every record is done, except those that it lists.  Runs add what was
 * done since.  A run is never removed while the start offset of the newest
 * checkpoint that any snapshot of the database still needs is not above it.  So
 * the newest checkpoint that a snapshot sees, and the runs from its start offset
 * on, are everything, for as long as the snapshot is held.
 *
 * A reset begins a new era of a partition.  The rows of former eras mean nothing.
 */
#ifndef MK_SHARE_ROWS_H
#define MK_SHARE_ROWS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "mk_rows.h"

/* A partition of a share group, in an era. */
typedef struct MkShareKey
{
	int32 group_no;
	int32 topic_id;
	int32 partition;
	int32 era;
} MkShareKey;

/* The columns with the era, and with the last offset of a run, or a delivery's */
#define MK_SHARE_ANUM_ERA    4
#define MK_SHARE_ANUM_OFFSET 5

/* Begins a scan of all committed runs, or deliveries, of an era; by offset. */
extern void mk_share_begin_rows(MkRows *rows, MkRelation rel, MkRelation index,
								const MkShareKey *key);

/* The same for runs that end at "from" or later, or deliveries of such records. */
extern void
mk_share_begin_rows_at(MkRows *rows, MkRelation rel, MkRelation index,
					   const MkShareKey *key, int64 from);

/* ---------------------------------------------------------------------------
 * Runs: offsets from "first" to "last", all of which are done
 */

typedef struct MkShareRun
{
	int64 first;
	int64 last;
	TransactionId xid; /* that wrote it, perhaps this one's; Frozen... if old */
} MkShareRun;

/* A scan of the committed runs that end at "from" or later, ascending. */
typedef struct MkShareRuns
{
	MkRows rows;
} MkShareRuns;

/* Sets *run to the current row of a scan. */
extern void
mk_share_run_read(const MkRows *rows, HeapTuple tuple, MkShareRun *run);

extern void
mk_share_runs_begin(MkShareRuns *runs, const MkShareKey *key, int64 from);
extern bool mk_share_runs_next(MkShareRuns *runs, MkShareRun *run);
extern void mk_share_runs_end(MkShareRuns *runs);

/* The committed run that has this offset; false if there is none. */
extern bool
mk_share_run_find(const MkShareKey *key, int64 offset, MkShareRun *run);

/* The caller holds the lock of the slot of each of the run's records. */
extern void mk_share_run_put(const MkShareKey *key, int64 first, int64 last);

/* ---------------------------------------------------------------------------
 * Checkpoints
 */

/* How many exceptions a checkpoint can have */
#define MK_SHARE_MAX_EXCEPTIONS 20000

/* A record that is not done, or was not when the checkpoint was made */
typedef struct MkShareException
{
	int64 offset;
	uint32 slot;
} MkShareException;

typedef struct MkShareCheckpoint
{
	int64 number; /* 0 if there is none: all is 0 then */
	int32 era;
	int64 high;
	int64 start; /* all below it is done; only of a checkpoint that was read */
	int64
		lost; /* records that it counts as done, and that were not; mk_share_lost.h */
	int nexceptions;
	MkShareException *exceptions; /* by offset; palloc'd, NULL if none */
} MkShareCheckpoint;

/*
 * The newest checkpoint that the snapshot sees (NULL: the newest of all), whatever
 * its era.  False, with era and high 0, if there is none.
 */
extern bool
mk_share_checkpoint_get(int32 group_no, int32 topic_id, int32 partition,
						Snapshot snapshot, MkShareCheckpoint *checkpoint);

/*
 * The same without exceptions, as if there were none, which costs nothing for a
 * long list.  "start" is set all the same.
 */
extern bool
mk_share_checkpoint_peek(int32 group_no, int32 topic_id, int32 partition,
						 Snapshot snapshot, MkShareCheckpoint *checkpoint);

/* Only its number, 0 if there is none. */
extern int64 mk_share_checkpoint_number(int32 group_no, int32 topic_id,
										int32 partition, Snapshot snapshot);

/*
 * The oldest checkpoint, if every snapshot of the database sees it; otherwise
 * false, as if there were none.  So each snapshot sees this one or a newer one.
 * After mk_share_clean() it is the newest one of which that is true.
 */
extern bool
mk_share_checkpoint_settled(int32 group_no, int32 topic_id, int32 partition,
							MkShareCheckpoint *checkpoint);

/*
 * Adds the checkpoint that comes after the one with checkpoint->number, and sets
 * that.  The caller holds the group's lock exclusively; or shared, and then
 * mk_lock_share_checkpoint too.  It has read that number under the lock.
 */
extern void
mk_share_checkpoint_put(int32 group_no, int32 topic_id, int32 partition,
						MkShareCheckpoint *checkpoint);

/*
 * The start offset: all below it is done.  And whether the checkpoint counts a
 * record as done.
 */
extern int64 mk_share_checkpoint_start(const MkShareCheckpoint *checkpoint);
extern bool
mk_share_checkpoint_is_done(const MkShareCheckpoint *checkpoint, int64 offset);

/*
 * The start offset of a partition now: that of its newest checkpoint, moved on by the
 * runs since then.
 */
extern int64
mk_share_start_offset(int32 group_no, int32 topic_id, int32 partition);

/* ---------------------------------------------------------------------------
 * Deliveries.  A record that was accepted at the first try in a transaction has no
 * row.
 */

typedef enum MkDeliveryState
{
	MK_DELIVERY_NONE, /* no row */
	MK_DELIVERY_LOCKED, /* under an acquisition lock, to "until" */
	MK_DELIVERY_RELEASED, /* available from "until" on; not counted */
	MK_DELIVERY_FAILED, /* to be tried again from "until" on */
	MK_DELIVERY_BLOCKED /* exhausted: waits for a person */
} MkDeliveryState;

typedef struct MkDelivery
{
	int64 offset;
	int64 number; /* of the row; 0: none */
	int64 acquisition; /* grows with each acquisition under a lock */
	MkDeliveryState state;
	int32 count; /* of deliveries; if locked, with the present one */
	uint32 slot;
	TimestampTz until; /* DT_NOBEGIN: at once */
	TimestampTz at; /* when the row was made */
	char *error; /* NULL: none; palloc'd */
	TransactionId xid; /* that wrote the row */
} MkDelivery;

/* The name of a state, as in the catalog; "" for MK_DELIVERY_NONE. */
extern const char *mk_delivery_state_name(MkDeliveryState state);

/* Sets *delivery as if there were no row about the record. */
extern void mk_delivery_none(int64 offset, MkDelivery *delivery);

/* Sets *delivery to the current row of a scan. */
extern void
mk_delivery_read(const MkRows *rows, HeapTuple tuple, MkDelivery *delivery);

/* Whether the record waits for a time or a person. */
extern bool mk_delivery_waits(const MkDelivery *delivery, TimestampTz now);

/*
 * The newest committed row about a record; false, as mk_delivery_none() sets it, if
 * there is none.  Rows about records that are done may be
 * gone: look first whether the record is done.
 */
extern bool
mk_delivery_get(const MkShareKey *key, int64 offset, MkDelivery *delivery);

/*
 * Adds the row that comes after the one with delivery->number, and sets that and
 * the time of the row.  The caller holds the lock of the record's slot.
 */
extern void mk_delivery_put(const MkShareKey *key, MkDelivery *delivery);

/*
 * Calls the sink with the newest row that the snapshot sees (NULL: of all) of each
 * record from "from" on, ascending, until the sink returns false.  Some of these
 * records may be done.  The row's error is freed after the call.
 */
typedef bool (*MkDeliverySink)(const MkDelivery *delivery, void *arg);
extern void mk_delivery_scan(const MkShareKey *key, int64 from,
							 Snapshot snapshot, MkDeliverySink sink, void *arg);

/* ---------------------------------------------------------------------------
 * Removing rows
 */

/* Removes all rows of a topic, or of a group. */
extern void mk_share_rows_delete_topic(int32 topic_id);
extern void mk_share_rows_delete_group(int32 group_no);

/*
 * The numbers of the share groups that have rows, of the topics in which a group has
 * some, and of their partitions, ascending.
 */
extern List *mk_share_rows_groups(Snapshot snapshot);
extern List *mk_share_rows_topics(int32 group_no, Snapshot snapshot);
extern List *
mk_share_rows_partitions(int32 group_no, int32 topic_id, Snapshot snapshot);

#endif /* MK_SHARE_ROWS_H */
