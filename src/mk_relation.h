/*
 * mk_relation.h
 *		The relations that the extension's schema has: finding them, and reading
 *		and writing their rows.
 */
#ifndef MK_RELATION_H
#define MK_RELATION_H

#include "access/genam.h"
#include "access/htup.h"
#include "access/skey.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef enum MkRelation
{
	MK_REL_TOPIC,
	MK_REL_TOPIC_PKEY,
	MK_REL_TOPIC_REL_KEY,
	MK_REL_TOPIC_ID_SEQ,
	MK_REL_PARTITION,
	MK_REL_PARTITION_PKEY,
	MK_REL_SEGMENT,
	MK_REL_SEGMENT_PKEY,
	MK_REL_COMPACTION,
	MK_REL_COMPACTION_PKEY,
	MK_REL_SETTLED,
	MK_REL_SETTLED_IDX,
	MK_REL_GROUP,
	MK_REL_GROUP_PKEY,
	MK_REL_GROUP_NO_KEY,
	MK_REL_GROUP_NO_SEQ,
	MK_REL_GRANT,
	MK_REL_GRANT_PKEY,
	MK_REL_MEMBER,
	MK_REL_MEMBER_PKEY,
	MK_REL_MEMBER_NO_KEY,
	MK_REL_MEMBER_NO_SEQ,
	MK_REL_ASSIGNMENT,
	MK_REL_ASSIGNMENT_PKEY,
	MK_REL_PROGRESS,
	MK_REL_PROGRESS_PKEY,
	MK_REL_HEARTBEAT,
	MK_REL_HEARTBEAT_IDX,
	MK_REL_PRODUCER,
	MK_REL_PRODUCER_PKEY,
	MK_REL_PRODUCER_ID_KEY,
	MK_REL_PRODUCER_ID_SEQ,
	MK_REL_PRODUCED,
	MK_REL_PRODUCED_PKEY,
	MK_REL_INBOX_CONSUMER,
	MK_REL_INBOX_CONSUMER_PKEY,
	MK_REL_CONSUMER_NO_KEY,
	MK_REL_CONSUMER_NO_SEQ,
	MK_REL_INBOX,
	MK_REL_INBOX_PKEY,
	MK_REL_INBOX_ACCEPTED_IDX,
	MK_NUM_RELS
} MkRelation;

/* To be called once, in _PG_init. */
extern void mk_relation_init(void);

/*
 * The OID of one of the extension's relations; cached.  55000 if the library is
 * not of the version of the extension's SQL objects.
 */
extern Oid mk_relation_oid(MkRelation which);

/* The OID of the schema of the topics, or of the tables below them. */
extern Oid mk_relation_topics_namespace(void);
extern Oid mk_relation_data_namespace(void);

/*
 * Whether no snapshot of this database sees rows any more that were removed by a
 * transaction before that one.  The caller has no snapshot of its own.
 */
extern bool mk_relation_is_settled(TransactionId xid);

/*
 * The next number of a sequence, which no row bears, be it committed or not:
 * where the sequence lags behind the tables, as after a logical copy, it is
 * moved past them first.
 */
extern int32 mk_relation_next(MkRelation sequence);

/*
 * To be called before a transaction writes for a user: sees to it, once in a
 * session, that the sequences do not lag behind the tables all together.
 */
extern void mk_relation_note_use(void);

/*
 * Whether rows bear numbers, and none of the sequences has ever given one: so
 * it is while a dump is restored, which sets the sequences at its end.
 */
extern bool mk_relation_is_unnumbered(void);

/*
 * Whether the rows come from another server by a subscription, and are its to
 * write; and the error for that, 55000.
 */
extern bool mk_relation_is_subscriber(void);
extern void mk_relation_check_subscriber(void);

/* A scan of a table in the order of one of its indexes. */
typedef struct MkRows
{
	Relation rel;
	Relation index;
	SysScanDesc scan;

	/* in a SERIALIZABLE transaction; see mk_relation.c */
	Snapshot filter; /* NULL: the scan's own snapshot tells */
	SnapshotData all;
} MkRows;

#define MK_ROWS_MAX_KEYS 4

/*
 * Scans the rows whose first nkeys columns in the index have these values; a
 * NULL snapshot is a new one, whatever the transaction's is.
 */
extern void mk_rows_begin(MkRows *rows, MkRelation rel, MkRelation index,
						  Snapshot snapshot, int nkeys, const int32 *values);

/* The same with scan keys, whose numbers are those of the table's columns. */
extern void mk_rows_begin_keys(MkRows *rows, MkRelation rel, MkRelation index,
							   Snapshot snapshot, int nkeys, ScanKey keys);

/* The next row, NULL at the end. */
extern HeapTuple mk_rows_next(MkRows *rows, ScanDirection direction);
extern void mk_rows_end(MkRows *rows);

/*
 * The snapshot for what holds now, in a table that is kept newest first: see
 * mk_rows_clean.
 */
extern Snapshot mk_rows_now(void);

/* Changes the row that the scan stands on; see heap_modify_tuple. */
extern void mk_rows_modify(MkRows *rows, HeapTuple tuple, Datum *values,
						   bool *nulls, bool *replace);

/*
 * The values of the integer column after the nkeys first ones, whose values are
 * given: a list, ascending.  One look for each, however many rows there are.
 */
extern List *mk_rows_values(MkRelation rel, MkRelation index, int nkeys,
							const int32 *values, Snapshot snapshot);

/*
 * Calls back for each topic and partition, in order, of the rows whose first
 * column has a value; the second and third columns of the index are these.
 */
typedef void (*MkPartitionSink)(int32 topic_id, int32 partition, void *arg);
extern void
mk_rows_partitions(MkRelation rel, MkRelation index, int32 first,
				   Snapshot snapshot, MkPartitionSink sink, void *arg);

/* A column of the row; the first raises an error for a NULL. */
extern Datum
mk_rows_column(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern Datum mk_rows_nullable(const MkRows *rows, HeapTuple tuple,
							  AttrNumber attno, bool *isnull);

/*
 * Writing rows, and making that visible to the next command.  "tid" is where
 * the row is to be, if it is not NULL; for an update, at first where it was.
 */
extern void mk_relation_insert(MkRelation which, ItemPointer tid, Datum *values,
							   bool *nulls);
extern void mk_relation_update(MkRelation which, ItemPointer tid, Datum *values,
							   bool *nulls);
extern void mk_relation_delete(MkRelation which, ItemPointer tid);

/*
 * Removes the row that a scan stands on, if nobody else is at it: does not
 * wait.  For rows that are not needed, and are never updated.
 */
extern bool mk_rows_discard(MkRows *rows, HeapTuple tuple);

/* The same for all rows that mk_rows_begin would find. */
extern void mk_rows_discard_all(MkRelation which, MkRelation index, int nkeys,
								const int32 *values);

/*
 * Cleans a table that is kept newest first: goes through the rows that
 * mk_rows_begin would find, from the oldest one on, up to the first that is
 * needed (NULL: none is), and removes each whose successor every snapshot of the
 * database sees.  So the newest stays.  Leaves what somebody else is removing.
 * Returns how many were removed, at most "limit".
 *
 * With that rule one scan backwards with mk_rows_now() finds the newest row.
 * Such a scan copies a page of the index and visits the rows afterwards; a row
 * that is newer than all in the copy may come meanwhile, and the one that was
 * the newest go.  But the session that scans holds a snapshot, so a row that
 * went meanwhile had a successor which that snapshot sees, whose index entry was
 * there before the scan began, and so is in the copy; and if that has gone too,
 * it has had one itself.  The last of these is there.  Where a snapshot is held
 * for long, nothing is removed that vacuum could free.
 */
typedef bool (*MkRowsNeeded)(const MkRows *rows, HeapTuple tuple,
							 const void *arg);
extern int mk_rows_clean(MkRelation which, MkRelation index, int nkeys,
						 const int32 *values, MkRowsNeeded needed,
						 const void *arg, int limit);

/*
 * Removes the rows that mk_rows_begin would find; waits for who is at one, who
 * may have removed it.
 */
extern void mk_relation_delete_all(MkRelation which, MkRelation index,
								   int nkeys, const int32 *values);

#endif /* MK_RELATION_H */
