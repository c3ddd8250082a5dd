/*
 * mk_segment_check.c
 *		Whether the tables of a partition are as they were made.
 *
 * The owner of a topic owns these tables too, and may alter, move and rename
 * them.  Their definitions are input: nothing about a table is taken for
 * granted but its OID, which the catalog has; its name is only for display.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opfamily_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_contract.h"
#include "mk_guard.h"
#include "mk_relation.h"
#include "mk_segment_check.h"

/* ---------------------------------------------------------------------------
 * Checking
 */

/* The bounds of a table; NULL if it is not attached as a partition. */
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

/* Whether a range bound is this number. */
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

/* Whether a table is attached to "parent"; to any table for InvalidOid. */
static bool
mk_is_attached(Oid relid, Oid parent)
{
	return get_rel_relispartition(relid) &&
		(!OidIsValid(parent) || get_partition_parent(relid, true) == parent);
}

bool
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

/* Whether a table is attached where the partition's table should be. */
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
			return psprintf("It has an extra column \"%s\".",
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
 * *pkey_only tells whether it is the only index and has no other column, so
 * that an entry can be made without knowing more about it.
 */
static Oid
mk_segment_pkey(Relation rel, bool *pkey_only)
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

		*pkey_only = list_length(indexes) == 1 && form->indnatts == 1;
		index_close(index, AccessShareLock);
		if (serves)
			return lfirst_oid(lc);
	}
	return InvalidOid;
}

/* What is wrong with the owner of a table, NULL if nothing. */
static const char *
mk_owner_problem(const MkTopic *topic, Relation rel)
{
	if (rel->rd_rel->relowner == topic->owner)
		return NULL;
	return psprintf("Its owner is \"%s\", and that of the topic is \"%s\".",
					GetUserNameFromId(rel->rd_rel->relowner, true),
					GetUserNameFromId(topic->owner, true));
}

Oid
mk_segment_check(const MkTopic *topic, int32 partition, int64 segment,
				 Relation rel, bool *pkey_only, const char **problem)
{
	Oid pkey;

	*problem = mk_segment_shape(rel);
	if (*problem == NULL &&
		!mk_segment_is_placed(topic, partition, segment, RelationGetRelid(rel)))
		*problem = "It is not attached to the table of its partition.";
	if (*problem == NULL)
		*problem = mk_owner_problem(topic, rel);
	if (*problem == NULL && !mk_guard_is_on(rel, true))
		*problem = "Its triggers that refuse direct writes are not all present "
				   "and enabled.";
	if (*problem != NULL)
		return InvalidOid;
	pkey = mk_segment_pkey(rel, pkey_only);
	if (!OidIsValid(pkey))
		*problem = "It has no valid primary key (\"offset\").";
	return pkey;
}

void
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

Relation
mk_segment_try_open_table(Oid relid)
{
	return OidIsValid(relid) ? try_relation_open(relid, AccessShareLock) : NULL;
}

/* ---------------------------------------------------------------------------
 * What is wrong
 */

const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition)
{
	Relation rel =
		mk_segment_try_open_table(mk_catalog_partition_table(topic, partition));
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
	Relation rel = mk_segment_try_open_table(relid);
	const char *altered;
	const char *problem = NULL;
	bool pkey_only;

	*missing = rel == NULL;
	if (rel == NULL)
		return psprintf("table of segment " INT64_FORMAT " is missing",
						segment);
	(void) mk_segment_check(topic, partition, segment, rel, &pkey_only,
							&altered);
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

/* The tables attached to a table, none if it does not exist. */
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
						psprintf("table \"%s\" is attached but is not %s", name,
								 partition >= 0 ? "a segment" : "a partition"));
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
	/* from "p1_" to before "p1`", which follows all names with that prefix */
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
