/*
 * mk_check.h
 *		Checking the tables and the records of a partition.
 */
#ifndef MK_CHECK_H
#define MK_CHECK_H

#include "utils/snapshot.h"

#include "mk_catalog.h"

/* What check_topic() reports; severity is "error", "warning" or "notice". */
typedef void (*MkCheckReport)(const char *severity, int32 partition,
							  int64 offset, const char *problem, void *arg);

/*
 * Checks all of a partition, with an active snapshot.  In a report, an offset
 * below 0 means none.  Returns false if a table is missing or altered, so that
 * mk_log_end may fail.
 */
extern bool
mk_check_partition(const MkTopic *topic, int32 partition, Snapshot snapshot,
				   MkCheckReport report, void *arg);

/*
 * Checks the tables only: raises 55000 if one is missing or is not where it
 * should be, or if there is one that should not be.  Costs little, however
 * many segments there are.
 */
extern void mk_check_tables(const MkTopic *topic, int32 partition);

#endif /* MK_CHECK_H */
