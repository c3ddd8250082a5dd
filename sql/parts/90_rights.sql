/*
 * Rights.  No role is created.
 *
 *	object									granted to
 *	--------------------------------------	----------------------------------
 *	schema minikafka						pg_monitor: USAGE.  An administrator
 *											grants it to the roles of applications.
 *											A role without it can name nothing in
 *											the schema, and so call nothing
 *	schema minikafka_topics, minikafka_data	PUBLIC: USAGE.  They contain nothing
 *											that can be called, their tables have
 *											rights of their own, and new segments
 *											are attached as their owner
 *	catalog tables, sequences				nobody
 *	all views								PUBLIC: SELECT.  They filter their
 *											rows
 *	all functions and procedures			PUBLIC: EXECUTE.  Each checks the
 *											caller's rights to the topic's table,
 *											the group, the producer or the inbox
 *											consumer
 *	refuse_write()							nobody: only triggers call it
 *	maintain()								nobody: it works on all topics
 *
 * The right to create topics, CREATE on minikafka_topics, is granted by the
 * administrator.
 */
GRANT USAGE ON SCHEMA minikafka TO pg_monitor;
GRANT USAGE ON SCHEMA minikafka_topics, minikafka_data TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA minikafka FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA minikafka FROM PUBLIC;
GRANT SELECT ON minikafka.topics, minikafka.partitions, minikafka.groups,
	minikafka.group_members, minikafka.group_offsets, minikafka.consumer_lag,
	minikafka.share_groups, minikafka.share_deliveries,
	minikafka.dead_letters, minikafka.scheduled TO PUBLIC;
REVOKE ALL ON FUNCTION minikafka.refuse_write() FROM PUBLIC;
REVOKE ALL ON PROCEDURE minikafka.maintain() FROM PUBLIC;
