--
-- acknowledge(): what becomes of a record, and which deliveries may be answered
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('work', 1);
-- offsets 0 to 8: of three keys in turn
SELECT count(minikafka.send('work', 'v' || i, 'k' || i % 3)) FROM generate_series(0, 8) i;
-- What is not done: offset, state, deliveries
CREATE FUNCTION pg_temp.deliveries(g text) RETURNS TABLE (record_offset bigint, state text, deliveries int, waits boolean, error text) LANGUAGE sql AS $$
	SELECT DISTINCT ON (d.record_offset) d.record_offset, d.state, d.deliveries, d.until > clock_timestamp() + current_setting('minikafka.clock_offset')::interval, d.error
	FROM minikafka.share_delivery d JOIN minikafka.consumer_group USING (group_no) WHERE group_id = g
	AND NOT EXISTS (SELECT FROM minikafka.share_done x WHERE d.record_offset BETWEEN first_offset AND last_offset AND (d.group_no, d.topic_id, d.era) = (x.group_no, x.topic_id, x.era))
	ORDER BY d.record_offset, d.number DESC
$$;
CREATE FUNCTION pg_temp.acquire(g text, most int DEFAULT 100, accept boolean DEFAULT true) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset" || coalesce(' ' || key, '') || CASE delivery_count WHEN 1 THEN '' ELSE ' #' || delivery_count END, ', ' ORDER BY "offset")
	FROM minikafka.acquire_text(g, most, accept => accept)
$$;
-- acquires one record, and answers it
CREATE FUNCTION pg_temp.answer(g text, type text, error text DEFAULT NULL, retry_after interval DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT "offset" || ' #' || delivery_count || ': ' || minikafka.acknowledge(g, receipt, type, error, retry_after) FROM minikafka.acquire(g)
$$;

-- Each type; Kafka case S23
SELECT minikafka.create_share_group('types', '{work}', backoff => '10 s');
SELECT pg_temp.answer('types', 'accept');
SELECT pg_temp.answer('types', 'reject', 'never');
-- released, it is as it was: Kafka case S11, but that a release is not counted
SELECT pg_temp.answer('types', 'release');
SELECT pg_temp.answer('types', 'release', 'not now', '1 min');
SELECT pg_temp.answer('types', 'fail', 'busy');
SELECT * FROM pg_temp.deliveries('types');
SELECT pg_temp.acquire('types');
-- clock_offset: the later one is due first
SET minikafka.clock_offset = '15 s';
SELECT pg_temp.acquire('types');
SET minikafka.clock_offset = '2 min';
SELECT pg_temp.acquire('types');
RESET minikafka.clock_offset;

-- fail: backoff doubles, with a jitter of a fifth, up to max_backoff, which the
-- jitter does not pass either; retry_after is taken as it is.  Kafka case B02, where
-- the jitter may pass it.
SELECT minikafka.create_share_group('backoff', '{work}', backoff => '10 s', max_backoff => '30 s', max_deliveries => 10);
CREATE FUNCTION pg_temp.backoff(g text) RETURNS TABLE (deliveries int, at_least boolean, at_most boolean) LANGUAGE sql AS $$
	SELECT d.deliveries, until - at >= '0.8 s'::interval * w, until - at <= least('1.2 s'::interval * w, '30 s')
	FROM minikafka.share_delivery d JOIN minikafka.consumer_group USING (group_no), LATERAL (SELECT least(10 * 2 ^ (d.deliveries - 1), 30)) x(w)
	WHERE group_id = g ORDER BY number DESC LIMIT 1
$$;
SELECT pg_temp.answer('backoff', 'fail');
SELECT * FROM pg_temp.backoff('backoff');
SET minikafka.clock_offset = '1 min';
SELECT pg_temp.answer('backoff', 'fail');
SELECT * FROM pg_temp.backoff('backoff');
SET minikafka.clock_offset = '2 min';
SELECT pg_temp.answer('backoff', 'fail');
SELECT * FROM pg_temp.backoff('backoff');
SET minikafka.clock_offset = '3 min';
SELECT pg_temp.answer('backoff', 'fail', retry_after => '1 h');
SELECT round(extract(epoch FROM until - at)) AS after FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'backoff' ORDER BY number DESC LIMIT 1;
SET minikafka.clock_offset = '4 min';
SELECT pg_temp.answer('backoff', 'fail', retry_after => '0');
SET minikafka.clock_offset = '64 min';
SELECT pg_temp.answer('backoff', 'fail', retry_after => '0');
SELECT pg_temp.answer('backoff', 'fail', retry_after => '0');
RESET minikafka.clock_offset;

-- max_deliveries: then the record is exhausted, and without a dead-letter topic it
-- blocks its key; Kafka cases S16, S28
SELECT minikafka.create_share_group('block', '{work}', backoff => '0', max_deliveries => 2);
SELECT pg_temp.answer('block', 'fail', 'first');
SELECT pg_temp.answer('block', 'fail', 'second');
SELECT * FROM pg_temp.deliveries('block');
SELECT pg_temp.acquire('block');
SET minikafka.clock_offset = '365 d';
SELECT pg_temp.acquire('block');
RESET minikafka.clock_offset;
-- when it is gone, its key goes on
SELECT minikafka.create_topic('blocking', 1);
SELECT count(minikafka.send('blocking', 'v' || i, 'k')) FROM generate_series(0, 2) i;
SELECT minikafka.create_share_group('blocking', '{blocking}', max_deliveries => 1);
SELECT pg_temp.answer('blocking', 'fail');
SELECT pg_temp.acquire('blocking');
SELECT minikafka.delete_records('blocking', 0, 1);
SET minikafka.clock_offset = '2 s';
SELECT pg_temp.acquire('blocking');
RESET minikafka.clock_offset;
-- releases are not counted
SELECT minikafka.create_share_group('releases', '{work}', max_deliveries => 1);
SELECT pg_temp.answer('releases', 'release');
SELECT pg_temp.answer('releases', 'release');
SELECT pg_temp.answer('releases', 'fail');

-- In one transaction: order within a key
SELECT minikafka.create_share_group('order', '{work}', backoff => '0');
BEGIN;
CREATE TEMP TABLE held ON COMMIT DROP AS SELECT * FROM minikafka.acquire_text('order', 9);
SAVEPOINT a;
SELECT minikafka.acknowledge('order', receipt) FROM held WHERE "offset" = 3;
ROLLBACK TO a;
SELECT minikafka.acknowledge('order', receipt) FROM held WHERE "offset" = 0;
SELECT minikafka.acknowledge('order', receipt) FROM held WHERE "offset" = 3;
-- answering twice; Kafka cases S08, X05
SAVEPOINT a;
SELECT minikafka.acknowledge('order', receipt, 'fail') FROM held WHERE "offset" = 3;
ROLLBACK TO a;
-- what fails or is released takes the later ones of its key with it, whatever is
-- asked for them
SELECT minikafka.acknowledge('order', receipt, 'fail', 'no') FROM held WHERE "offset" = 1;
SELECT minikafka.acknowledge('order', receipt, type) FROM held, unnest('{accept,reject,fail,release}'::text[]) type WHERE "offset" = 4;
SELECT minikafka.acknowledge('order', receipt, 'release') FROM held WHERE "offset" = 2;
-- and more of such a key is not handed out
SELECT count(*) FROM minikafka.acquire('order', 9);
SELECT minikafka.acknowledge('order', receipt) FROM held WHERE "offset" = 6;
COMMIT;
SELECT * FROM pg_temp.deliveries('order');
SELECT pg_temp.acquire('order');
-- accept => true: what was not answered is accepted before a later one is answered
SELECT minikafka.create_share_group('implicit', '{work}', backoff => '1 min');
BEGIN;
CREATE TEMP TABLE held ON COMMIT DROP AS SELECT * FROM minikafka.acquire_text('implicit', 9, accept => true);
SELECT minikafka.acknowledge('implicit', receipt, 'fail') FROM held WHERE "offset" = 3;
SAVEPOINT a;
SELECT minikafka.acknowledge('implicit', receipt) FROM held WHERE "offset" = 0;
ROLLBACK TO a;
SELECT minikafka.acknowledge('implicit', receipt, 'fail') FROM held WHERE "offset" = 6;
COMMIT;
SELECT first_offset, last_offset FROM minikafka.share_done JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'implicit';
SELECT pg_temp.acquire('implicit');

-- Savepoints: an answer is rolled back with its own, a record with that in which it
-- was acquired
SELECT minikafka.create_share_group('savepoints', '{work}', backoff => '1 min');
BEGIN;
CREATE TEMP TABLE held ON COMMIT DROP AS SELECT * FROM minikafka.acquire_text('savepoints', 1);
SAVEPOINT a;
SELECT minikafka.acknowledge('savepoints', receipt, 'fail') FROM held;
ROLLBACK TO a;
SELECT minikafka.acknowledge('savepoints', receipt) FROM held;
SAVEPOINT b;
INSERT INTO held SELECT * FROM minikafka.acquire_text('savepoints', 1);
SELECT minikafka.acknowledge('savepoints', receipt) FROM held WHERE "offset" = 1;
SELECT receipt AS gone FROM held WHERE "offset" = 1 \gset
ROLLBACK TO b;
SAVEPOINT c;
SELECT minikafka.acknowledge('savepoints', :'gone');
ROLLBACK TO c;
-- its delivery has failed; the next one, in a savepoint that stays
INSERT INTO held SELECT * FROM minikafka.acquire_text('savepoints', 1);
SAVEPOINT d;
SELECT "offset", minikafka.acknowledge('savepoints', receipt, 'reject') FROM held WHERE "offset" > 0;
RELEASE SAVEPOINT d;
-- another record of a key that the transaction holds anyway: its delivery has failed too
SAVEPOINT e;
SELECT pg_temp.acquire('savepoints', 1, false);
ROLLBACK TO e;
SAVEPOINT f;
SELECT pg_temp.acquire('savepoints', 1);
COMMIT;
SELECT * FROM pg_temp.deliveries('savepoints');
SELECT first_offset, last_offset FROM minikafka.share_done JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'savepoints';
-- unanswered again is unanswered
BEGIN;
SELECT receipt FROM minikafka.acquire('savepoints') \gset
SAVEPOINT a;
SELECT minikafka.acknowledge('savepoints', :'receipt');
ROLLBACK TO a;
COMMIT;
-- the usual loop: a subtransaction for the work, an answer for its failure
CREATE FUNCTION pg_temp.work(g text, bad text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	answer text;
BEGIN
	FOR r IN SELECT * FROM minikafka.acquire_text(g, 9) LOOP
		BEGIN
			answer := minikafka.acknowledge(g, r.receipt);
			IF answer = 'accepted' AND r.value = bad THEN
				RAISE EXCEPTION 'bad';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			answer := minikafka.acknowledge(g, r.receipt, 'fail', SQLERRM);
		END;
		RETURN NEXT r.value || ' ' || answer;
	END LOOP;
END $$;
SELECT minikafka.create_share_group('loop', '{work}', backoff => '1 min');
SELECT pg_temp.work('loop', 'v1');
SELECT * FROM pg_temp.deliveries('loop');
SELECT pg_temp.acquire('loop');

-- A rollback counts if the transaction held one record; else they come one by one
SELECT minikafka.create_share_group('rollbacks', '{work}', backoff => '1 min');
BEGIN;
SELECT pg_temp.acquire('rollbacks', 3, false);
ROLLBACK;
-- nothing was counted
SELECT * FROM pg_temp.deliveries('rollbacks');
BEGIN;
SELECT pg_temp.acquire('rollbacks', 3, false);
SELECT 1 / 0;
ROLLBACK;
-- the next call that commits notes it, and goes on with the next one
SELECT pg_temp.acquire('rollbacks', 3);
SELECT * FROM pg_temp.deliveries('rollbacks');
SELECT pg_temp.acquire('rollbacks', 3);
SELECT pg_temp.acquire('rollbacks', 100);
-- an error of a deferred constraint, at COMMIT
CREATE TABLE unique_value (value text UNIQUE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO unique_value VALUES ('v0');
SELECT minikafka.create_share_group('deferred', '{work}', backoff => '1 min');
INSERT INTO unique_value SELECT value FROM minikafka.acquire_text('deferred', accept => true);
SELECT pg_temp.acquire('deferred', 1);
SELECT * FROM pg_temp.deliveries('deferred');
-- a savepoint that is rolled back counts as well
SELECT minikafka.create_share_group('undone', '{work}', backoff => '1 min');
BEGIN;
SAVEPOINT a;
SELECT pg_temp.acquire('undone', 1, false);
ROLLBACK TO a;
SELECT pg_temp.acquire('undone', 1);
COMMIT;
SELECT * FROM pg_temp.deliveries('undone');
-- errors of the extension itself do not
SELECT minikafka.create_share_group('own', '{work}', backoff => '1 min');
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
COMMIT;
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
SELECT minikafka.acknowledge('own', 'no receipt');
ROLLBACK;
-- of whatever function, and at PREPARE
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
SELECT minikafka.heartbeat('own', 'nobody');
ROLLBACK;
BEGIN;
SAVEPOINT a;
SELECT pg_temp.acquire('own', 1, false);
SELECT minikafka.heartbeat('own', 'nobody');
ROLLBACK TO a;
ROLLBACK;
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
PREPARE TRANSACTION 'own';
SELECT * FROM pg_temp.deliveries('own');
SELECT pg_temp.acquire('own', 1);
-- one that was caught before is forgotten, and one that may come from the record counts
BEGIN;
SAVEPOINT a;
SELECT minikafka.heartbeat('own', 'nobody');
ROLLBACK TO a;
SELECT pg_temp.acquire('own', 1, false);
SELECT 1 / 0;
ROLLBACK;
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
SAVEPOINT a;
SELECT minikafka.heartbeat('own', 'nobody');
ROLLBACK TO a;
SELECT 1 / 0;
ROLLBACK;
SELECT minikafka.inbox_accept('own', 'event', 'a');
BEGIN;
SELECT pg_temp.acquire('own', 1, false);
SELECT minikafka.inbox_accept('own', 'event', 'b');
ROLLBACK;
SELECT pg_temp.acquire('own', 1);
SELECT * FROM pg_temp.deliveries('own');
-- and a rollback exhausts too
SELECT minikafka.create_share_group('exhausted', '{work}', backoff => '0', max_deliveries => 2);
BEGIN;
SELECT pg_temp.acquire('exhausted', 1, false);
ROLLBACK;
BEGIN;
SELECT minikafka.acknowledge('exhausted', receipt) FROM minikafka.acquire('exhausted') WHERE false;
SELECT 1 / 0;
ROLLBACK;
SELECT pg_temp.acquire('exhausted');
SELECT * FROM pg_temp.deliveries('exhausted');
-- the last delivery
BEGIN;
SELECT pg_temp.acquire('exhausted', 1, false);
ROLLBACK;
SELECT pg_temp.acquire('exhausted');
SELECT * FROM pg_temp.deliveries('exhausted');

-- A failure may be told in a later transaction, by the receipt; nothing else
SELECT minikafka.create_share_group('later', '{work}', backoff => '1 min');
BEGIN;
SELECT receipt AS lost FROM minikafka.acquire('later') \gset
ROLLBACK;
\c -
\set SHOW_CONTEXT never
SELECT minikafka.acknowledge('later', :'lost');
SELECT minikafka.acknowledge('later', :'lost', 'release');
SELECT minikafka.acknowledge('later', :'lost', 'fail', 'the connection was lost');
SELECT minikafka.acknowledge('later', :'lost', 'fail', 'again');
SELECT record_offset, state, deliveries, error FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'later';
SELECT "offset" FROM minikafka.acquire('later', accept => true);

-- Receipts: old, of a record that is done, of another group, of a reset, malformed;
-- Kafka cases S01, S07, S25
BEGIN;
SELECT receipt, minikafka.acknowledge('later', receipt) FROM minikafka.acquire('later') \gset
COMMIT;
SELECT minikafka.acknowledge('later', :'receipt');
SELECT minikafka.acknowledge('later', :'receipt', 'fail');
SELECT minikafka.create_share_group('of another', '{work}');
SELECT minikafka.acknowledge('of another', :'receipt', 'fail');
BEGIN;
SELECT receipt AS held FROM minikafka.acquire('of another') \gset
-- of another record, of a partition, a topic and an era that there are not
SELECT regexp_replace(:'held', '0\.t0$', '99.t0') AS beyond, regexp_replace(:'held', '0\.0\.t0$', '7.0.t0') AS partition,
	regexp_replace(:'held', '\d+\.0\.0\.t0$', '999.0.0.t0') AS topic, regexp_replace(:'held', '^(\d+)\.0', '\1.5') AS era,
	regexp_replace(:'held', 't0$', 't1') AS number, regexp_replace(:'held', 't0$', 'l1') AS lock \gset
SAVEPOINT a;
SELECT minikafka.acknowledge('of another', :'beyond');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'partition');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'topic');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'era');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'number');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'lock');
ROLLBACK;
SELECT minikafka.acknowledge('of another', 'nonsense');
CREATE FUNCTION pg_temp.try(receipt text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN minikafka.acknowledge('of another', receipt);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
SELECT receipt, pg_temp.try(receipt) FROM unnest(ARRAY['', '1', '1.0.1.0.0', '1.0.1.0.0.', '1.0.1.0.0.t', '1.0.1.0.0.x1', ' 1.0.1.0.0.t0',
	'1.0.1.0.0.t0 ', '1.0.1.0.0.t0.1', '-1.0.1.0.0.t0', '2147483648.0.1.0.0.t0', '1.0.1.0.9223372036854775808.t0', '1.0.1.0.0.t9223372036854775808',
	'1..1.0.0.t0', '1.0.1.0.0.T0', 'a.0.1.0.0.t0']) receipt;

-- A record that is gone
SELECT minikafka.create_topic('going', 1), minikafka.send('going', 'a', 'k');
SELECT minikafka.create_share_group('going', '{going}');
BEGIN;
SELECT receipt FROM minikafka.acquire('going') \gset
ROLLBACK;
SELECT minikafka.delete_records('going', 0, -1);
SELECT minikafka.acknowledge('going', :'receipt', 'fail');
-- while it is held it may go; the answer counts
SELECT minikafka.send('going', 'b', 'other key');
BEGIN;
SELECT receipt FROM minikafka.acquire('going') \gset
SELECT minikafka.delete_records('going', 0, -1);
SAVEPOINT a;
SELECT minikafka.acknowledge('going', :'receipt');
COMMIT;

-- A later record of a key fails first: the earlier ones are still to be handed out
-- before those behind it, also by the transaction that tells so
SELECT minikafka.create_topic('gap', 1), minikafka.create_topic('gap-letters', 1);
SELECT count(minikafka.send('gap', 'v', 'same key')) FROM generate_series(0, 3);
SELECT minikafka.create_share_group('gap', '{gap}', max_deliveries => 1, dead_letter_topic => 'gap-letters');
BEGIN;
SELECT receipt FROM minikafka.acquire('gap', 2) OFFSET 1 \gset
ROLLBACK;
BEGIN;
SELECT minikafka.acknowledge('gap', :'receipt', 'fail');
SELECT "offset" FROM minikafka.acquire('gap', 2, accept => true);
COMMIT;
SELECT "offset" FROM minikafka.acquire('gap', 2, accept => true);
SELECT "offset" FROM minikafka.acquire('gap', 2, accept => true);

-- An acquisition under a lock counts, also if the lock before it has expired and the
-- transaction itself answers
SELECT minikafka.create_share_group('again', '{gap}', backoff => '0');
SELECT delivery_count FROM minikafka.acquire('again', lock_duration => '1 s');
SET minikafka.clock_offset = '10 s';
BEGIN;
SELECT minikafka.acknowledge('again', receipt, 'fail') FROM minikafka.acquire('again', lock_duration => '1 s');
COMMIT;
SELECT state, deliveries FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'again' ORDER BY number DESC LIMIT 1;
RESET minikafka.clock_offset;

-- A record that is handed out alone, as it was rolled back, and cannot be decoded,
-- does not keep the call from others
SELECT minikafka.create_topic('alone', 1);
SELECT minikafka.send('alone', '\xff'::bytea, 'a'), minikafka.send('alone', 'b', 'b');
SELECT minikafka.create_share_group('alone', '{alone}', backoff => '1 min');
BEGIN;
SELECT count(*) FROM minikafka.acquire('alone', 2);
ROLLBACK;
SELECT "offset", value FROM minikafka.acquire_text('alone', accept => true);

-- Arguments, names and rights
BEGIN;
SELECT receipt FROM minikafka.acquire('of another') \gset
SAVEPOINT a;
SELECT minikafka.acknowledge('nobody', :'receipt');
ROLLBACK TO a;
SELECT minikafka.acknowledge(NULL, :'receipt');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', NULL);
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', NULL);
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', 'done');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', 'accept', retry_after => '1 s');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', 'reject', retry_after => '1 s');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', 'fail', retry_after => '-1 s');
ROLLBACK TO a;
SELECT minikafka.acknowledge('of another', :'receipt', 'fail', retry_after => '1 month');
ROLLBACK TO a;
ROLLBACK;
SELECT minikafka.join_group('members', '{work}', 'm');
SELECT minikafka.acknowledge('members', :'receipt');
SELECT minikafka.leave_group('members', 'm');
BEGIN READ ONLY;
SELECT minikafka.acknowledge('of another', :'receipt');
ROLLBACK;
CREATE ROLE regress_worker;
GRANT USAGE ON SCHEMA minikafka TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.acknowledge('of another', :'receipt', 'fail');
RESET ROLE;
-- A receipt can be written by anybody: it reaches no topic that is not one of the
-- group, and none that the user may not read
SELECT minikafka.create_topic('secret', 1), minikafka.create_topic('letters', 1);
SELECT minikafka.send('secret', 'a');
SELECT minikafka.create_share_group('curious', '{work}', dead_letter_topic => 'letters', max_deliveries => 1);
SELECT group_no || '.0.' || topic_id || '.0.0.' AS forged FROM minikafka.consumer_group, minikafka.topic
WHERE group_id = 'curious' AND rel = 'minikafka_topics.secret'::regclass \gset
SELECT minikafka.acknowledge('curious', :'forged' || 'o0', 'reject');
SELECT minikafka.acknowledge('curious', :'forged' || 't0', 'fail');
SELECT minikafka.renew('curious', :'forged' || 'l1', '1 min');
SELECT minikafka.set_group_option('curious', 'topics', '{secret}');
SELECT minikafka.grant_group('curious', 'regress_worker');
SET ROLE regress_worker;
SELECT minikafka.acknowledge('curious', :'forged' || 'o0', 'reject');
RESET ROLE;
SELECT count(*) FROM minikafka.fetch('letters', 0, 0);
-- but it is fine for who may read the topic
SELECT minikafka.acknowledge('curious', :'forged' || 'o0', 'reject');
SELECT value FROM minikafka.fetch_text('letters', 0, 0);
-- an error may hold anything, and is as it was given
BEGIN;
SELECT minikafka.acknowledge('of another', receipt, 'fail', repeat('ü', 5000)) FROM minikafka.acquire('of another');
COMMIT;
SELECT length(error), octet_length(error) FROM minikafka.share_delivery JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'of another' ORDER BY at DESC LIMIT 1;

SELECT count(minikafka.delete_group(group_id)) > 0 AS deleted FROM minikafka.groups;
SELECT count(minikafka.drop_topic(topic)) > 0 AS dropped FROM minikafka.topics;
REVOKE USAGE ON SCHEMA minikafka FROM regress_worker;
DROP ROLE regress_worker;
DROP TABLE unique_value;
