/*
 * mk_inbox.h
 *		Idempotent consumers: events that were accepted.
 */
#ifndef MK_INBOX_H
#define MK_INBOX_H

/*
 * True the first time that the consumer accepts the event, false for a repeat;
 * MK100 for one with another payload.  Waits for a session that accepts it for
 * the first time.  payload may be NULL: then it is not compared.
 */
extern bool mk_inbox_accept(const char *consumer, const char *event_id,
							struct varlena *payload);

/* Removes some events that are too old; true if there are more. */
extern bool mk_inbox_clean(void);

#endif /* MK_INBOX_H */
