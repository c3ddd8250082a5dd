/*
 * mk_liveness.c
 *		Which members are alive, and what is due in a group.
 *
 * A member has two timeouts.  If it is not heard of for its session timeout, or
 * does not poll for its max poll interval, it is removed: by the next call in
 * the group, or by maintenance.  While a transaction that has polled for it is
 * in progress it counts as heard of, since that transaction holds the member's
 * lock (shared, and never waited for).
 *
 * When a member was heard of is in its heartbeats (mk_heartbeat.c).  Other
 * sessions see these only after the transaction has committed, and never if it
 * rolls back.  So where they see a heartbeat that is older than a tenth of the
 * timeouts, the session also gives a sign of life (mk_sign.c).  Heartbeats, too,
 * are written only when they are that old.
 *
 * A member that is removed because it did not poll in time, though it was alive,
 * had too much to do.  From then on polls of the group return half as many
 * records; each such halving ends after some max poll intervals.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_heartbeat.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_sign.h"

/* Heartbeats and signs are due when they are older than this part of a timeout. */
#define MK_HEARTBEAT_FRACTION 10

/* Halvings at most, and the max poll intervals after which one ends. */
#define MK_MAX_HALVED     30
#define MK_HALVED_PERIODS 10

/* When the timeouts pass, as far as is known. */
static TimestampTz
mk_session_end(const MkMember *m)
{
	return Max(m->seen, m->seen_sign) + m->session_timeout;
}

static TimestampTz
mk_poll_end(const MkMember *m)
{
	return Max(m->polled, m->polled_sign) + m->max_poll_interval;
}

/* Which of them has passed; "at_work": a transaction holds the member's lock. */
static MkRemoved
mk_liveness_overdue(const MkMember *m, bool at_work, TimestampTz now)
{
	if (now > mk_poll_end(m))
		return MK_REMOVED_MAX_POLL_INTERVAL;
	if (!at_work && now > mk_session_end(m))
		return MK_REMOVED_SESSION_TIMEOUT;
	return MK_REMOVED_NOT;
}

/*
 * Looks at the member's lock, and at signs, before it reads heartbeats: in the
 * other order it could miss a transaction that commits in between, in both.
 */
MkRemoved
mk_liveness_look(MkMember *m, TimestampTz now)
{
	bool at_work;

	if (likely(mk_liveness_overdue(m, false, now) == MK_REMOVED_NOT))
		return MK_REMOVED_NOT;

	at_work = mk_lock_member_is_held(m->member_no);
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	if (mk_liveness_overdue(m, at_work, now) == MK_REMOVED_NOT)
		return MK_REMOVED_NOT;
	mk_sign_look(m->member_no, &m->seen_sign, &m->polled_sign);
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	return mk_liveness_overdue(m, at_work, now);
}

bool
mk_liveness_is_expired(MkMember *member)
{
	return mk_liveness_look(member, mk_clock_now()) != MK_REMOVED_NOT;
}

bool
mk_liveness_is_empty(MkGroup *group)
{
	for (int i = 0; i < group->nmembers; i++)
		if (group->members[i].removed == MK_REMOVED_NOT &&
			!mk_liveness_is_expired(&group->members[i]))
			return false;
	return true;
}

bool
mk_liveness_is_due(MkGroup *g, TimestampTz now)
{
	TimestampTz next = DT_NOEND;

	if (likely(now < g->next_check))
		return false;
	for (int i = 0; i < g->nassignments; i++)
	{
		if (g->assignments[i].handover_at <= now)
			return true;
		next = Min(next, g->assignments[i].handover_at);
	}
	for (int i = 0; i < g->nmembers; i++)
	{
		MkMember *m = &g->members[i];

		if (m->removed != MK_REMOVED_NOT)
			continue;
		if (mk_liveness_look(m, now) != MK_REMOVED_NOT)
			return true;
		next = Min(next, mk_session_end(m));
		next = Min(next, mk_poll_end(m));
	}
	g->next_check = next;
	return false;
}

/* How old a heartbeat may be before the next one is due. */
static int64
mk_heartbeat_period(const MkMember *m)
{
	return Min(m->session_timeout, m->max_poll_interval) /
		MK_HEARTBEAT_FRACTION;
}

void
mk_liveness_sign(MkMember *m, bool polls, TimestampTz now)
{
	const TimestampTz *last = polls ? &m->polled : &m->seen;
	int64 period = mk_heartbeat_period(m);

	if (now <= *last + period ||
		now <= mk_sign_given(m->member_no, polls, now) + period)
		return;
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	if (now > *last + period)
		mk_sign_give(m->member_no, polls, now,
					 Max(m->session_timeout, m->max_poll_interval));
}

void
mk_liveness_write(MkMember *m, TimestampTz polled, TimestampTz now)
{
	int64 period = mk_heartbeat_period(m);

	if (now <= m->seen + period && polled <= m->polled + period)
		return;
	mk_heartbeat_get(m->member_no, &m->seen, &m->polled);
	if (polled > m->polled + period)
		mk_heartbeat_put(m->member_no, true, polled);
	if (now > Max(m->seen, polled) + period)
		mk_heartbeat_put(m->member_no, false, now);
}

int
mk_liveness_halved(const MkGroup *group)
{
	int64 times;

	if (likely(group->halved == 0))
		return 0;
	times = Max(mk_clock_now() - group->halved_at, 0) / group->halved_for;
	return times < group->halved ? group->halved - (int) times : 0;
}

/*
 * Removing one slow member after the other may take several rebalances.  Members
 * whose last poll came before the last halving do not count again.
 */
void
mk_liveness_halve(MkGroup *g, const MkMember *m, TimestampTz now)
{
	if (mk_session_end(m) < mk_poll_end(m) &&
		!mk_lock_member_is_held(m->member_no))
		return;
	if (Max(m->polled, m->polled_sign) <= g->halved_at)
		return;
	g->halved = Min(mk_liveness_halved(g) + 1, MK_MAX_HALVED);
	g->halved_at = now;
	g->halved_for = MK_HALVED_PERIODS * m->max_poll_interval;
}
