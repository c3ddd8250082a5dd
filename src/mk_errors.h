/*
 * mk_errors.h
 *		The SQLSTATEs of class MK: Kafka's error codes, by their numbers.
 *
 * Where a standard SQLSTATE fits, it is used instead; see doc/reference.md.
 */
#ifndef MK_ERRORS_H
#define MK_ERRORS_H

#include "utils/elog.h"

#define ERRCODE_MK_OFFSET_OUT_OF_RANGE MAKE_SQLSTATE('M', 'K', '0', '0', '1')

#endif /* MK_ERRORS_H */
