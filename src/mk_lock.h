/*
 * mk_lock.h
 *		Every lock tag of the extension, and what each of them guards.
 *
 * The tags are advisory locks (LOCKTAG_ADVISORY) in a class that the SQL
 * functions for advisory locks cannot reach, so they show in pg_locks
 * (locktype "advisory", objsubid >= 19776), take part in deadlock detection,
 * and obey lock_timeout and cancel.  All are let go at the end of the
 * transaction or of the subtransaction that took them, unless said otherwise.
 *
 * The order in which a transaction takes them while it commits: that topics are
 * in use, log starts, groups, group partitions, producers, partitions to
 * sequence, each ascending; the maker lock after its sequencing lock.  Two
 * transactions that keep to it can never deadlock.  Before, at the call, only
 * append() takes its producer's and its partition's lock, and drop_topic() those
 * of all partitions.  A step of maintenance takes: that the topic is in use, the
 * cleaning lock of a partition, its log start; or that topics are in use, a
 * group; or a producer.  Where a log has lost records, group partitions and
 * producers come after the cleaning lock, and in a transaction that sends before
 * the locks of its commit: see mk_stale.c.  The lock for numbers is let go before
 * another one is waited for.
 */
#ifndef MK_LOCK_H
#define MK_LOCK_H

#include "access/transam.h"

/*
 * The kinds of locks: the number of each, which pg_locks shows as objsubid, and
 * what a holder of it does, as doc/operations.md says it.  Numbers are only ever
 * added, at the end: that of a kind must be the same in all versions of the
 * library that a server may run, and in the view minikafka.group_members.
 * test/locks.sh compares them.
 */
typedef enum MkLockKind
{
	/* is writing records, or has called append(): the sequencing lock */
	MK_LOCK_SEQUENCE = 19776,
	/* has records in flight */
	MK_LOCK_IN_FLIGHT = 19777,
	/* is creating a segment */
	MK_LOCK_MAKER = 19778,
	/* is changing catalog rows of the partition */
	MK_LOCK_CHANGING = 19779,
	/* is writing other rows about the topic; or is dropping it */
	MK_LOCK_TOPIC = 19780,
	/* is moving the log start */
	MK_LOCK_LOG_START = 19781,
	/* is creating a topic */
	MK_LOCK_TOPIC_NAME = 19782,
	/* is committing in a group; or is changing or creating it */
	MK_LOCK_GROUP = 19783,
	/* is committing an offset or a position */
	MK_LOCK_GROUP_PARTITION = 19784,
	/* has polled or committed for a member */
	MK_LOCK_MEMBER = 19785,
	/*
	 * has polled for a member at that time, which its heartbeats do not show;
	 * the session keeps it when the transaction rolls back
	 */
	MK_LOCK_MEMBER_POLLED = 19786,
	/* is committing for a producer, or has called append() for it */
	MK_LOCK_PRODUCER = 19787,
	/* is removing records of the partition: retention, compaction */
	MK_LOCK_CLEANING = 19788,
	/* as 19786, for calls of a member other than poll() */
	MK_LOCK_MEMBER_SEEN = 19789,
	/* is taking a number from a sequence, for that moment */
	MK_LOCK_NUMBERS = 19790
} MkLockKind;

/*
 * "I am sequencing": held while records are given offsets and written.  Self
 * exclusive.  Tries for a short while before it sleeps in the lock manager.
 */
extern void mk_lock_sequence(int32 topic_id, int32 partition);

/* Lets one hold of the sequencing lock go, before the end. */
extern void mk_lock_sequence_release(int32 topic_id, int32 partition);

/*
 * "I have records in flight": from before the sequencing lock is let go to
 * the end of the transaction.  Shared; nobody ever waits for a mode that
 * conflicts with it.
 */
extern void mk_lock_in_flight(int32 topic_id, int32 partition);

/*
 * The transaction ids of the other holders of the in-flight lock, palloc'd in
 * *xids.  Returns how many.  Always none on a standby.
 */
extern int mk_lock_in_flight_holders(int32 topic_id, int32 partition,
									 TransactionId **xids);

/* "I am making a segment": waits, or only tries. */
extern void mk_lock_maker(int32 topic_id, int32 partition);
extern bool mk_lock_maker_try(int32 topic_id, int32 partition);

/*
 * "I am changing the catalog rows of this partition", for those who remember
 * them: shared, never waited for, held to the end, when the invalidation has
 * been sent.  So if nobody holds it, and invalidations are accepted after
 * having asked, what is remembered holds.
 */
extern void mk_lock_changing(int32 topic_id, int32 partition);
extern bool mk_lock_is_changing(int32 topic_id, int32 partition);

/*
 * "I am writing rows about this topic other than its records", shared, to the
 * end; and "I am dropping it", which waits for those.
 */
extern void mk_lock_topic_in_use(int32 topic_id);
extern bool mk_lock_topic_in_use_try(int32 topic_id);
extern void mk_lock_topic_drop(int32 topic_id);

/* "I am moving the log start." */
extern void mk_lock_log_start(int32 topic_id, int32 partition);

/*
 * "I am taking a number from this sequence", for as long as that takes; the
 * argument is the sequence's MkRelation.
 */
extern void mk_lock_numbers(int32 sequence);
extern void mk_lock_numbers_release(int32 sequence);

/* "I am creating a topic of this name." */
extern void mk_lock_topic_name(const char *name);

/*
 * "I am using this group" (its members and their assignment are to stay as they
 * are to the end), or, exclusively, "I am changing it".  The tag is a hash of
 * the name; take several in the order of their tags.
 */
extern void mk_lock_group(const char *name, bool exclusive);
extern uint64 mk_lock_group_tag(const char *name);

/* Lets the group lock go, before anything was done under it. */
extern void mk_lock_group_release(const char *name, bool exclusive);

/*
 * "I am at work for this member": shared, never waited for, taken when it
 * polls or commits.
 */
extern void mk_lock_member(int32 member_no);
extern bool mk_lock_member_is_held(int32 member_no);

/*
 * "This member polled", or was heard of otherwise, "at this time", in seconds:
 * shared, never waited for, and the session's: a rollback does not let it go.
 * False if there is no room for a lock.  What somebody else has let go, as
 * DISCARD ALL does, need not be released.
 */
extern bool mk_lock_sign(int32 member_no, bool polled, uint32 seconds);
extern bool mk_lock_sign_is_mine(int32 member_no, bool polled, uint32 seconds);
extern void mk_lock_sign_release(int32 member_no, bool polled, uint32 seconds);

/*
 * The latest such times of all sessions, 0 if there is none; polling counts as
 * being heard of.  Looks at all locks.
 */
extern void mk_lock_signs(int32 member_no, uint32 *seen, uint32 *polled);

/*
 * "I am writing how far this group has come in this partition."  The tag is a
 * hash; take several in the order of their tags.
 */
extern void
mk_lock_group_partition(const char *group_id, int32 topic_id, int32 partition);
extern uint64 mk_lock_group_partition_tag(const char *group_id, int32 topic_id,
										  int32 partition);

/*
 * "I am sending for this producer", to the end.  The tag is a hash of the name;
 * take several in the order of their tags.
 */
extern void mk_lock_producer(const char *name);
extern uint64 mk_lock_producer_tag(const char *name);

/*
 * How many locks there is room for in the server's lock table, at least; and the
 * max_locks_per_transaction that makes room for so many.
 */
extern int64 mk_lock_room(void);
extern int64 mk_lock_setting(int64 needed);

/* "I am removing records of this partition", in a step: waits, or only tries. */
extern bool mk_lock_cleaning(int32 topic_id, int32 partition, bool wait);

/*
 * Whether this transaction (or for a sign, this session) holds a lock: for
 * Assert only.  Of a group, the exclusive lock counts as the shared one too.
 */
#ifdef USE_ASSERT_CHECKING
extern bool mk_lock_sequence_is_mine(int32 topic_id, int32 partition);
extern bool mk_lock_in_flight_is_mine(int32 topic_id, int32 partition);
extern bool mk_lock_maker_is_mine(int32 topic_id, int32 partition);
extern bool mk_lock_changing_is_mine(int32 topic_id, int32 partition);
extern bool mk_lock_topic_in_use_is_mine(int32 topic_id);
extern bool mk_lock_topic_drop_is_mine(int32 topic_id);
extern bool mk_lock_log_start_is_mine(int32 topic_id, int32 partition);
extern bool mk_lock_topic_name_is_mine(const char *name);
extern bool mk_lock_group_is_mine(const char *name, bool exclusive);
extern bool mk_lock_group_partition_is_mine(const char *group_id,
											int32 topic_id, int32 partition);
extern bool mk_lock_member_is_mine(int32 member_no);
extern bool mk_lock_producer_is_mine(const char *name);
extern bool mk_lock_cleaning_is_mine(int32 topic_id, int32 partition);
#endif

#endif /* MK_LOCK_H */
