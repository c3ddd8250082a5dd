--
-- Static members: they come back under their instance id without a rebalance
--
SELECT minikafka.create_topic('static', 4), minikafka.create_topic('static.too', 1);
SELECT count(minikafka.send('static', 'v' || i, partition => i % 4)) FROM generate_series(0, 7) i;
CREATE FUNCTION pg_temp.assigned(g text) RETURNS TABLE (instance text, member text, partitions text) LANGUAGE sql AS $$
	SELECT m.instance_id, m.member_id, string_agg(a.topic || '/' || a.partition, ' ' ORDER BY a.topic COLLATE "C", a.partition)
	FROM minikafka.group_members m
	LEFT JOIN LATERAL minikafka.assignment(g, m.member_id) a ON NOT a.revoking
	WHERE m.group_id = g
	GROUP BY 1, 2 ORDER BY m.instance_id COLLATE "C", m.member_id COLLATE "C"
$$;

-- Kafka case G22: five times without a member id: five member ids, no rebalance
SELECT minikafka.join_group('g', '{static}', 'other');
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id0 \gset
SELECT minikafka.heartbeat('g', 'other') AS generation \gset
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT count(*) FROM minikafka.commit('g', 'other');
SELECT partitions FROM pg_temp.assigned('g');
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id1 \gset
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id2 \gset
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id3 \gset
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id4 \gset
SELECT minikafka.join_group('g', '{static}', instance_id => 'i1') AS id5 \gset
SELECT count(DISTINCT id) FROM unnest(ARRAY[:'id0', :'id1', :'id2', :'id3', :'id4', :'id5']) id;
SELECT minikafka.heartbeat('g', 'other') - :generation AS rebalances, minikafka.heartbeat('g', :'id5') - :generation AS rebalances;
SELECT partitions FROM pg_temp.assigned('g');
SELECT members, state FROM minikafka.groups WHERE group_id = 'g';
-- Kafka case G23: the member ids before are fenced
\set VERBOSITY sqlstate
SELECT minikafka.heartbeat('g', :'id4');
SELECT minikafka.poll('g', :'id4');
SELECT minikafka.commit('g', :'id0');
SELECT minikafka.commit_offset('g', 'static', 0, 1, member_id => :'id0');
SELECT minikafka.assignment('g', :'id3');
SELECT minikafka.seek('g', :'id3', 'static', 0, 1);
SELECT minikafka.pause('g', :'id3', 'static', 0);
SELECT minikafka.leave_group('g', :'id3');
CALL minikafka.wait_for_records('g', :'id3', '0');
\set VERBOSITY default
SELECT minikafka.leave_group('g', :'id5');

-- with member ids of its own
SELECT minikafka.join_group('g', '{static}', 'a', 'i1');
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.heartbeat('g', 'other') AS generation \gset
SELECT minikafka.join_group('g', '{static}', 'a', 'i1');
SELECT minikafka.join_group('g', '{static}', 'b', 'i1');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.heartbeat('g', 'b') - :generation AS rebalances;
SELECT minikafka.heartbeat('g', 'a');
\echo :LAST_ERROR_SQLSTATE
-- Kafka case G25: a fenced member id does not come back, under that instance id
SELECT minikafka.join_group('g', '{static}', 'a', 'i1');
\echo :LAST_ERROR_SQLSTATE
-- nor does another member's, as long as it is one
SELECT minikafka.join_group('g', '{static}', 'other', 'i1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pg_temp.assigned('g');
-- but under another instance id, or none
SELECT minikafka.join_group('g', '{static}', 'a', 'i2');
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT count(*) FROM minikafka.poll('g', 'b');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.leave_group('g', 'a');
SELECT minikafka.join_group('g', '{static}', 'a');
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT count(*) FROM minikafka.poll('g', 'b');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.leave_group('g', 'a');
-- found at COMMIT as well: of two in one transaction the second fences the first
BEGIN;
SELECT minikafka.join_group('g', '{static}', 'x', 'i3');
SELECT minikafka.join_group('g', '{static}', 'y', 'i3');
COMMIT;
SELECT minikafka.heartbeat('g', 'x');
SELECT minikafka.leave_group('g', 'y');
BEGIN;
SELECT minikafka.join_group('g', '{static}', 'b', 'i1');
SELECT minikafka.join_group('g', '{static}', 'c', 'i1');
SELECT minikafka.join_group('g', '{static}', 'b', 'i1');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pg_temp.assigned('g');

-- It comes back where it was, at the committed offsets
SELECT minikafka.seek('g', 'b', 'static', 2, 0), minikafka.seek('g', 'b', 'static', 3, 0);
SELECT partition, "offset" FROM minikafka.poll('g', 'b', 1);
SELECT partition, "offset" FROM minikafka.commit('g', 'b');
SELECT count(*) FROM minikafka.poll('g', 'b', 10);
SELECT minikafka.join_group('g', '{static}', 'c', 'i1');
SELECT partition, "offset" FROM minikafka.poll('g', 'c', 10) ORDER BY 1, 2;
-- also when it was gone for a while, as long as its timeouts allow
SET minikafka.clock_offset = 40;
SELECT minikafka.heartbeat('g', 'other') AS generation \gset
SELECT minikafka.join_group('g', '{static}', 'd', 'i1');
SELECT minikafka.heartbeat('g', 'd') - :generation AS rebalances;
-- afterwards it is a new member
SET minikafka.clock_offset = 80;
SELECT minikafka.heartbeat('g', 'other');
SET minikafka.clock_offset = 86;
SELECT minikafka.heartbeat('g', 'other');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.join_group('g', '{static}', 'e', 'i1');
SELECT minikafka.heartbeat('g', 'e') - :generation AS rebalances;
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.heartbeat('g', 'd');
\echo :LAST_ERROR_SQLSTATE
RESET minikafka.clock_offset;

-- Kafka case G28: other topics are a rebalance
SELECT minikafka.heartbeat('g', 'e') AS generation \gset
SELECT minikafka.join_group('g', '{static, static.too}', 'e', 'i1');
SELECT minikafka.heartbeat('g', 'e') - :generation AS rebalances;
SELECT count(*) FROM minikafka.poll('g', 'other');
SELECT * FROM pg_temp.assigned('g');
SELECT minikafka.join_group('g', '{static, static.too}', instance_id => 'i1') AS id \gset
SELECT minikafka.heartbeat('g', 'e');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.heartbeat('g', :'id') - :generation AS rebalances;
-- an instance id that comes, or goes, too
SELECT minikafka.join_group('g', '{static}', 'other', 'i2');
SELECT minikafka.heartbeat('g', 'other') - :generation AS rebalances;
SELECT minikafka.join_group('g', '{static}', 'other');
SELECT minikafka.heartbeat('g', 'other') - :generation AS rebalances;
SELECT instance_id FROM minikafka.group_members WHERE member_id = 'other';
-- leaving is leaving, for a static member too
-- Kafka case G26: each of several leaves for itself
SELECT minikafka.leave_group('g', :'id');
SELECT minikafka.heartbeat('g', 'other') - :generation AS rebalances;
SELECT minikafka.leave_group('g', m) FROM unnest('{other, unknown}'::text[]) m;
\echo :LAST_ERROR_SQLSTATE
SELECT members FROM minikafka.groups WHERE group_id = 'g';
SELECT minikafka.leave_group('g', 'other');

-- Members and partitions in the order of instance ids, so that the member ids
-- do not matter; dynamic members come last
SELECT minikafka.join_group('ordered', '{static}', 'a', assignor => 'range', protocol => 'eager'),
	minikafka.join_group('ordered', '{static}', 'z', 'i1'), minikafka.join_group('ordered', '{static}', 'y', 'i2');
SELECT * FROM pg_temp.assigned('ordered');
SELECT minikafka.heartbeat('ordered', 'a') AS generation \gset
-- eager: no rebalance either, and the others go on
BEGIN;
SELECT count(*) FROM minikafka.poll('ordered', 'a');
SELECT minikafka.join_group('ordered', '{static}', 'b', 'i2');
SELECT partition, "offset" FROM minikafka.commit('ordered', 'a');
COMMIT;
SELECT minikafka.heartbeat('ordered', 'a') - :generation AS rebalances;
SELECT * FROM pg_temp.assigned('ordered');
SELECT partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'ordered';

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
