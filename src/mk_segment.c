/*
 * mk_segment.c
 *		Opening the table of a segment.
 *
 * A segment is checked whenever its relcache entry is new, before any row is
 * read or written without the executor's checks: its shape, that it is
 * attached where the catalog has it, and that nothing but minikafka writes to
 * it.  See mk_segment_check.c.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "mk_guard.h"
#include "mk_segment.h"
#include "mk_segment_check.h"

/* A segment whose table was found to be sound. */
typedef struct MkSoundSegment
{
	Oid relid; /* hash key */
	bool valid;
	Oid topic;
	int32 partition;
	int64 segment;
	Oid owner; /* the topic's */
	Oid pkey;
	bool pkey_only;
	bool writable; /* see mk_guard_check_write */
} MkSoundSegment;

static HTAB *mk_sound = NULL;
static uint64 mk_invalidations = 0;

/*
 * The table, or any table, may have changed: check it when it is next opened.
 */
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
 * Opening
 */

/*
 * Returns what is known of a table, NULL unless it still is the segment's and
 * sound.
 */
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

/* Checks an open table, and remembers the result. */
static MkSoundSegment *
mk_segment_examine(const MkTopic *topic, int32 partition, int64 segment,
				   Relation rel)
{
	Oid relid = RelationGetRelid(rel);
	uint64 invalidations = mk_invalidations;
	MkSoundSegment *sound;
	const char *problem;
	bool pkey_only = false;
	bool writable;
	bool found;
	Oid pkey =
		mk_segment_check(topic, partition, segment, rel, &pkey_only, &problem);

	if (!OidIsValid(pkey))
		mk_segment_altered(topic, relid, problem);
	writable = mk_guard_obstacle(rel) == NULL;
	sound = hash_search(mk_sound, &relid, HASH_ENTER, &found);
	sound->topic = topic->relid;
	sound->partition = partition;
	sound->segment = segment;
	sound->owner = topic->owner;
	sound->pkey = pkey;
	sound->pkey_only = pkey_only;
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
	result->pkey_only = sound->pkey_only;
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
		 errhint("The table was dropped; minikafka.check_topic() shows what "
				 "else is wrong.")));
}
