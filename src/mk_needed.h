/*
 * mk_needed.h
 *		What groups still need of a partition: topic options "keep_unread" and
 *		"delete_read".
 */
#ifndef MK_NEEDED_H
#define MK_NEEDED_H

#include "mk_catalog.h"

#define MK_NEEDED_NOTHING PG_INT64_MAX

/*
 * The lowest offset that a group still needs in the partition: between the log
 * start and the end.  MK_NEEDED_NOTHING if no group reads the topic.  It can
 * become less at any time, unless the caller has mk_lock_needed.
 */
extern int64 mk_needed_from(const MkTopic *topic, int32 partition);

/*
 * To be called where something is deferred to the commit that may make a group
 * need more of a topic than now: its offset goes back, or it begins to read the
 * topic.
 */
extern void mk_needed_defer(void);

/*
 * Then, from a "lock" of a lower rank, if it does so: the commit takes the
 * topic's mk_lock_needed before it writes.
 */
extern void mk_needed_grows(int32 topic_id);

#endif /* MK_NEEDED_H */
