/*
 * mk_topic.h
 *		Topics: looking them up, checking rights, choosing partitions, and
 *		deleting records.
 */
#ifndef MK_TOPIC_H
#define MK_TOPIC_H

#include "nodes/parsenodes.h"
#include "utils/timestamp.h"

#include "mk_catalog.h"
#include "mk_record.h"

/*
 * The topic of this name, which need not end in a NUL; see MkTopic for how
 * long it lives.  42704 if there is none, 42501 unless the user has one of the
 * rights of "mode" on its table (ACL_INSERT to produce, ACL_SELECT to consume,
 * ACL_DELETE to delete records), 0A000 if row-level security applies to the
 * user.
 */
extern MkTopic *mk_topic_get(const char *name, int length, AclMode mode);

/* The same, but members of pg_monitor need no right. */
extern MkTopic *
mk_topic_get_monitored(const char *name, int length, AclMode mode);

/* Whether the user has this right to at least one topic, or is a superuser. */
extern bool mk_topic_any_allows(AclMode mode);

/* 42501 or 0A000 unless the user may read the topic. */
extern void mk_topic_check_readable(MkTopic *topic);

/*
 * 42501 or 0A000 unless "user" has one of the rights of "mode" to the topic;
 * 42704 if it was dropped.
 */
extern void mk_topic_check_allows(MkTopic *topic, Oid user, AclMode mode);

/* Whether the user may read the records of the topic, as far as rights decide. */
extern bool mk_topic_may_read(const MkTopic *topic);

/* Whether the user may see the offsets of the topic. */
extern bool mk_topic_is_visible(const MkTopic *topic);

/* 42704 unless the topic has this partition. */
extern void mk_topic_check_partition(const MkTopic *topic, int32 partition);

/* The partition of a key. */
extern int32
mk_topic_partition_for_key(const MkTopic *topic, const char *key, int length);

/*
 * 54000 for a record that is too large; key, value and headers count.  22023
 * for a record without a key if the topic is compacted.
 */
extern void mk_topic_check_record(const MkTopic *topic, const MkRecord *record);

/* The partition of a record whose producer did not name one. */
extern int32 mk_topic_choose_partition(MkTopic *topic, const MkRecord *record);

/*
 * The topic of this name, with a lock against other changes, as that of ALTER
 * TABLE.  42501 unless the user owns the topic.  If there is none, 42704, or
 * with "missing_ok" a NOTICE and NULL.
 */
extern MkTopic *mk_topic_lock_owned(const char *name, bool missing_ok);

/* The same without the lock, for operations of several transactions. */
extern MkTopic *mk_topic_get_owned(const char *name);

/*
 * Registers that the transaction writes rows about the topic other than its
 * records.  The commit then takes mk_lock_topic_in_use, and so waits for a
 * session that drops the topic, before it takes locks that others wait for.
 */
extern void mk_topic_defer_use(int32 topic_id);

/*
 * Moves the log start at once; does nothing if it is there already or beyond.
 * The caller holds mk_lock_log_start.
 */
extern void
mk_topic_move_log_start(const MkTopic *topic, int32 partition, int64 log_start);

/*
 * Registers that the commit moves the log start to "before_offset" (-1: to the
 * end).  Returns the new log start.  MK001 beyond the end.
 */
extern int64
mk_topic_delete_records(MkTopic *topic, int32 partition, int64 before_offset);

#endif /* MK_TOPIC_H */
