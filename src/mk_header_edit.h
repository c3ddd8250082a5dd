/*
 * mk_header_edit.h
 *		Looking up, adding and removing headers of a record.
 *
 * The headers are in the stored form: see mk_headers.c.
 *
 * Included after postgres.h.
 */
#ifndef MK_HEADER_EDIT_H
#define MK_HEADER_EDIT_H

#include "utils/jsonb.h"

/* A header; its value is text of the database. */
typedef struct MkHeader
{
	const char *name;
	const char *value; /* NULL: it has none, or bytes that are no text */
	int length; /* of the value */
} MkHeader;

/*
 * Looks for the last header of this name, and points *header at it, within
 * "headers" (NULL: there are none).  Returns false if there is none.
 */
extern bool mk_header_get(Jsonb *headers, const char *name, MkHeader *header);

/* The same for a whole number that is not negative; -1 if it is none. */
extern int64 mk_header_get_number(Jsonb *headers, const char *name);

/*
 * A copy of the headers, in the same form, an object if there are none, without
 * those whose name begins with one of these prefixes, and with others added.
 */
extern Jsonb *mk_header_edit(Jsonb *headers, const char *const *prefixes,
							 int nprefixes, const MkHeader *add, int nadd);

#endif /* MK_HEADER_EDIT_H */
