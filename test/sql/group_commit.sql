--
-- commit(), commit_offset() with a member and a generation, committed(), lag()
--
SELECT minikafka.create_topic('done', 3), minikafka.create_topic('done.too', 1);
SELECT count(minikafka.send('done', 'v' || i, partition => i % 3)) FROM generate_series(0, 29) i;

-- commit() covers what was polled under this assignment, nothing more
SELECT minikafka.join_group('g', '{done}', 'm');
SELECT * FROM minikafka.commit('g', 'm');
SELECT partition, "offset" FROM minikafka.poll('g', 'm', 12);
SELECT count(minikafka.send('done', 'w', partition => p)) FROM generate_series(0, 2) p;
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
SELECT p, minikafka.committed('g', 'done', p) FROM generate_series(0, 2) p;
-- once more changes nothing, and writes nothing
SELECT count(*) AS rows FROM minikafka.group_progress \gset
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
SELECT count(*) - :rows AS more FROM minikafka.group_progress;
-- it shows which role did it, and when
SELECT partition, "offset", metadata, committed_at <= now() AS committed_at, member_id, generation
FROM minikafka.group_offsets WHERE group_id = 'g' ORDER BY 1;
-- in the transaction that polls, and later
BEGIN;
SELECT count(*) FROM minikafka.poll('g', 'm', 2);
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
SELECT count(*) FROM minikafka.poll('g', 'm', 2);
COMMIT;
SELECT p, minikafka.committed('g', 'done', p) FROM generate_series(0, 2) p;
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
-- Kafka case O14: with the transaction, or not at all
-- Kafka case O13: meanwhile others see the old value
BEGIN;
SELECT count(*) FROM minikafka.poll('g', 'm', 2);
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
SELECT minikafka.committed('g', 'done', 1), minikafka.committed('g', 'done', 2);
SELECT "offset" FROM minikafka.group_offsets WHERE group_id = 'g' AND partition = 1;
ROLLBACK;
SELECT minikafka.committed('g', 'done', 1);
-- what was polled and rolled back is not committed by the next
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
-- after a seek back, that; beyond the end there is nothing to seek, and nothing
-- is committed where the end has gone back since
SELECT minikafka.seek('g', 'm', 'done', 2, 12);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('g', 'm', 'done', 2, -1);
SELECT minikafka.seek('g', 'm', 'done', 0, 1), minikafka.seek('g', 'm', 'done', 1, 11), minikafka.seek('g', 'm', 'done', 2, 11);
UPDATE minikafka.group_progress SET position = 12 WHERE partition = 2 AND position = 11;
SELECT * FROM minikafka.commit('g', 'm') ORDER BY 2;
SELECT minikafka.leave_group('g', 'm');

-- Kafka cases O01, O16: a generation of a group that there is not
SELECT minikafka.commit_offset('unknown', 'done', 0, 5, generation => 10);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('unknown', 'done', 0, 5, member_id => 'm', generation => 10);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('unknown', 'done', 0, 5, member_id => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.groups WHERE group_id = 'unknown';
-- Kafka case O02: without one, a plain consumer makes the group
SELECT minikafka.commit_offset('plain', 'done', 0, 5);
SELECT group_id, generation, state, assignor, protocol, members FROM minikafka.groups WHERE group_id = 'plain';
SELECT partition, "offset", member_id, generation FROM minikafka.group_offsets WHERE group_id = 'plain';
-- Kafka case O08: nothing is committed: NULL, of a group that there is not too
SELECT minikafka.committed('plain', 'done', 1), minikafka.committed('no such group', 'done', 0);
-- Kafka case O11: of several the last counts
BEGIN;
SELECT count(minikafka.commit_offset('plain', 'done', 0, i)) FROM generate_series(1, 5) i;
COMMIT;
SELECT minikafka.committed('plain', 'done', 0);
SELECT count(*) FROM (SELECT minikafka.commit_offset('plain', 'done', 0, i) FROM generate_series(5, 1, -1) i) t;
SELECT minikafka.committed('plain', 'done', 0);
-- Kafka case O28: outside [0, end] is refused
SELECT minikafka.commit_offset('plain', 'done', 0, 12);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'done', 0, -1);

-- Kafka case O04: a group with members: only they, of their generation
SELECT minikafka.join_group('live', '{done}', 'a'), minikafka.join_group('live', '{done}', 'b');
SELECT * FROM minikafka.assignment('live', 'a') ORDER BY 2;
SELECT minikafka.commit_offset('live', 'done', 0, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 1, generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 1, member_id => 'a', generation => 2);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 1, member_id => 'a', generation => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 1, member_id => 'c', generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 12, member_id => 'a', generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done.too', 0, 0, member_id => 'a', generation => 1);
\echo :LAST_ERROR_SQLSTATE
-- of what the member has
SELECT minikafka.commit_offset('live', 'done', 1, 1, member_id => 'a', generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('live', 'done', 0, 1, member_id => 'a', generation => 1),
	minikafka.commit_offset('live', 'done', 1, 2, member_id => 'b');
SELECT partition, "offset", member_id, generation FROM minikafka.group_offsets WHERE group_id = 'live' ORDER BY 1;
-- Kafka case O16: in a transaction that has polled, too
BEGIN;
SELECT count(*) FROM minikafka.poll('live', 'a', 1);
SELECT minikafka.commit_offset('live', 'done', 2, 1, member_id => 'a', generation => 9);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- it moves the committed offset, not the position; back, too
SELECT partition, "offset" FROM minikafka.poll('live', 'b', 1);
SELECT minikafka.commit_offset('live', 'done', 1, 10, member_id => 'b');
SELECT partition, "offset" FROM minikafka.poll('live', 'b', 1);
SELECT minikafka.commit_offset('live', 'done', 1, 0, member_id => 'b');
SELECT minikafka.committed('live', 'done', 1);
SELECT * FROM minikafka.commit('live', 'b');
-- both in one transaction: the last counts
BEGIN;
SELECT partition, "offset" FROM minikafka.poll('live', 'b', 1);
SELECT * FROM minikafka.commit('live', 'b');
SELECT minikafka.commit_offset('live', 'done', 1, 8, 'a note', 'b');
COMMIT;
SELECT "offset", metadata FROM minikafka.group_offsets WHERE group_id = 'live' AND partition = 1;
BEGIN;
SELECT minikafka.commit_offset('live', 'done', 1, 8, 'another', 'b');
SELECT * FROM minikafka.commit('live', 'b');
COMMIT;
SELECT "offset", metadata FROM minikafka.group_offsets WHERE group_id = 'live' AND partition = 1;
-- where nothing was committed yet, from there
SELECT minikafka.create_topic('done.new', 1);
SELECT count(minikafka.send('done.new', 'v')) FROM generate_series(1, 3);
SELECT minikafka.join_group('new', '{done.new}', 'm');
SELECT minikafka.commit_offset('new', 'done.new', 0, 2, member_id => 'm');
SELECT "offset" FROM minikafka.poll('new', 'm');

-- Kafka case O07: metadata, up to 4096 bytes; too much is an error of that call
SELECT minikafka.commit_offset('live', 'done', 1, 9, repeat('m', 4096), 'b');
SELECT length(metadata) FROM minikafka.group_offsets WHERE group_id = 'live' AND partition = 1;
BEGIN;
SELECT minikafka.commit_offset('live', 'done', 2, 1, 'small', 'a');
SAVEPOINT s;
SELECT minikafka.commit_offset('live', 'done', 0, 1, repeat(E'\u00e9', 2049), 'a');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
COMMIT;
SELECT partition, metadata FROM minikafka.group_offsets WHERE group_id = 'live' AND member_id = 'a' ORDER BY 1;
-- commit() has none
SELECT count(*) FROM minikafka.poll('live', 'a');
SELECT * FROM minikafka.commit('live', 'a') ORDER BY 2;
SELECT partition, metadata FROM minikafka.group_offsets WHERE group_id = 'live' AND member_id = 'a' ORDER BY 1;

-- A plain consumer whose group gets members before it commits
BEGIN;
SELECT minikafka.commit_offset('plain', 'done', 0, 5);
SELECT minikafka.join_group('plain', '{done}', 'm');
COMMIT;
SELECT partition, "offset", member_id FROM minikafka.group_offsets WHERE group_id = 'plain';
-- the member begins there
SELECT partition, min("offset") FROM minikafka.poll('plain', 'm') GROUP BY 1 ORDER BY 1;
SELECT minikafka.commit_offset('plain', 'done', 0, 5);
\echo :LAST_ERROR_SQLSTATE
-- when it is gone, a plain consumer may again; of the generation there is
SET minikafka.clock_offset = 46;
SELECT minikafka.commit_offset('plain', 'done', 0, 6);
RESET minikafka.clock_offset;
SELECT generation, state FROM minikafka.groups WHERE group_id = 'plain';
SELECT minikafka.commit_offset('plain', 'done', 0, 7, generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'done', 0, 7, generation => 2);
SELECT partition, "offset", member_id, generation FROM minikafka.group_offsets WHERE group_id = 'plain' ORDER BY 1;

-- A member that leaves in the transaction that commits: that is committed
SELECT minikafka.join_group('leaver', '{done}', 'm');
BEGIN;
SELECT count(*) FROM minikafka.poll('leaver', 'm', 5);
SELECT * FROM minikafka.commit('leaver', 'm');
SELECT minikafka.leave_group('leaver', 'm');
COMMIT;
SELECT minikafka.committed('leaver', 'done', 0);
SELECT state, generation FROM minikafka.groups WHERE group_id = 'leaver';
-- one that has left does not commit
SELECT minikafka.commit('leaver', 'm');
\echo :LAST_ERROR_SQLSTATE

-- Lag: end - committed, by partition, with the member that has it
-- D06
SELECT minikafka.join_group('lag', '{done}', 'a', assignor => 'range'), minikafka.join_group('lag', '{done}', 'b');
SELECT partition, log_start_offset, end_offset, committed_offset, lag, time_lag > '0' AS behind, member_id
FROM minikafka.lag('lag') ORDER BY 1;
SELECT count(*) FROM minikafka.poll('lag', 'a');
SELECT partition, committed_offset, lag, time_lag > '0' AS behind FROM minikafka.lag('lag') ORDER BY 1;
BEGIN;
SELECT count(*) FROM minikafka.commit('lag', 'a');
SELECT partition, committed_offset, lag, time_lag > '0' AS behind FROM minikafka.lag('lag') ORDER BY 1;
COMMIT;
SELECT partition, committed_offset, lag, time_lag, member_id FROM minikafka.lag('lag') WHERE lag = 0 ORDER BY 1;
SELECT minikafka.leave_group('lag', 'b');
SELECT partition, committed_offset, lag, member_id FROM minikafka.lag('lag') ORDER BY 1;
SELECT minikafka.leave_group('lag', 'a');
SELECT partition, lag, member_id FROM minikafka.lag('lag', 'done') ORDER BY 1;
-- D14: of what retention has removed nothing is unread
SELECT minikafka.create_topic('kept', 1);
SELECT count(minikafka.send('kept', i::text)) FROM generate_series(0, 4) i;
SELECT minikafka.commit_offset('kept', 'kept', 0, 2);
SELECT minikafka.delete_records('kept', 0, -1);
SELECT minikafka.send('kept', '5');
SELECT log_start_offset, end_offset, committed_offset, lag FROM minikafka.lag('kept');
-- a topic that the group subscribes to and has nothing committed in; one that is
-- no topic yet
SELECT minikafka.join_group('subscribed', '{done.too, later}', 'm');
SELECT * FROM minikafka.lag('subscribed');
SELECT * FROM minikafka.lag('subscribed', 'later');
\echo :LAST_ERROR_SQLSTATE

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
