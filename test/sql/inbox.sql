--
-- Idempotent consumers: inbox_accept() (Kafka case B11)
--
-- The first time, and a repeat
SELECT minikafka.inbox_accept('billing', 'order-1');
SELECT minikafka.inbox_accept('billing', 'order-1');
SELECT minikafka.inbox_accept('billing', 'order-2'), minikafka.inbox_accept('billing', 'order-2');
-- each consumer by itself; names and ids are any text of 1 to 255 bytes, as it is
SELECT minikafka.inbox_accept('mailing', 'order-1');
SELECT id, minikafka.inbox_accept('billing', id) AS first, minikafka.inbox_accept('billing', id) AS second
FROM unnest(ARRAY['Order-1', 'order-1 ', ' order-1', 'order_1', '1', '%', E'caf\u00e9', E'cafe\u0301', 'x''; --']) id;
SELECT minikafka.inbox_accept('billing', repeat('x', 255)), minikafka.inbox_accept('Billing', 'order-1');
SELECT minikafka.inbox_accept('billing', repeat('x', 256));
SELECT minikafka.inbox_accept(repeat(E'\u00e9', 128), 'order-1');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.inbox_accept('billing', '');
SELECT minikafka.inbox_accept(' ', 'order-1');
SELECT minikafka.inbox_accept('billing', NULL);
SELECT minikafka.inbox_accept(NULL, 'order-1');
-- by name, and many in one statement
SELECT minikafka.inbox_accept(consumer => 'billing', event_id => 'named', payload => 'v');
SELECT count(*) FILTER (WHERE accepted) AS first, count(*) FILTER (WHERE NOT accepted) AS repeated
FROM (SELECT minikafka.inbox_accept('billing', 'many ' || i % 300) FROM generate_series(1, 1000) i) s(accepted);

-- The payload: the same, another, none.  What is stored is its hash.
SELECT minikafka.inbox_accept('payload', 'p', 'one');
SELECT minikafka.inbox_accept('payload', 'p', 'one');
SELECT minikafka.inbox_accept('payload', 'p', 'two');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.inbox_accept('payload', 'p', '');
SELECT minikafka.inbox_accept('payload', 'p', 'one'), minikafka.inbox_accept('payload', 'p', NULL), minikafka.inbox_accept('payload', 'p');
-- an event without one matches any payload
SELECT minikafka.inbox_accept('payload', 'none');
SELECT minikafka.inbox_accept('payload', 'none', 'one'), minikafka.inbox_accept('payload', 'none', 'two');
-- an empty one is one
SELECT minikafka.inbox_accept('payload', 'empty', '');
SELECT minikafka.inbox_accept('payload', 'empty', '');
SELECT minikafka.inbox_accept('payload', 'empty', '\x00');
-- large, compressed, and of bytes that are no text
SELECT minikafka.inbox_accept('payload', 'large', decode(repeat('00ff', 1000000), 'hex'));
SELECT minikafka.inbox_accept('payload', 'large', decode(repeat('00ff', 1000000), 'hex'));
SELECT minikafka.inbox_accept('payload', 'large', decode(repeat('00ff', 999999) || '00fe', 'hex'));
CREATE TABLE payloads (payload bytea);
INSERT INTO payloads VALUES (decode(repeat('00ff', 1000000), 'hex')), (decode(repeat('00ff', 1000000), 'hex'));
SELECT minikafka.inbox_accept('payload', 'large', payload) FROM payloads;
DROP TABLE payloads;
SELECT consumer, event_id, payload_sha256 = sha256('one') AS of_one, payload_sha256 IS NULL AS none, accepted_at BETWEEN now() - interval '1 hour' AND now() AS recent
FROM minikafka.inbox JOIN minikafka.inbox_consumer USING (consumer_no) WHERE consumer = 'payload' ORDER BY 2;
-- a conflict ends the transaction, or its savepoint
BEGIN;
SELECT minikafka.inbox_accept('payload', 'before');
SELECT minikafka.inbox_accept('payload', 'p', 'two');
COMMIT;
SELECT minikafka.inbox_accept('payload', 'before');
BEGIN;
SELECT minikafka.inbox_accept('payload', 'after');
SAVEPOINT s;
SELECT minikafka.inbox_accept('payload', 'p', 'two');
ROLLBACK TO s;
SELECT current_user = session_user AS same_user, current_setting('search_path');
COMMIT;
SELECT minikafka.inbox_accept('payload', 'after');
-- in one transaction
BEGIN;
SELECT minikafka.inbox_accept('payload', 'here', 'one'), minikafka.inbox_accept('payload', 'here', 'one');
SELECT minikafka.inbox_accept('payload', 'here', 'two');
ROLLBACK;

-- It commits and rolls back with the transaction
BEGIN;
SELECT minikafka.inbox_accept('billing', 'gone'), minikafka.inbox_accept('no consumer', 'gone');
ROLLBACK;
SELECT count(*) FROM minikafka.inbox_consumer WHERE consumer = 'no consumer';
SELECT minikafka.inbox_accept('billing', 'gone');
BEGIN;
SELECT minikafka.inbox_accept('billing', 'top');
SAVEPOINT s;
SELECT minikafka.inbox_accept('billing', 'saved'), minikafka.inbox_accept('billing', 'top');
ROLLBACK TO s;
SELECT minikafka.inbox_accept('billing', 'saved');
SAVEPOINT s;
SELECT minikafka.inbox_accept('billing', 'released');
RELEASE s;
COMMIT;
SELECT minikafka.inbox_accept('billing', 'top'), minikafka.inbox_accept('billing', 'saved'), minikafka.inbox_accept('billing', 'released');
DO $$ BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			ASSERT minikafka.inbox_accept('billing', 'block');
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
	ASSERT minikafka.inbox_accept('billing', 'block');
	ASSERT NOT minikafka.inbox_accept('billing', 'block');
END $$;

-- What it is for: at-least-once becomes once.  A group polls in one transaction
-- and commits in another, and reads the records again; the effect is there once.
SELECT minikafka.create_topic('orders', 2);
SELECT count(minikafka.send('orders', 'order ' || i, 'k' || i, headers => jsonb_build_object('id', 'e' || i))) FROM generate_series(1, 20) i;
-- and one that was sent twice
SELECT minikafka.send('orders', 'order 7', 'k7', headers => '{"id": "e7"}');
CREATE TABLE effects (consumer text, what text);
SELECT minikafka.join_group('g1', '{orders}', 'm'), minikafka.join_group('g2', '{orders}', 'm');
CREATE FUNCTION handle(consumer text, group_id text) RETURNS TABLE (polled bigint, first bigint) LANGUAGE sql AS $$
WITH polled AS MATERIALIZED (
	SELECT value, minikafka.inbox_accept(consumer, headers ->> 'id', convert_to(value, 'UTF8')) AS accepted
	FROM minikafka.poll_text(group_id, 'm')
), handled AS (
	INSERT INTO effects SELECT consumer, value FROM polled WHERE accepted
)
SELECT count(*), count(*) FILTER (WHERE accepted) FROM polled
$$;
SELECT * FROM handle('shop', 'g1');
-- it did not commit: it joins again and reads all again
SELECT minikafka.join_group('g1', '{orders}', 'm');
SELECT * FROM handle('shop', 'g1');
SELECT count(*) FROM minikafka.commit('g1', 'm');
SELECT * FROM handle('shop', 'g1');
-- another group of the same consumer, and of another one
SELECT * FROM handle('shop', 'g2');
SELECT minikafka.join_group('g2', '{orders}', 'm');
SELECT * FROM handle('audit', 'g2');
-- a replay
SELECT minikafka.leave_group('g1', 'm');
SELECT count(*) FROM minikafka.reset_offsets('g1', 'orders', 'earliest');
SELECT minikafka.join_group('g1', '{orders}', 'm');
SELECT * FROM handle('shop', 'g1');
SELECT consumer, count(*), count(DISTINCT what) FROM effects GROUP BY 1 ORDER BY 1;
-- the same id with other contents is refused, and with it its transaction
SELECT minikafka.send('orders', 'another order 7', 'k7', headers => '{"id": "e7"}');
SELECT * FROM handle('shop', 'g1');
\echo :LAST_ERROR_SQLSTATE

-- A name belongs to the role that used it first
CREATE ROLE regress_first;
CREATE ROLE regress_member IN ROLE regress_first;
CREATE ROLE regress_other;
CREATE ROLE regress_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA minikafka TO regress_first, regress_other;
SET ROLE regress_first;
SELECT minikafka.inbox_accept('owned', 'e', 'v');
SET ROLE regress_member;
SELECT minikafka.inbox_accept('owned', 'e', 'v'), minikafka.inbox_accept('owned', 'f');
SET ROLE regress_other;
SELECT minikafka.inbox_accept('owned', 'g');
\echo :LAST_ERROR_SQLSTATE
-- nothing is told of the events
SELECT minikafka.inbox_accept('owned', 'e', 'other');
SELECT minikafka.inbox_accept('owned2', 'e');
SELECT count(*) FROM minikafka.inbox;
SET ROLE regress_monitor;
SELECT minikafka.inbox_accept('owned', 'e');
SET ROLE regress_first;
SELECT minikafka.inbox_accept('owned2', 'e');
RESET ROLE;
SELECT minikafka.inbox_accept('owned', 'e'), minikafka.inbox_accept('owned2', 'f');
-- the caller's search path has no part in it, and stays
BEGIN;
CREATE TEMP TABLE inbox (consumer_no int, event_id text);
CREATE TEMP TABLE inbox_consumer (consumer text);
CREATE FUNCTION pg_temp.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called by %', current_user; END $$;
CREATE OPERATOR pg_temp.= (FUNCTION = pg_temp.equal, LEFTARG = text, RIGHTARG = text);
SET LOCAL search_path = pg_temp, pg_catalog;
SELECT minikafka.inbox_accept('owned', 'e'), minikafka.inbox_accept('owned', 'h');
SELECT current_user OPERATOR(pg_catalog.=) session_user AS same_user, current_setting('search_path');
ROLLBACK;
REVOKE USAGE ON SCHEMA minikafka FROM regress_first, regress_other;
DROP ROLE regress_first, regress_member, regress_other, regress_monitor;

-- Where nothing may be written
BEGIN READ ONLY;
SELECT minikafka.inbox_accept('billing', 'order-1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
-- it is a row as any other, so this can be prepared
BEGIN;
SELECT minikafka.inbox_accept('billing', 'prepared');
PREPARE TRANSACTION 'regress';
ROLLBACK PREPARED 'regress';
SELECT minikafka.inbox_accept('billing', 'prepared');
-- isolation levels, and a plan that is kept
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT minikafka.inbox_accept('billing', 'repeatable'), minikafka.inbox_accept('billing', 'repeatable'), minikafka.inbox_accept('billing', 'order-1');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT minikafka.inbox_accept('billing', 'serializable'), minikafka.inbox_accept('new', 'serializable'), minikafka.inbox_accept('billing', 'order-1');
COMMIT;
PREPARE accept AS SELECT minikafka.inbox_accept('billing', $1);
EXECUTE accept('kept');
EXECUTE accept('kept');
-- the clock is the extension's
SET minikafka.clock_offset = 86400;
SELECT minikafka.inbox_accept('billing', 'tomorrow');
SELECT accepted_at > now() + interval '23 hours' AS tomorrow FROM minikafka.inbox WHERE event_id = 'tomorrow';
RESET minikafka.clock_offset;

-- nothing stays for other tests
SELECT minikafka.leave_group('g1', 'm'), minikafka.leave_group('g2', 'm');
SELECT minikafka.drop_topic('orders');
SELECT count(minikafka.delete_group(group_id)) FROM minikafka.groups;
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.inbox;
DELETE FROM minikafka.inbox_consumer;
DROP TABLE effects;
DROP FUNCTION handle;
