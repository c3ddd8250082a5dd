/*
 * mk_json.h
 *		Bytes of a record as jsonb.
 */
#ifndef MK_JSON_H
#define MK_JSON_H

#include "utils/jsonb.h"

/*
 * The bytes, which are UTF-8, as jsonb; NULL if they are none that jsonb can
 * hold.  Then *why, if it is not NULL, is a sentence that says why not, and
 * holds nothing of the bytes.  All memory is in the current context.  Needs no
 * subtransaction, so it may be called anywhere.
 */
extern Jsonb *mk_json_decode(struct varlena *bytes, const char **why);

#endif /* MK_JSON_H */
