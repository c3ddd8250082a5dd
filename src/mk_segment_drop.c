/*
 * mk_segment_drop.c
 *		Dropping the tables of segments, and giving back the space in them.
 *
 * A session that waits for an exclusive lock makes all later sessions wait
 * too.  So these locks are only tried for, and are released at once if one of
 * them is not free.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_ddl.h"
#include "mk_guard.h"
#include "mk_guc.h"
#include "mk_owner.h"
#include "mk_segment.h"
#include "mk_segment_check.h"
#include "mk_segment_drop.h"
#include "mk_try.h"

/* ---------------------------------------------------------------------------
 * Space
 */

int64
mk_segment_bytes(const MkTopic *topic, int32 partition, int64 segment)
{
	Oid relid = mk_catalog_segment_table(topic, partition, segment);
	Relation rel = mk_segment_try_open_table(relid);
	int64 bytes;

	if (rel == NULL)
		return 0;
	bytes = DatumGetInt64(
		DirectFunctionCall1(pg_total_relation_size, ObjectIdGetDatum(relid)));
	relation_close(rel, AccessShareLock);
	return bytes;
}

bool
mk_segment_has_blocks(const MkTopic *topic, int32 partition, int64 segment)
{
	Relation rel = mk_segment_try_open_table(
		mk_catalog_segment_table(topic, partition, segment));
	bool has_blocks;

	if (rel == NULL)
		return false;
	has_blocks = RelationGetNumberOfBlocks(rel) > 0;
	relation_close(rel, AccessShareLock);
	return has_blocks;
}

/*
 * A table is sparse if its rows need less than a quarter of it, and it is not
 * small.  To rewrite more than MK_SPARSE_MAX_BYTES would take more than a
 * tenth of a second.
 */
#define MK_SPARSE_FACTOR     4
#define MK_SPARSE_MIN_BLOCKS 64
#define MK_SPARSE_MAX_BYTES  (16 * 1024 * 1024)

bool
mk_segment_is_sparse(const MkTopic *topic, int32 partition, int64 segment,
					 int64 bytes)
{
	Relation rel = mk_segment_try_open_table(
		mk_catalog_segment_table(topic, partition, segment));
	Relation toast;
	int64 blocks;

	if (rel == NULL)
		return false;
	blocks = RelationGetNumberOfBlocks(rel);
	toast = mk_segment_try_open_table(rel->rd_rel->reltoastrelid);
	if (toast != NULL)
	{
		blocks += RelationGetNumberOfBlocks(toast);
		relation_close(toast, AccessShareLock);
	}
	relation_close(rel, AccessShareLock);
	return blocks >= MK_SPARSE_MIN_BLOCKS && bytes <= MK_SPARSE_MAX_BYTES &&
		blocks * BLCKSZ > bytes * MK_SPARSE_FACTOR;
}

/* ---------------------------------------------------------------------------
 * Dropping and shrinking
 */

#define MK_TRIES        10
#define MK_TRY_SLEEP_US 5000

/*
 * Locks exclusively all tables that are not InvalidOid; or none, and returns
 * false.
 */
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

/* Locks on dependents, such as views, must also be granted quickly. */
#define MK_DDL_LOCK_TIMEOUT "10ms"

static bool
mk_is_lock_timeout(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE;
}

/* The TOAST table of a table, InvalidOid if it has none. */
static Oid
mk_toast(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid toast;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	toast = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
	ReleaseSysCache(tuple);
	return toast;
}

/* Drops dependent objects too: a view must not keep the records. */
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

typedef struct MkShrink
{
	Oid owner;
	Oid relid;
	Oid pkey;
	const char *failed;
} MkShrink;

/* CLUSTER keeps the visibility of each row. */
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
		psprintf("table \"%s\" of topic \"%s\" could not be rewritten",
				 RelationGetRelationName(s.rel), NameStr(topic->name));
	mk_segment_close(&s, false);
	return mk_try_lock(relids, lengthof(relids)) &&
		mk_try(mk_run_shrink, &shrink, mk_is_lock_timeout) == NULL;
}

/*
 * Drops a table that the catalog has, if it was detached and still has the
 * triggers of minikafka.
 */
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
