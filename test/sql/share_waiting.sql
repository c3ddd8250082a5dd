-- Where one record waits, a walk looks at the next ones without a lock.
SELECT minikafka.create_topic('waiting', 1);
SELECT minikafka.send('waiting', 'v' || i, chr(97 + i % 6)) FROM generate_series(0, 12) i;
SELECT minikafka.create_share_group('waiting', '{waiting}');
SELECT "offset" FROM minikafka.acquire('waiting', accept => true);
-- one by one, since a walk learns from the first that records wait
CREATE FUNCTION acquired(n integer) RETURNS text LANGUAGE sql VOLATILE
AS $$ SELECT string_agg(r."offset"::text, ' ') FROM generate_series(1, n) i, minikafka.acquire('waiting', sign(i)::integer) r $$;
CREATE FUNCTION answer(record bigint, type text) RETURNS text LANGUAGE sql
RETURN (SELECT minikafka.acknowledge('waiting', receipt, type) FROM minikafka.share_deliveries
  WHERE group_id = 'waiting' AND "offset" = record);
BEGIN;
SELECT minikafka.acknowledge('waiting', receipt, 'fail', 'once', '1 s') FROM minikafka.acquire('waiting', 4);
COMMIT;
SET minikafka.clock_offset = '2 s';
BEGIN;
SELECT minikafka.acknowledge('waiting', receipt, 'fail', 'twice', '1 h') FROM minikafka.acquire('waiting', 4);
COMMIT;
RESET minikafka.clock_offset;
-- the newest row of each counts, in the log
BEGIN;
SELECT acquired(9);
ROLLBACK;
-- in what is remembered, of which each is looked at again
SET minikafka.clock_offset = '4 s';
BEGIN;
SELECT acquired(9);
ROLLBACK;
-- and in a checkpoint
CALL minikafka.maintain();
\connect -
BEGIN;
SELECT acquired(9);
ROLLBACK;

-- What a person has released is handed out
SELECT answer(3, 'release');
\connect -
BEGIN;
SELECT acquired(1);
ROLLBACK;
-- What a person has accepted is done, for another session after a second at most
SELECT answer(2, 'accept');
\connect -
BEGIN;
SELECT acquired(9);
ROLLBACK;
SET minikafka.clock_offset = '2 s';
BEGIN;
SELECT acquired(9);
ROLLBACK;

-- Under an acquisition lock: no other session gets it, and when it has been
-- answered, what follows
SELECT answer(3, 'accept'), answer(4, 'release');
\connect -
SELECT receipt FROM minikafka.acquire('waiting', 3, lock_duration => '1 h') WHERE "offset" = 4 \gset
\connect -
BEGIN;
SELECT acquired(9);
ROLLBACK;
-- the transaction that answers gets the next one of the key
BEGIN;
SELECT minikafka.acknowledge('waiting', :'receipt');
SELECT acquired(9);
ROLLBACK;
-- and another session gets it when that is committed
\connect -
SELECT minikafka.acknowledge('waiting', :'receipt');
BEGIN;
SELECT acquired(9);
ROLLBACK;
SELECT minikafka.delete_group('waiting'), minikafka.drop_topic('waiting');

-- What waits and is gone holds up nothing: by compaction, and by retention
SELECT minikafka.create_topic('waiting', 1, cleanup_policy => 'compact');
SELECT minikafka.send('waiting', 'v' || i, chr(96 + i)) FROM generate_series(0, 4) i;
SELECT minikafka.create_share_group('waiting', '{waiting}');
SELECT "offset" FROM minikafka.acquire('waiting', accept => true);
BEGIN;
SELECT minikafka.acknowledge('waiting', receipt, 'release', retry_after => '1 h') FROM minikafka.acquire('waiting', 4);
COMMIT;
CALL minikafka.maintain();
SELECT minikafka.send('waiting', 'new', chr(97 + i)) FROM generate_series(2, 3) i;
CALL minikafka.compact('waiting');
SELECT "offset" FROM minikafka.fetch('waiting', 0, 0);
\connect -
BEGIN;
SELECT acquired(9);
ROLLBACK;
SELECT minikafka.send('waiting', 'new', chr(97 + i)) FROM generate_series(0, 1) i;
SELECT minikafka.delete_records('waiting', 0, 3);
\connect -
BEGIN;
SELECT acquired(9);
ROLLBACK;
SELECT minikafka.delete_group('waiting'), minikafka.drop_topic('waiting');
DROP FUNCTION acquired, answer;
