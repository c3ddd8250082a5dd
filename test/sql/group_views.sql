--
-- What the views show of groups
--
SELECT minikafka.create_topic('seen', 3), minikafka.create_topic('seen.too', 1);
SELECT count(minikafka.send('seen', 'v' || i, partition => i % 3)) FROM generate_series(0, 29) i;
SELECT * FROM minikafka.groups;
SELECT * FROM minikafka.group_members;
SELECT * FROM minikafka.group_offsets;
SELECT * FROM minikafka.consumer_lag;

-- groups: Empty, before there was a member and after it has left; Stable;
-- Reconciling as long as a partition is still to move
SELECT minikafka.commit_offset('g', 'seen', 0, 4, 'so far');
SELECT group_id, generation, state, assignor, protocol, members, owner = current_user AS mine FROM minikafka.groups;
SELECT minikafka.join_group('g', '{seen.too, seen}', 'a', 'i', assignor => 'range');
SELECT group_id, generation, state, assignor, protocol, members FROM minikafka.groups;
SELECT minikafka.join_group('g', '{seen}', 'b');
SELECT group_id, generation, state, assignor, protocol, members FROM minikafka.groups;
SELECT group_id, member_id, instance_id, topics, partitions, in_transaction FROM minikafka.group_members ORDER BY member_id;
SELECT count(*) FROM minikafka.poll('g', 'a', 1);
SELECT group_id, generation, state, assignor, protocol, members FROM minikafka.groups;
SELECT group_id, member_id, instance_id, topics, partitions, in_transaction FROM minikafka.group_members ORDER BY member_id;
-- nothing of a transaction's own before it commits
BEGIN;
SELECT minikafka.join_group('h', '{seen}', 'c', protocol => 'eager');
SELECT minikafka.leave_group('g', 'b');
SELECT group_id, members FROM minikafka.groups;
COMMIT;
SELECT group_id, generation, state, assignor, protocol, members FROM minikafka.groups ORDER BY 1;

-- group_members: when they were heard of, when they polled; whether a
-- transaction that has polled is in progress
SELECT group_id, member_id, last_seen = last_poll AS by_a_poll FROM minikafka.group_members ORDER BY 1, 2;
SET minikafka.clock_offset = 20;
SELECT minikafka.heartbeat('h', 'c');
SELECT group_id, member_id, last_seen - last_poll > '15 s' AS heard_of_later, last_seen > clock_timestamp() AS just_now
FROM minikafka.group_members ORDER BY 1, 2;
SET minikafka.clock_offset = 40;
SELECT count(*) FROM minikafka.poll('h', 'c', 5);
SELECT group_id, member_id, last_seen - last_poll AS since, last_poll - clock_timestamp() > '20 s' AS just_now
FROM minikafka.group_members WHERE group_id = 'h';
SET minikafka.clock_offset = 80;
SELECT * FROM minikafka.commit('h', 'c') ORDER BY 2;
SELECT group_id, member_id, last_seen - last_poll > '15 s' AS heard_of_later FROM minikafka.group_members WHERE group_id = 'h';
RESET minikafka.clock_offset;
BEGIN;
SELECT minikafka.heartbeat('h', 'c');
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
SELECT count(*) FROM minikafka.poll('h', 'c', 1);
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
SAVEPOINT s;
SELECT count(*) FROM minikafka.poll('g', 'a', 1);
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
ROLLBACK TO s;
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
ROLLBACK;
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
BEGIN;
SELECT * FROM minikafka.commit('h', 'c') ORDER BY 2;
SELECT member_id, in_transaction FROM minikafka.group_members ORDER BY 1;
COMMIT;
-- an idle member has no partitions
SELECT minikafka.join_group('idle', '{seen.too}', m, protocol => 'eager') FROM unnest('{x, y}'::text[]) m;
SELECT member_id, topics, partitions FROM minikafka.group_members WHERE group_id = 'idle' ORDER BY 1;
-- a member that was removed is not shown
SELECT minikafka.leave_group('idle', 'x');
SELECT member_id, topics, partitions FROM minikafka.group_members WHERE group_id = 'idle' ORDER BY 1;
-- one that is dead and not yet removed is
SET minikafka.clock_offset = 200;
SELECT member_id FROM minikafka.group_members WHERE group_id = 'idle';
SELECT state, members FROM minikafka.groups WHERE group_id = 'idle';
SELECT minikafka.join_group('idle', '{seen.too}', 'z');
SELECT member_id FROM minikafka.group_members WHERE group_id = 'idle';
RESET minikafka.clock_offset;

-- group_offsets: what is committed, by which role; consumer_lag: as lag() does, also
-- of what is not
SELECT group_id, topic, partition, "offset", metadata, committed_at <= clock_timestamp() + '81 s' AS committed_at, member_id, generation
FROM minikafka.group_offsets ORDER BY 1, 2, 3;
SELECT group_id, topic, partition, log_start_offset, end_offset, committed_offset, lag, time_lag >= '0' AS time_lag, member_id
FROM minikafka.consumer_lag ORDER BY group_id, topic COLLATE "C", partition;
SELECT count(*) FROM minikafka.consumer_lag c
FULL JOIN (SELECT g.group_id, l.topic, l.partition, l.lag, l.member_id FROM minikafka.groups g, minikafka.lag(g.group_id) l) l
	USING (group_id, topic, partition)
WHERE (c.lag, c.member_id) IS DISTINCT FROM (l.lag, l.member_id);
-- a position is no offset
SELECT count(*) FROM minikafka.poll('g', 'a', 100);
SELECT count(*) FROM minikafka.group_offsets WHERE group_id = 'g';

-- A topic that cannot be read does not spoil them
SELECT minikafka.create_topic('broken', 1);
SELECT minikafka.commit_offset('k', 'broken', 0, 0), minikafka.commit_offset('k', 'seen', 0, 1);
BEGIN;
ALTER TABLE minikafka_topics.broken ADD COLUMN extra int;
SELECT group_id, topic, partition, log_start_offset, end_offset, committed_offset, lag, time_lag > '0' AS behind, member_id
FROM minikafka.consumer_lag WHERE group_id = 'k' AND (topic = 'broken' OR partition = 1) ORDER BY 1, 2;
SELECT topic, partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'k' ORDER BY 1;
ROLLBACK;
-- nor one whose table is gone
BEGIN;
DROP TABLE minikafka_topics.broken CASCADE;
SELECT DISTINCT topic FROM minikafka.consumer_lag WHERE group_id = 'k';
SELECT DISTINCT topic FROM minikafka.group_offsets WHERE group_id = 'k';
ROLLBACK;

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
-- a group without its topics
SELECT group_id, members FROM minikafka.groups ORDER BY 1;
SELECT group_id, member_id, partitions FROM minikafka.group_members ORDER BY 1, 2;
SELECT * FROM minikafka.group_offsets;
SELECT * FROM minikafka.consumer_lag;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
