/*
 * mk_topic_admin.h
 *		Making topics, adding partitions, dropping topics.
 */
#ifndef MK_TOPIC_ADMIN_H
#define MK_TOPIC_ADMIN_H

#include "mk_catalog.h"

/* 22023 for a name that no topic can have. */
extern void mk_topic_check_name(const char *name);

/*
 * Makes a topic for the user, with these options; the rest of the row is set
 * here.  42501 without CREATE on the schema, 42710 if there is one, or a NOTICE
 * if "if_not_exists", 54000 if it has more tables than can be locked.
 */
extern void
mk_topic_create(const char *name, MkTopicRow *options, bool if_not_exists);

/* Adds partitions, up to this number of them; 22023 if there are more. */
extern void mk_topic_add_partitions(const char *name, int32 total);

/* Drops a topic of the user, with all that there is about it. */
extern void mk_topic_drop(const char *name, bool if_exists);

/* Removes what there is about a topic whose table is gone. */
extern void mk_topic_forget(int32 topic_id);

#endif /* MK_TOPIC_ADMIN_H */
