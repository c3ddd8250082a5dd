/*
 * mk_target.h
 *		Targets of reset_offsets().
 */
#ifndef MK_TARGET_H
#define MK_TARGET_H

#include "mk_catalog.h"

typedef enum MkTargetKind
{
	MK_TARGET_EARLIEST,
	MK_TARGET_LATEST,
	MK_TARGET_OFFSET,
	MK_TARGET_SHIFT, /* from the committed offset */
	MK_TARGET_TIME
} MkTargetKind;

typedef struct MkTarget
{
	MkTargetKind kind;
	int64 number; /* offset, shift or time */
} MkTarget;

/* 22023 for a text that is no target. */
extern MkTarget mk_target_parse(const char *text);

/*
 * The offset that a target means in a partition, within what the log has.
 * "committed" is the group's, -1 if there is none.
 */
extern int64 mk_target_offset(const MkTarget *target, const MkTopic *topic,
							  int32 partition, int64 committed);

#endif /* MK_TARGET_H */
