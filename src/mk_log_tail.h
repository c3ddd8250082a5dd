/*
 * mk_log_tail.h
 *		Finding the tail of a partition.
 */
#ifndef MK_LOG_TAIL_H
#define MK_LOG_TAIL_H

#include "datatype/timestamp.h"
#include "storage/block.h"

#include "mk_append.h"
#include "mk_catalog.h"
#include "mk_segment.h"

typedef struct MkTail
{
	int64 next_offset;
	TimestampTz ts; /* of the last record, DT_NOBEGIN if none */

	/* the segment of the last record, while it is open */
	bool is_open;
	int64 segment_number;
	MkSegment segment;

	/* a hint where the primary key ends, in this file of it */
	uint32 file;
	BlockNumber leaf;
} MkTail;

/*
 * Finds where the next record goes: after every existing row, including those
 * of transactions that are still committing, and not below the log start.  May
 * leave a segment open; mk_log_append_start or mk_log_tail_close closes it.  The
 * caller holds mk_lock_sequence.  The appender, which may be NULL, may have a
 * segment open that then need not be opened.
 */
extern void mk_log_tail(const MkTopic *topic, int32 partition,
						const MkAppender *appender, MkTail *tail);
extern void mk_log_tail_close(MkTail *tail);

/* Returns only the offset; the caller need not hold the lock. */
extern int64 mk_log_next_offset(const MkTopic *topic, int32 partition);

/* The time of the last row, decided or not; DT_NOBEGIN if there is none. */
extern TimestampTz mk_log_last_time(const MkTopic *topic, int32 partition);

#endif /* MK_LOG_TAIL_H */
