/*
 * mk_segment.c
 *		The tables of a partition: its own, and its segments'.
 *
 * The owner of a topic owns these tables too, and may alter them.  So a
 * segment's shape is checked whenever its relcache entry is new, before a row
 * of it is read or written without the executor's care.
 *
 * A new table is made as the superuser, since nobody else may create in the
 * schema: LIKE the table above with its constraints, which ATTACH wants, and
 * which runs nothing of the owner's.  It is attached as the owner of the table
 * above, whose expressions may be evaluated then.  It is made alone and then
 * attached, because PARTITION OF would lock the table above against everybody.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_contract.h"
#include "mk_ddl.h"
#include "mk_guc.h"
#include "mk_segment.h"
#include "mk_try.h"

/* A segment whose table was found sound. */
typedef struct MkSoundSegment
{
	Oid relid; /* hash key */
	bool valid;
	Oid topic;
	int32 partition;
	int64 segment;
	Oid pkey;
	bool plain;
} MkSoundSegment;

static HTAB *mk_sound = NULL;
static uint64 mk_invalidations = 0;

static void
mk_segment_relcache_callback(Datum arg, Oid relid)
{
	MkSoundSegment *entry;

	mk_invalidations++;
	if (!OidIsValid(relid))
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, mk_sound);
		while ((entry = hash_seq_search(&status)) != NULL)
			entry->valid = false;
		return;
	}
	entry = hash_search(mk_sound, &relid, HASH_FIND, NULL);
	if (entry != NULL)
		entry->valid = false;
}

void
mk_segment_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(MkSoundSegment);
	ctl.hcxt = TopMemoryContext;
	mk_sound = hash_create("minikafka segments", 64, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(mk_segment_relcache_callback, (Datum) 0);
}

/* ---------------------------------------------------------------------------
 * Names
 */

static Oid
mk_segment_relid(const MkTopic *topic, int32 partition, int64 segment)
{
	char name[NAMEDATALEN];

	snprintf(name, sizeof(name), "p%d_%d_" INT64_FORMAT, topic->topic_id,
			 partition, segment);
	return get_relname_relid(name, mk_relation_data_namespace());
}

static Oid
mk_partition_relid(const MkTopic *topic, int32 partition)
{
	char name[NAMEDATALEN];

	snprintf(name, sizeof(name), "p%d_%d", topic->topic_id, partition);
	return get_relname_relid(name, mk_relation_data_namespace());
}

/* ---------------------------------------------------------------------------
 * Opening
 */

/*
 * The primary key of a segment, or InvalidOid and what is wrong in *problem.
 */
static Oid
mk_segment_check(Relation rel, const char **problem)
{
	static const struct
	{
		const char *name;
		Oid type;
	} columns[Natts_record] = {
		{"offset", INT8OID}, {"ts", TIMESTAMPTZOID}, {"partition", INT4OID},
		{"key", BYTEAOID},   {"value", BYTEAOID},    {"headers", JSONBOID},
	};
	TupleDesc desc = RelationGetDescr(rel);
	List *indexes;
	ListCell *lc;

	*problem = NULL;
	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		*problem = "It is not a heap table.";
	else if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		*problem = "It is not logged.";
	else if (desc->natts < Natts_record)
		*problem = "It has fewer columns than it was made with.";
	for (int i = Natts_record; *problem == NULL && i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			*problem = psprintf("It has a further column \"%s\".",
								NameStr(TupleDescAttr(desc, i)->attname));
	for (int i = 0; *problem == NULL && i < Natts_record; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->atttypid != columns[i].type ||
			strcmp(NameStr(att->attname), columns[i].name) != 0)
			*problem =
				psprintf("Its column %d is not \"%s\" of type %s.", i + 1,
						 columns[i].name, format_type_be(columns[i].type));
	}
	if (*problem != NULL)
		return InvalidOid;

	indexes = RelationGetIndexList(rel);
	foreach (lc, indexes)
	{
		Relation index = index_open(lfirst_oid(lc), AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool serves = form->indisprimary && form->indisvalid &&
			form->indisready && form->indimmediate && form->indnkeyatts == 1 &&
			form->indkey.values[0] == Anum_record_offset &&
			index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID &&
			index->rd_indoption[0] == 0;

		index_close(index, AccessShareLock);
		if (serves)
			return lfirst_oid(lc);
	}
	*problem = "It has no valid primary key (\"offset\").";
	return InvalidOid;
}

/*
 * Locks the table that a segment had when it was last opened, if it still is
 * the segment's and sound.
 */
static bool
mk_segment_lock_known(const MkTopic *topic, int32 partition, int64 segment,
					  LOCKMODE lockmode, Oid relid)
{
	MkSoundSegment *sound;

	if (!OidIsValid(relid))
		return false;
	LockRelationOid(relid, lockmode);
	sound = hash_search(mk_sound, &relid, HASH_FIND, NULL);
	if (likely(sound != NULL && sound->valid && sound->segment == segment &&
			   sound->partition == partition && sound->topic == topic->relid))
		return true;
	UnlockRelationOid(relid, lockmode);
	return false;
}

bool
mk_segment_open(const MkTopic *topic, int32 partition, int64 segment,
				LOCKMODE lockmode, Oid *known, MkSegment *result)
{
	Oid relid = known != NULL ? *known : InvalidOid;
	MkSoundSegment *sound;

	if (!mk_segment_lock_known(topic, partition, segment, lockmode, relid))
	{
		/* looked up again after the lock, as RangeVarGetRelid does */
		for (;;)
		{
			relid = mk_segment_relid(topic, partition, segment);
			if (!OidIsValid(relid))
				return false;
			LockRelationOid(relid, lockmode);
			if (relid == mk_segment_relid(topic, partition, segment))
				break;
			UnlockRelationOid(relid, lockmode);
		}
		if (known != NULL)
			*known = relid;
	}
	result->rel = table_open(relid, NoLock);
	result->lockmode = lockmode;

	sound = hash_search(mk_sound, &relid, HASH_FIND, NULL);
	if (unlikely(sound == NULL || !sound->valid))
	{
		const char *problem;
		uint64 invalidations = mk_invalidations;
		Oid pkey = mk_segment_check(result->rel, &problem);
		bool found;

		if (!OidIsValid(pkey))
			ereport(
				ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" of topic \"%s\" was altered",
						RelationGetRelationName(result->rel),
						NameStr(topic->name)),
				 errdetail_internal("%s", problem),
				 errhint("Undo the change with ALTER TABLE; "
						 "minikafka.check_topic() shows what else is wrong.")));
		sound = hash_search(mk_sound, &relid, HASH_ENTER, &found);
		sound->topic = topic->relid;
		sound->partition = partition;
		sound->segment = segment;
		sound->pkey = pkey;
		sound->plain = list_length(RelationGetIndexList(result->rel)) == 1;
		sound->valid = mk_invalidations == invalidations;
	}
	result->plain = sound->plain;
	result->pkey = index_open(sound->pkey, lockmode);
	return true;
}

void
mk_segment_close(MkSegment *segment, bool keep_lock)
{
	LOCKMODE lockmode = keep_lock ? NoLock : segment->lockmode;

	index_close(segment->pkey, lockmode);
	table_close(segment->rel, lockmode);
}

void
mk_segment_missing(const MkTopic *topic, int32 partition, int64 segment)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("table \"p%d_%d_" INT64_FORMAT "\" of topic \"%s\" is missing",
				topic->topic_id, partition, segment, NameStr(topic->name)),
		 errhint("Somebody dropped it; minikafka.check_topic() shows what else "
				 "is wrong.")));
}

/* A sentence about a table that should be there and attached. */
static const char *
mk_problem_of(Relation rel, const char *name, const char *altered)
{
	if (rel == NULL)
		return psprintf("table \"%s\" is missing", name);
	if (altered != NULL)
		return psprintf("table \"%s\" was altered: %s", name, altered);
	if (!rel->rd_rel->relispartition)
		return psprintf("table \"%s\" is not attached", name);
	return NULL;
}

static Relation
mk_try_open(Oid relid)
{
	return OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
}

const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition)
{
	Relation rel = mk_try_open(mk_partition_relid(topic, partition));
	const char *problem;

	problem = mk_problem_of(rel, psprintf("p%d_%d", topic->topic_id, partition),
							NULL);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return problem;
}

const char *
mk_segment_problem(const MkTopic *topic, int32 partition, int64 segment,
				   bool *missing)
{
	Relation rel = mk_try_open(mk_segment_relid(topic, partition, segment));
	const char *altered = NULL;
	const char *problem;

	*missing = rel == NULL;
	if (rel != NULL)
		(void) mk_segment_check(rel, &altered);
	if (rel != NULL && altered == NULL)
		altered = mk_contract_segment_problem(topic, rel);
	problem = mk_problem_of(
		rel,
		psprintf("p%d_%d_" INT64_FORMAT, topic->topic_id, partition, segment),
		altered);
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
	return problem;
}

/* ---------------------------------------------------------------------------
 * Making
 */

/* The owner or the tablespace of a table that exists. */
static Form_pg_class
mk_class(Oid relid, HeapTuple *tuple)
{
	*tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(*tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	return (Form_pg_class) GETSTRUCT(*tuple);
}

bool
mk_segment_exists(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_segment_relid(topic, partition, segment);
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool attached;

	if (!HeapTupleIsValid(tuple))
		return false;
	attached = ((Form_pg_class) GETSTRUCT(tuple))->relispartition;
	ReleaseSysCache(tuple);
	if (!attached)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"p%d_%d_" INT64_FORMAT
					"\" of topic \"%s\" is not attached",
					topic->topic_id, partition, segment, NameStr(topic->name)),
			 errhint("Somebody detached it; minikafka.check_topic() shows "
					 "what else is wrong.")));
	return true;
}

static Oid
mk_owner(Oid relid)
{
	HeapTuple tuple;
	Oid owner = mk_class(relid, &tuple)->relowner;

	ReleaseSysCache(tuple);
	return owner;
}

static Oid
mk_tablespace(Oid relid)
{
	HeapTuple tuple;
	Oid tablespace = mk_class(relid, &tuple)->reltablespace;

	ReleaseSysCache(tuple);
	return tablespace;
}

static Oid
mk_toast(Oid relid)
{
	HeapTuple tuple;
	Oid toast = mk_class(relid, &tuple)->reltoastrelid;

	ReleaseSysCache(tuple);
	return toast;
}

void
mk_segment_refuse_writes(const char *qualified_name)
{
	mk_ddl_as_superuser(InvalidOid,
						"CREATE TRIGGER minikafka_refuse_write "
						"BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s "
						"FOR EACH STATEMENT "
						"EXECUTE FUNCTION minikafka.refuse_write()",
						qualified_name);
}

/* What a new table has of the one above. */
#define MK_LIKE \
	"LIKE %s INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION"

/* Gives a table just made to the owner of the one above, and attaches it. */
static void
mk_attach(Oid parent, const char *parent_name, const char *name,
		  const char *bounds)
{
	Oid owner = mk_owner(parent);

	mk_ddl_as_superuser(InvalidOid, "ALTER TABLE %s OWNER TO %s", name,
						quote_identifier(GetUserNameFromId(owner, false)));
	mk_segment_refuse_writes(name);
	mk_ddl_as_owner(owner, "ALTER TABLE %s ATTACH PARTITION %s FOR VALUES %s",
					parent_name, name, bounds);
}

bool
mk_segment_make(const MkTopic *topic, int32 partition, int64 segment,
				bool if_free)
{
	Oid parent = mk_partition_relid(topic, partition);
	int64 records = topic->segment_records;
	char *parent_name;
	char *name;

	if (!OidIsValid(parent))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"p%d_%d\" of topic \"%s\" is missing",
						topic->topic_id, partition, NameStr(topic->name)),
				 errhint("Somebody dropped it; minikafka.check_topic() shows "
						 "what else is wrong.")));

	/* the locks that ATTACH PARTITION takes */
	if (!if_free)
	{
		LockRelationOid(topic->relid, AccessShareLock);
		LockRelationOid(parent, ShareUpdateExclusiveLock);
	}
	else if (!ConditionalLockRelationOid(topic->relid, AccessShareLock) ||
			 !ConditionalLockRelationOid(parent, ShareUpdateExclusiveLock))
		return false;

	parent_name = psprintf("minikafka_data.p%d_%d", topic->topic_id, partition);
	name = psprintf("%s_" INT64_FORMAT, parent_name, segment);

	/*
	 * Dead rows at the end of a log lengthen each look at its end, so vacuum
	 * soon; but never cut the file, which would need an exclusive lock.
	 */
	mk_ddl_as_superuser(mk_tablespace(topic->relid),
						"CREATE TABLE %s (" MK_LIKE
						", PRIMARY KEY (\"offset\")) WITH ("
						"autovacuum_vacuum_scale_factor = 0, "
						"autovacuum_vacuum_threshold = 5000, "
						"vacuum_truncate = false)",
						name, parent_name);
	mk_attach(parent, parent_name, name,
			  psprintf("FROM (" INT64_FORMAT ") TO (" INT64_FORMAT ")",
					   segment * records, (segment + 1) * records));
	mk_catalog_segment_insert(topic, partition, segment);
	return true;
}

void
mk_segment_make_partition(const MkTopic *topic, int32 partition)
{
	char *topic_name =
		psprintf("minikafka_topics.%s", quote_identifier(NameStr(topic->name)));
	char *name = psprintf("minikafka_data.p%d_%d", topic->topic_id, partition);

	mk_ddl_as_superuser(mk_tablespace(topic->relid),
						"CREATE TABLE %s (" MK_LIKE
						") PARTITION BY RANGE (\"offset\")",
						name, topic_name);
	mk_attach(topic->relid, topic_name, name, psprintf("IN (%d)", partition));
	mk_catalog_partition_insert(topic, partition);
	mk_segment_make(topic, partition, 0, false);
}

int64
mk_segment_bytes(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_segment_relid(topic, partition, segment);
	Relation rel = mk_try_open(relid);
	int64 bytes;

	if (rel == NULL)
		return 0;
	bytes = DatumGetInt64(
		DirectFunctionCall1(pg_total_relation_size, ObjectIdGetDatum(relid)));
	relation_close(rel, AccessShareLock);
	return bytes;
}

/* ---------------------------------------------------------------------------
 * Dropping and shrinking
 *
 * Who waits for an exclusive lock makes all who come after him wait too.  So
 * these are only tried for, and let go at once if one of them cannot be had.
 */

#define MK_TRIES        10
#define MK_TRY_SLEEP_US 5000

/* Locks the tables that are not InvalidOid exclusively, or none. */
static bool
mk_try_lock(const Oid *relids, int n)
{
	for (int try = 0; try < MK_TRIES; try++)
	{
		int locked = 0;

		while (
			locked < n &&
			(!OidIsValid(relids[locked]) ||
			 ConditionalLockRelationOid(relids[locked], AccessExclusiveLock)))
			locked++;
		if (locked == n)
			return true;
		while (locked-- > 0)
			if (OidIsValid(relids[locked]))
				UnlockRelationOid(relids[locked], AccessExclusiveLock);
		CHECK_FOR_INTERRUPTS();
		pg_usleep(MK_TRY_SLEEP_US);
	}
	return false;
}

/* What hangs on them, like a view, must be had soon too. */
#define MK_DDL_LOCK_TIMEOUT "10ms"

static void
mk_run_ddl(void *arg)
{
	mk_guc_set("lock_timeout", MK_DDL_LOCK_TIMEOUT);
	mk_ddl_as_superuser(InvalidOid, "%s", (const char *) arg);
}

static bool
mk_is_lock_timeout(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

/* Runs it when all these tables can be locked. */
static bool
mk_try_ddl(const Oid *relids, int n, char *sql)
{
	return mk_try_lock(relids, n) &&
		mk_try(mk_run_ddl, sql, mk_is_lock_timeout) == NULL;
}

bool
mk_segment_try_drop(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_segment_relid(topic, partition, segment);

	if (mk_segment_exists(topic, partition, segment))
	{
		const Oid relids[] = {mk_partition_relid(topic, partition), relid,
							  mk_toast(relid)};

		/* a view that anybody has made must not keep the records */
		if (!mk_try_ddl(
				relids, lengthof(relids),
				psprintf("DROP TABLE minikafka_data.p%d_%d_" INT64_FORMAT
						 " CASCADE",
						 topic->topic_id, partition, segment)))
			return false;
	}
	mk_catalog_segment_delete(topic, partition, segment);
	return true;
}

bool
mk_segment_has_blocks(const MkTopic *topic, int32 partition, int64 segment)
{
	Relation rel = mk_try_open(mk_segment_relid(topic, partition, segment));
	bool has_blocks;

	if (rel == NULL)
		return false;
	has_blocks = RelationGetNumberOfBlocks(rel) > 0;
	relation_close(rel, AccessShareLock);
	return has_blocks;
}

/*
 * A table is sparse if its rows need less than a quarter of it, and it is not
 * small.  Writing more than that would take more than a tenth of a second.
 */
#define MK_SPARSE_FACTOR     4
#define MK_SPARSE_MIN_BLOCKS 64
#define MK_SPARSE_MAX_BYTES  (16 * 1024 * 1024)

bool
mk_segment_is_sparse(const MkTopic *topic, int32 partition, int64 segment,
					 int64 bytes)
{
	Relation rel = mk_try_open(mk_segment_relid(topic, partition, segment));
	Relation toast;
	int64 blocks;

	if (rel == NULL)
		return false;
	blocks = RelationGetNumberOfBlocks(rel);
	toast = mk_try_open(rel->rd_rel->reltoastrelid);
	if (toast != NULL)
	{
		blocks += RelationGetNumberOfBlocks(toast);
		relation_close(toast, AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return blocks >= MK_SPARSE_MIN_BLOCKS && bytes <= MK_SPARSE_MAX_BYTES &&
		blocks * BLCKSZ > bytes * MK_SPARSE_FACTOR;
}

bool
mk_segment_try_shrink(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relids[2];
	char *pkey;
	MkSegment s;

	if (!mk_segment_open(topic, partition, segment, AccessShareLock, NULL, &s))
		return false;
	relids[0] = RelationGetRelid(s.rel);
	relids[1] = s.rel->rd_rel->reltoastrelid;
	pkey = pstrdup(quote_identifier(RelationGetRelationName(s.pkey)));
	mk_segment_close(&s, false);
	/* keeps who may see which row; runs what indexes run as the owner */
	return mk_try_ddl(relids, lengthof(relids),
					  psprintf("CLUSTER minikafka_data.p%d_%d_" INT64_FORMAT
							   " USING %s",
							   topic->topic_id, partition, segment, pkey));
}

void
mk_segment_drop_partition(const MkTopic *topic, int32 partition)
{
	int64 *segments;
	int n = mk_catalog_segments(topic, partition, &segments);

	if (OidIsValid(mk_partition_relid(topic, partition)))
		mk_ddl_as_superuser(InvalidOid, "DROP TABLE minikafka_data.p%d_%d",
							topic->topic_id, partition);
	for (int i = 0; i < n; i++)
		if (OidIsValid(mk_segment_relid(topic, partition, segments[i])))
			mk_ddl_as_superuser(
				InvalidOid, "DROP TABLE minikafka_data.p%d_%d_" INT64_FORMAT,
				topic->topic_id, partition, segments[i]);
}
