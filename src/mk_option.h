/*
 * mk_option.h
 *		A topic as its row in the catalog describes it, and its options.
 *
 * Each option of a topic is one entry of the table in mk_option.c: its name, its
 * column, the values that it takes, its default, and where MkTopic has it.
 * create_topic(), set_topic_option() and the catalog go by that table.
 */
#ifndef MK_OPTION_H
#define MK_OPTION_H

#include "utils/timestamp.h"

#include "mk_rows.h"

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

/* A topic's row, or a part of it; values[0] is the first column's. */
typedef struct MkTopicRow
{
	Datum values[MK_NUM_COLUMNS];
	bool nulls[MK_NUM_COLUMNS];
} MkTopicRow;

/* The words of options, in the order in which their entries have them */
typedef enum MkPartitioner
{
	MK_PARTITIONER_MURMUR2,
	MK_PARTITIONER_MD5
} MkPartitioner;

typedef enum MkCleanupPolicy
{
	MK_CLEANUP_DELETE, /* by age and size */
	MK_CLEANUP_COMPACT, /* superseded records */
	MK_CLEANUP_BOTH
} MkCleanupPolicy;

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
	int64 min_compaction_lag; /* or -1: not set */

	/* what follows from them, and from its table */
	bool deletes;
	bool compacts;
	Oid owner;
	bool has_contract; /* see mk_contract.h */
	NameData name;

	uint64 reading; /* another number each time that it is read */
	uint32 sticky; /* where the session's next sticky partition is */
	/* rights that were found, whose and when; see mk_topic_check_right */
	Oid acl_user;
	uint32 acl_mode;
	uint64 acl_generation;
} MkTopic;

#define MK_TOPIC_MAX_PARTITIONS 10000

/* 22023 for a number that is out of bounds. */
extern void mk_option_check_number(const char *option, int64 value, int64 least,
								   int64 most);

/*
 * Sets the options in a new topic's row, which the caller has zeroed: those that are arguments of create_topic()
 * from these, the others to their defaults.  22023 for an argument that is NULL
 * and may not be, or is out of bounds.
 */
extern void mk_option_from_arguments(FunctionCallInfo fcinfo, MkTopicRow *row);

/*
 * The column of the option of this name, and its value from a text, or its
 * default for NULL.  22023 for an option that is unknown or cannot be changed,
 * and for a value that is none.
 */
extern MkTopicColumn mk_option_parse(const char *name, const char *value,
									 Datum *datum, bool *isnull);

/* Reads the options from a topic's row. */
extern void mk_option_read(const MkRows *rows, HeapTuple tuple, MkTopic *topic);

#endif /* MK_OPTION_H */
