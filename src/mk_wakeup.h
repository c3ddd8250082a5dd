/*
 * mk_wakeup.h
 *		Waking sessions that wait for what another session commits.
 *
 * Works only where the library is in shared_preload_libraries; elsewhere nobody
 * is woken, and who waits looks again now and then.
 */
#ifndef MK_WAKEUP_H
#define MK_WAKEUP_H

/* To be called once, in _PG_init, after mk_shmem_init. */
extern void mk_wakeup_init(void);

/* Whether sessions are woken. */
extern bool mk_wakeup_is_on(void);

/*
 * What a session can wait for: records in a partition, or a change to a group.
 * Two of them are rarely the same; then some are woken for nothing.
 */
typedef uint32 MkChannel;

extern MkChannel mk_wakeup_partition(int32 topic_id, int32 partition);
extern MkChannel mk_wakeup_group(int32 group_no);

/*
 * From now on the session's latch is set when one of these channels is notified,
 * in place of those of before.  True if it did not listen to just these before:
 * then what was committed meanwhile has to be looked for after this call.
 */
extern bool mk_wakeup_listen(const MkChannel *channels, int n);

/*
 * Whether one was notified since the last call; what that was for has to be
 * looked for after this one.  The latch does not tell: whoever else waits for
 * something resets it.
 */
extern bool mk_wakeup_take(void);

/* No more; harmless if it does not listen. */
extern void mk_wakeup_stop(void);

/*
 * Wakes the sessions of this database that listen to the channel.  To be called
 * after what they wait for is visible to all; cannot fail.
 */
extern void mk_wakeup_notify(MkChannel channel);

/* The same when the transaction has ended, however it does. */
extern void mk_wakeup_at_end(MkChannel channel);

#endif /* MK_WAKEUP_H */
