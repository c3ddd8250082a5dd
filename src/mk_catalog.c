/*
 * mk_catalog.c
 *		The catalog of topics: the only file that touches its rows.
 *
 * Topics are cached by the OID of their table.  A change to a topic's row
 * sends a relcache invalidation for the table, as ALTER, DROP and GRANT do
 * anyway.  The callback marks the entry as invalid, and the next look-up reads
 * the topic again.  Entries are never freed, so pointers to them stay valid.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "commands/sequence.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "mk_array.h"
#include "mk_catalog.h"
#include "mk_lock.h"
#include "mk_record.h"
#include "mk_rows.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_partition_topic_id = 1,
	Anum_partition_partition,
	Anum_partition_log_start_offset,
	Anum_partition_rel,
	Natts_partition = Anum_partition_rel
};

enum
{
	Anum_segment_topic_id = 1,
	Anum_segment_partition,
	Anum_segment_segment,
	Anum_segment_rel,
	Natts_segment = Anum_segment_rel
};

enum
{
	Anum_settled_topic_id = 1,
	Anum_settled_partition,
	Natts_settled = Anum_settled_partition
};

StaticAssertDecl((int) Natts_partition == MK_NATTS_PARTITION &&
					 (int) Natts_segment == MK_NATTS_SEGMENT &&
					 (int) Natts_settled == MK_NATTS_SETTLED,
				 "the enums have the columns of the tables");

static HTAB *mk_topics = NULL; /* of MkTopic, by the OID of the table */
static uint64 mk_generation = 1; /* see mk_catalog_generation */
static uint64 mk_load_count = 0; /* the last MkTopic.load_count */

/* ---------------------------------------------------------------------------
 * Caches
 */

static void
mk_catalog_relcache_callback(Datum arg, Oid relid)
{
	MkTopic *topic;

	if (!OidIsValid(relid))
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, mk_topics);
		while ((topic = hash_seq_search(&status)) != NULL)
			topic->valid = false;
		mk_generation++;
		return;
	}

	topic = hash_search(mk_topics, &relid, HASH_FIND, NULL);
	if (topic != NULL)
	{
		topic->valid = false;
		mk_generation++;
	}
}

static void
mk_catalog_role_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	mk_generation++;
}

/* Rows that a subscription writes send no invalidations of their own. */
static void
mk_catalog_subscription_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	mk_catalog_relcache_callback((Datum) 0, InvalidOid);
}

void
mk_catalog_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(MkTopic);
	ctl.hcxt = TopMemoryContext;
	mk_topics = hash_create("minikafka topics", 64, &ctl,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(mk_catalog_relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(SUBSCRIPTIONRELMAP,
								  mk_catalog_subscription_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, mk_catalog_role_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMMEMROLE, mk_catalog_role_callback,
								  (Datum) 0);
	/* pg_database_owner has another member when the owner changes */
	CacheRegisterSyscacheCallback(DATABASEOID, mk_catalog_role_callback,
								  (Datum) 0);
}

uint64
mk_catalog_generation(void)
{
	return mk_generation;
}

/* ---------------------------------------------------------------------------
 * Topics
 */

/* The row of the topic whose table is relid.  The caller ends the scan. */
static HeapTuple
mk_topic_scan(MkRows *rows, Oid relid)
{
	ScanKeyData key;

	ScanKeyInit(&key, MK_COLUMN_REL, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	mk_rows_begin_keys(rows, MK_REL_TOPIC, MK_REL_TOPIC_REL_KEY, NULL, 1, &key);
	return mk_rows_next(rows, ForwardScanDirection);
}

bool
mk_catalog_is_not_null(Oid relid, AttrNumber column)
{
	HeapTuple tuple =
		SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid), Int16GetDatum(column));
	bool result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	return result;
}

/* Reads what the topic's table determines; false if there is no table. */
static bool
mk_topic_read_table(MkTopic *topic)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(topic->relid));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_class) GETSTRUCT(tuple);
	topic->name = form->relname;
	topic->owner = form->relowner;
	topic->has_contract = form->relchecks > 0 ||
		topic->value_format != MK_VALUE_BYTES ||
		mk_catalog_is_not_null(topic->relid, Anum_record_key) ||
		mk_catalog_is_not_null(topic->relid, Anum_record_value) ||
		mk_catalog_is_not_null(topic->relid, Anum_record_headers);
	ReleaseSysCache(tuple);
	return true;
}

MkTopic *
mk_catalog_topic(Oid relid)
{
	MkTopic *topic;
	MkTopic new = {0};
	MkRows rows;
	HeapTuple tuple;
	uint64 generation;
	bool found;

	topic = hash_search(mk_topics, &relid, HASH_ENTER, &found);
	if (found && topic->valid)
		return topic;
	if (!found)
		memset((char *) topic + sizeof(Oid), 0, sizeof(MkTopic) - sizeof(Oid));

	/* an invalidation during the read leaves the entry invalid */
	generation = mk_generation;
	new.relid = relid;
	tuple = mk_topic_scan(&rows, relid);
	if (tuple != NULL)
	{
		new.topic_id = mk_rows_int32(&rows, tuple, MK_COLUMN_TOPIC_ID);
		mk_option_read(&rows, tuple, &new);
	}
	mk_rows_end(&rows);
	if (tuple == NULL || !mk_topic_read_table(&new))
	{
		if (!found)
			hash_search(mk_topics, &relid, HASH_REMOVE, NULL);
		return NULL;
	}

	new.load_count = ++mk_load_count;
	new.sticky = topic->sticky;
	new.valid = mk_generation == generation;
	*topic = new;
	return topic;
}

void
mk_catalog_check_topic(const MkTopic *topic, int32 topic_id)
{
	MkTopic *now;

	/* locking a table does this, an advisory lock does not */
	AcceptInvalidationMessages();
	now = mk_catalog_topic(topic->relid);
	if (now == NULL || now->topic_id != topic_id)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("topic \"%s\" does not exist", NameStr(topic->name)),
				 errdetail("It was dropped meanwhile.")));
}

MkTopic *
mk_catalog_topic_by_name(const char *name)
{
	MkTopic *topic;

	/* another session may rename it while its row is read */
	do
	{
		Oid relid = get_relname_relid(name, mk_relation_topics_namespace());

		topic = OidIsValid(relid) ? mk_catalog_topic(relid) : NULL;
	} while (topic != NULL && strcmp(NameStr(topic->name), name) != 0);
	return topic;
}

MkTopic *
mk_catalog_topic_by_id(int32 topic_id)
{
	MkRows rows;
	HeapTuple tuple;
	Oid relid = InvalidOid;

	mk_rows_begin(&rows, MK_REL_TOPIC, MK_REL_TOPIC_PKEY, NULL, 1, &topic_id);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		relid = mk_rows_oid(&rows, tuple, MK_COLUMN_REL);
	mk_rows_end(&rows);
	return OidIsValid(relid) ? mk_catalog_topic(relid) : NULL;
}

void
mk_catalog_topic_insert(MkTopicRow *row)
{
	mk_rows_insert(MK_REL_TOPIC, NULL, row->values, row->nulls);
	CacheInvalidateRelcacheByRelid(
		DatumGetObjectId(row->values[MK_COLUMN_REL - 1]));
}

void
mk_catalog_topic_set(const MkTopic *topic, MkTopicColumn column, Datum value,
					 bool isnull)
{
	Datum values[MK_NUM_COLUMNS] = {0};
	bool nulls[MK_NUM_COLUMNS] = {0};
	bool replace[MK_NUM_COLUMNS] = {0};
	Oid relid = topic->relid;
	MkRows rows;
	HeapTuple tuple = mk_topic_scan(&rows, relid);

	if (tuple == NULL)
		elog(ERROR, "no row for topic \"%s\"", NameStr(topic->name));
	values[column - 1] = value;
	nulls[column - 1] = isnull;
	replace[column - 1] = true;
	mk_rows_modify(&rows, tuple, values, nulls, replace);
	mk_rows_end(&rows);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

List *
mk_catalog_topic_ids(void)
{
	return mk_rows_values(MK_REL_TOPIC, MK_REL_TOPIC_PKEY, 0, NULL, NULL);
}

void
mk_catalog_topic_delete(int32 topic_id)
{
	mk_rows_delete_all(MK_REL_TOPIC, MK_REL_TOPIC_PKEY, 1, &topic_id);
	mk_rows_delete_all(MK_REL_PARTITION, MK_REL_PARTITION_PKEY, 1, &topic_id);
	mk_rows_delete_all(MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, 1, &topic_id);
	mk_rows_delete_all(MK_REL_COMPACTION, MK_REL_COMPACTION_PKEY, 1, &topic_id);
	mk_rows_delete_all(MK_REL_SETTLED, MK_REL_SETTLED_IDX, 1, &topic_id);
}

/* ---------------------------------------------------------------------------
 * Partitions and segments
 */

/*
 * Begins a scan of the rows of a partition, in a table whose index begins with
 * the topic and the partition.
 */
static void
mk_partition_rows(MkRows *rows, MkRelation rel, MkRelation index,
				  const MkTopic *topic, int32 partition)
{
	const int32 keys[2] = {topic->topic_id, partition};

	mk_rows_begin(rows, rel, index, NULL, lengthof(keys), keys);
}

/* Must be called before the rows of a partition are changed. */
static void
mk_catalog_changing(const MkTopic *topic, int32 partition)
{
	mk_lock_changing(topic->topic_id, partition);
	CacheInvalidateRelcacheByRelid(topic->relid);
}

void
mk_catalog_partition_insert(const MkTopic *topic, int32 partition, Oid table)
{
	Datum values[Natts_partition];
	bool nulls[Natts_partition] = {0};

	values[Anum_partition_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_partition_partition - 1] = Int32GetDatum(partition);
	values[Anum_partition_log_start_offset - 1] = Int64GetDatum(0);
	values[Anum_partition_rel - 1] = ObjectIdGetDatum(table);
	mk_rows_insert(MK_REL_PARTITION, NULL, values, nulls);
	mk_catalog_settle(topic, partition);
}

bool
mk_catalog_is_settled(const MkTopic *topic, int32 partition, bool *own)
{
	MkRows rows;
	HeapTuple tuple;

	mk_partition_rows(&rows, MK_REL_SETTLED, MK_REL_SETTLED_IDX, topic,
					  partition);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	*own = tuple != NULL &&
		TransactionIdIsCurrentTransactionId(
			   HeapTupleHeaderGetXmin(tuple->t_data));
	mk_rows_end(&rows);
	return tuple != NULL;
}

/* Two sessions may both insert a row: the index is not unique. */
void
mk_catalog_settle(const MkTopic *topic, int32 partition)
{
	Datum values[Natts_settled];
	bool nulls[Natts_settled] = {0};

	values[Anum_settled_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_settled_partition - 1] = Int32GetDatum(partition);
	mk_rows_insert(MK_REL_SETTLED, NULL, values, nulls);
}

Oid
mk_catalog_partition_table(const MkTopic *topic, int32 partition)
{
	MkRows rows;
	HeapTuple tuple;
	Oid table = InvalidOid;

	mk_partition_rows(&rows, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, topic,
					  partition);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		table = mk_rows_oid(&rows, tuple, Anum_partition_rel);
	mk_rows_end(&rows);
	return table;
}

int64
mk_catalog_log_start(const MkTopic *topic, int32 partition)
{
	MkRows rows;
	HeapTuple tuple;
	int64 log_start = 0;

	mk_partition_rows(&rows, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, topic,
					  partition);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		log_start =
			mk_rows_int64(&rows, tuple, Anum_partition_log_start_offset);
	mk_rows_end(&rows);
	return log_start;
}

void
mk_catalog_log_start_update(const MkTopic *topic, int32 partition,
							int64 log_start)
{
	MkRows rows;
	HeapTuple tuple;
	Datum values[Natts_partition] = {0};
	bool nulls[Natts_partition] = {0};
	bool replace[Natts_partition] = {0};

	Assert(mk_lock_log_start_is_mine(topic->topic_id, partition));
	mk_catalog_changing(topic, partition);
	mk_partition_rows(&rows, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, topic,
					  partition);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
	{
		values[Anum_partition_log_start_offset - 1] = Int64GetDatum(log_start);
		replace[Anum_partition_log_start_offset - 1] = true;
		mk_rows_modify(&rows, tuple, values, nulls, replace);
	}
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

void
mk_catalog_segment_insert(const MkTopic *topic, int32 partition, int64 segment,
						  Oid table)
{
	Datum values[Natts_segment];
	bool nulls[Natts_segment] = {0};

	values[Anum_segment_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_segment_partition - 1] = Int32GetDatum(partition);
	values[Anum_segment_segment - 1] = Int64GetDatum(segment);
	values[Anum_segment_rel - 1] = ObjectIdGetDatum(table);
	mk_catalog_changing(topic, partition);
	mk_rows_insert(MK_REL_SEGMENT, NULL, values, nulls);
}

int64
mk_catalog_newest_segment(const MkTopic *topic, int32 partition)
{
	MkRows rows;
	HeapTuple tuple;
	int64 newest = -1;

	mk_partition_rows(&rows, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, topic,
					  partition);
	tuple = mk_rows_next(&rows, BackwardScanDirection);
	if (tuple != NULL)
		newest = mk_rows_int64(&rows, tuple, Anum_segment_segment);
	mk_rows_end(&rows);
	return newest;
}

/* Begins a scan of the segments at or after "segment". */
static void
mk_segment_rows(MkRows *rows, const MkTopic *topic, int32 partition,
				int64 segment)
{
	ScanKeyData keys[Anum_segment_segment]; /* for the columns up to it */

	ScanKeyInit(&keys[0], Anum_segment_topic_id, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(topic->topic_id));
	ScanKeyInit(&keys[1], Anum_segment_partition, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(partition));
	ScanKeyInit(&keys[2], Anum_segment_segment, BTGreaterEqualStrategyNumber,
				F_INT8GE, Int64GetDatum(segment));
	mk_rows_begin_keys(rows, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, NULL,
					   lengthof(keys), keys);
}

int64
mk_catalog_next_segment(const MkTopic *topic, int32 partition, int64 segment)
{
	MkRows rows;
	HeapTuple tuple;
	int64 next = -1;

	mk_segment_rows(&rows, topic, partition, segment);
	tuple = mk_rows_next(&rows, ForwardScanDirection);
	if (tuple != NULL)
		next = mk_rows_int64(&rows, tuple, Anum_segment_segment);
	mk_rows_end(&rows);
	return next;
}

/* The row of a segment, NULL if there is none.  The caller ends the scan. */
static HeapTuple
mk_segment_row(MkRows *rows, const MkTopic *topic, int32 partition,
			   int64 segment)
{
	HeapTuple tuple;

	mk_segment_rows(rows, topic, partition, segment);
	tuple = mk_rows_next(rows, ForwardScanDirection);
	return tuple != NULL &&
			mk_rows_int64(rows, tuple, Anum_segment_segment) == segment
		? tuple
		: NULL;
}

Oid
mk_catalog_segment_table(const MkTopic *topic, int32 partition, int64 segment)
{
	MkRows rows;
	HeapTuple tuple = mk_segment_row(&rows, topic, partition, segment);
	Oid table = InvalidOid;

	if (tuple != NULL)
		table = mk_rows_oid(&rows, tuple, Anum_segment_rel);
	mk_rows_end(&rows);
	return table;
}

void
mk_catalog_segment_delete(const MkTopic *topic, int32 partition, int64 segment)
{
	MkRows rows;
	HeapTuple tuple;

	mk_catalog_changing(topic, partition);
	tuple = mk_segment_row(&rows, topic, partition, segment);
	if (tuple != NULL)
		mk_rows_try_delete(&rows, tuple);
	mk_rows_end(&rows);
	CommandCounterIncrement();
}

int
mk_catalog_segment_tables(const MkTopic *topic, int32 partition,
						  int64 **segments, Oid **tables)
{
	MkRows rows;
	HeapTuple tuple;
	MemoryContext context = CurrentMemoryContext;
	int n = 0;

	*segments = mk_array_grow(context, NULL, 0, sizeof(int64));
	if (tables != NULL)
		*tables = mk_array_grow(context, NULL, 0, sizeof(Oid));
	mk_partition_rows(&rows, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, topic,
					  partition);
	while ((tuple = mk_rows_next(&rows, ForwardScanDirection)) != NULL)
	{
		*segments = mk_array_grow(context, *segments, n, sizeof(int64));
		if (tables != NULL)
			*tables = mk_array_grow(context, *tables, n, sizeof(Oid));
		if (tables != NULL)
			(*tables)[n] = mk_rows_oid(&rows, tuple, Anum_segment_rel);
		(*segments)[n++] = mk_rows_int64(&rows, tuple, Anum_segment_segment);
	}
	mk_rows_end(&rows);
	return n;
}

int
mk_catalog_segments(const MkTopic *topic, int32 partition, int64 **segments)
{
	return mk_catalog_segment_tables(topic, partition, segments, NULL);
}
