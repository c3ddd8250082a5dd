/*
 * mk_maintenance_state.c
 *		Maintenance of what is remembered about groups, producers and the inbox.
 */
#include "postgres.h"

#include "mk_group_admin.h"
#include "mk_group_rows.h"
#include "mk_heartbeat.h"
#include "mk_inbox.h"
#include "mk_maintenance_state.h"
#include "mk_membership.h"
#include "mk_producer.h"
#include "mk_producer_rows.h"
#include "mk_progress.h"
#include "mk_role.h"
#include "mk_share.h"
#include "mk_share_clean.h"
#include "mk_share_rows.h"

/* Removes old rows of a group; repeated while there are more. */
typedef struct MkCleanGroup
{
	int32 group_no;
	bool more;
} MkCleanGroup;

/* ---------------------------------------------------------------------------
 * Steps
 */

static void
mk_do_group(void *arg)
{
	mk_group_admin_maintain(arg);
}

static void
mk_do_checkpoints(void *arg)
{
	mk_share_maintain(arg);
}

static void
mk_do_progress(void *arg)
{
	MkCleanGroup *c = arg;

	c->more = mk_progress_clean(c->group_no);
}

static void
mk_do_share(void *arg)
{
	MkCleanGroup *c = arg;

	c->more = mk_share_clean(c->group_no);
}

static void
mk_do_producer(void *arg)
{
	mk_producer_clean(*(const int32 *) arg);
}

static void
mk_do_inbox(void *arg)
{
	*(bool *) arg = mk_inbox_clean();
}

/*
 * Members are read after their heartbeats.  So a member that joins meanwhile
 * has its heartbeats left alone: they are not among those that were read, or the
 * member is found.
 */
static void
mk_do_heartbeats(void *arg)
{
	List *heard_of = mk_heartbeat_members();
	List *members = mk_group_rows_members();
	ListCell *lc;
	int i = 0;

	list_sort(members, list_int_cmp);
	foreach (lc, heard_of)
	{
		int32 member_no = lfirst_int(lc);

		while (i < list_length(members) && list_nth_int(members, i) < member_no)
			i++;
		mk_heartbeat_clean(member_no,
						   i < list_length(members) &&
							   list_nth_int(members, i) == member_no);
	}
}

/* Warns about owners and grantees that are not roles. */
static void
mk_do_roles(void *arg)
{
	mk_role_warn(mk_inbox_look(mk_producer_rows_look(mk_membership_look(NIL))));
}

/* ---------------------------------------------------------------------------
 * Lists of what to go through, one step for each
 */

static List *
mk_list_progress(void)
{
	return mk_progress_groups(NULL);
}

static List *
mk_list_shares(void)
{
	return mk_share_rows_groups(NULL);
}

static List *
mk_list_producers(void)
{
	return mk_producer_rows_ids(NULL);
}

/* What a step does, for reports; in memory that outlives the step. */
static const char *
mk_group_activity(const MkSteps *steps, const char *group_id)
{
	MemoryContext old = MemoryContextSwitchTo(steps->context);
	const char *activity = psprintf("maintenance of group \"%s\"", group_id);

	MemoryContextSwitchTo(old);
	return activity;
}

/* ---------------------------------------------------------------------------
 * All of it
 */

/* Removes old rows of each of the groups that are listed. */
static void
mk_clean_groups(const MkSteps *steps, List *(*list)(void),
				void (*clean)(void *), const char *what)
{
	ListCell *lc;

	foreach (lc, mk_step_list(steps, list, what))
	{
		MkCleanGroup c = {.group_no = lfirst_int(lc)};

		do
			c.more = false;
		while (mk_step_run_async(steps, clean, &c, what) && c.more);
	}
}

/* Does something to each group. */
static void
mk_maintain_groups(const MkSteps *steps, MkStep step)
{
	ListCell *lc;

	foreach (lc,
			 mk_step_list(steps, mk_group_rows_names, "maintenance of groups"))
		(void) mk_step_run(steps, step, lfirst(lc),
						   mk_group_activity(steps, lfirst(lc)));
}

void
mk_maintenance_checkpoints(const MkSteps *steps)
{
	mk_maintain_groups(steps, mk_do_checkpoints);
}

void
mk_maintenance_state(const MkSteps *steps)
{
	ListCell *lc;
	bool more;

	mk_maintain_groups(steps, mk_do_group);
	mk_clean_groups(steps, mk_list_progress, mk_do_progress,
					"expiry of offsets");
	mk_clean_groups(steps, mk_list_shares, mk_do_share, "expiry of deliveries");
	(void) mk_step_run(steps, mk_do_heartbeats, NULL, "expiry of heartbeats");
	foreach (lc, mk_step_list(steps, mk_list_producers, "expiry of sequences"))
	{
		int32 producer_id = lfirst_int(lc);

		(void) mk_step_run_async(steps, mk_do_producer, &producer_id,
								 "expiry of sequences");
	}
	do
		more = false;
	while (mk_step_run_async(steps, mk_do_inbox, &more,
							 "expiry of inbox events") &&
		   more);
	(void) mk_step_run(steps, mk_do_roles, NULL, "looking for roles");
}
