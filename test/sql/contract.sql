--
-- The contract of a topic: NOT NULL and CHECK of its table hold for its records
--
CREATE ROLE regress_owner;
CREATE ROLE regress_producer;
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA minikafka TO regress_owner, regress_producer;
GRANT USAGE ON SCHEMA minikafka_data TO regress_owner;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
-- The names of tables have the topic's number in them
SELECT setval('minikafka.topic_id', 940000) \gset
SET client_min_messages = warning;

-- What a producer sees: state, message, and the fields of the error
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	s text; d text; h text; c text; col text; t text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS s = SCHEMA_NAME, t = TABLE_NAME, c = CONSTRAINT_NAME,
		col = COLUMN_NAME, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, SQLERRM, nullif(d, ''), nullif(h, ''),
		nullif(concat_ws('.', nullif(s, ''), nullif(t, ''), nullif(c, ''), nullif(col, '')), ''));
END $$;

SET ROLE regress_owner;
SELECT minikafka.create_topic('strict', 2, segment_records => 4);
ALTER TABLE minikafka_topics.strict ALTER key SET NOT NULL, ALTER value SET NOT NULL,
	ADD CONSTRAINT short CHECK (length(value) < 5),
	ADD CONSTRAINT even CHECK (partition <> 1 OR key = 'one');
GRANT INSERT, SELECT ON minikafka_topics.strict TO regress_producer;
RESET ROLE;

-- Each way in, and each column
SET ROLE regress_producer;
SELECT pg_temp.try(sql) FROM (VALUES
	(1, $$SELECT minikafka.send('strict', NULL::text, 'k')$$),
	(2, $$SELECT minikafka.send('strict', 'v')$$),
	(3, $$SELECT minikafka.send('strict', '"too long"'::jsonb, 'k')$$),
	(4, $$SELECT minikafka.send('strict', '"too long"'::json, 'k')$$),
	(5, $$SELECT minikafka.send('strict', 'too long'::bytea, 'k')$$),
	(6, $$SELECT minikafka.send('strict', 'too long'::bytea, 'k'::bytea)$$),
	(7, $$SELECT minikafka.send_many('strict', ARRAY['v', NULL], ARRAY['k', 'k'])$$),
	(8, $$SELECT minikafka.send_many('strict', ARRAY['v', 'too long'], ARRAY['k', 'k'])$$),
	(9, $$SELECT minikafka.send_many('strict', ARRAY['v'])$$),
	(10, $$SELECT minikafka.append('strict', 0, 'k', NULL::text)$$),
	(11, $$SELECT minikafka.append('strict', 0, 'k', 'too long')$$),
	(12, $$SELECT minikafka.append('strict', 1, 'two', 'v')$$),
	(13, $$SELECT minikafka.send('strict', 'v', 'two', partition => 1)$$),
	(14, $$SELECT minikafka.send('strict', 'v', 'one', partition => 1)$$),
	(15, $$SELECT minikafka.send('strict', 'too long', 'k', partition => 0, producer => 'p', sequence => 0)$$)
) v (no, sql) ORDER BY no;
-- nothing of what failed is there; nor holds an append() that failed a lock
SELECT partition, end_offset FROM minikafka.partitions ORDER BY 1;
BEGIN;
SAVEPOINT s;
SELECT minikafka.append('strict', 0, 'k', 'too long');
ROLLBACK TO s;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- after an error that was caught the rest goes on
SELECT minikafka.append('strict', 0, 'k', 'v');
COMMIT;
SELECT "offset", key, value FROM minikafka.fetch_text('strict', 0, 0);
-- segments that are made later have it too, and lose it with the topic
SELECT count(minikafka.send('strict', i::text, 'k', partition => 0)) FROM generate_series(1, 9) i;
SET ROLE regress_owner;
ALTER TABLE minikafka_topics.strict DROP CONSTRAINT short, ALTER value DROP NOT NULL;
SET ROLE regress_producer;
SELECT minikafka.send('strict', 'rather long', 'k', partition => 0), minikafka.send('strict', NULL::text, 'k', partition => 0);
SELECT pg_temp.try($$SELECT minikafka.send('strict', 'v')$$);
SELECT * FROM minikafka.check_topic('strict');
RESET ROLE;

-- headers
SET ROLE regress_owner;
SELECT minikafka.create_topic('headed', 1);
ALTER TABLE minikafka_topics.headed ALTER headers SET NOT NULL, ADD CONSTRAINT v CHECK (headers ? 'v');
SELECT pg_temp.try($$SELECT minikafka.send('headed', 'x')$$);
SELECT pg_temp.try($$SELECT minikafka.send('headed', 'x', headers => '{}')$$);
SELECT pg_temp.try($$SELECT minikafka.send('headed', 'x', headers => '{"w": "1"}')$$);
SELECT pg_temp.try($$SELECT minikafka.send('headed', 'x', headers => '{"v": "1"}')$$);
SELECT minikafka.drop_topic('headed');

-- A repeat of a producer is acknowledged, whatever the contract is by now
SELECT minikafka.create_topic('repeated', 1);
SELECT minikafka.send('repeated', 'long ago', partition => 0, producer => 'q', sequence => 0);
ALTER TABLE minikafka_topics.repeated ADD CONSTRAINT short CHECK (length(value) < 5) NOT VALID;
SELECT minikafka.send('repeated', 'long ago', partition => 0, producer => 'q', sequence => 0);
SELECT minikafka.append('repeated', 0, NULL, 'long ago', producer => 'q', sequence => 0);
SELECT pg_temp.try($$SELECT minikafka.send('repeated', 'long ago', partition => 0, producer => 'q', sequence => 1)$$);
SELECT minikafka.drop_topic('repeated');

-- What was sent before a constraint came is checked at COMMIT: in one
-- transaction here, between sessions in an isolation test
SELECT minikafka.create_topic('late', 1);
BEGIN;
SELECT minikafka.send('late', 'v');
ALTER TABLE minikafka_topics.late ALTER value SET NOT NULL;
SELECT minikafka.send('late', 'w');
COMMIT;
SELECT minikafka.drop_topic('late'), minikafka.create_topic('late', 1);
BEGIN;
SELECT minikafka.send('late', 'v');
ALTER TABLE minikafka_topics.late ALTER key SET NOT NULL;
SELECT minikafka.send('late', 'w', 'k');
COMMIT;
-- also if it went by the end, but for the one that is void
BEGIN;
SELECT minikafka.send('late', 'x', 'k');
SAVEPOINT s;
SELECT minikafka.send('late', 'too long', 'k');
ROLLBACK TO s;
ALTER TABLE minikafka_topics.late ADD CONSTRAINT short CHECK (length(value) < 5);
COMMIT;
BEGIN;
SELECT minikafka.send('late', 'y', 'k');
ALTER TABLE minikafka_topics.late DROP CONSTRAINT short;
SELECT minikafka.send('late', 'too long', 'k');
ALTER TABLE minikafka_topics.late ADD CONSTRAINT short CHECK (length(value) < 5);
COMMIT;
SELECT "offset", key, value FROM minikafka.fetch_text('late', 0, 0);
SELECT minikafka.drop_topic('late');

-- CHECKs about the offset, the time and the table hold at COMMIT
SELECT minikafka.create_topic('rows', 1, segment_records => 2);
ALTER TABLE minikafka_topics.rows ADD CONSTRAINT few CHECK ("offset" < 3 AND ts > '2020-01-01' AND length(value) < 3);
SELECT minikafka.send_many('rows', ARRAY['a', 'b']), minikafka.append('rows', 0, NULL, 'c');
BEGIN;
SELECT minikafka.send('rows', 'd');
SELECT minikafka.send('rows', 'e');
COMMIT;
BEGIN;
SELECT minikafka.send('rows', 'too long');
COMMIT;
ALTER TABLE minikafka_topics.rows DROP CONSTRAINT few;
SELECT format('ALTER TABLE minikafka_topics.rows ADD CONSTRAINT t CHECK (tableoid <> %s OR "offset" < 3)', max(oid)) AS alter
FROM pg_class WHERE relname ~ '^p\d+_0_1$' AND relkind = 'r' \gset
:alter;
SELECT minikafka.send('rows', 'd');
SELECT minikafka.send('rows', 'e');
SELECT "offset", value FROM minikafka.fetch_text('rows', 0, 0);
SELECT * FROM minikafka.check_topic('rows');
SELECT minikafka.drop_topic('rows');

-- The owner's code runs as the owner, with a search_path of its own, and cannot
-- use what is open to the caller; its errors quote nothing
SELECT minikafka.create_topic('code', 1);
GRANT INSERT ON minikafka_topics.code TO regress_producer;
CREATE FUNCTION regress_owner.sound(v bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_owner' OR current_setting('search_path') NOT IN ('pg_catalog, pg_temp') THEN
		RAISE '% with %', current_user, current_setting('search_path');
	END IF;
	IF v = 'send' THEN
		PERFORM minikafka.send('code', 'inner');
	ELSIF v = 'role' THEN
		SET ROLE regress_producer;
	ELSIF v = 'number' THEN
		RETURN convert_from(v, 'UTF8')::int > 0;
	END IF;
	BEGIN
		RETURN length(v) > 1 / (length(v) - 1);
	EXCEPTION WHEN division_by_zero THEN
		RETURN NULL;
	END;
END $$;
ALTER TABLE minikafka_topics.code ADD CONSTRAINT s CHECK (regress_owner.sound(value));
SET ROLE regress_producer;
SELECT value, pg_temp.try(format('SELECT minikafka.send(%L, %L)', 'code', value))
FROM unnest('{four,send,role,number,1}'::text[]) value;
RESET ROLE;
-- after an error it is compiled anew: the function was in the midst of it
CREATE FUNCTION regress_owner.part(v bytea) RETURNS boolean LANGUAGE sql AS 'SELECT 1; SELECT 1 / (length(v) - 6) IS NOT NULL';
ALTER TABLE minikafka_topics.code ADD CONSTRAINT p CHECK (regress_owner.part(value));
BEGIN;
SELECT minikafka.send('code', 'before it');
SAVEPOINT s;
SELECT minikafka.send('code', 'midst!');
ROLLBACK TO s;
SELECT minikafka.send('code', 'after');
SAVEPOINT s;
SELECT minikafka.send('code', 'midst!');
ROLLBACK TO s;
SELECT minikafka.send('code', 'then');
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('code', 0, 0);
ALTER TABLE minikafka_topics.code DROP CONSTRAINT p;
-- it runs before any lock is taken that others wait for: at the call, of
-- append() too, and at COMMIT
CREATE FUNCTION regress_owner.no_lock() RETURNS boolean LANGUAGE plpgsql AS
'BEGIN RETURN NOT EXISTS (SELECT FROM pg_locks WHERE locktype = ''advisory'' AND pid = pg_backend_pid()); END';
BEGIN;
SELECT minikafka.send('code', 'at COMMIT');
ALTER TABLE minikafka_topics.code ADD CONSTRAINT l CHECK (regress_owner.no_lock());
COMMIT;
SELECT minikafka.append('code', 0, 'k', 'at the call');
ALTER TABLE minikafka_topics.code DROP CONSTRAINT l;
-- a function that is replaced counts from the next transaction on
BEGIN;
SELECT minikafka.send('code', 'v1');
CREATE OR REPLACE FUNCTION regress_owner.sound(v bytea) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT length(v) > 2';
COMMIT;
SELECT pg_temp.try($$SELECT minikafka.send('code', 'v2')$$);
-- the owner is another
ALTER FUNCTION regress_owner.sound OWNER TO regress_producer;
CREATE OR REPLACE FUNCTION regress_owner.sound(v bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RETURN current_user = convert_from(v, 'UTF8');
END $$;
SELECT pg_temp.try($$SELECT minikafka.send('code', 'regress_owner')$$);
ALTER TABLE minikafka_topics.code OWNER TO regress_producer;
SELECT pg_temp.try($$SELECT minikafka.send('code', 'regress_owner')$$);
SELECT minikafka.drop_topic('code');

-- A table below a topic that demands more than the topic: refused, and told
SELECT setval('minikafka.topic_id', 941000) \gset
SET ROLE regress_owner;
SELECT minikafka.create_topic('below', 1, segment_records => 2);
SELECT minikafka.send('below', 'first');
ALTER TABLE minikafka_data.p941001_0_0 ALTER value SET NOT NULL;
SELECT minikafka.append('below', 0, 'k', 'v');
\set VERBOSITY terse
SELECT minikafka.send('below', 'v', 'k');
SELECT * FROM minikafka.check_topic('below');
-- records are read all the same
SELECT "offset", value FROM minikafka.fetch_text('below', 0, 0);
ALTER TABLE minikafka_data.p941001_0_0 ALTER value DROP NOT NULL;
ALTER TABLE minikafka_data.p941001_0 ADD CONSTRAINT more CHECK (value IS NOT NULL);
SELECT minikafka.send('below', 'v', 'k');
SELECT * FROM minikafka.check_topic('below');
-- the topic has it too now
ALTER TABLE minikafka_topics.below ADD CONSTRAINT more CHECK (value IS NOT NULL);
SELECT minikafka.send('below', 'v', 'k');
SELECT minikafka.send('below', NULL::text, 'k');
SELECT * FROM minikafka.check_topic('below');
ALTER TABLE minikafka_topics.below DROP CONSTRAINT more;
SELECT minikafka.send('below', NULL::text, 'k');
\set VERBOSITY default
SELECT "offset", value FROM minikafka.fetch_text('below', 0, 0);
SELECT minikafka.drop_topic('below');
RESET ROLE;

-- The trigger outbox() keeps it too; a tombstone has no value
CREATE TABLE regress_orders (id int, text text);
SET ROLE regress_owner;
SELECT minikafka.create_topic('orders', 1);
ALTER TABLE minikafka_topics.orders ALTER value SET NOT NULL,
	ADD CONSTRAINT has_text CHECK (convert_from(value, 'UTF8')::jsonb ->> 'text' <> '');
RESET ROLE;
CREATE TRIGGER o AFTER INSERT OR UPDATE OR DELETE ON regress_orders
FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('orders', 'id');
INSERT INTO regress_orders VALUES (1, 'good');
SELECT pg_temp.try($$INSERT INTO regress_orders VALUES (2, '')$$);
SELECT pg_temp.try($$DELETE FROM regress_orders$$);
SELECT * FROM regress_orders;
SELECT key, value ->> 'text' AS text FROM minikafka.fetch_json('orders', 0, 0);
DROP TABLE regress_orders;
SELECT minikafka.drop_topic('orders');

--
-- What values must be: option value_format
--
SET ROLE regress_owner;
SELECT minikafka.create_topic('format', 1);
SELECT value_format FROM minikafka.topics WHERE topic = 'format';
SELECT minikafka.send('format', '\xff'::bytea);
SELECT pg_temp.try($$SELECT minikafka.set_topic_option('format', 'value_format', 'JSON')$$);
SELECT minikafka.set_topic_option('format', 'value_format', 'text');
SELECT value_format FROM minikafka.topics WHERE topic = 'format';
SELECT pg_temp.try($$SELECT minikafka.send('format', '\xe228'::bytea)$$);
SELECT pg_temp.try($$SELECT minikafka.append('format', 0, 'k'::bytea, '\x610062'::bytea)$$);
SELECT pg_temp.try($$SELECT minikafka.send('format', '{', 'k')$$);
SELECT pg_temp.try($$SELECT minikafka.send('format', NULL::bytea, 'k')$$);
SELECT minikafka.set_topic_option('format', 'value_format', 'json');
SELECT value, pg_temp.try(format('SELECT minikafka.send(%L, %L)', 'format', value))
FROM unnest(ARRAY['{"a": 1}', '17', '{', '', '{"a": 12x}', '[1,', '"\u0000"', '"\ud800"', '1e1000000', NULL]) value;
SELECT pg_temp.try($$SELECT minikafka.send('format', repeat('[', 100000))$$);
SELECT pg_temp.try($$SELECT minikafka.send('format', '\xff'::bytea)$$);
SELECT pg_temp.try($$SELECT minikafka.send('format', '\xff'::bytea, '\xff'::bytea)$$);
-- at COMMIT, for what was sent before
SELECT minikafka.set_topic_option('format', 'value_format', NULL);
BEGIN;
SELECT minikafka.send('format', 'no JSON');
SELECT minikafka.set_topic_option('format', 'value_format', 'json');
COMMIT;
SELECT value_format FROM minikafka.topics WHERE topic = 'format';
SELECT "offset", value FROM minikafka.fetch('format', 0, 0);
SELECT minikafka.drop_topic('format');
RESET ROLE;

-- is_json() and is_text() are true exactly of what can be read
SELECT minikafka.create_topic('is', 1, max_message_bytes => 10000000);
SELECT minikafka.send('is', convert_to(v, 'UTF8')) FROM unnest(ARRAY['', '{"a": 1}', 'x', '[1, 2', '"\u00e9"', '"\ud83d\ude00"',
	'"\ud800"', '"\u0000"', '"\u12"', '"é"', 'true', 'nul', '1 2', '1e131071', '1e131072', '1e-16383', '1e-16384', '1e99999999999',
	'-0', '01', ' [] ', '{"a": {"a": [{}, null, 1.50]}}', repeat('[', 500) || repeat(']', 500), repeat('[', 1000000)]) v;
SELECT minikafka.send('is', v) FROM unnest(ARRAY['\xff', '\x22c3a922', '\x7b00', '\x31', '\xeda080', '\xc080', '\xf4908080']::bytea[]) v;
CREATE FUNCTION pg_temp.reads(function text, n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT FROM minikafka.%I(''is'', 0, $1, 1)', function) USING n;
	RETURN true;
EXCEPTION WHEN data_exception THEN
	RETURN false;
END $$;
SELECT count(*), count(*) FILTER (WHERE minikafka.is_json(value)) AS json, count(*) FILTER (WHERE minikafka.is_text(value)) AS text,
	count(*) FILTER (WHERE minikafka.is_json(value) <> pg_temp.reads('fetch_json', "offset")) AS wrong_json,
	count(*) FILTER (WHERE minikafka.is_text(value) <> pg_temp.reads('fetch_text', "offset")) AS wrong_text
FROM minikafka.fetch('is', 0, 0);
SELECT "offset", left(encode(value, 'escape'), 20) AS value, minikafka.is_json(value), minikafka.is_text(value) FROM minikafka.fetch('is', 0, 0);
SELECT minikafka.is_json(NULL), minikafka.is_text(NULL);
SELECT minikafka.drop_topic('is');
-- in workers too
CREATE TABLE regress_values AS SELECT convert_to(CASE WHEN i % 3 = 0 THEN '{' ELSE i::text END, 'UTF8') AS v FROM generate_series(1, 3000) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- the setting has another name from 16 on
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SELECT count(*) FROM regress_values WHERE minikafka.is_json(v) AND minikafka.is_text(v);
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
DROP TABLE regress_values;

SET client_min_messages = error;
SELECT minikafka.drop_topic('strict');
DROP SCHEMA regress_owner CASCADE;
DROP OWNED BY regress_owner, regress_producer;
DELETE FROM minikafka.producer WHERE owner IN ('regress_owner', 'regress_producer');
DROP ROLE regress_owner, regress_producer;
