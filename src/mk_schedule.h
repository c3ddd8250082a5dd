/*
 * mk_schedule.h
 *		Scheduling records, and cancelling them.
 */
#ifndef MK_SCHEDULE_H
#define MK_SCHEDULE_H

#include "datatype/timestamp.h"

#include "mk_catalog.h"
#include "mk_record.h"

/*
 * Schedules a record, to be sent at that time by the right of the current user;
 * returns its id.  The caller has checked that right and the size.  Raises what
 * mk_contract_check raises if the record is not as the topic's contract says now.
 */
extern int64
mk_schedule_record(MkTopic *topic, const MkRecord *record, TimestampTz at);

/*
 * Cancels a scheduled record: false if there is none of this id, or if another
 * transaction is sending or cancelling it.  42501 unless the user owns the topic,
 * or has the rights of the role that scheduled it and INSERT on the topic.
 */
extern bool mk_schedule_cancel(int64 id);

#endif /* MK_SCHEDULE_H */
