/*
 * The views show a role the topics that it has a right to, and a member of
 * pg_monitor all.
 */

CREATE VIEW minikafka.topics WITH (security_barrier) AS
SELECT c.relname::text AS topic,
	t.partitions,
	t.partitioner,
	t.cleanup_policy,
	t.retention,
	t.retention_bytes,
	t.segment_records,
	t.max_message_bytes,
	t.min_insync_replicas,
	pg_catalog.pg_get_userbyid(c.relowner)::text AS owner,
	t.created_at
FROM minikafka.topic t
JOIN pg_catalog.pg_class c ON c.oid = t.rel
WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, DELETE')
	OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW minikafka.topics IS 'The topics that the role has a right to, and their options.';
COMMENT ON COLUMN minikafka.topics.topic IS 'name of the topic';
COMMENT ON COLUMN minikafka.topics.partitions IS 'number of partitions';
COMMENT ON COLUMN minikafka.topics.partitioner IS 'how keys are put to partitions: murmur2 or md5';
COMMENT ON COLUMN minikafka.topics.cleanup_policy IS 'delete';
COMMENT ON COLUMN minikafka.topics.retention IS 'how long records are kept, NULL for ever';
COMMENT ON COLUMN minikafka.topics.retention_bytes IS 'how many bytes of a partition are kept, NULL all';
COMMENT ON COLUMN minikafka.topics.segment_records IS 'offsets in a segment table';
COMMENT ON COLUMN minikafka.topics.max_message_bytes IS 'most bytes of key, value and headers of a record';
COMMENT ON COLUMN minikafka.topics.min_insync_replicas IS 'synchronous standbys that a commit needs, with the primary';
COMMENT ON COLUMN minikafka.topics.owner IS 'role that owns the topic''s table';
COMMENT ON COLUMN minikafka.topics.created_at IS 'when the topic was created';

CREATE VIEW minikafka.partitions WITH (security_barrier) AS
SELECT c.relname::text AS topic,
	p.partition,
	o.log_start_offset,
	o.end_offset,
	s.segments,
	s.bytes
FROM minikafka.topic t
JOIN pg_catalog.pg_class c ON c.oid = t.rel
JOIN minikafka.partition p ON p.topic_id = t.topic_id
CROSS JOIN LATERAL minikafka.try_offsets(c.relname::text, p.partition) o
CROSS JOIN LATERAL (
	SELECT pg_catalog.count(*) AS segments,
		COALESCE(pg_catalog.sum(pg_catalog.pg_total_relation_size(i.inhrelid)), 0)::bigint AS bytes
	FROM pg_catalog.pg_class d
	JOIN pg_catalog.pg_inherits i ON i.inhparent = d.oid
	WHERE d.relname = pg_catalog.format('p%s_%s', t.topic_id, p.partition)
		AND d.relnamespace = 'minikafka_data'::pg_catalog.regnamespace) s
WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT')
	OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW minikafka.partitions IS 'The partitions of the topics that the role may read.';
COMMENT ON COLUMN minikafka.partitions.topic IS 'name of the topic';
COMMENT ON COLUMN minikafka.partitions.partition IS 'number of the partition, from 0';
COMMENT ON COLUMN minikafka.partitions.log_start_offset IS 'first offset that can be read; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.partitions.end_offset IS 'first offset that is not decided yet; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.partitions.segments IS 'number of segment tables';
COMMENT ON COLUMN minikafka.partitions.bytes IS 'bytes on disk, with indexes and TOAST';
