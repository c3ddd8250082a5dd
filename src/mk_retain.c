/*
 * mk_retain.c
 *		Retention: finding and removing the expired records of a partition.
 *
 * First the log start moves, in a transaction of its own; from then on readers
 * ignore what lies below it.  Later transactions drop the tables of the
 * segments below the log start.  Single rows are removed only from the segment
 * that contains the log start.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "mk_compacted.h"
#include "mk_lock.h"
#include "mk_needed.h"
#include "mk_partition.h"
#include "mk_retain.h"
#include "mk_segment_drop.h"

/* The most rows that one step removes. */
#define MK_TRIM_ROWS 20000

/* Up to this many rows are deleted singly, even if their segment is to go. */
#define MK_TRIM_FEW 1000

/* The first offset of the newest segments that have retention_bytes in all. */
static int64
mk_retain_by_size(const MkTopic *topic, int32 partition, int64 log_start,
				  int64 end)
{
	int64 records = topic->segment_records;
	int64 *segments;
	int n = mk_catalog_segments(topic, partition, &segments);
	int64 bytes = 0;
	int64 from = log_start;

	for (int i = n - 1; i >= 0; i--)
	{
		/* segments that were made ahead are empty */
		if (segments[i] * records >= end)
			continue;
		if (bytes >= topic->retention_bytes)
			break;
		from = segments[i] * records;
		bytes += mk_segment_bytes(topic, partition, segments[i]);
	}
	pfree(segments);
	return from;
}

bool
mk_retain_heeds_groups(const MkTopic *topic)
{
	return topic->deletes && (topic->keep_unread || topic->delete_read);
}

int64
mk_retain_from(const MkTopic *topic, int32 partition, TimestampTz now)
{
	int64 end = mk_log_end(topic, partition);
	int64 from = mk_log_start(topic, partition);

	if (!topic->deletes || from >= end)
		return from;
	if (topic->retention != MK_UNLIMITED)
		from = mk_log_since(topic, partition, now - topic->retention, end);
	if (topic->retention_bytes != MK_UNLIMITED)
		from = Max(from, mk_retain_by_size(topic, partition, from, end));
	if (mk_retain_heeds_groups(topic))
	{
		int64 needed = mk_needed_from(topic, partition);

		if (needed == MK_NEEDED_NOTHING)
			return from;
		if (topic->delete_read)
			from = Max(from, needed);
		if (topic->keep_unread)
			from = Min(from, needed);
	}
	return from;
}

int64
mk_retain_records(const MkTopic *topic, int32 partition, int64 from, int64 to)
{
	int64 records = topic->segment_records;
	int64 *segments;
	int nsegments;
	int64 n = 0;
	MkCompacted pass;

	/* without compaction the offsets are dense */
	if (!topic->compacts && !mk_compacted_last(topic, partition, &pass))
		return to - from;
	nsegments = mk_catalog_segments(topic, partition, &segments);
	for (int i = 0; i < nsegments; i++)
	{
		MkScan s;

		if ((segments[i] + 1) * records <= from || segments[i] * records >= to)
			continue;
		if (!mk_scan_begin(&s, topic, partition, segments[i], AccessShareLock,
						   NULL, from, to - 1, NULL))
		{
			mk_partition_check_dropped(topic, partition, segments[i]);
			continue;
		}
		while (mk_scan_next(&s, ForwardScanDirection))
			n++;
		mk_scan_end(&s);
	}
	return n;
}

int64
mk_retain_passed(const MkTopic *topic, int32 partition, int64 segment)
{
	int64 next = mk_catalog_next_segment(topic, partition, segment);

	/* the newest stays, so that there is always one */
	return next >= 0 &&
			(next + 1) * topic->segment_records <=
				mk_log_start(topic, partition) &&
			next < mk_catalog_newest_segment(topic, partition)
		? next
		: -1;
}

bool
mk_retain_trim(const MkTopic *topic, int32 partition, bool always)
{
	int64 log_start = mk_log_start(topic, partition);
	int64 newest = mk_catalog_newest_segment(topic, partition);
	int64 segment = Min(log_start / topic->segment_records, newest);
	int64 start = segment * topic->segment_records;
	int64 last = Max(mk_log_end(topic, partition) - 1, 0);
	int removed = 0;
	MkScan s;

	Assert(mk_lock_cleaning_is_mine(topic->topic_id, partition));
	/* if the log continues in a later segment, this one is dropped soon */
	if (!always && log_start - start > MK_TRIM_FEW &&
		segment < last / topic->segment_records)
		return false;
	if (!mk_scan_begin(&s, topic, partition, segment, RowExclusiveLock, NULL,
					   start, log_start - 1, NULL))
	{
		mk_partition_check_dropped(topic, partition, segment);
		return false;
	}
	while (removed < MK_TRIM_ROWS && mk_scan_next(&s, ForwardScanDirection))
	{
		simple_heap_delete(s.segment.rel, &s.slot->tts_tid);
		removed++;
	}
	mk_scan_end_keep(&s);
	return removed == MK_TRIM_ROWS;
}
