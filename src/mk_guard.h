/*
 * mk_guard.h
 *		Triggers: those that refuse direct writes to the tables of topics, and
 *		those of users that prevent our writes.
 */
#ifndef MK_GUARD_H
#define MK_GUARD_H

#include "utils/relcache.h"

/*
 * Creates the triggers that refuse direct writes, on a new table: a statement
 * trigger, and with "rows" also a row trigger.  A write to a parent table fires
 * only the row triggers of its children.
 */
extern void mk_guard_make(Oid relid, bool rows);

/* Whether the table has these triggers, and they are enabled. */
extern bool mk_guard_is_on(Relation rel, bool rows);

/*
 * Our writes fire no triggers.  So they are refused if the table has an
 * enabled row trigger that is not ours: that of a tool that copies the table,
 * or that of a foreign key.  Returns a sentence that names the trigger, or
 * NULL if there is none.
 */
extern const char *mk_guard_obstacle(Relation rel);

/*
 * 55000 if there is such a trigger.  The caller holds a lock on the table for
 * writing.
 */
extern void mk_guard_check_write(Relation rel);

#endif /* MK_GUARD_H */
