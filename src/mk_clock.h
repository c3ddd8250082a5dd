/*
 * mk_clock.h
 *		The extension's only source of time.
 */
#ifndef MK_CLOCK_H
#define MK_CLOCK_H

#include "datatype/timestamp.h"

/* The time now, shifted by minikafka.clock_offset. */
extern TimestampTz mk_clock_now(void);

/*
 * Whether a time that the clock has returned before lies so far ahead of the
 * time now that the clock was wrong then.
 */
extern bool mk_clock_is_ahead(TimestampTz time);

/*
 * An interval in microseconds; a month has 30 days, a day 24 hours.  An
 * interval that is longer than some 126,000 years is cut to that.
 */
#define MK_CLOCK_MAX_INTERVAL 4e18
extern int64 mk_clock_interval(const Interval *interval);

/* The interval of so many microseconds, in the current memory context. */
extern Interval *mk_clock_make_interval(int64 microseconds);

#endif /* MK_CLOCK_H */
