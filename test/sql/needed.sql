--
-- Topic options keep_unread and delete_read: retention heeds what groups have read
--
\set VERBOSITY terse
CREATE FUNCTION pg_temp.fill(topic text, n int) RETURNS bigint LANGUAGE sql AS
$$SELECT count(minikafka.send(topic, i::text, partition => 0)) FROM generate_series(1, n) i$$;
CREATE FUNCTION pg_temp.start(topic text) RETURNS bigint LANGUAGE sql AS
$$SELECT (minikafka.offsets(topic, 0)).log_start_offset$$;

-- keep_unread: by age, the log start goes no further than the group
SELECT minikafka.create_topic('kept', 2, retention => '1 hour', segment_records => 4);
SELECT minikafka.set_topic_option('kept', 'keep_unread', 'perhaps');
SELECT minikafka.set_topic_option('kept', 'keep_unread', 'on');
SELECT keep_unread, delete_read FROM minikafka.topics WHERE topic = 'kept';
SELECT pg_temp.fill('kept', 10);
SELECT minikafka.commit_offset('k1', 'kept', 0, 8), minikafka.commit_offset('k2', 'kept', 0, 3);
SET minikafka.clock_offset = '2h';
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
CALL minikafka.expire('kept');
-- a group that has an offset in another partition reads this one, too
SELECT minikafka.commit_offset('k3', 'kept', 1, 0);
SELECT minikafka.commit_offset('k2', 'kept', 0, 9);
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
SELECT minikafka.delete_group('k3');
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
-- a group without offsets, but with a member: all
SELECT minikafka.commit_offset('k1', 'kept', 0, 10), minikafka.commit_offset('k2', 'kept', 0, 10);
SELECT minikafka.join_group('k4', '{kept}', 'm', session_timeout => '1 day', max_poll_interval => '1 day');
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
-- it has polled, and not committed
SELECT count(*) FROM minikafka.poll('k4', 'm');
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
SELECT * FROM minikafka.commit('k4', 'm');
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
RESET minikafka.clock_offset;
-- it has gone back, in its position only
SELECT pg_temp.fill('kept', 6);
SELECT minikafka.commit_offset(g, 'kept', 0, 16) FROM unnest('{k1,k2}'::text[]) g;
SELECT count(*) FROM minikafka.poll('k4', 'm');
SELECT * FROM minikafka.commit('k4', 'm');
SELECT minikafka.seek('k4', 'm', 'kept', 0, 12);
SET minikafka.clock_offset = '2h';
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
-- the position of a member that is gone does not count
SELECT minikafka.leave_group('k4', 'm');
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
RESET minikafka.clock_offset;

-- by size, too
SELECT minikafka.set_topic_option('kept', 'retention', NULL);
SELECT minikafka.set_topic_option('kept', 'retention_bytes', '1');
SELECT pg_temp.fill('kept', 20);
SELECT minikafka.commit_offset(g, 'kept', 0, 21) FROM unnest('{k1,k4}'::text[]) g;
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
-- delete_records() does what it is told, and lag() shows what was lost
SELECT minikafka.delete_records('kept', 0, 30);
SELECT group_id, committed_offset, lag, lost, ready, in_flight, waiting FROM minikafka.consumer_lag
WHERE topic = 'kept' AND partition = 0 ORDER BY 1;
SELECT partition, lost FROM minikafka.lag('k2');
SELECT minikafka.commit_offset('k2', 'kept', 0, 30);
SELECT partition, lost FROM minikafka.lag('k2');
-- without the option
SELECT minikafka.set_topic_option('kept', 'keep_unread', NULL);
SELECT keep_unread, delete_read FROM minikafka.topics WHERE topic = 'kept';
CALL minikafka.expire('kept');
SELECT pg_temp.start('kept');
SELECT minikafka.delete_group(g) FROM unnest('{k1,k2,k4}'::text[]) g;

-- delete_read: a queue
SELECT minikafka.create_topic('queue', 1, segment_records => 4);
SELECT minikafka.set_topic_option('queue', 'delete_read', 'true');
SELECT pg_temp.fill('queue', 10);
-- no group: nothing goes
CALL minikafka.expire('queue');
SELECT pg_temp.start('queue');
SELECT minikafka.commit_offset('q1', 'queue', 0, 9);
SELECT minikafka.join_group('q2', '{queue}', 'm');
CALL minikafka.expire('queue');
SELECT count(*) FROM minikafka.poll('q2', 'm', 6);
SELECT * FROM minikafka.commit('q2', 'm');
CALL minikafka.expire('queue');
SELECT pg_temp.start('queue');
SELECT count(*), min("offset") FROM minikafka_topics.queue;
-- a pass does the same
SELECT count(*) FROM minikafka.poll('q2', 'm');
SELECT * FROM minikafka.commit('q2', 'm');
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT pg_temp.start('queue');
SELECT count(*) FROM minikafka_topics.queue;
-- nobody loses anything by this
SELECT group_id, committed_offset, lost FROM minikafka.consumer_lag WHERE topic = 'queue' ORDER BY 1;
-- an offset beyond the end, as a restore without the records leaves it: nothing goes
SELECT minikafka.commit_offset('q1', 'queue', 0, 10);
INSERT INTO minikafka.group_progress (group_no, topic_id, partition, number, next_offset, committed_at, committed_generation, member_no, generation, turn, paused)
SELECT group_no, topic_id, 0, 100, 1000, now(), -1, 0, 0, 0, false
FROM minikafka.consumer_group, minikafka.topic
WHERE group_id = 'q1' AND rel = 'minikafka_topics.queue'::regclass;
SELECT pg_temp.start('queue');
CALL minikafka.expire('queue');
SELECT pg_temp.start('queue');
SELECT minikafka.commit_offset('q1', 'queue', 0, 10);
CALL minikafka.expire('queue');
SELECT pg_temp.start('queue');
-- retention goes on; with both options only what was read goes
SELECT pg_temp.fill('queue', 4);
SELECT minikafka.set_topic_option('queue', 'retention', '1 hour');
SELECT minikafka.set_topic_option('queue', 'keep_unread', 'true');
SET minikafka.clock_offset = '2h';
SELECT minikafka.commit_offset('q1', 'queue', 0, 11);
CALL minikafka.expire('queue');
SELECT minikafka.set_topic_option('queue', 'keep_unread', 'false');
CALL minikafka.expire('queue');
RESET minikafka.clock_offset;
-- a compacted topic is for its newest records, whoever has read them
SELECT minikafka.set_topic_option('queue', 'retention', NULL);
SELECT minikafka.set_topic_option('queue', 'cleanup_policy', 'compact');
SELECT count(minikafka.send('queue', 'v', 'key' || i)) FROM generate_series(1, 3) i;
SELECT minikafka.commit_offset('q1', 'queue', 0, 17);
SELECT minikafka.leave_group('q2', 'm');
SELECT minikafka.delete_group('q2');
CALL minikafka.expire('queue');
SELECT minikafka.delete_group('q1');

-- a share group needs its topics from its start offset on
SELECT minikafka.create_topic('shared', 1);
SELECT minikafka.set_topic_option('shared', 'delete_read', 'true');
SELECT pg_temp.fill('shared', 10);
SELECT minikafka.create_share_group('s1', '{shared}');
SELECT minikafka.commit_offset('s2', 'shared', 0, 8);
CALL minikafka.expire('shared');
INSERT INTO minikafka.share_checkpoint (group_no, topic_id, partition, number, era, high, exceptions, slots, made_at)
SELECT group_no, topic_id, 0, number, 0, high, exceptions, exceptions::int[], now()
FROM minikafka.consumer_group, minikafka.topic, (VALUES (1, 5, '{3,4}'::bigint[]), (2, 9, '{6}')) v(number, high, exceptions)
WHERE group_id = 's1' AND rel = 'minikafka_topics.shared'::regclass;
CALL minikafka.expire('shared');
SELECT pg_temp.start('shared');
SELECT minikafka.delete_group('s1');
CALL minikafka.expire('shared');
SELECT minikafka.delete_group('s2');
SELECT minikafka.drop_topic('shared');
-- that is what it has done in a row; a pass notes holes first
SELECT minikafka.create_topic('shared', 1);
SELECT minikafka.set_topic_option('shared', 'delete_read', 'true');
SELECT pg_temp.fill('shared', 10);
SET session_replication_role = replica;
DELETE FROM minikafka_topics.shared WHERE "offset" = 2;
RESET session_replication_role;
SELECT minikafka.create_share_group('s3', '{shared}');
SELECT "offset" FROM minikafka.acquire('s3', 5, accept => true);
CALL minikafka.expire('shared');
SELECT pg_temp.start('shared');
CALL minikafka.maintain();
SELECT pg_temp.start('shared');
-- what is gone holds up nothing either: a record that waits, by delete_records() or by
-- compaction; but one under a lock does, until that ends
SELECT minikafka.create_topic('compacted', 1, cleanup_policy => 'compact');
SELECT count(minikafka.send('compacted', 'v' || i, 'k' || i % 3)) FROM generate_series(0, 5) i;
SELECT minikafka.create_share_group('s4', '{compacted}', ordering => 'none');
BEGIN;
SELECT "offset", minikafka.acknowledge('s4', receipt, CASE "offset" WHEN 0 THEN 'fail' ELSE 'accept' END, retry_after => CASE "offset" WHEN 0 THEN '1 h'::interval END)
FROM minikafka.acquire('s4', 5);
COMMIT;
CREATE VIEW pg_temp.checkpoint AS
SELECT high, exceptions FROM minikafka.share_checkpoint JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 's4' ORDER BY number DESC LIMIT 1;
CALL minikafka.maintain();
SELECT * FROM pg_temp.checkpoint;
CALL minikafka.compact('compacted');
CALL minikafka.maintain();
SELECT * FROM pg_temp.checkpoint;
SELECT "offset" FROM minikafka.acquire('s4', lock_duration => '1 h');
SELECT minikafka.send('compacted', 'v', 'k9');
SELECT "offset" FROM minikafka.acquire('s4', accept => true);
SELECT minikafka.delete_records('compacted', 0, -1);
CALL minikafka.maintain();
SELECT * FROM pg_temp.checkpoint;
SET minikafka.clock_offset = '2 h';
CALL minikafka.maintain();
SELECT * FROM pg_temp.checkpoint;
RESET minikafka.clock_offset;
SELECT minikafka.delete_group(g) FROM unnest('{s3,s4}'::text[]) g;
SELECT minikafka.drop_topic(t) FROM unnest('{shared,compacted}'::text[]) t;
SELECT minikafka.drop_topic('queue');
SELECT minikafka.drop_topic('kept');
