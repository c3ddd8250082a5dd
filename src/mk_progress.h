/*
 * mk_progress.h
 *		How far groups have come: committed offsets and positions.
 *
 * Each change is a new row, whose key ends in a number that grows.  The state is
 * the row with the greatest number.  Nothing is updated in place.
 */
#ifndef MK_PROGRESS_H
#define MK_PROGRESS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

/* How far a group has come in a partition */
typedef struct MkProgress
{
	int64 number; /* 0 if there is no row yet */

	int64 committed; /* -1: none */
	char *metadata; /* NULL: none */
	TimestampTz committed_at;
	char *committed_by; /* a member id, NULL: a plain consumer */
	int32 committed_generation;

	/* of the member that has, or had, the partition */
	int32 member_no; /* 0: none */
	int32 generation; /* in which it got the partition */
	int64 position; /* -1: at the committed offset */
	int64 turn; /* see mk_poll.c */
	bool paused;
} MkProgress;

/*
 * The newest row that the snapshot sees (NULL: the newest of all).  False, with
 * number 0, no offset and no position, if there is none.  Strings are palloc'd.
 */
extern bool mk_progress_get(int32 group_no, int32 topic_id, int32 partition,
							Snapshot snapshot, MkProgress *progress);

/*
 * Adds the row that comes after the one that "progress" was read from, and sets
 * its number.  The caller holds mk_lock_group_partition, or the group's lock
 * exclusively, so no other session adds the same row.
 */
extern void mk_progress_put(int32 group_no, int32 topic_id, int32 partition,
							MkProgress *progress);

/*
 * The numbers of the topics in which a group has rows, ascending.  Costs one look
 * for each topic, however many rows there are.
 */
extern List *mk_progress_topics(int32 group_no, Snapshot snapshot);

/* Removes all rows of a topic, or of a group. */
extern void mk_progress_delete_topic(int32 topic_id);
extern void mk_progress_delete_group(int32 group_no);

/* The numbers of all groups that have rows, ascending. */
extern List *mk_progress_groups(Snapshot snapshot);

/* When the group last committed an offset, DT_NOBEGIN if never. */
extern TimestampTz mk_progress_last_commit(int32 group_no);

/*
 * Removes rows of a group that are not the newest, up to a limit; true if it has
 * reached that, so there may be more.
 */
extern bool mk_progress_clean(int32 group_no);

/*
 * Calls the sink with the newest row of each group and partition of a topic; for
 * check_topic().
 */
typedef void (*MkProgressSink)(int32 group_no, int32 partition,
							   const MkProgress *progress, void *arg);
extern void mk_progress_scan_topic(int32 topic_id, Snapshot snapshot,
								   MkProgressSink sink, void *arg);

#endif /* MK_PROGRESS_H */
