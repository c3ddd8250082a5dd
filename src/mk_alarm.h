/*
 * mk_alarm.h
 *		When the next scheduled record of each database is due, in shared memory.
 *
 * It serves to be in time and to save looks: no record depends on it.
 */
#ifndef MK_ALARM_H
#define MK_ALARM_H

#include "datatype/timestamp.h"

/* To be called once, in _PG_init, after mk_shmem_init. */
extern void mk_alarm_init(void);

/*
 * Tells that a record of this database is due at that time.  Counts, and wakes the
 * process that is to send it, when the transaction has ended, however it does.
 */
extern void mk_alarm_at_end(TimestampTz due);

/*
 * When the next record of a database is due at the earliest: DT_NOEND if there is
 * none, DT_NOBEGIN if that is not known.
 */
extern TimestampTz mk_alarm_next(Oid database);

/*
 * Before and after a look at the records of this database: the next one that it has
 * found is due at that time, DT_NOEND for none.  "look" is what mk_alarm_begin_look
 * has returned.
 */
extern uint64 mk_alarm_begin_look(void);
extern void mk_alarm_end_look(uint64 look, TimestampTz next);

/*
 * From now on this process is woken when the next record of a database is due
 * earlier than before: the launcher for databases without a process of their own,
 * a worker for its own database; until it leaves or ends.
 */
extern void mk_alarm_attend_all(void);
extern void mk_alarm_attend(void);
extern void mk_alarm_leave(void);

#endif /* MK_ALARM_H */
