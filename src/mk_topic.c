/*
 * mk_topic.c
 *		Topics: looking them up, checking rights, choosing partitions, and
 *		deleting records.
 *
 * A topic is a table: its name, its owner and its rights are the table's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/twophase.h"
#include "catalog/pg_authid.h"
#include "common/md5.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "mk_clock.h"
#include "mk_compat.h"
#include "mk_ddl.h"
#include "mk_errors.h"
#include "mk_guard.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_murmur2.h"
#include "mk_number.h"
#include "mk_producer_rows.h"
#include "mk_progress.h"
#include "mk_segment_drop.h"
#include "mk_segment_make.h"
#include "mk_send.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * Looking up and rights
 */

/* Raises 42704. */
static void
mk_topic_not_found(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("topic \"%s\" does not exist", name),
			 errhint("Use minikafka.create_topic() to create it; view "
					 "minikafka.topics lists all topics.")));
}

/* NULL if there is none; 0A000 for a table that is not a topic. */
static MkTopic *
mk_topic_find(const char *name)
{
	Oid relid = get_relname_relid(name, mk_relation_topics_namespace());
	MkTopic *topic;

	if (!OidIsValid(relid))
		return NULL;
	topic = mk_catalog_topic(relid);
	if (topic == NULL)
	{
		/* another session may be dropping or recreating it: wait for that */
		LockRelationOid(relid, AccessShareLock);
		UnlockRelationOid(relid, AccessShareLock);
		if (relid != get_relname_relid(name, mk_relation_topics_namespace()))
			return mk_topic_find(name);
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" in schema \"minikafka_topics\" is not a "
						"topic of this database",
						name),
				 errdetail("The catalog of minikafka does not have it, as "
						   "after a dump of the schema only or of some tables "
						   "only, or on a logical subscriber."),
				 errhint("Read the table itself; or drop it, and create the "
						 "topic with minikafka.create_topic().")));
	}
	return topic;
}

/*
 * Checks that a user has one of the rights of "mode", or if "monitored" is a
 * member of pg_monitor.  The topic's cache entry keeps the rights until the
 * topic or a role's membership may have changed.
 */
static void
mk_topic_check_right(MkTopic *topic, Oid user, AclMode mode, bool monitored)
{
	uint64 generation = mk_catalog_generation();
	AclMode found;
	bool gone = false;
	int rls;

	if (likely(topic->acl_user == user && topic->acl_generation == generation &&
			   (topic->acl_mode & mode) != 0))
		return;

	/* another session may have dropped the table just now */
	(void) pg_class_aclcheck_ext(topic->relid, user, mode, &gone);
	if (gone)
		mk_topic_not_found(NameStr(topic->name));
	found = pg_class_aclmask(topic->relid, user, mode, ACLMASK_ANY);
	if (found == 0)
	{
		if (monitored && has_privs_of_role(user, ROLE_PG_MONITOR))
			return;
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for topic \"%s\"", NameStr(topic->name)),
			 errhint("Use GRANT %s ON minikafka_topics.%s.",
					 (mode & ACL_INSERT)       ? "INSERT"
						 : (mode & ACL_DELETE) ? "DELETE"
											   : "SELECT",
					 quote_identifier(NameStr(topic->name)))));
	}

	rls = check_enable_rls(topic->relid, user, true);
	if (rls == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row-level security is not supported on topic \"%s\"",
						NameStr(topic->name)),
				 errhint("Create a topic for each audience instead.")));
	if (rls == RLS_NONE)
	{
		if (topic->acl_user != user || topic->acl_generation != generation)
			topic->acl_mode = 0;
		topic->acl_user = user;
		topic->acl_generation = generation;
		topic->acl_mode |= found;
	}
}

/* Looks up a topic and checks rights. */
static MkTopic *
mk_topic_get_internal(const char *name, int length, AclMode mode,
					  bool monitored)
{
	/* the topic of the last call */
	static char last_name[NAMEDATALEN];
	static int last_length = -1;
	static MkTopic *last_topic = NULL;
	static uint64 last_generation = 0;

	if (length != last_length || last_generation != mk_catalog_generation() ||
		memcmp(name, last_name, length) != 0)
	{
		char *terminated = pnstrdup(name, length);
		MkTopic *topic;
		uint64 generation = mk_catalog_generation();

		last_length = -1;
		topic = length < NAMEDATALEN ? mk_topic_find(terminated) : NULL;
		if (topic == NULL)
			mk_topic_not_found(terminated);
		memcpy(last_name, name, length);
		last_topic = topic;
		last_generation = generation;
		last_length = length;
		pfree(terminated);
	}
	mk_topic_check_right(last_topic, GetUserId(), mode, monitored);
	return last_topic;
}

MkTopic *
mk_topic_get(const char *name, int length, AclMode mode)
{
	mk_relation_check_subscriber();
	return mk_topic_get_internal(name, length, mode, false);
}

MkTopic *
mk_topic_get_monitored(const char *name, int length, AclMode mode)
{
	return mk_topic_get_internal(name, length, mode, true);
}

bool
mk_topic_any_allows(AclMode mode)
{
	Oid user = GetUserId();
	ListCell *lc;

	if (superuser_arg(user))
		return true;
	foreach (lc, mk_catalog_topic_ids())
	{
		const MkTopic *topic = mk_catalog_topic_by_id(lfirst_int(lc));
		bool gone = false;

		if (topic != NULL &&
			pg_class_aclcheck_ext(topic->relid, user, mode, &gone) ==
				ACLCHECK_OK &&
			!gone)
			return true;
	}
	return false;
}

void
mk_topic_check_readable(MkTopic *topic)
{
	mk_topic_check_right(topic, GetUserId(), ACL_SELECT, false);
}

void
mk_topic_check_allows(MkTopic *topic, Oid user, AclMode mode)
{
	mk_topic_check_right(topic, user, mode, false);
}

bool
mk_topic_may_read(const MkTopic *topic)
{
	return pg_class_aclcheck(topic->relid, GetUserId(), ACL_SELECT) ==
		ACLCHECK_OK;
}

bool
mk_topic_is_visible(const MkTopic *topic)
{
	return (mk_topic_may_read(topic) ||
			has_privs_of_role(GetUserId(), ROLE_PG_MONITOR)) &&
		check_enable_rls(topic->relid, InvalidOid, true) != RLS_ENABLED;
}

void
mk_topic_check_partition(const MkTopic *topic, int32 partition)
{
	if (partition < 0 || partition >= topic->npartitions)
		ereport(
			ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("partition %d of topic \"%s\" does not exist", partition,
					NameStr(topic->name)),
			 errdetail("Its partitions are 0 to %d.", topic->npartitions - 1)));
}

int32
mk_topic_partition_for_key(const MkTopic *topic, const char *key, int length)
{
	if (topic->partitioner == MK_PARTITIONER_MD5)
	{
		unsigned char digest[MD5_DIGEST_LENGTH];
		const char *error = NULL;

		if (!pg_md5_binary(key, length, digest, &error))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not compute %s hash: %s", "MD5", error)));
		return mk_md5_partition(digest, topic->npartitions);
	}
	return mk_murmur2_partition(mk_murmur2((const unsigned char *) key, length),
								topic->npartitions);
}

void
mk_topic_check_record(const MkTopic *topic, const MkRecord *r)
{
	Size bytes = 0;

	if (r->key_isnull && topic->compacts)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("record without a key for topic \"%s\"",
						NameStr(topic->name)),
				 errdetail("The topic is compacted: the last record of each "
						   "key is kept."),
				 errhint("Give each record a key.")));
	if (!r->key_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->key));
	if (!r->value_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->value));
	if (!r->headers_isnull)
		bytes += VARSIZE_ANY_EXHDR(DatumGetPointer(r->headers));
	if (bytes > (Size) topic->max_message_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("record of %zu bytes is too large for topic \"%s\"",
						bytes, NameStr(topic->name)),
				 errdetail("Its \"max_message_bytes\" is %d.",
						   topic->max_message_bytes),
				 errhint("The topic's owner can raise it with "
						 "minikafka.set_topic_option().")));
}

int32
mk_topic_choose_partition(MkTopic *topic, const MkRecord *r)
{
	struct varlena *key;

	if (r->key_isnull)
		return mk_send_sticky_partition(topic);
	key = (struct varlena *) DatumGetPointer(r->key);
	return mk_topic_partition_for_key(topic, VARDATA_ANY(key),
									  VARSIZE_ANY_EXHDR(key));
}

/* 42501 unless the user owns the topic; looks past the cache. */
static void
mk_topic_check_owner(const MkTopic *topic)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(topic->relid));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		mk_topic_not_found(NameStr(topic->name));
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	if (!has_privs_of_role(GetUserId(), owner))
		ereport(
			ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be owner of topic \"%s\"", NameStr(topic->name))));
}

MkTopic *
mk_topic_get_owned(const char *name)
{
	MkTopic *topic = mk_topic_find(name);

	if (topic == NULL)
		mk_topic_not_found(name);
	mk_topic_check_owner(topic);
	return topic;
}

MkTopic *
mk_topic_lock_owned(const char *name, bool missing_ok)
{
	/* check name and owner again after the lock, as RangeVarGetRelid does */
	for (;;)
	{
		MkTopic *topic = mk_topic_find(name);

		if (topic == NULL)
		{
			if (!missing_ok)
				mk_topic_not_found(name);
			ereport(NOTICE,
					(errmsg("topic \"%s\" does not exist, skipping", name)));
			return NULL;
		}
		/* before the lock: only the owner may block other sessions */
		mk_topic_check_owner(topic);
		LockRelationOid(topic->relid, ShareUpdateExclusiveLock);
		if (topic->relid ==
				get_relname_relid(name, mk_relation_topics_namespace()) &&
			mk_catalog_topic(topic->relid) != NULL)
		{
			mk_topic_check_owner(topic);
			return topic;
		}
		UnlockRelationOid(topic->relid, ShareUpdateExclusiveLock);
	}
}

/* ---------------------------------------------------------------------------
 * Locking topics in use
 */

static uint64
mk_use_tag(const void *deferred)
{
	return *(const int32 *) deferred;
}

static bool
mk_use_same(const void *a, const void *b)
{
	return *(const int32 *) a == *(const int32 *) b;
}

static void
mk_use_lock(void *deferred)
{
	mk_lock_topic_in_use(*(int32 *) deferred);
}

/* Entries are never replaced: mk_topic_defer_use() adds none twice. */
static const MkDeferredKind mk_use_kind = {
	.rank = MK_RANK_TOPIC,
	.tag = mk_use_tag,
	.same = mk_use_same,
	.lock = mk_use_lock,
};

void
mk_topic_defer_use(int32 topic_id)
{
	int32 *deferred;

	if (mk_xact_find_deferred(&mk_use_kind, &topic_id) != NULL)
		return;
	deferred = MemoryContextAlloc(mk_xact_context(), sizeof(int32));
	*deferred = topic_id;
	mk_xact_defer(&mk_use_kind, deferred);
}

/* ---------------------------------------------------------------------------
 * Deleting records
 */

void
mk_topic_move_log_start(const MkTopic *topic, int32 partition, int64 log_start)
{
	Assert(mk_lock_log_start_is_mine(topic->topic_id, partition));
	if (log_start > mk_catalog_log_start(topic, partition))
		mk_catalog_log_start_update(topic, partition, log_start);
}

/* A move of a log start that the commit is to make. */
typedef struct MkDeferredDelete
{
	MkTopic *topic;
	int32 topic_id;
	int32 partition;
	int64 log_start;
} MkDeferredDelete;

static uint64
mk_delete_tag(const void *deferred)
{
	const MkDeferredDelete *d = deferred;

	return ((uint64) d->topic_id << 32) | (uint32) d->partition;
}

static bool
mk_delete_same(const void *a, const void *b)
{
	return mk_delete_tag(a) == mk_delete_tag(b);
}

static void
mk_delete_lock(void *deferred)
{
	MkDeferredDelete *d = deferred;

	mk_lock_log_start(d->topic_id, d->partition);
	mk_catalog_check_topic(d->topic, d->topic_id);
}

static void
mk_delete_write(void *deferred)
{
	MkDeferredDelete *d = deferred;

	mk_topic_move_log_start(d->topic, d->partition, d->log_start);
}

static const MkDeferredKind mk_delete_kind = {
	.rank = MK_RANK_LOG_START,
	.tag = mk_delete_tag,
	.same = mk_delete_same,
	.lock = mk_delete_lock,
	.write = mk_delete_write,
	.discard = pfree,
};

int64
mk_topic_delete_records(MkTopic *topic, int32 partition, int64 before_offset)
{
	MkDeferredDelete *deferred;
	const MkDeferredDelete *before;
	int64 end = mk_log_end(topic, partition);
	int64 log_start = mk_log_start(topic, partition);

	if (before_offset > end)
		ereport(ERROR,
				(errcode(ERRCODE_MK_OFFSET_OUT_OF_RANGE),
				 errmsg("offset " INT64_FORMAT " is beyond " INT64_FORMAT
						", the end of topic \"%s\" partition %d",
						before_offset, end, NameStr(topic->name), partition),
				 errhint("Use -1 to delete all records.")));
	if (before_offset < -1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offset " INT64_FORMAT " is negative", before_offset),
				 errhint("Use -1 to delete all records.")));

	mk_topic_defer_use(topic->topic_id);
	deferred = MemoryContextAlloc(mk_xact_context(), sizeof(MkDeferredDelete));
	deferred->topic = topic;
	deferred->topic_id = topic->topic_id;
	deferred->partition = partition;
	deferred->log_start =
		before_offset == -1 ? end : Max(before_offset, log_start);
	before = mk_xact_find_deferred(&mk_delete_kind, deferred);
	if (before != NULL)
		deferred->log_start = Max(deferred->log_start, before->log_start);
	mk_xact_defer(&mk_delete_kind, deferred);
	return deferred->log_start;
}
