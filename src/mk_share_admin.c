/*
 * mk_share_admin.c
 *		Administration of share groups: creating them, setting their options.
 *
 * A call checks its change against the group as the transaction would leave it so
 * far.  So a script may create a group, set its options and grant its use in one
 * transaction.  The commit checks the change again (mk_share_change.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_share_admin.h"
#include "mk_topic.h"
#include "mk_xact.h"

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

/*
 * Looks up the dead-letter topic, NULL for none, and defers its use.  Dead letters
 * are written by the right of the group's owner, whose rights the current user has.
 */
static void
mk_find_dead_letter_topic(MkShareChange *change, MkShareSettings *settings,
						  const char *name, Oid owner)
{
	settings->dead_letter_topic_id = 0;
	if (name == NULL)
		return;
	change->dead_letter_topic = mk_topic_get(name, strlen(name), ACL_INSERT);
	mk_topic_check_allows(change->dead_letter_topic, owner, ACL_INSERT);
	settings->dead_letter_topic_id = change->dead_letter_topic->topic_id;
	mk_topic_defer_use(settings->dead_letter_topic_id);
}

void
mk_share_admin_create(const char *group_id, ArrayType *topics,
					  const MkShareSettings *settings,
					  const char *dead_letter_topic)
{
	const MkGroup *existing = mk_membership_get(group_id);
	MkGroupChange change = {.kind = MK_CHANGE_CREATE};
	MkShareSettings *copy;
	MkShareChange *share;
	MkGroup group = {.group_id = unconstify(char *, group_id)};
	MemoryContext old;

	if (existing != NULL)
	{
		/* 55000 if this transaction is to delete it */
		(void) mk_group_use(group_id, false);
		mk_share_change_exists(group_id, existing->kind);
	}
	old = MemoryContextSwitchTo(mk_xact_context());
	share = palloc0(sizeof(MkShareChange));
	copy = palloc(sizeof(MkShareSettings));
	*copy = *settings;
	share->settings = copy;
	mk_find_topics(share, topics);
	mk_find_dead_letter_topic(share, copy, dead_letter_topic, GetUserId());
	MemoryContextSwitchTo(old);

	group.share = palloc(sizeof(MkShareSettings));
	mk_share_change_set(&group, share);
	mk_share_change_check(&group);
	change.share = share;
	mk_group_use_defer(group_id, &change);
}

/* The array that a text means. */
static ArrayType *
mk_parse_array(const char *value)
{
	return DatumGetArrayTypeP(OidInputFunctionCall(
		F_ARRAY_IN, unconstify(char *, value), TEXTOID, -1));
}

void
mk_share_admin_set(const char *group_id, const char *option, const char *value)
{
	MkGroup *group = mk_group_use_get_share(group_id);
	MkGroupChange change = {.kind = MK_CHANGE_OPTION};
	MkShareChange *share;
	MkShareSettings *settings;
	Datum datum;
	bool isnull;
	MemoryContext old;

	mk_group_check_right(group, GetUserId(), true);
	old = MemoryContextSwitchTo(mk_xact_context());
	share = palloc0(sizeof(MkShareChange));
	settings = palloc0(sizeof(MkShareSettings));
	share->settings = settings;
	share->option = mk_option_find(&mk_share_options, option);
	datum = mk_option_parse_text(share->option, value, &isnull);
	if (share->option->field != MK_NO_FIELD)
		mk_option_to_field(share->option, datum, isnull, settings);
	else if (share->option->column == MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID)
		mk_find_dead_letter_topic(share, settings, value,
								  get_role_oid(NameStr(group->owner), false));
	else if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" has no default", option)));
	else
		mk_find_topics(share, mk_parse_array(value));
	MemoryContextSwitchTo(old);

	mk_share_change_set(group, share);
	mk_share_change_check(group);
	change.share = share;
	mk_group_use_defer(group_id, &change);
}
