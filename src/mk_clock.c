/*
 * mk_clock.c
 *		The extension's only source of time.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "mk_clock.h"
#include "mk_guc.h"

TimestampTz
mk_clock_now(void)
{
	return GetCurrentTimestamp() +
		(TimestampTz) (mk_guc_clock_offset * USECS_PER_SEC);
}

/*
 * Adjusting a clock sets it back by less than this, and the clock of a standby
 * differs by less.
 */
#define MK_CLOCK_TOLERANCE USECS_PER_MINUTE

bool
mk_clock_is_ahead(TimestampTz time)
{
	return time > mk_clock_now() + MK_CLOCK_TOLERANCE;
}

int64
mk_clock_interval(const Interval *interval)
{
	double microseconds = (double) interval->time +
		((double) interval->month * DAYS_PER_MONTH + interval->day) *
			USECS_PER_DAY;

	/* so that it can be subtracted from any time */
	return (int64) Max(Min(microseconds, MK_CLOCK_MAX_INTERVAL),
					   -MK_CLOCK_MAX_INTERVAL);
}

Interval *
mk_clock_make_interval(int64 microseconds)
{
	Interval *interval = palloc0(sizeof(Interval));

	interval->time = microseconds;
	return interval;
}
