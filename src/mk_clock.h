/*
 * mk_clock.h
 *		The one source of time.
 */
#ifndef MK_CLOCK_H
#define MK_CLOCK_H

#include "datatype/timestamp.h"

/* The time now, shifted by minikafka.clock_offset. */
extern TimestampTz mk_clock_now(void);

#endif /* MK_CLOCK_H */
