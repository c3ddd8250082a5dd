/*
 * mk_wakeup.h
 *		Waking sessions that wait for what another session commits.
 *
 * Works only if the library is in shared_preload_libraries.  Without, no
 * session is woken, and a session that waits looks again now and then.
 */
#ifndef MK_WAKEUP_H
#define MK_WAKEUP_H

/* To be called once, in _PG_init, after mk_shmem_init. */
extern void mk_wakeup_init(void);

/* Whether sessions are woken. */
extern bool mk_wakeup_is_on(void);

/*
 * What a session can wait for: records in a partition, or a change to a
 * group.  It is a hash: two channels may be the same, and then sessions are
 * woken for nothing.
 */
typedef uint32 MkChannel;

extern MkChannel mk_wakeup_partition(int32 topic_id, int32 partition);
extern MkChannel mk_wakeup_group(int32 group_no);

/*
 * Listens to these channels, and to no others any more: from now on the
 * session's latch is set when one of them is notified.  True if it did not
 * listen to exactly these before: then the caller has to look for what was
 * committed meanwhile.
 *
 * "group_no" is 0, or the share group of a worker: of the workers of a group a
 * notification wakes one.
 */
extern bool mk_wakeup_listen(const MkChannel *channels, int n, int32 group_no);

/*
 * Whether a channel was notified since the last call.  The caller has to look
 * for the reason after this call.  The latch itself does not tell, since other
 * code that waits in the session resets it.
 */
extern bool mk_wakeup_take(void);

/*
 * It has looked for the reason of what it has taken, and found nothing.  Otherwise
 * mk_wakeup_stop(), which also comes after an error, wakes another worker.
 */
extern void mk_wakeup_looked(void);

/* Listens no more; harmless if the session does not listen. */
extern void mk_wakeup_stop(void);

/*
 * Wakes the sessions of this database that listen to the channel.  To be
 * called when what they wait for is visible to all.  Cannot fail.
 */
extern void mk_wakeup_notify(MkChannel channel);

/* Wakes one of the workers that listen for a share group.  Cannot fail. */
extern void mk_wakeup_notify_share(int32 group_no);

/*
 * The same whenever locks of this transaction have been released: at its end, and
 * when a savepoint is rolled back.
 */
extern void mk_wakeup_when_released(int32 group_no);

/* mk_wakeup_notify() when the transaction has ended, however it does. */
extern void mk_wakeup_at_end(MkChannel channel);

#endif /* MK_WAKEUP_H */
