/*
 * mk_topic.c
 *		Topics: finding one with a right to it, making, changing, dropping.
 *
 * A topic is a table: its name, its owner and its rights are the table's.
 * Changes to a topic take the lock that ALTER TABLE would take on the table;
 * making one takes the lock on its name, since there is no table yet.
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
 * Finding
 */

static void
mk_topic_not_found(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("topic \"%s\" does not exist", name),
			 errhint("Use minikafka.create_topic() to make it; view "
					 "minikafka.topics shows what there is.")));
}

/* NULL if there is none; an error for a table that is no topic. */
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
		/* it may just be dropped, and even made again: wait for that */
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
				 errhint("Read the table itself; or drop it, and make the "
						 "topic with minikafka.create_topic().")));
	}
	return topic;
}

/*
 * The right is remembered with the topic, until something about the topic or
 * a role's membership changes.
 */
static void
mk_topic_check_right(MkTopic *topic, AclMode mode, bool monitored)
{
	Oid user = GetUserId();
	uint64 generation = mk_catalog_generation();
	AclMode found;
	int rls;

	if (likely(topic->acl_user == user && topic->acl_generation == generation &&
			   (topic->acl_mode & mode) != 0))
		return;

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

	rls = check_enable_rls(topic->relid, InvalidOid, true);
	if (rls == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("row-level security is not supported on topic \"%s\"",
						NameStr(topic->name)),
				 errhint("Make a topic for each audience instead.")));
	if (rls == RLS_NONE)
	{
		if (topic->acl_user != user || topic->acl_generation != generation)
			topic->acl_mode = 0;
		topic->acl_user = user;
		topic->acl_generation = generation;
		topic->acl_mode |= found;
	}
}

static MkTopic *
mk_topic_get_internal(const char *name, int length, AclMode mode,
					  bool monitored)
{
	/* the last one that was asked for */
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
	mk_topic_check_right(last_topic, mode, monitored);
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
	mk_topic_check_right(topic, ACL_SELECT, false);
}

bool
mk_topic_is_visible(const MkTopic *topic)
{
	return (pg_class_aclcheck(topic->relid, GetUserId(), ACL_SELECT) ==
				ACLCHECK_OK ||
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

/* The columns of a topic's table, and so of all below it. */
#define MK_RECORD_COLUMNS                   \
	"\"offset\" pg_catalog.int8 NOT NULL, " \
	"ts pg_catalog.timestamptz NOT NULL, "  \
	"partition pg_catalog.int4 NOT NULL, "  \
	"key pg_catalog.bytea, value pg_catalog.bytea, headers pg_catalog.jsonb"

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

/* ---------------------------------------------------------------------------
 * Making and changing
 */

void
mk_topic_check_name(const char *name)
{
	size_t length = strlen(name);

	if (length < 1 || length >= NAMEDATALEN ||
		strspn(name,
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "abcdefghijklmnopqrstuvwxyz0123456789._-") != length ||
		strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid topic name \"%s\"", name),
			 errhint("A topic's name has 1 to %d of the characters A-Z, a-z, "
					 "0-9, \".\", \"_\" and \"-\", and is not \".\" or \"..\".",
					 NAMEDATALEN - 1)));
}

void
mk_topic_check_number(const char *option, int64 value, int64 least, int64 most)
{
	if (value < least || value > most)
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg(INT64_FORMAT " is outside the valid range for \"%s\"",
					value, option),
			 errhint("It must be from " INT64_FORMAT " to " INT64_FORMAT ".",
					 least, most)));
}

/*
 * Says at once when there is no room in the lock table for a topic of so many
 * segments: when it is dropped, and so before it is made.  DROP TABLE locks
 * each object: of a partition the table, its two types and its trigger, and
 * its sequencing lock comes on top; of a segment also another trigger, the primary
 * key with its constraint and the TOAST table with its index.  Where they are
 * objects, the NOT NULLs of each table come on top.
 */
static void
mk_topic_check_locks(const char *name, int64 partitions, int64 segments)
{
	int64 needed = 5 + 5 * partitions + 9 * segments +
		MK_NOT_NULL_LOCKS * (1 + partitions + segments);

	if (needed > mk_lock_room())
		ereport(
			ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg(
				 "topic \"%s\" has more tables than one transaction can lock",
				 name),
			 errdetail("About " INT64_FORMAT
					   " locks are needed, and there is room for " INT64_FORMAT
					   ".",
					   needed, mk_lock_room()),
			 errhint("Raise \"max_locks_per_transaction\" to " INT64_FORMAT
					 " or more and restart the server.",
					 mk_lock_setting(needed))));
}

void
mk_topic_create(const char *name, const MkTopicOptions *options,
				bool if_not_exists)
{
	Oid namespace = mk_relation_topics_namespace();
	char *table = psprintf("minikafka_topics.%s", quote_identifier(name));
	Oid relid;
	Datum values[MK_NUM_COLUMNS] = {0};
	bool nulls[MK_NUM_COLUMNS] = {0};
	MkTopic *topic;

	mk_relation_note_use();
	mk_topic_check_name(name);
	if (mk_namespace_aclcheck(namespace, GetUserId(), ACL_CREATE) !=
		ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to create topic \"%s\"", name),
				 errhint("Use GRANT CREATE ON SCHEMA minikafka_topics.")));

	mk_lock_topic_name(name);
	AcceptInvalidationMessages();
	relid = get_relname_relid(name, namespace);
	if (OidIsValid(relid))
	{
		if (mk_catalog_topic(relid) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("table \"%s\" in schema \"minikafka_topics\" "
							"exists and is not a topic",
							name),
					 errdetail("The catalog of minikafka does not have it, as "
							   "after a dump of the schema only."),
					 errhint("Use DROP TABLE minikafka_topics.%s first.",
							 quote_identifier(name))));
		ereport(if_not_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 if_not_exists
					 ? errmsg("topic \"%s\" already exists, skipping", name)
					 : errmsg("topic \"%s\" already exists", name)));
		return;
	}
	mk_topic_check_locks(name, options->partitions, options->partitions);

	/* as the owner, so that it has the owner's default privileges */
	mk_ddl_as_owner(GetUserId(),
					"CREATE TABLE %s (" MK_RECORD_COLUMNS
					") PARTITION BY LIST (partition)",
					table);
	relid = get_relname_relid(name, namespace);
	mk_guard_make(relid, false);
	values[MK_COLUMN_TOPIC_ID - 1] =
		Int32GetDatum(mk_relation_next(MK_REL_TOPIC_ID_SEQ));
	values[MK_COLUMN_REL - 1] = ObjectIdGetDatum(relid);
	values[MK_COLUMN_PARTITIONS - 1] = Int32GetDatum(options->partitions);
	values[MK_COLUMN_PARTITIONER - 1] =
		CStringGetTextDatum(options->partitioner);
	values[MK_COLUMN_CLEANUP_POLICY - 1] =
		CStringGetTextDatum(options->cleanup_policy);
	values[MK_COLUMN_SEGMENT_RECORDS - 1] =
		Int64GetDatum(options->segment_records);
	values[MK_COLUMN_MAX_MESSAGE_BYTES - 1] =
		Int32GetDatum(options->max_message_bytes);
	values[MK_COLUMN_MIN_INSYNC_REPLICAS - 1] = Int32GetDatum(1);
	values[MK_COLUMN_RETENTION - 1] = IntervalPGetDatum(options->retention);
	nulls[MK_COLUMN_RETENTION - 1] = options->retention == NULL;
	values[MK_COLUMN_RETENTION_BYTES - 1] =
		Int64GetDatum(options->retention_bytes);
	nulls[MK_COLUMN_RETENTION_BYTES - 1] =
		options->retention_bytes == MK_UNLIMITED;
	nulls[MK_COLUMN_DELETE_RETENTION - 1] = true;
	nulls[MK_COLUMN_MIN_COMPACTION_LAG - 1] = true;
	values[MK_COLUMN_CREATED_AT - 1] = TimestampTzGetDatum(mk_clock_now());
	values[MK_COLUMN_VALUE_FORMAT - 1] = CStringGetTextDatum("bytes");
	mk_catalog_topic_insert(values, nulls);
	topic = mk_catalog_topic(relid);
	for (int32 i = 0; i < options->partitions; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mk_segment_make_partition(topic, i);
	}
}

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
	/* the name and the owner again after the lock, as RangeVarGetRelid does */
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
		/* before, so that nobody else can make the topic wait */
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

/* How many segments all partitions have. */
static int64
mk_topic_segments(const MkTopic *topic)
{
	int64 n = 0;

	for (int32 i = 0; i < topic->npartitions; i++)
	{
		int64 *segments;

		n += mk_catalog_segments(topic, i, &segments);
		pfree(segments);
	}
	return n;
}

void
mk_topic_add_partitions(const char *name, int32 total)
{
	MkTopic *topic = mk_topic_lock_owned(name, false);
	int32 first = topic->npartitions;

	if (total < first)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("topic \"%s\" has %d partitions already", name, first),
				 errhint("The number of partitions can only grow.")));
	if (total == first)
		return;
	mk_topic_check_locks(name, total, mk_topic_segments(topic) + total - first);

	for (int32 i = first; i < total; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mk_segment_make_partition(topic, i);
	}
	mk_catalog_topic_set(topic, MK_COLUMN_PARTITIONS, Int32GetDatum(total),
						 false);
	ereport(
		NOTICE,
		(errmsg("keys of topic \"%s\" may go to other partitions from now on",
				name),
		 errdetail("There were %d partitions and now there are %d.", first,
				   total)));
}

static void
mk_topic_delete_rows(int32 topic_id)
{
	mk_progress_delete_topic(topic_id);
	mk_producer_rows_delete_topic(topic_id);
	mk_catalog_topic_delete(topic_id);
}

void
mk_topic_drop(const char *name, bool if_exists)
{
	MkTopic *topic = mk_topic_lock_owned(name, if_exists);

	if (topic == NULL)
		return;
	mk_topic_check_locks(name, topic->npartitions, mk_topic_segments(topic));

	/*
	 * Who is committing comes first, and who comes later finds no topic.  The
	 * locks are taken in the order in which committers take them, and before
	 * those of the tables.
	 */
	mk_lock_topic_drop(topic->topic_id);
	for (int32 i = 0; i < topic->npartitions; i++)
		mk_lock_sequence(topic->topic_id, i);
	mk_ddl_as_owner(GetUserId(), "DROP TABLE minikafka_topics.%s",
					quote_identifier(name));
	for (int32 i = 0; i < topic->npartitions; i++)
		mk_segment_drop_partition(topic, i);
	mk_topic_delete_rows(topic->topic_id);
}

void
mk_topic_forget(int32 topic_id)
{
	mk_lock_topic_drop(topic_id);
	mk_topic_delete_rows(topic_id);
}

/* ---------------------------------------------------------------------------
 * Using one
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

/* Never replaced: it is looked for first. */
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
	if (log_start > mk_catalog_log_start(topic, partition))
		mk_catalog_log_start_update(topic, partition, log_start);
}

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
