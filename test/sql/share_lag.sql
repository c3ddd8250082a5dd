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
-- they stay lost when a checkpoint says that all before it is done; those that are
-- removed later are added, and what was done is not
CALL minikafka.maintain();
TABLE behind;
SELECT minikafka.delete_records('sl', 0, 9);
TABLE behind;
CALL minikafka.maintain();
CALL minikafka.maintain();
TABLE behind;
-- those that are lost remain so when nothing is left
SELECT minikafka.create_topic('sl.short', 1);
SELECT minikafka.create_share_group('sl short', '{sl.short}');
SELECT minikafka.send_many('sl.short', '{a,b,c}', '{a,b,c}');
SELECT count(*) FROM minikafka.acquire('sl short', accept => true);
SELECT minikafka.delete_records('sl.short', 0, 2);
SELECT count(*) FROM minikafka.acquire('sl short', 9, accept => true);
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
CALL minikafka.maintain();
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
-- a record that a worker has under a lock is lost if it does not get done
SELECT minikafka.send_many('sl.short', '{d,e}', '{d,e}');
SELECT min(receipt) AS receipt FROM minikafka.acquire('sl short', 2, lock_duration => '1 h') \gset
SELECT minikafka.delete_records('sl.short', 0, 5);
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
CALL minikafka.maintain();
SELECT minikafka.acknowledge('sl short', :'receipt');
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
SET minikafka.clock_offset = '2h';
CALL minikafka.maintain();
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
RESET minikafka.clock_offset;
-- a reset begins anew
SELECT minikafka.reset_offsets('sl short', 'sl.short', 'latest');
SELECT committed_offset, lag, lost FROM minikafka.lag('sl short');
-- a group that has done nothing yet has lost nothing; it begins at the log start
SELECT minikafka.create_share_group('sl new', '{sl.short}');
SELECT committed_offset, lag, lost FROM minikafka.lag('sl new');
-- a long run of others in the midst, and the end
SET minikafka.clock_offset = '2h';
SELECT count(*) FROM minikafka.acquire('sl', 15, accept => true);
SELECT count(minikafka.send('sl', i::text, partition => 1)) FROM generate_series(0, 199) i;
SELECT count(*) FROM minikafka.acquire('sl', 9, accept => true);
SELECT partition, lag, ready, in_flight, waiting FROM behind;
RESET minikafka.clock_offset;
SELECT committed, lost FROM behind WHERE partition = 0;
-- records that max_in_flight withholds wait, unless one before them is ready
SELECT minikafka.create_topic('sl.full', 1), minikafka.create_share_group('sl.full', '{sl.full}');
SELECT minikafka.set_group_option('sl.full', 'max_in_flight', '10');
SELECT count(minikafka.send('sl.full', i::text, key => i::text)) FROM generate_series(1, 30) i;
SELECT ready, in_flight, waiting FROM minikafka.lag('sl.full');
BEGIN;
SELECT count(minikafka.acknowledge('sl.full', receipt, 'release', retry_after => '10 min')) FROM minikafka.acquire('sl.full', 9);
COMMIT;
SELECT ready, in_flight, waiting FROM minikafka.lag('sl.full');
BEGIN;
SELECT count(*) FROM minikafka.acquire('sl.full', 30);
SELECT ready, in_flight, waiting FROM minikafka.lag('sl.full');
SELECT count(*) FROM minikafka.acquire('sl.full', 30);
ROLLBACK;
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
SELECT minikafka.delete_group('sl'), minikafka.delete_group('sl late'), minikafka.delete_group('sl short'), minikafka.delete_group('sl new');
DROP VIEW behind;
SELECT minikafka.drop_topic('sl'), minikafka.drop_topic('sl.late'), minikafka.drop_topic('sl.short');
SELECT minikafka.delete_group('sl.full'), minikafka.drop_topic('sl.full');
