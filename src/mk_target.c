/*
 * mk_target.c
 *		Targets of reset_offsets().
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "mk_log.h"
#include "mk_target.h"

MkTarget
mk_target_parse(const char *text)
{
	static const struct
	{
		const char *prefix;
		int kind;
	} kinds[] = {{"offset:", MK_TARGET_OFFSET},
				 {"shift:", MK_TARGET_SHIFT},
				 {"time:", MK_TARGET_TIME}};
	MkTarget target = {0};

	if (strcmp(text, "earliest") == 0)
		return target;
	target.kind = MK_TARGET_LATEST;
	if (strcmp(text, "latest") == 0)
		return target;
	if (strncmp(text, "group:", strlen("group:")) == 0)
	{
		target.kind = MK_TARGET_GROUP;
		target.group_id = text + strlen("group:");
		return target;
	}
	for (int i = 0; i < (int) lengthof(kinds); i++)
	{
		size_t length = strlen(kinds[i].prefix);
		const char *rest = text + length;

		if (strncmp(text, kinds[i].prefix, length) != 0)
			continue;
		target.kind = kinds[i].kind;
		if (target.kind == MK_TARGET_TIME)
			target.number = DatumGetTimestampTz(DirectFunctionCall3(
				timestamptz_in, CStringGetDatum(rest),
				ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
		else
		{
			char *rest_end;

			errno = 0;
			target.number = strtoi64(rest, &rest_end, 10);
			if (errno != 0 || rest_end == rest || *rest_end != '\0' ||
				isspace((unsigned char) *rest))
				break;
		}
		if (target.kind != MK_TARGET_OFFSET || target.number >= 0)
			return target;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid target \"%s\"", text),
			 errhint("Use \"earliest\", \"latest\", \"offset:N\", "
					 "\"shift:N\", \"time:TIMESTAMP\", or \"group:NAME\".")));
}

int64
mk_target_offset(const MkTarget *target, const MkTopic *topic, int32 partition,
				 int64 stand)
{
	int64 start = mk_log_start(topic, partition);
	int64 end = Max(start, mk_log_end(topic, partition));
	int64 offset = start;

	switch (target->kind)
	{
		case MK_TARGET_EARLIEST:
			break;
		case MK_TARGET_LATEST:
			offset = end;
			break;
		case MK_TARGET_OFFSET:
			offset = target->number;
			break;
		case MK_TARGET_SHIFT:
			if (pg_add_s64_overflow(Max(stand, start), target->number, &offset))
				offset = target->number < 0 ? start : end;
			break;
		case MK_TARGET_TIME:
			offset = mk_log_since(topic, partition, target->number, end);
			break;
		case MK_TARGET_GROUP:
			offset = stand;
			break;
	}
	return Min(Max(offset, start), end);
}
