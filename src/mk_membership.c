/*
 * mk_membership.c
 *		Groups as the session knows them: with members, assignment and grants.
 *
 * Each call of a member reads its group's own row, and with it the group's
 * version.  If the session has read the group's other rows at that version, it
 * need not read them again: every change to them counts the version up, under
 * the group's lock in exclusive mode.
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "mk_lock.h"
#include "mk_membership.h"
#include "mk_number.h"
#include "mk_role.h"
#include "mk_rows.h"

/*
 * A group that the session has read.  After DROP EXTENSION the same numbers may
 * come again, but the catalog's table has another OID.
 */
typedef struct MkCached
{
	char group_id[MK_MEMBERSHIP_MAX_ID + 1]; /* hash key */
	Oid relid; /* of the catalog's table */
	MemoryContext context;
	MkGroup *group;
} MkCached;

static HTAB *mk_cached_groups = NULL;

/* A session that looks at more groups than this is not a consumer's. */
#define MK_MAX_CACHED 1000

void
mk_membership_init(void)
{
	HASHCTL ctl = {0};

	ctl.keysize = MK_MEMBERSHIP_MAX_ID + 1;
	ctl.entrysize = sizeof(MkCached);
	ctl.hcxt = TopMemoryContext;
	mk_cached_groups = hash_create("minikafka groups", 16, &ctl,
								   HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
}

MkGroup *
mk_membership_get(const char *group_id)
{
	MkGroup row;
	MkCached *cached;
	MemoryContext context;
	MemoryContext old;
	MkGroup *g;
	bool own = false;
	bool found;

	if (!mk_group_rows_get(group_id, NULL, &row, &own))
		return NULL;
	cached = hash_search(mk_cached_groups, group_id, HASH_ENTER, &found);
	if (!found)
		cached->group = NULL;
	if (likely(cached->group != NULL &&
			   cached->relid == mk_relation_oid(MK_REL_GROUP) &&
			   cached->group->group_no == row.group_no &&
			   cached->group->version == row.version && !own))
		return cached->group;

	context = AllocSetContextCreate(CurrentMemoryContext, "minikafka group",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	g = mk_group_rows_get_whole(group_id, &own);
	MemoryContextSwitchTo(old);

	/* if this transaction has written the row, a rollback may undo that */
	if (g == NULL || own)
		return g;
	if (cached->group != NULL)
		MemoryContextDelete(cached->context);
	MemoryContextSetParent(context, TopMemoryContext);
	cached->relid = mk_relation_oid(MK_REL_GROUP);
	cached->context = context;
	cached->group = g;
	return g;
}

bool
mk_membership_get_rights(const char *group_id, MkGroup *group)
{
	bool own;

	if (!mk_group_rows_get(group_id, NULL, group, &own))
		return false;
	group->group_id = unconstify(char *, group_id);
	mk_group_rows_get_grantees(group, NULL);
	return true;
}

List *
mk_membership_look(List *missing)
{
	ListCell *name;
	ListCell *grantee;

	foreach (name, mk_group_rows_names())
	{
		MkGroup group;

		if (!mk_membership_get_rights(lfirst(name), &group))
			continue;
		missing = mk_role_look(missing, NameStr(group.owner), "group",
							   lfirst(name), false);
		foreach (grantee, group.grantees)
			missing = mk_role_look(missing, lfirst(grantee), "group",
								   lfirst(name), true);
	}
	return missing;
}

void
mk_membership_trim(void)
{
	HASH_SEQ_STATUS status;
	MkCached *cached;

	if (hash_get_num_entries(mk_cached_groups) <= MK_MAX_CACHED)
		return;
	hash_seq_init(&status, mk_cached_groups);
	while ((cached = hash_seq_search(&status)) != NULL)
	{
		if (cached->group != NULL)
			MemoryContextDelete(cached->context);
		hash_search(mk_cached_groups, cached->group_id, HASH_REMOVE, NULL);
	}
}

MkGroup *
mk_membership_get_for_update(const char *group_id)
{
	bool own;

	Assert(mk_lock_group_is_mine(group_id, true));
	/* no VACUUM FULL may move the rows whose tids the result holds */
	LockRelationOid(mk_relation_oid(MK_REL_GROUP), RowExclusiveLock);
	LockRelationOid(mk_relation_oid(MK_REL_MEMBER), RowExclusiveLock);
	LockRelationOid(mk_relation_oid(MK_REL_ASSIGNMENT), RowExclusiveLock);
	return mk_group_rows_get_whole(group_id, &own);
}

MkMember *
mk_membership_any_member(const MkGroup *group, const char *member_id)
{
	for (int i = 0; i < group->nmembers; i++)
		if (strcmp(group->members[i].member_id, member_id) == 0)
			return &group->members[i];
	return NULL;
}

MkMember *
mk_membership_member(const MkGroup *group, const char *member_id)
{
	MkMember *m = mk_membership_any_member(group, member_id);

	return m != NULL && m->removed == MK_REMOVED_NOT ? m : NULL;
}

MkMember *
mk_membership_member_no(const MkGroup *group, int32 member_no)
{
	for (int i = 0; i < group->nmembers; i++)
		if (group->members[i].member_no == member_no &&
			group->members[i].removed == MK_REMOVED_NOT)
			return &group->members[i];
	return NULL;
}

MkAssignment *
mk_membership_assignment(const MkGroup *group, int32 topic_id, int32 partition)
{
	int low = 0;
	int high = group->nassignments;

	while (low < high)
	{
		int middle = low + (high - low) / 2;
		MkAssignment *a = &group->assignments[middle];

		if (a->topic_id == topic_id && a->partition == partition)
			return a;
		if (a->topic_id < topic_id ||
			(a->topic_id == topic_id && a->partition < partition))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool
mk_membership_has_topic(const MkGroup *group, int32 topic_id)
{
	for (int i = 0; i < group->ntopics; i++)
		if (group->topics[i].topic_id == topic_id)
			return true;
	return false;
}

MkTopic *
mk_membership_topic(MkGroupTopic *t)
{
	MkTopic *topic;

	/* looks again for a missing topic: its drop may have been rolled back */
	if (t->topic == NULL)
		t->topic = mk_catalog_topic_by_id(t->topic_id);
	if (t->topic == NULL)
		return NULL;
	topic = mk_catalog_topic(t->topic->relid);
	return topic != NULL && topic->topic_id == t->topic_id ? topic : NULL;
}

MkTopic *
mk_membership_topic_by_id(const MkGroup *group, int32 topic_id)
{
	for (int i = 0; i < group->ntopics; i++)
		if (group->topics[i].topic_id == topic_id)
			return mk_membership_topic(&group->topics[i]);
	return NULL;
}
