/*
 * mk_segment.c
 *		The tables of a partition: its own, and its segments'.
 *
 * A table is known by its OID, which the catalog has; its name is only what
 * people see.  The owner of a topic owns these tables too, and may alter, move
 * and rename them.  So a segment is checked whenever its relcache entry is
 * new, before a row of it is read or written without the executor's care: its
 * shape, that it hangs where the catalog has it, and that nobody else can
 * write to it.
 *
 * A new table is made as the superuser, since nobody else may create in the
 * schema: LIKE the table above with its constraints, which ATTACH wants, and
 * which runs nothing of the owner's.  It is attached as the owner of the table
 * above, whose expressions may be evaluated then, and with a limit to the time
 * that they take.  It is made alone and then attached, because PARTITION OF
 * would lock the table above against everybody.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_contract.h"
#include "mk_ddl.h"
#include "mk_guard.h"
#include "mk_guc.h"
#include "mk_limit.h"
#include "mk_owner.h"
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
	Oid owner; /* the topic's */
	Oid pkey;
	bool plain;
	bool writable; /* see mk_guard_check_write */
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
 * Checking
 */

/* The bounds of a partition; NULL if the table is none. */
static PartitionBoundSpec *
mk_bounds(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	PartitionBoundSpec *bounds = NULL;
	Datum datum;
	bool isnull;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	datum = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (!isnull)
		bounds = castNode(PartitionBoundSpec,
						  stringToNode(TextDatumGetCString(datum)));
	ReleaseSysCache(tuple);
	return bounds;
}

static bool
mk_bound_is(List *datums, int64 value)
{
	const PartitionRangeDatum *datum;

	if (list_length(datums) != 1)
		return false;
	datum = linitial_node(PartitionRangeDatum, datums);
	return datum->kind == PARTITION_RANGE_DATUM_VALUE &&
		DatumGetInt64(castNode(Const, datum->value)->constvalue) == value;
}

/* Whether a table is attached to that one, or to any. */
static bool
mk_is_attached(Oid relid, Oid parent)
{
	return get_rel_relispartition(relid) &&
		(!OidIsValid(parent) || get_partition_parent(relid, true) == parent);
}

/* Whether a table hangs where the segment does. */
static bool
mk_segment_is_placed(const MkTopic *topic, int32 partition, int64 segment,
					 Oid relid)
{
	Oid parent = mk_catalog_partition_table(topic, partition);
	const PartitionBoundSpec *bounds;

	if (!OidIsValid(parent) || !mk_is_attached(relid, parent))
		return false;
	bounds = mk_bounds(relid);
	return bounds != NULL && bounds->strategy == PARTITION_STRATEGY_RANGE &&
		!bounds->is_default &&
		mk_bound_is(bounds->lowerdatums, segment * topic->segment_records) &&
		mk_bound_is(bounds->upperdatums,
					(segment + 1) * topic->segment_records);
}

/* Whether a table hangs where the partition's does. */
static bool
mk_partition_is_placed(const MkTopic *topic, int32 partition, Oid relid)
{
	const PartitionBoundSpec *bounds;

	if (!mk_is_attached(relid, topic->relid))
		return false;
	bounds = mk_bounds(relid);
	return bounds != NULL && bounds->strategy == PARTITION_STRATEGY_LIST &&
		!bounds->is_default && list_length(bounds->listdatums) == 1 &&
		DatumGetInt32(linitial_node(Const, bounds->listdatums)->constvalue) ==
		partition;
}

/* What is wrong with the columns and the storage of a table, NULL if nothing. */
static const char *
mk_segment_shape(Relation rel)
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

	if (rel->rd_rel->relkind != RELKIND_RELATION ||
		rel->rd_rel->relam != HEAP_TABLE_AM_OID)
		return "It is not a heap table.";
	if (rel->rd_rel->relpersistence != RELPERSISTENCE_PERMANENT)
		return "It is not logged.";
	if (desc->natts < Natts_record)
		return "It has fewer columns than it was made with.";
	for (int i = Natts_record; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			return psprintf("It has a further column \"%s\".",
							NameStr(TupleDescAttr(desc, i)->attname));
	for (int i = 0; i < Natts_record; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->atttypid != columns[i].type ||
			att->atttypmod != -1 || att->attgenerated != '\0' ||
			strcmp(NameStr(att->attname), columns[i].name) != 0)
			return psprintf("Its column %d is not \"%s\" of type %s.", i + 1,
							columns[i].name, format_type_be(columns[i].type));
	}
	return NULL;
}

/*
 * The primary key of a table, if it can serve: its first column finds offsets.
 * "plain" if it is the only index and has no other column, so that nothing
 * needs to be known of it to make an entry.
 */
static Oid
mk_segment_pkey(Relation rel, bool *plain)
{
	List *indexes = RelationGetIndexList(rel);
	ListCell *lc;

	foreach (lc, indexes)
	{
		Relation index = index_open(lfirst_oid(lc), AccessShareLock);
		Form_pg_index form = index->rd_index;
		bool serves = form->indisprimary && form->indisvalid &&
			form->indisready && form->indislive && form->indimmediate &&
			form->indnkeyatts == 1 &&
			form->indkey.values[0] == Anum_record_offset &&
			index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_opfamily[0] == INTEGER_BTREE_FAM_OID &&
			index->rd_opcintype[0] == INT8OID && index->rd_indoption[0] == 0 &&
			index->rd_indexprs == NIL && index->rd_indpred == NIL;

		*plain = list_length(indexes) == 1 && form->indnatts == 1;
		index_close(index, AccessShareLock);
		if (serves)
			return lfirst_oid(lc);
	}
	return InvalidOid;
}

static const char *
mk_owner_problem(const MkTopic *topic, Relation rel)
{
	if (rel->rd_rel->relowner == topic->owner)
		return NULL;
	return psprintf("Its owner is \"%s\", and that of the topic is \"%s\".",
					GetUserNameFromId(rel->rd_rel->relowner, true),
					GetUserNameFromId(topic->owner, true));
}

/*
 * The primary key of a segment, or InvalidOid and what is wrong in *problem.
 */
static Oid
mk_segment_check(const MkTopic *topic, int32 partition, int64 segment,
				 Relation rel, bool *plain, const char **problem)
{
	Oid pkey;

	*problem = mk_segment_shape(rel);
	if (*problem == NULL &&
		!mk_segment_is_placed(topic, partition, segment, RelationGetRelid(rel)))
		*problem = "It is not attached to the table of its partition.";
	if (*problem == NULL)
		*problem = mk_owner_problem(topic, rel);
	if (*problem == NULL && !mk_guard_is_on(rel, true))
		*problem = "Its triggers that refuse direct writes are not all there "
				   "and enabled.";
	if (*problem != NULL)
		return InvalidOid;
	pkey = mk_segment_pkey(rel, plain);
	if (!OidIsValid(pkey))
		*problem = "It has no valid primary key (\"offset\").";
	return pkey;
}

/* ---------------------------------------------------------------------------
 * Opening
 */

/* What is known of a table, if it still is the segment's and sound. */
static MkSoundSegment *
mk_segment_sound(const MkTopic *topic, int32 partition, int64 segment,
				 Oid relid)
{
	MkSoundSegment *sound = hash_search(mk_sound, &relid, HASH_FIND, NULL);

	return likely(sound != NULL && sound->valid && sound->segment == segment &&
				  sound->partition == partition &&
				  sound->topic == topic->relid && sound->owner == topic->owner)
		? sound
		: NULL;
}

static void
mk_segment_altered(const MkTopic *topic, Oid relid, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" of topic \"%s\" was altered",
					get_rel_name(relid), NameStr(topic->name)),
			 errdetail_internal("%s", problem),
			 errhint("Undo the change with ALTER TABLE; "
					 "minikafka.check_topic() shows what else is wrong.")));
}

/* Checks a table that was opened, and remembers it. */
static MkSoundSegment *
mk_segment_examine(const MkTopic *topic, int32 partition, int64 segment,
				   Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	uint64 invalidations = mk_invalidations;
	MkSoundSegment *sound;
	const char *problem;
	bool plain = false;
	bool writable;
	bool found;
	Oid pkey =
		mk_segment_check(topic, partition, segment, rel, &plain, &problem);

	if (!OidIsValid(pkey))
		mk_segment_altered(topic, relid, problem);
	writable = mk_guard_obstacle(rel) == NULL;
	sound = hash_search(mk_sound, &relid, HASH_ENTER, &found);
	sound->topic = topic->relid;
	sound->partition = partition;
	sound->segment = segment;
	sound->owner = topic->owner;
	sound->pkey = pkey;
	sound->plain = plain;
	sound->writable = writable;
	sound->valid = mk_invalidations == invalidations;
	return sound;
}

bool
mk_segment_open(const MkTopic *topic, int32 partition, int64 segment,
				LOCKMODE lockmode, Oid *known, MkSegment *result)
{
	Oid relid = known != NULL ? *known : InvalidOid;
	MkSoundSegment *sound = NULL;

	if (OidIsValid(relid))
	{
		LockRelationOid(relid, lockmode);
		sound = mk_segment_sound(topic, partition, segment, relid);
		if (unlikely(sound == NULL))
			UnlockRelationOid(relid, lockmode);
	}
	if (likely(sound != NULL))
		result->rel = table_open(relid, NoLock);
	else
	{
		relid = mk_catalog_segment_table(topic, partition, segment);
		result->rel =
			OidIsValid(relid) ? try_relation_open(relid, lockmode) : NULL;
		if (result->rel == NULL)
			return false;
		sound = mk_segment_sound(topic, partition, segment, relid);
	}
	if (unlikely(sound == NULL))
		sound = mk_segment_examine(topic, partition, segment, result->rel);
	if (unlikely(!sound->writable && lockmode >= RowExclusiveLock))
		mk_guard_check_write(result->rel);
	if (known != NULL)
		*known = relid;
	result->lockmode = lockmode;
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
		 errmsg("table of segment " INT64_FORMAT
				" of topic \"%s\" partition %d is missing",
				segment, NameStr(topic->name), partition),
		 errhint("Somebody dropped it; minikafka.check_topic() shows what else "
				 "is wrong.")));
}

/* ---------------------------------------------------------------------------
 * Problems
 */

static Relation
mk_try_open(Oid relid)
{
	return OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
}

const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition)
{
	Relation rel = mk_try_open(mk_catalog_partition_table(topic, partition));
	const char *problem = NULL;

	if (rel == NULL)
		return "table of the partition is missing";
	if (!mk_partition_is_placed(topic, partition, RelationGetRelid(rel)))
		problem = psprintf("table \"%s\" is not attached",
						   RelationGetRelationName(rel));
	else if (mk_owner_problem(topic, rel) != NULL)
		problem = psprintf("table \"%s\" was altered: %s",
						   RelationGetRelationName(rel),
						   mk_owner_problem(topic, rel));
	relation_close(rel, AccessShareLock);
	return problem;
}

const char *
mk_segment_problem(const MkTopic *topic, int32 partition, int64 segment,
				   bool *missing)
{
	Oid relid = mk_catalog_segment_table(topic, partition, segment);
	Relation rel = mk_try_open(relid);
	const char *altered;
	const char *problem = NULL;
	bool plain;

	*missing = rel == NULL;
	if (rel == NULL)
		return psprintf("table of segment " INT64_FORMAT " is missing",
						segment);
	(void) mk_segment_check(topic, partition, segment, rel, &plain, &altered);
	if (altered == NULL)
		altered = mk_guard_obstacle(rel);
	if (altered == NULL)
		altered = mk_contract_segment_problem(topic, rel);
	if (!mk_is_attached(relid, InvalidOid))
		problem = psprintf("table \"%s\" is not attached",
						   RelationGetRelationName(rel));
	else if (altered != NULL)
		problem = psprintf("table \"%s\" was altered: %s",
						   RelationGetRelationName(rel), altered);
	relation_close(rel, AccessShareLock);
	return problem;
}

static int
mk_compare_oids(const void *a, const void *b)
{
	const Oid *oa = a;
	const Oid *ob = b;

	return *oa < *ob ? -1 : *oa > *ob;
}

/* The tables of a partition's segments, or of a topic's partitions, in order. */
static Oid *
mk_known_tables(const MkTopic *topic, int32 partition, int *n)
{
	Oid *tables;

	if (partition >= 0)
	{
		int64 *segments;

		*n = mk_catalog_segment_tables(topic, partition, &segments, &tables);
	}
	else
	{
		*n = topic->npartitions;
		tables = palloc(*n * sizeof(Oid));
		for (int32 i = 0; i < *n; i++)
			tables[i] = mk_catalog_partition_table(topic, i);
	}
	qsort(tables, *n, sizeof(Oid), mk_compare_oids);
	return tables;
}

/* The tables attached to that one, if it is there. */
static List *
mk_children(Oid parent)
{
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(parent))
		? find_inheritance_children(parent, NoLock)
		: NIL;
}

List *
mk_segment_strangers(const MkTopic *topic, int32 partition)
{
	Oid parent = partition >= 0 ? mk_catalog_partition_table(topic, partition)
								: topic->relid;
	int n;
	Oid *tables = mk_known_tables(topic, partition, &n);
	List *strangers = NIL;
	ListCell *lc;

	foreach (lc, mk_children(parent))
	{
		Oid child = lfirst_oid(lc);
		char *name = get_rel_name(child);

		if (name != NULL &&
			bsearch(&child, tables, n, sizeof(Oid), mk_compare_oids) == NULL)
			strangers =
				lappend(strangers,
						psprintf("table \"%s\" is attached and is no %s", name,
								 partition >= 0 ? "segment" : "partition's"));
	}
	return strangers;
}

int
mk_segment_unattached(const MkTopic *topic, int32 partition, int64 **segments)
{
	List *children = mk_children(mk_catalog_partition_table(topic, partition));
	int nattached = list_length(children);
	Oid *attached = palloc(nattached * sizeof(Oid));
	Oid *tables;
	int n = mk_catalog_segment_tables(topic, partition, segments, &tables);
	int found = 0;

	for (int i = 0; i < nattached; i++)
		attached[i] = list_nth_oid(children, i);
	qsort(attached, nattached, sizeof(Oid), mk_compare_oids);
	for (int i = 0; i < n; i++)
		if (bsearch(&tables[i], attached, nattached, sizeof(Oid),
					mk_compare_oids) == NULL)
			(*segments)[found++] = (*segments)[i];
	return found;
}

bool
mk_segment_has_tables(int32 topic_id)
{
	/* from "p1_" to before what follows all that begin with that */
	NameData first = {{0}};
	NameData after = {{0}};
	ScanKeyData keys[3];
	Relation rel;
	SysScanDesc scan;
	bool found;

	snprintf(NameStr(first), NAMEDATALEN, "p%d_", topic_id);
	snprintf(NameStr(after), NAMEDATALEN, "p%d%c", topic_id, '_' + 1);
	ScanKeyInit(&keys[0], Anum_pg_class_relname, BTGreaterEqualStrategyNumber,
				F_NAMEGE, NameGetDatum(&first));
	ScanKeyInit(&keys[1], Anum_pg_class_relname, BTLessStrategyNumber, F_NAMELT,
				NameGetDatum(&after));
	ScanKeyInit(&keys[2], Anum_pg_class_relnamespace, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(mk_relation_data_namespace()));
	rel = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(rel, ClassNameNspIndexId, true, NULL,
							  lengthof(keys), keys);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
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

/* The name, or if something else has it, one like it. */
static char *
mk_free_name(char *name)
{
	Oid namespace = mk_relation_data_namespace();
	char *free_name = name;

	for (int i = 1; OidIsValid(get_relname_relid(free_name, namespace)) ||
		 SearchSysCacheExists2(TYPENAMENSP, CStringGetDatum(free_name),
							   ObjectIdGetDatum(namespace));
		 i++)
		free_name = psprintf("%s_%d", name, i);
	return free_name;
}

/* Takes away what default privileges have given others on a table just made. */
static void
mk_revoke_defaults(Oid relid, const char *owner)
{
	HeapTuple tuple;
	Datum datum;
	bool isnull;
	Acl *acl;

	(void) mk_class(relid, &tuple);
	datum = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relacl, &isnull);
	acl = isnull ? NULL : DatumGetAclPCopy(datum);
	ReleaseSysCache(tuple);
	if (acl == NULL)
		return;
	for (int i = 0; i < ACL_NUM(acl); i++)
	{
		Oid grantee = ACL_DAT(acl)[i].ai_grantee;

		mk_ddl_as_superuser(
			InvalidOid, "REVOKE ALL ON TABLE %s FROM %s", mk_ddl_name(relid),
			grantee == ACL_ID_PUBLIC
				? "PUBLIC"
				: quote_identifier(GetUserNameFromId(grantee, false)));
	}
	mk_ddl_as_superuser(InvalidOid, "GRANT ALL ON TABLE %s TO %s",
						mk_ddl_name(relid), owner);
}

/* What a new table has of the one above. */
#define MK_LIKE \
	"LIKE %s INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION"

/* Makes a table like the one above, for the topic's owner; its OID. */
static Oid
mk_make_table(const MkTopic *topic, char *name, Oid parent, const char *rest)
{
	char *free_name = mk_free_name(name);
	const char *owner =
		quote_identifier(GetUserNameFromId(topic->owner, false));
	Oid relid;

	mk_ddl_as_superuser(mk_tablespace(topic->relid),
						"CREATE TABLE minikafka_data.%s (" MK_LIKE "%s",
						quote_identifier(free_name), mk_ddl_name(parent), rest);
	relid = get_relname_relid(free_name, mk_relation_data_namespace());
	mk_ddl_as_superuser(InvalidOid, "ALTER TABLE %s OWNER TO %s",
						mk_ddl_name(relid), owner);
	mk_revoke_defaults(relid, owner);
	return relid;
}

typedef struct MkAttach
{
	Oid owner;
	Oid parent;
	Oid relid;
	const char *bounds;
} MkAttach;

static void
mk_run_attach(void *arg)
{
	const MkAttach *a = arg;

	mk_ddl_as_owner(a->owner,
					"ALTER TABLE %s ATTACH PARTITION %s FOR VALUES %s",
					mk_ddl_name(a->parent), mk_ddl_name(a->relid), a->bounds);
}

static void
mk_attach(const MkTopic *topic, Oid parent, Oid relid, const char *bounds)
{
	MkAttach a = {topic->owner, parent, relid, bounds};
	MemoryContext context = CurrentMemoryContext;
	const char *what =
		psprintf("table \"%s\" of topic \"%s\" could not be attached",
				 get_rel_name(relid), NameStr(topic->name));

	PG_TRY();
	{
		mk_limit_call(mk_run_attach, &a, what);
	}
	PG_CATCH();
	{
		/* the locks of ATTACH itself are there, or nobody else's */
		if (geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE)
		{
			MemoryContextSwitchTo(context);
			FlushErrorState();
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("%s", what),
					 errdetail("What the owner of the table has written waits "
							   "for a lock."),
					 errhint("Look at the functions in the table's "
							 "constraints and indexes.")));
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * What is attached to a partition's table and is in the way of a segment of
 * these offsets.  A default partition always is: each ATTACH would lock it.
 */
static Oid
mk_in_the_way(Oid parent, int64 from, int64 to)
{
	Relation rel = table_open(parent, NoLock);
	PartitionDesc desc = RelationGetPartitionDesc(rel, false);
	PartitionBoundInfo bounds = desc->boundinfo;
	Oid found = InvalidOid;

	if (desc->nparts > 0 && partition_bound_has_default(bounds))
		found = desc->oids[bounds->default_index];
	for (int i = 1;
		 desc->nparts > 0 && !OidIsValid(found) && i < bounds->ndatums; i++)
	{
		/* the one that ends at this bound; what has no end, is beyond all */
		int64 lower = bounds->kind[i - 1][0] == PARTITION_RANGE_DATUM_MINVALUE
			? PG_INT64_MIN
			: DatumGetInt64(bounds->datums[i - 1][0]);
		int64 upper = bounds->kind[i][0] == PARTITION_RANGE_DATUM_MAXVALUE
			? PG_INT64_MAX
			: DatumGetInt64(bounds->datums[i][0]);

		if (bounds->indexes[i] >= 0 && lower < to && upper > from)
			found = desc->oids[bounds->indexes[i]];
	}
	table_close(rel, NoLock);
	return found;
}

/* Whether ATTACH evaluates what the owner of a partition's table has written. */
static bool
mk_has_owner_code(Oid parent)
{
	Relation rel = table_open(parent, NoLock);
	bool has =
		rel->rd_att->constr != NULL && rel->rd_att->constr->num_check > 0;
	ListCell *lc;

	foreach (lc, RelationGetIndexList(rel))
	{
		Relation index = index_open(lfirst_oid(lc), AccessShareLock);

		has = has ||
			!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs,
							NULL) ||
			!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);
		index_close(index, AccessShareLock);
	}
	table_close(rel, NoLock);
	return has;
}

/* Takes the locks that ATTACH PARTITION takes; false if one would be waited for. */
static bool
mk_lock_above(const MkTopic *topic, Oid parent, MkMake how)
{
	if (how != MK_MAKE_NEEDED)
		return ConditionalLockRelationOid(topic->relid, AccessShareLock) &&
			ConditionalLockRelationOid(parent, ShareUpdateExclusiveLock);
	LockRelationOid(topic->relid, AccessShareLock);
	LockRelationOid(parent, ShareUpdateExclusiveLock);
	return true;
}

/* Raises an error, or returns false, if a segment cannot be made. */
static bool
mk_segment_can_make(const MkTopic *topic, int32 partition, Oid parent,
					int64 from, int64 to, MkMake how)
{
	const char *problem = mk_segment_partition_problem(topic, partition);
	Oid obstacle =
		problem == NULL ? mk_in_the_way(parent, from, to) : InvalidOid;

	if (problem == NULL && !OidIsValid(obstacle))
		return how != MK_MAKE_IN_PASSING || !mk_has_owner_code(parent);
	if (how == MK_MAKE_IN_PASSING)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("topic \"%s\" partition %d cannot have another segment",
					NameStr(topic->name), partition),
			 problem != NULL
				 ? errdetail_internal("%s", problem)
				 : errdetail("Table \"%s\" is attached in its place.",
							 get_rel_name(obstacle)),
			 errhint("Undo the change with ALTER TABLE; "
					 "minikafka.check_topic() shows what else is wrong.")));
	return false;
}

bool
mk_segment_make(const MkTopic *topic, int32 partition, int64 segment,
				MkMake how)
{
	Oid parent = mk_catalog_partition_table(topic, partition);
	int64 from = segment * topic->segment_records;
	int64 to = from + topic->segment_records;
	Oid relid;

	if (!mk_lock_above(topic, parent, how) ||
		!mk_segment_can_make(topic, partition, parent, from, to, how))
		return false;

	/*
	 * Dead rows at the end of a log lengthen each look at its end, so vacuum
	 * soon; but never cut the file, which would need an exclusive lock.
	 */
	relid = mk_make_table(
		topic,
		psprintf("p%d_%d_" INT64_FORMAT, topic->topic_id, partition, segment),
		parent,
		", PRIMARY KEY (\"offset\")) WITH ("
		"autovacuum_vacuum_scale_factor = 0, "
		"autovacuum_vacuum_threshold = 5000, "
		"vacuum_truncate = false)");
	mk_guard_make(relid, true);
	mk_attach(
		topic, parent, relid,
		psprintf("FROM (" INT64_FORMAT ") TO (" INT64_FORMAT ")", from, to));
	mk_catalog_segment_insert(topic, partition, segment, relid);
	return true;
}

void
mk_segment_make_partition(const MkTopic *topic, int32 partition)
{
	Oid relid =
		mk_make_table(topic, psprintf("p%d_%d", topic->topic_id, partition),
					  topic->relid, ") PARTITION BY RANGE (\"offset\")");

	mk_guard_make(relid, false);
	mk_attach(topic, topic->relid, relid, psprintf("IN (%d)", partition));
	mk_catalog_partition_insert(topic, partition, relid);
	mk_segment_make(topic, partition, 0, MK_MAKE_NEEDED);
}

int64
mk_segment_bytes(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_catalog_segment_table(topic, partition, segment);
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

static bool
mk_is_lock_timeout(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

/* A view that anybody has made must not keep the records. */
static void
mk_run_drop(void *arg)
{
	mk_guc_set("lock_timeout", MK_DDL_LOCK_TIMEOUT);
	mk_ddl_drop_table(*(const Oid *) arg, true);
}

bool
mk_segment_try_drop(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_catalog_segment_table(topic, partition, segment);

	if (OidIsValid(relid) &&
		SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
	{
		const Oid relids[] = {mk_catalog_partition_table(topic, partition),
							  relid, mk_toast(relid)};

		if (!mk_segment_is_placed(topic, partition, segment, relid))
			mk_segment_altered(
				topic, relid,
				"It is not attached to the table of its partition.");
		if (!mk_try_lock(relids, lengthof(relids)) ||
			mk_try(mk_run_drop, &relid, mk_is_lock_timeout) != NULL)
			return false;
	}
	mk_catalog_segment_delete(topic, partition, segment);
	return true;
}

bool
mk_segment_has_blocks(const MkTopic *topic, int32 partition, int64 segment)
{
	Relation rel =
		mk_try_open(mk_catalog_segment_table(topic, partition, segment));
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
	Relation rel =
		mk_try_open(mk_catalog_segment_table(topic, partition, segment));
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

typedef struct MkShrink
{
	Oid owner;
	Oid relid;
	Oid pkey;
	const char *failed;
} MkShrink;

/* Keeps who may see which row. */
static void
mk_run_cluster(void *arg)
{
	const MkShrink *s = arg;

	mk_ddl_as_owner(s->owner, "CLUSTER %s USING %s", mk_ddl_name(s->relid),
					quote_identifier(get_rel_name(s->pkey)));
}

static void
mk_run_shrink(void *arg)
{
	const MkShrink *s = arg;

	mk_guc_set("lock_timeout", MK_DDL_LOCK_TIMEOUT);
	mk_owner_call(s->owner, mk_run_cluster, arg, s->failed);
}

bool
mk_segment_try_shrink(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relids[2];
	MkShrink shrink;
	MkSegment s;

	if (!mk_segment_open(topic, partition, segment, AccessShareLock, NULL, &s))
		return false;
	relids[0] = RelationGetRelid(s.rel);
	relids[1] = s.rel->rd_rel->reltoastrelid;
	shrink.owner = s.rel->rd_rel->relowner;
	shrink.relid = relids[0];
	shrink.pkey = RelationGetRelid(s.pkey);
	shrink.failed =
		psprintf("table \"%s\" of topic \"%s\" could not be "
				 "written anew",
				 RelationGetRelationName(s.rel), NameStr(topic->name));
	mk_segment_close(&s, false);
	return mk_try_lock(relids, lengthof(relids)) &&
		mk_try(mk_run_shrink, &shrink, mk_is_lock_timeout) == NULL;
}

/* Drops a table that the catalog has, if it was detached and is still ours. */
static void
mk_drop_detached(Oid relid)
{
	Relation rel;
	bool ours;

	rel = OidIsValid(relid) ? try_relation_open(relid, AccessExclusiveLock)
							: NULL;
	if (rel == NULL)
		return;
	ours = !rel->rd_rel->relispartition && mk_guard_is_on(rel, false);
	relation_close(rel, NoLock);
	if (ours)
		mk_ddl_drop_table(relid, false);
}

void
mk_segment_drop_partition(const MkTopic *topic, int32 partition)
{
	int64 *segments;
	Oid *tables;
	int n = mk_catalog_segment_tables(topic, partition, &segments, &tables);

	mk_drop_detached(mk_catalog_partition_table(topic, partition));
	for (int i = 0; i < n; i++)
		mk_drop_detached(tables[i]);
}
