/*
 * mk_headers.h
 *		The headers of a record.
 *
 * Included after postgres.h.
 */
#ifndef MK_HEADERS_H
#define MK_HEADERS_H

#include "utils/jsonb.h"

/*
 * Checks the headers that a caller gave for a record, and returns them in the
 * form in which they are stored (see mk_headers.c), or NULL when there is
 * nothing to store: no headers given (NULL), "{}" or "[]".
 *
 * "headers" must be detoasted and is not changed.  Headers that are in the
 * stored form already are returned as they are, without a copy: the result may
 * be "headers" itself, and then lives as long as that.  Otherwise it is
 * allocated in the current memory context.
 *
 * Raises 22023 for anything that cannot be a record's headers.
 */
extern Jsonb *mk_headers_normalize(Jsonb *headers);

#endif /* MK_HEADERS_H */
