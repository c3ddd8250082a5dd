/*
 * mk_share_slot.h
 *		Slots: what a share group keeps in order.
 */
#ifndef MK_SHARE_SLOT_H
#define MK_SHARE_SLOT_H

#include "mk_group_rows.h"
#include "mk_scan.h"

/*
 * The slot of a record: a hash of its key, or, with ordering "none" or without a
 * key, of its offset.
 */
extern uint32 mk_share_slot(const MkGroup *group, const MkLogRecord *record);

/* The same for a record of the log; false if it is gone. */
extern bool mk_share_slot_of(const MkGroup *group, const MkTopic *topic,
							 int32 partition, int64 offset, uint32 *slot);

#endif /* MK_SHARE_SLOT_H */
