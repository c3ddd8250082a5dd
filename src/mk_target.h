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
	MK_TARGET_SHIFT, /* from where the group stands */
	MK_TARGET_TIME,
	MK_TARGET_GROUP /* where another group stands */
} MkTargetKind;

typedef struct MkTarget
{
	MkTargetKind kind;
	int64 number; /* offset, shift or time */
	const char *group_id; /* a part of the text */
} MkTarget;

/* 22023 for a text that is no target. */
extern MkTarget mk_target_parse(const char *text);

/*
 * The offset that a target means in a partition, within what the log has.  "stand" is
 * where the group stands, or the target's group, -1 if nowhere: at the log start.
 */
extern int64 mk_target_offset(const MkTarget *target, const MkTopic *topic,
							  int32 partition, int64 stand);

#endif /* MK_TARGET_H */
