--
-- What views show of a group and its members: the dead, what rebalanced it, what it
-- reads; and wrong names and numbers
--
SELECT minikafka.create_topic('told', 2), minikafka.create_topic('told.too', 1);
SELECT count(minikafka.send('told', 'v' || i, partition => i % 2)) FROM generate_series(0, 9) i;
CREATE FUNCTION pg_temp.state(g text) RETURNS TABLE (generation int, state text, members int, why text) LANGUAGE sql AS $$
	SELECT generation, state, members, rebalanced_why FROM minikafka.groups WHERE group_id = g
$$;

-- A member whose timeouts have passed is expired, before it is removed;
-- a group of only such members is Empty, and its partitions have no member
SELECT minikafka.join_group('g', '{told}', 'short', session_timeout => '10 s', max_poll_interval => '20 s');
SELECT minikafka.join_group('g', '{told, told.too}', 'long');
SELECT count(*) FROM minikafka.poll('g', 'short', 1);
CREATE FUNCTION pg_temp.members(g text) RETURNS TABLE (member text, topics text[], partitions int, expired boolean, session interval, poll interval) LANGUAGE sql AS $$
	SELECT member_id, topics, partitions, expired, session_timeout, max_poll_interval FROM minikafka.group_members WHERE group_id = g ORDER BY 1
$$;
SELECT * FROM pg_temp.state('g');
SELECT * FROM pg_temp.members('g');
SELECT topic, partition, lag, member_id FROM minikafka.lag('g');
SET minikafka.clock_offset = 11;
SELECT * FROM pg_temp.state('g');
SELECT * FROM pg_temp.members('g');
SELECT topic, partition, lag, member_id FROM minikafka.lag('g');
SET minikafka.clock_offset = 50;
SELECT * FROM pg_temp.state('g');
SELECT * FROM pg_temp.members('g');
SELECT topic, partition, lag, member_id FROM minikafka.consumer_lag WHERE group_id = 'g';
-- as Kafka's coordinator has it: it has no such member any more
SELECT minikafka.commit('g', 'long');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('g', 'told', 0, 1, member_id => 'long');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM pg_temp.members('g');
-- one that has polled in a transaction that is in progress is not, until the max
-- poll interval has passed
RESET minikafka.clock_offset;
BEGIN;
SELECT count(*) FROM minikafka.poll('g', 'short', 1);
SET LOCAL minikafka.clock_offset = 19;
SELECT member, expired FROM pg_temp.members('g');
SET LOCAL minikafka.clock_offset = 40;
SELECT member, expired FROM pg_temp.members('g');
COMMIT;
-- when they joined, as now
SELECT member_id, joined_at <= clock_timestamp() AS joined FROM minikafka.group_members WHERE group_id = 'g' ORDER BY 1;
SET minikafka.clock_offset = 3600;
SELECT minikafka.join_group('g', '{told}', 'short');
SELECT member_id, joined_at > clock_timestamp() AS again FROM minikafka.group_members WHERE group_id = 'g' ORDER BY 1;

-- Why a generation began
SELECT * FROM pg_temp.state('g');
BEGIN;
SELECT minikafka.join_group('g', '{told}', 'b'), minikafka.leave_group('g', 'short');
COMMIT;
SELECT * FROM pg_temp.state('g');
SELECT minikafka.add_partitions('told', 3);
SELECT minikafka.heartbeat('g', 'b');
SELECT * FROM pg_temp.state('g');
SET minikafka.clock_offset = 3700;
SELECT minikafka.join_group('g', '{told}', 'm' || i) FROM generate_series(1, 3) i;
SELECT * FROM pg_temp.state('g');
BEGIN;
SELECT minikafka.leave_group('g', 'm' || i) FROM generate_series(1, 3) i;
SELECT minikafka.join_group('g', '{told}', 'n' || i) FROM generate_series(1, 3) i;
COMMIT;
SELECT * FROM pg_temp.state('g');
-- joining again is no rebalance
SELECT minikafka.join_group('g', '{told}', 'n1');
SELECT * FROM pg_temp.state('g');
SELECT rebalanced_at BETWEEN clock_timestamp() + '3600 s' AND clock_timestamp() + '3700 s' AS just_now FROM minikafka.groups WHERE group_id = 'g';
RESET minikafka.clock_offset;

-- A group remembers what its last members read, also if it has committed nothing
SELECT minikafka.join_group('gone', '{told.too, told}', 'm');
SELECT minikafka.leave_group('gone', 'm');
SELECT topic, partition, end_offset, committed_offset, lag, member_id FROM minikafka.lag('gone');
SELECT * FROM minikafka.group_offsets WHERE group_id = 'gone';
SELECT minikafka.join_group('dead', '{told.too}', 'm');
SET minikafka.clock_offset = 60;
SELECT topic, partition, lag, member_id FROM minikafka.lag('dead');
SET client_min_messages = warning;
CALL minikafka.maintain();
RESET client_min_messages;
SET minikafka.clock_offset = 7200;
SELECT * FROM pg_temp.state('dead');
SELECT topic, partition, lag, member_id FROM minikafka.lag('dead');
RESET minikafka.clock_offset;
-- with members again, what those read
SELECT minikafka.join_group('gone', '{told.too}', 'n');
SELECT topic, partition, lag, member_id FROM minikafka.lag('gone');

-- A name that is wrong, or not there yet, is told, not refused
SELECT minikafka.join_group('typo', '{tolt, told.too, tolt}', 'm');
SELECT * FROM pg_temp.members('typo');
-- so is a member that has nothing to read
SELECT minikafka.join_group('typo', '{told.too}', 'n');
BEGIN;
SELECT minikafka.join_group('typo', '{told.too}', 'o');
SELECT minikafka.leave_group('typo', 'm');
SELECT minikafka.leave_group('typo', 'n');
COMMIT;
SELECT minikafka.join_group('typo', '{tolt}', 'p');
-- and a retention that is meant otherwise
SELECT minikafka.create_topic('brief', 1, retention => '7');
SELECT minikafka.set_topic_option('brief', 'retention', '59.5');
SELECT minikafka.set_topic_option('brief', 'retention', '60');
SELECT minikafka.set_topic_option('brief', 'retention', '1 minute');

-- no group stays for other tests, nor its generation
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
