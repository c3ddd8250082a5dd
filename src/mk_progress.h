/*
 * mk_progress.h
 *		State that changes with every call, kept newest first.
 *
 * Each change is a new row whose key ends in a number that grows by one; the
 * state is the row of the greatest number.  Nothing is updated in place.
 */
#ifndef MK_PROGRESS_H
#define MK_PROGRESS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "mk_catalog.h"

/* A committed offset of a group. */
typedef struct MkCommitted
{
	int64 number; /* 0 if there is none yet */
	int64 next_offset;
	char *metadata; /* NULL if none */
} MkCommitted;

/*
 * The newest committed offset that the snapshot sees (NULL: the newest of
 * all); false, and number 0, if there is none.
 */
extern bool
mk_progress_committed(int32 group_no, int32 topic_id, int32 partition,
					  Snapshot snapshot, MkCommitted *result);

/*
 * Adds the next one after "previous".  The caller holds
 * mk_lock_group_partition, so that the number is free.
 */
extern void mk_progress_commit(int32 group_no, int32 topic_id, int32 partition,
							   const MkCommitted *previous, int64 next_offset,
							   const char *metadata, TimestampTz now);

/* The topics in which a group has committed offsets: a list of numbers. */
extern List *mk_progress_topics(int32 group_no, Snapshot snapshot);

/*
 * Calls back for each group's newest committed offset of a partition; for
 * check_topic.
 */
typedef void (*MkCommittedSink)(int32 group_no, int32 partition,
								int64 next_offset, void *arg);
extern void mk_progress_scan_topic(int32 topic_id, Snapshot snapshot,
								   MkCommittedSink sink, void *arg);

#endif /* MK_PROGRESS_H */
