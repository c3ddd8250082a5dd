/*
 * mk_catalog.h
 *		The catalog of topics: their options, the log starts of their
 *		partitions, and the list of their segments.
 */
#ifndef MK_CATALOG_H
#define MK_CATALOG_H

#include "access/attnum.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "mk_option.h"

/* Must be called once, in _PG_init. */
extern void mk_catalog_init(void);

/*
 * The topic whose table is relid, NULL if there is none; see MkTopic for how
 * long it lives.  This function, like all others here without a snapshot
 * argument, sees the latest committed state, not that of the transaction's
 * snapshot.
 */
extern MkTopic *mk_catalog_topic(Oid relid);

/* The topic of this name.  Checks no rights. */
extern MkTopic *mk_catalog_topic_by_name(const char *name);

/* The topic with this number. */
extern MkTopic *mk_catalog_topic_by_id(int32 topic_id);

/*
 * 42704 if the topic with this number was dropped, even if a new one took its
 * place.  Accepts invalidations.
 */
extern void mk_catalog_check_topic(const MkTopic *topic, int32 topic_id);

/* Whether a column of a topic's table is NOT NULL. */
extern bool mk_catalog_is_not_null(Oid relid, AttrNumber column);

/* Increases whenever a topic or a role's membership may have changed. */
extern uint64 mk_catalog_generation(void);

/* Inserts a topic's row; its number is from MK_REL_TOPIC_ID_SEQ. */
extern void mk_catalog_topic_insert(MkTopicRow *row);
/* Updates one column.  The caller holds the lock on the topic's table. */
extern void mk_catalog_topic_set(const MkTopic *topic, MkTopicColumn column,
								 Datum value, bool isnull);
/* The numbers of all topics, ascending, as a list of integers. */
extern List *mk_catalog_topic_ids(void);
/*
 * Removes the rows of a topic, except those of groups and producers.  The
 * caller holds mk_lock_topic_drop.
 */
extern void mk_catalog_topic_delete(int32 topic_id);

/*
 * Rows of partitions and segments.  The functions that change a log start or
 * the list of segments take mk_lock_changing and send an invalidation of the
 * topic.  So mk_catalog_generation() tells when these rows may have changed.
 */

/* Inserts a partition; it is settled. */
extern void
mk_catalog_partition_insert(const MkTopic *topic, int32 partition, Oid table);

/*
 * A partition is settled if it is known that no group and no producer has an
 * offset beyond the tail of its log.  A partition that was created in this
 * database is settled, one that was restored from a dump is not; see
 * mk_stale.h.  *own tells whether this transaction itself has found that out,
 * and may be rolled back.  The second function marks a partition as settled.
 */
extern bool
mk_catalog_is_settled(const MkTopic *topic, int32 partition, bool *own);
extern void mk_catalog_settle(const MkTopic *topic, int32 partition);

/* The partition's table, InvalidOid if there is no such partition. */
extern Oid mk_catalog_partition_table(const MkTopic *topic, int32 partition);
/* The log start, 0 if there is no such partition. */
extern int64 mk_catalog_log_start(const MkTopic *topic, int32 partition);
/* Updates the log start.  The caller holds mk_lock_log_start. */
extern void mk_catalog_log_start_update(const MkTopic *topic, int32 partition,
										int64 log_start);

/* Inserts a segment with its table. */
extern void mk_catalog_segment_insert(const MkTopic *topic, int32 partition,
									  int64 segment, Oid table);
/* The segment's table, InvalidOid if there is no such segment. */
extern Oid
mk_catalog_segment_table(const MkTopic *topic, int32 partition, int64 segment);
/* The number of the newest segment, -1 if there is none. */
extern int64 mk_catalog_newest_segment(const MkTopic *topic, int32 partition);
/* The first segment at or after "segment", -1 if there is none. */
extern int64
mk_catalog_next_segment(const MkTopic *topic, int32 partition, int64 segment);
/* All segments, ascending, palloc'd in *segments; returns their number. */
extern int
mk_catalog_segments(const MkTopic *topic, int32 partition, int64 **segments);
/* The same, with their tables, palloc'd in *tables unless that is NULL. */
extern int mk_catalog_segment_tables(const MkTopic *topic, int32 partition,
									 int64 **segments, Oid **tables);
/* Deletes the row of a segment, if there is one. */
extern void
mk_catalog_segment_delete(const MkTopic *topic, int32 partition, int64 segment);

#endif /* MK_CATALOG_H */
