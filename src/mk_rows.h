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
	Snapshot filter; /* NULL if the scan's own snapshot decides */
	SnapshotData all;
} MkRows;

#define MK_ROWS_MAX_KEYS 4

/*
 * Begins a scan of the rows whose first nkeys columns in the index have these
 * values.  NULL as snapshot means a new one, also in a REPEATABLE READ
 * transaction.  mk_rows_end() ends the scan.
 */
extern void mk_rows_begin(MkRows *rows, MkRelation rel, MkRelation index,
						  Snapshot snapshot, int nkeys, const int32 *values);

/* The same with scan keys, which have the column numbers of the table. */
extern void mk_rows_begin_keys(MkRows *rows, MkRelation rel, MkRelation index,
							   Snapshot snapshot, int nkeys, ScanKey keys);

/* The next row, NULL at the end.  It is valid until the next call. */
extern HeapTuple mk_rows_next(MkRows *rows, ScanDirection direction);
extern void mk_rows_end(MkRows *rows);

/*
 * The snapshot that sees the latest committed rows of a table that
 * mk_rows_clean() cleans.  The caller holds a snapshot of its own.
 */
extern Snapshot mk_rows_now(void);

/* Updates the current row of the scan; see heap_modify_tuple. */
extern void mk_rows_modify(MkRows *rows, HeapTuple tuple, Datum *values,
						   bool *nulls, bool *replace);

/*
 * A column of the current row of the scan, by type.  For a NULL the functions
 * raise an internal error, or return "otherwise" if they have that argument.
 * Names point into the row; texts are palloc'd; intervals are in microseconds,
 * see mk_clock_interval().
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

/* The same for other types.  The first raises an error for a NULL. */
extern Datum
mk_rows_column(const MkRows *rows, HeapTuple tuple, AttrNumber attno);
extern Datum mk_rows_nullable(const MkRows *rows, HeapTuple tuple,
							  AttrNumber attno, bool *isnull);

/* Sets a column of a row that is to be written, to a text or to NULL. */
extern void mk_rows_set_text(Datum *values, bool *nulls, AttrNumber attno,
							 const char *text);

/*
 * The greatest value of a column of the index of type integer or bigint, the one
 * after the first nkeys columns, in the rows with these values in the first
 * columns.  False if there is no row.
 */
extern bool
mk_rows_greatest(MkRelation rel, MkRelation index, int nkeys,
				 const int32 *values, Snapshot snapshot, int64 *greatest);

/*
 * The distinct values of such an integer column, as a list, ascending.  Needs one
 * descent of the index for each value, however many rows have it.
 */
extern List *mk_rows_values(MkRelation rel, MkRelation index, int nkeys,
							const int32 *values, Snapshot snapshot);

/*
 * Calls the sink for each topic and partition, in order, in the rows with a
 * given value in the first column of the index.  The second and third columns
 * of the index are the topic and the partition.
 */
typedef void (*MkPartitionSink)(int32 topic_id, int32 partition, void *arg);
extern void
mk_rows_partitions(MkRelation rel, MkRelation index, int32 first,
				   Snapshot snapshot, MkPartitionSink sink, void *arg);

/*
 * Write rows, and make them visible to the next command.  mk_rows_insert() sets
 * *tid to the place of the row, unless tid is NULL.  mk_rows_update() and
 * mk_rows_delete() find the row at *tid; the former sets *tid to its new place.
 */
extern void
mk_rows_insert(MkRelation which, ItemPointer tid, Datum *values, bool *nulls);
extern void
mk_rows_update(MkRelation which, ItemPointer tid, Datum *values, bool *nulls);
extern void mk_rows_delete(MkRelation which, ItemPointer tid);

/*
 * Removes the current row of a scan, unless another transaction is modifying or
 * locking it: never waits.  Returns whether it did.  For rows that are no
 * longer needed, in tables without updates of rows.
 */
extern bool mk_rows_try_delete(MkRows *rows, HeapTuple tuple);

/* The same for all rows that mk_rows_begin() finds. */
extern void mk_rows_try_delete_all(MkRelation which, MkRelation index,
								   int nkeys, const int32 *values);

/*
 * Removes old rows of a table in which each row supersedes the one before it
 * in the index.  Scans the rows that mk_rows_begin() finds, from the oldest
 * on, up to the first one that is needed ("needed" may be NULL: none is).
 * Removes each row whose successor is visible to every snapshot of the
 * database.  So the newest row stays.  Skips rows that another transaction is
 * removing.  Returns the number of removed rows, at most "limit".
 *
 * With this rule a single backward scan with mk_rows_now() finds the newest
 * row.  Such a scan copies a page of the index and visits the rows
 * afterwards.  Meanwhile other transactions may insert rows that are newer
 * than all in the copy, and remove the row that was the newest.  But the
 * session that scans holds a snapshot.  So a row that is removed meanwhile has
 * a successor that this snapshot sees.  The index entry of the successor was
 * there before the scan began, so it is in the copy.  If the successor is
 * removed too, the same is true of its own successor.  The last of these rows
 * still exists.
 *
 * While a session holds a snapshot for long, rows that are superseded after the
 * snapshot was taken stay.  Vacuum could not free them anyway.
 */
typedef bool (*MkRowsNeeded)(const MkRows *rows, HeapTuple tuple,
							 const void *arg);
extern int mk_rows_clean(MkRelation which, MkRelation index, int nkeys,
						 const int32 *values, MkRowsNeeded needed,
						 const void *arg, int limit);

/*
 * Whether every snapshot of the database sees a row that a scan with
 * mk_rows_now() has found.  The horizon is that of the scan's table; it only
 * moves up.
 */
extern TransactionId mk_rows_horizon(const MkRows *rows);
extern bool mk_rows_all_see(HeapTuple tuple, TransactionId horizon);

/*
 * Removes the rows that mk_rows_begin() finds.  Waits for transactions that are
 * removing or locking one of them.
 */
extern void mk_rows_delete_all(MkRelation which, MkRelation index, int nkeys,
							   const int32 *values);

/*
 * Whether no snapshot of this database still sees rows that a transaction
 * before "xid" has removed.  The caller holds no snapshot of its own.
 */
extern bool mk_rows_are_gone(TransactionId xid);

#endif /* MK_ROWS_H */
