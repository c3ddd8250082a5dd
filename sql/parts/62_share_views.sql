/* Views of share groups.  As the others, they show a role what it may use. */

CREATE FUNCTION minikafka.group_deliveries(group_id text,
	OUT topic text, OUT partition integer, OUT "offset" bigint, OUT state text, OUT delivery_count integer, OUT locked_until timestamptz,
	OUT waiting_until timestamptz, OUT error text, OUT receipt text, OUT pid integer, OUT changed_at timestamptz)
RETURNS SETOF record LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'minikafka_group_deliveries';
COMMENT ON FUNCTION minikafka.group_deliveries(text) IS
'For the view share_deliveries: records of a share group that a session has, or whose delivery did not end well, and that are not done. Requires the use of the group, or pg_monitor. Errors: 42501.';

CREATE VIEW minikafka.share_deliveries WITH (security_barrier) AS
SELECT g.group_id,
	d.topic,
	d.partition,
	d."offset",
	d.state,
	d.delivery_count,
	d.locked_until,
	d.waiting_until,
	d.error,
	d.receipt,
	d.pid,
	d.changed_at
FROM minikafka.consumer_group g
CROSS JOIN LATERAL minikafka.group_deliveries(g.group_id) d
WHERE g.kind = 'share' AND g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.share_deliveries IS 'Records of share groups that a session has, or whose delivery did not end well, and that are not done; of the groups that the role may use, in topics that it may read.';
COMMENT ON COLUMN minikafka.share_deliveries.group_id IS 'group name';
COMMENT ON COLUMN minikafka.share_deliveries.topic IS 'topic name';
COMMENT ON COLUMN minikafka.share_deliveries.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.share_deliveries."offset" IS 'offset of the record';
COMMENT ON COLUMN minikafka.share_deliveries.state IS 'held: a session has it in its transaction; locked: it is under an acquisition lock, which has ended if locked_until has passed; released, failed: it is handed out again, from waiting_until on; blocked: it waits for a person; parked: it is the first dead letter of its key, which later records of the key follow';
COMMENT ON COLUMN minikafka.share_deliveries.delivery_count IS 'number of deliveries that count, with the present one';
COMMENT ON COLUMN minikafka.share_deliveries.locked_until IS 'end of the acquisition lock';
COMMENT ON COLUMN minikafka.share_deliveries.waiting_until IS 'time from which on it is handed out again; NULL: it need not wait, or no time is set';
COMMENT ON COLUMN minikafka.share_deliveries.error IS 'why the last delivery failed; of a parked key, where its dead letters are; NULL if none was told, or for a role that may only monitor the group';
COMMENT ON COLUMN minikafka.share_deliveries.receipt IS 'names the record as it is now, for acknowledge(): release hands it out again at once, or lets a parked key go on, accept skips it, reject is for ever; NULL for a role that may only monitor the group';
COMMENT ON COLUMN minikafka.share_deliveries.pid IS 'process id of the session that has it';
COMMENT ON COLUMN minikafka.share_deliveries.changed_at IS 'when its last delivery ended or its acquisition lock was taken; NULL for its first delivery';

CREATE VIEW minikafka.share_groups WITH (security_barrier) AS
SELECT g.group_id,
	s.ordering,
	s.max_deliveries,
	s.backoff,
	s.max_backoff,
	(SELECT c.relname::text
		FROM minikafka.topic t
		JOIN pg_catalog.pg_class c ON c.oid = t.rel
		WHERE t.topic_id = s.dead_letter_topic_id) AS dead_letter_topic,
	s.auto_offset_reset,
	ARRAY(SELECT c.relname::text
		FROM minikafka.share_topic r
		JOIN minikafka.topic t ON t.topic_id = r.topic_id
		JOIN pg_catalog.pg_class c ON c.oid = t.rel
		WHERE r.group_no = g.group_no
		ORDER BY r.priority) AS topics,
	s.max_in_flight,
	s.priority,
	COALESCE(s.on_exhausted, CASE WHEN s.dead_letter_topic_id IS NULL THEN 'block' ELSE 'dead_letter' END) AS on_exhausted,
	s.dead_letter_limit,
	s.paused,
	s.paused_why,
	CASE WHEN s.parks
		THEN (SELECT count(*) FROM minikafka.group_deliveries(g.group_id) d WHERE d.state = 'parked')
		ELSE 0 END AS parked_keys,
	g.owner::text AS owner
FROM minikafka.consumer_group g
JOIN minikafka.share_group s ON s.group_no = g.group_no
WHERE g.owner <> '' AND minikafka.group_is_visible(g.group_id);
COMMENT ON VIEW minikafka.share_groups IS 'Share groups that the role may use, and their options.';
COMMENT ON COLUMN minikafka.share_groups.group_id IS 'group name';
COMMENT ON COLUMN minikafka.share_groups.ordering IS 'key: records of a key are handed out in order; none: in any order';
COMMENT ON COLUMN minikafka.share_groups.max_deliveries IS 'number of deliveries after which a record is exhausted';
COMMENT ON COLUMN minikafka.share_groups.backoff IS 'time before the second delivery; doubles with each further one';
COMMENT ON COLUMN minikafka.share_groups.max_backoff IS 'maximum of that time';
COMMENT ON COLUMN minikafka.share_groups.dead_letter_topic IS 'topic for dead letters; NULL: none, or it was dropped';
COMMENT ON COLUMN minikafka.share_groups.auto_offset_reset IS 'where the group begins in a topic that is new to it: earliest or latest';
COMMENT ON COLUMN minikafka.share_groups.topics IS 'topic names, in the order of their priority';
COMMENT ON COLUMN minikafka.share_groups.max_in_flight IS 'number of keys of a partition, held or waiting, beyond which no further record is handed out';
COMMENT ON COLUMN minikafka.share_groups.priority IS 'fair: topics in turn; strict: in their order';
COMMENT ON COLUMN minikafka.share_groups.on_exhausted IS 'what becomes of an exhausted record: dead_letter, dead_letter_key, block or pause';
COMMENT ON COLUMN minikafka.share_groups.dead_letter_limit IS 'records of the dead-letter topic within an hour after which the group pauses; NULL: no limit';
COMMENT ON COLUMN minikafka.share_groups.paused IS 'whether the group hands out nothing';
COMMENT ON COLUMN minikafka.share_groups.paused_why IS 'why the group has paused by itself';
COMMENT ON COLUMN minikafka.share_groups.parked_keys IS 'number of keys whose records follow an earlier one to the dead-letter topic, in topics that the role may read';
COMMENT ON COLUMN minikafka.share_groups.owner IS 'role that owns the group';
