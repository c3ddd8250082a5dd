--
-- outbox(): the rows of a table as records
--
\pset null '(null)'
\set VERBOSITY default

-- What came since the last call, of a topic with one partition.
CREATE FUNCTION pg_temp.sent(of text, OUT key text, OUT value text, OUT op text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	next bigint := coalesce(minikafka.committed('seen', of, 0), 0);
	r record;
BEGIN
	FOR r IN SELECT * FROM minikafka.fetch_text(of, 0, next, 10000) LOOP
		next := r."offset" + 1;
		key := r.key;
		value := r.value;
		op := r.headers->>'op';
		RETURN NEXT;
	END LOOP;
	PERFORM minikafka.commit_offset('seen', of, 0, next);
END $$;

-- The error of a statement: SQLSTATE, message, detail, hint.
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;

SELECT minikafka.create_topic('o', 1);

-- INSERT, UPDATE, DELETE: the row, the new row, a tombstone
CREATE TABLE orders (id int PRIMARY KEY, customer text, amount numeric(10,2), note text);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON orders
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
INSERT INTO orders VALUES (1, 'ann', 10, NULL), (2, 'bob', 20.5, '');
UPDATE orders SET amount = amount + 1;
DELETE FROM orders WHERE id = 1;
SELECT * FROM pg_temp.sent('o');
SELECT key, headers, value IS NULL AS tombstone FROM minikafka.fetch_text('o', 0, 4);
-- JSON to poll_json() and fetch_json() too
SELECT value->>'customer' AS customer FROM minikafka.fetch_json('o', 0, 3, 1);
-- an UPDATE that changes nothing sends the row; one of no row sends nothing
UPDATE orders SET id = id;
UPDATE orders SET id = 9 WHERE false;
DELETE FROM orders WHERE false;
SELECT * FROM pg_temp.sent('o');

-- a new key: a tombstone of the old one, then the row
UPDATE orders SET id = 3, amount = 0;
SELECT * FROM pg_temp.sent('o');
-- of several rows, each with its own
INSERT INTO orders VALUES (4, 'cid', 4);
UPDATE orders SET id = id + 10;
SELECT * FROM pg_temp.sent('o');

-- UPSERT: what has happened to the row
INSERT INTO orders VALUES (13, 'bob', 1), (20, 'dan', 1) ON CONFLICT DO NOTHING;
INSERT INTO orders VALUES (13, 'bob', 2), (21, 'eve', 2)
	ON CONFLICT (id) DO UPDATE SET amount = excluded.amount;
INSERT INTO orders VALUES (14, 'cid', 3)
	ON CONFLICT (id) DO UPDATE SET id = 30;
INSERT INTO orders VALUES (20, 'dan', 3)
	ON CONFLICT (id) DO UPDATE SET amount = 0 WHERE false;
SELECT * FROM pg_temp.sent('o');
MERGE INTO orders o USING (VALUES (20), (21), (22)) v (id) ON o.id = v.id
	WHEN MATCHED AND v.id = 20 THEN DELETE
	WHEN MATCHED THEN UPDATE SET note = 'merged'
	WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'merged', 0);
SELECT * FROM pg_temp.sent('o') ORDER BY key;
WITH gone AS (DELETE FROM orders WHERE id = 22 RETURNING *)
INSERT INTO orders SELECT id + 1, customer, amount FROM gone;
SELECT * FROM pg_temp.sent('o') ORDER BY key;

-- TRUNCATE fires no row trigger
TRUNCATE orders;
SELECT * FROM pg_temp.sent('o');

-- rollback and savepoints; the order of the calls, with send() among them
BEGIN;
INSERT INTO orders VALUES (1, 'rolled back');
ROLLBACK;
BEGIN;
INSERT INTO orders VALUES (2, 'first');
SELECT minikafka.send('o', 'second', 'sent');
SAVEPOINT s;
UPDATE orders SET id = 3;
ROLLBACK TO s;
INSERT INTO orders VALUES (4, 'third');
DO $$
BEGIN
	INSERT INTO orders VALUES (5, 'undone');
	INSERT INTO orders VALUES (2, 'there already');
EXCEPTION WHEN unique_violation THEN
	NULL;
END $$;
SELECT minikafka.send('o', 'fourth', 'sent');
DELETE FROM orders;
COMMIT;
SELECT * FROM pg_temp.sent('o');
SELECT topic, partition, records FROM minikafka.last_sent();
-- a statement that fails sends nothing of what it did before
INSERT INTO orders VALUES (1, 'a'), (1, 'b');
SELECT * FROM pg_temp.sent('o');
BEGIN;
INSERT INTO orders VALUES (1, 'a');
PREPARE TRANSACTION 'outbox';
DROP TABLE orders;

-- A key of several columns, in the order of the arguments
CREATE TABLE lines (account int, line int, kind text, amount int, PRIMARY KEY (account, line));
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON lines
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'kind', 'account', 'line');
INSERT INTO lines VALUES (1, 1, 'debit', 10), (1, 2, 'a:b', 20), (1, 3, '', 30);
-- any column of it makes a new key
UPDATE lines SET line = line + 10 WHERE line = 1;
UPDATE lines SET kind = 'credit' WHERE line = 2;
UPDATE lines SET amount = 0 WHERE line = 3;
DELETE FROM lines;
SELECT * FROM pg_temp.sent('o');
-- the same column twice, in the key or left out
DROP TRIGGER outbox ON lines;
CREATE TRIGGER outbox AFTER INSERT ON lines
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'account', 'account', '-kind', '-kind');
INSERT INTO lines VALUES (1, 1, 'debit', 10);
SELECT * FROM pg_temp.sent('o');
DROP TABLE lines;

-- NULL in the key
CREATE TABLE nullable (a int, b int, v text);
INSERT INTO nullable VALUES (1, NULL, 'before the trigger');
CREATE TRIGGER to_o AFTER INSERT OR UPDATE OR DELETE ON nullable
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'a', 'b');
INSERT INTO nullable VALUES (1, 2, NULL), (1, NULL, 'v');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO nullable VALUES (2, 2, NULL);
UPDATE nullable SET a = NULL WHERE a = 2;
DELETE FROM nullable WHERE a = 1;
SELECT * FROM pg_temp.sent('o');
SELECT count(*) FROM nullable;
DROP TABLE nullable;

-- Columns left out; of the key too
CREATE TABLE people (id int, name text, password text, salt bytea);
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON people
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id', '-password', '-salt');
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON people
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', '-id', 'id', '-password', '-salt');
INSERT INTO people VALUES (1, 'ann', 'secret', '\x00');
UPDATE people SET id = 2, password = 'other';
DELETE FROM people;
SELECT * FROM pg_temp.sent('o');
-- all of them
DROP TRIGGER a ON people;
DROP TRIGGER b ON people;
CREATE TRIGGER a AFTER INSERT ON people
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id', '-id', '-name', '-password', '-salt');
INSERT INTO people VALUES (1, 'ann', 'secret', '\x00');
SELECT * FROM pg_temp.sent('o');
DROP TABLE people;

-- Names with capitals, spaces, quotes, letters of other languages
CREATE SCHEMA "My ""Schema";
CREATE TABLE "My ""Schema"."Order's \ ""Lines" (
	"Id" int, id int, "with space" int, "quo""te" int, "select" int, "a:b" int, "ключ" text, "back\slash" int);
CREATE TRIGGER "Out ""Box" AFTER INSERT OR UPDATE OR DELETE ON "My ""Schema"."Order's \ ""Lines"
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'Id', 'quo"te', 'a:b', 'ключ', '-with space', '-back\slash');
INSERT INTO "My ""Schema"."Order's \ ""Lines" VALUES (1, 2, 3, 4, 5, 6, 'значение', 8);
SELECT * FROM pg_temp.sent('o');
SELECT headers FROM minikafka.fetch('o', 0, (minikafka.offsets('o', 0)).end_offset - 1);
-- a name is as it is in the catalog, not folded to lower case
DROP TRIGGER "Out ""Box" ON "My ""Schema"."Order's \ ""Lines";
CREATE TRIGGER "Out ""Box" AFTER INSERT ON "My ""Schema"."Order's \ ""Lines"
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'ID');
INSERT INTO "My ""Schema"."Order's \ ""Lines" VALUES (1);
\set VERBOSITY terse
DROP SCHEMA "My ""Schema" CASCADE;
\set VERBOSITY default

-- Types
CREATE TYPE mood AS ENUM ('sad', 'OK', 'it''s "fine"');
CREATE TYPE point2 AS (x int, "Y" text);
CREATE DOMAIN positive AS numeric CHECK (VALUE > 0);
CREATE TABLE types (
	id int GENERATED ALWAYS AS IDENTITY,
	t text, c char(4), b boolean, i8 bigint, n numeric, f float8, p positive,
	d date, ts timestamp, tz timestamptz, iv interval, u uuid, by bytea,
	ia int[], ta text[], j json, jb jsonb, m mood, pt point2, pts point2[], r int4range,
	len int GENERATED ALWAYS AS (length(t)) STORED);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON types
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
SET timezone = 'UTC';
INSERT INTO types (t, c, b, i8, n, f, p, d, ts, tz, iv, u, by, ia, ta, j, jb, m, pt, pts, r) VALUES
	(E'a "quote", a \\, a\ttab\nand a line, \u00e9\U0001F600', 'c', true, 9223372036854775807, 1.50,
		1e100, 0.10, '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+02', '1 day 02:03:04',
		'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\xdeadbeef', '{{1,2},{3,NULL}}', '{"a,b","\"",NULL,""}',
		'{"b": 1,  "a": [1, 2.50]}', '{"b": 1,  "a": [1, 2.50]}', 'it''s "fine"', '(1,"a b")',
		ARRAY[(1, 'a'), (2, NULL)]::point2[], '[1,5)'),
	('', '', false, -9223372036854775808, 'NaN', 'NaN', 'NaN', 'infinity', '-infinity', 'infinity', '-1 day',
		NULL, '', '{}', '{}', 'null', 'null', 'sad', '(,)', '{}', 'empty'),
	(NULL, NULL, NULL, NULL, '-Infinity', '-Infinity', NULL, '0044-03-15 BC', NULL, NULL, NULL,
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM pg_temp.sent('o') \gx
-- the values are what row_to_json() makes of the rows
SELECT f.value = row_to_json(t)::text AS same FROM types t
JOIN minikafka.fetch_text('o', 0, (minikafka.offsets('o', 0)).end_offset - 3) f ON f.key = t.id::text
ORDER BY id;

-- any type can be a key
CREATE FUNCTION pg_temp.keyed_by(VARIADIC columns text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER outbox AFTER UPDATE OR DELETE ON types
		FOR EACH ROW EXECUTE FUNCTION minikafka.outbox(''o'', %s, ''-t'')',
		(SELECT string_agg(quote_literal(c), ', ') FROM unnest(columns) c));
	UPDATE types SET i8 = i8 WHERE id = 1;
END $$;
SELECT pg_temp.keyed_by('t');
SELECT pg_temp.keyed_by('c', 'b', 'n', 'p');
SELECT pg_temp.keyed_by('f', 'd', 'u', 'by');
SELECT pg_temp.keyed_by('ia', 'ta');
SELECT pg_temp.keyed_by('jb', 'm', 'pt', 'r');
SELECT pg_temp.keyed_by('len');
SELECT key FROM pg_temp.sent('o');
-- the key of a row does not depend on the session's settings: it would be in
-- another partition, and its tombstone would miss it
UPDATE types SET f = 0.1::float8 + 0.2, by = '\x00ff' WHERE id = 1;
SELECT count(*) FROM pg_temp.sent('o');
SELECT pg_temp.keyed_by('f', 'd', 'ts', 'tz', 'iv', 'by');
BEGIN;
SET LOCAL DateStyle = 'SQL, DMY';
SET LOCAL IntervalStyle = 'iso_8601';
SET LOCAL TimeZone = 'Asia/Tokyo';
SET LOCAL bytea_output = 'escape';
SET LOCAL extra_float_digits = 0;
UPDATE types SET i8 = 1 WHERE id = 1;
DELETE FROM types WHERE id = 1;
-- they are what they were
SELECT d, ts, tz, iv, by FROM types WHERE id = 2;
SHOW TimeZone;
COMMIT;
SELECT key, op FROM pg_temp.sent('o');
RESET timezone;
DROP TABLE types;
DROP TYPE mood, point2;
DROP DOMAIN positive;

-- Long values, out of line in the table, also where the UPDATE leaves them alone
CREATE TABLE long (id int, k text, v text, w text);
ALTER TABLE long ALTER v SET STORAGE EXTERNAL, ALTER k SET STORAGE EXTERNAL;
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON long
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'k', '-id');
INSERT INTO long VALUES (1, repeat('k', 5000), repeat('v', 100000), repeat('w', 100000));
UPDATE long SET id = 2;
DELETE FROM long;
SELECT length(key) AS key, length(value) AS value,
	value::jsonb->>'v' = repeat('v', 100000) AND value::jsonb->>'w' = repeat('w', 100000) AS right, op
FROM pg_temp.sent('o');
-- too large a row; its tombstone is not
SELECT minikafka.set_topic_option('o', 'max_message_bytes', '100');
INSERT INTO long VALUES (1, 'k', repeat('v', 100));
\echo :LAST_ERROR_SQLSTATE
INSERT INTO long VALUES (1, 'k', repeat('v', 10));
UPDATE long SET v = repeat('v', 100);
UPDATE long SET k = repeat('k', 101);
SELECT minikafka.set_topic_option('o', 'max_message_bytes', NULL);
DELETE FROM long;
SELECT * FROM pg_temp.sent('o');
DROP TABLE long;

-- Columns dropped and added, renamed
CREATE TABLE changed (a int, gone int, id int, v text);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON changed
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
CREATE TRIGGER short AFTER INSERT OR UPDATE OR DELETE ON changed
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id', '-a');
INSERT INTO changed VALUES (1, 2, 3, 'v');
ALTER TABLE changed DROP gone;
ALTER TABLE changed ADD late int DEFAULT 7, ADD later text;
INSERT INTO changed VALUES (4, 5, 'w');
-- rows from before
UPDATE changed SET v = upper(v);
ALTER TABLE changed ALTER id TYPE text USING 'n' || id;
UPDATE changed SET v = lower(v);
SELECT * FROM pg_temp.sent('o');
-- a column that the key or the list of those left out names
ALTER TABLE changed RENAME a TO b;
UPDATE changed SET v = v;
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE changed RENAME b TO a;
ALTER TABLE changed DROP id;
DELETE FROM changed;
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM changed;
DROP TABLE changed;

-- A virtual generated column (PostgreSQL 18) is not computed where a trigger
-- fires: it is left out, and cannot be in a key
SELECT current_setting('server_version_num')::int >= 180000 AS has_virtual \gset
\if :has_virtual
	CREATE TABLE virtual (id int, v int GENERATED ALWAYS AS (id + 1) VIRTUAL, w text);
	CREATE TRIGGER outbox AFTER INSERT OR UPDATE ON virtual
		FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
	INSERT INTO virtual VALUES (1, DEFAULT, 'w');
	SELECT value AS virtual_value FROM pg_temp.sent('o') \gset
	CREATE TRIGGER by_v AFTER INSERT ON virtual
		FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'v');
	SELECT left(pg_temp.try('INSERT INTO virtual VALUES (2)'), 5) AS virtual_key \gset
	DROP TABLE virtual;
\else
	\set virtual_value '{"id":1,"w":"w"}'
	\set virtual_key 0A000
\endif
\echo :virtual_value
\echo :virtual_key

-- Nothing depends on the search_path
CREATE TABLE lost (id int);
CREATE TRIGGER outbox AFTER INSERT ON lost
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
SET search_path = '';
INSERT INTO public.lost VALUES (1);
RESET search_path;
SELECT * FROM pg_temp.sent('o');
DROP TABLE lost;

-- Several triggers: they fire in the order of their names, to one topic or several
SELECT minikafka.create_topic('audit', 1);
CREATE TABLE several (id int PRIMARY KEY, status text);
CREATE TRIGGER c AFTER INSERT OR UPDATE ON several
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'status', 'id');
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON several
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('audit', 'id');
CREATE TRIGGER a AFTER UPDATE OF status ON several
	FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status)
	EXECUTE FUNCTION minikafka.outbox('o', 'id', '-id');
INSERT INTO several VALUES (1, 'new'), (2, 'new');
UPDATE several SET status = 'new';
UPDATE several SET status = 'done' WHERE id = 2;
DELETE FROM several;
SELECT * FROM pg_temp.sent('o');
SELECT * FROM pg_temp.sent('audit');
-- one that is disabled does not fire; nor one where replication writes, unless it is to
ALTER TABLE several DISABLE TRIGGER b;
INSERT INTO several VALUES (3, 'disabled');
ALTER TABLE several ENABLE TRIGGER b;
SET session_replication_role = replica;
INSERT INTO several VALUES (4, 'replica');
ALTER TABLE several ENABLE ALWAYS TRIGGER b;
INSERT INTO several VALUES (5, 'always');
RESET session_replication_role;
SELECT key FROM pg_temp.sent('audit');
SELECT key FROM pg_temp.sent('o');
DROP TABLE several;

-- Deferred to COMMIT
CREATE TABLE deferred (id int PRIMARY KEY, v text);
CREATE CONSTRAINT TRIGGER outbox AFTER INSERT OR UPDATE ON deferred
	DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
BEGIN;
INSERT INTO deferred VALUES (1, 'first');
UPDATE deferred SET v = 'second';
SELECT minikafka.send('o', 'sent before they fire', 'k');
SAVEPOINT s;
INSERT INTO deferred VALUES (2, 'undone');
ROLLBACK TO s;
COMMIT;
SELECT * FROM pg_temp.sent('o');
DROP TABLE deferred;

-- Rows that a foreign key or another trigger changes
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int, parent int REFERENCES parent ON UPDATE CASCADE ON DELETE CASCADE);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON child
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'parent', 'id');
CREATE FUNCTION upper_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.id := NEW.id * 10;
	RETURN NEW;
END $$;
CREATE TRIGGER before BEFORE INSERT ON child FOR EACH ROW EXECUTE FUNCTION upper_name();
INSERT INTO parent VALUES (1), (2);
INSERT INTO child VALUES (1, 1), (2, 2);
UPDATE parent SET id = 3 WHERE id = 1;
DELETE FROM parent WHERE id = 2;
SELECT * FROM pg_temp.sent('o');
DROP TABLE child, parent;
DROP FUNCTION upper_name;

-- Partitioned tables: the headers name the table that the trigger was made on
CREATE TABLE measured (at int, id int, v text) PARTITION BY RANGE (at);
CREATE TABLE measured_1 PARTITION OF measured FOR VALUES FROM (0) TO (10);
-- other columns' numbers, and partitions in turn
CREATE TABLE measured_2 (gone int, v text, id int, gone_too int, at int) PARTITION BY LIST (id);
ALTER TABLE measured_2 DROP gone, DROP gone_too;
ALTER TABLE measured ATTACH PARTITION measured_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE measured_2_1 PARTITION OF measured_2 FOR VALUES IN (1);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON measured
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id', 'at', '-at');
-- made and attached after the trigger
CREATE TABLE measured_2_2 PARTITION OF measured_2 FOR VALUES IN (2);
CREATE TABLE measured_3 (v text, at int, id int);
ALTER TABLE measured ATTACH PARTITION measured_3 FOR VALUES FROM (20) TO (30);
INSERT INTO measured VALUES (1, 1, 'one'), (11, 1, 'two'), (12, 2, 'three'), (21, 1, 'four');
INSERT INTO measured_2_2 (at, id, v) VALUES (13, 2, 'straight into the partition');
UPDATE measured SET v = upper(v) WHERE at < 12;
SELECT f.key, f.value, f.headers FROM minikafka.offsets('o', 0) o
CROSS JOIN LATERAL minikafka.fetch_text('o', 0, o.end_offset - 7) f ORDER BY f."offset";
SELECT count(*) FROM pg_temp.sent('o');
-- An UPDATE that moves a row to another partition is, as for any trigger, a
-- DELETE and an INSERT: a tombstone and the row, also where the key stays
UPDATE measured SET at = 14 WHERE at = 1;
SELECT * FROM pg_temp.sent('o');
DROP TRIGGER outbox ON measured;
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON measured
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
UPDATE measured SET at = at + 10 WHERE at = 14;
UPDATE measured SET at = at + 1 WHERE at = 24;
SELECT * FROM pg_temp.sent('o');
-- a trigger on a partition names that; both fire
CREATE TRIGGER own AFTER INSERT ON measured_2
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('audit', 'id');
INSERT INTO measured VALUES (15, 2, 'both');
SELECT headers->>'table' AS audit FROM minikafka.fetch('audit', 0, (minikafka.offsets('audit', 0)).end_offset - 1);
SELECT headers->>'table' AS o FROM minikafka.fetch('o', 0, (minikafka.offsets('o', 0)).end_offset - 1);
SELECT count(*) FROM pg_temp.sent('o');
SELECT count(*) FROM pg_temp.sent('audit');
-- renamed and moved: the names that there are now
ALTER TABLE measured RENAME TO "Measured";
CREATE SCHEMA elsewhere;
ALTER TABLE "Measured" SET SCHEMA elsewhere;
UPDATE elsewhere."Measured" SET v = 'renamed' WHERE at = 15;
SELECT headers FROM minikafka.fetch('o', 0, (minikafka.offsets('o', 0)).end_offset - 1);
-- detached: it has no trigger any more
ALTER TABLE elsewhere."Measured" DETACH PARTITION measured_3;
SELECT count(*) FROM pg_temp.sent('o');
INSERT INTO measured_3 (at, id) VALUES (22, 1);
SELECT * FROM pg_temp.sent('o');
DROP TABLE measured_3;
\set VERBOSITY terse
DROP SCHEMA elsewhere CASCADE;
\set VERBOSITY default

-- 100,000 rows with COPY
SELECT minikafka.create_topic('bulk', 4);
CREATE TABLE bulk (id int, v text DEFAULT 'value');
CREATE TRIGGER outbox AFTER INSERT OR DELETE ON bulk
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('bulk', 'id');
\copy bulk (id) from program 'seq 100000'
SELECT topic, count(*), sum(records) FROM minikafka.last_sent() GROUP BY topic;
-- each once, in its partition, in the order of the rows
SELECT count(*), count(DISTINCT key), bool_and(placed) AS placed, bool_and(ordered) AS ordered
FROM (
	SELECT key, partition = minikafka.partition_for_key('bulk', key) AS placed,
		coalesce(convert_from(key, 'UTF8')::int > lag(convert_from(key, 'UTF8')::int)
			OVER (PARTITION BY partition ORDER BY "offset"), true) AS ordered
	FROM minikafka_topics.bulk) b;
-- a COPY that fails sends nothing
\copy bulk (id) from program 'seq 100; echo x'
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'bulk';
DELETE FROM bulk WHERE id % 100 = 0;
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'bulk';
DROP TABLE bulk;
SELECT minikafka.drop_topic('bulk');

-- Arguments and kinds of triggers, refused when it first fires
CREATE TABLE refused (id int PRIMARY KEY, v text);
CREATE VIEW refused_view AS TABLE refused;
CREATE FUNCTION pg_temp.refused(timing text, arguments text, granularity text = 'ROW',
	relation text = 'refused', statement text = 'INSERT INTO %I VALUES (1)') RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('CREATE TRIGGER t %s ON %I FOR EACH %s EXECUTE FUNCTION minikafka.outbox(%s)',
		timing, relation, granularity, arguments);
	answer := pg_temp.try(format(statement, relation));
	EXECUTE format('DROP TRIGGER t ON %I', relation);
	RETURN answer;
END $$;
\pset format unaligned
-- none, no key column, no column of that name, a column of the system, an empty one
SELECT pg_temp.refused('AFTER INSERT', '');
SELECT pg_temp.refused('AFTER INSERT', $$'o'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', '-v'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'nonsense'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id', '-nonsense'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id', 'ctid'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id', '-tableoid'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id', ''$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id', '-'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', ' id'$$);
-- no topic of that name
SELECT pg_temp.refused('AFTER INSERT', $$'nonsense', 'id'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'O', 'id'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'', 'id'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'minikafka_topics.o', 'id'$$);
-- not AFTER, not FOR EACH ROW
SELECT pg_temp.refused('BEFORE INSERT', $$'o', 'id'$$);
SELECT pg_temp.refused('AFTER INSERT', $$'o', 'id'$$, 'STATEMENT');
SELECT pg_temp.refused('BEFORE INSERT', $$'o', 'id'$$, 'STATEMENT');
SELECT pg_temp.refused('AFTER TRUNCATE', $$'o', 'id'$$, 'STATEMENT', statement => 'TRUNCATE %I');
SELECT pg_temp.refused('INSTEAD OF INSERT', $$'o', 'id'$$, relation => 'refused_view');
-- where no row is written nothing is refused
SELECT pg_temp.refused('AFTER INSERT', $$'nonsense', 'nonsense'$$, statement => 'INSERT INTO %I SELECT 1 WHERE false');
\pset format aligned
-- it is a trigger, and nothing else
SELECT minikafka.outbox();
SELECT * FROM pg_temp.sent('o');
SELECT count(*) FROM refused;

-- A topic that is renamed, dropped, made again
CREATE TRIGGER outbox AFTER INSERT ON refused
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
PREPARE add AS INSERT INTO refused VALUES ($1);
EXECUTE add (1);
ALTER TABLE minikafka_topics.o RENAME TO renamed;
EXECUTE add (2);
\echo :LAST_ERROR_SQLSTATE
-- what stood in an open transaction goes to the topic, whatever its name
ALTER TABLE minikafka_topics.renamed RENAME TO o;
BEGIN;
EXECUTE add (2);
ALTER TABLE minikafka_topics.o RENAME TO renamed;
COMMIT;
ALTER TABLE minikafka_topics.renamed RENAME TO o;
SELECT key FROM pg_temp.sent('o');
SELECT minikafka.drop_topic('audit');
DROP TRIGGER outbox ON refused;
CREATE TRIGGER outbox AFTER INSERT ON refused
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('audit', 'id');
INSERT INTO refused VALUES (3);
SELECT minikafka.create_topic('audit', 1);
INSERT INTO refused VALUES (3);
SELECT key FROM minikafka.fetch_text('audit', 0, 0);

-- READ ONLY: a temporary table can be written to, a topic cannot
CREATE TEMP TABLE mine (id int);
CREATE TRIGGER outbox AFTER INSERT ON mine
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
BEGIN READ ONLY;
INSERT INTO mine VALUES (1);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
INSERT INTO mine VALUES (1);
SELECT key, headers->>'table' AS "table", headers->>'schema' = pg_my_temp_schema()::regnamespace::text AS "schema"
FROM minikafka.fetch_text('o', 0, (minikafka.offsets('o', 0)).end_offset - 1);
SELECT count(*) FROM pg_temp.sent('o');

-- Rights: the role that writes the row needs INSERT on the topic, the table's owner does not
-- help; the clerk has no USAGE on the schema, and calls nothing
CREATE ROLE regress_clerk;
CREATE ROLE regress_keeper;
GRANT USAGE ON SCHEMA minikafka TO regress_keeper;
GRANT CREATE ON SCHEMA minikafka_topics, public TO regress_keeper;
GRANT CREATE ON SCHEMA public TO regress_clerk;
GRANT INSERT, DELETE, SELECT ON refused TO regress_clerk;
DROP TRIGGER outbox ON refused;
CREATE TRIGGER outbox AFTER INSERT OR DELETE ON refused
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
SET ROLE regress_clerk;
INSERT INTO refused VALUES (10);
\echo :LAST_ERROR_SQLSTATE
DELETE FROM refused;
-- a trigger on a table of one's own needs USAGE when it is made, and no right to the
-- topic until it fires
CREATE TABLE clerks (id int);
CREATE TRIGGER outbox AFTER INSERT ON clerks
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
RESET ROLE;
GRANT USAGE ON SCHEMA minikafka TO regress_clerk;
SET ROLE regress_clerk;
CREATE TRIGGER outbox AFTER INSERT ON clerks
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('o', 'id');
RESET ROLE;
REVOKE USAGE ON SCHEMA minikafka FROM regress_clerk;
SET ROLE regress_clerk;
INSERT INTO clerks VALUES (1);
RESET ROLE;
GRANT INSERT ON minikafka_topics.o TO regress_clerk;
SET ROLE regress_clerk;
INSERT INTO refused VALUES (10);
INSERT INTO clerks VALUES (11);
RESET ROLE;
-- a function of the owner's may write for roles that have no right
REVOKE INSERT ON minikafka_topics.o FROM regress_clerk;
CREATE FUNCTION write_for_me(id int) RETURNS void LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, public AS $$ INSERT INTO public.refused VALUES (id) $$;
SET ROLE regress_clerk;
SELECT write_for_me(12);
INSERT INTO refused VALUES (13);
RESET ROLE;
SELECT key FROM pg_temp.sent('o');
DROP FUNCTION write_for_me;
DROP TABLE clerks;

-- Row-level security on the topic
GRANT INSERT ON minikafka_topics.o TO regress_clerk;
ALTER TABLE minikafka_topics.o ENABLE ROW LEVEL SECURITY;
SET ROLE regress_clerk;
INSERT INTO refused VALUES (14);
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
ALTER TABLE minikafka_topics.o DISABLE ROW LEVEL SECURITY;
REVOKE INSERT ON minikafka_topics.o FROM regress_clerk;

-- Code of the topic's owner runs as the topic's owner, not as the role that writes the row
SET ROLE regress_keeper;
CREATE TABLE keepers_log (who name);
-- said to be immutable, and volatile at heart
CREATE FUNCTION keepers_note() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.keepers_log VALUES (current_user);
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING 'runs as %', current_user;
END $$;
CREATE FUNCTION keepers_index(value bytea) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	EXECUTE 'SELECT public.keepers_note()';
	RETURN 1;
END $$;
SELECT minikafka.create_topic('kept', 1);
CREATE INDEX ON ONLY minikafka_topics.kept (keepers_index(value));
SELECT minikafka.add_partitions('kept', 2);
GRANT INSERT ON minikafka_topics.kept TO regress_clerk;
RESET ROLE;
DROP TRIGGER outbox ON refused;
CREATE TRIGGER outbox AFTER INSERT ON refused
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('kept', 'id');
INSERT INTO refused SELECT generate_series(20, 29);
SET ROLE regress_clerk;
INSERT INTO refused SELECT generate_series(30, 39);
RESET ROLE;
SELECT who, count(*) > 0 AS noted FROM keepers_log GROUP BY who;
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'kept';
-- and what runs so, in another role's ANALYZE too, cannot send, not through a trigger
SET ROLE regress_keeper;
CREATE TRIGGER outbox AFTER INSERT ON keepers_log
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('kept', 'who');
CREATE TABLE trap (value bytea);
CREATE INDEX ON trap (keepers_index(value));
TRUNCATE keepers_log;
ALTER TABLE keepers_log DISABLE TRIGGER outbox;
INSERT INTO trap VALUES ('x');
ALTER TABLE keepers_log ENABLE TRIGGER outbox;
CREATE OR REPLACE FUNCTION keepers_note() RETURNS void LANGUAGE sql AS
$$ INSERT INTO public.keepers_log VALUES (current_user) $$;
RESET ROLE;
\set VERBOSITY terse
ANALYZE trap;
\echo :LAST_ERROR_SQLSTATE
REINDEX TABLE trap;
\echo :LAST_ERROR_SQLSTATE
INSERT INTO refused SELECT generate_series(40, 49);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'kept';
DROP TABLE trap;

DROP TABLE refused CASCADE;
SELECT * FROM minikafka.check_topic('o');
SELECT * FROM minikafka.check_topic('audit');
SELECT minikafka.drop_topic('o'), minikafka.drop_topic('audit'), minikafka.drop_topic('kept');
SELECT minikafka.delete_group('seen');
DROP TABLE keepers_log;
DROP FUNCTION keepers_index, keepers_note;
REVOKE CREATE ON SCHEMA minikafka_topics, public FROM regress_keeper;
REVOKE CREATE ON SCHEMA public FROM regress_clerk;
REVOKE USAGE ON SCHEMA minikafka FROM regress_keeper;
DROP ROLE regress_clerk, regress_keeper;
