--
-- lag() and the view consumer_lag for share groups
--
SELECT minikafka.create_topic('sl', 2, segment_records => 30);
SELECT minikafka.create_share_group('sl', '{sl}', max_deliveries => 2, backoff => '1h', max_backoff => '1h');
CREATE VIEW behind AS
SELECT partition, log_start_offset AS start, end_offset AS "end", committed_offset AS committed, lag, time_lag > '0' AS late, member_id AS member, ready, in_flight, waiting, lost
FROM minikafka.lag('sl') ORDER BY 1;
TABLE behind;
-- partition 0: keys a to e, each three times
SELECT count(minikafka.send('sl', i::text, key => chr(97 + i % 5), partition => 0)) FROM generate_series(0, 14) i;
-- the later records of a key wait for the first one
TABLE behind;
BEGIN;
-- a session has two keys, one of them with two records
SELECT "offset" FROM minikafka.acquire('sl', 2);
TABLE behind;
ROLLBACK;
TABLE behind;
-- a: waits for its backoff, b: exhausted, c: under a lock, d: the first one is done
BEGIN;
SELECT "offset", minikafka.acknowledge('sl', receipt, 'fail') FROM minikafka.acquire('sl', 1);
COMMIT;
BEGIN;
SELECT "offset", minikafka.acknowledge('sl', receipt, 'fail', retry_after => '0') FROM minikafka.acquire('sl', 1);
COMMIT;
BEGIN;
SELECT "offset", minikafka.acknowledge('sl', receipt, 'fail') FROM minikafka.acquire('sl', 1);
COMMIT;
SELECT "offset" FROM minikafka.acquire('sl', 1, lock_duration => '1h');
SELECT "offset" FROM minikafka.acquire('sl', 1, accept => true);
TABLE behind;
SELECT partition, committed_offset, lag, ready, in_flight, waiting, lost FROM minikafka.consumer_lag WHERE group_id = 'sl' ORDER BY 1;
-- what is removed before it is done is lost
SELECT minikafka.delete_records('sl', 0, 3);
TABLE behind;
SELECT "offset" FROM minikafka.acquire('sl', 100, accept => true) ORDER BY 1;
TABLE behind;
-- a long run of others in the midst, and the end
SET minikafka.clock_offset = '2h';
SELECT count(*) FROM minikafka.acquire('sl', 15, accept => true);
SELECT count(minikafka.send('sl', i::text, partition => 1)) FROM generate_series(0, 199) i;
SELECT count(*) FROM minikafka.acquire('sl', 9, accept => true);
SELECT partition, lag, ready, in_flight, waiting FROM behind;
RESET minikafka.clock_offset;
-- as it is now, whatever the snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT lag >= 0 FROM minikafka.lag('sl') LIMIT 1;
SELECT count(*) = 2 FROM behind;
COMMIT;
-- records that are younger than the topic's delay wait
SELECT minikafka.create_topic('sl.late', 1);
SELECT minikafka.create_share_group('sl late', '{sl.late}', ordering => 'none');
SELECT count(minikafka.send('sl.late', i::text)) FROM generate_series(1, 10) i;
SELECT minikafka.set_topic_option('sl.late', 'delivery_delay', '1 hour');
SELECT lag, ready, in_flight, waiting FROM minikafka.lag('sl late');
SET minikafka.clock_offset = '2h';
SELECT lag, ready, in_flight, waiting FROM minikafka.lag('sl late', 'sl.late');
RESET minikafka.clock_offset;
SELECT minikafka.lag('sl unknown');
SELECT minikafka.delete_group('sl'), minikafka.delete_group('sl late');
DROP VIEW behind;
SELECT minikafka.drop_topic('sl'), minikafka.drop_topic('sl.late');
