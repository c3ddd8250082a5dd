/*
 * mk_json.h
 *		Bytes of a record as jsonb.
 */
#ifndef MK_JSON_H
#define MK_JSON_H

#include "utils/jsonb.h"

/*
 * The bytes, which are UTF-8, as jsonb; NULL if jsonb cannot hold them.  Then
 * *why, if "why" is not NULL, is a sentence that tells the reason and shows
 * none of the bytes.  All memory is in the current context.  Needs no
 * subtransaction, so it may be called anywhere.
 */
extern Jsonb *mk_json_decode(struct varlena *bytes, const char **why);

#endif /* MK_JSON_H */
