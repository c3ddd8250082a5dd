/*
 * mk_reset.c
 *		reset_offsets(): where a group is to go on.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_liveness.h"
#include "mk_reset.h"
#include "mk_share_rows.h"
#include "mk_target.h"
#include "mk_topic.h"
#include "mk_xact.h"

/*
 * Where a group stands in a partition: the committed offset, or that up to which a
 * share group is done with every record; -1 if there is none.
 */
static int64
mk_reset_stand(const MkGroup *group, const MkTopic *topic, int32 partition)
{
	return group->kind == MK_GROUP_SHARE
		? mk_share_start_offset(group->group_no, topic->topic_id, partition)
		: mk_consumer_committed(group->group_id, group, topic, partition);
}

/* Defers a new era of a share group in a topic. */
static void
mk_reset_share(const char *group_id, MkTopic *topic, int32 npartitions,
			   const int64 *offsets)
{
	MkGroupChange change = {.kind = MK_CHANGE_RESET};
	MkShareChange *share =
		MemoryContextAllocZero(mk_xact_context(), sizeof(MkShareChange));
	size_t size = npartitions * sizeof(int64);

	mk_topic_defer_use(topic->topic_id);
	share->topic = topic;
	share->topic_id = topic->topic_id;
	share->npartitions = npartitions;
	share->offsets = MemoryContextAlloc(mk_xact_context(), size);
	memcpy(share->offsets, offsets, size);
	change.share = share;
	mk_group_use_defer(group_id, &change);
}

void
mk_reset(const char *group_id, MkTopic *topic, const char *text,
		 MkOffsetSink sink, void *arg)
{
	MkGroup *group = mk_group_use_get(group_id);
	MkTarget target = mk_target_parse(text);
	const MkGroup *from = target.kind == MK_TARGET_GROUP
		? mk_group_use_get(target.group_id)
		: group;
	int32 npartitions = topic->npartitions;
	int64 *offsets = palloc(npartitions * sizeof(int64));

	if (group->kind == MK_GROUP_SHARE &&
		!mk_membership_has_topic(group, topic->topic_id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("topic \"%s\" is not one of group \"%s\"",
						NameStr(topic->name), group_id),
				 errhint("minikafka.set_group_option() sets option \"topics\" "
						 "of a share group.")));
	if (!mk_liveness_is_empty(group))
		mk_group_not_empty(group_id);
	for (int32 i = 0; i < npartitions; i++)
	{
		CHECK_FOR_INTERRUPTS();
		offsets[i] =
			mk_target_offset(&target, topic, i, mk_reset_stand(from, topic, i));
		if (group->kind == MK_GROUP_CONSUMER)
			mk_consumer_reset(group, topic, i, offsets[i]);
	}
	if (group->kind == MK_GROUP_SHARE)
		mk_reset_share(group_id, topic, npartitions, offsets);
	for (int32 i = 0; i < npartitions; i++)
		sink(topic, i, offsets[i], arg);
}
