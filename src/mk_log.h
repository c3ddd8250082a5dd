/*
 * mk_log.h
 *		The log of a partition: its end, reading it, appending to it.
 */
#ifndef MK_LOG_H
#define MK_LOG_H

#include "datatype/timestamp.h"
#include "utils/snapshot.h"

#include "mk_append.h"
#include "mk_catalog.h"
#include "mk_scan.h"
#include "mk_segment_make.h"

/* ---------------------------------------------------------------------------
 * Appending: the caller holds mk_lock_sequence
 */

typedef struct MkTail
{
	int64 next_offset;
	TimestampTz ts; /* of the last record, DT_NOBEGIN if none */

	/* the segment of the last record, while it is open */
	bool is_open;
	int64 segment_number;
	MkSegment segment;
} MkTail;

/*
 * Where the next record goes: past every row that is there, also those of
 * transactions that are still committing, and not below the log start.  Leaves
 * a segment open, for mk_log_append_begin or mk_log_tail_close.
 */
extern void mk_log_tail(const MkTopic *topic, int32 partition, MkTail *tail);
extern void mk_log_tail_close(MkTail *tail);

/* Only the offset, for a caller that need not hold the lock. */
extern int64 mk_log_next_offset(const MkTopic *topic, int32 partition);

/*
 * Whether the log has no record, but for such as are undecided.  Costs nothing
 * where this backend has seen one.
 */
extern bool mk_log_is_empty(const MkTopic *topic, int32 partition);

/*
 * Whether the newest segment has no record: it was made ahead, or its records
 * are lost.
 */
extern bool mk_log_newest_is_empty(const MkTopic *topic, int32 partition);

/*
 * Sees to it that there are segments for n records at the tail.
 * True if it made one, which nobody else can see before this transaction has
 * ended: then keep the sequencing lock to the end.
 */
extern bool
mk_log_reserve(const MkTopic *topic, int32 partition, MkTail *tail, int64 n);

/*
 * Makes the next segment ahead of need, if the offset last lies in the second
 * half of the newest one and nobody else is at it.  Where others wait for the
 * caller, "how" is MK_MAKE_IN_PASSING.
 */
extern void mk_log_make_ahead(const MkTopic *topic, int32 partition, int64 last,
							  MkMake how);

/*
 * Begins to append at the tail, and closes it.  ts is the time of all records,
 * raised to the tail's.  See mk_append_begin.
 */
extern MkAppender *
mk_log_append_begin(const MkTopic *topic, int32 partition, MkTail *tail,
					TimestampTz ts, MkContract *contract);

/* ---------------------------------------------------------------------------
 * Reading
 */

/*
 * Gets each record; the values live until it returns.  False to stop before
 * this record.
 */
typedef bool (*MkLogSink)(const MkLogRecord *record, void *arg);

/* The log start: the first offset that can be read, if there is a record. */
extern int64 mk_log_start(const MkTopic *topic, int32 partition);

/*
 * The end: the first undecided offset.  Where nothing is committing, the
 * tail.  Constant time then; else it looks at the records in flight.
 */
extern int64 mk_log_end(const MkTopic *topic, int32 partition);

/* The time of the last record that is there, DT_NOBEGIN if there is none. */
extern TimestampTz mk_log_last_time(const MkTopic *topic, int32 partition);

/*
 * Hands the decided records from "start" on to the sink, in order and without
 * a gap but for holes: at most max_records, and after the first at most
 * max_bytes of keys, values and headers.  Stops at the first undecided record
 * and at the first that the snapshot does not see.  Raises MK001 when start
 * lies outside the log, except for a start beyond the end on a standby, which
 * may lag behind what its reader has seen elsewhere.
 */
extern void mk_log_read(const MkTopic *topic, int32 partition, int64 start,
						int64 max_records, int64 max_bytes, Snapshot snapshot,
						MkLogSink sink, void *arg);

/* The same, but false instead of MK001. */
extern bool mk_log_try_read(const MkTopic *topic, int32 partition, int64 start,
							int64 max_records, int64 max_bytes,
							Snapshot snapshot, MkLogSink sink, void *arg);

/*
 * Hands the record of this offset to the sink; false if it is not there any more,
 * or not decided.
 */
extern bool mk_log_get(const MkTopic *topic, int32 partition, int64 offset,
					   MkLogSink sink, void *arg);

/*
 * The time of the first record at or after offset that mk_log_read would hand
 * out; false if there is none.
 */
extern bool mk_log_time(const MkTopic *topic, int32 partition, int64 offset,
						Snapshot snapshot, int64 *found, TimestampTz *ts);

/*
 * The first record of a time at or after "oldest", of all below the end, which
 * was read before; the end if there is none.
 */
extern int64 mk_log_since(const MkTopic *topic, int32 partition,
						  TimestampTz oldest, int64 end);

/* The first record of a time at or after ts that the snapshot sees, or -1. */
extern int64 mk_log_offset_for_time(const MkTopic *topic, int32 partition,
									TimestampTz ts, Snapshot snapshot);

#endif /* MK_LOG_H */
