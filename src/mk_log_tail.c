/*
 * mk_log_tail.c
 *		Finding the tail of a partition.
 *
 * Looking for it takes about as long as writing a record.  So with shared memory
 * sessions remember it, in mk_tail.c.  What is remembered is used only if the
 * primary key still ends with the record that was the last one, and nothing is in a
 * later segment; to see that takes the look at a page that the next index entry
 * goes to anyway.  So rows that something else has written, as a restore does, are
 * never passed by.
 *
 * A remembered tail must not be too high either: that would leave a hole.  It is
 * when the last rows are gone, but their keys are still there: mk_tail.c says who
 * takes care of that.  If the log start has passed the last record, its time does
 * not count any more, whether its row is still there or not.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_append.h"
#include "mk_compat.h"
#include "mk_last_key.h"
#include "mk_lock.h"
#include "mk_log_tail.h"
#include "mk_partition.h"
#include "mk_scan.h"
#include "mk_tail.h"

/*
 * Looks for the last row at or after "from".  Segments made ahead have no rows;
 * as a rule there is at most one such segment.
 */
static bool
mk_log_last_row(const MkTopic *topic, int32 partition, MkPartition *p,
				int64 from, MkTail *tail)
{
	for (int64 segment = p->newest_segment;
		 segment >= from / topic->segment_records; segment--)
	{
		MkScan s;

		if (!mk_partition_scan(&s, topic, partition, p, segment,
							   RowExclusiveLock, from, PG_INT64_MAX))
		{
			mk_partition_check_dropped(topic, partition, segment);
			return false;
		}
		if (mk_scan_next(&s, BackwardScanDirection))
		{
			tail->next_offset = s.offset + 1;
			tail->ts = DatumGetTimestampTz(mk_scan_column(&s, Anum_record_ts));
			tail->segment_number = segment;
			tail->is_open = true;
			mk_scan_end_open(&s);
			tail->segment = s.segment;
			return true;
		}
		mk_scan_end(&s);
	}
	return false;
}

/* Looks for the tail in the tables. */
static void
mk_log_find_tail(const MkTopic *topic, int32 partition, MkTail *tail)
{
	MkPartition *p = mk_partition_fresh(topic, partition);
	int64 guess = Max(p->log_start, p->tail - 1);

	tail->next_offset = 0;
	tail->ts = DT_NOBEGIN;
	tail->is_open = false;
	tail->file = 0;
	tail->leaf = InvalidBlockNumber;

	/*
	 * If there is a row at or after the guess, the last such row is the last
	 * of all.  A scan from where the last row was before need not read a page
	 * of keys.
	 */
	if (!mk_log_last_row(topic, partition, p, guess, tail) &&
		guess > p->log_start)
		(void) mk_log_last_row(topic, partition, p, p->log_start, tail);
	p->tail = tail->next_offset;

	/*
	 * Read the log start after the rows: it moves in an earlier transaction
	 * than the one that removes rows.
	 */
	mk_partition_refresh(topic, partition, p);
	tail->next_offset = Max(tail->next_offset, p->log_start);
}

/*
 * Whether the primary key of the segment ends with the record that is known to be
 * the last one.  If not, something else has written into the table.
 */
static bool
mk_log_is_last(MkKnownTail *known, const MkSegment *segment)
{
	int64 key;

	return mk_relation_file(segment->pkey) == known->file &&
		mk_last_key(segment->pkey, &known->leaf, &key) &&
		key == known->next_offset - 1;
}

/*
 * Sets *tail to what is known of the tail; false if nothing is, or if that does
 * not go with the tables.  Opens no table that the appender, which may be NULL,
 * has open.
 */
static bool
mk_log_known_tail(const MkTopic *topic, int32 partition,
				  const MkAppender *appender, MkTail *tail)
{
	MkPartition *p = mk_partition_get(topic, partition);
	MkKnownTail known;
	int64 number;
	int64 ahead = p->blank_ahead;
	const MkSegment *segment = NULL;

	Assert(mk_lock_sequence_is_mine(topic->topic_id, partition));
	p->blank_ahead = 0;
	if (!mk_tail_get(topic->relid, partition, &known))
		return false;
	mk_partition_refresh(topic, partition, p);
	number = (known.next_offset - 1) / topic->segment_records;
	if (p->newest_segment > number && ahead != number + 1 &&
		!mk_partition_is_blank(topic, partition, p, number + 1))
		return false;

	tail->is_open = false;
	if (appender != NULL)
		segment = mk_append_segment(appender, number);
	if (segment == NULL)
	{
		tail->is_open =
			mk_partition_open(topic, partition, p, number, &tail->segment);
		if (!tail->is_open)
			return false;
		segment = &tail->segment;
	}
	if (!mk_log_is_last(&known, segment))
	{
		mk_log_tail_close(tail);
		return false;
	}
	/* what lies below the log start counts no more, though it may be there */
	p->tail = known.next_offset;
	tail->next_offset = Max(known.next_offset, p->log_start);
	tail->ts = known.next_offset > p->log_start ? known.ts : DT_NOBEGIN;
	tail->segment_number = number;
	tail->file = known.file;
	tail->leaf = known.leaf;
	return true;
}

void
mk_log_tail(const MkTopic *topic, int32 partition, const MkAppender *appender,
			MkTail *tail)
{
	if (!mk_log_known_tail(topic, partition, appender, tail))
		mk_log_find_tail(topic, partition, tail);
}

void
mk_log_tail_close(MkTail *tail)
{
	if (tail->is_open)
		mk_segment_close(&tail->segment, false);
	tail->is_open = false;
}

int64
mk_log_next_offset(const MkTopic *topic, int32 partition)
{
	MkTail tail;

	mk_log_find_tail(topic, partition, &tail);
	mk_log_tail_close(&tail);
	return tail.next_offset;
}

TimestampTz
mk_log_last_time(const MkTopic *topic, int32 partition)
{
	MkTail tail;

	mk_log_find_tail(topic, partition, &tail);
	mk_log_tail_close(&tail);
	return tail.ts;
}
