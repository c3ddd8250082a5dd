/*
 * mk_group_setting.c
 *		Settings of groups and members that have names, such as the assignor.
 */
#include "postgres.h"

#include "mk_group_setting.h"

static const char *const mk_kinds[] = {
	[MK_GROUP_CONSUMER] = "consumer",
	[MK_GROUP_SHARE] = "share",
};
StaticAssertDecl(lengthof(mk_kinds) == MK_GROUP_SHARE + 1,
				 "each kind has a name");

static const char *const mk_assignors[] = {
	[MK_ASSIGNOR_STICKY] = "sticky",
	[MK_ASSIGNOR_RANGE] = "range",
	[MK_ASSIGNOR_ROUNDROBIN] = "roundrobin",
};
StaticAssertDecl(lengthof(mk_assignors) == MK_ASSIGNOR_ROUNDROBIN + 1,
				 "each assignor has a name");

static const char *const mk_protocols[] = {
	[MK_PROTOCOL_COOPERATIVE] = "cooperative",
	[MK_PROTOCOL_EAGER] = "eager",
};
StaticAssertDecl(lengthof(mk_protocols) == MK_PROTOCOL_EAGER + 1,
				 "each protocol has a name");

static const char *const mk_resets[] = {
	[MK_RESET_EARLIEST] = "earliest",
	[MK_RESET_LATEST] = "latest",
	[MK_RESET_NONE] = "none",
};
StaticAssertDecl(lengthof(mk_resets) == MK_RESET_NONE + 1,
				 "each reset has a name");

/* In the catalog, NULL stands for the first. */
static const char *const mk_removeds[] = {
	[MK_REMOVED_NOT] = "",
	[MK_REMOVED_LEFT] = "left",
	[MK_REMOVED_FENCED] = "fenced",
	[MK_REMOVED_SESSION_TIMEOUT] = "session_timeout",
	[MK_REMOVED_MAX_POLL_INTERVAL] = "max_poll_interval",
};
StaticAssertDecl(lengthof(mk_removeds) == MK_REMOVED_MAX_POLL_INTERVAL + 1,
				 "each reason has a name");

/* The place of a name, -1 if it is none of these. */
static int
mk_name_find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

const char *
mk_group_setting_kind(MkGroupKind kind)
{
	return mk_kinds[kind];
}

const char *
mk_group_setting_assignor(MkAssignor assignor)
{
	return mk_assignors[assignor];
}

const char *
mk_group_setting_protocol(MkProtocol protocol)
{
	return mk_protocols[protocol];
}

const char *
mk_group_setting_reset(MkReset reset)
{
	return mk_resets[reset];
}

const char *
mk_group_setting_removed(MkRemoved removed)
{
	return mk_removeds[removed];
}

bool
mk_group_setting_find_kind(const char *name, MkGroupKind *kind)
{
	int found = mk_name_find(mk_kinds, lengthof(mk_kinds), name);

	if (found >= 0)
		*kind = (MkGroupKind) found;
	return found >= 0;
}

bool
mk_group_setting_find_assignor(const char *name, MkAssignor *assignor)
{
	int found = mk_name_find(mk_assignors, lengthof(mk_assignors), name);

	if (found >= 0)
		*assignor = (MkAssignor) found;
	return found >= 0;
}

bool
mk_group_setting_find_protocol(const char *name, MkProtocol *protocol)
{
	int found = mk_name_find(mk_protocols, lengthof(mk_protocols), name);

	if (found >= 0)
		*protocol = (MkProtocol) found;
	return found >= 0;
}

bool
mk_group_setting_find_reset(const char *name, MkReset *reset)
{
	int found = mk_name_find(mk_resets, lengthof(mk_resets), name);

	if (found >= 0)
		*reset = (MkReset) found;
	return found >= 0;
}

bool
mk_group_setting_find_removed(const char *name, MkRemoved *removed)
{
	int found = mk_name_find(mk_removeds, lengthof(mk_removeds), name);

	if (found >= 0)
		*removed = (MkRemoved) found;
	return found >= 0;
}
