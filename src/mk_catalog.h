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

#include "mk_relation.h"

typedef enum MkPartitioner
{
	MK_PARTITIONER_MURMUR2,
	MK_PARTITIONER_MD5
} MkPartitioner;

/* What the values of a topic must be. */
typedef enum MkValueFormat
{
	MK_VALUE_BYTES,
	MK_VALUE_TEXT,
	MK_VALUE_JSON
} MkValueFormat;

/* "For ever" and "any number", of a topic's options. */
#define MK_UNLIMITED INT64CONST(-1)

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
	bool deletes; /* cleanup_policy: by age and size */
	bool compacts; /* cleanup_policy: superseded records */
	int64 retention; /* microseconds, or MK_UNLIMITED */
	int64 retention_bytes; /* or MK_UNLIMITED */
	int64 delete_retention; /* of tombstones, microseconds */
	int64 min_compaction_lag; /* microseconds, or -1: not set */
	Oid owner;
	MkValueFormat value_format;
	bool has_contract; /* see mk_contract.h */
	uint64 reading; /* another number each time that it is read */
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

/* Whether a column of a topic's table is NOT NULL. */
extern bool mk_catalog_is_not_null(Oid relid, AttrNumber column);

/* Counts up whenever a topic or a role's membership may have changed. */
extern uint64 mk_catalog_generation(void);

/* The columns of a topic's row, as in sql/parts/10_catalog.sql */
typedef enum MkTopicColumn
{
	MK_COLUMN_TOPIC_ID = 1,
	MK_COLUMN_REL,
	MK_COLUMN_PARTITIONS,
	MK_COLUMN_PARTITIONER,
	MK_COLUMN_CLEANUP_POLICY,
	MK_COLUMN_SEGMENT_RECORDS,
	MK_COLUMN_MAX_MESSAGE_BYTES,
	MK_COLUMN_MIN_INSYNC_REPLICAS,
	MK_COLUMN_RETENTION,
	MK_COLUMN_RETENTION_BYTES,
	MK_COLUMN_DELETE_RETENTION,
	MK_COLUMN_MIN_COMPACTION_LAG,
	MK_COLUMN_CREATED_AT,
	MK_COLUMN_VALUE_FORMAT,
	MK_NUM_COLUMNS = MK_COLUMN_VALUE_FORMAT
} MkTopicColumn;

/*
 * Writes a new topic's row; values[0] is the first column's.  The number comes
 * from MK_REL_TOPIC_ID_SEQ.
 */
extern void mk_catalog_topic_insert(Datum *values, bool *nulls);
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

/*
 * A pass of compaction over a partition that came to its end.  Below its offset
 * no key comes twice, but for what later records have superseded since.
 */
typedef struct MkCompacted
{
	int64 offset;
	TimestampTz at;
	int64 records; /* that were left below it */
	int64 tombstones; /* of these, without the last record of the partition */
} MkCompacted;

/* The last pass; false, and all 0, if there was none. */
extern bool
mk_catalog_compacted(const MkTopic *topic, int32 partition, MkCompacted *last);
/* The greatest offset of a pass of that time or before, 0 if there is none. */
extern int64 mk_catalog_compacted_before(const MkTopic *topic, int32 partition,
										 TimestampTz before);
/*
 * Notes a pass.  Of those before, the ones below forget are not needed any
 * more.
 */
extern void mk_catalog_compacted_put(const MkTopic *topic, int32 partition,
									 const MkCompacted *pass, int64 forget);

/* Forgets the passes whose offset lies beyond "tail". */
extern void
mk_catalog_compacted_forget(const MkTopic *topic, int32 partition, int64 tail);

#endif /* MK_CATALOG_H */
