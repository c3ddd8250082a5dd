/*
 * mk_compacted.h
 *		The passes of compaction that came to their end, in the catalog.
 */
#ifndef MK_COMPACTED_H
#define MK_COMPACTED_H

#include "datatype/timestamp.h"

#include "mk_catalog.h"

/*
 * A pass of compaction over a partition that came to its end.  Below its offset
 * no key comes twice, but for what later records have superseded since.
 */
typedef struct MkCompacted
{
	int64 offset;
	TimestampTz at;
	int64 records; /* that were left below it */
	int64 tombstones; /* of these, without the last record of the partition */
} MkCompacted;

/* The last pass; false, and all 0, if there was none. */
extern bool
mk_compacted_last(const MkTopic *topic, int32 partition, MkCompacted *last);
/* The greatest offset of a pass of that time or before, 0 if there is none. */
extern int64
mk_compacted_before(const MkTopic *topic, int32 partition, TimestampTz before);
/*
 * Notes a pass.  Of those before, the ones below forget are not needed any
 * more.
 */
extern void mk_compacted_put(const MkTopic *topic, int32 partition,
							 const MkCompacted *pass, int64 forget);

/* Forgets the passes whose offset lies beyond "tail". */
extern void
mk_compacted_forget(const MkTopic *topic, int32 partition, int64 tail);

#endif /* MK_COMPACTED_H */
