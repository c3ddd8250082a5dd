/*
 * mk_clock.c
 *		The one source of time.
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
