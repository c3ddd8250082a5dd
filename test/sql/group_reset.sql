--
-- Where a group begins: reset policies, reset_offsets(); and its end,
-- delete_group()
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('begun', 2);
SELECT count(minikafka.send('begun', 'v' || i, partition => i % 2)) FROM generate_series(0, 9) i;
-- What a poll returns, in short
CREATE FUNCTION pg_temp.poll(g text, m text) RETURNS TABLE (read text) LANGUAGE sql AS $$
	SELECT topic || '/' || partition || ': ' || string_agg("offset"::text, ' ' ORDER BY "offset")
	FROM minikafka.poll(g, m) GROUP BY topic, partition ORDER BY topic COLLATE "C", partition
$$;
CREATE FUNCTION pg_temp.committed(g text) RETURNS TABLE (topic text, partition int, "offset" bigint) LANGUAGE sql AS $$
	SELECT topic, partition, "offset" FROM minikafka.group_offsets WHERE group_id = g
	ORDER BY topic COLLATE "C", partition
$$;

-- earliest, which is the default: from the log start
SELECT minikafka.delete_records('begun', 1, 2);
SELECT minikafka.join_group('default', '{begun}', 'm'),
	minikafka.join_group('earliest', '{begun}', 'm', auto_offset_reset => 'earliest');
SELECT * FROM pg_temp.poll('default', 'm');
SELECT * FROM pg_temp.poll('earliest', 'm');
SELECT * FROM pg_temp.committed('earliest');
-- latest: from the end, as it is when the member joins; that is committed
SELECT minikafka.join_group('latest', '{begun}', 'm', auto_offset_reset => 'latest');
SELECT * FROM pg_temp.committed('latest');
SELECT count(minikafka.send('begun', 'w', partition => p)) FROM generate_series(0, 1) p;
SELECT * FROM pg_temp.poll('latest', 'm');
SELECT * FROM minikafka.commit('latest', 'm') ORDER BY 2;
-- only where nothing is committed
SELECT minikafka.commit_offset('latest too', 'begun', 0, 3);
SELECT minikafka.join_group('latest too', '{begun}', 'm', auto_offset_reset => 'latest');
SELECT * FROM pg_temp.committed('latest too');
SELECT * FROM pg_temp.poll('latest too', 'm');
-- partitions and topics made after the join are read from their start
SET client_min_messages = warning;
SELECT minikafka.add_partitions('begun', 3);
RESET client_min_messages;
SELECT minikafka.send('begun', 'first', partition => 2);
SELECT * FROM pg_temp.poll('latest', 'm');
SELECT * FROM pg_temp.poll('latest', 'm');
SELECT minikafka.join_group('latest later', '{begun, begun.later}', 'm', auto_offset_reset => 'latest');
SELECT * FROM pg_temp.committed('latest later');
SELECT minikafka.create_topic('begun.later', 1);
SELECT minikafka.send('begun.later', 'first');
SELECT * FROM pg_temp.poll('latest later', 'm');
SELECT * FROM pg_temp.poll('latest later', 'm');
-- one that comes to others has nothing committed for it: it reads what they have
-- not read
SELECT minikafka.join_group('latest last', '{begun}', 'm');
SELECT minikafka.join_group('latest last', '{begun}', 'n', auto_offset_reset => 'latest');
SELECT count(*) > 0 AS read FROM minikafka.poll('latest last', 'm');
SELECT * FROM pg_temp.committed('latest last');
SELECT count(*) > 0 AS read FROM minikafka.poll('latest last', 'n');
-- a second member does not change where the others begin, nor does it lose what
-- is not committed yet
SELECT minikafka.join_group('latest later', '{begun, begun.later}', 'n', auto_offset_reset => 'latest');
SELECT count(*) FROM minikafka.poll('latest later', 'm');
SELECT count(*) FROM minikafka.poll('latest later', 'n');
SELECT * FROM pg_temp.committed('latest later');
-- but a topic that it brings
SELECT minikafka.create_topic('begun.too', 1);
SELECT minikafka.send('begun.too', 'v');
SELECT minikafka.join_group('latest later', '{begun, begun.too}', 'n', auto_offset_reset => 'latest');
SELECT * FROM pg_temp.committed('latest later') WHERE topic = 'begun.too';
-- the transaction's own records are not read either
BEGIN;
SELECT minikafka.send('begun', 'own', partition => 0);
SELECT minikafka.join_group('latest own', '{begun}', 'm', auto_offset_reset => 'latest');
COMMIT;
SELECT * FROM pg_temp.committed('latest own');
SELECT * FROM pg_temp.poll('latest own', 'm');
-- Kafka case O25: none: an error, until a call says where
SELECT minikafka.join_group('none', '{begun}', 'm', auto_offset_reset => 'none');
SELECT * FROM pg_temp.committed('none');
SELECT * FROM pg_temp.poll('none', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('none', 'm', 'begun', 0, 4);
SELECT minikafka.seek('none', 'm', 'begun', 1, 5);
UPDATE minikafka.group_progress SET position = 100 WHERE position = 5;
SELECT minikafka.seek('none', 'm', 'begun', 2, 1);
SELECT * FROM pg_temp.poll('none', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('none', 'm', 'begun', 1, 1);
SELECT * FROM pg_temp.poll('none', 'm');
SELECT minikafka.commit_offset('none', 'begun', 1, 4, member_id => 'm');
SELECT minikafka.seek('none', 'm', 'begun', 1, 4);
SELECT * FROM pg_temp.poll('none', 'm');
SELECT * FROM minikafka.commit('none', 'm') ORDER BY 2;
SELECT minikafka.leave_group('none', 'm');
-- with committed offsets it does not matter
SELECT minikafka.join_group('none', '{begun}', 'm', auto_offset_reset => 'none');
SELECT minikafka.send('begun', 'x', partition => 2);
SELECT * FROM pg_temp.poll('none', 'm');

-- A position, or a committed offset, outside the log falls to the policy
-- D13: 5 records, 2 committed, all 5 deleted, 1 new
SELECT minikafka.create_topic('lost', 1);
SELECT count(minikafka.send('lost', i::text)) FROM generate_series(0, 4) i;
SELECT minikafka.commit_offset(g, 'lost', 0, 2) FROM unnest('{"lost earliest", "lost latest", "lost none"}'::text[]) g;
SELECT minikafka.join_group('lost open', '{lost}', 'm');
SELECT count(*) FROM minikafka.poll('lost open', 'm', 2);
SELECT minikafka.delete_records('lost', 0, -1);
SELECT minikafka.send('lost', '5');
SELECT minikafka.join_group('lost earliest', '{lost}', 'm'),
	minikafka.join_group('lost latest', '{lost}', 'm', auto_offset_reset => 'latest'),
	minikafka.join_group('lost none', '{lost}', 'm', auto_offset_reset => 'none');
SELECT * FROM pg_temp.poll('lost earliest', 'm');
SELECT * FROM pg_temp.poll('lost latest', 'm');
SELECT * FROM pg_temp.poll('lost none', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pg_temp.poll('lost none', 'm');
SELECT * FROM pg_temp.poll('lost open', 'm');
SELECT minikafka.send('lost', '6');
SELECT * FROM pg_temp.poll('lost earliest', 'm');
SELECT * FROM pg_temp.poll('lost latest', 'm');
SELECT g, c.* FROM unnest('{"lost earliest", "lost latest"}'::text[]) g CROSS JOIN LATERAL minikafka.commit(g, 'm') c;
-- Kafka case O26: beyond the end, which has gone back: to the start, or to the
-- end; 10 records
SELECT minikafka.create_topic('ten', 1);
SELECT count(minikafka.send('ten', i::text)) FROM generate_series(0, 9) i;
SELECT minikafka.join_group('ten earliest', '{ten}', 'm'),
	minikafka.join_group('ten latest', '{ten}', 'm', auto_offset_reset => 'latest'),
	minikafka.join_group('ten none', '{ten}', 'm', auto_offset_reset => 'none');
SELECT minikafka.seek('ten earliest', 'm', 'ten', 0, 11);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('ten earliest', 'm', 'ten', 0, 10), minikafka.seek('ten latest', 'm', 'ten', 0, 9),
	minikafka.seek('ten none', 'm', 'ten', 0, 9);
UPDATE minikafka.group_progress SET position = CASE position WHEN 10 THEN 11 ELSE 27 END
WHERE topic_id = (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.ten'::regclass) AND position IN (9, 10);
SELECT * FROM pg_temp.poll('ten earliest', 'm');
SELECT * FROM pg_temp.poll('ten latest', 'm');
SELECT * FROM pg_temp.poll('ten none', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('ten', '10');
SELECT * FROM pg_temp.poll('ten latest', 'm');
SELECT minikafka.seek('ten latest', 'm', 'ten', 0, 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('ten latest', 'm', 'ten', 0, 7);
UPDATE minikafka.group_progress SET position = 9223372036854775807
WHERE topic_id = (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.ten'::regclass) AND position = 7;
SELECT * FROM pg_temp.poll('ten latest', 'm');
SELECT * FROM minikafka.commit('ten latest', 'm');

-- reset_offsets(): a group without members
SELECT minikafka.create_topic('set', 2);
SET minikafka.clock_offset = -7200;
SELECT count(minikafka.send('set', i::text, partition => i % 2)) FROM generate_series(0, 9) i;
SET minikafka.clock_offset = -3600;
SELECT count(minikafka.send('set', i::text, partition => i % 2)) FROM generate_series(10, 19) i;
RESET minikafka.clock_offset;
SELECT minikafka.delete_records('set', 1, 3);
SELECT minikafka.reset_offsets('no such group', 'set', 'earliest');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('resets', 'set', 0, 6);
CREATE TABLE targets (no serial, target text);
INSERT INTO targets (target) VALUES ('earliest'), ('latest'), ('offset:5'), ('offset:0'), ('offset:10'), ('offset:11'),
	('shift:-2'), ('shift:2'), ('shift:+2'), ('shift:-100'), ('shift:100'), ('shift:0'),
	('time:' || now() - interval '3 h'), ('time:' || now() - interval '90 min'), ('time:' || now()), ('time:-infinity'), ('time:infinity');
CREATE FUNCTION pg_temp.reset(target text, OUT offsets text) LANGUAGE plpgsql AS $$
BEGIN
	offsets := string_agg("offset"::text, ' ' ORDER BY partition) FROM minikafka.reset_offsets('resets', 'set', target);
	RAISE EXCEPTION 'rolled back';
EXCEPTION WHEN raise_exception THEN
	NULL;
END $$;
SELECT no, CASE WHEN no NOT BETWEEN 13 AND 15 THEN target END AS target, pg_temp.reset(target) FROM targets ORDER BY no;
SELECT * FROM pg_temp.committed('resets');
-- with the transaction; and shown by it
BEGIN;
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'offset:5');
SELECT minikafka.committed('resets', 'set', 0);
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'shift:1');
ROLLBACK;
SELECT * FROM pg_temp.committed('resets');
BEGIN;
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'offset:5');
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'shift:1');
COMMIT;
SELECT * FROM pg_temp.committed('resets');
-- the next member begins there
SELECT minikafka.join_group('resets', '{set}', 'm');
SELECT * FROM pg_temp.poll('resets', 'm');
-- not while there are members: stopped, or dead
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'earliest');
\echo :LAST_ERROR_SQLSTATE
SET minikafka.clock_offset = 46;
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'earliest');
RESET minikafka.clock_offset;
SELECT state, generation FROM minikafka.groups WHERE group_id = 'resets';
SELECT minikafka.join_group('resets', '{set}', 'm');
SELECT * FROM minikafka.commit('resets', 'm');
SELECT minikafka.leave_group('resets', 'm');
SELECT * FROM minikafka.reset_offsets('resets', 'set', 'latest');
-- a topic that it has never read, too
SELECT * FROM minikafka.reset_offsets('resets', 'ten', 'offset:3');
SELECT * FROM pg_temp.committed('resets');
DROP TABLE targets;

-- Kafka case G38: delete_group(): one without members; MK068, 42704
SELECT minikafka.delete_group('no such group');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.delete_group('');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.join_group('resets', '{set}', 'm', assignor => 'range', protocol => 'eager');
SELECT generation FROM minikafka.groups WHERE group_id = 'resets';
SELECT minikafka.delete_group('resets');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.leave_group('resets', 'm');
BEGIN;
SELECT minikafka.delete_group('resets');
SELECT state FROM minikafka.groups WHERE group_id = 'resets';
ROLLBACK;
SELECT state FROM minikafka.groups WHERE group_id = 'resets';
SELECT minikafka.delete_group('resets');
-- nothing of it is left
SELECT count(*) FROM minikafka.groups WHERE group_id = 'resets';
SELECT count(*) FROM minikafka.group_offsets WHERE group_id = 'resets';
SELECT count(*) FROM minikafka.consumer_lag WHERE group_id = 'resets';
SELECT minikafka.committed('resets', 'set', 0);
SELECT minikafka.lag('resets');
SELECT minikafka.heartbeat('resets', 'm');
SELECT minikafka.delete_group('resets');
\echo :LAST_ERROR_SQLSTATE
-- made again it is another: no offsets, other settings; but its generation goes
-- on, so that no earlier member can commit
SELECT minikafka.join_group('resets', '{set}', 'm');
SELECT generation, assignor, protocol FROM minikafka.groups WHERE group_id = 'resets';
SELECT minikafka.committed('resets', 'set', 0);
SELECT * FROM pg_temp.poll('resets', 'm');
-- a member that is dead does not keep it
SET minikafka.clock_offset = 46;
SELECT minikafka.delete_group('resets');
RESET minikafka.clock_offset;
SELECT count(*) FROM minikafka.groups WHERE group_id = 'resets';
SELECT minikafka.commit_offset('resets', 'set', 0, 1);
SELECT generation FROM minikafka.groups WHERE group_id = 'resets';
-- not in a transaction that has used it; and it is not used after it
BEGIN;
SELECT minikafka.commit_offset('resets', 'set', 0, 2);
SELECT minikafka.delete_group('resets');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
SELECT minikafka.delete_group('resets');
SAVEPOINT s;
SELECT minikafka.commit_offset('resets', 'set', 0, 2);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
SELECT minikafka.join_group('resets', '{set}', 'm');
ROLLBACK TO s;
SELECT minikafka.delete_group('resets');
ROLLBACK;
-- a savepoint that was rolled back has not used it
BEGIN;
SAVEPOINT s;
SELECT minikafka.commit_offset('resets', 'set', 0, 2);
ROLLBACK TO s;
SELECT minikafka.delete_group('resets');
COMMIT;
SELECT count(*) FROM minikafka.groups WHERE group_id = 'resets';
SELECT count(*) FROM minikafka.group_progress WHERE group_no NOT IN (SELECT group_no FROM minikafka.consumer_group WHERE owner <> '');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
