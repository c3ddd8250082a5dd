/*
 * mk_catalog.h
 *		The catalog of topics: the log starts of their partitions, and the
 *		segments that there should be.
 */
#ifndef MK_CATALOG_H
#define MK_CATALOG_H

#include "access/attnum.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"

#include "mk_option.h"

/* To be called once, in _PG_init. */
extern void mk_catalog_init(void);

/*
 * The topic whose table is relid, NULL if none.  Looks newer than any
 * snapshot, as do all functions here that take none.
 */
extern MkTopic *mk_catalog_topic(Oid relid);

/* The same by its name, without regard to rights. */
extern MkTopic *mk_catalog_topic_by_name(const char *name);

/* The same by its number. */
extern MkTopic *mk_catalog_topic_by_id(int32 topic_id);

/*
 * 42704 if the topic was dropped since it had this number, and maybe made
 * again.  Accepts invalidations.
 */
extern void mk_catalog_check_topic(const MkTopic *topic, int32 topic_id);

/* Whether a column of a topic's table is NOT NULL. */
extern bool mk_catalog_is_not_null(Oid relid, AttrNumber column);

/* Counts up whenever a topic or a role's membership may have changed. */
extern uint64 mk_catalog_generation(void);

/* Writes a new topic's row.  The number comes from MK_REL_TOPIC_ID_SEQ. */
extern void mk_catalog_topic_insert(MkTopicRow *row);
/* Changes one column; the caller holds the lock of the topic's table. */
extern void mk_catalog_topic_set(const MkTopic *topic, MkTopicColumn column,
								 Datum value, bool isnull);
/* The numbers of all topics, ascending. */
extern List *mk_catalog_topic_ids(void);
/* Removes all rows about a topic but those of groups. */
extern void mk_catalog_topic_delete(int32 topic_id);

/*
 * Rows of a partition.  Whoever changes them holds mk_lock_changing, and sends
 * an invalidation of the topic, so mk_catalog_generation tells when they may
 * have changed.
 */
extern void
mk_catalog_partition_insert(const MkTopic *topic, int32 partition, Oid table);
/* The partition's table, InvalidOid if there is no such partition. */
/*
 * Whether the partition's log is known to have what groups and producers have
 * noted of it; and notes that it has.  So it is of a partition that was made
 * here, and not of one that was restored.
 */
extern bool mk_catalog_is_settled(const MkTopic *topic, int32 partition);
extern void mk_catalog_settle(const MkTopic *topic, int32 partition);

extern Oid mk_catalog_partition_table(const MkTopic *topic, int32 partition);
extern int64 mk_catalog_log_start(const MkTopic *topic, int32 partition);
/* The caller holds mk_lock_log_start. */
extern void mk_catalog_log_start_update(const MkTopic *topic, int32 partition,
										int64 log_start);

extern void mk_catalog_segment_insert(const MkTopic *topic, int32 partition,
									  int64 segment, Oid table);
/* The segment's table, InvalidOid if there is no such segment. */
extern Oid
mk_catalog_segment_table(const MkTopic *topic, int32 partition, int64 segment);
/* The greatest number of a segment, -1 if there is none. */
extern int64 mk_catalog_newest_segment(const MkTopic *topic, int32 partition);
/* The next one from that number on, -1 if there is none. */
extern int64
mk_catalog_next_segment(const MkTopic *topic, int32 partition, int64 segment);
/* All of them, ascending, palloc'd in *segments; returns how many. */
extern int
mk_catalog_segments(const MkTopic *topic, int32 partition, int64 **segments);
/* The same, with the table of each in *tables, if it is not NULL. */
extern int mk_catalog_segment_tables(const MkTopic *topic, int32 partition,
									 int64 **segments, Oid **tables);
extern void
mk_catalog_segment_delete(const MkTopic *topic, int32 partition, int64 segment);

#endif /* MK_CATALOG_H */
