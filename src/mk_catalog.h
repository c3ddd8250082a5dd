/*
 * mk_catalog.h
 *		The catalog: topics, the log starts of their partitions, the segments
 *		that there should be, and groups.
 */
#ifndef MK_CATALOG_H
#define MK_CATALOG_H

#include "access/htup.h"
#include "datatype/timestamp.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

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

typedef struct MkGroup
{
	int32 group_no;
	NameData owner; /* a role's name */
} MkGroup;

/* The relations that the extension's schema has. */
typedef enum MkRelation
{
	MK_REL_TOPIC,
	MK_REL_TOPIC_PKEY,
	MK_REL_TOPIC_REL_KEY,
	MK_REL_TOPIC_ID_SEQ,
	MK_REL_PARTITION,
	MK_REL_PARTITION_PKEY,
	MK_REL_SEGMENT,
	MK_REL_SEGMENT_PKEY,
	MK_REL_GROUP,
	MK_REL_GROUP_ID_KEY,
	MK_REL_GROUP_NO_SEQ,
	MK_REL_GROUP_PROGRESS,
	MK_REL_GROUP_PROGRESS_PKEY,
	MK_NUM_RELS
} MkRelation;

/* To be called once, in _PG_init. */
extern void mk_catalog_init(void);

/* The OID of one of the extension's relations; cached. */
extern Oid mk_catalog_relid(MkRelation which);

/* The OID of the schema of the topics, or of the tables below them. */
extern Oid mk_catalog_topics_namespace(void);
extern Oid mk_catalog_data_namespace(void);

/*
 * The topic whose table is relid, NULL if none.  Looks newer than any
 * snapshot, as do all functions here that take none.
 */
extern MkTopic *mk_catalog_topic(Oid relid);

/* The same by its number. */
extern MkTopic *mk_catalog_topic_by_id(int32 topic_id);

/*
 * 42704 if the topic was dropped since it had this number, and maybe made
 * again.  Accepts invalidations.
 */
extern void mk_catalog_check_topic(const MkTopic *topic, int32 topic_id);

/* Counts up whenever a topic or a role's membership may have changed. */
extern uint64 mk_catalog_generation(void);

/* Writes a new topic's row; the number comes from mk_catalog_new_topic_id. */
extern int32 mk_catalog_new_topic_id(void);
extern void
mk_catalog_topic_insert(int32 topic_id, Oid relid, int32 partitions,
						const char *partitioner, int64 segment_records,
						int32 max_message_bytes, TimestampTz created_at);
/* Changes a topic's numbers; the caller holds its table's lock. */
extern void mk_catalog_topic_update(const MkTopic *topic, int32 partitions,
									int32 max_message_bytes);
/* Removes all rows about a topic, also those of its groups' progress. */
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

extern bool mk_catalog_group(const char *group_id, MkGroup *group);
/* The caller holds mk_lock_group_name. */
extern void mk_catalog_group_insert(const char *group_id, const char *owner,
									MkGroup *group);

#endif /* MK_CATALOG_H */
