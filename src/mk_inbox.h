/*
 * mk_inbox.h
 *		Idempotent consumers: events that were accepted.
 */
#ifndef MK_INBOX_H
#define MK_INBOX_H

#include "nodes/pg_list.h"

/*
 * True the first time that the consumer accepts the event, false for a repeat;
 * MK100 for one with another payload.  Waits for a session that accepts it for
 * the first time.  payload may be NULL: then it is not compared.
 */
extern bool mk_inbox_accept(const char *consumer, const char *event_id,
							struct varlena *payload);

/*
 * Gives the consumer to another role: 42704 if there is no such consumer or role,
 * 42501 as mk_role_check_give.
 */
extern void mk_inbox_set_owner(const char *consumer, const char *owner);

/* mk_role_look for the owners of consumers. */
extern List *mk_inbox_look(List *missing);

/* Removes some events that are too old; true if there are more. */
extern bool mk_inbox_clean(void);

#endif /* MK_INBOX_H */
