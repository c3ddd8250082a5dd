/*
 * mk_guard.h
 *		Triggers: those that guard the tables of topics against others' writes,
 *		and those of others that keep us from writing.
 */
#ifndef MK_GUARD_H
#define MK_GUARD_H

#include "utils/relcache.h"

/*
 * Makes the triggers that refuse direct writes, on a table just made: on
 * statements, and with "rows" on rows too, which come there from the tables
 * above without a statement of their own.
 */
extern void mk_guard_make(Oid relid, bool rows);

/* Whether the table has those triggers, enabled. */
extern bool mk_guard_is_on(Relation rel, bool rows);

/*
 * Our writes fire no triggers.  So where somebody else has an enabled row
 * trigger on the table (a tool that copies it, a foreign key), a write is
 * refused: a sentence that tells which, or NULL if there is none.
 */
extern const char *mk_guard_obstacle(Relation rel);

/*
 * Raises 55000 if there is one.  The caller holds the lock for writing.
 */
extern void mk_guard_check_write(Relation rel);

#endif /* MK_GUARD_H */
