/*
 * mk_partition.c
 *		What a backend remembers of a partition between its calls.
 *
 * An entry is never freed, so a pointer to one stays valid.  mk_log.c itself
 * writes into an entry what it finds out about the tail and the end.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "mk_lock.h"
#include "mk_partition.h"
#include "mk_segment.h"

static HTAB *mk_partitions = NULL;

void
mk_partition_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = sizeof(MkPartitionKey);
	ctl.entrysize = sizeof(MkPartition);
	ctl.hcxt = TopMemoryContext;
	mk_partitions = hash_create("minikafka partitions", 64, &ctl,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

MkPartition *
mk_partition_get(const MkTopic *topic, int32 partition)
{
	MkPartitionKey key = {topic->relid, partition};
	MkPartition *p;
	bool found;

	p = hash_search(mk_partitions, &key, HASH_ENTER, &found);
	if (!found)
		memset((char *) p + sizeof(key), 0, sizeof(*p) - sizeof(key));
	return p;
}

void
mk_partition_refresh(const MkTopic *topic, int32 partition, MkPartition *p)
{
	bool changing =
		RecoveryInProgress() || mk_lock_is_changing(topic->topic_id, partition);
	uint64 generation;

	AcceptInvalidationMessages();
	generation = mk_catalog_generation();
	if (likely(!changing && p->generation == generation))
		return;
	p->newest_segment = mk_catalog_newest_segment(topic, partition);
	p->log_start = mk_catalog_log_start(topic, partition);
	p->generation = changing ? 0 : generation;
	if (p->newest_segment < 0)
		mk_catalog_check_topic(topic, topic->topic_id);
}

MkPartition *
mk_partition_fresh(const MkTopic *topic, int32 partition)
{
	MkPartition *p = mk_partition_get(topic, partition);

	mk_partition_refresh(topic, partition, p);
	return p;
}

bool
mk_partition_is_settled(const MkTopic *topic, int32 partition)
{
	MkPartition *p = mk_partition_get(topic, partition);
	bool own;

	if (likely(p->settled == mk_catalog_generation()))
		return true;
	if (!mk_catalog_is_settled(topic, partition, &own))
		return false;
	if (!own)
		p->settled = mk_catalog_generation();
	return true;
}

void
mk_partition_at(MkPartition *p, int64 segment)
{
	if (p->segment == segment)
		return;
	p->segment = segment;
	p->segment_relid = InvalidOid;
}

bool
mk_partition_scan(MkScan *s, const MkTopic *topic, int32 partition,
				  MkPartition *p, int64 segment, LOCKMODE lockmode, int64 from,
				  int64 to)
{
	mk_partition_at(p, segment);
	return mk_scan_begin(s, topic, partition, segment, lockmode, NULL, from, to,
						 &p->segment_relid);
}

bool
mk_partition_open(const MkTopic *topic, int32 partition, MkPartition *p,
				  int64 segment, MkSegment *result)
{
	mk_partition_at(p, segment);
	return mk_segment_open(topic, partition, segment, RowExclusiveLock,
						   &p->segment_relid, result);
}

bool
mk_partition_is_blank(const MkTopic *topic, int32 partition, MkPartition *p,
					  int64 segment)
{
	MkSegment s;
	bool is_blank;

	if (p->newest_segment != segment)
		return false;
	if (p->blank != segment)
	{
		p->blank = segment;
		p->blank_relid = InvalidOid;
	}
	if (!mk_segment_open(topic, partition, segment, RowExclusiveLock,
						 &p->blank_relid, &s))
		return false;
	is_blank = RelationGetNumberOfBlocks(s.rel) == 0;
	mk_segment_close(&s, false);
	return is_blank;
}

bool
mk_partition_may_be_dropped(const MkTopic *topic, int32 partition,
							int64 segment)
{
	mk_catalog_check_topic(topic, topic->topic_id);
	return (segment + 1) * topic->segment_records <=
		mk_partition_fresh(topic, partition)->log_start ||
		mk_catalog_next_segment(topic, partition, segment) != segment;
}

void
mk_partition_check_dropped(const MkTopic *topic, int32 partition, int64 segment)
{
	if (!mk_partition_may_be_dropped(topic, partition, segment))
		mk_segment_missing(topic, partition, segment);
}
