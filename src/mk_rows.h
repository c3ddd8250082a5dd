/*
 * mk_rows.h
 *		Rows of the extension's tables: scanning, reading columns, writing.
 */
#ifndef MK_ROWS_H
#define MK_ROWS_H

#include "access/genam.h"
#include "access/htup.h"
#include "access/skey.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "mk_relation.h"

/* A scan of a table in the order of one of its indexes. */
typedef struct MkRows
{
	Relation rel;
	Relation index;
	SysScanDesc scan;

	/* in a SERIALIZABLE transaction; see mk_rows.c */
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
 * A column of a row that the scan has returned, by type.  A NULL is an internal
 * error, or "otherwise" where that is given.  Names point into the row; texts
 * are palloc'd; intervals are in microseconds, see mk_clock_interval().
 */
extern int32
mk_rows_int32(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern int64
mk_rows_int64(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern int64 mk_rows_int64_or(const MkRows *rows, HeapTuple tuple,
							  AttrNumber attno, int64 otherwise);
extern bool mk_rows_bool(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern Oid mk_rows_oid(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern const NameData *
mk_rows_name(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern char *
mk_rows_text(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern char *
mk_rows_text_or_null(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern TimestampTz
mk_rows_time(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern TimestampTz mk_rows_time_or(const MkRows *rows, HeapTuple tuple,
								   AttrNumber attno, TimestampTz otherwise);
extern int64
mk_rows_interval(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern int64 mk_rows_interval_or(const MkRows *rows, HeapTuple tuple,
								 AttrNumber attno, int64 otherwise);

/* The same for other types; the first raises an error for a NULL. */
extern Datum
mk_rows_column(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern Datum mk_rows_nullable(const MkRows *rows, HeapTuple tuple,
							  AttrNumber attno, bool *isnull);

/* Sets a column of a row to be written to a text, or to NULL. */
extern void mk_rows_set_text(Datum *values, bool *nulls, AttrNumber attno,
							 const char *text);

/*
 * The greatest value of the integer column after the nkeys first ones, whose
 * values are given.  False if there is no row.
 */
extern bool
mk_rows_greatest(MkRelation rel, MkRelation index, int nkeys,
				 const int32 *values, Snapshot snapshot, int32 *greatest);

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

/*
 * Writing rows, and making that visible to the next command.  "tid" is where
 * the row is to be, if it is not NULL; for an update, at first where it was.
 */
extern void
mk_rows_insert(MkRelation which, ItemPointer tid, Datum *values, bool *nulls);
extern void
mk_rows_update(MkRelation which, ItemPointer tid, Datum *values, bool *nulls);
extern void mk_rows_delete(MkRelation which, ItemPointer tid);

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
extern void mk_rows_delete_all(MkRelation which, MkRelation index, int nkeys,
							   const int32 *values);

/*
 * Whether no snapshot of this database sees rows any more that were removed by
 * a transaction before "xid".  The caller has no snapshot of its own.
 */
extern bool mk_rows_are_gone(TransactionId xid);

#endif /* MK_ROWS_H */
