/*
 * mk_outbox.h
 *		The outbox trigger: rows of a table as records.
 */
#ifndef MK_OUTBOX_H
#define MK_OUTBOX_H

#include "commands/trigger.h"
#include "fmgr.h"

/*
 * Sends what happened to the row, as the trigger's arguments say: the topic,
 * the column of the key, or several joined by commas, and "-column" for each
 * to leave out.  The first call for a trigger keeps what it has found in flinfo.
 */
extern void mk_outbox_send(TriggerData *trigger, FmgrInfo *flinfo);

#endif /* MK_OUTBOX_H */
