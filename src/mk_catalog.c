/*
 * mk_catalog.c
 *		The only file that touches catalog rows.
 *
 * The rows are written directly, without regard to rights: whoever calls has
 * checked them.  They are read with a catalog snapshot, which for a relation
 * without a syscache is always a new one, so that a REPEATABLE READ
 * transaction sees what holds now.
 *
 * Topics are cached by the OID of their table.  A change to a topic's row
 * sends a relcache invalidation for the table, as ALTER, DROP and GRANT do by
 * themselves; the callback marks the entry, and the next look reads it again.
 * Entries are never freed, so a pointer to one stays good.
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

#include "mk_catalog.h"
#include "mk_lock.h"

/* Column numbers, as in sql/parts/10_catalog.sql */
enum
{
	Anum_topic_topic_id = 1,
	Anum_topic_rel,
	Anum_topic_partitions,
	Anum_topic_partitioner,
	Anum_topic_cleanup_policy,
	Anum_topic_segment_records,
	Anum_topic_max_message_bytes,
	Anum_topic_min_insync_replicas,
	Anum_topic_retention,
	Anum_topic_retention_bytes,
	Anum_topic_created_at,
	Natts_topic = Anum_topic_created_at
};

enum
{
	Anum_partition_topic_id = 1,
	Anum_partition_partition,
	Anum_partition_log_start_offset,
	Natts_partition = Anum_partition_log_start_offset
};

enum
{
	Anum_segment_topic_id = 1,
	Anum_segment_partition,
	Anum_segment_segment,
	Natts_segment = Anum_segment_segment
};

enum
{
	Anum_group_group_no = 1,
	Anum_group_group_id,
	Anum_group_owner,
	Natts_group = Anum_group_owner
};

#define Anum_progress_topic_id 2

static const char *const mk_relation_names[MK_NUM_RELS] = {
	[MK_REL_TOPIC] = "topic",
	[MK_REL_TOPIC_PKEY] = "topic_pkey",
	[MK_REL_TOPIC_REL_KEY] = "topic_rel_key",
	[MK_REL_TOPIC_ID_SEQ] = "topic_id",
	[MK_REL_PARTITION] = "partition",
	[MK_REL_PARTITION_PKEY] = "partition_pkey",
	[MK_REL_SEGMENT] = "segment",
	[MK_REL_SEGMENT_PKEY] = "segment_pkey",
	[MK_REL_GROUP] = "consumer_group",
	[MK_REL_GROUP_ID_KEY] = "consumer_group_group_id_key",
	[MK_REL_GROUP_NO_SEQ] = "group_no",
	[MK_REL_GROUP_PROGRESS] = "group_progress",
	[MK_REL_GROUP_PROGRESS_PKEY] = "group_progress_pkey",
};

/* The OIDs, when relids_valid. */
static struct
{
	bool valid;
	Oid topics_namespace;
	Oid data_namespace;
	Oid relid[MK_NUM_RELS];
} mk_oids;

static HTAB *mk_topics = NULL;
static uint64 mk_generation = 1;
static uint64 mk_invalidations = 0;

/* ---------------------------------------------------------------------------
 * Caches
 */

static void
mk_catalog_relcache_callback(Datum arg, Oid relid)
{
	MkTopic *topic;

	mk_invalidations++;
	if (!OidIsValid(relid))
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, mk_topics);
		while ((topic = hash_seq_search(&status)) != NULL)
			topic->valid = false;
		mk_generation++;
		mk_oids.valid = false;
		return;
	}

	topic = hash_search(mk_topics, &relid, HASH_FIND, NULL);
	if (topic != NULL)
	{
		topic->valid = false;
		mk_generation++;
	}
	for (int i = 0; i < MK_NUM_RELS; i++)
		if (mk_oids.relid[i] == relid)
			mk_oids.valid = false;
}

static void
mk_catalog_role_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	mk_generation++;
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
	CacheRegisterSyscacheCallback(AUTHOID, mk_catalog_role_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMMEMROLE, mk_catalog_role_callback,
								  (Datum) 0);
	/* for the members of pg_database_owner */
	CacheRegisterSyscacheCallback(DATABASEOID, mk_catalog_role_callback,
								  (Datum) 0);
}

uint64
mk_catalog_generation(void)
{
	return mk_generation;
}

static void
mk_catalog_load_oids(void)
{
	uint64 invalidations = mk_invalidations;
	Oid namespace = get_namespace_oid("minikafka", true);

	mk_oids.topics_namespace = get_namespace_oid("minikafka_topics", true);
	mk_oids.data_namespace = get_namespace_oid("minikafka_data", true);
	for (int i = 0; i < MK_NUM_RELS; i++)
	{
		mk_oids.relid[i] = InvalidOid;
		if (OidIsValid(namespace))
			mk_oids.relid[i] =
				get_relname_relid(mk_relation_names[i], namespace);
		if (!OidIsValid(mk_oids.relid[i]))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("extension \"minikafka\" is not installed in this "
							"database"),
					 errdetail("Its relation \"%s\" does not exist.",
							   mk_relation_names[i]),
					 errhint("Use CREATE EXTENSION minikafka.")));
	}
	/* else the next look reads again */
	mk_oids.valid = mk_invalidations == invalidations;
}

Oid
mk_catalog_relid(MkRelation which)
{
	if (unlikely(!mk_oids.valid))
		mk_catalog_load_oids();
	return mk_oids.relid[which];
}

Oid
mk_catalog_topics_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_catalog_load_oids();
	return mk_oids.topics_namespace;
}

Oid
mk_catalog_data_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_catalog_load_oids();
	return mk_oids.data_namespace;
}

/* ---------------------------------------------------------------------------
 * Reading and writing rows
 */

typedef struct MkScan
{
	Relation rel;
	Relation index;
	SysScanDesc scan;
} MkScan;

/* Scans the rows of a partition, in the order of a primary key. */
static void
mk_scan_begin(MkScan *s, MkRelation rel, MkRelation index, int32 topic_id,
			  int32 partition)
{
	ScanKeyData keys[2];

	s->rel = table_open(mk_catalog_relid(rel), AccessShareLock);
	s->index = index_open(mk_catalog_relid(index), AccessShareLock);
	ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(topic_id));
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(partition));
	s->scan = systable_beginscan_ordered(s->rel, s->index, NULL, 2, keys);
}

static void
mk_scan_end(MkScan *s)
{
	systable_endscan_ordered(s->scan);
	index_close(s->index, AccessShareLock);
	table_close(s->rel, AccessShareLock);
}

static Datum
mk_column(MkScan *s, HeapTuple tuple, AttrNumber attno)
{
	bool isnull;
	Datum datum = heap_getattr(tuple, attno, RelationGetDescr(s->rel), &isnull);

	if (isnull)
		elog(ERROR, "null in column %d of relation \"%s\"", attno,
			 RelationGetRelationName(s->rel));
	return datum;
}

static void
mk_insert(MkRelation which, Datum *values, bool *nulls)
{
	Relation rel = table_open(mk_catalog_relid(which), RowExclusiveLock);
	HeapTuple tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);

	CatalogTupleInsert(rel, tuple);
	heap_freetuple(tuple);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* Removes the rows whose integer column attno is value. */
static void
mk_delete(MkRelation which, AttrNumber attno, int32 value)
{
	Relation rel = table_open(mk_catalog_relid(which), RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, attno, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(value));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
		CatalogTupleDelete(rel, &tuple->t_self);
	systable_endscan(scan);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/* ---------------------------------------------------------------------------
 * Topics
 */

/*
 * Finds the row of the topic whose table is relid.  The caller ends the scan.
 */
static HeapTuple
mk_topic_scan(MkScan *s, Oid relid, LOCKMODE lockmode)
{
	ScanKeyData key;

	ScanKeyInit(&key, Anum_topic_rel, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	s->rel = table_open(mk_catalog_relid(MK_REL_TOPIC), lockmode);
	s->scan = systable_beginscan(s->rel, mk_catalog_relid(MK_REL_TOPIC_REL_KEY),
								 true, NULL, 1, &key);
	return systable_getnext(s->scan);
}

static void
mk_topic_scan_end(MkScan *s)
{
	systable_endscan(s->scan);
	table_close(s->rel, NoLock);
}

MkTopic *
mk_catalog_topic(Oid relid)
{
	MkTopic *topic;
	MkTopic new = {0};
	MkScan s;
	HeapTuple tuple;
	char *name;
	uint64 generation;
	bool found;

	topic = hash_search(mk_topics, &relid, HASH_ENTER, &found);
	if (found && topic->valid)
		return topic;
	if (!found)
		memset((char *) topic + sizeof(Oid), 0, sizeof(MkTopic) - sizeof(Oid));

	/* an invalidation that comes while the row is read counts */
	generation = mk_generation;
	tuple = mk_topic_scan(&s, relid, AccessShareLock);
	name = tuple != NULL ? get_rel_name(relid) : NULL;
	if (name == NULL)
	{
		mk_topic_scan_end(&s);
		if (!found)
			hash_search(mk_topics, &relid, HASH_REMOVE, NULL);
		return NULL;
	}

	new.relid = relid;
	new.topic_id = DatumGetInt32(mk_column(&s, tuple, Anum_topic_topic_id));
	new.npartitions =
		DatumGetInt32(mk_column(&s, tuple, Anum_topic_partitions));
	new.max_message_bytes =
		DatumGetInt32(mk_column(&s, tuple, Anum_topic_max_message_bytes));
	new.segment_records =
		DatumGetInt64(mk_column(&s, tuple, Anum_topic_segment_records));
	new.partitioner = strcmp(TextDatumGetCString(
								 mk_column(&s, tuple, Anum_topic_partitioner)),
							 "md5") == 0
		? MK_PARTITIONER_MD5
		: MK_PARTITIONER_MURMUR2;
	namestrcpy(&new.name, name);
	mk_topic_scan_end(&s);

	new.sticky = topic->sticky;
	new.valid = mk_generation == generation;
	*topic = new;
	return topic;
}

void
mk_catalog_check_topic(const MkTopic *topic, int32 topic_id)
{
	MkTopic *now;

	/* an advisory lock does not do it */
	AcceptInvalidationMessages();
	now = mk_catalog_topic(topic->relid);
	if (now == NULL || now->topic_id != topic_id)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("topic \"%s\" does not exist", NameStr(topic->name)),
				 errdetail("It was dropped meanwhile.")));
}

MkTopic *
mk_catalog_topic_by_id(int32 topic_id)
{
	ScanKeyData key;
	MkScan s;
	HeapTuple tuple;
	Oid relid = InvalidOid;

	ScanKeyInit(&key, Anum_topic_topic_id, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(topic_id));
	s.rel = table_open(mk_catalog_relid(MK_REL_TOPIC), AccessShareLock);
	s.scan = systable_beginscan(s.rel, mk_catalog_relid(MK_REL_TOPIC_PKEY),
								true, NULL, 1, &key);
	tuple = systable_getnext(s.scan);
	if (tuple != NULL)
		relid = DatumGetObjectId(mk_column(&s, tuple, Anum_topic_rel));
	mk_topic_scan_end(&s);
	return OidIsValid(relid) ? mk_catalog_topic(relid) : NULL;
}

int32
mk_catalog_new_topic_id(void)
{
	return (int32) nextval_internal(mk_catalog_relid(MK_REL_TOPIC_ID_SEQ),
									false);
}

void
mk_catalog_topic_insert(int32 topic_id, Oid relid, int32 partitions,
						const char *partitioner, int64 segment_records,
						int32 max_message_bytes, TimestampTz created_at)
{
	Datum values[Natts_topic] = {0};
	bool nulls[Natts_topic] = {0};

	values[Anum_topic_topic_id - 1] = Int32GetDatum(topic_id);
	values[Anum_topic_rel - 1] = ObjectIdGetDatum(relid);
	values[Anum_topic_partitions - 1] = Int32GetDatum(partitions);
	values[Anum_topic_partitioner - 1] = CStringGetTextDatum(partitioner);
	values[Anum_topic_cleanup_policy - 1] = CStringGetTextDatum("delete");
	values[Anum_topic_segment_records - 1] = Int64GetDatum(segment_records);
	values[Anum_topic_max_message_bytes - 1] = Int32GetDatum(max_message_bytes);
	values[Anum_topic_min_insync_replicas - 1] = Int32GetDatum(1);
	nulls[Anum_topic_retention - 1] = true;
	nulls[Anum_topic_retention_bytes - 1] = true;
	values[Anum_topic_created_at - 1] = TimestampTzGetDatum(created_at);
	mk_insert(MK_REL_TOPIC, values, nulls);
	CacheInvalidateRelcacheByRelid(relid);
}

void
mk_catalog_topic_update(const MkTopic *topic, int32 partitions,
						int32 max_message_bytes)
{
	Datum values[Natts_topic] = {0};
	bool nulls[Natts_topic] = {0};
	bool replace[Natts_topic] = {0};
	Oid relid = topic->relid;
	MkScan s;
	HeapTuple tuple = mk_topic_scan(&s, relid, RowExclusiveLock);

	if (tuple == NULL)
		elog(ERROR, "no row for topic \"%s\"", NameStr(topic->name));
	values[Anum_topic_partitions - 1] = Int32GetDatum(partitions);
	replace[Anum_topic_partitions - 1] = true;
	values[Anum_topic_max_message_bytes - 1] = Int32GetDatum(max_message_bytes);
	replace[Anum_topic_max_message_bytes - 1] = true;
	tuple = heap_modify_tuple(tuple, RelationGetDescr(s.rel), values, nulls,
							  replace);
	CatalogTupleUpdate(s.rel, &tuple->t_self, tuple);
	mk_topic_scan_end(&s);
	CacheInvalidateRelcacheByRelid(relid);
	CommandCounterIncrement();
}

void
mk_catalog_topic_delete(int32 topic_id)
{
	mk_delete(MK_REL_TOPIC, Anum_topic_topic_id, topic_id);
	mk_delete(MK_REL_PARTITION, Anum_partition_topic_id, topic_id);
	mk_delete(MK_REL_SEGMENT, Anum_segment_topic_id, topic_id);
	mk_delete(MK_REL_GROUP_PROGRESS, Anum_progress_topic_id, topic_id);
}

/* ---------------------------------------------------------------------------
 * Partitions and segments
 */

/* To be called before a partition's rows are changed. */
static void
mk_catalog_changing(const MkTopic *topic, int32 partition)
{
	mk_lock_changing(topic->topic_id, partition);
	CacheInvalidateRelcacheByRelid(topic->relid);
}

void
mk_catalog_partition_insert(const MkTopic *topic, int32 partition)
{
	Datum values[Natts_partition];
	bool nulls[Natts_partition] = {0};

	values[Anum_partition_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_partition_partition - 1] = Int32GetDatum(partition);
	values[Anum_partition_log_start_offset - 1] = Int64GetDatum(0);
	mk_insert(MK_REL_PARTITION, values, nulls);
}

int64
mk_catalog_log_start(const MkTopic *topic, int32 partition)
{
	MkScan s;
	HeapTuple tuple;
	int64 log_start = 0;

	mk_scan_begin(&s, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, topic->topic_id,
				  partition);
	tuple = systable_getnext_ordered(s.scan, ForwardScanDirection);
	if (tuple != NULL)
		log_start = DatumGetInt64(
			mk_column(&s, tuple, Anum_partition_log_start_offset));
	mk_scan_end(&s);
	return log_start;
}

void
mk_catalog_log_start_update(const MkTopic *topic, int32 partition,
							int64 log_start)
{
	MkScan s;
	HeapTuple tuple;
	Datum values[Natts_partition] = {0};
	bool nulls[Natts_partition] = {0};
	bool replace[Natts_partition] = {0};

	mk_catalog_changing(topic, partition);
	LockRelationOid(mk_catalog_relid(MK_REL_PARTITION), RowExclusiveLock);
	mk_scan_begin(&s, MK_REL_PARTITION, MK_REL_PARTITION_PKEY, topic->topic_id,
				  partition);
	tuple = systable_getnext_ordered(s.scan, ForwardScanDirection);
	if (tuple != NULL)
	{
		values[Anum_partition_log_start_offset - 1] = Int64GetDatum(log_start);
		replace[Anum_partition_log_start_offset - 1] = true;
		tuple = heap_modify_tuple(tuple, RelationGetDescr(s.rel), values, nulls,
								  replace);
		CatalogTupleUpdate(s.rel, &tuple->t_self, tuple);
	}
	mk_scan_end(&s);
	CommandCounterIncrement();
}

void
mk_catalog_segment_insert(const MkTopic *topic, int32 partition, int64 segment)
{
	Datum values[Natts_segment];
	bool nulls[Natts_segment] = {0};

	values[Anum_segment_topic_id - 1] = Int32GetDatum(topic->topic_id);
	values[Anum_segment_partition - 1] = Int32GetDatum(partition);
	values[Anum_segment_segment - 1] = Int64GetDatum(segment);
	mk_catalog_changing(topic, partition);
	mk_insert(MK_REL_SEGMENT, values, nulls);
}

int64
mk_catalog_newest_segment(const MkTopic *topic, int32 partition)
{
	MkScan s;
	HeapTuple tuple;
	int64 newest = -1;

	mk_scan_begin(&s, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, topic->topic_id,
				  partition);
	tuple = systable_getnext_ordered(s.scan, BackwardScanDirection);
	if (tuple != NULL)
		newest = DatumGetInt64(mk_column(&s, tuple, Anum_segment_segment));
	mk_scan_end(&s);
	return newest;
}

int
mk_catalog_segments(const MkTopic *topic, int32 partition, int64 **segments)
{
	MkScan s;
	HeapTuple tuple;
	int n = 0;
	int room = 16;

	*segments = palloc(room * sizeof(int64));
	mk_scan_begin(&s, MK_REL_SEGMENT, MK_REL_SEGMENT_PKEY, topic->topic_id,
				  partition);
	while ((tuple = systable_getnext_ordered(s.scan, ForwardScanDirection)) !=
		   NULL)
	{
		if (n == room)
		{
			room *= 2;
			*segments = repalloc(*segments, room * sizeof(int64));
		}
		(*segments)[n++] =
			DatumGetInt64(mk_column(&s, tuple, Anum_segment_segment));
	}
	mk_scan_end(&s);
	return n;
}

/* ---------------------------------------------------------------------------
 * Groups
 */

bool
mk_catalog_group(const char *group_id, MkGroup *group)
{
	Relation rel = table_open(mk_catalog_relid(MK_REL_GROUP), AccessShareLock);
	ScanKeyData key;
	MkScan s;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_group_group_id, BTEqualStrategyNumber, F_TEXTEQ,
				CStringGetTextDatum(group_id));
	s.rel = rel;
	s.scan = systable_beginscan(rel, mk_catalog_relid(MK_REL_GROUP_ID_KEY),
								true, NULL, 1, &key);
	tuple = systable_getnext(s.scan);
	if (tuple != NULL)
	{
		group->group_no =
			DatumGetInt32(mk_column(&s, tuple, Anum_group_group_no));
		group->owner = *DatumGetName(mk_column(&s, tuple, Anum_group_owner));
	}
	systable_endscan(s.scan);
	table_close(rel, AccessShareLock);
	return tuple != NULL;
}

void
mk_catalog_group_insert(const char *group_id, const char *owner, MkGroup *group)
{
	Datum values[Natts_group];
	bool nulls[Natts_group] = {0};

	group->group_no =
		(int32) nextval_internal(mk_catalog_relid(MK_REL_GROUP_NO_SEQ), false);
	namestrcpy(&group->owner, owner);
	values[Anum_group_group_no - 1] = Int32GetDatum(group->group_no);
	values[Anum_group_group_id - 1] = CStringGetTextDatum(group_id);
	values[Anum_group_owner - 1] = NameGetDatum(&group->owner);
	mk_insert(MK_REL_GROUP, values, nulls);
}
