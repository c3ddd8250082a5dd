/*
 * mk_inbox.h
 *		Idempotent consumers: events that were accepted.
 */
#ifndef MK_INBOX_H
#define MK_INBOX_H

#include "nodes/pg_list.h"

/*
 * Accepts an event: true if the consumer accepts it for the first time, false
 * for a repeat.  MK100 for a repeat with another payload; if "payload" is
 * NULL, none is compared.  42501 for another role's consumer; the first event
 * makes the consumer, for the current user.  Waits for a session that accepts
 * the same event for the first time.
 */
extern bool mk_inbox_accept(const char *consumer, const char *event_id,
							struct varlena *payload);

/*
 * Gives the consumer to another role: 42704 if there is no such consumer or
 * role, 42501 as mk_role_check_give.
 */
extern void mk_inbox_set_owner(const char *consumer, const char *owner);

/* mk_role_look for the owners of all consumers. */
extern List *mk_inbox_look(List *missing);

/*
 * Removes events that minikafka.inbox_retention has passed for, up to a limit
 * for one step; true if there may be more.
 */
extern bool mk_inbox_clean(void);

#endif /* MK_INBOX_H */
