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
	TransactionId undecided; /* the row's inserter while in progress */
} MkScan;

/*
 * Begins a scan of the rows from "from" to "to" that the snapshot sees; NULL
 * for a dirty one, which sees committed rows and undecided ones.  False if there
 * is no such table.  For "known" see mk_segment_open.
 */
extern bool mk_scan_begin(MkScan *s, const MkTopic *topic, int32 partition,
						  int64 segment, LOCKMODE lockmode, Snapshot snapshot,
						  int64 from, int64 to, Oid *known);
extern bool mk_scan_next(MkScan *s, ScanDirection direction);

/*
 * Ends it.  The second keeps the segment's lock, as who has written must; the
 * third leaves the segment open.
 */
extern void mk_scan_end(MkScan *s);
extern void mk_scan_end_keep(MkScan *s);
extern void mk_scan_end_open(MkScan *s);

/* A column of the row, of which the first may be NULL. */
extern Datum mk_scan_nullable(MkScan *s, AttrNumber attno, bool *isnull);
extern Datum mk_scan_column(MkScan *s, AttrNumber attno);

/* Whether the row is decided, and the snapshot sees it. */
extern bool mk_scan_is_settled(MkScan *s, Snapshot snapshot);

/*
 * The row as a record, whose values live as long as the scan stands on it; and
 * what makes those that would need the segment live without it.
 */
extern void mk_scan_record(MkScan *s, MkLogRecord *record);
extern void mk_scan_keep(MkLogRecord *record);

/* Whether two records have the same key and the same value. */
extern bool mk_scan_is_same(const MkRecord *a, const MkRecord *b);

#endif /* MK_SCAN_H */
