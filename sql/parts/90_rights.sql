/*
 * Rights.  No role is created.
 *
 *	object									granted to
 *	--------------------------------------	----------------------------------
 *	schema minikafka						pg_monitor: USAGE.  An administrator
 *											grants it to the roles of applications;
 *											a role that lacks it can name, and so
 *											call, nothing in the schema
 *	schema minikafka_topics, minikafka_data	PUBLIC: USAGE.  Nothing in there can
 *											be called; its tables have rights of
 *											their own, and new segments are
 *											attached in the name of their owner
 *	catalog tables, sequences				nobody
 *	all views								PUBLIC: SELECT.  They choose their
 *											rows
 *	all functions and procedures			PUBLIC: EXECUTE.  Each checks for
 *											itself, by the rights on the topic's
 *											table, and whose the group, the
 *											producer or the inbox consumer is
 *	refuse_write()							nobody: only triggers need it
 *	maintain()								nobody: it looks after everything
 *
 * CREATE on minikafka_topics, the right to make topics, is for the database's
 * owner to grant.
 */
GRANT USAGE ON SCHEMA minikafka TO pg_monitor;
GRANT USAGE ON SCHEMA minikafka_topics, minikafka_data TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA minikafka FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA minikafka FROM PUBLIC;
GRANT SELECT ON minikafka.topics, minikafka.partitions, minikafka.groups,
	minikafka.group_members, minikafka.group_offsets, minikafka.consumer_lag TO PUBLIC;
REVOKE ALL ON FUNCTION minikafka.refuse_write() FROM PUBLIC;
REVOKE ALL ON PROCEDURE minikafka.maintain() FROM PUBLIC;
