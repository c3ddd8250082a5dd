--
-- poll(): positions, bounds, turns, pauses, seeks; and the transaction
--
SELECT minikafka.create_topic('polled', 3), minikafka.create_topic('polled.too', 1);
SELECT count(minikafka.send('polled', 'v' || i, 'k' || i, partition => i % 3)) FROM generate_series(0, 29) i;
-- What a poll returns, in short
CREATE FUNCTION pg_temp.poll(g text, m text, most int DEFAULT 100, bytes int DEFAULT 52428800) RETURNS TABLE (read text) LANGUAGE sql AS $$
	SELECT topic || '/' || partition || ': ' || string_agg("offset"::text, ' ' ORDER BY "offset")
	FROM minikafka.poll(g, m, most, bytes) GROUP BY topic, partition ORDER BY topic COLLATE "C", partition
$$;

-- The whole record
SELECT minikafka.join_group('g', '{polled}', 'm');
SELECT topic, partition, "offset", ts <= now() AS ts, key, value, headers FROM minikafka.poll('g', 'm', 1);
SELECT topic, partition, "offset", ts <= now() AS ts, key, value, headers FROM minikafka.poll_text('g', 'm', 1);
SELECT minikafka.send('polled', '{"a": 1}'::jsonb, 'k', '{"h": "v"}', 2);
SELECT minikafka.seek('g', 'm', 'polled', 2, 10);
SELECT topic, partition, "offset", ts <= now() AS ts, key, value, headers FROM minikafka.poll_json('g', 'm', 1);
SELECT minikafka.leave_group('g', 'm');

-- Bounded by records: at most so many, all partitions together, in the order of
-- each; what is left comes the next time
SELECT minikafka.join_group('records', '{polled}', 'm');
SELECT * FROM pg_temp.poll('records', 'm', 4);
SELECT * FROM pg_temp.poll('records', 'm', 4);
SELECT * FROM pg_temp.poll('records', 'm', 12);
SELECT * FROM pg_temp.poll('records', 'm', 100);
SELECT * FROM pg_temp.poll('records', 'm', 100);
-- the default is 100: of 105 it leaves 5
SELECT minikafka.create_topic('many', 4);
SELECT count(minikafka.send('many', i::text, partition => i % 4)) FROM generate_series(1, 105) i;
SELECT minikafka.join_group('many', '{many}', 'm');
SELECT count(*) FROM minikafka.poll('many', 'm');
SELECT sum("offset") FROM minikafka.commit('many', 'm');
SELECT count(*) FROM minikafka.poll('many', 'm');
SELECT count(*) FROM minikafka.poll('many', 'm');
SELECT sum("offset") FROM minikafka.commit('many', 'm');
-- by bytes: the first record always, after it as many as fit, over all partitions
SELECT minikafka.create_topic('bytes', 2);
SELECT count(minikafka.send('bytes', repeat('v', 1000), partition => i % 2)) FROM generate_series(0, 9) i;
SELECT minikafka.join_group('bytes', '{bytes}', 'm');
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 1);
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 1);
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 2999);
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 3000);
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 5000);
SELECT * FROM pg_temp.poll('bytes', 'm', bytes => 5000);

-- In turn: a partition that always has more does not starve the others
SELECT minikafka.create_topic('full', 1), minikafka.create_topic('thin', 2);
SELECT count(minikafka.send('full', i::text)) FROM generate_series(1, 1000) i;
SELECT minikafka.join_group('turns', '{full, thin}', 'm');
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT count(minikafka.send('thin', 'v', partition => p)) FROM generate_series(0, 1) p;
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT count(minikafka.send('thin', 'v', partition => p)) FROM generate_series(0, 1) p, generate_series(1, 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
-- also in one transaction, and where the members of the transaction before did
BEGIN;
SELECT count(minikafka.send('thin', 'v', partition => p)) FROM generate_series(0, 1) p, generate_series(1, 6);
COMMIT;
BEGIN;
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
SELECT * FROM pg_temp.poll('turns', 'm', 3);
COMMIT;
-- one that gives one record each time: all get theirs
SELECT minikafka.join_group('ones', '{polled}', 'm');
CREATE PROCEDURE pg_temp.poll_one_by_one(g text, times int) LANGUAGE plpgsql AS $$
DECLARE
	seen text := '';
BEGIN
	FOR i IN 1..times LOOP
		seen := seen || (SELECT format(' %s/%s', partition, "offset") FROM minikafka.poll(g, 'm', 1));
		COMMIT;
	END LOOP;
	RAISE NOTICE '%', seen;
END $$;
CALL pg_temp.poll_one_by_one('ones', 9);
SELECT * FROM minikafka.commit('ones', 'm') ORDER BY partition;

-- Twice in one transaction: it reads on; all of it is committed, or nothing
BEGIN;
SELECT * FROM pg_temp.poll('ones', 'm', 3);
SELECT * FROM pg_temp.poll('ones', 'm', 3);
SELECT * FROM minikafka.commit('ones', 'm') ORDER BY partition;
ROLLBACK;
SELECT partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'ones' ORDER BY 1;
BEGIN;
SELECT * FROM pg_temp.poll('ones', 'm', 3);
SELECT * FROM pg_temp.poll('ones', 'm', 3);
SELECT * FROM minikafka.commit('ones', 'm') ORDER BY partition;
COMMIT;
SELECT partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'ones' ORDER BY 1;
-- a poll that is rolled back has not moved anything, and so has one that failed
BEGIN;
SELECT * FROM pg_temp.poll('ones', 'm', 2);
ROLLBACK;
SELECT * FROM pg_temp.poll('ones', 'm', 2);
-- savepoints
BEGIN;
SELECT * FROM pg_temp.poll('ones', 'm', 2);
SAVEPOINT s1;
SELECT * FROM pg_temp.poll('ones', 'm', 2);
SAVEPOINT s2;
SELECT * FROM pg_temp.poll('ones', 'm', 2);
SELECT * FROM minikafka.commit('ones', 'm') ORDER BY partition;
ROLLBACK TO s2;
SELECT * FROM minikafka.commit('ones', 'm') ORDER BY partition;
ROLLBACK TO s1;
SELECT * FROM pg_temp.poll('ones', 'm', 1);
SAVEPOINT s3;
SELECT minikafka.seek('ones', 'm', 'polled', 0, 0);
SELECT minikafka.seek('ones', 'm', 'polled', 1, 0);
RELEASE s3;
SAVEPOINT s4;
SELECT minikafka.pause('ones', 'm', 'polled', 0);
ROLLBACK TO s4;
SAVEPOINT s5;
SELECT minikafka.pause('ones', 'm', 'polled', 1);
RELEASE s5;
COMMIT;
SELECT * FROM pg_temp.poll('ones', 'm', 100);
SELECT minikafka.resume('ones', 'm', 'polled', 1);
SELECT * FROM pg_temp.poll('ones', 'm', 100);

-- Pause and resume. A pause is with the transaction, of one partition
SELECT minikafka.join_group('pauses', '{polled}', 'm');
BEGIN;
SELECT minikafka.pause('pauses', 'm', 'polled', 0);
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
ROLLBACK;
SELECT minikafka.pause('pauses', 'm', 'polled', 0), minikafka.pause('pauses', 'm', 'polled', 0);
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT * FROM minikafka.assignment('pauses', 'm') ORDER BY 2;
-- its position can be set, and is committed
SELECT minikafka.seek('pauses', 'm', 'polled', 0, 7);
SELECT * FROM minikafka.commit('pauses', 'm') ORDER BY partition;
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT minikafka.resume('pauses', 'm', 'polled', 0);
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT minikafka.resume('pauses', 'm', 'polled', 0);
-- resumed in the same transaction it was never paused; of both the last counts
BEGIN;
SELECT minikafka.pause('pauses', 'm', 'polled', 0);
SELECT minikafka.resume('pauses', 'm', 'polled', 0);
SELECT minikafka.resume('pauses', 'm', 'polled', 1);
SELECT minikafka.pause('pauses', 'm', 'polled', 1);
COMMIT;
SELECT minikafka.seek('pauses', 'm', 'polled', p, 9) FROM generate_series(0, 1) p;
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
-- it ends with the assignment: with a join again, a rebalance that moves it
SELECT minikafka.join_group('pauses', '{polled}', 'm');
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT minikafka.pause('pauses', 'm', 'polled', p) FROM generate_series(0, 2) p;
SELECT minikafka.join_group('pauses', '{polled}', 'n');
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT * FROM minikafka.assignment('pauses', 'n');
SELECT minikafka.leave_group('pauses', 'n');
SELECT minikafka.seek('pauses', 'm', 'polled', p, 8) FROM generate_series(0, 2) p;
SELECT * FROM pg_temp.poll('pauses', 'm', 15);
SELECT minikafka.pause('pauses', 'x', 'polled', 0);
SELECT minikafka.pause('pauses', 'm', 'polled.too', 0);
SELECT minikafka.resume('pauses', 'm', 'polled.too', 0);
\echo :LAST_ERROR_SQLSTATE

-- Seek: to the start, the end, anywhere, back and forth
-- L32: seekToEnd, seekToBeginning, seek
SELECT minikafka.join_group('seeks', '{polled}', 'm');
SELECT minikafka.seek('seeks', 'm', 'polled', p, 10 + (p = 2)::int) FROM generate_series(0, 2) p;
SELECT * FROM pg_temp.poll('seeks', 'm');
SELECT minikafka.seek('seeks', 'm', 'polled', 0, 0);
SELECT * FROM pg_temp.poll('seeks', 'm', 1);
SELECT minikafka.seek('seeks', 'm', 'polled', 0, 5);
SELECT * FROM pg_temp.poll('seeks', 'm', 1);
-- the last of a transaction counts; what was polled before it is not committed
BEGIN;
SELECT * FROM pg_temp.poll('seeks', 'm', 2);
SELECT minikafka.seek('seeks', 'm', 'polled', 0, 9);
SELECT minikafka.seek('seeks', 'm', 'polled', 0, 3);
SELECT * FROM minikafka.commit('seeks', 'm') ORDER BY partition;
SELECT * FROM pg_temp.poll('seeks', 'm', 2);
COMMIT;
SELECT minikafka.committed('seeks', 'polled', 0);
SELECT * FROM pg_temp.poll('seeks', 'm', 1);
SELECT minikafka.seek('seeks', 'm', 'polled.too', 0, 0);
\echo :LAST_ERROR_SQLSTATE

-- Two groups read apart; a third that comes later reads all of it again
SELECT minikafka.create_topic('shared', 1);
SELECT count(minikafka.send('shared', 'v' || i)) FROM generate_series(0, 9) i;
SELECT minikafka.join_group('one', '{shared}', 'm'), minikafka.join_group('two', '{shared}', 'm');
SELECT * FROM pg_temp.poll('one', 'm', 4);
SELECT * FROM pg_temp.poll('two', 'm', 7);
SELECT * FROM minikafka.commit('one', 'm');
SELECT * FROM pg_temp.poll('one', 'm', 4);
SELECT * FROM pg_temp.poll('two', 'm', 7);
SELECT minikafka.join_group('three', '{shared}', 'm');
SELECT * FROM pg_temp.poll('three', 'm', 100);
SELECT g, minikafka.committed(g, 'shared', 0) FROM unnest('{one, two, three}'::text[]) g;
-- in one transaction
BEGIN;
SELECT minikafka.send('shared', 'w');
COMMIT;
BEGIN;
SELECT * FROM pg_temp.poll('one', 'm', 2);
SELECT * FROM pg_temp.poll('two', 'm', 2);
SELECT * FROM minikafka.commit('two', 'm');
COMMIT;
SELECT g, minikafka.committed(g, 'shared', 0) FROM unnest('{one, two, three}'::text[]) g;

-- A transaction reads, writes what it makes of it, and commits how far it has
-- read: all of that, or nothing. What it sends it does not read
SELECT minikafka.create_topic('made', 1);
SELECT minikafka.join_group('maker', '{shared, made}', 'm');
BEGIN;
SELECT count(minikafka.send('made', upper(value))) FROM minikafka.poll_text('maker', 'm', 3);
SELECT * FROM minikafka.commit('maker', 'm');
ROLLBACK;
SELECT * FROM minikafka.offsets('made', 0);
BEGIN;
SELECT count(minikafka.send('made', upper(value))) FROM minikafka.poll_text('maker', 'm', 3);
SELECT count(*) FROM minikafka.poll_text('maker', 'm', 3) WHERE topic = 'made';
SELECT * FROM minikafka.commit('maker', 'm');
COMMIT;
SELECT topic, value FROM minikafka.poll_text('maker', 'm', 3);
-- a poll in the statement that writes its rows
CREATE TABLE effects (topic text, value text);
INSERT INTO effects SELECT topic, value FROM minikafka.poll_text('maker', 'm', 2);
TABLE effects;
WITH p AS (SELECT topic, value FROM minikafka.poll_text('maker', 'm', 100)),
	c AS (SELECT count(*) FROM p)
INSERT INTO effects SELECT 'count', count::text FROM c;
TABLE effects;
DROP TABLE effects;

-- Waiting: a poll without news returns when max_wait is over, at once with 0;
-- with records it does not wait
CREATE FUNCTION pg_temp.waiting(g text, m text, OUT result bigint, OUT waited boolean) LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz := clock_timestamp();
BEGIN
	result := count(*) FROM minikafka.poll(g, m, max_wait => '0.2 s');
	waited := clock_timestamp() >= start + interval '0.2 s';
END $$;
SELECT count(*) FROM minikafka.poll('three', 'm');
SELECT * FROM pg_temp.waiting('three', 'm');
SELECT minikafka.send('shared', 'x');
SELECT count(*) FROM minikafka.poll('three', 'm', max_wait => '20 days');
-- also a member that has nothing, or has paused all
SELECT minikafka.join_group('three', '{shared}', 'n');
SELECT * FROM pg_temp.waiting('three', 'n');
SELECT minikafka.send('shared', 'y');
SELECT minikafka.pause('three', 'm', 'shared', 0);
SELECT * FROM pg_temp.waiting('three', 'm');
-- in REPEATABLE READ and SERIALIZABLE it returns at once
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM minikafka.poll('three', 'm', max_wait => '20 days');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM minikafka.poll('three', 'm', max_wait => '20 days');
COMMIT;
-- wait_for_records() does not read, but waits for what could be read
SELECT minikafka.resume('three', 'm', 'shared', 0);
CALL minikafka.wait_for_records('three', 'm', '20 days');
SELECT value FROM minikafka.poll_text('three', 'm');
CALL minikafka.wait_for_records('three', 'm', '0.2 s');
CALL minikafka.wait_for_records('three', 'n', '1 ms');
-- a statement timeout ends both
SET statement_timeout = '100 ms';
SELECT * FROM minikafka.poll('three', 'm', max_wait => '20 days');
CALL minikafka.wait_for_records('three', 'm', '20 days');
RESET statement_timeout;
SELECT * FROM minikafka.poll('three', 'm');

-- REPEATABLE READ: the records that the transaction's snapshot sees, once
SELECT minikafka.join_group('repeatable', '{shared}', 'm');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM pg_temp.poll('repeatable', 'm', 3);
SELECT * FROM pg_temp.poll('repeatable', 'm', 3);
SELECT * FROM minikafka.commit('repeatable', 'm');
COMMIT;
SELECT minikafka.committed('repeatable', 'shared', 0);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM pg_temp.poll('repeatable', 'm', 3);
SELECT * FROM minikafka.commit('repeatable', 'm');
SELECT minikafka.committed('repeatable', 'shared', 0);
COMMIT;
SELECT minikafka.committed('repeatable', 'shared', 0);

-- What cannot be decoded: the records before it, then the error, until the
-- member steps over it
SELECT minikafka.create_topic('undecodable', 2);
SELECT minikafka.send('undecodable', '"first"', partition => 0), minikafka.send('undecodable', '\xff'::bytea, partition => 0),
	minikafka.send('undecodable', '"third"', partition => 0), minikafka.send('undecodable', '"other"', partition => 1),
	minikafka.send('undecodable', 'no JSON', partition => 0), minikafka.send('undecodable', '"last"', partition => 0);
SELECT minikafka.join_group('undecodable', '{undecodable}', 'm');
SELECT partition, "offset", value FROM minikafka.poll_text('undecodable', 'm');
SELECT partition, "offset", value FROM minikafka.poll_text('undecodable', 'm');
\echo :LAST_ERROR_SQLSTATE
-- as bytes
BEGIN;
SELECT partition, "offset", value FROM minikafka.poll('undecodable', 'm', 1);
ROLLBACK;
SELECT minikafka.seek('undecodable', 'm', 'undecodable', 0, 2);
SELECT partition, "offset", value FROM minikafka.poll_json('undecodable', 'm', 2);
SELECT * FROM minikafka.commit('undecodable', 'm') ORDER BY partition;
SELECT partition, "offset", value FROM minikafka.poll_json('undecodable', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT partition, "offset", value FROM minikafka.poll_text('undecodable', 'm');
-- all of it in a loop that does not know: each record once
CREATE PROCEDURE pg_temp.read_all(g text, m text) LANGUAGE plpgsql AS $$
DECLARE
	state text;
	hint text;
	seen text := '';
	got text;
BEGIN
	FOR i IN 1..20 LOOP
		BEGIN
			SELECT string_agg(partition || '/' || "offset", ' ') INTO got FROM minikafka.poll_json(g, m);
			seen := seen || coalesce(got, '.') || ' ';
		EXCEPTION WHEN invalid_text_representation THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, hint = PG_EXCEPTION_HINT;
			seen := seen || state || ' ';
			PERFORM minikafka.seek(g, m, 'undecodable', 0, substring(hint FROM 'offset (\d+)')::bigint);
		END;
		COMMIT;
		EXIT WHEN got IS NULL;
	END LOOP;
	RAISE NOTICE '%', seen;
END $$;
SELECT minikafka.join_group('loop', '{undecodable}', 'm');
CALL pg_temp.read_all('loop', 'm');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
