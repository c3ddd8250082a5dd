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
 * Finds where the next record goes: after every existing row, including those
 * of transactions that are still committing, and not below the log start.  May
 * leave a segment open; mk_log_append_begin or mk_log_tail_close closes it.
 */
extern void mk_log_tail(const MkTopic *topic, int32 partition, MkTail *tail);
extern void mk_log_tail_close(MkTail *tail);

/* Returns only the offset; the caller need not hold the lock. */
extern int64 mk_log_next_offset(const MkTopic *topic, int32 partition);

/*
 * Whether the log has no decided record.  Costs nothing if this backend has
 * already seen one.
 */
extern bool mk_log_is_empty(const MkTopic *topic, int32 partition);

/*
 * Whether the newest segment has no decided record: it was made ahead, or its
 * records are lost.
 */
extern bool mk_log_newest_is_empty(const MkTopic *topic, int32 partition);

/*
 * Makes those segments that n records at the tail need and that do not exist.
 * Returns true if it made one.  Other sessions cannot see that segment before
 * this transaction ends, so the caller then keeps the sequencing lock to the
 * end.
 */
extern bool
mk_log_reserve(const MkTopic *topic, int32 partition, MkTail *tail, int64 n);

/*
 * Makes the next segment before it is needed, if the offset "last" lies in the
 * second half of the newest segment and no other session is making it.  "how"
 * is MK_MAKE_IN_PASSING if other sessions wait for the caller.
 */
extern void mk_log_make_ahead(const MkTopic *topic, int32 partition, int64 last,
							  MkMake how);

/*
 * Begins to append at the tail, and closes the tail.  All records get the time
 * ts, or the time of the last record if that is later.  See mk_append_begin.
 */
extern MkAppender *
mk_log_append_begin(const MkTopic *topic, int32 partition, MkTail *tail,
					TimestampTz ts, MkContract *contract);

/* ---------------------------------------------------------------------------
 * Reading
 */

/*
 * Receives one record, whose values live until the sink returns.  The sink
 * returns false to stop before this record.
 */
typedef bool (*MkLogSink)(const MkLogRecord *record, void *arg);

/*
 * The log start: the lowest offset that can be read.  It need not have a
 * record.
 */
extern int64 mk_log_start(const MkTopic *topic, int32 partition);

/*
 * The end: the first undecided offset, or the tail if no transaction is
 * committing.  Takes constant time in the second case; otherwise it looks at
 * the records in flight.
 */
extern int64 mk_log_end(const MkTopic *topic, int32 partition);

/* The time of the last row, decided or not; DT_NOBEGIN if there is none. */
extern TimestampTz mk_log_last_time(const MkTopic *topic, int32 partition);

/*
 * Passes the decided records from "start" on to the sink, in order and without
 * a gap except for holes: at most max_records, with at most max_bytes of keys,
 * values and headers, but the first record whatever its size.  Stops at the
 * first undecided record, and at the first that the snapshot does not see.
 * Raises MK001 if start lies outside the log, except for a start beyond the
 * end on a standby, which may lag behind what its reader has seen elsewhere.
 */
extern void mk_log_read(const MkTopic *topic, int32 partition, int64 start,
						int64 max_records, int64 max_bytes, Snapshot snapshot,
						MkLogSink sink, void *arg);

/* The same, but returns false instead of raising MK001. */
extern bool mk_log_try_read(const MkTopic *topic, int32 partition, int64 start,
							int64 max_records, int64 max_bytes,
							Snapshot snapshot, MkLogSink sink, void *arg);

/*
 * The same without fetching values that are stored out of line, for a sink that
 * passes over most records: it calls mk_scan_keep() itself where it needs them.
 */
extern bool mk_log_try_look(const MkTopic *topic, int32 partition, int64 start,
							Snapshot snapshot, MkLogSink sink, void *arg);

/*
 * Passes the record at this offset to the sink.  Returns false if the record
 * no longer exists or is not decided.
 */
extern bool mk_log_get(const MkTopic *topic, int32 partition, int64 offset,
					   MkLogSink sink, void *arg);

/*
 * Sets *found and *ts to the offset and the time of the first record at or
 * after "offset" that mk_log_read would pass to a sink.  Returns false if
 * there is none.
 */
extern bool mk_log_time(const MkTopic *topic, int32 partition, int64 offset,
						Snapshot snapshot, int64 *found, TimestampTz *ts);

/*
 * The offset of the first record below "end" whose time is "oldest" or later,
 * or "end" if there is none.  The caller read "end" before.
 */
extern int64 mk_log_since(const MkTopic *topic, int32 partition,
						  TimestampTz oldest, int64 end);

/*
 * The offset of the first record that the snapshot sees whose time is ts or
 * later, or -1 if there is none.
 */
extern int64 mk_log_offset_for_time(const MkTopic *topic, int32 partition,
									TimestampTz ts, Snapshot snapshot);

#endif /* MK_LOG_H */
