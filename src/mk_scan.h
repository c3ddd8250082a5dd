/*
 * mk_scan.h
 *		A scan of the records of one segment, in the order of their offsets.
 */
#ifndef MK_SCAN_H
#define MK_SCAN_H

#include "access/sdir.h"
#include "executor/tuptable.h"
#include "utils/snapshot.h"

#include "mk_record.h"
#include "mk_segment.h"

typedef struct MkLogRecord
{
	int64 offset;
	TimestampTz ts;
	int64 bytes; /* of key, value and headers, as sent */
	MkRecord record;
} MkLogRecord;

/* A scan, and the row that it stands on. */
typedef struct MkScan
{
	MkSegment segment;
	SnapshotData dirty;
	struct IndexScanDescData *scan;
	TupleTableSlot *slot;
	int64 offset;
	TransactionId undecided; /* the row's inserter, if it is in progress */
} MkScan;

/*
 * Begins a scan of the rows from "from" to "to" that the snapshot sees; if it
 * is NULL, with a dirty snapshot, which sees committed and undecided rows.
 * Returns false if there is no such table.  For "known" see mk_segment_open.
 */
extern bool mk_scan_begin(MkScan *s, const MkTopic *topic, int32 partition,
						  int64 segment, LOCKMODE lockmode, Snapshot snapshot,
						  int64 from, int64 to, Oid *known);
/* Moves to the next row in this direction; returns false if there is none. */
extern bool mk_scan_next(MkScan *s, ScanDirection direction);

/*
 * Ends the scan.  The second function keeps the lock of the segment, as a
 * transaction that has written must; the third leaves the segment open.
 */
extern void mk_scan_end(MkScan *s);
extern void mk_scan_end_keep(MkScan *s);
extern void mk_scan_end_open(MkScan *s);

/*
 * A column of the current row; the first function is for a column that may be
 * NULL.
 */
extern Datum mk_scan_nullable(MkScan *s, AttrNumber attno, bool *isnull);
extern Datum mk_scan_column(MkScan *s, AttrNumber attno);

/* Whether the current row is decided and visible to the snapshot. */
extern bool mk_scan_is_visible(MkScan *s, Snapshot snapshot);

/*
 * Sets *record to the current row; its values live until the scan moves on.
 * mk_scan_keep fetches the values that are stored out of line, so that they no
 * longer need the segment.
 */
extern void mk_scan_record(MkScan *s, MkLogRecord *record);
extern void mk_scan_keep(MkLogRecord *record);

/* Copies the values into the current memory context, detoasted. */
extern void mk_scan_copy(MkLogRecord *record);

/* Whether two records have the same key and the same value. */
extern bool mk_scan_is_same(const MkRecord *a, const MkRecord *b);

#endif /* MK_SCAN_H */
