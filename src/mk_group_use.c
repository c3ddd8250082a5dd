/*
 * mk_group_use.c
 *		A transaction's use of a group.
 *
 * A call in a group defers what it does to the commit, and takes no lock that
 * another session waits for.  When the transaction commits, it takes the lock of
 * each group that it has used, and keeps it to its end: in shared mode if it
 * leaves members and assignments as they are, exclusively if it changes them.
 * So a transaction that looks at them under the lock can rely on them, and the
 * next owner of a partition finds what the former one has committed.
 *
 * Dead members, partitions that are to be handed over and new topics are noticed
 * by the calls of members.  The transaction that notices one defers the change to
 * its commit, and goes on under the assignment that there is.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"

#include "mk_clock.h"
#include "mk_group.h"
#include "mk_group_use.h"
#include "mk_liveness.h"
#include "mk_lock.h"
#include "mk_needed.h"
#include "mk_xact.h"

/* The deferred action: what the commit does in one group. */
typedef struct MkDeferredGroup
{
	MkGroupUse *use;
	List *users; /* OIDs of the roles that have used it */
	Oid maker; /* the role that makes it if it is missing, or InvalidOid */
	List *changes; /* of MkGroupChange, in the order of the calls */
} MkDeferredGroup;

static uint64
mk_group_tag(const void *deferred)
{
	return mk_lock_group_tag(
		((const MkDeferredGroup *) deferred)->use->group_id);
}

static bool
mk_group_same(const void *a, const void *b)
{
	return strcmp(((const MkDeferredGroup *) a)->use->group_id,
				  ((const MkDeferredGroup *) b)->use->group_id) == 0;
}

static void
mk_group_discard(void *deferred)
{
	MkDeferredGroup *d = deferred;

	list_free(d->users);
	list_free(d->changes);
	pfree(d);
}

/*
 * A member that joins begins to read its topics; a share group may begin to read
 * the topics of a change, or go back in them.
 */
static void
mk_group_needs_more(const List *changes)
{
	const ListCell *lc;

	foreach (lc, changes)
	{
		const MkGroupChange *change = lfirst(lc);

		for (int i = 0; change->share != NULL && i < change->share->ntopics;
			 i++)
			mk_needed_grows(change->share->topic_ids[i]);
		for (int i = 0; change->join != NULL && i < change->join->ntopics; i++)
		{
			const MkTopic *topic =
				mk_catalog_topic_by_name(change->join->topics[i]);

			if (topic != NULL)
				mk_needed_grows(topic->topic_id);
		}
	}
}

/*
 * Locks the group in the mode that is needed, and makes it if need be.  Since the
 * call the group may have been deleted, and made again by another role, so the
 * right of each user is checked again.
 */
static void
mk_group_lock(void *deferred)
{
	MkDeferredGroup *d = deferred;
	MkGroupUse *use = d->use;
	const MkGroupChange *creation;
	ListCell *lc;
	/* most commits change nothing; for a group that is missing, it looks again */
	bool exclusive = d->changes != NIL &&
		mk_group_change_is_any(mk_membership_get(use->group_id), d->changes);

	for (;;)
	{
		mk_lock_group(use->group_id, exclusive);
		AcceptInvalidationMessages();
		use->group = mk_membership_get(use->group_id);
		if (exclusive || !mk_group_change_is_any(use->group, d->changes))
			break;
		mk_lock_group_release(use->group_id, false);
		exclusive = true;
	}
	use->exclusive = exclusive;
	creation = mk_group_change_creation(d->changes);
	if (creation != NULL)
	{
		mk_share_change_make(use->group_id, creation->user, use->group,
							 creation->share);
		use->group = mk_membership_get(use->group_id);
	}
	else if (use->group == NULL && OidIsValid(d->maker))
	{
		mk_group_rows_make(use->group_id, GetUserNameFromId(d->maker, false));
		use->group = mk_membership_get(use->group_id);
	}
	else if (OidIsValid(d->maker))
		mk_group_check_kind(use->group, MK_GROUP_CONSUMER);
	if (use->group == NULL)
		return; /* it was deleted; what needs it raises the error */
	foreach (lc, d->users)
		mk_group_check_right(use->group, lfirst_oid(lc), false);
	mk_group_needs_more(d->changes);
}

/* Makes the changes. */
static void
mk_group_finish(void *deferred)
{
	const MkDeferredGroup *d = deferred;
	const MkGroupChanges changes = {.group_id = d->use->group_id,
									.changes = d->changes,
									.callers = d->use->callers,
									.committed = d->use->committed};

	if (d->changes != NIL && d->use->exclusive)
		mk_group_change_apply(&changes);
}

static const MkDeferredKind mk_group_kind = {
	.rank = MK_RANK_GROUP,
	.tag = mk_group_tag,
	.same = mk_group_same,
	.lock = mk_group_lock,
	.finish = mk_group_finish,
	.discard = mk_group_discard,
};

/* The transaction's deferred action about the group, NULL if there is none. */
static const MkDeferredGroup *
mk_group_find_deferred(const char *group_id)
{
	MkGroupUse use = {.group_id = unconstify(char *, group_id)};
	MkDeferredGroup like = {.use = &use};

	return mk_xact_find_deferred(&mk_group_kind, &like);
}

MkGroupUse *
mk_group_use_find(const char *group_id)
{
	const MkDeferredGroup *d = mk_group_find_deferred(group_id);

	return d != NULL ? d->use : NULL;
}

/* The same for a name that no group may have: then NULL. */
static MkGroup *
mk_group_use_try(const char *group_id)
{
	const MkDeferredGroup *d = mk_group_find_deferred(group_id);
	const MkGroupChange *creation =
		d != NULL ? mk_group_change_creation(d->changes) : NULL;
	const MkGroup *group = mk_group_find(group_id);
	MkGroup *copy = palloc0(sizeof(MkGroup));
	ListCell *lc;

	if (group != NULL)
		*copy = *group;
	else if (creation != NULL)
	{
		copy->group_id = d->use->group_id;
		copy->kind = MK_GROUP_SHARE;
		namestrcpy(&copy->owner, GetUserNameFromId(creation->user, false));
	}
	else
		return NULL;
	if (copy->kind != MK_GROUP_SHARE)
		return copy;

	copy->share = palloc0(sizeof(MkShareSettings));
	if (group != NULL)
		*copy->share = *group->share;
	foreach (lc, d != NULL ? d->changes : NIL)
	{
		const MkGroupChange *change = lfirst(lc);

		if (change->kind == MK_CHANGE_CREATE ||
			change->kind == MK_CHANGE_OPTION)
			mk_share_change_set(copy, change->share);
	}
	return copy;
}

MkGroup *
mk_group_use_get(const char *group_id)
{
	MkGroup *group = mk_group_use_try(group_id);

	if (group == NULL)
		mk_group_not_found(group_id);
	return group;
}

MkGroup *
mk_group_use_get_share(const char *group_id)
{
	return mk_group_check_share(mk_group_use_try(group_id), group_id);
}

/*
 * A copy of a deferred action, to be changed.  It goes when the savepoint is
 * rolled back, and the original holds again.
 */
static MkDeferredGroup *
mk_group_copy(const MkDeferredGroup *before)
{
	MkDeferredGroup *d = palloc(sizeof(MkDeferredGroup));

	*d = *before;
	d->users = list_copy(before->users);
	d->changes = list_copy(before->changes);
	return d;
}

/*
 * The transaction's deferred action about the group, after the current user was
 * added to it; with "make", one that makes the group.
 */
static const MkDeferredGroup *
mk_group_deferred(const char *group_id, bool make)
{
	const MkDeferredGroup *before = mk_group_find_deferred(group_id);
	MkDeferredGroup *d;
	Oid user = GetUserId();
	MemoryContext old;

	if (before != NULL && before->changes != NIL &&
		((const MkGroupChange *) llast(before->changes))->kind ==
			MK_CHANGE_DELETE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("group \"%s\" is to be deleted by this transaction",
						group_id)));
	if (before != NULL && make &&
		mk_group_change_creation(before->changes) != NULL)
		mk_group_is_other_kind(group_id, MK_GROUP_SHARE);
	if (before != NULL && list_member_oid(before->users, user) &&
		(!make || OidIsValid(before->maker)))
		return before;

	old = MemoryContextSwitchTo(mk_xact_context());
	if (before != NULL)
		d = mk_group_copy(before);
	else
	{
		d = palloc0(sizeof(MkDeferredGroup));
		d->use = palloc0(sizeof(MkGroupUse));
		d->use->group_id = pstrdup(group_id);
	}
	d->users = list_append_unique_oid(d->users, user);
	if (make && !OidIsValid(d->maker))
		d->maker = user;
	mk_xact_defer(&mk_group_kind, d);
	MemoryContextSwitchTo(old);
	return d;
}

MkGroupUse *
mk_group_use(const char *group_id, bool make)
{
	return mk_group_deferred(group_id, make)->use;
}

void
mk_group_use_defer(const char *group_id, const MkGroupChange *change)
{
	const MkDeferredGroup *before = mk_group_deferred(group_id, false);
	MkDeferredGroup *d;
	MkGroupChange *copy;
	ListCell *lc;
	MemoryContext old;

	if (change->kind == MK_CHANGE_CREATE)
	{
		if (OidIsValid(before->maker))
			mk_share_change_exists(group_id, MK_GROUP_CONSUMER);
		if (mk_group_change_creation(before->changes) != NULL)
			mk_share_change_exists(group_id, MK_GROUP_SHARE);
	}
	/* each poll, each commit and each answer of a batch asks for the same */
	foreach (lc, before->changes)
	{
		const MkGroupChange *c = lfirst(lc);

		if (c->kind == change->kind &&
			(c->kind == MK_CHANGE_CHECK || c->kind == MK_CHANGE_READY ||
			 (mk_group_change_lets_go(c) && c->member_no == change->member_no)))
			return;
	}
	old = MemoryContextSwitchTo(mk_xact_context());
	if (change->join != NULL || change->share != NULL)
		mk_needed_defer();
	copy = palloc(sizeof(MkGroupChange));
	*copy = *change;
	copy->user = GetUserId();
	if (copy->name != NULL)
		copy->name = pstrdup(copy->name);
	d = mk_group_copy(before);
	d->changes = lappend(d->changes, copy);
	mk_xact_defer(&mk_group_kind, d);
	MemoryContextSwitchTo(old);
}

bool
mk_group_use_check(MkGroup *group)
{
	const MkGroupChange change = {.kind = MK_CHANGE_CHECK};

	if (!mk_liveness_is_due(group, mk_clock_now()))
		return false;
	mk_group_use_defer(group->group_id, &change);
	return true;
}

void
mk_group_use_called(MkGroupUse *use, int32 member_no)
{
	Assert(mk_lock_group_is_mine(use->group_id, use->exclusive));
	use->callers = lappend_int(use->callers, member_no);
}

void
mk_group_use_committed(MkGroupUse *use, int32 topic_id, int32 partition)
{
	MkGroupPartition *p;

	Assert(mk_lock_group_is_mine(use->group_id, use->exclusive));
	/* otherwise the group stays as it is */
	if (!use->exclusive)
		return;
	p = palloc(sizeof(MkGroupPartition));
	p->topic_id = topic_id;
	p->partition = partition;
	use->committed = lappend(use->committed, p);
}
