/*
 * mk_topic.h
 *		Topics: finding one with a right to it, and what each transaction does.
 */
#ifndef MK_TOPIC_H
#define MK_TOPIC_H

#include "nodes/parsenodes.h"
#include "utils/timestamp.h"

#include "mk_catalog.h"
#include "mk_record.h"

/*
 * The topic of this name, which need not end in a NUL.  The caller must have
 * one of the rights of "mode" on its table (ACL_INSERT to produce, ACL_SELECT
 * to consume, ACL_DELETE to delete records), else 42501.  42704 if there is
 * none, 0A000 where row-level security would apply.
 */
extern MkTopic *mk_topic_get(const char *name, int length, AclMode mode);

/* Like it, for members of pg_monitor without any right. */
extern MkTopic *
mk_topic_get_monitored(const char *name, int length, AclMode mode);

/* Whether the caller has this right to some topic, or is a superuser. */
extern bool mk_topic_any_allows(AclMode mode);

/* 42501 or 0A000 unless the caller may read the topic. */
extern void mk_topic_check_readable(MkTopic *topic);

/* Whether the caller may see how far the topic's records go. */
extern bool mk_topic_is_visible(const MkTopic *topic);

/* 42704 unless the topic has this partition. */
extern void mk_topic_check_partition(const MkTopic *topic, int32 partition);

/* Where a key goes. */
extern int32
mk_topic_partition_for_key(const MkTopic *topic, const char *key, int length);

/*
 * 54000 for a record that is too large; it counts with key, value and headers.
 * 22023 for one without a key, where the topic is compacted.
 */
extern void mk_topic_check_record(const MkTopic *topic, const MkRecord *record);

/* The partition of a record for which none was asked. */
extern int32 mk_topic_choose_partition(MkTopic *topic, const MkRecord *record);

/*
 * 42501 unless the caller owns the topic; the topic, locked against other
 * changes as by ALTER TABLE.  NULL if there is none and missing_ok.
 */
extern MkTopic *mk_topic_lock_owned(const char *name, bool missing_ok);

/* The same without the lock, for what takes several transactions. */
extern MkTopic *mk_topic_get_owned(const char *name);

/*
 * Notes that the transaction writes rows about the topic other than its
 * records.  When it commits, it first waits for who drops the topic, before it
 * holds anything that others wait for.
 */
extern void mk_topic_defer_use(int32 topic_id);

/*
 * Moves the log start now, if that is forward; the transaction has locked it
 * with mk_lock_log_start.
 */
extern void
mk_topic_move_log_start(const MkTopic *topic, int32 partition, int64 log_start);

/*
 * Notes that the log start is to move to before_offset (-1: to the end) at
 * commit; the new log start.
 */
extern int64
mk_topic_delete_records(MkTopic *topic, int32 partition, int64 before_offset);

#endif /* MK_TOPIC_H */
