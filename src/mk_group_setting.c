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

static const struct
{
	int n;
	const char *const *names;
} mk_settings[] = {
	[MK_SETTING_KIND] = {lengthof(mk_kinds), mk_kinds},
	[MK_SETTING_ASSIGNOR] = {lengthof(mk_assignors), mk_assignors},
	[MK_SETTING_PROTOCOL] = {lengthof(mk_protocols), mk_protocols},
	[MK_SETTING_RESET] = {lengthof(mk_resets), mk_resets},
	[MK_SETTING_REMOVED] = {lengthof(mk_removeds), mk_removeds},
};

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

int
mk_group_setting_find(MkGroupSetting setting, const char *name)
{
	for (int i = 0; i < mk_settings[setting].n; i++)
		if (strcmp(mk_settings[setting].names[i], name) == 0)
			return i;
	return -1;
}
