/*
 * mk_maintenance_state.h
 *		Maintenance of what is remembered about groups, producers and the inbox.
 */
#ifndef MK_MAINTENANCE_STATE_H
#define MK_MAINTENANCE_STATE_H

#include "mk_step.h"

/*
 * Makes checkpoints of share groups.  Retention goes by them, so this comes before
 * the maintenance of topics.
 */
extern void mk_maintenance_checkpoints(const MkSteps *steps);

/*
 * Does what is due in groups, removes rows that nothing needs any more, and
 * warns about owners and grantees that are not roles.
 */
extern void mk_maintenance_state(const MkSteps *steps);

#endif /* MK_MAINTENANCE_STATE_H */
