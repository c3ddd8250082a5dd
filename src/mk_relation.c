/*
 * mk_relation.c
 *		Looking up the relations of the extension.
 *
 * The OIDs are cached.  After an invalidation of any of the relations, the
 * next call looks all of them up again, and compares the version of the
 * extension and the number of columns of each table with those that the
 * library expects.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "mk_relation.h"

/* The name of each relation, and of a table the number of columns. */
static const struct
{
	const char *name;
	int natts;
} mk_relations[MK_NUM_RELS] = {
	[MK_REL_TOPIC] = {"topic", MK_NATTS_TOPIC},
	[MK_REL_TOPIC_PKEY] = {"topic_pkey", 0},
	[MK_REL_TOPIC_REL_KEY] = {"topic_rel_key", 0},
	[MK_REL_TOPIC_ID_SEQ] = {"topic_id", 0},
	[MK_REL_PARTITION] = {"partition", MK_NATTS_PARTITION},
	[MK_REL_PARTITION_PKEY] = {"partition_pkey", 0},
	[MK_REL_SEGMENT] = {"segment", MK_NATTS_SEGMENT},
	[MK_REL_SEGMENT_PKEY] = {"segment_pkey", 0},
	[MK_REL_COMPACTION] = {"compaction", MK_NATTS_COMPACTION},
	[MK_REL_COMPACTION_PKEY] = {"compaction_pkey", 0},
	[MK_REL_SETTLED] = {"settled_partition", MK_NATTS_SETTLED},
	[MK_REL_SETTLED_IDX] = {"settled_partition_idx", 0},
	[MK_REL_GROUP] = {"consumer_group", MK_NATTS_GROUP},
	[MK_REL_GROUP_PKEY] = {"consumer_group_pkey", 0},
	[MK_REL_GROUP_NO_KEY] = {"consumer_group_group_no_key", 0},
	[MK_REL_GROUP_NO_SEQ] = {"group_no", 0},
	[MK_REL_GRANT] = {"group_grant", MK_NATTS_GRANT},
	[MK_REL_GRANT_PKEY] = {"group_grant_pkey", 0},
	[MK_REL_MEMBER] = {"group_member", MK_NATTS_MEMBER},
	[MK_REL_MEMBER_PKEY] = {"group_member_pkey", 0},
	[MK_REL_MEMBER_NO_KEY] = {"group_member_member_no_key", 0},
	[MK_REL_MEMBER_NO_SEQ] = {"member_no", 0},
	[MK_REL_ASSIGNMENT] = {"group_assignment", MK_NATTS_ASSIGNMENT},
	[MK_REL_ASSIGNMENT_PKEY] = {"group_assignment_pkey", 0},
	[MK_REL_PROGRESS] = {"group_progress", MK_NATTS_PROGRESS},
	[MK_REL_PROGRESS_PKEY] = {"group_progress_pkey", 0},
	[MK_REL_HEARTBEAT] = {"member_heartbeat", MK_NATTS_HEARTBEAT},
	[MK_REL_HEARTBEAT_IDX] = {"member_heartbeat_idx", 0},
	[MK_REL_PRODUCER] = {"producer", MK_NATTS_PRODUCER},
	[MK_REL_PRODUCER_PKEY] = {"producer_pkey", 0},
	[MK_REL_PRODUCER_ID_KEY] = {"producer_producer_id_key", 0},
	[MK_REL_PRODUCER_ID_SEQ] = {"producer_id", 0},
	[MK_REL_PRODUCED] = {"producer_progress", MK_NATTS_PRODUCED},
	[MK_REL_PRODUCED_PKEY] = {"producer_progress_pkey", 0},
	[MK_REL_INBOX_CONSUMER] = {"inbox_consumer", MK_NATTS_INBOX_CONSUMER},
	[MK_REL_INBOX_CONSUMER_PKEY] = {"inbox_consumer_pkey", 0},
	[MK_REL_CONSUMER_NO_KEY] = {"inbox_consumer_consumer_no_key", 0},
	[MK_REL_CONSUMER_NO_SEQ] = {"inbox_consumer_consumer_no_seq", 0},
	[MK_REL_INBOX] = {"inbox", MK_NATTS_INBOX},
	[MK_REL_INBOX_PKEY] = {"inbox_pkey", 0},
	[MK_REL_INBOX_ACCEPTED_IDX] = {"inbox_accepted_idx", 0},
	[MK_REL_SHARE_GROUP] = {"share_group", MK_NATTS_SHARE_GROUP},
	[MK_REL_SHARE_GROUP_PKEY] = {"share_group_pkey", 0},
	[MK_REL_SHARE_TOPIC] = {"share_topic", MK_NATTS_SHARE_TOPIC},
	[MK_REL_SHARE_TOPIC_PKEY] = {"share_topic_pkey", 0},
	[MK_REL_SHARE_CHECKPOINT] = {"share_checkpoint", MK_NATTS_SHARE_CHECKPOINT},
	[MK_REL_SHARE_CHECKPOINT_PKEY] = {"share_checkpoint_pkey", 0},
	[MK_REL_SHARE_DONE] = {"share_done", MK_NATTS_SHARE_DONE},
	[MK_REL_SHARE_DONE_PKEY] = {"share_done_pkey", 0},
	[MK_REL_SHARE_DELIVERY] = {"share_delivery", MK_NATTS_SHARE_DELIVERY},
	[MK_REL_SHARE_DELIVERY_PKEY] = {"share_delivery_pkey", 0},
	[MK_REL_SHARE_PARKED] = {"share_parked", MK_NATTS_SHARE_PARKED},
	[MK_REL_SHARE_PARKED_PKEY] = {"share_parked_pkey", 0},
	[MK_REL_SHARE_PARKED_PLACE_IDX] = {"share_parked_place", 0},
	[MK_REL_SHARE_PARKED_LETTER_IDX] = {"share_parked_letter", 0},
	[MK_REL_REDRIVEN] = {"redriven", MK_NATTS_REDRIVEN},
	[MK_REL_REDRIVEN_PKEY] = {"redriven_pkey", 0},
	[MK_REL_SCHEDULED] = {"scheduled_record", MK_NATTS_SCHEDULED},
	[MK_REL_SCHEDULED_PKEY] = {"scheduled_record_pkey", 0},
	[MK_REL_SCHEDULED_DUE_IDX] = {"scheduled_record_due_idx", 0},
	[MK_REL_SCHEDULED_ID_SEQ] = {"scheduled_id", 0},
	[MK_REL_SCHEDULE_START] = {"schedule_start", MK_NATTS_SCHEDULE_START},
	[MK_REL_SCHEDULE_START_IDX] = {"schedule_start_idx", 0},
};

/* The cache. */
static struct
{
	bool valid;
	bool subscribed; /* see mk_relation_is_subscriber */
	Oid topics_namespace;
	Oid data_namespace;
	Oid relid[MK_NUM_RELS];
} mk_oids;

static uint64 mk_invalidations = 0; /* all that this backend received */
static uint64 mk_load_count = 0; /* see mk_relation_load_count */

static void
mk_relation_relcache_callback(Datum arg, Oid relid)
{
	mk_invalidations++;
	if (!OidIsValid(relid))
		mk_oids.valid = false;
	for (int i = 0; i < MK_NUM_RELS; i++)
		if (mk_oids.relid[i] == relid)
			mk_oids.valid = false;
}

static void
mk_relation_subscription_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	mk_invalidations++;
	mk_oids.valid = false;
}

void
mk_relation_init(void)
{
	CacheRegisterRelcacheCallback(mk_relation_relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(SUBSCRIPTIONRELMAP,
								  mk_relation_subscription_callback, (Datum) 0);
}

/* The version of the extension's SQL objects; NULL if it is not installed. */
static char *
mk_relation_version(void)
{
	Oid extension = get_extension_oid("minikafka", true);
	Relation rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;
	char *version = NULL;

	if (!OidIsValid(extension))
		return NULL;
	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(rel, ExtensionOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool isnull;
		Datum datum = heap_getattr(tuple, Anum_pg_extension_extversion,
								   RelationGetDescr(rel), &isnull);

		version = TextDatumGetCString(datum);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

/* 42704 or 55000 unless the SQL objects have the version of the library. */
static void
mk_relation_check_version(void)
{
	char *version;

	/* the script may be halfway from one version to another */
	if (creating_extension)
		return;
	version = mk_relation_version();
	if (version == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension \"minikafka\" is not installed in this "
						"database"),
				 errhint("Use CREATE EXTENSION minikafka.")));
	if (strcmp(version, MK_VERSION) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension \"minikafka\" and its library are of "
						"different versions"),
				 errdetail("The extension in this database is of version %s, "
						   "the library that the server has loaded of %s.",
						   version, MK_VERSION),
				 errhint("Use ALTER EXTENSION minikafka UPDATE.  If the "
						 "library is the older one, install that of the "
						 "extension's version, and connect again or, if it "
						 "is preloaded, restart the server.")));
	pfree(version);
}

/* Raises 55000. */
static void
mk_relation_unfit(const char *name, const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation \"minikafka.%s\" is not what the library expects",
					name),
			 errdetail_internal("%s", problem),
			 errhint("Use ALTER EXTENSION minikafka UPDATE, or undo what was "
					 "done to the relation by hand.")));
}

/* The number of columns of a relation, 0 if it does not exist. */
static int
mk_relation_natts(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int natts;

	if (!HeapTupleIsValid(tuple))
		return 0;
	natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return natts;
}

/* Whether a subscription writes the table. */
static bool
mk_relation_is_subscribed(Oid relid)
{
	CatCList *list =
		SearchSysCacheList1(SUBSCRIPTIONRELMAP, ObjectIdGetDatum(relid));
	bool subscribed = list->n_members > 0;

	ReleaseSysCacheList(list);
	return subscribed;
}

/* Fills the cache. */
static void
mk_relation_load(void)
{
	uint64 invalidations = mk_invalidations;
	Oid namespace;

	mk_relation_check_version();
	namespace = get_namespace_oid("minikafka", true);
	mk_oids.topics_namespace = get_namespace_oid("minikafka_topics", true);
	mk_oids.data_namespace = get_namespace_oid("minikafka_data", true);
	for (int i = 0; i < MK_NUM_RELS; i++)
	{
		const char *name = mk_relations[i].name;
		Oid relid = OidIsValid(namespace) ? get_relname_relid(name, namespace)
										  : InvalidOid;
		int natts;

		mk_oids.relid[i] = relid;
		if (!OidIsValid(relid))
			mk_relation_unfit(name, "There is no such relation.");
		natts = mk_relations[i].natts > 0 ? mk_relation_natts(relid) : 0;
		if (natts != mk_relations[i].natts)
			mk_relation_unfit(name,
							  psprintf("It has %d columns instead of %d.",
									   natts, mk_relations[i].natts));
	}
	mk_oids.subscribed = mk_relation_is_subscribed(mk_oids.relid[MK_REL_TOPIC]);
	mk_load_count++;
	/* if there was one meanwhile, the next call looks them up again */
	mk_oids.valid = mk_invalidations == invalidations;
}

Oid
mk_relation_oid(MkRelation which)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.relid[which];
}

uint64
mk_relation_load_count(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_load_count;
}

Oid
mk_relation_topics_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.topics_namespace;
}

Oid
mk_relation_data_namespace(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.data_namespace;
}

bool
mk_relation_is_subscriber(void)
{
	if (unlikely(!mk_oids.valid))
		mk_relation_load();
	return mk_oids.subscribed;
}

void
mk_relation_check_subscriber(void)
{
	if (unlikely(mk_relation_is_subscriber()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the topics of this database are copies of another "
						"server's"),
				 errdetail("A subscription writes them, in the order of "
						   "commits."),
				 errhint("Use the publisher; or, to continue here, stop all "
						 "users of it and use DROP SUBSCRIPTION.")));
}
