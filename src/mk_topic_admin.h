/*
 * mk_topic_admin.h
 *		Creating topics, adding partitions, dropping topics.
 */
#ifndef MK_TOPIC_ADMIN_H
#define MK_TOPIC_ADMIN_H

#include "mk_catalog.h"

/* 22023 for a name that no topic can have. */
extern void mk_topic_check_name(const char *name);

/*
 * Creates a topic that the user owns.  The caller sets the options in the row;
 * this function sets the other columns.  42501 without CREATE on the schema of
 * topics.  42710 if the topic exists, or with "if_not_exists" a NOTICE.  54000
 * if the topic would have more tables than a transaction can lock.
 */
extern void
mk_topic_create(const char *name, MkTopicRow *options, bool if_not_exists);

/* Adds partitions, up to this total.  22023 if the topic has more already. */
extern void mk_topic_add_partitions(const char *name, int32 total);

/*
 * Drops a topic that the user owns, its records, and what groups and producers
 * have stored about it.
 */
extern void mk_topic_drop(const char *name, bool if_exists);

/* Removes the rows of a topic whose table is gone. */
extern void mk_topic_forget(int32 topic_id);

#endif /* MK_TOPIC_ADMIN_H */
