-- A log that has lost its last records, as after a restore without them: a share
-- group does not take new records at the same offsets for done.
SELECT minikafka.create_topic('lost', 1);
SELECT minikafka.create_share_group('lost', '{lost}');
SELECT count(minikafka.send('lost', 'old ' || i)) FROM generate_series(0, 5) i;
SELECT count(*) FROM minikafka.acquire('lost', 10, accept => true);
CALL minikafka.maintain();
SELECT number, era, high FROM minikafka.share_checkpoint WHERE group_no = (SELECT max(group_no) FROM minikafka.consumer_group);

-- what such a restore leaves: the partition is not known to be settled
SET session_replication_role = replica;
DELETE FROM minikafka_topics.lost WHERE "offset" >= 3;
DELETE FROM minikafka.settled_partition WHERE topic_id = (SELECT max(topic_id) FROM minikafka.topic);
RESET session_replication_role;
\c -
SELECT log_start_offset, end_offset FROM minikafka.offsets('lost', 0);

-- the first call finds that out
SELECT count(*) FROM minikafka.acquire('lost', 10, accept => true);
SELECT count(minikafka.send('lost', 'new ' || i)) FROM generate_series(3, 7) i;
SELECT "offset", value FROM minikafka.acquire_text('lost', 10, accept => true);
SELECT number, era, high FROM minikafka.share_checkpoint WHERE group_no = (SELECT max(group_no) FROM minikafka.consumer_group)
ORDER BY number DESC LIMIT 1;

SELECT minikafka.delete_group('lost');
SELECT minikafka.drop_topic('lost');

-- parked keys: what has come back and is lost holds up nothing; nor do dead letters
-- that are lost
SELECT minikafka.create_topic('lost', 1), minikafka.create_topic('lost.dead', 1);
SELECT minikafka.create_share_group('lost', '{lost}', max_deliveries => 1, dead_letter_topic => 'lost.dead');
SELECT minikafka.set_group_option('lost', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.send_many('lost', '{k0,k1,k2}', '{k,k,k}');
SELECT minikafka.acknowledge('lost', receipt, 'fail') FROM minikafka.acquire('lost');
SELECT count(*) FROM minikafka.acquire('lost', accept => true);
SELECT minikafka.redrive('lost.dead', max_records => 2);
SELECT returned_offset, record_offset, dead_letter_offset, era FROM minikafka.share_parked ORDER BY 2, 1;
SELECT "offset", value FROM minikafka.acquire_text('lost', 10, accept => true);
CALL minikafka.maintain();
SET session_replication_role = replica;
DELETE FROM minikafka_topics.lost WHERE "offset" >= 4;
DELETE FROM minikafka.settled_partition WHERE topic_id >= (SELECT max(topic_id) - 1 FROM minikafka.topic);
RESET session_replication_role;
\c -
-- the first call finds that out; k3 is not the record that was lost there
SELECT count(*) FROM minikafka.acquire('lost', 10, accept => true);
SELECT returned_offset, record_offset, dead_letter_offset, era FROM minikafka.share_parked ORDER BY 2, 1;
SELECT minikafka.send('lost', 'k3', 'k');
SELECT "offset", value FROM minikafka.acquire_text('lost', 10, accept => true);
SELECT returned_offset, record_offset, dead_letter_offset, era FROM minikafka.share_parked ORDER BY 2, 1;
SET session_replication_role = replica;
DELETE FROM minikafka_topics."lost.dead";
DELETE FROM minikafka.settled_partition WHERE topic_id >= (SELECT max(topic_id) - 1 FROM minikafka.topic);
RESET session_replication_role;
\c -
SELECT count(minikafka.send('lost.dead', 'other')) FROM generate_series(1, 4);
SELECT returned_offset, record_offset, dead_letter_offset, era FROM minikafka.share_parked ORDER BY 2, 1;
SELECT minikafka.send('lost', 'k4', 'k');
SELECT "offset", value FROM minikafka.acquire_text('lost', 10, accept => true);

SELECT minikafka.delete_group('lost');
SELECT minikafka.drop_topic('lost'), minikafka.drop_topic('lost.dead');
