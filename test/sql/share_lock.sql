--
-- Acquisition locks: acquire() with lock_duration, answers in later transactions,
-- renew()
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('work', 1);
-- offsets 0 to 8: of three keys in turn
SELECT count(minikafka.send('work', 'v' || i, 'k' || i % 3)) FROM generate_series(0, 8) i;
SELECT minikafka.create_share_group('g', '{work}', backoff => '1 min');
-- The newest delivery of each record that is not done
CREATE FUNCTION pg_temp.deliveries(g text) RETURNS TABLE (record_offset bigint, state text, deliveries int, acquisition bigint, lasts interval, error text) LANGUAGE sql AS $$
	SELECT DISTINCT ON (d.record_offset) d.record_offset, d.state, d.deliveries, d.acquisition, date_trunc('second', d.until - d.at + '0.5 s'), d.error
	FROM minikafka.share_delivery d JOIN minikafka.consumer_group USING (group_no) WHERE group_id = g
	AND NOT EXISTS (SELECT FROM minikafka.share_done x WHERE d.record_offset BETWEEN first_offset AND last_offset AND (d.group_no, d.topic_id, d.era) = (x.group_no, x.topic_id, x.era))
	ORDER BY d.record_offset, d.number DESC
$$;
CREATE FUNCTION pg_temp.acquire(g text, most int DEFAULT 1) RETURNS TABLE ("offset" bigint, delivery int, token bigint, receipt text) LANGUAGE sql AS $$
	SELECT "offset", delivery_count, fencing_token, receipt FROM minikafka.acquire(g, most, lock_duration => '30 s')
$$;

CREATE FUNCTION pg_temp.minutes(until timestamptz) RETURNS numeric LANGUAGE sql AS 'SELECT round(extract(epoch FROM until - now()) / 60)';

-- A lock outlives the transaction
SELECT "offset", delivery_count, receipt ~ '^\d+\.0\.\d+\.0\.0\.l1$' AS receipt, fencing_token FROM minikafka.acquire('g', lock_duration => '30 s');
SELECT * FROM pg_temp.deliveries('g');
-- the key waits, other keys do not
SELECT "offset" FROM pg_temp.acquire('g', 100);
SELECT * FROM pg_temp.deliveries('g');
SELECT "offset" FROM pg_temp.acquire('g', 100);

-- Answers in later transactions, in each isolation level; order within a key
SELECT minikafka.create_share_group('answers', '{work}', backoff => '1 min');
CREATE TEMP TABLE held AS SELECT * FROM pg_temp.acquire('answers', 9);
SELECT "offset" FROM held;
SELECT "offset", minikafka.acknowledge('answers', receipt) FROM held WHERE "offset" = 0;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT "offset", minikafka.acknowledge('answers', receipt, 'reject') FROM held WHERE "offset" = 1;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT "offset", minikafka.acknowledge('answers', receipt, 'release', retry_after => '1 h') FROM held WHERE "offset" = 2;
COMMIT;
SELECT "offset", minikafka.acknowledge('answers', receipt, 'fail', 'busy') FROM held WHERE "offset" = 3;
SELECT "offset", minikafka.acknowledge('answers', receipt, 'fail', 'busy', '1 h') FROM held WHERE "offset" = 4;
SELECT * FROM pg_temp.deliveries('answers');
-- answering twice, and an answer of another delivery; Kafka cases S08, S25
SELECT minikafka.acknowledge('answers', receipt) FROM held WHERE "offset" = 0;
SELECT minikafka.acknowledge('answers', receipt) FROM held WHERE "offset" = 3;
-- an answer that is rolled back is none
BEGIN;
SELECT minikafka.acknowledge('answers', receipt) FROM held WHERE "offset" = 6;
SAVEPOINT a;
SELECT minikafka.acknowledge('answers', receipt, 'fail') FROM held WHERE "offset" = 6;
ROLLBACK TO a;
ROLLBACK;
BEGIN;
SAVEPOINT a;
SELECT minikafka.acknowledge('answers', receipt, 'fail') FROM held WHERE "offset" = 6;
ROLLBACK TO a;
SELECT minikafka.acknowledge('answers', receipt) FROM held WHERE "offset" = 6;
COMMIT;
SELECT * FROM pg_temp.deliveries('answers');

-- In the transaction that acquires: it may answer too, and what it fails is released
-- with the later ones of its key
SELECT minikafka.create_share_group('at once', '{work}', backoff => '1 min');
BEGIN;
CREATE TEMP TABLE now ON COMMIT DROP AS SELECT * FROM pg_temp.acquire('at once', 9);
SELECT minikafka.acknowledge('at once', receipt) FROM now WHERE "offset" = 0;
SELECT minikafka.acknowledge('at once', receipt, 'fail') FROM now WHERE "offset" = 1;
SELECT minikafka.acknowledge('at once', receipt) FROM now WHERE "offset" = 4;
SELECT minikafka.acknowledge('at once', receipt, 'release') FROM now WHERE "offset" = 2;
COMMIT;
SELECT record_offset, state, deliveries, acquisition FROM pg_temp.deliveries('at once');
-- both ways in one transaction
SELECT minikafka.create_share_group('both ways', '{work}', backoff => '1 min');
BEGIN;
SELECT "offset" FROM pg_temp.acquire('both ways');
SELECT "offset" FROM minikafka.acquire('both ways', 2, accept => true);
COMMIT;
SELECT * FROM pg_temp.deliveries('both ways');
-- a rollback takes the locks with it, and is not counted
SELECT minikafka.create_share_group('rolled back', '{work}', backoff => '1 min');
BEGIN;
SELECT "offset", delivery, token FROM pg_temp.acquire('rolled back');
ROLLBACK;
SELECT "offset", delivery, token FROM pg_temp.acquire('rolled back');

-- renew(), before and after the lock's end; Kafka case S08
SELECT minikafka.create_share_group('renew', '{work}', backoff => '1 min');
SELECT receipt FROM pg_temp.acquire('renew') \gset
SELECT pg_temp.minutes(minikafka.renew('renew', :'receipt', '1 h'));
SELECT * FROM pg_temp.deliveries('renew');
SET minikafka.clock_offset = '30 min';
SELECT "offset" FROM pg_temp.acquire('renew', 3);
-- it may also get shorter, and the receipt stays the same
SELECT pg_temp.minutes(minikafka.renew('renew', :'receipt', '1 s'));
SET minikafka.clock_offset = '40 min';
BEGIN;
SELECT pg_temp.minutes(minikafka.renew('renew', :'receipt', '1 h'));
SELECT pg_temp.minutes(minikafka.renew('renew', :'receipt', '2 h'));
SAVEPOINT a;
SELECT pg_temp.minutes(minikafka.renew('renew', :'receipt', '3 h'));
ROLLBACK TO a;
COMMIT;
SELECT * FROM pg_temp.deliveries('renew') WHERE record_offset = 0;
SELECT minikafka.acknowledge('renew', :'receipt');
SELECT minikafka.renew('renew', :'receipt', '1 h');
RESET minikafka.clock_offset;
-- renewed and answered in one transaction; renewed where it is acquired
SELECT minikafka.create_share_group('renew too', '{work}', backoff => '1 min');
SELECT receipt FROM pg_temp.acquire('renew too') \gset
BEGIN;
SELECT minikafka.renew('renew too', :'receipt', '1 h') IS NULL;
SELECT minikafka.acknowledge('renew too', :'receipt');
COMMIT;
BEGIN;
SELECT receipt FROM pg_temp.acquire('renew too') \gset
SELECT minikafka.renew('renew too', :'receipt', '1 h') IS NULL;
COMMIT;
SELECT * FROM pg_temp.deliveries('renew too');
SELECT minikafka.acknowledge('renew too', :'receipt');

-- Expiry: another one may have it, with a greater token, and the old receipt fits no
-- more; Kafka cases Q02, X07
SELECT minikafka.create_share_group('expiry', '{work}', backoff => '1 min', max_deliveries => 3);
SELECT receipt AS old, token AS old_token FROM pg_temp.acquire('expiry') \gset
SET minikafka.clock_offset = '31 s';
SELECT "offset", delivery, token, receipt AS new FROM pg_temp.acquire('expiry') \gset
SELECT :offset AS "offset", :delivery AS delivery, :token > :old_token AS greater;
SELECT minikafka.acknowledge('expiry', :'old');
SELECT minikafka.renew('expiry', :'old', '1 h');
SELECT minikafka.acknowledge('expiry', :'old', 'fail');
-- one that has expired and that nobody has taken may be answered, and renewed
SET minikafka.clock_offset = '2 min';
SELECT minikafka.renew('expiry', :'new', '30 s') IS NULL;
SET minikafka.clock_offset = '3 min';
SELECT minikafka.acknowledge('expiry', :'new');
RESET minikafka.clock_offset;
-- and the last expiry exhausts; Kafka cases S13, S14
SELECT minikafka.create_share_group('exhausted', '{work}', backoff => '1 min', max_deliveries => 2);
SELECT "offset", delivery FROM pg_temp.acquire('exhausted');
SET minikafka.clock_offset = '1 min';
SELECT "offset", delivery FROM pg_temp.acquire('exhausted');
SET minikafka.clock_offset = '2 min';
SELECT "offset", delivery FROM pg_temp.acquire('exhausted', 9);
SELECT * FROM pg_temp.deliveries('exhausted') WHERE record_offset = 0;
RESET minikafka.clock_offset;
-- a rollback of who finds it leaves it to the next one
SELECT minikafka.create_share_group('found', '{work}', backoff => '1 min', max_deliveries => 1);
SELECT "offset", delivery FROM pg_temp.acquire('found');
SET minikafka.clock_offset = '1 min';
BEGIN;
SELECT "offset" FROM pg_temp.acquire('found');
ROLLBACK;
SELECT * FROM pg_temp.deliveries('found');
SELECT "offset" FROM pg_temp.acquire('found');
SELECT * FROM pg_temp.deliveries('found') WHERE record_offset = 0;
RESET minikafka.clock_offset;
-- delivered under a lock, then in a transaction: the old receipt fits no more once
-- that has failed
SELECT minikafka.create_share_group('mixed', '{work}', backoff => '0');
SELECT receipt AS old FROM pg_temp.acquire('mixed') \gset
SET minikafka.clock_offset = '31 s';
BEGIN;
SELECT "offset", delivery_count, fencing_token, minikafka.acknowledge('mixed', receipt, 'fail') FROM minikafka.acquire('mixed');
COMMIT;
SELECT minikafka.acknowledge('mixed', :'old');
SELECT "offset", delivery, token FROM pg_temp.acquire('mixed');
-- the same, told after its transaction was rolled back: both deliveries count
SELECT minikafka.create_share_group('mixed too', '{work}', backoff => '1 min');
SELECT "offset" FROM pg_temp.acquire('mixed too');
SET minikafka.clock_offset = '62 s';
BEGIN;
SELECT receipt FROM minikafka.acquire('mixed too') \gset
ROLLBACK;
SELECT minikafka.acknowledge('mixed too', :'receipt', 'fail', 'lost');
SELECT record_offset, state, deliveries, error FROM pg_temp.deliveries('mixed too');
RESET minikafka.clock_offset;
-- the token grows over resets too
SELECT minikafka.create_share_group('tokens', '{work}', backoff => '0');
SELECT "offset", token AS old_token, minikafka.acknowledge('tokens', receipt, 'release') FROM pg_temp.acquire('tokens') \gset
SELECT "offset", token AS old_token, minikafka.acknowledge('tokens', receipt, 'release') FROM pg_temp.acquire('tokens') \gset
SELECT "offset" FROM minikafka.reset_offsets('tokens', 'work', 'earliest');
SELECT "offset", token > :old_token AS greater, token FROM pg_temp.acquire('tokens');
-- Kafka case Q04
-- released: the receipt fits no more; the acquisition after it has another token
SELECT minikafka.create_share_group('release', '{work}');
SELECT receipt AS old FROM pg_temp.acquire('release') \gset
SELECT minikafka.acknowledge('release', :'old', 'release');
SELECT minikafka.acknowledge('release', :'old');
SELECT "offset", delivery, token FROM pg_temp.acquire('release');
SELECT minikafka.acknowledge('release', :'old');

-- The record is gone while it is locked
SELECT minikafka.create_topic('going', 1), minikafka.send('going', 'a', 'k'), minikafka.send('going', 'b', 'k');
SELECT minikafka.create_share_group('going', '{going}');
SELECT receipt FROM pg_temp.acquire('going') \gset
SELECT minikafka.delete_records('going', 0, 1);
-- a worker may be at work on it, so its key waits for the end of the lock; Kafka case S20
SELECT "offset" FROM pg_temp.acquire('going');
SELECT minikafka.acknowledge('going', :'receipt');
SELECT receipt FROM pg_temp.acquire('going') \gset
SELECT minikafka.send('going', 'c', 'k');
SELECT minikafka.delete_records('going', 0, 2);
SET minikafka.clock_offset = '31 s';
SELECT receipt AS next FROM pg_temp.acquire('going') \gset
-- and then it goes on without the record, whose answer would be out of order
SELECT minikafka.acknowledge('going', :'receipt');
SELECT minikafka.renew('going', :'receipt', '30 s');
SELECT minikafka.acknowledge('going', :'next');
RESET minikafka.clock_offset;

-- Arguments; Kafka case Q01
SELECT minikafka.create_share_group('arguments', '{work}');
BEGIN;
SELECT receipt FROM minikafka.acquire('arguments') \gset
SAVEPOINT a;
SELECT minikafka.renew('arguments', :'receipt', '1 s');
ROLLBACK TO a;
SELECT minikafka.renew('arguments', :'receipt', NULL);
ROLLBACK TO a;
SELECT minikafka.renew('arguments', :'receipt', '0');
ROLLBACK TO a;
SELECT minikafka.renew('arguments', :'receipt', '25 days');
ROLLBACK TO a;
SELECT minikafka.renew('arguments', NULL, '1 s');
ROLLBACK TO a;
SELECT minikafka.renew('arguments', 'nonsense', '1 s');
ROLLBACK TO a;
SELECT minikafka.renew('nobody', :'receipt', '1 s');
ROLLBACK TO a;
SELECT minikafka.renew(NULL, :'receipt', '1 s');
ROLLBACK;
BEGIN READ ONLY;
SELECT minikafka.renew('arguments', :'receipt', '1 s');
ROLLBACK;
BEGIN;
SELECT "offset" FROM pg_temp.acquire('arguments');
PREPARE TRANSACTION 'lock';

SELECT count(minikafka.delete_group(group_id)) > 0 AS deleted FROM minikafka.groups;
SELECT count(minikafka.drop_topic(topic)) > 0 AS dropped FROM minikafka.topics;
