/*
 * mk_segment_make.h
 *		Making the tables of a partition: its own, and its segments'.
 */
#ifndef MK_SEGMENT_MAKE_H
#define MK_SEGMENT_MAKE_H

#include "mk_catalog.h"

typedef enum MkMake
{
	MK_MAKE_NEEDED,
	MK_MAKE_AHEAD, /* only if no lock on the tables above must be waited for */
	MK_MAKE_IN_PASSING /* and only if no code of the owner runs */
} MkMake;

/*
 * Makes the table of a segment; the caller holds mk_lock_maker.  Returns
 * whether it made one.
 */
extern bool mk_segment_make(const MkTopic *topic, int32 partition,
							int64 segment, MkMake how);

/* Makes a partition's table with its first segment, and their catalog rows. */
extern void mk_segment_make_partition(const MkTopic *topic, int32 partition);

#endif /* MK_SEGMENT_MAKE_H */
