/*
 * mk_topic_admin.c
 *		Creating topics, adding partitions, dropping topics.
 *
 * A change to a topic takes the same lock on its table as ALTER TABLE.  The
 * creation of a topic locks its name, because there is no table yet.
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
#include "mk_parked_rows.h"
#include "mk_producer_rows.h"
#include "mk_progress.h"
#include "mk_redriven.h"
#include "mk_schedule_rows.h"
#include "mk_segment_drop.h"
#include "mk_segment_make.h"
#include "mk_send.h"
#include "mk_share_rows.h"
#include "mk_share_settings.h"
#include "mk_tail.h"
#include "mk_topic.h"
#include "mk_topic_admin.h"
#include "mk_xact.h"

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

/* The columns of a topic's table, and of the tables of its partitions. */
#define MK_RECORD_COLUMNS                   \
	"\"offset\" pg_catalog.int8 NOT NULL, " \
	"ts pg_catalog.timestamptz NOT NULL, "  \
	"partition pg_catalog.int4 NOT NULL, "  \
	"key pg_catalog.bytea, value pg_catalog.bytea, headers pg_catalog.jsonb"

/*
 * 54000 if the lock table has no room to drop a topic with so many segments.
 * The creation of a topic checks this too, so that it can be dropped later.
 * DROP TABLE locks each object: of a partition the table, its two types and its
 * trigger, besides its sequencing lock; of a segment also another trigger, the
 * primary key with its constraint, and the TOAST table with its index.  If NOT
 * NULL constraints are objects, those of each table count too.
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
mk_topic_create(const char *name, MkTopicRow *options, bool if_not_exists)
{
	Oid namespace = mk_relation_topics_namespace();
	char *table = psprintf("minikafka_topics.%s", quote_identifier(name));
	Oid relid;
	int32 partitions = DatumGetInt32(options->values[MK_COLUMN_PARTITIONS - 1]);
	MkTopic *topic;

	mk_number_catch_up();
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
	mk_topic_check_locks(name, partitions, partitions);

	/* as the owner, so that the owner's default privileges apply */
	mk_ddl_as_owner(GetUserId(),
					"CREATE TABLE %s (" MK_RECORD_COLUMNS
					") PARTITION BY LIST (partition)",
					table);
	Assert(mk_lock_topic_name_is_mine(name));
	relid = get_relname_relid(name, namespace);
	mk_guard_make(relid, false);
	options->values[MK_COLUMN_TOPIC_ID - 1] =
		Int32GetDatum(mk_number_next(MK_REL_TOPIC_ID_SEQ));
	options->values[MK_COLUMN_REL - 1] = ObjectIdGetDatum(relid);
	options->values[MK_COLUMN_CREATED_AT - 1] =
		TimestampTzGetDatum(mk_clock_now());
	mk_catalog_topic_insert(options);
	topic = mk_catalog_topic(relid);
	for (int32 i = 0; i < partitions; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mk_segment_make_partition(topic, i);
	}
}

/* The number of segments of all partitions. */
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

/*
 * Removes all rows about a topic.  The caller holds mk_lock_topic_drop, so no
 * other transaction writes such rows.
 */
static void
mk_topic_delete_rows(int32 topic_id)
{
	Assert(mk_lock_topic_drop_is_mine(topic_id));
	mk_progress_delete_topic(topic_id);
	mk_producer_rows_delete_topic(topic_id);
	mk_share_settings_delete_topic(topic_id);
	mk_redriven_delete_topic(topic_id);
	mk_share_rows_delete_topic(topic_id);
	mk_parked_delete_letters(topic_id);
	mk_schedule_rows_delete_topic(topic_id);
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
	 * Wait for transactions that are committing; later ones will not find the
	 * topic.  Take the locks in the order in which commits take them, and
	 * before those of the tables.
	 */
	mk_lock_topic_drop(topic->topic_id);
	for (int32 i = 0; i < topic->npartitions; i++)
		mk_lock_sequence(topic->topic_id, i);
	mk_tail_void(topic->relid, MK_TAIL_ALL);
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
