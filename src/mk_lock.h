/*
 * mk_lock.h
 *		Every lock tag of the extension, and what each of them guards.
 *
 * The tags are advisory locks (LOCKTAG_ADVISORY) in a class that the SQL
 * functions for advisory locks cannot reach.  So they show in pg_locks
 * (locktype "advisory", objsubid >= 19776), take part in deadlock detection,
 * and obey lock_timeout and cancellation.  All are released at the end of the
 * transaction, or when the subtransaction that took them rolls back, unless
 * stated otherwise.
 *
 * A committing transaction takes them in this order: that topics are in use,
 * log starts, groups, group partitions, what groups need, producers, the
 * schedule, partitions to sequence,
 * each kind in ascending order; the maker lock after its sequencing lock.  Two
 * transactions that keep to it can never deadlock.  Before the commit, at the
 * call, only append() takes the lock of its producer and that of its
 * partition, redrive() that a topic is in use and its redrive lock, and
 * drop_topic() the locks of all partitions.  A step of maintenance
 * takes: that the topic is in use, the cleaning lock of a partition, its log
 * start; or that topics are in use, a group; or a producer.  If a log has lost
 * records, group partitions and producers come after the cleaning lock, and in
 * a transaction that sends before the locks of its commit: see mk_stale.c.
 * The lock for numbers is released before the session waits for another one.
 */
#ifndef MK_LOCK_H
#define MK_LOCK_H

#include "access/transam.h"
#include "port/atomics.h"

/*
 * The kinds of locks.  The number of each is what pg_locks shows as objsubid,
 * and its comment says what a holder of it does, in the words of
 * doc/operations.md.  Numbers are only ever added, at the end: that of a kind
 * must be the same in all versions of the library that a server may run, and
 * in the view minikafka.group_members.  test/locks.sh compares them.
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
	MK_LOCK_NUMBERS = 19790,
	/* has records of a slot of a share group */
	MK_LOCK_SHARE_SLOT = 19791,
	/* is making a checkpoint of a share group in a partition */
	MK_LOCK_SHARE_CHECKPOINT = 19792,
	/*
	 * is sending dead letters of the topic back: redrive(); or is releasing a key
	 * that they park
	 */
	MK_LOCK_REDRIVE = 19793,
	/*
	 * is making a group need more of a topic: it goes back, or begins to read; or
	 * is removing what groups have read
	 */
	MK_LOCK_NEEDED = 19794,
	/* is scheduling records; or is moving the start of the schedule */
	MK_LOCK_SCHEDULE = 19795,
	/* is sending scheduled records that are due */
	MK_LOCK_DELIVERY = 19796
} MkLockKind;

/*
 * "I am sequencing": held while records get offsets and are written.
 * Conflicts with itself.  The first function tries for a short while, and returns
 * whether it took the lock; it does not try while *held is not 0, unless held is
 * NULL.  The second waits.  See mk_tail.h, whose functions take it for those that
 * write records.
 */
extern bool
mk_lock_sequence_try(int32 topic_id, int32 partition, pg_atomic_uint32 *held);
extern void mk_lock_sequence(int32 topic_id, int32 partition);

/*
 * Releases one hold of the sequencing lock before the end of the transaction.
 */
extern void mk_lock_sequence_release(int32 topic_id, int32 partition);

/*
 * "I have records in flight": from before the sequencing lock is released to
 * the end of the transaction.  Shared; no session ever waits for a mode that
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
 * "I am changing the catalog rows of this partition", for backends that
 * remember them: shared, never waited for, held to the end of the transaction,
 * when the invalidation has been sent.  So if no session holds it, and
 * invalidations are accepted after that was asked, what is remembered holds.
 */
extern void mk_lock_changing(int32 topic_id, int32 partition);
extern bool mk_lock_is_changing(int32 topic_id, int32 partition);

/*
 * "I am writing rows about this topic other than its records", shared, to the
 * end of the transaction; and "I am dropping it", which waits for those.
 */
extern void mk_lock_topic_in_use(int32 topic_id);
extern bool mk_lock_topic_in_use_try(int32 topic_id);
extern void mk_lock_topic_drop(int32 topic_id);

/* "I am moving the log start." */
extern void mk_lock_log_start(int32 topic_id, int32 partition);

/*
 * "I am making a group need more of this topic than before", shared; and,
 * exclusively, "I am moving a log start by what groups need".  Waits; or only
 * tries, and returns false if another session holds the lock.
 */
extern bool mk_lock_needed(int32 topic_id, bool exclusive, bool wait);

/*
 * "I am taking a number from this sequence", held only for that moment; the
 * first argument is the MkRelation of the sequence.  A session that only takes
 * the next number may share the lock; one that may advance the sequence past
 * others holds it exclusively.
 */
extern void mk_lock_numbers(int32 sequence, bool exclusive);
extern void mk_lock_numbers_release(int32 sequence, bool exclusive);

/*
 * "I am committing records that I have scheduled", shared, to the end of the
 * transaction; and "I am moving the start of the schedule", which is only tried
 * for, in a transaction that does nothing else.
 */
extern void mk_lock_schedule(void);
extern bool mk_lock_schedule_move_try(void);

/* "I am sending scheduled records", only tried for, to the end of the transaction. */
extern bool mk_lock_delivery_try(void);

/* "I am creating a topic of this name." */
extern void mk_lock_topic_name(const char *name);

/*
 * "I am using this group" (its members and their assignment must stay as they
 * are to the end of the transaction), or, exclusively, "I am changing it".  The
 * tag is a hash of the name; several are taken in the order of their tags.
 */
extern void mk_lock_group(const char *name, bool exclusive);
extern uint64 mk_lock_group_tag(const char *name);

/* Releases the group lock, before anything was done under it. */
extern void mk_lock_group_release(const char *name, bool exclusive);

/*
 * "I am working for this member": shared, never waited for, taken when the
 * member polls or commits.
 */
extern void mk_lock_member(int32 member_no);
extern bool mk_lock_member_is_held(int32 member_no);

/*
 * "This member polled", or was heard of otherwise, "at this time", in seconds:
 * shared, never waited for.  The session holds it, and a rollback does not
 * release it.  mk_lock_sign returns false if there is no room for a lock.
 * mk_lock_sign_release does nothing if the lock was released otherwise, as
 * DISCARD ALL does.
 */
extern bool mk_lock_sign(int32 member_no, bool polled, uint32 seconds);
extern bool mk_lock_sign_is_mine(int32 member_no, bool polled, uint32 seconds);
extern void mk_lock_sign_release(int32 member_no, bool polled, uint32 seconds);

/*
 * The latest such times of all sessions, 0 if there are none; a poll also
 * counts as being heard of.  Looks at all locks of the server.
 */
extern void mk_lock_signs(int32 member_no, uint32 *seen, uint32 *polled);

/*
 * "I am writing how far this group has come in this partition."  The tag is a
 * hash; several are taken in the order of their tags.
 */
extern void
mk_lock_group_partition(const char *group_id, int32 topic_id, int32 partition);
extern uint64 mk_lock_group_partition_tag(const char *group_id, int32 topic_id,
										  int32 partition);

/*
 * "I am sending for this producer", to the end of the transaction.  The tag is
 * a hash of the name; several are taken in the order of their tags.
 */
extern void mk_lock_producer(const char *name);
extern uint64 mk_lock_producer_tag(const char *name);

/*
 * "I have records of this slot of a share group", to the end of the transaction
 * or of the savepoint: only tried, at the call.  A slot that the caller has
 * already is taken once more, and must be released as often.
 */
extern bool mk_lock_share_slot_try(int32 group_no, int32 topic_id,
								   int32 partition, uint32 slot);
extern void mk_lock_share_slot_release(int32 group_no, int32 topic_id,
									   int32 partition, uint32 slot);

/*
 * Whether a session has the slot; and the process id of that session, 0 if there
 * is none.
 */
extern bool mk_lock_share_slot_is_held(int32 group_no, int32 topic_id,
									   int32 partition, uint32 slot);
extern int mk_lock_share_slot_holder(int32 group_no, int32 topic_id,
									 int32 partition, uint32 slot);

/* "I am making a checkpoint", to the end of the transaction: only tried. */
extern bool
mk_lock_share_checkpoint_try(int32 group_no, int32 topic_id, int32 partition);

/*
 * How many locks the server's lock table has room for, at least; and the
 * max_locks_per_transaction that makes room for so many.
 */
extern int64 mk_lock_room(void);
extern int64 mk_lock_setting(int64 needed);

/*
 * "I am removing records of this partition", in a step of maintenance.  Waits;
 * or only tries, and returns false if another session holds the lock.
 */
extern bool mk_lock_cleaning(int32 topic_id, int32 partition, bool wait);

/*
 * "I am sending dead letters of this topic back", from the call to the end of
 * the transaction.
 */
extern void mk_lock_redrive(int32 topic_id);

/*
 * Whether this transaction (for a sign, this session) holds a lock: for Assert
 * only.  The exclusive lock of a group counts as the shared one too.
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
extern bool mk_lock_redrive_is_mine(int32 topic_id);
extern bool mk_lock_schedule_is_mine(bool move);
extern bool mk_lock_delivery_is_mine(void);
extern bool mk_lock_share_slot_is_mine(int32 group_no, int32 topic_id,
									   int32 partition, uint32 slot);
extern bool mk_lock_share_checkpoint_is_mine(int32 group_no, int32 topic_id,
											 int32 partition);
#endif

#endif /* MK_LOCK_H */
