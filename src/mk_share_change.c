/*
 * mk_share_change.c
 *		Changes to share groups, made when a transaction commits.
 *
 * Each is made under the group's lock in exclusive mode, and counts the group's
 * version up.  A transaction that answers for records of the group holds the lock
 * in shared mode at its commit, and then looks whether the settings and the eras
 * are those by which it got the records.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "mk_group.h"
#include "mk_lock.h"
#include "mk_log.h"
#include "mk_parked_rows.h"
#include "mk_share_change.h"
#include "mk_share_rows.h"

void
mk_share_change_exists(const char *group_id, MkGroupKind kind)
{
	if (kind != MK_GROUP_SHARE)
		mk_group_is_other_kind(group_id, kind);
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("group \"%s\" already exists", group_id)));
}

/* ---------------------------------------------------------------------------
 * Settings
 */

void
mk_share_change_check(const MkGroup *g)
{
	const MkShareSettings *s = g->share;

	if (s->max_backoff < s->backoff)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"max_backoff\" must not be less than \"backoff\"")));
	if (s->dead_letter_topic_id == 0 &&
		(s->on_exhausted == MK_EXHAUSTED_DEAD_LETTER ||
		 s->on_exhausted == MK_EXHAUSTED_DEAD_LETTER_KEY))
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("group \"%s\" needs a dead-letter topic", g->group_id),
			 errdetail("Its option \"on_exhausted\" sends exhausted records "
					   "there."),
			 errhint("Set option \"dead_letter_topic\" first; or, to remove "
					 "it, \"on_exhausted\".")));
	if (s->on_exhausted == MK_EXHAUSTED_DEAD_LETTER_KEY &&
		s->ordering != MK_ORDERING_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"on_exhausted\" can be \"dead_letter_key\" with "
						"ordering \"key\" only")));
	if (mk_membership_has_topic(g, s->dead_letter_topic_id))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the dead-letter topic of group \"%s\" must not be "
						"one of its topics",
						g->group_id)));
}

/* Replaces the topics of a group. */
static void
mk_set_topics(MkGroup *g, const MkShareChange *change)
{
	g->ntopics = change->ntopics;
	g->topics = palloc0(change->ntopics * sizeof(MkGroupTopic));
	for (int i = 0; i < change->ntopics; i++)
		g->topics[i].topic_id = change->topic_ids[i];
}

void
mk_share_change_set(MkGroup *g, const MkShareChange *change)
{
	const MkOption *o = change->option;
	MkShareOrdering ordering = g->share->ordering;
	bool isnull;
	Datum value;

	if (o == NULL)
	{
		*g->share = *change->settings;
		mk_set_topics(g, change);
		return;
	}
	if (o->column == 0)
		mk_set_topics(g, change);
	if (o->column == MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID)
		g->share->dead_letter_topic_id = change->settings->dead_letter_topic_id;
	if (o->field == MK_NO_FIELD)
		return;
	value = mk_option_from_field(o, change->settings, &isnull);
	mk_option_to_field(o, value, isnull, g->share);
	if (g->share->ordering != ordering)
		g->share->ordering_epoch = ++g->share->epoch;
	if (!g->share->paused)
		g->share->paused_why = NULL;
	if (g->share->on_exhausted == MK_EXHAUSTED_DEAD_LETTER_KEY)
		g->share->parks = true;
}

/* ---------------------------------------------------------------------------
 * Beginning
 */

/* An MkDeliverySink that notes that there is one. */
static bool
mk_note_delivery(const MkDelivery *delivery, void *arg)
{
	*(bool *) arg = true;
	return false;
}

/* Whether the group has something written about a partition. */
static bool
mk_has_state(const MkGroup *g, int32 topic_id, int32 partition)
{
	const MkShareKey key = {
		.group_no = g->group_no, .topic_id = topic_id, .partition = partition};
	MkShareCheckpoint checkpoint;
	MkShareRuns runs;
	MkShareRun run;
	bool found = mk_share_checkpoint_peek(g->group_no, topic_id, partition,
										  NULL, &checkpoint);

	if (!found)
	{
		mk_share_runs_begin(&runs, &key, 0);
		found = mk_share_runs_next(&runs, &run);
		mk_share_runs_end(&runs);
	}
	if (!found)
		mk_delivery_scan(&key, 0, NULL, mk_note_delivery, &found);
	return found;
}

/*
 * Begins a topic that is new to the group: with "latest", at the end of each
 * partition that there is.  A partition that is made later is read from its start.
 */
static void
mk_begin_topic(const MkGroup *g, const MkTopic *topic)
{
	if (g->share->reset != MK_RESET_LATEST)
		return;
	for (int32 i = 0; i < topic->npartitions; i++)
	{
		MkShareCheckpoint checkpoint = {0};

		CHECK_FOR_INTERRUPTS();
		/* the group had the topic before, and goes on where it stands */
		if (mk_has_state(g, topic->topic_id, i))
			continue;
		checkpoint.high = Max(mk_log_start(topic, i), mk_log_end(topic, i));
		mk_share_checkpoint_put(g->group_no, topic->topic_id, i, &checkpoint);
	}
}

/* 42704 if a topic of the change was dropped since the call. */
static void
mk_check_topics(const MkShareChange *change)
{
	for (int i = 0; i < change->ntopics; i++)
		mk_catalog_check_topic(change->topics[i], change->topic_ids[i]);
	if (change->dead_letter_topic != NULL)
		mk_catalog_check_topic(change->dead_letter_topic,
							   change->settings->dead_letter_topic_id);
}

/* The numbers of the topics, as a list. */
static List *
mk_topic_ids(const MkShareChange *change)
{
	List *topic_ids = NIL;

	for (int i = 0; i < change->ntopics; i++)
		topic_ids = lappend_int(topic_ids, change->topic_ids[i]);
	return topic_ids;
}

void
mk_share_change_make(const char *group_id, Oid owner, const MkGroup *existing,
					 const MkShareChange *change)
{
	Assert(mk_lock_group_is_mine(group_id, true));
	if (existing != NULL)
		mk_share_change_exists(group_id, existing->kind);
	mk_check_topics(change);
	mk_group_rows_make_share(group_id, GetUserNameFromId(owner, false),
							 change->settings, mk_topic_ids(change));
}

void
mk_share_change_begin(const MkGroup *g, const MkShareChange *change)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	for (int i = 0; i < change->ntopics; i++)
		mk_begin_topic(g, change->topics[i]);
}

/* ---------------------------------------------------------------------------
 * Changing
 */

void
mk_share_change_option(MkGroup *g, const MkShareChange *change)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	mk_check_topics(change);
	for (int i = 0; i < change->ntopics; i++)
		if (!mk_membership_has_topic(g, change->topic_ids[i]))
			mk_begin_topic(g, change->topics[i]);
	mk_share_change_set(g, change);
	mk_share_change_check(g);
	/* keys that are parked stay so */
	if (g->share->on_exhausted != MK_EXHAUSTED_DEAD_LETTER_KEY)
		g->share->parks = g->share->parks && mk_parked_is_any(g->group_no);
	mk_group_rows_put_share(g);
	if (change->ntopics > 0)
		mk_group_rows_put_topics(g, mk_topic_ids(change));
}

void
mk_share_change_reset(MkGroup *g, const MkShareChange *change)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	mk_catalog_check_topic(change->topic, change->topic_id);
	g->share->epoch++;
	mk_group_rows_put_share(g);
	for (int32 i = 0; i < change->npartitions; i++)
	{
		MkShareCheckpoint checkpoint;

		CHECK_FOR_INTERRUPTS();
		(void) mk_share_checkpoint_peek(g->group_no, change->topic_id, i, NULL,
										&checkpoint);
		checkpoint.era = g->share->epoch;
		checkpoint.high = change->offsets[i];
		checkpoint.lost = 0;
		mk_share_checkpoint_put(g->group_no, change->topic_id, i, &checkpoint);
	}
}

void
mk_share_change_pause(MkGroup *g, const char *why)
{
	Assert(mk_lock_group_is_mine(g->group_id, true));
	if (g->share->paused)
		return;
	g->share->paused = true;
	g->share->paused_why = pstrdup(why);
	mk_group_rows_put_share(g);
}
