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
#include "mk_log_tail.h"
#include "mk_scan.h"
#include "mk_segment_make.h"

/* ---------------------------------------------------------------------------
 * Appending: the caller holds mk_lock_sequence
 */

/*
 * Makes those segments that n records at the tail need and that do not exist.
 * Returns true if it made one.  Other sessions cannot see that segment before
 * this transaction ends, so the caller then keeps the sequencing lock to the
 * end.
 */
extern bool mk_log_reserve(const MkTopic *topic, int32 partition,
						   MkAppender *appender, MkTail *tail, int64 n);

/*
 * Makes the next segment before it is needed, if the offset "last" lies in the
 * second half of the newest segment and no other session is making it.  "how"
 * is MK_MAKE_IN_PASSING if other sessions wait for the caller.
 */
extern void mk_log_make_ahead(const MkTopic *topic, int32 partition, int64 last,
							  MkMake how);

/*
 * Before the caller holds the lock: opens the segment that the records will probably
 * go to.  mk_append_close_ahead() closes it.
 */
extern void mk_log_append_ahead(const MkTopic *topic, int32 partition,
								MkAppender *appender);

/*
 * Begins to append at the tail, and closes the tail.  All records get the time
 * ts, or the time of the last record if that is later.  If the transaction fails
 * from now on, nothing is known of the tail any more.
 */
extern void
mk_log_append_start(const MkTopic *topic, int32 partition, MkAppender *appender,
					MkTail *tail, TimestampTz ts);

/*
 * All records have been appended: other sessions may know the tail.  The caller
 * has not released the lock since.
 */
extern void mk_log_append_done(const MkTopic *topic, int32 partition,
							   const MkAppender *appender, const MkTail *tail);

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
 * The end: the first offset that is not decided, below which no record comes any
 * more; see mk_end.c.  Takes constant time if no transaction is committing;
 * otherwise it looks at the records in flight.
 */
extern int64 mk_log_end(const MkTopic *topic, int32 partition);

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
 * Passes the record at this offset to the sink, if that is not NULL.  Returns false
 * if the record no longer exists or is not decided.
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
