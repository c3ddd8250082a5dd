/*
 * mk_share_slot.c
 *		Slots: what a share group keeps in order.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "mk_log.h"
#include "mk_murmur2.h"
#include "mk_share_slot.h"

/* Checkpoints have slots, so these are the same on all machines. */
uint32
mk_share_slot(const MkGroup *group, const MkLogRecord *r)
{
	struct varlena *key;
	uint32 slot;

	if (group->share->ordering == MK_ORDERING_NONE || r->record.key_isnull)
		return hash_combine(murmurhash32((uint32) (r->offset >> 32)),
							murmurhash32((uint32) r->offset));
	key = PG_DETOAST_DATUM_PACKED(r->record.key);
	slot = (uint32) mk_murmur2((const uint8 *) VARDATA_ANY(key),
							   VARSIZE_ANY_EXHDR(key));
	if (PointerGetDatum(key) != r->record.key)
		pfree(key);
	return slot;
}

/* For reading the slot of one record */
typedef struct MkSlotCall
{
	const MkGroup *group;
	uint32 slot;
} MkSlotCall;

static bool
mk_slot_take(const MkLogRecord *record, void *arg)
{
	MkSlotCall *call = arg;

	call->slot = mk_share_slot(call->group, record);
	return true;
}

bool
mk_share_slot_of(const MkGroup *group, const MkTopic *topic, int32 partition,
				 int64 offset, uint32 *slot)
{
	MkSlotCall call = {.group = group};

	if (!mk_log_get(topic, partition, offset, mk_slot_take, &call))
		return false;
	*slot = call.slot;
	return true;
}
