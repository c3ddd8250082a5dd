/*
 * mk_heartbeat.h
 *		Heartbeats: when members were last heard of, and when they last polled.
 *
 * Each heartbeat is a new row.  The state is the row with the latest time.
 */
#ifndef MK_HEARTBEAT_H
#define MK_HEARTBEAT_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

/*
 * When the member was last heard of, and when it last polled, as committed
 * transactions and this one have written it; DT_NOBEGIN if never.  A poll also
 * counts as being heard of.
 */
extern void
mk_heartbeat_get(int32 member_no, TimestampTz *seen, TimestampTz *polled);

/* Adds a heartbeat of that time. */
extern void mk_heartbeat_put(int32 member_no, bool polled, TimestampTz at);

/* Removes all heartbeats of a member. */
extern void mk_heartbeat_delete(int32 member_no);

/* The numbers of all members that have heartbeats, ascending. */
extern List *mk_heartbeat_members(void);

/*
 * Removes the heartbeats of a member that are not the newest.  If it is no
 * longer a member, removes all of them.  Leaves the rows that another
 * transaction is removing.
 */
extern void mk_heartbeat_clean(int32 member_no, bool is_member);

#endif /* MK_HEARTBEAT_H */
