/*
 * mk_liveness.h
 *		Which members are alive, and what is due in a group.
 */
#ifndef MK_LIVENESS_H
#define MK_LIVENESS_H

#include "mk_membership.h"

/*
 * Which of the member's timeouts has passed by "now", though it was not removed
 * yet; MK_REMOVED_NOT if none has.
 */
extern MkRemoved mk_liveness_look(MkMember *member, TimestampTz now);

/* Whether one has passed by now. */
extern bool mk_liveness_is_expired(MkMember *member);

/* Whether the group has only members whose timeouts have passed. */
extern bool mk_liveness_is_empty(MkGroup *group);

/*
 * Whether a member is to be removed, or a partition to be handed over, by "now".
 * Remembers in the group until when nothing is.
 */
extern bool mk_liveness_is_due(MkGroup *group, TimestampTz now);

/*
 * Tells other sessions at once that the member polls, or is heard of otherwise,
 * if what they see is older than a part of its timeouts; see mk_sign.h.
 */
extern void mk_liveness_sign(MkMember *member, bool polls, TimestampTz now);

/*
 * Writes the member's heartbeats, if those in the table are older than a part of
 * its timeouts.  "polled" is when it polled in this transaction, 0 if it did not.
 */
extern void
mk_liveness_write(MkMember *member, TimestampTz polled, TimestampTz now);

/*
 * How often the size of the group's polls is halved: once for each time that
 * slow members were removed, less one for each period that has passed since the
 * last.
 */
extern int mk_liveness_halved(const MkGroup *group);

/*
 * To be called before a member is removed because it did not poll in time.  If
 * it was alive otherwise, it had too much to do: halves the size of polls once
 * more, in the group in memory.
 */
extern void
mk_liveness_halve(MkGroup *group, const MkMember *member, TimestampTz now);

#endif /* MK_LIVENESS_H */
