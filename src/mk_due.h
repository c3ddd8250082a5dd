/*
 * mk_due.h
 *		Which records are old enough to be handed out: topic option
 *		"delivery_delay".
 */
#ifndef MK_DUE_H
#define MK_DUE_H

#include "utils/snapshot.h"

#include "mk_catalog.h"

/*
 * Whether a record of this time is due at the time "now" (see mk_clock_now).  If
 * not, *next becomes the time at which it is, unless it is an earlier one
 * already; DT_NOEND at first.
 */
extern bool mk_due_is(const MkTopic *topic, TimestampTz ts, TimestampTz now,
					  TimestampTz *next);

/*
 * The offset up to which the records from "from" on, which must not be below
 * the log start, are due: none that the snapshot sees is due from there on.
 * *next as above, of the first that is not.  PG_INT64_MAX, without a look, if
 * the topic has no delay.
 */
extern int64 mk_due_end(const MkTopic *topic, int32 partition, int64 from,
						Snapshot snapshot, TimestampTz now, TimestampTz *next);

#endif /* MK_DUE_H */
