/*
 * mk_segment.h
 *		Opening the table of a segment.
 *
 * Segment k of a topic with s records a segment holds the offsets from k*s to
 * (k+1)*s - 1.
 */
#ifndef MK_SEGMENT_H
#define MK_SEGMENT_H

#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "mk_catalog.h"
#include "mk_record.h"

typedef struct MkSegment
{
	Relation rel;
	Relation pkey;
	bool pkey_only; /* its only index is the primary key, of one column */
	LOCKMODE lockmode;
} MkSegment;

/* To be called once, in _PG_init. */
extern void mk_segment_init(void);

/*
 * Opens the table of a segment and its primary key.  Returns false if there is
 * no table.  Raises 55000 if the table was altered so that it cannot serve,
 * or, for a lock mode of writers, so that it cannot be written.  *known, if
 * known is not NULL, is the OID of the table when it was last opened, or
 * InvalidOid; the call sets it.
 */
extern bool
mk_segment_open(const MkTopic *topic, int32 partition, int64 segment,
				LOCKMODE lockmode, Oid *known, MkSegment *result);
/* Closes both; releases their locks unless keep_lock. */
extern void mk_segment_close(MkSegment *segment, bool keep_lock);

/* Raises 55000 for a segment that should have a table and has none. */
extern void
mk_segment_missing(const MkTopic *topic, int32 partition, int64 segment);

#endif /* MK_SEGMENT_H */
