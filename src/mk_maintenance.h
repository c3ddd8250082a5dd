/*
 * mk_maintenance.h
 *		Maintenance of topics and of stored state.
 *
 * All of it is done in steps, each in a transaction of its own.  The caller is
 * connected to SPI and may commit (SPI_OPT_NONATOMIC).
 */
#ifndef MK_MAINTENANCE_H
#define MK_MAINTENANCE_H

/*
 * One pass over everything.  A step that fails is reported with a WARNING, and
 * the pass goes on.  A pass leaves partitions that another session maintains,
 * and whatever is locked, to the next pass.  "report", if not NULL, is called
 * with what is done next.
 */
extern void mk_maintenance_run(void (*report)(const char *activity));

/*
 * Retention, or compaction, of one topic, which the caller must own.  Waits for
 * a session that maintains the same partition.  Returns how many records were
 * removed.
 */
extern int64 mk_maintenance_expire(const char *topic);
extern int64 mk_maintenance_compact(const char *topic);

#endif /* MK_MAINTENANCE_H */
