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
