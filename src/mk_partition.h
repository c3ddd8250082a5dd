/*
 * mk_partition.h
 *		What a backend remembers of a partition between its calls.
 */
#ifndef MK_PARTITION_H
#define MK_PARTITION_H

#include "access/transam.h"

#include "mk_catalog.h"
#include "mk_scan.h"

/*
 * The number of a topic may be used again after DROP EXTENSION; the OID of its
 * table is not.
 */
typedef struct MkPartitionKey
{
	Oid relid;
	int32 partition;
} MkPartitionKey;

/* What this backend remembers of a partition. */
typedef struct MkPartition
{
	MkPartitionKey key;

	/* of the catalog, as of this generation */
	uint64 generation;
	int64 log_start;
	int64 newest_segment; /* -1 if there is none */

	/* the partition is settled, as of this generation */
	uint64 settled;

	/* a segment that could not be made in passing, which is not tried again */
	int64 not_in_passing;

	/* the tail when this backend last looked */
	int64 tail;

	/*
	 * The end when this backend last looked, which never moves back; it still
	 * is the end while the transaction undecided_xid is in progress.
	 */
	int64 end;
	TransactionId undecided_xid;

	/* the table of the segment that this backend opened last */
	int64 segment;
	Oid segment_relid;

	/* the table of the segment that mk_partition_is_blank looked at last */
	int64 blank;
	Oid blank_relid;

	/* a segment that this commit has found to be blank, 0: none */
	int64 blank_ahead;
} MkPartition;

/* To be called once, in _PG_init. */
extern void mk_partition_init(void);

/* What this backend remembers of a partition, which may be outdated. */
extern MkPartition *mk_partition_get(const MkTopic *topic, int32 partition);

/*
 * Reads the log start and the newest segment again, if they may have changed;
 * mk_lock_changing says why the remembered values hold otherwise.  On a
 * standby, where there are no locks, it always reads them.  Raises 42704 if
 * the topic was dropped.
 */
extern void
mk_partition_refresh(const MkTopic *topic, int32 partition, MkPartition *p);

/* mk_partition_get and mk_partition_refresh in one. */
extern MkPartition *mk_partition_fresh(const MkTopic *topic, int32 partition);

/* mk_catalog_is_settled; costs nothing if this backend has seen that it is. */
extern bool mk_partition_is_settled(const MkTopic *topic, int32 partition);

/*
 * Begins a scan, with a dirty snapshot, of the rows of a segment from "from"
 * to "to".  Returns false if there is no such table.  The caller ends the scan,
 * see mk_scan.h.
 */
extern bool mk_partition_scan(MkScan *s, const MkTopic *topic, int32 partition,
							  MkPartition *p, int64 segment, LOCKMODE lockmode,
							  int64 from, int64 to);

/* Prepares to open this segment: of another one no table is known. */
extern void mk_partition_at(MkPartition *p, int64 segment);

/*
 * Opens a segment to write into it; false if there is no such table.  The caller
 * closes it.
 */
extern bool mk_partition_open(const MkTopic *topic, int32 partition,
							  MkPartition *p, int64 segment, MkSegment *result);

/*
 * Whether the segment is the newest one, and nothing has ever been written into it.
 */
extern bool mk_partition_is_blank(const MkTopic *topic, int32 partition,
								  MkPartition *p, int64 segment);

/*
 * Whether a segment may have no table: because the log start has passed it, or
 * because compaction left nothing in it and dropped it.
 */
extern bool mk_partition_may_be_dropped(const MkTopic *topic, int32 partition,
										int64 segment);

/* For a segment that has no table: raises 55000 if it should have one. */
extern void mk_partition_check_dropped(const MkTopic *topic, int32 partition,
									   int64 segment);

#endif /* MK_PARTITION_H */
