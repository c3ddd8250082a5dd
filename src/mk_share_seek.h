/*
 * mk_share_seek.h
 *		A cursor over the runs, or the deliveries, of a partition of a share group.
 *
 * For looking up many offsets that mostly ascend: what is near is read on, and for
 * what is not the index is descended again.  What is found is as old as the time
 * at which the cursor was opened, or newer.
 */
#ifndef MK_SHARE_SEEK_H
#define MK_SHARE_SEEK_H

#include "mk_share_rows.h"

typedef struct MkShareSeek
{
	MkShareKey key;
	MkRelation rel;
	MkRelation index;
	MemoryContext context; /* that the cursor lives in */
	bool open;
	int near; /* so many rows are read on */
	int64 asked; /* the offset that was looked up last */
	MkRows rows;
	HeapTuple tuple; /* the first one at that offset or later; NULL: none */
	int64 offset; /* its offset */
	int64 rows_read;
} MkShareSeek;

/* A cursor over runs, or deliveries, which is not open. */
extern void mk_share_seek_runs(MkShareSeek *s, const MkShareKey *key);
extern void mk_share_seek_deliveries(MkShareSeek *s, const MkShareKey *key);

/* The first committed run that ends at this offset or later; false if none does. */
extern bool mk_share_seek_run(MkShareSeek *s, int64 offset, MkShareRun *run);

/*
 * The newest committed delivery of the record with this offset, as
 * mk_delivery_get() sets it.
 */
extern bool
mk_share_seek_delivery(MkShareSeek *s, int64 offset, MkDelivery *delivery);

/* Closes the cursor.  The next look opens it again. */
extern void mk_share_seek_close(MkShareSeek *s);

#endif /* MK_SHARE_SEEK_H */
