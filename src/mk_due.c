/*
 * mk_due.c
 *		Which records are old enough to be handed out: topic option
 *		"delivery_delay".
 *
 * Whatever gives records to the members or the workers of a group gives only
 * those that are due.  Times never go back along a partition, so the first
 * record that is not due ends what is; and a record that is sent meanwhile
 * cannot be due before one that waits in the same partition.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "mk_due.h"
#include "mk_log.h"

bool
mk_due_is(const MkTopic *topic, TimestampTz ts, TimestampTz now,
		  TimestampTz *next)
{
	if (likely(topic->delivery_delay == 0) || ts + topic->delivery_delay <= now)
		return true;
	*next = Min(*next, ts + topic->delivery_delay);
	return false;
}

int64
mk_due_end(const MkTopic *topic, int32 partition, int64 from, Snapshot snapshot,
		   TimestampTz now, TimestampTz *next)
{
	int64 low = from; /* what lies below is due */
	int64 high = from; /* no record from here on is due, at the end */
	int64 step = 1;
	int64 found;
	TimestampTz ts;

	if (likely(topic->delivery_delay == 0))
		return PG_INT64_MAX;

	/* as a rule little is due, so look near to "from" first */
	while (mk_log_time(topic, partition, high, snapshot, &found, &ts) &&
		   mk_due_is(topic, ts, now, next))
	{
		CHECK_FOR_INTERRUPTS();
		low = found + 1;
		high = low + step;
		step *= 2;
	}
	while (low < high)
	{
		int64 middle = low + (high - low) / 2;

		CHECK_FOR_INTERRUPTS();
		if (!mk_log_time(topic, partition, middle, snapshot, &found, &ts) ||
			found >= high || !mk_due_is(topic, ts, now, next))
			high = middle;
		else
			low = found + 1;
	}
	return low;
}
