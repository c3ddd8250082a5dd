/*
 * mk_share_survey.h
 *		What a share group has not done in a partition, for people and monitoring.
 */
#ifndef MK_SHARE_SURVEY_H
#define MK_SHARE_SURVEY_H

#include "mk_membership.h"
#include "mk_share_rows.h"

/* How far a group is behind in a partition. */
typedef struct MkShareLag
{
	int64 start; /* the lowest offset that is neither done nor gone */
	int64 ready; /* could be handed out now */
	int64 in_flight; /* a session has it, or it is under an acquisition lock */
	/* waits for a time, a person, an earlier one of its slot, or max_in_flight */
	int64 waiting;
	int64 lost; /* were removed before they were done; see mk_share_lost.h */
} MkShareLag;

/*
 * Counts the records from log_start up to "end", which the caller has read
 * before.  All is as it is now, whatever the active snapshot sees.  Takes no lock.
 */
extern void
mk_share_survey_lag(const MkGroup *group, const MkTopic *topic, int32 partition,
					int64 log_start, int64 end, MkShareLag *lag);

/*
 * Receives a record that a session has or about which there is a row.  Without a
 * row, delivery->number is 0.  "pid" is that of the session that has it; 0: none.
 */
typedef void (*MkShareSurveySink)(const MkShareKey *key,
								  const MkDelivery *delivery, int pid,
								  void *arg);

/* Calls the sink with each such record that is not done, ascending. */
extern void
mk_share_survey_deliveries(const MkGroup *group, const MkTopic *topic,
						   int32 partition, MkShareSurveySink sink, void *arg);

#endif /* MK_SHARE_SURVEY_H */
