/*
 * mk_check.c
 *		Checking the tables and the records of a partition.
 *
 * mk_check_tables() runs in each pass of maintenance, and so checks only the
 * newest segment and what shows in the tables above.  mk_check_partition()
 * serves check_topic(), and reads everything.
 */
#include "postgres.h"

#include "utils/rel.h"
#include "utils/timestamp.h"

#include "mk_check.h"
#include "mk_clock.h"
#include "mk_compacted.h"
#include "mk_partition.h"
#include "mk_segment_check.h"

/* ---------------------------------------------------------------------------
 * Tables
 */

/* Raises 55000 with the problem as the message. */
static void
mk_check_unsound(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", problem),
			 errhint("Undo the change with ALTER TABLE; "
					 "minikafka.check_topic() shows what else is wrong.")));
}

/* Checks a segment; one that the log start has passed may be missing. */
static void
mk_check_table(const MkTopic *topic, int32 partition, int64 segment)
{
	bool missing;
	const char *problem =
		mk_segment_problem(topic, partition, segment, &missing);

	if (missing)
		mk_partition_check_dropped(topic, partition, segment);
	else if (problem != NULL)
		mk_check_unsound(problem);
}

void
mk_check_tables(const MkTopic *topic, int32 partition)
{
	const char *problem = mk_segment_partition_problem(topic, partition);
	int64 newest = mk_catalog_newest_segment(topic, partition);
	List *strangers = mk_segment_strangers(topic, partition);
	int64 *segments;
	int n;

	if (partition == 0)
		strangers = list_concat(strangers, mk_segment_strangers(topic, -1));
	if (problem != NULL)
		mk_check_unsound(problem);
	n = mk_segment_unattached(topic, partition, &segments);
	for (int i = 0; i < n; i++)
		mk_check_table(topic, partition, segments[i]);
	if (newest < 0)
		mk_check_unsound("partition has no segment");
	mk_check_table(topic, partition, newest);
	if (strangers != NIL)
		mk_check_unsound(linitial(strangers));
}

/* ---------------------------------------------------------------------------
 * Records
 */

/* The state of a check of one partition. */
typedef struct MkCheck
{
	const MkTopic *topic;
	int32 partition;
	int64 next; /* the offset that should come next */
	TimestampTz ts; /* of the previous record */
	bool ahead; /* a time in the future was reported */
	bool compacted; /* so holes are no problem */
	MkCheckReport report;
	void *arg;
} MkCheck;

/* Checks the current row of a scan; its segment holds "from" to "to" - 1. */
static void
mk_check_row(MkCheck *c, MkScan *s, int64 from, int64 to)
{
	TimestampTz ts = DatumGetTimestampTz(mk_scan_column(s, Anum_record_ts));
	int32 partition = DatumGetInt32(mk_scan_column(s, Anum_record_partition));

	if (s->offset < from || s->offset >= to)
	{
		c->report(
			"error", c->partition, s->offset,
			psprintf("offset is in table \"%s\", which holds " INT64_FORMAT
					 " to " INT64_FORMAT,
					 RelationGetRelationName(s->segment.rel), from, to - 1),
			c->arg);
		return;
	}
	if (partition != c->partition)
		c->report("error", c->partition, s->offset,
				  psprintf("record's column \"partition\" is %d", partition),
				  c->arg);
	if (ts < c->ts)
		c->report("error", c->partition, s->offset,
				  "ts is earlier than that of the previous record", c->arg);
	else
		c->ts = ts;
	if (!c->ahead && mk_clock_is_ahead(ts))
	{
		c->ahead = true;
		c->report("warning", c->partition, s->offset,
				  "ts is in the future, and so is that of later records",
				  c->arg);
	}
	/* the log start may have passed the offset meanwhile */
	if (s->offset > c->next && !c->compacted)
		c->next =
			Max(c->next, mk_partition_fresh(c->topic, c->partition)->log_start);
	if (s->offset > c->next && !c->compacted)
		c->report(
			"notice", c->partition, c->next,
			psprintf("hole of " INT64_FORMAT " offsets", s->offset - c->next),
			c->arg);
	c->next = s->offset + 1;
}

/*
 * Checks the rows of a segment from c->next on, and those that do not belong
 * in it.  Returns false at the first row that is not decided or not visible.
 */
static bool
mk_check_segment(MkCheck *c, MkPartition *p, int64 segment, Snapshot snapshot)
{
	int64 from = segment * c->topic->segment_records;
	bool settled = true;
	MkScan s;

	if (!mk_partition_scan(&s, c->topic, c->partition, p, segment,
						   AccessShareLock, PG_INT64_MIN, PG_INT64_MAX))
		return true;
	while (settled && mk_scan_next(&s, ForwardScanDirection))
	{
		settled = mk_scan_is_visible(&s, snapshot);
		if (settled && (s.offset >= c->next || s.offset < from))
			mk_check_row(c, &s, from, from + c->topic->segment_records);
	}
	mk_scan_end(&s);
	return settled;
}

bool
mk_check_partition(const MkTopic *topic, int32 partition, Snapshot snapshot,
				   MkCheckReport report, void *arg)
{
	MkPartition *p = mk_partition_fresh(topic, partition);
	MkCheck c = {.topic = topic,
				 .partition = partition,
				 .next = p->log_start, /* rows below it are yet to be removed */
				 .ts = DT_NOBEGIN,
				 .report = report,
				 .arg = arg};
	int64 *segments;
	int n = mk_catalog_segments(topic, partition, &segments);
	const char *problem = mk_segment_partition_problem(topic, partition);
	List *strangers = mk_segment_strangers(topic, partition);
	ListCell *lc;
	bool sound = true;
	bool go_on = true;
	MkCompacted pass;

	c.compacted = topic->compacts || mk_compacted_last(topic, partition, &pass);
	if (problem != NULL)
		report("error", partition, -1, problem, arg);
	foreach (lc, strangers)
		report("error", partition, -1, lfirst(lc), arg);
	for (int i = 0; i < n; i++)
	{
		int64 from = segments[i] * topic->segment_records;
		bool missing;

		problem = mk_segment_problem(topic, partition, segments[i], &missing);
		if (missing &&
			mk_partition_may_be_dropped(topic, partition, segments[i]))
			continue;
		if (problem != NULL)
		{
			report("error", partition, from, problem, arg);
			sound = false;
			c.next = Max(c.next, from + topic->segment_records);
		}
		else if (go_on)
			go_on = mk_check_segment(&c, p, segments[i], snapshot);
	}
	if (n == 0)
	{
		report("error", partition, -1, "partition has no segment", arg);
		sound = false;
	}
	return sound;
}
