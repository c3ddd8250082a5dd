/*
 * mk_share_settings.h
 *		The catalog's rows about what share groups are: their settings and their
 *		topics.
 *
 * To add a setting, add a column to sql/parts/12_share.sql (adapting the number of
 * columns in mk_relation.h) and to MkShareColumn, a field to MkShareSettings, and an
 * entry to the table in mk_share_settings.c.  Then set_group_option() sets it.
 */
#ifndef MK_SHARE_SETTINGS_H
#define MK_SHARE_SETTINGS_H

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "mk_group_setting.h"
#include "mk_option_table.h"

/* The columns of a share group's settings, as in sql/parts/12_share.sql */
typedef enum MkShareColumn
{
	MK_SHARE_COLUMN_GROUP_NO = 1,
	MK_SHARE_COLUMN_ORDERING,
	MK_SHARE_COLUMN_MAX_DELIVERIES,
	MK_SHARE_COLUMN_BACKOFF,
	MK_SHARE_COLUMN_MAX_BACKOFF,
	MK_SHARE_COLUMN_DEAD_LETTER_TOPIC_ID,
	MK_SHARE_COLUMN_AUTO_OFFSET_RESET,
	MK_SHARE_COLUMN_MAX_IN_FLIGHT,
	MK_SHARE_COLUMN_PRIORITY,
	MK_SHARE_COLUMN_ON_EXHAUSTED,
	MK_SHARE_COLUMN_DEAD_LETTER_LIMIT,
	MK_SHARE_COLUMN_PAUSED,
	MK_SHARE_COLUMN_PAUSED_WHY,
	MK_SHARE_COLUMN_EPOCH,
	MK_SHARE_COLUMN_ORDERING_EPOCH,
	MK_SHARE_COLUMN_PARKS,
	MK_SHARE_NUM_COLUMNS = MK_SHARE_COLUMN_PARKS
} MkShareColumn;

/* The settings of a share group */
typedef struct MkShareSettings
{
	MkShareOrdering ordering;
	int32 max_deliveries;
	int64 backoff; /* microseconds, as is the next */
	int64 max_backoff;
	int32 dead_letter_topic_id; /* 0: none */
	MkReset reset;
	int32 max_in_flight;
	MkSharePriority priority;
	MkExhausted on_exhausted;
	int32 dead_letter_limit; /* in an hour; -1: none */
	bool paused;
	char *paused_why; /* NULL: not told */
	int32 epoch; /* grows with each reset, and with each change of ordering */
	int32 ordering_epoch; /* of the last change of ordering */
	bool parks; /* keys may be parked, by on_exhausted now or earlier */
} MkShareSettings;

/*
 * The options of share groups.  Two are not in MkShareSettings as they are given:
 * "topics", which has no column either, and "dead_letter_topic".
 */
extern const MkOptionTable mk_share_options;

/*
 * Sets the settings from the arguments of create_share_group(), and returns the name
 * of the dead-letter topic, NULL if there is none.  22023 for an argument that is
 * not valid, or is NULL and must not be.
 */
extern char *mk_share_settings_from_arguments(FunctionCallInfo fcinfo,
											  MkShareSettings *settings);

/*
 * The settings of a share group, in the current memory context; NULL if there are
 * none.  A NULL snapshot is a new one.
 */
extern MkShareSettings *
mk_share_settings_get(int32 group_no, Snapshot snapshot);

/* The numbers of its topics, in the order of their priority. */
extern List *mk_share_settings_topics(int32 group_no, Snapshot snapshot);

/*
 * Writing.  The caller holds mk_lock_group exclusively, and counts up the group's
 * version.
 */
extern void
mk_share_settings_put(int32 group_no, const MkShareSettings *settings);
extern void mk_share_settings_put_topics(int32 group_no, List *topic_ids);
extern void mk_share_settings_delete(int32 group_no);

/*
 * Removes a topic from all groups.  The caller holds mk_lock_topic_drop, which is
 * enough: a topic that does not exist means nothing to a group that a session has
 * in memory, and who writes a group's topics holds mk_lock_topic_in_use of each.
 */
extern void mk_share_settings_delete_topic(int32 topic_id);

#endif /* MK_SHARE_SETTINGS_H */
