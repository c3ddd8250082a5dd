/*
 * mk_share_admin.c
 *		Administration of share groups: creating them, their options.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_share_admin.h"
#include "mk_topic.h"
#include "mk_xact.h"

/* ---------------------------------------------------------------------------
 * Topics
 */

/* Whether the change has the topic. */
static bool
mk_has_topic(const MkShareChange *change, int32 topic_id)
{
	for (int i = 0; i < change->ntopics; i++)
		if (change->topic_ids[i] == topic_id)
			return true;
	return false;
}

/*
 * Looks up the topics of a group, in their order, each once, and defers their use.
 * The current user needs SELECT on each.
 */
static void
mk_find_topics(MkShareChange *change, ArrayType *array)
{
	Datum *names;
	bool *nulls;
	int n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls,
					  &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a share group must have a topic")));
	change->topics = palloc(n * sizeof(MkTopic *));
	change->topic_ids = palloc(n * sizeof(int32));
	for (int i = 0; i < n; i++)
	{
		char *name;
		MkTopic *topic;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"topics\" must not contain nulls")));
		name = TextDatumGetCString(names[i]);
		topic = mk_topic_get(name, strlen(name), ACL_SELECT);
		if (mk_has_topic(change, topic->topic_id))
			continue;
		mk_topic_defer_use(topic->topic_id);
		change->topics[change->ntopics] = topic;
		change->topic_ids[change->ntopics++] = topic->topic_id;
	}
}

/* 22023 for a dead-letter topic that the group reads. */
static void
mk_check_dead_letter_topic(const MkShareChange *change, const char *name)
{
	if (mk_has_topic(change, change->dead_letter_topic->topic_id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("topic \"%s\" cannot be the dead-letter topic", name),
				 errdetail("It is one of the topics of the group.")));
}

/* ---------------------------------------------------------------------------
 * Settings
 */

/* 22023 for settings that do not fit together. */
static void
mk_check_settings(const MkShareSettings *s)
{
	if (s->max_backoff < s->backoff)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"max_backoff\" must not be less than \"backoff\"")));
}

void
mk_share_admin_create(const char *group_id, ArrayType *topics,
					  const MkShareSettings *settings,
					  const char *dead_letter_topic)
{
	MkGroupChange change = {.kind = MK_CHANGE_CREATE};
	MkGroup *existing = mk_membership_get(group_id);
	MemoryContext old;
	MkShareChange *share;
	MkShareSettings *copy;

	if (existing == NULL)
		existing = mk_group_use_made(group_id);
	if (existing != NULL)
		mk_share_change_exists(existing);
	mk_check_settings(settings);

	old = MemoryContextSwitchTo(mk_xact_context());
	share = palloc0(sizeof(MkShareChange));
	copy = palloc(sizeof(MkShareSettings));
	*copy = *settings;
	share->settings = copy;
	mk_find_topics(share, topics);
	if (dead_letter_topic != NULL)
	{
		share->dead_letter_topic = mk_topic_get(
			dead_letter_topic, strlen(dead_letter_topic), ACL_INSERT);
		mk_check_dead_letter_topic(share, dead_letter_topic);
		copy->dead_letter_topic_id = share->dead_letter_topic->topic_id;
		mk_topic_defer_use(copy->dead_letter_topic_id);
	}
	MemoryContextSwitchTo(old);
	change.share = share;
	mk_group_use_defer(group_id, &change);
}
