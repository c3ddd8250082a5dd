/*
 * mk_option.h
 *		A topic as its row in the catalog describes it, and its options.
 *
 * mk_option.c has a table with one entry for each option of a topic: its name,
 * its column, its valid values, its default, and its field in MkTopic.
 * create_topic(), set_topic_option() and the catalog use that table.
 */
#ifndef MK_OPTION_H
#define MK_OPTION_H

#include "utils/timestamp.h"

#include "mk_option_table.h"

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
	MK_COLUMN_DELIVERY_DELAY,
	MK_COLUMN_KEEP_UNREAD,
	MK_COLUMN_DELETE_READ,
	MK_NUM_COLUMNS = MK_COLUMN_DELETE_READ
} MkTopicColumn;

/* A topic's row, or a part of it; values[0] is that of the first column. */
typedef struct MkTopicRow
{
	Datum values[MK_NUM_COLUMNS];
	bool nulls[MK_NUM_COLUMNS];
} MkTopicRow;

/* The words of options, in the order of their entries in mk_option.c */
typedef enum MkPartitioner
{
	MK_PARTITIONER_MURMUR2,
	MK_PARTITIONER_MD5
} MkPartitioner;

typedef enum MkCleanupPolicy
{
	MK_CLEANUP_DELETE, /* remove records by age and size */
	MK_CLEANUP_COMPACT, /* remove superseded records */
	MK_CLEANUP_BOTH
} MkCleanupPolicy;

/* The format of the values of a topic's records. */
typedef enum MkValueFormat
{
	MK_VALUE_BYTES,
	MK_VALUE_TEXT,
	MK_VALUE_JSON
} MkValueFormat;

/* "For ever", or any number of bytes, in a topic's options. */
#define MK_UNLIMITED INT64CONST(-1)

/*
 * A topic, as in the catalog.  It is the entry in the session's cache: the
 * pointer stays valid until the end of the session, but the contents may change
 * whenever invalidations are processed, as when a lock is taken or a table is
 * opened.  "relid" never changes.
 */
typedef struct MkTopic
{
	Oid relid; /* hash key: its table */
	bool valid; /* if not, the next look-up reads the topic again */
	int32 topic_id;

	/* its options; intervals are in microseconds */
	int32 npartitions;
	int32 max_message_bytes;
	MkPartitioner partitioner;
	MkCleanupPolicy cleanup_policy;
	MkValueFormat value_format;
	int64 segment_records;
	int64 retention; /* or MK_UNLIMITED */
	int64 retention_bytes; /* or MK_UNLIMITED */
	int64 delete_retention; /* of tombstones */
	int64 min_compaction_lag; /* -1 if it is not set */
	int64 delivery_delay; /* 0: none; see mk_due.h */
	bool keep_unread; /* this and the next: see mk_retain.c */
	bool delete_read;

	/* derived from the options, or from its table */
	bool deletes;
	bool compacts;
	Oid owner;
	bool has_contract; /* see mk_contract.h */
	NameData name;

	uint64 load_count; /* changes whenever the topic is read again */
	uint32 sticky; /* the session's next sticky partition */
	/* cached rights, their user and generation; see mk_topic_check_right */
	Oid acl_user;
	uint32 acl_mode;
	uint64 acl_generation;
} MkTopic;

#define MK_TOPIC_MAX_PARTITIONS 10000

/*
 * Sets the options in a new topic's row, which the caller has zeroed: the
 * arguments of create_topic() to their values, the other options to their
 * defaults.  22023 for an argument that is not valid, or is NULL and must not
 * be.
 */
extern void mk_option_from_arguments(FunctionCallInfo fcinfo, MkTopicRow *row);

/*
 * Returns the column of the option of this name, and in *datum and *isnull the
 * option's value.  "value" is the value as text, or NULL for the default.
 * 22023 for an option that is unknown or cannot be changed, and for a value
 * that is not valid.
 */
extern MkTopicColumn mk_option_parse(const char *name, const char *value,
									 Datum *datum, bool *isnull);

/* Sets the fields of options in *topic from the topic's row. */
extern void mk_option_read(const MkRows *rows, HeapTuple tuple, MkTopic *topic);

#endif /* MK_OPTION_H */
