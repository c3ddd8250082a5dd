/*
 * mk_segment_check.h
 *		Whether the tables of a partition are as they were made.
 */
#ifndef MK_SEGMENT_CHECK_H
#define MK_SEGMENT_CHECK_H

#include "utils/relcache.h"

#include "mk_catalog.h"
#include "mk_record.h"

/*
 * Returns the OID of the primary key of a segment's table, if the table can
 * serve; *pkey_only then tells whether the table has no other index and this
 * one no other column.  Otherwise returns InvalidOid, and sets *problem to a
 * sentence that says what is wrong.
 */
extern Oid
mk_segment_check(const MkTopic *topic, int32 partition, int64 segment,
				 Relation rel, bool *pkey_only, const char **problem);

/* Whether a table is attached where the segment's table should be. */
extern bool mk_segment_is_placed(const MkTopic *topic, int32 partition,
								 int64 segment, Oid relid);

/* Raises 55000 for a table in which mk_segment_check() has found a problem. */
extern void
mk_segment_altered(const MkTopic *topic, Oid relid, const char *problem);

/*
 * Opens a table with AccessShareLock; NULL if there is none, or for
 * InvalidOid.
 */
extern Relation mk_segment_try_open_table(Oid relid);

/*
 * Describes what is wrong with a partition's table, or with a segment's; NULL
 * if nothing is.  Sets *missing to whether there is no such table.
 */
extern const char *
mk_segment_partition_problem(const MkTopic *topic, int32 partition);
extern const char *mk_segment_problem(const MkTopic *topic, int32 partition,
									  int64 segment, bool *missing);

/*
 * The tables that are attached to a partition's table and are not its
 * segments; with partition -1, those attached to the topic's table that are
 * not its partitions.  A list of sentences.
 */
extern List *mk_segment_strangers(const MkTopic *topic, int32 partition);

/*
 * The segments whose tables are not attached, ascending, palloc'd in
 * *segments.  Returns how many.
 */
extern int
mk_segment_unattached(const MkTopic *topic, int32 partition, int64 **segments);

/* Whether there are tables with names like those of a topic of this number. */
extern bool mk_segment_has_tables(int32 topic_id);

#endif /* MK_SEGMENT_CHECK_H */
