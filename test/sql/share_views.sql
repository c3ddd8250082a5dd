--
-- Share groups: what the view share_deliveries shows, what operators answer, and
-- waiting for records
--
CREATE ROLE share_worker;
CREATE ROLE share_other;
CREATE ROLE share_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA minikafka TO share_worker, share_other;
SELECT minikafka.create_topic('sv', 1);
GRANT SELECT ON minikafka_topics.sv TO share_worker, share_other;
SELECT minikafka.create_share_group('sv', '{sv}', max_deliveries => 2, backoff => '1h', max_backoff => '1h');
SELECT minikafka.grant_group('sv', 'share_worker');
-- keys a to f, each twice
SELECT count(minikafka.send('sv', i::text, key => chr(97 + i % 6))) FROM generate_series(0, 11) i;
CREATE VIEW seen AS
SELECT "offset", state, delivery_count, locked_until > now() AS locked, waiting_until > now() + interval '10 min' AS waiting, error, pid = pg_backend_pid() AS mine, changed_at IS NOT NULL AS changed
FROM minikafka.share_deliveries WHERE group_id = 'sv' ORDER BY 1;
CREATE FUNCTION receipt_of(o bigint) RETURNS text LANGUAGE sql AS $$ SELECT receipt FROM minikafka.share_deliveries WHERE group_id = 'sv' AND "offset" = o $$;
SELECT * FROM seen;

-- held by a session, and by nobody when it has ended
BEGIN;
SELECT "offset" FROM minikafka.acquire('sv', 2);
SELECT * FROM seen;
ROLLBACK;
SELECT * FROM seen;

-- a: failed once, b: exhausted, c: under a lock, d: released for later, e: done
BEGIN;
SELECT "offset", minikafka.acknowledge('sv', receipt, 'fail', CASE "offset" WHEN 0 THEN 'a is bad' END) FROM minikafka.acquire('sv', 1);
COMMIT;
BEGIN;
SELECT "offset", minikafka.acknowledge('sv', receipt, 'fail', 'b is bad', '0') FROM minikafka.acquire('sv', 1);
COMMIT;
BEGIN;
SELECT "offset", delivery_count, minikafka.acknowledge('sv', receipt, 'fail', 'b is bad still') FROM minikafka.acquire('sv', 1);
COMMIT;
SELECT "offset", receipt AS c FROM minikafka.acquire('sv', 1, lock_duration => '1h') \gset
BEGIN;
SELECT "offset", minikafka.acknowledge('sv', receipt, 'release', retry_after => '1h') FROM minikafka.acquire('sv', 1);
COMMIT;
SELECT "offset" FROM minikafka.acquire('sv', 1, accept => true);
SELECT * FROM seen;

-- What an operator answers.  Try again now: the one that waits, the one that is
-- blocked, and the one under a lock, whose worker has lost it.
SELECT minikafka.acknowledge('sv', receipt_of(0), 'release');
SELECT minikafka.acknowledge('sv', receipt_of(1), 'release');
SELECT minikafka.acknowledge('sv', receipt_of(2), 'release');
SELECT * FROM seen;
SELECT minikafka.acknowledge('sv', :'c');
SELECT minikafka.renew('sv', :'c', '1h');
BEGIN;
-- at once, also to this session, which has seen the first two wait
SELECT "offset", delivery_count, minikafka.acknowledge('sv', receipt, CASE WHEN "offset" < 2 THEN 'release' ELSE 'fail' END, CASE WHEN "offset" < 2 THEN NULL ELSE 'again' END) FROM minikafka.acquire('sv', 5);
COMMIT;
SELECT * FROM seen;
-- skip it; let it go; each only once
SELECT receipt_of(0) AS a, receipt_of(1) AS b, receipt_of(3) AS d \gset
SELECT minikafka.acknowledge('sv', :'a', 'accept');
SELECT minikafka.acknowledge('sv', :'b', 'reject');
SELECT minikafka.acknowledge('sv', :'d', 'accept');
SELECT minikafka.acknowledge('sv', :'a', 'accept');
SELECT minikafka.acknowledge('sv', :'b', 'release');
SELECT * FROM seen;
-- the answer is one of the transaction
BEGIN;
SELECT minikafka.acknowledge('sv', receipt_of(2), 'accept');
ROLLBACK;
SELECT * FROM seen;
SELECT "offset" FROM minikafka.acquire('sv', 10, accept => true) ORDER BY 1;

-- a lock whose end has passed, and an operator's answer to it; the worker that
-- comes later has lost the record
SELECT minikafka.send('sv', '12', key => 'g');
SELECT "offset", receipt AS g FROM minikafka.acquire('sv', 1, lock_duration => '1ms') \gset
SELECT pg_sleep(0.01);
SELECT * FROM seen;
SELECT minikafka.acknowledge('sv', receipt_of(12), 'accept');
SELECT minikafka.acknowledge('sv', :'g');
SELECT * FROM seen;

-- a record that has no row yet, and is not done
SELECT minikafka.send('sv', '13', key => 'h');
BEGIN;
SELECT "offset" FROM minikafka.acquire('sv', 1);
SELECT receipt_of(13) AS h \gset
ROLLBACK;
SELECT minikafka.acknowledge('sv', :'h', 'accept');
SELECT * FROM minikafka.acquire('sv', 1);

-- Who sees what.  A member of pg_monitor sees neither errors nor receipts.
SELECT "offset", state, error, receipt IS NOT NULL AS receipt FROM minikafka.share_deliveries WHERE group_id = 'sv';
SET ROLE share_worker;
SELECT "offset", state, error, receipt IS NOT NULL AS receipt FROM minikafka.share_deliveries WHERE group_id = 'sv';
SET ROLE share_monitor;
SELECT "offset", state, error, receipt IS NOT NULL AS receipt FROM minikafka.share_deliveries WHERE group_id = 'sv';
SET ROLE share_other;
SELECT "offset", state, error, receipt IS NOT NULL AS receipt FROM minikafka.share_deliveries WHERE group_id = 'sv';
SELECT * FROM minikafka.group_deliveries('sv');
RESET ROLE;
REVOKE SELECT ON minikafka_topics.sv FROM share_worker;
SET ROLE share_worker;
SELECT "offset", state, error, receipt IS NOT NULL AS receipt FROM minikafka.share_deliveries WHERE group_id = 'sv';
RESET ROLE;
SELECT * FROM minikafka.group_deliveries('unknown');
SELECT * FROM minikafka.group_deliveries(NULL);

-- the error of the last failure stays while a delivery has no other one
SELECT minikafka.create_share_group('sv error', '{sv}');
BEGIN;
SELECT "offset", minikafka.acknowledge('sv error', receipt, 'fail', 'bad', '0') FROM minikafka.acquire('sv error');
COMMIT;
SELECT "offset", receipt FROM minikafka.acquire('sv error', lock_duration => '1h') \gset
SELECT "offset", state, error FROM minikafka.share_deliveries WHERE group_id = 'sv error';
SELECT minikafka.acknowledge('sv error', :'receipt', 'release', retry_after => '1h');
SELECT "offset", state, error FROM minikafka.share_deliveries WHERE group_id = 'sv error';
SELECT minikafka.acknowledge('sv error', receipt, 'fail') FROM minikafka.share_deliveries WHERE group_id = 'sv error';
SELECT "offset", state, error FROM minikafka.share_deliveries WHERE group_id = 'sv error';

-- with ordering none
SELECT minikafka.create_share_group('sv none', '{sv}', ordering => 'none', backoff => '1h', max_backoff => '1h');
BEGIN;
SELECT "offset", minikafka.acknowledge('sv none', receipt, 'fail') FROM minikafka.acquire('sv none', 2);
COMMIT;
SELECT "offset", state, delivery_count FROM minikafka.share_deliveries WHERE group_id = 'sv none' ORDER BY 1;
-- what is gone is done
SELECT minikafka.delete_records('sv', 0, 1);
SELECT "offset", state, delivery_count FROM minikafka.share_deliveries WHERE group_id = 'sv none' ORDER BY 1;

-- a topic that cannot be read has no rows
GRANT SELECT ON minikafka_topics.sv TO share_worker;
ALTER TABLE minikafka_topics.sv ENABLE ROW LEVEL SECURITY;
SET ROLE share_worker;
SELECT count(*) FROM minikafka.share_deliveries;
RESET ROLE;
ALTER TABLE minikafka_topics.sv DISABLE ROW LEVEL SECURITY;

-- wait_for_records(): a share group has no members
CALL minikafka.wait_for_records('sv', 'm', '0');
CALL minikafka.wait_for_records('sv unknown', NULL, '0');
SELECT minikafka.join_group('sv consumer', '{sv}', 'm');
CALL minikafka.wait_for_records('sv consumer', NULL, '0');
SET ROLE share_other;
CALL minikafka.wait_for_records('sv', NULL, '0');
RESET ROLE;
BEGIN;
CALL minikafka.wait_for_records('sv', NULL, '1h');
ROLLBACK;
-- it returns at once if there is something, and holds nothing then
CALL minikafka.wait_for_records('sv none', NULL, '20 days');
SELECT count(*) FROM pg_locks WHERE objsubid = 19791;
SELECT count(*) FROM minikafka.acquire('sv none', 100, accept => true);
-- otherwise it waits that long, and not for what is due later
CALL minikafka.wait_for_records('sv none', NULL, '0.2 s');
CALL minikafka.wait_for_records('sv none', NULL, '0');
-- or until a record that waits is due
SELECT minikafka.send('sv', '14');
BEGIN;
SELECT "offset", minikafka.acknowledge('sv none', receipt, 'release', retry_after => '0.3 s') FROM minikafka.acquire('sv none', 1);
COMMIT;
SELECT * FROM minikafka.acquire('sv none', 1);
CALL minikafka.wait_for_records('sv none', NULL, '20 days');
SELECT "offset" FROM minikafka.acquire('sv none', 1, accept => true);

SELECT minikafka.leave_group('sv consumer', 'm');
SELECT minikafka.delete_group(g) FROM unnest('{sv, sv none, sv consumer}'::text[]) g;
SELECT minikafka.drop_topic('sv');
DROP VIEW seen;
DROP FUNCTION receipt_of(bigint);
REVOKE USAGE ON SCHEMA minikafka FROM share_worker, share_other;
DROP ROLE share_worker, share_other, share_monitor;
