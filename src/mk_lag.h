/*
 * mk_lag.h
 *		How far groups are behind the ends of partitions.
 */
#ifndef MK_LAG_H
#define MK_LAG_H

#include "mk_membership.h"

/*
 * The topics in which the group has offsets or members, or had its last members,
 * and which the current user may see: a list of MkTopic.
 */
extern List *mk_lag_topics(const MkGroup *group);

/*
 * What one query has looked up of partitions, for all groups that it asks about;
 * in the memory context in which it was made.
 */
typedef struct HTAB MkEnds;

extern MkEnds *mk_lag_ends(void);

typedef struct MkLag
{
	int64 log_start;
	int64 end;
	int64 committed; /* -1: none */
	int64 lag;
	int64 time_lag; /* microseconds, -1: not known, of a wrong clock */

	/* of a share group: -1 for another */
	int64 ready;
	int64 in_flight;
	int64 waiting;

	/* offsets that the log start has passed before the group read them */
	int64 lost; /* -1: not known, without a committed offset */
	const MkMember *owner; /* NULL: no member has the partition */
} MkLag;

/* "group" may be NULL: one that the transaction is going to make. */
extern void
mk_lag_get(const char *group_id, const MkGroup *group, const MkTopic *topic,
		   int32 partition, MkEnds *ends, MkLag *result);

#endif /* MK_LAG_H */
