/*
 * mk_index.h
 *		Indexes that the owner of a topic adds.
 */
#ifndef MK_INDEX_H
#define MK_INDEX_H

/*
 * Creates an index on a topic and all its segments.  "definition" is what
 * follows the name of the table in CREATE INDEX.  Returns the name of the index
 * with its schema, palloc'd.
 */
extern char *mk_index_create(const char *name, const char *definition);

#endif /* MK_INDEX_H */
