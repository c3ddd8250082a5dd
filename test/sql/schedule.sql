-- Scheduled records: send_at(), cancel_send(), deliver_due(), the view "scheduled".
-- No worker runs here, so nothing is sent before the call.  Times pass by
-- minikafka.clock_offset.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_scheduler;
CREATE ROLE regress_reader;
CREATE ROLE regress_owner;
GRANT USAGE ON SCHEMA minikafka TO regress_scheduler, regress_reader, regress_owner;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
SELECT minikafka.create_topic('s', 1);

-- what was sent, and what waits
CREATE VIEW sent AS
SELECT "offset", key, value, headers FROM minikafka.fetch_text('s', 0, 0);
CREATE VIEW waiting AS
SELECT id, topic, convert_from(key, 'UTF8') AS key, scheduled_by, attempts, error,
	next_attempt > at AS later
FROM minikafka.scheduled ORDER BY id;

-- ---------------------------------------------------------------------------
-- Sending

SELECT minikafka.send_at('s', 'third', now() + interval '30 min', 'k');
SELECT minikafka.send_at('s', 'second', now() + interval '20 min', key => 'k', headers => '{"h": "x"}');
SELECT minikafka.send_at('s', '{"b": 1,  "a": 2}'::jsonb, now() + interval '10 min', 'k');
SELECT minikafka.send_at('s', '{"b": 1,  "a": 2}'::json, now() + interval '40 min');
SELECT minikafka.send_at('s', 'bytes'::bytea, now() + interval '50 min', 'k'::text);
SELECT minikafka.send_at('s', 'bytes'::bytea, now() + interval '51 min', 'k'::bytea);
SELECT minikafka.send_at(topic => 's', value => NULL, at => '2100-01-01', key => 'far');
SELECT * FROM waiting;
CALL minikafka.deliver_due();
SELECT * FROM sent;

SET minikafka.clock_offset = '20 min';
CALL minikafka.deliver_due();
SELECT * FROM sent;
SET minikafka.clock_offset = '1 h';
CALL minikafka.deliver_due();
SELECT * FROM sent;
SELECT * FROM waiting;

-- those of one time come in the order in which they were scheduled; what is past is due
SELECT minikafka.send_at('s', 'same ' || i, '2020-01-02', 'k') FROM generate_series(1, 3) i;
SELECT minikafka.send_at('s', 'earlier', '2020-01-01', 'k');
CALL minikafka.deliver_due();
SELECT * FROM sent WHERE "offset" > 5;

-- a large value
SELECT minikafka.send_at('s', repeat('x', 1000000), '2020-01-01') > 0;
CALL minikafka.deliver_due();
SELECT length(value) FROM sent WHERE "offset" = 10;

-- maintain() sends too
SELECT minikafka.send_at('s', 'by maintain()', '2020-01-01');
CALL minikafka.maintain();
SELECT value FROM sent WHERE "offset" = 11;

-- and wait_for_records() does, for whoever waits
SELECT minikafka.join_group('g', '{s}', 'm', auto_offset_reset => 'latest');
SELECT count(*) FROM minikafka.poll('g', 'm');
SELECT minikafka.send_at('s', 'by wait_for_records()', '2020-01-01');
CALL minikafka.wait_for_records('g', 'm', '1 h');
SELECT value FROM minikafka.poll_text('g', 'm');
SELECT minikafka.leave_group('g', 'm');

-- ---------------------------------------------------------------------------
-- Transactions

BEGIN;
SELECT minikafka.send_at('s', 'kept', '2020-01-01') AS kept \gset
SAVEPOINT a;
SELECT minikafka.send_at('s', 'undone', '2020-01-01') > 0;
ROLLBACK TO a;
COMMIT;
BEGIN;
SELECT minikafka.send_at('s', 'undone', '2020-01-01') > 0;
ROLLBACK;
CALL minikafka.deliver_due();
SELECT value FROM sent WHERE "offset" > 12;
BEGIN;
CALL minikafka.deliver_due();
ROLLBACK;
BEGIN READ ONLY;
SELECT minikafka.send_at('s', 'x', now());
ROLLBACK;
BEGIN READ ONLY;
SELECT minikafka.cancel_send(1);
ROLLBACK;

-- ---------------------------------------------------------------------------
-- Cancelling

SELECT minikafka.send_at('s', 'cancelled', '2020-01-01') AS id \gset
BEGIN;
SELECT minikafka.cancel_send(:id);
SELECT minikafka.cancel_send(:id);
ROLLBACK;
BEGIN;
SAVEPOINT a;
SELECT minikafka.cancel_send(:id);
ROLLBACK TO a;
COMMIT;
SELECT count(*) FROM waiting WHERE id = :id;
SELECT minikafka.cancel_send(:id);
SELECT minikafka.cancel_send(:id);
CALL minikafka.deliver_due();
SELECT count(*) FROM sent WHERE value = 'cancelled';
-- sent, unknown
SELECT minikafka.cancel_send(:kept);
SELECT minikafka.cancel_send(0);
SELECT minikafka.cancel_send(NULL);
-- scheduled and cancelled in one transaction
BEGIN;
SELECT minikafka.send_at('s', 'cancelled', '2020-01-01') AS id \gset
SELECT minikafka.cancel_send(:id);
COMMIT;
SELECT * FROM waiting;

-- ---------------------------------------------------------------------------
-- Arguments

SELECT minikafka.send_at('s', 'x', NULL);
SELECT minikafka.send_at('s', 'x', 'infinity');
SELECT minikafka.send_at('s', 'x', '-infinity');
SELECT minikafka.send_at(NULL, 'x', now());
SELECT minikafka.send_at('none', 'x', now());
SELECT minikafka.send_at('s', 'x', now(), headers => '[1]');
SELECT minikafka.send_at('s', repeat('x', 1048588), now(), 'k');
SELECT minikafka.create_topic('keys', 1, cleanup_policy => 'compact');
SELECT minikafka.send_at('keys', 'x', now());

-- ---------------------------------------------------------------------------
-- Rights

SET ROLE regress_owner;
SELECT minikafka.create_topic('owned', 1);
GRANT INSERT ON minikafka_topics.owned TO regress_scheduler;
GRANT SELECT ON minikafka_topics.owned TO regress_reader;
SET ROLE regress_reader;
SELECT minikafka.send_at('owned', 'x', now());
SET ROLE regress_scheduler;
SELECT minikafka.send_at('owned', 'a', '2020-01-01', 'secret') AS a \gset
SELECT minikafka.send_at('owned', 'b', '2020-01-01', 'secret') AS b \gset
SELECT topic, key, scheduled_by FROM minikafka.scheduled;
SET ROLE regress_reader;
SELECT topic, key, scheduled_by FROM minikafka.scheduled;
SELECT minikafka.cancel_send(:a);
-- nothing under a policy, but to the owner and to whoever has scheduled it
SET ROLE regress_owner;
ALTER TABLE minikafka_topics.owned ENABLE ROW LEVEL SECURITY;
SELECT topic, key FROM minikafka.scheduled;
SET ROLE regress_reader;
SELECT topic, key FROM minikafka.scheduled;
SET ROLE regress_scheduler;
SELECT topic, key FROM minikafka.scheduled;
SET ROLE regress_owner;
ALTER TABLE minikafka_topics.owned FORCE ROW LEVEL SECURITY;
SELECT topic, key FROM minikafka.scheduled;
ALTER TABLE minikafka_topics.owned NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
RESET ROLE;
GRANT pg_monitor TO regress_reader;
REVOKE SELECT ON minikafka_topics.owned FROM regress_reader;
SET ROLE regress_reader;
SELECT topic, key, scheduled_by FROM minikafka.scheduled;
RESET ROLE;
REVOKE pg_monitor FROM regress_reader;
SET ROLE regress_reader;
SELECT topic, key, scheduled_by FROM minikafka.scheduled;
SET ROLE regress_owner;
SELECT minikafka.cancel_send(:a);
SET ROLE regress_scheduler;
SELECT minikafka.cancel_send(:b);
SELECT minikafka.send_at('owned', 'c', '2020-01-01', 'secret') AS c \gset
RESET ROLE;
REVOKE INSERT ON minikafka_topics.owned FROM regress_scheduler;
SET ROLE regress_scheduler;
SELECT minikafka.cancel_send(:c);
RESET ROLE;

-- ---------------------------------------------------------------------------
-- What cannot be sent stays, and holds up nothing

-- the right is gone
SELECT minikafka.send_at('s', 'not held up', '2020-01-02');
CALL minikafka.deliver_due();
SELECT value FROM sent WHERE value = 'not held up';
SELECT * FROM waiting;
-- the error may tell of the record: not for who may only monitor
GRANT pg_monitor TO regress_reader;
SET ROLE regress_reader;
SELECT topic, attempts, error FROM minikafka.scheduled ORDER BY id;
RESET ROLE;
REVOKE pg_monitor FROM regress_reader;
-- it is not tried before the time has come
CALL minikafka.deliver_due();
SELECT * FROM waiting;
SET minikafka.clock_offset = '2 h';
CALL minikafka.deliver_due();
SELECT * FROM waiting;
GRANT INSERT ON minikafka_topics.owned TO regress_scheduler;
SET minikafka.clock_offset = '3 h';
CALL minikafka.deliver_due();
SELECT * FROM waiting;
SELECT value FROM minikafka.fetch_text('owned', 0, 0);
-- the one who delivers needs no right to the topic
SET ROLE regress_scheduler;
SELECT minikafka.send_at('owned', 'd', '2020-01-01') > 0;
SET ROLE regress_reader;
CALL minikafka.deliver_due();
RESET ROLE;
SELECT value FROM minikafka.fetch_text('owned', 0, 0);

-- the role is gone
SET ROLE regress_scheduler;
SELECT minikafka.send_at('owned', 'e', '2020-01-01') AS e \gset
RESET ROLE;
REVOKE ALL ON minikafka_topics.owned FROM regress_scheduler;
REVOKE ALL ON SCHEMA minikafka FROM regress_scheduler;
DROP ROLE regress_scheduler;
CALL minikafka.deliver_due();
SELECT * FROM waiting;
SELECT minikafka.cancel_send(:e);

-- the contract has changed, for some; the others come, in their order
SELECT minikafka.send_at('s', v, '2020-01-01', 'k') > 0 FROM unnest('{good 1,bad 1,good 2,bad 2,good 3}'::text[]) v;
ALTER TABLE minikafka_topics.s ADD CONSTRAINT no_bad CHECK (value NOT LIKE 'bad%'::bytea) NOT VALID;
SELECT minikafka.send_at('s', 'bad', now());
CALL minikafka.deliver_due();
SELECT value FROM sent WHERE value LIKE 'good%' OR value LIKE 'bad%';
SELECT * FROM waiting;
ALTER TABLE minikafka_topics.s DROP CONSTRAINT no_bad;
SET minikafka.clock_offset = '4 h';
CALL minikafka.deliver_due();
SELECT value FROM sent WHERE value LIKE 'good%' OR value LIKE 'bad%';
SELECT * FROM waiting;

-- what fails only when the records are written
CREATE FUNCTION as_text(bytea) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT convert_from($1, 'UTF8')$$;
SELECT minikafka.create_topic('indexed', 1);
SELECT minikafka.create_index('indexed', '(public.as_text(value))');
SELECT minikafka.send_at('indexed', v, '2020-01-01', 'k'::bytea) > 0 FROM unnest(ARRAY['\x6f6e65', '\xff', '\x74776f', '\xfe', '\x7468726565']::bytea[]) v;
SELECT minikafka.send_at('owned', 'another topic', '2020-01-02') > 0;
CALL minikafka.deliver_due();
SELECT value FROM minikafka.fetch_text('indexed', 0, 0);
SELECT value FROM minikafka.fetch_text('owned', 0, 2);
SELECT * FROM waiting;
SELECT count(minikafka.cancel_send(id)) FROM waiting;
SELECT minikafka.drop_topic('indexed');
DROP FUNCTION as_text;

-- the limit is lower now
SELECT minikafka.send_at('s', 'too long by now', '2020-01-01', 'k') AS id \gset
SELECT minikafka.set_topic_option('s', 'max_message_bytes', '10');
CALL minikafka.deliver_due();
SELECT * FROM waiting;
SELECT minikafka.cancel_send(:id);

-- ---------------------------------------------------------------------------
-- A topic that is dropped takes its scheduled records with it

SELECT minikafka.send_at('owned', 'gone', '2100-01-01') > 0;
SELECT minikafka.send_at('keys', 'gone', '2100-01-01', 'k') > 0;
SELECT topic FROM waiting;
SELECT minikafka.drop_topic('owned');
SELECT topic FROM waiting;
BEGIN;
SELECT minikafka.send_at('s', 'x', now());
SELECT minikafka.drop_topic('s');
COMMIT;
-- by hand: maintenance finds that
DROP TABLE minikafka_topics.keys;
SET client_min_messages = error;
CALL minikafka.maintain();
SELECT count(*) FROM minikafka.scheduled_record WHERE value = 'gone';

SELECT count(minikafka.cancel_send(id)) FROM waiting;
RESET ALL;
DROP VIEW sent, waiting;
SELECT minikafka.drop_topic('s');
DROP OWNED BY regress_reader, regress_owner;
DROP ROLE regress_reader, regress_owner;
