-- Share groups that pause by themselves: when a record is exhausted, and when the
-- dead-letter topic gets too many records.
SELECT minikafka.create_topic('work', 1);
SELECT minikafka.create_topic('work.dead', 1);
SELECT minikafka.create_share_group('pausing', '{work}', max_deliveries => 1);
SELECT minikafka.set_group_option('pausing', 'on_exhausted', 'pause');
SELECT minikafka.create_share_group('limited', '{work}', max_deliveries => 1, dead_letter_topic => 'work.dead');
SELECT minikafka.set_group_option('limited', 'dead_letter_limit', '2');
SELECT minikafka.send('work', 'v' || i, 'k' || i) FROM generate_series(1, 4) i;

-- the group pauses at COMMIT, and the record comes again when it goes on
BEGIN;
SELECT "offset", receipt FROM minikafka.acquire('pausing') \gset
SELECT minikafka.acknowledge('pausing', :'receipt', 'fail', 'broken');
SELECT count(*) FROM minikafka.acquire('pausing', accept => true);
COMMIT;
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'pausing';
SELECT count(*) FROM minikafka.acquire('pausing', accept => true);
SELECT minikafka.set_group_option('pausing', 'paused', 'false');
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'pausing';
SELECT "offset", delivery_count FROM minikafka.acquire('pausing', 10, accept => true);

-- a rolled-back savepoint does not pause it
SELECT minikafka.send('work', 'v5', 'k5');
BEGIN;
SELECT receipt FROM minikafka.acquire('pausing') \gset
SAVEPOINT s;
SELECT minikafka.acknowledge('pausing', :'receipt', 'fail');
ROLLBACK TO s;
SELECT minikafka.acknowledge('pausing', :'receipt');
COMMIT;
SELECT paused FROM minikafka.share_groups WHERE group_id = 'pausing';

-- two dead letters, also of one transaction; the third pauses the group
BEGIN;
SELECT minikafka.acknowledge('limited', receipt, 'reject') FROM minikafka.acquire('limited', 3);
COMMIT;
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'limited';
SELECT count(*) FROM minikafka.fetch('work.dead', 0, 0);
SELECT minikafka.set_group_option('limited', 'paused', 'false');
BEGIN;
SELECT minikafka.acknowledge('limited', receipt, 'fail') FROM minikafka.acquire('limited');
COMMIT;
SELECT paused FROM minikafka.share_groups WHERE group_id = 'limited';
-- an hour later
SELECT minikafka.set_group_option('limited', 'paused', 'false');
SET minikafka.clock_offset = '61 min';
BEGIN;
SELECT minikafka.acknowledge('limited', receipt, 'fail') FROM minikafka.acquire('limited');
COMMIT;
RESET minikafka.clock_offset;
SELECT count(*) FROM minikafka.fetch('work.dead', 0, 0);

SELECT minikafka.delete_group('pausing'), minikafka.delete_group('limited');
SELECT minikafka.drop_topic('work'), minikafka.drop_topic('work.dead');
