--
-- acquire(): which records it hands out, and what a transaction must do with them
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('work', 1), minikafka.create_topic('work.more', 1);
-- offsets 0 to 8: of three keys in turn; 9 and 10 have none
SELECT count(minikafka.send('work', 'v' || i, 'k' || i % 3)) FROM generate_series(0, 8) i;
SELECT count(minikafka.send('work', 'v' || i)) FROM generate_series(9, 10) i;
-- What a call hands out, in short: offset, key, delivery
CREATE FUNCTION pg_temp.acquire(g text, most int DEFAULT 100, accept boolean DEFAULT false) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset" || coalesce(' ' || key, '') || CASE delivery_count WHEN 1 THEN '' ELSE ' #' || delivery_count END, ', ' ORDER BY "offset")
	FROM minikafka.acquire_text(g, most, accept => accept)
$$;
-- What is done: offsets
CREATE FUNCTION pg_temp.done(g text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN first_offset = last_offset THEN '' ELSE first_offset || '-' END || last_offset, ', ' ORDER BY last_offset)
	FROM minikafka.share_done JOIN minikafka.consumer_group USING (group_no) WHERE group_id = g
$$;

-- The whole record
SELECT minikafka.create_share_group('g', '{work}', backoff => '10 s');
BEGIN;
SELECT topic, partition, "offset", ts <= now() AS ts, key, value, headers, delivery_count, receipt ~ '^\d+\.0\.\d+\.0\.0\.t0$' AS receipt, fencing_token
FROM minikafka.acquire('g');
SELECT topic, partition, "offset", ts <= now() AS ts, key, value, headers, delivery_count, receipt ~ '^\d+\.0\.\d+\.0\.1\.t0$' AS receipt, fencing_token
FROM minikafka.acquire_text('g');
SELECT topic, partition, "offset", key, value, delivery_count FROM minikafka.acquire_text('g', 2);
-- Kafka cases S04, X01: what is held is not handed out again
SELECT pg_temp.acquire('g');
SELECT pg_temp.acquire('g');
ROLLBACK;

-- Unanswered at COMMIT: it fails, and the records are handed out again.  So does a
-- call outside of a transaction block
BEGIN;
SELECT "offset" FROM minikafka.acquire('g', 2);
COMMIT;
SELECT "offset" FROM minikafka.acquire('g', 2);
SELECT pg_temp.done('g');

-- accept: the commit accepts; Kafka case S02
SELECT minikafka.create_share_group('accept', '{work}');
SELECT pg_temp.acquire('accept', 5, true);
SELECT pg_temp.done('accept');
BEGIN;
SELECT pg_temp.acquire('accept', 2, true);
ROLLBACK;
SELECT pg_temp.acquire('accept', 2, true);
SELECT pg_temp.acquire('accept', 100, true);
SELECT pg_temp.acquire('accept', 100, true);
SELECT pg_temp.done('accept');
-- a record that is answered otherwise is not accepted
SELECT minikafka.send('work', 'v11', 'k0'), minikafka.send('work', 'v12', 'k1');
BEGIN;
SELECT "offset", minikafka.acknowledge('accept', receipt, CASE "offset" WHEN 11 THEN 'release' ELSE 'accept' END) FROM minikafka.acquire('accept', 100, accept => true);
COMMIT;
SELECT pg_temp.acquire('accept', 100, true);

-- What LIMIT, WHERE or a cursor did not show is handed out all the same
SELECT minikafka.create_share_group('unseen', '{work}');
BEGIN;
SELECT minikafka.acknowledge('unseen', receipt) FROM minikafka.acquire('unseen', 3) LIMIT 1;
COMMIT;
BEGIN;
SELECT minikafka.acknowledge('unseen', receipt) FROM minikafka.acquire('unseen', 3) WHERE key = '\x6b30';
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT "offset", minikafka.acknowledge('unseen', receipt) FROM minikafka.acquire('unseen', 3);
FETCH 2 FROM c;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT "offset", minikafka.acknowledge('unseen', receipt) FROM minikafka.acquire('unseen', 3);
FETCH 3 FROM c;
COMMIT;
SELECT pg_temp.done('unseen');
-- a loop that commits in its middle has not answered the rest
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT receipt FROM minikafka.acquire('unseen', 2) LOOP
		PERFORM minikafka.acknowledge('unseen', r.receipt);
		COMMIT;
	END LOOP;
END $$;
SELECT pg_temp.done('unseen');
-- this one is right
CREATE TABLE worked (value text);
CREATE PROCEDURE pg_temp.work(g text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	LOOP
		SELECT * INTO r FROM minikafka.acquire_text(g);
		EXIT WHEN NOT FOUND;
		INSERT INTO worked VALUES (r.value);
		PERFORM minikafka.acknowledge(g, r.receipt);
		COMMIT;
	END LOOP;
END $$;
CALL pg_temp.work('unseen');
SELECT count(*), min(value), max(value) FROM worked;
SELECT minikafka.acquire('unseen');

-- Order: a record comes when all earlier ones of its key are done or held by the
-- same transaction; a record without a key is for itself
SELECT minikafka.create_share_group('order', '{work}', backoff => '10 s');
BEGIN;
SELECT minikafka.acknowledge('order', receipt, 'fail', 'busy') FROM minikafka.acquire('order');
COMMIT;
SELECT pg_temp.acquire('order', 100, true);
SET minikafka.clock_offset = '15 s';
SELECT pg_temp.acquire('order', 100, true);
RESET minikafka.clock_offset;
-- with ordering "none" each record is for itself
SELECT minikafka.create_share_group('none', '{work}', ordering => 'none', backoff => '10 s');
BEGIN;
SELECT minikafka.acknowledge('none', receipt, 'fail', 'busy') FROM minikafka.acquire('none');
COMMIT;
SELECT pg_temp.acquire('none', 100, true);
SET minikafka.clock_offset = '15 s';
SELECT pg_temp.acquire('none', 100, true);
RESET minikafka.clock_offset;

-- max_bytes: the first record whatever its size
SELECT minikafka.create_share_group('bytes', '{work}');
SELECT minikafka.send('work.more', repeat('x', 100)), minikafka.send('work.more', repeat('y', 100));
BEGIN;
SELECT "offset" FROM minikafka.acquire('bytes', 100, 1, accept => true);
SELECT "offset" FROM minikafka.acquire('bytes', 100, 12, accept => true);
ROLLBACK;

-- A transaction holds at most half of max_locks_per_transaction slots.  The rest of
-- what it asks for are records of those.
SHOW max_locks_per_transaction;
SELECT minikafka.create_topic('keys', 1);
SELECT count(minikafka.send('keys', 'v', (i % 50)::text)) FROM generate_series(0, 149) i;
SELECT minikafka.create_share_group('keys', '{keys}');
BEGIN;
SELECT count(*), count(DISTINCT key) FROM minikafka.acquire('keys', 50, accept => true);
SELECT count(*), count(DISTINCT key) FROM minikafka.acquire('keys', 50, accept => true);
SELECT count(*) FROM minikafka.acquire('keys', 50, accept => true);
COMMIT;
SELECT count(*), count(DISTINCT key) FROM minikafka.acquire('keys', 200, accept => true);
-- with ordering "none", each record has a slot
SELECT minikafka.create_share_group('keys none', '{keys}', ordering => 'none');
BEGIN;
SELECT count(*) FROM minikafka.acquire('keys none', 150, accept => true);
SELECT count(*) FROM minikafka.acquire('keys none', 150, accept => true);
COMMIT;
SELECT count(*) FROM minikafka.acquire('keys none', 150, accept => true);

-- Keys take turns: a key with many records does not hold up the others
SELECT minikafka.create_topic('turns', 1);
SELECT count(minikafka.send('turns', 'v', CASE WHEN i < 8 THEN 'hot' ELSE 'k' || i END)) FROM generate_series(0, 9) i;
SELECT minikafka.create_share_group('turns', '{turns}');
SELECT pg_temp.acquire('turns', 1, true);
BEGIN;
SELECT pg_temp.acquire('turns', 100);
ROLLBACK;
SELECT pg_temp.acquire('turns', 1, true);
SELECT pg_temp.acquire('turns', 1, true);
SELECT pg_temp.acquire('turns', 1, true);
SELECT pg_temp.acquire('turns', 1, true);

-- Several topics, and two groups in one transaction
SELECT minikafka.create_share_group('both', '{work.more,work}');
SELECT topic, count(*) FROM minikafka.acquire('both', 100, accept => true) GROUP BY topic ORDER BY topic;
SELECT minikafka.create_share_group('other', '{work}');
BEGIN;
SELECT "offset" AS g, minikafka.acknowledge('g', receipt) FROM minikafka.acquire('g', 2);
SELECT "offset" AS other, minikafka.acknowledge('other', receipt, 'reject') FROM minikafka.acquire('other', 3);
COMMIT;
SELECT pg_temp.done('g'), pg_temp.done('other');
BEGIN;
SELECT "offset" AS g, minikafka.acknowledge('g', receipt) FROM minikafka.acquire('g', 2);
SELECT "offset" AS other FROM minikafka.acquire('other', 3);
COMMIT;
SELECT pg_temp.done('g'), pg_temp.done('other');

-- In a query over other tables; one statement does all
CREATE TABLE price (key text PRIMARY KEY, cents int);
INSERT INTO price VALUES ('k0', 10), ('k1', 20), ('k2', 30);
CREATE TABLE bill (value text, cents int);
WITH r AS (SELECT * FROM minikafka.acquire_text('g', 4, accept => true))
INSERT INTO bill SELECT value, cents FROM r JOIN price USING (key) RETURNING *;
-- what the join leaves out is accepted too
SELECT pg_temp.done('g');
INSERT INTO bill SELECT value, cents FROM minikafka.acquire_text('g', 2) JOIN price USING (key)
WHERE minikafka.acknowledge('g', receipt) = 'accepted' RETURNING *;
SELECT pg_temp.done('g');

-- Each isolation level
SELECT minikafka.create_share_group('levels', '{work}');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_temp.acquire('levels', 2, true);
SELECT pg_temp.acquire('levels', 1, true);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT pg_temp.acquire('levels', 2, true);
COMMIT;
SELECT pg_temp.done('levels');
-- a record that the transaction itself sends comes after its COMMIT; max_wait does
-- not wait in REPEATABLE READ
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM minikafka.acquire('levels', 100, accept => true);
SELECT minikafka.send('work', 'v13', 'k0');
SELECT minikafka.append('work', 0, 'k1', 'v14');
SELECT count(*) FROM minikafka.acquire('levels', 100, max_wait => '1 h', accept => true);
COMMIT;
SELECT pg_temp.acquire('levels', 100, true);
-- nothing to hand out: an empty result after max_wait; Kafka case Q07
SELECT count(*) FROM minikafka.acquire('levels', 100, max_wait => '10 ms');

-- Records that cannot be decoded have failed with that error; the call goes on
SELECT minikafka.create_topic('mixed', 1);
SELECT minikafka.send('mixed', '\xff00'::bytea, 'a'), minikafka.send('mixed', 'no json', 'b'), minikafka.send('mixed', '{"a": 1}', 'c'),
	minikafka.send('mixed', '{"b": 2}', 'a'), minikafka.send('mixed', NULL, 'c');
SELECT minikafka.create_share_group('text', '{mixed}'), minikafka.create_share_group('json', '{mixed}', max_deliveries => 1);
SELECT "offset", key, value FROM minikafka.acquire_text('text', 100, accept => true);
SELECT "offset", key, value FROM minikafka.acquire_json('json', 100, accept => true);
SELECT group_id, record_offset, state, deliveries, error FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no)
WHERE group_id IN ('text', 'json') ORDER BY group_id, record_offset;
-- a rollback has handed out nothing, so it has not failed
SELECT minikafka.create_share_group('undecoded', '{mixed}', max_deliveries => 1);
BEGIN;
SELECT "offset" FROM minikafka.acquire_text('undecoded', 1);
ROLLBACK;
SELECT count(*) FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'undecoded';
-- as bytes all are fine
SELECT "offset", value FROM minikafka.acquire('undecoded', 100, accept => true);

-- What is gone is done: by retention, and by compaction; Kafka cases S22, W08
SELECT minikafka.create_topic('shrinking', 1, cleanup_policy => 'compact');
SELECT count(minikafka.send('shrinking', 'v' || i, 'k' || i % 2)) FROM generate_series(0, 9) i;
SELECT minikafka.create_share_group('shrinking', '{shrinking}', backoff => '10 s');
BEGIN;
SELECT minikafka.acknowledge('shrinking', receipt, 'fail') FROM minikafka.acquire('shrinking');
COMMIT;
SELECT minikafka.delete_records('shrinking', 0, 4);
SELECT pg_temp.acquire('shrinking', 2, true);
-- a key whose first record waits is looked at again after a second at most
SET minikafka.clock_offset = '2 s';
SELECT pg_temp.acquire('shrinking', 1, true);
CALL minikafka.compact('shrinking');
SELECT "offset" FROM minikafka.fetch('shrinking', 0, 4);
SELECT pg_temp.acquire('shrinking', 100, true);
BEGIN;
SELECT minikafka.send('shrinking', 'v' || i, 'k0') FROM generate_series(10, 12) i;
COMMIT;
BEGIN;
SELECT minikafka.acknowledge('shrinking', receipt, 'release', retry_after => '1 h') FROM minikafka.acquire('shrinking');
COMMIT;
SELECT pg_temp.acquire('shrinking', 100, true);
SELECT minikafka.delete_records('shrinking', 0, 12);
SET minikafka.clock_offset = '4 s';
SELECT pg_temp.acquire('shrinking', 100, true);
RESET minikafka.clock_offset;

-- latest: what was sent before is not handed out; Kafka case S29
SELECT minikafka.create_share_group('latest', '{work}', auto_offset_reset => 'latest');
SELECT pg_temp.acquire('latest');
SELECT minikafka.send('work', 'v15', 'k0');
SELECT pg_temp.acquire('latest', 100, true);

-- A topic that is dropped takes its records with it
SELECT minikafka.create_topic('passing', 1);
SELECT minikafka.send('passing', 'v');
SELECT minikafka.create_share_group('passing', '{passing,work}');
BEGIN;
SELECT topic, count(*) FROM minikafka.acquire('passing', 100, lock_duration => '1 ms') GROUP BY topic ORDER BY topic;
ROLLBACK;
SELECT minikafka.drop_topic('passing');
SELECT topic, "offset" FROM minikafka.acquire('passing', 1, accept => true);

-- PREPARE TRANSACTION is refused
BEGIN;
SELECT "offset" FROM minikafka.acquire('passing', 1, accept => true);
PREPARE TRANSACTION 'share';

-- Arguments, names and rights; Kafka case X13
SELECT minikafka.acquire('nobody');
SELECT minikafka.acquire(NULL);
SELECT minikafka.acquire('');
SELECT minikafka.acquire('g', 0);
SELECT minikafka.acquire('g', NULL);
SELECT minikafka.acquire('g', 1, 0);
SELECT minikafka.acquire('g', max_wait => NULL);
SELECT minikafka.acquire('g', max_wait => '-1 s');
SELECT minikafka.acquire('g', lock_duration => '0');
SELECT minikafka.acquire('g', lock_duration => '25 days');
SELECT minikafka.acquire('g', accept => NULL);
SELECT minikafka.acquire('g', lock_duration => '1 s', accept => true);
SELECT minikafka.join_group('members', '{work}', 'm');
SELECT minikafka.acquire('members');
SELECT minikafka.poll('g', 'm');
BEGIN READ ONLY;
SELECT minikafka.acquire('g');
ROLLBACK;
CREATE ROLE regress_worker;
GRANT USAGE ON SCHEMA minikafka TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.acquire('g');
RESET ROLE;
SELECT minikafka.grant_group('g', 'regress_worker');
SET ROLE regress_worker;
SELECT minikafka.acquire('g');
RESET ROLE;
GRANT SELECT ON minikafka_topics.work TO regress_worker;
SET ROLE regress_worker;
SELECT "offset" FROM minikafka.acquire('g', accept => true);
RESET ROLE;
-- nothing to hand out
SELECT minikafka.create_topic('empty', 1), minikafka.create_share_group('empty', '{empty}');
SELECT minikafka.acquire('empty');

SELECT minikafka.leave_group('members', 'm');
SELECT count(minikafka.delete_group(group_id)) > 0 AS deleted FROM minikafka.groups;
SELECT count(minikafka.drop_topic(topic)) > 0 AS dropped FROM minikafka.topics;
REVOKE USAGE ON SCHEMA minikafka FROM regress_worker;
DROP ROLE regress_worker;
DROP TABLE worked, price, bill;
