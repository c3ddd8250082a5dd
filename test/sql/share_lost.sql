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
