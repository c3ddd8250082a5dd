/*
 * mk_compacted.h
 *		The catalog of finished compaction passes.
 */
#ifndef MK_COMPACTED_H
#define MK_COMPACTED_H

#include "datatype/timestamp.h"

#include "mk_catalog.h"

/*
 * A finished compaction pass over a partition.  When it finished, no key
 * occurred twice below its offset.
 */
typedef struct MkCompacted
{
	int64 offset;
	TimestampTz at;
	int64 records; /* number of records that it left below the offset */
	int64 tombstones; /* of these; the partition's last record not counted */
} MkCompacted;

/* The last pass; false, and all fields 0, if there was none. */
extern bool
mk_compacted_last(const MkTopic *topic, int32 partition, MkCompacted *last);
/* The greatest offset of the passes at or before a time, 0 if there is none. */
extern int64
mk_compacted_before(const MkTopic *topic, int32 partition, TimestampTz before);
/*
 * Records a pass.  Removes the rows of earlier passes whose offset is below
 * "forget".
 */
extern void mk_compacted_put(const MkTopic *topic, int32 partition,
							 const MkCompacted *pass, int64 forget);

/* Removes the passes whose offset is beyond "tail". */
extern void
mk_compacted_forget(const MkTopic *topic, int32 partition, int64 tail);

#endif /* MK_COMPACTED_H */
