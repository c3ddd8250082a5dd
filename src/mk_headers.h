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
 * Checks the headers of a record, and returns them in the form in which they
 * are stored (see mk_headers.c), or NULL if there is nothing to store: NULL,
 * "{}" or "[]".
 *
 * "headers" must be detoasted and is not changed.  If it is in the stored form
 * already, the result is "headers" itself, and lives as long as that.
 * Otherwise the result is allocated in the current memory context.
 *
 * Raises 22023 for anything that cannot be a record's headers.
 */
extern Jsonb *mk_headers_normalize(Jsonb *headers);

#endif /* MK_HEADERS_H */
