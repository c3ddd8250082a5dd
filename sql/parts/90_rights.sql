/*
 * Rights.  No role is created.
 *
 *	object									PUBLIC
 *	--------------------------------------	----------------------------------
 *	schema minikafka, minikafka_topics		USAGE
 *	schema minikafka_data					USAGE: segments are attached in the name
 *											of the topic's owner, who may alter
 *											them; CREATE for nobody
 *	catalog tables, sequences				nothing
 *	all views								SELECT: they choose their rows
 *	all functions and procedures			EXECUTE: each checks for itself, by
 *											the rights on the topic's table, and
 *											whose the group, the producer or
 *											the inbox consumer is
 *	refuse_write()							nothing: only triggers need it
 *	maintain()								nothing: it looks after everything
 *
 * CREATE on minikafka_topics, the right to make topics, is for the database's
 * owner to grant.
 */
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA minikafka FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA minikafka FROM PUBLIC;
GRANT SELECT ON minikafka.topics, minikafka.partitions, minikafka.groups,
	minikafka.group_members, minikafka.group_offsets, minikafka.consumer_lag TO PUBLIC;
REVOKE ALL ON FUNCTION minikafka.refuse_write() FROM PUBLIC;
REVOKE ALL ON PROCEDURE minikafka.maintain() FROM PUBLIC;
