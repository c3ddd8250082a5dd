/*
 * Views.  They show a role the topics and groups to which it has a right, and
 * show all of them to members of pg_monitor.
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
	t.created_at,
	t.delete_retention,
	t.min_compaction_lag,
	t.value_format,
	t.delivery_delay,
	t.keep_unread,
	t.delete_read
FROM minikafka.topic t
JOIN pg_catalog.pg_class c ON c.oid = t.rel
WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, DELETE')
	OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW minikafka.topics IS 'Topics to which the role has a right, and their options.';
COMMENT ON COLUMN minikafka.topics.topic IS 'topic name';
COMMENT ON COLUMN minikafka.topics.partitions IS 'number of partitions';
COMMENT ON COLUMN minikafka.topics.partitioner IS 'how a key selects a partition: murmur2 or md5';
COMMENT ON COLUMN minikafka.topics.cleanup_policy IS 'delete: records beyond retention and retention_bytes are removed; compact: the newest record of each key stays; or compact,delete';
COMMENT ON COLUMN minikafka.topics.retention IS 'maximum age of records; NULL: no limit';
COMMENT ON COLUMN minikafka.topics.retention_bytes IS 'minimum number of bytes of a partition to keep; NULL: keep all';
COMMENT ON COLUMN minikafka.topics.segment_records IS 'number of offsets in a segment table';
COMMENT ON COLUMN minikafka.topics.max_message_bytes IS 'maximum size of key, value and headers of a record together, in bytes';
COMMENT ON COLUMN minikafka.topics.min_insync_replicas IS 'number of servers, including the primary, that must have received a commit';
COMMENT ON COLUMN minikafka.topics.owner IS 'role that owns the topic''s table';
COMMENT ON COLUMN minikafka.topics.created_at IS 'when the topic was created';
COMMENT ON COLUMN minikafka.topics.delete_retention IS 'how long a tombstone is kept after the first pass of compaction that saw it; NULL: 24 hours';
COMMENT ON COLUMN minikafka.topics.min_compaction_lag IS 'minimum age of a record to be compacted; NULL: one hour for maintain(), none for compact()';
COMMENT ON COLUMN minikafka.topics.value_format IS 'what a value must be: bytes (anything), text or json';
COMMENT ON COLUMN minikafka.topics.delivery_delay IS 'minimum age of a record to be polled or acquired; NULL: none';
COMMENT ON COLUMN minikafka.topics.keep_unread IS 'whether retention keeps what a group has not read';
COMMENT ON COLUMN minikafka.topics.delete_read IS 'whether maintenance removes what all groups have read';

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
		COALESCE(pg_catalog.sum(pg_catalog.pg_total_relation_size(d.oid)), 0)::bigint AS bytes
	FROM minikafka.segment g
	JOIN pg_catalog.pg_class d ON d.oid = g.rel
	WHERE g.topic_id = t.topic_id AND g.partition = p.partition) s
WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT')
	OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW minikafka.partitions IS 'Partitions of the topics that the role may read.';
COMMENT ON COLUMN minikafka.partitions.topic IS 'topic name';
COMMENT ON COLUMN minikafka.partitions.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.partitions.log_start_offset IS 'first offset that can be read; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.partitions.end_offset IS 'first offset that is not decided yet; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.partitions.segments IS 'number of segment tables';
COMMENT ON COLUMN minikafka.partitions.bytes IS 'size on disk in bytes, with indexes and TOAST';

CREATE VIEW minikafka.groups WITH (security_barrier) AS
SELECT g.group_id,
	CASE WHEN g.kind = 'consumer' THEN g.generation END AS generation,
	CASE WHEN g.kind = 'share' THEN
			CASE WHEN (SELECT s.paused FROM minikafka.share_group s WHERE s.group_no = g.group_no) THEN 'Paused' ELSE 'Stable' END
		WHEN m.members = 0 THEN 'Empty'
		WHEN EXISTS (SELECT FROM minikafka.group_assignment a WHERE a.group_no = g.group_no AND a.owner <> a.target) THEN 'Reconciling'
		ELSE 'Stable' END AS state,
	g.assignor,
	g.protocol,
	CASE WHEN g.kind = 'consumer' THEN m.members END AS members,
	g.owner::text AS owner,
	g.rebalanced_at,
	g.rebalanced_why,
	g.kind
FROM minikafka.consumer_group g
CROSS JOIN LATERAL (
	SELECT pg_catalog.count(*)::integer AS members
	FROM minikafka.group_member m
	WHERE m.group_no = g.group_no AND m.removed_at IS NULL
		AND NOT minikafka.member_is_expired(g.group_id, m.member_id)) m
WHERE g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.groups IS 'Groups that the role may use.';
COMMENT ON COLUMN minikafka.groups.group_id IS 'group name';
COMMENT ON COLUMN minikafka.groups.generation IS 'increases by one with each rebalance; NULL: a share group';
COMMENT ON COLUMN minikafka.groups.state IS 'Empty: no members, or only members whose timeouts have passed; Reconciling: a partition has yet to move; Stable; Paused: a share group that hands out nothing, otherwise it is Stable';
COMMENT ON COLUMN minikafka.groups.assignor IS 'sticky, range or roundrobin; NULL before the first member';
COMMENT ON COLUMN minikafka.groups.protocol IS 'cooperative or eager; NULL before the first member';
COMMENT ON COLUMN minikafka.groups.members IS 'number of members, without those whose timeouts have passed; NULL: a share group, which has none';
COMMENT ON COLUMN minikafka.groups.owner IS 'role that owns the group: the one that used it first or created it, or to which it was given';
COMMENT ON COLUMN minikafka.groups.rebalanced_at IS 'when the generation began; NULL before the first member';
COMMENT ON COLUMN minikafka.groups.rebalanced_why IS 'why it began: which members joined, left or exceeded a timeout, or that topics or partitions changed';

COMMENT ON COLUMN minikafka.groups.kind IS 'consumer: gives partitions to members; share: hands out records one by one';

CREATE VIEW minikafka.group_members WITH (security_barrier) AS
SELECT g.group_id,
	m.member_id,
	m.instance_id,
	m.topics,
	(SELECT pg_catalog.count(*)::integer
		FROM minikafka.group_assignment a
		JOIN minikafka.topic t ON t.topic_id = a.topic_id
		WHERE a.group_no = m.group_no AND a.owner = m.member_no) AS partitions,
	GREATEST(h.seen, h.polled) AS last_seen,
	h.polled AS last_poll,
	EXISTS (
		SELECT FROM pg_catalog.pg_locks l
		WHERE l.locktype = 'advisory' AND l.objsubid = 19785 -- MK_LOCK_MEMBER
			AND l.classid = m.member_no::oid
			AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())) AS in_transaction,
	m.joined_at,
	m.session_timeout,
	m.max_poll_interval,
	minikafka.member_is_expired(g.group_id, m.member_id) AS expired
FROM minikafka.consumer_group g
JOIN minikafka.group_member m ON m.group_no = g.group_no
CROSS JOIN LATERAL (
	SELECT (SELECT pg_catalog.max(b.at) FROM minikafka.member_heartbeat b WHERE b.member_no = m.member_no AND b.polled = 0) AS seen,
		(SELECT pg_catalog.max(b.at) FROM minikafka.member_heartbeat b WHERE b.member_no = m.member_no AND b.polled = 1) AS polled) h
WHERE m.removed_at IS NULL AND g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.group_members IS 'Members of the groups that the role may use.';
COMMENT ON COLUMN minikafka.group_members.group_id IS 'group name';
COMMENT ON COLUMN minikafka.group_members.member_id IS 'member id';
COMMENT ON COLUMN minikafka.group_members.instance_id IS 'instance id of a static member';
COMMENT ON COLUMN minikafka.group_members.topics IS 'names of the topics that the member subscribes to';
COMMENT ON COLUMN minikafka.group_members.partitions IS 'number of partitions that the member has';
COMMENT ON COLUMN minikafka.group_members.last_seen IS 'when the member was last heard of; written at most once per tenth of its timeouts';
COMMENT ON COLUMN minikafka.group_members.last_poll IS 'when the member last polled; written as last_seen is';
COMMENT ON COLUMN minikafka.group_members.in_transaction IS 'whether a transaction that has polled for the member is in progress';
COMMENT ON COLUMN minikafka.group_members.joined_at IS 'when the member last joined';
COMMENT ON COLUMN minikafka.group_members.session_timeout IS 'the member is removed if it was not heard of for this long';
COMMENT ON COLUMN minikafka.group_members.max_poll_interval IS 'the member is removed if it did not poll for this long';
COMMENT ON COLUMN minikafka.group_members.expired IS 'whether one of the two has passed; the member keeps its partitions until the group is used next, or maintenance runs';

CREATE VIEW minikafka.group_offsets WITH (security_barrier) AS
SELECT g.group_id,
	o.topic,
	o.partition,
	o."offset",
	o.metadata,
	o.committed_at,
	o.member_id,
	o.generation
FROM minikafka.consumer_group g
CROSS JOIN LATERAL minikafka.group_commits(g.group_id) o
WHERE g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.group_offsets IS 'Committed offsets of the groups that the role may use, in topics that it may read.';
COMMENT ON COLUMN minikafka.group_offsets.group_id IS 'group name';
COMMENT ON COLUMN minikafka.group_offsets.topic IS 'topic name';
COMMENT ON COLUMN minikafka.group_offsets.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.group_offsets."offset" IS 'committed offset: the offset to read next';
COMMENT ON COLUMN minikafka.group_offsets.metadata IS 'metadata that the consumer stored with the offset';
COMMENT ON COLUMN minikafka.group_offsets.committed_at IS 'when the offset was committed';
COMMENT ON COLUMN minikafka.group_offsets.member_id IS 'member that committed it; NULL: a plain consumer';
COMMENT ON COLUMN minikafka.group_offsets.generation IS 'generation in which it was committed; NULL: a plain consumer';

CREATE VIEW minikafka.consumer_lag WITH (security_barrier) AS
SELECT g.group_id,
	l.topic,
	l.partition,
	l.log_start_offset,
	l.end_offset,
	l.committed_offset,
	l.lag,
	l.time_lag,
	l.member_id,
	l.ready,
	l.in_flight,
	l.waiting,
	l.lost
FROM minikafka.consumer_group g
CROSS JOIN LATERAL minikafka.lag(g.group_id) l
WHERE g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.consumer_lag IS 'How far the groups that the role may use are behind, in topics that it may read.';
COMMENT ON COLUMN minikafka.consumer_lag.group_id IS 'group name';
COMMENT ON COLUMN minikafka.consumer_lag.topic IS 'topic name';
COMMENT ON COLUMN minikafka.consumer_lag.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.consumer_lag.log_start_offset IS 'first offset that can be read; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.consumer_lag.end_offset IS 'first offset that is not decided yet; NULL for a topic that cannot be read';
COMMENT ON COLUMN minikafka.consumer_lag.committed_offset IS 'committed offset; NULL: none';
COMMENT ON COLUMN minikafka.consumer_lag.lag IS 'number of unread records: end - max(committed, log start)';
COMMENT ON COLUMN minikafka.consumer_lag.time_lag IS 'age of the oldest unread record; zero if there is none, NULL if its time is in the future';
COMMENT ON COLUMN minikafka.consumer_lag.member_id IS 'member that has the partition; NULL if none has it, or if its timeouts have passed';
COMMENT ON COLUMN minikafka.consumer_lag.ready IS 'of a share group: number of records that it can acquire now; NULL for a consumer group';
COMMENT ON COLUMN minikafka.consumer_lag.in_flight IS 'of a share group: number of records that workers have; NULL for a consumer group';
COMMENT ON COLUMN minikafka.consumer_lag.waiting IS 'of a share group: number of records that wait to be delivered again; NULL for a consumer group';
COMMENT ON COLUMN minikafka.consumer_lag.lost IS 'number of offsets from the committed offset up to the log start: their records were removed before the group committed them; NULL without a committed offset';
