--
-- Dead letters of share groups whose record or topic is gone
--
\set VERBOSITY terse
SELECT minikafka.create_topic('sd', 1), minikafka.create_topic('sd.dead', 1);
SELECT minikafka.create_share_group('sd', '{sd}', max_deliveries => 1, dead_letter_topic => 'sd.dead', backoff => '1 h', max_backoff => '1 h');
SELECT minikafka.send_many('sd', '{v0,v1,v2,v3,v4}', '{k0,k1,k2,k3,k4}');
CREATE VIEW letters AS
SELECT "offset", value, headers - '__dlq.errors.timestamp' AS headers FROM minikafka.fetch_text('sd.dead', 0, 0) ORDER BY 1;

-- a record is removed before its failure is noted: after a rollback, which the next
-- call notes, and under a lock.  The dead letter has no value, and a header says so.
BEGIN;
SELECT "offset" FROM minikafka.acquire('sd');
ROLLBACK;
SELECT minikafka.delete_records('sd', 0, 1);
SELECT "offset", receipt FROM minikafka.acquire('sd', lock_duration => '1 h') \gset
SELECT minikafka.delete_records('sd', 0, 2);
SELECT minikafka.acknowledge('sd', :'receipt', 'reject', 'late too');
SELECT * FROM letters;

-- Kafka case Q08: a limit of one, a lock that expires; the next call gets nothing of
-- it, and one dead letter tells where it is from
SELECT "offset", value FROM minikafka.acquire_text('sd', lock_duration => '1 min');
SET minikafka.clock_offset = '2 min';
SELECT "offset" FROM minikafka.acquire('sd', lock_duration => '1 min');
RESET minikafka.clock_offset;
SELECT * FROM letters WHERE "offset" > 1;

-- the topic for dead letters is dropped: the record is tried again, and the view tells
-- why
SELECT minikafka.drop_topic('sd.dead');
SELECT dead_letter_topic, on_exhausted FROM minikafka.share_groups WHERE group_id = 'sd';
SELECT "offset", minikafka.acknowledge('sd', receipt, 'fail', 'bad') FROM minikafka.acquire('sd');
SELECT "offset", state, delivery_count, waiting_until IS NOT NULL AS waits, error FROM minikafka.share_deliveries WHERE group_id = 'sd';

DROP VIEW letters;
SELECT minikafka.delete_group('sd'), minikafka.drop_topic('sd');
