/*
 * mk_share_admin.h
 *		Administration of share groups: creating them, setting their options.
 *
 * mk_group_admin.h has what both kinds of groups know: grants, owners, deletion.
 */
#ifndef MK_SHARE_ADMIN_H
#define MK_SHARE_ADMIN_H

#include "utils/array.h"

#include "mk_membership.h"

/*
 * Defers the creation of a share group, which belongs to the current user.  Names
 * of topics and of the dead-letter topic (NULL: none) are looked up here.  42710 or
 * MK023 if there is a group of that name, 42704 for a topic that does not exist,
 * 42501 without SELECT on a topic or INSERT on the dead-letter topic, 22023 for
 * settings that do not fit together.
 */
extern void mk_share_admin_create(const char *group_id, ArrayType *topics,
								  const MkShareSettings *settings,
								  const char *dead_letter_topic);

/*
 * Defers setting an option, to its default if the value is NULL.  Errors as above;
 * 42501 unless the current user has the rights of the group's owner, 42704 if there
 * is no such group, MK023 for a consumer group.
 */
extern void
mk_share_admin_set(const char *group_id, const char *option, const char *value);

#endif /* MK_SHARE_ADMIN_H */
