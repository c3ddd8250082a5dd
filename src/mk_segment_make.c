/*
 * mk_segment_make.c
 *		Making the tables of a partition: its own, and its segments'.
 *
 * A new table is created as the superuser, since no other role may create
 * tables in the schema: LIKE the table above with its constraints, which
 * ATTACH requires; this runs no code of the owner.  It is attached as the
 * owner of the table above, since ATTACH may evaluate expressions of that
 * owner, and with a limit on the time that they take.  It is created on its
 * own and then attached, because PARTITION OF would lock the table above
 * exclusively.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_ddl.h"
#include "mk_guard.h"
#include "mk_limit.h"
#include "mk_lock.h"
#include "mk_relation.h"
#include "mk_segment_check.h"
#include "mk_segment_make.h"

/* The pg_class row of an existing table; the caller releases *tuple. */
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

/* Returns the name, or a similar one if a relation or a type has it. */
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

/* Revokes what default privileges grant to others on a table just made. */
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

/* What a new table copies from the one above. */
#define MK_LIKE \
	"LIKE %s INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION"

/* Makes a table like the one above, for the topic's owner; returns its OID. */
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

/* Attaches a table, with a limit on the time that code of the owner takes. */
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
		/*
		 * not a lock of ATTACH itself: those are held, or no other session can
		 * hold them
		 */
		if (geterrcode() == ERRCODE_LOCK_NOT_AVAILABLE)
		{
			MemoryContextSwitchTo(context);
			FlushErrorState();
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("%s", what),
					 errdetail("Code of the table's owner waits for a lock."),
					 errhint("Look at the functions in the table's "
							 "constraints and indexes.")));
		}
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * Returns a table that is attached to a partition's table and is in the way of
 * a segment of these offsets, or InvalidOid.  A default partition always is in
 * the way: each ATTACH would lock it.
 *
 * PostgreSQL builds the partition descriptor again for each new segment, which
 * takes time linear in the number of segments.
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
		/*
		 * the table that ends at this bound; an open end is beyond all offsets
		 */
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

/* Whether ATTACH evaluates code of the owner of a partition's table. */
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

/*
 * Takes the locks that ATTACH PARTITION takes.  Waits for them only if the
 * table is needed; otherwise returns false if one of them is not free.
 */
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

/*
 * Returns whether a segment can be made.  If not, raises an error unless in
 * passing.
 */
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

	/* no other session sees a partition whose first segment is being made */
	Assert(segment == 0 || mk_lock_maker_is_mine(topic->topic_id, partition));
	if (!mk_lock_above(topic, parent, how) ||
		!mk_segment_can_make(topic, partition, parent, from, to, how))
		return false;

	/*
	 * Dead rows at the end of a log slow down each look at its end, so vacuum
	 * soon; but never truncate the file, which needs an exclusive lock.
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
