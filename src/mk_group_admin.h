/*
 * mk_group_admin.h
 *		Administration of groups: grants, owners, deletion, maintenance.
 */
#ifndef MK_GROUP_ADMIN_H
#define MK_GROUP_ADMIN_H

/*
 * Each checks the right of the current user, and defers the change.  42704 if
 * there is no such group, or no such role.
 */
extern void
mk_group_admin_grant(const char *group_id, const char *grantee, bool grant);
extern void mk_group_admin_set_owner(const char *group_id, const char *owner);

/* Also MK068 if the group has members. */
extern void mk_group_admin_delete(const char *group_id);

/*
 * For maintenance: does at once what is due in a group; see mk_member_touch.
 * Deletes the group if it has had no members, and has committed nothing, for
 * minikafka.offsets_retention.
 */
extern void mk_group_admin_maintain(const char *group_id);

#endif /* MK_GROUP_ADMIN_H */
