/*
 * mk_poll.h
 *		Polls: members read the partitions that they have.
 */
#ifndef MK_POLL_H
#define MK_POLL_H

#include "mk_log.h"

/*
 * Is called with each record, as MkLogSink is.  Returns false to stop before this
 * record in its partition; other partitions go on.
 */
typedef bool (*MkPollSink)(const MkTopic *topic, int32 partition,
						   const MkLogRecord *record, void *arg);

typedef struct MkPoll
{
	const char *group_id;
	const char *member_id;
	int ntopics;
	char *
		*topics; /* only of these, which the member subscribes to; NULL: all */
	int64 max_records;
	int64 max_bytes;
	int64 max_wait; /* microseconds */
	MkPollSink sink;
	void *arg;
} MkPoll;

/*
 * Reads records of the member's partitions from its positions on, and defers to
 * move the positions.  Partitions that were read longest ago come first; each is
 * read as by mk_log_read, up to the first record that is not due (see mk_due.h).
 * If there is no record, and the sink has refused none, waits up to max_wait for
 * one; not in a transaction with a single snapshot, which would not see it.  22023
 * for a topic that the member does not subscribe to.
 */
extern void mk_poll(const MkPoll *poll);

/*
 * Does what a poll does except for reading: defers a heartbeat and what is due in
 * the group.  True if there may be records for the member.  Otherwise the session
 * is woken when there may be some, until mk_poll_stop; and *next is the time at
 * which the next record is due that is there already, else DT_NOEND.
 */
extern bool mk_poll_is_ready(const char *group_id, const char *member_id,
							 TimestampTz *next);
extern void mk_poll_stop(void);

/*
 * Sleeps until there may be something new, at most until "until"; false if that
 * time has come.  Does not sleep past "next", a time of mk_clock_now.  *round
 * counts the sleeps, and is 0 at first.
 */
extern bool mk_poll_sleep(int *round, TimestampTz until, TimestampTz next);

/*
 * How long a session sleeps that is woken, in milliseconds.  A variable, and
 * exported, for a test of being woken: see test/modules/late.c.
 */
extern PGDLLEXPORT int mk_poll_look_ms;

#endif /* MK_POLL_H */
