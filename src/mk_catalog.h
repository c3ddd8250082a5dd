/*
 * mk_catalog.h
 *		The catalog of topics: the log starts of their partitions, and the
 *		segments that there should be.
 */
#ifndef MK_CATALOG_H
#define MK_CATALOG_H

#include "datatype/timestamp.h"

#include "mk_relation.h"

typedef enum MkPartitioner
{
	MK_PARTITIONER_MURMUR2,
	MK_PARTITIONER_MD5
} MkPartitioner;

/*
 * A topic, as the catalog has it.  The cache's own copy: valid until the end
 * of the session, but its contents may change whenever invalidations are
 * processed (a lock, a table opened).  "relid" never changes.
 */
typedef struct MkTopic
{
	Oid relid; /* hash key: its table */
	bool valid; /* else to be read again */
	int32 topic_id;
	int32 npartitions;
	int32 max_message_bytes;
	MkPartitioner partitioner;
	int64 segment_records;
	NameData name;
	uint32 sticky; /* where the session's next sticky partition is */
	/* rights that were found, whose and when; see mk_topic_check_right */
	Oid acl_user;
	uint32 acl_mode;
	uint64 acl_generation;
} MkTopic;

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

/* Counts up whenever a topic or a role's membership may have changed. */
extern uint64 mk_catalog_generation(void);

/* Writes a new topic's row; the number comes from MK_REL_TOPIC_ID_SEQ. */
extern void
mk_catalog_topic_insert(int32 topic_id, Oid relid, int32 partitions,
						const char *partitioner, int64 segment_records,
						int32 max_message_bytes, TimestampTz created_at);
/* Changes a topic's numbers; the caller holds its table's lock. */
extern void mk_catalog_topic_update(const MkTopic *topic, int32 partitions,
									int32 max_message_bytes);
/* Removes all rows about a topic but those of groups. */
extern void mk_catalog_topic_delete(int32 topic_id);

/*
 * Rows of a partition.  Whoever changes them holds mk_lock_changing, and sends
 * an invalidation of the topic, so mk_catalog_generation tells when they may
 * have changed.
 */
extern void mk_catalog_partition_insert(const MkTopic *topic, int32 partition);
extern int64 mk_catalog_log_start(const MkTopic *topic, int32 partition);
/* The caller holds mk_lock_log_start. */
extern void mk_catalog_log_start_update(const MkTopic *topic, int32 partition,
										int64 log_start);

extern void
mk_catalog_segment_insert(const MkTopic *topic, int32 partition, int64 segment);
/* The greatest number of a segment, -1 if there is none. */
extern int64 mk_catalog_newest_segment(const MkTopic *topic, int32 partition);
/* All of them, ascending, palloc'd in *segments; returns how many. */
extern int
mk_catalog_segments(const MkTopic *topic, int32 partition, int64 **segments);

#endif /* MK_CATALOG_H */
