/*
 * mk_progress.h
 *		State that changes with every call, kept newest first.
 *
 * Each change is a new row whose key ends in a number that grows; the state is
 * the row of the greatest number.  Nothing is updated in place.
 */
#ifndef MK_PROGRESS_H
#define MK_PROGRESS_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

/* How far a group has come in a partition. */
typedef struct MkProgress
{
	int64 number; /* 0 if there is no row yet */

	int64 committed; /* -1: none */
	char *metadata; /* NULL: none */
	TimestampTz committed_at;
	char *committed_by; /* a member id, NULL: a plain consumer */
	int32 committed_generation;

	/* of the member that got the partition in this generation */
	int32 member_no; /* 0: none */
	int32 generation;
	int64 position; /* -1: at the committed offset */
	int64 turn;
	bool paused;
} MkProgress;

/*
 * The newest row that the snapshot sees (NULL: the newest of all); false, and
 * number 0, if there is none.  Its strings are palloc'd.
 */
extern bool mk_progress_get(int32 group_no, int32 topic_id, int32 partition,
							Snapshot snapshot, MkProgress *progress);

/*
 * Adds the next row after the one that "progress" was read from, and sets its
 * number.  The caller keeps others from adding the same.
 */
extern void mk_progress_put(int32 group_no, int32 topic_id, int32 partition,
							MkProgress *progress);

/*
 * The topics in which a group has rows: a list of numbers, ascending.  One look
 * for each of them, however many rows there are.
 */
extern List *mk_progress_topics(int32 group_no, Snapshot snapshot);

/* Removes all rows of a topic, or of a group. */
extern void mk_progress_delete_topic(int32 topic_id);
extern void mk_progress_delete_group(int32 group_no);

/* The numbers of all groups that have rows, ascending. */
extern List *mk_progress_groups(Snapshot snapshot);

/* When the group has last committed an offset, DT_NOBEGIN if never. */
extern TimestampTz mk_progress_last_commit(int32 group_no);

/*
 * Removes rows of a group that are not the newest; up to a limit, then true:
 * there are more.
 */
extern bool mk_progress_clean(int32 group_no);

/*
 * Calls back for the newest row of each group and partition of a topic; for
 * check_topic.
 */
typedef void (*MkProgressSink)(int32 group_no, int32 partition,
							   const MkProgress *progress, void *arg);
extern void mk_progress_scan_topic(int32 topic_id, Snapshot snapshot,
								   MkProgressSink sink, void *arg);

#endif /* MK_PROGRESS_H */
