/*
 * mk_outbox.h
 *		The outbox trigger: rows of a table as records.
 */
#ifndef MK_OUTBOX_H
#define MK_OUTBOX_H

#include "commands/trigger.h"
#include "fmgr.h"

/*
 * Sends the row that the trigger fired for, or a tombstone for a key that is
 * gone.  The trigger's arguments are the topic, the columns of the key, and
 * "-column" for each column to leave out.  The first call of a statement keeps
 * in flinfo what it has looked up.
 */
extern void mk_outbox_send(TriggerData *trigger, FmgrInfo *flinfo);

#endif /* MK_OUTBOX_H */
