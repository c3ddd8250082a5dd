--
-- Topic option delivery_delay: poll() and acquire() hand out a record when it is that
-- old (Kafka case B07)
--
\set VERBOSITY terse
SELECT minikafka.create_topic('retry', 2, segment_records => 4);
SELECT minikafka.set_topic_option('retry', 'delivery_delay', 'soon');
SELECT minikafka.set_topic_option('retry', 'delivery_delay', '-1 s');
SELECT minikafka.set_topic_option('retry', 'delivery_delay', '1 hour');
SELECT delivery_delay FROM minikafka.topics WHERE topic = 'retry';
SELECT minikafka.create_topic('prompt', 1);
SELECT minikafka.join_group('delay', '{retry,prompt}', 'm', session_timeout => '1 day', max_poll_interval => '1 day');

-- nothing is due; fetch(), the end and the lag do not know of it
SELECT count(minikafka.send('retry', i::text, partition => 0)) FROM generate_series(0, 6) i;
SELECT count(*) FROM minikafka.poll('delay', 'm');
SELECT count(*) FROM minikafka.fetch('retry', 0, 0);
SELECT end_offset FROM minikafka.offsets('retry', 0);
SELECT topic, partition, lag FROM minikafka.lag('delay') ORDER BY 1, 2;
-- what else the member has is not held up
SELECT minikafka.send('prompt', 'now');
SELECT topic, "offset", value FROM minikafka.poll_text('delay', 'm');

-- some are due, over several segments, and then no more than those
SET minikafka.clock_offset = '40min';
SELECT count(minikafka.send('retry', i::text, partition => 0)) FROM generate_series(7, 12) i;
SELECT minikafka.send('retry', 'other', partition => 1);
SELECT count(*) FROM minikafka.poll('delay', 'm');
SET minikafka.clock_offset = '70min';
SELECT partition, "offset", value FROM minikafka.poll_text('delay', 'm', 5);
SELECT partition, "offset", value FROM minikafka.poll_text('delay', 'm');
SELECT count(*) FROM minikafka.poll('delay', 'm');
SELECT * FROM minikafka.commit('delay', 'm') ORDER BY 1, 2;
SET minikafka.clock_offset = '99min';
SELECT count(*) FROM minikafka.poll('delay', 'm');
SET minikafka.clock_offset = '101min';
SELECT partition, "offset", value FROM minikafka.poll_text('delay', 'm') ORDER BY 1, 2;

-- going back; the log start passes the position: neither waits for a record that
-- is not there
SELECT minikafka.seek('delay', 'm', 'retry', 0, 3);
SELECT partition, "offset" FROM minikafka.poll_text('delay', 'm', 2);
SELECT minikafka.delete_records('retry', 0, 10);
SELECT partition, "offset" FROM minikafka.poll_text('delay', 'm');
RESET minikafka.clock_offset;
SELECT minikafka.seek('delay', 'm', 'retry', 0, 10);
SELECT count(*) FROM minikafka.poll('delay', 'm');
SELECT minikafka.delete_records('retry', 0, 12);
SELECT count(*) FROM minikafka.poll('delay', 'm');

-- without a delay all is due
SELECT minikafka.set_topic_option('retry', 'delivery_delay', NULL);
SELECT delivery_delay FROM minikafka.topics WHERE topic = 'retry';
SELECT partition, "offset" FROM minikafka.poll_text('delay', 'm');

-- a call that waits sleeps until the first record is due
SELECT minikafka.leave_group('delay', 'm');
SELECT minikafka.create_topic('soon', 2);
SELECT minikafka.set_topic_option('soon', 'delivery_delay', '300 ms');
SELECT minikafka.join_group('delay', '{soon}', 'm');
SELECT minikafka.send('soon', 'later', partition => 1);
SELECT partition, value, clock_timestamp() >= ts + interval '300 ms' AS due
FROM minikafka.poll_text('delay', 'm', max_wait => '1 min');
SELECT minikafka.send('soon', 'again', partition => 1);
CALL minikafka.wait_for_records('delay', 'm', '1 min');
SELECT partition, value, clock_timestamp() >= ts + interval '300 ms' AS due FROM minikafka.poll_text('delay', 'm');
-- max_wait counts all the same
SELECT minikafka.set_topic_option('soon', 'delivery_delay', '1 hour');
SELECT minikafka.send('soon', 'much later', partition => 1);
SELECT count(*) FROM minikafka.poll('delay', 'm', max_wait => '10 ms');
CALL minikafka.wait_for_records('delay', 'm', '10 ms');
-- other partitions are waited for
SELECT minikafka.set_topic_option('soon', 'delivery_delay', '100 ms');
SELECT minikafka.seek('delay', 'm', 'soon', 1, 3);
SELECT minikafka.send('soon', 'other', partition => 0);
SELECT partition, value FROM minikafka.poll_text('delay', 'm', max_wait => '1 min');

SELECT minikafka.leave_group('delay', 'm');
SELECT minikafka.delete_group('delay');
SELECT minikafka.drop_topic('retry');
SELECT minikafka.drop_topic('prompt');
SELECT minikafka.drop_topic('soon');

-- a share group: a delay that is set while records wait holds for them too, whether
-- the session remembers them or a checkpoint lists them
SELECT minikafka.create_topic('retry', 1);
SELECT minikafka.create_share_group('delay', '{retry}');
SELECT count(minikafka.send('retry', i::text, 'k' || i % 3)) FROM generate_series(0, 8) i;
SELECT "offset" FROM minikafka.acquire('delay', 2, accept => true);
BEGIN;
SELECT "offset" FROM minikafka.acquire('delay', 4);
ROLLBACK;
SELECT "offset" FROM minikafka.acquire('delay', accept => true);
CALL minikafka.maintain();
SET minikafka.clock_offset = '40min';
SELECT count(minikafka.send('retry', i::text, 'k' || i % 3)) FROM generate_series(9, 11) i;
SELECT minikafka.set_topic_option('retry', 'delivery_delay', '1 hour');
SELECT count(*) FROM minikafka.acquire('delay', 20, accept => true);
SELECT count(*) FROM minikafka.acquire('delay', 20, max_wait => '10 ms');
SELECT ready, waiting FROM minikafka.lag('delay');
\c -
SET minikafka.clock_offset = '40min';
SELECT count(*) FROM minikafka.acquire('delay', 20, accept => true);
SELECT ready, waiting FROM minikafka.lag('delay');
-- those that are old enough, and none that comes after one that is not
SET minikafka.clock_offset = '70min';
SELECT "offset" FROM minikafka.acquire('delay', 2, accept => true);
SELECT "offset" FROM minikafka.acquire('delay', 20, accept => true);
SELECT ready, waiting FROM minikafka.lag('delay');
-- a shorter delay holds at once
SET minikafka.clock_offset = '80min';
SELECT count(*) FROM minikafka.acquire('delay', 20);
SELECT minikafka.set_topic_option('retry', 'delivery_delay', '30 min');
SELECT "offset" FROM minikafka.acquire('delay', accept => true);
-- a record that has failed waits for both
SELECT minikafka.acknowledge('delay', receipt, 'fail') FROM minikafka.acquire('delay');
SELECT minikafka.set_topic_option('retry', 'delivery_delay', '1 hour');
SET minikafka.clock_offset = '95min';
SELECT count(*) FROM minikafka.acquire('delay', 20);
SELECT ready, waiting FROM minikafka.lag('delay');
SET minikafka.clock_offset = '101min';
SELECT "offset", delivery_count FROM minikafka.acquire('delay', 20, accept => true);
RESET minikafka.clock_offset;
-- a call that waits sleeps until the first one is due
SELECT minikafka.create_topic('soon', 1);
SELECT minikafka.set_group_option('delay', 'topics', '{soon}');
SELECT count(minikafka.send('soon', i::text, 'k')) FROM generate_series(0, 1) i;
BEGIN;
SELECT count(*) FROM minikafka.acquire('delay', 2);
ROLLBACK;
SELECT minikafka.set_topic_option('soon', 'delivery_delay', '1 hour');
CALL minikafka.wait_for_records('delay', NULL, '10 ms');
SELECT minikafka.set_topic_option('soon', 'delivery_delay', '500 ms');
SELECT "offset", clock_timestamp() >= ts + interval '500 ms' AS due
FROM minikafka.acquire('delay', max_wait => '1 min', accept => true);

SELECT minikafka.delete_group('delay');
SELECT minikafka.drop_topic('retry'), minikafka.drop_topic('soon');
