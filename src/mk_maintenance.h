/*
 * mk_maintenance.h
 *		Looking after topics and what the extension remembers.
 *
 * All of it is done in steps, each in a transaction of its own.  The caller is
 * connected to SPI and may commit (SPI_OPT_NONATOMIC).
 */
#ifndef MK_MAINTENANCE_H
#define MK_MAINTENANCE_H

/*
 * One pass of everything.  What fails is reported with a WARNING, and the rest
 * goes on; what somebody else is at, or holds a lock on, is left for the next
 * pass.  "report", if not NULL, is told what is being done.
 */
extern void mk_maintenance_run(void (*report)(const char *activity));

/*
 * Retention, or compaction, of one topic, which the caller owns; waits for who
 * is at it.  Returns how many records went.
 */
extern int64 mk_maintenance_expire(const char *topic);
extern int64 mk_maintenance_compact(const char *topic);

#endif /* MK_MAINTENANCE_H */
