/*
 * mk_poll.h
 *		Members reading the partitions that they have.
 */
#ifndef MK_POLL_H
#define MK_POLL_H

#include "mk_log.h"

/*
 * Gets each record, as MkLogSink does.  False to stop before this record of its
 * partition; the others go on.
 */
typedef bool (*MkPollSink)(const MkTopic *topic, int32 partition,
						   const MkLogRecord *record, void *arg);

typedef struct MkPoll
{
	const char *group_id;
	const char *member_id;
	int64 max_records;
	int64 max_bytes;
	int64 max_wait; /* microseconds */
	MkPollSink sink;
	void *arg;
} MkPoll;

/*
 * Hands out records of the member's partitions, from its positions on, and
 * notes those as read.  Of each partition as mk_log_read does; the partitions
 * in turn, those first that were read longest ago.  If there are none, and the
 * sink has stopped before none, waits for some up to max_wait, but in a
 * transaction with one snapshot for all.
 */
extern void mk_poll(const MkPoll *poll);

/*
 * Notes that the member is alive, and does what else is due for a poll.  True if
 * there may be records for it; else the session is woken when there may be, up to
 * mk_poll_stop.
 */
extern bool mk_poll_is_ready(const char *group_id, const char *member_id);
extern void mk_poll_stop(void);

/*
 * Sleeps until there may be something new to see, or until "until"; *round is
 * 0 at first.  False if it is that time.
 */
extern bool mk_poll_sleep(int *round, TimestampTz until);

#endif /* MK_POLL_H */
