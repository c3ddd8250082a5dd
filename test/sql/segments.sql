--
-- A segment is the table that the catalog has, by its OID, attached and
-- guarded: no name, and nothing that an owner or a tool does to the tables,
-- puts records in or takes some away
--
CREATE ROLE regress_owner;
CREATE ROLE regress_forger;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO regress_owner, regress_forger;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
GRANT CREATE ON SCHEMA minikafka_data TO regress_forger;
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
-- The names of tables have the topic's number in them.
SELECT setval('minikafka.topic_id', 940000) \gset

-- Tables with the names of a segment that is gone, and of those to come: their
-- rows are not read, and no session waits
SET ROLE regress_owner;
SELECT minikafka.create_topic('forged', 1, cleanup_policy => 'compact', segment_records => 2);
SELECT minikafka.send('forged', 'v' || i, 'k') FROM generate_series(0, 4) i;
SELECT minikafka.send('forged', 'v' || i, 'k' || i) FROM generate_series(5, 6) i;
CALL minikafka.compact('forged');
CALL minikafka.compact('forged');
RESET ROLE;
SELECT segment, rel FROM minikafka.segment WHERE topic_id = 940001 ORDER BY 1;
SET ROLE regress_forger;
CREATE TABLE minikafka_data.p940001_0_0 ("offset" bigint PRIMARY KEY, ts timestamptz NOT NULL, partition int NOT NULL, key bytea, value bytea, headers jsonb);
INSERT INTO minikafka_data.p940001_0_0 VALUES (0, now(), 0, 'k', 'forged');
CREATE TABLE minikafka_data.p940001_0_5 ();
CREATE TYPE minikafka_data.p940001_0_6 AS ENUM ();
CREATE TYPE minikafka_data.p940001_0_6_1 AS ENUM ();
RESET ROLE;
SELECT "offset", value FROM minikafka.fetch_text('forged', 0, 0);
SELECT "offset", value FROM minikafka.latest('forged') ORDER BY 1;
SELECT minikafka.send('forged', 'v' || i, 'k' || i) FROM generate_series(7, 12) i;
SELECT segment, rel FROM minikafka.segment WHERE topic_id = 940001 ORDER BY 1;
SELECT * FROM minikafka.check_topic('forged');
SELECT log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'forged';
SET ROLE regress_owner;
SELECT minikafka.drop_topic('forged');
RESET ROLE;
SELECT count(*) AS theirs FROM pg_class WHERE relnamespace = 'minikafka_data'::regnamespace AND relname LIKE 'p940001%' AND relkind = 'r';
DROP OWNED BY regress_forger;

-- Tables that are renamed and moved go on, and are dropped with the topic
SET ROLE regress_owner;
SELECT minikafka.create_topic('moved', 1, segment_records => 2, retention => '1 hour');
SELECT minikafka.send('moved', 'v' || i) FROM generate_series(0, 2) i;
ALTER TABLE minikafka_data.p940002_0_0 SET SCHEMA regress_owner;
ALTER TABLE regress_owner.p940002_0_0 RENAME TO "The first";
ALTER TABLE minikafka_data.p940002_0_1 SET SCHEMA regress_owner;
ALTER TABLE minikafka_data.p940002_0 SET SCHEMA regress_owner;
ALTER TABLE regress_owner.p940002_0 RENAME TO "a.partition";
SELECT minikafka.send('moved', 'v' || i) FROM generate_series(3, 6) i;
SELECT "offset", value FROM minikafka.fetch_text('moved', 0, 0);
SELECT * FROM minikafka.check_topic('moved');
SELECT end_offset, segments FROM minikafka.partitions WHERE topic = 'moved';
RESET ROLE;
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('moved');
RESET minikafka.clock_offset;
SELECT segment, rel FROM minikafka.segment WHERE topic_id = 940002 ORDER BY 1;
SET ROLE regress_owner;
SELECT minikafka.drop_topic('moved');
RESET ROLE;
SELECT count(*) FROM pg_class WHERE relnamespace = 'regress_owner'::regnamespace;

-- A table that is detached, or attached for other offsets
SET ROLE regress_owner;
SELECT minikafka.create_topic('hung', 1, segment_records => 2);
SELECT minikafka.send('hung', 'v' || i) FROM generate_series(0, 3) i;
ALTER TABLE minikafka_data.p940003_0 DETACH PARTITION minikafka_data.p940003_0_0;
SELECT * FROM minikafka.fetch('hung', 0, 0);
SELECT count(*) FROM minikafka.fetch('hung', 0, 2);
SELECT * FROM minikafka.check_topic('hung');
BEGIN;
RESET ROLE;
SET LOCAL session_replication_role = replica;
DELETE FROM minikafka_data.p940003_0_0;
SET ROLE regress_owner;
ALTER TABLE minikafka_data.p940003_0 ATTACH PARTITION minikafka_data.p940003_0_0 FOR VALUES FROM (100) TO (102);
SELECT * FROM minikafka.fetch('hung', 0, 0);
ROLLBACK;
ALTER TABLE minikafka_data.p940003_0 ATTACH PARTITION minikafka_data.p940003_0_0 FOR VALUES FROM (0) TO (2);
SELECT count(*) FROM minikafka.fetch('hung', 0, 0);
SELECT * FROM minikafka.check_topic('hung');

-- What is attached and is no segment is reported, and in the way of the next
-- one: the sender that needs it is told, and none before it
CREATE TABLE regress_owner.rest PARTITION OF minikafka_data.p940003_0 DEFAULT;
SELECT * FROM minikafka.check_topic('hung');
SELECT minikafka.send('hung', 'v4');
SELECT minikafka.send('hung', 'v5');
SELECT minikafka.send('hung', 'not sent');
DROP TABLE regress_owner.rest;
CREATE TABLE regress_owner.above PARTITION OF minikafka_data.p940003_0 FOR VALUES FROM (7) TO (MAXVALUE);
SELECT minikafka.send('hung', 'not sent');
RESET ROLE;
CALL minikafka.maintain();
SET ROLE regress_owner;
DROP TABLE regress_owner.above;
CREATE TABLE regress_owner.below PARTITION OF minikafka_data.p940003_0 FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE regress_owner.another PARTITION OF minikafka_topics.hung FOR VALUES IN (1, 2);
SELECT minikafka.send('hung', 'v6');
SELECT * FROM minikafka.check_topic('hung');
RESET ROLE;
CALL minikafka.maintain();
DROP TABLE regress_owner.below, regress_owner.another;
SELECT * FROM minikafka.check_topic('hung');
SELECT minikafka.drop_topic('hung');

-- Rows that come from the tables above are refused as well
SET ROLE regress_owner;
SELECT minikafka.create_topic('guarded', 1, segment_records => 4);
SELECT minikafka.send('guarded', 'v');
ALTER TABLE minikafka_topics.guarded DISABLE TRIGGER ALL;
ALTER TABLE minikafka_data.p940004_0 DISABLE TRIGGER ALL;
\set VERBOSITY terse
INSERT INTO minikafka_topics.guarded VALUES (1, now(), 0);
UPDATE minikafka_topics.guarded SET value = 'changed';
DELETE FROM minikafka_topics.guarded;
TRUNCATE minikafka_topics.guarded;
\set VERBOSITY default
SELECT "offset", value FROM minikafka.fetch_text('guarded', 0, 0);
-- whoever takes the guard away, or half of it, is told
DO $$
DECLARE
	change text;
BEGIN
	FOREACH change IN ARRAY ARRAY[
		'DROP TRIGGER minikafka_refuse_write ON minikafka_data.p940004_0_0',
		'DROP TRIGGER repack_trigger ON minikafka_data.p940004_0_0',
		'ALTER TABLE minikafka_data.p940004_0_0 DISABLE TRIGGER repack_trigger',
		'ALTER TABLE minikafka_data.p940004_0_0 ENABLE REPLICA TRIGGER minikafka_refuse_write',
		'ALTER TABLE minikafka_data.p940004_0_0 ENABLE ALWAYS TRIGGER minikafka_refuse_write'] LOOP
		BEGIN
			EXECUTE change;
			PERFORM * FROM minikafka.fetch('guarded', 0, 0);
			RAISE '% goes', change;
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '% %', SQLSTATE, SQLERRM;
		END;
	END LOOP;
END $$;
SELECT minikafka.drop_topic('guarded');

-- Writes fire no triggers.  So where a table has a row trigger, they are
-- refused: on a segment, on the tables above, by a constraint
SELECT minikafka.create_topic('watched', 1, segment_records => 4);
SELECT minikafka.send('watched', 'v' || i, 'k') FROM generate_series(0, 3) i;
CREATE FUNCTION regress_owner.log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE regress_owner.known (key bytea PRIMARY KEY);
INSERT INTO regress_owner.known VALUES ('k');
CREATE FUNCTION regress_owner.try(change text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE change;
	BEGIN
		PERFORM minikafka.append('watched', 0, 'k', 'v');
		RETURN NEXT 'append goes on';
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RETURN NEXT 'append: ' || SQLERRM || ' | ' || detail;
	END;
	RETURN QUERY SELECT 'fetch: ' || count(*) FROM minikafka.fetch('watched', 0, 0);
	RETURN QUERY SELECT problem FROM minikafka.check_topic('watched') WHERE problem NOT LIKE '%\_0\_0"%';
END $$;
BEGIN;
SELECT regress_owner.try('CREATE TRIGGER log AFTER INSERT ON minikafka_data.p940005_0_1 FOR EACH ROW EXECUTE FUNCTION regress_owner.log()');
ROLLBACK;
BEGIN;
SELECT regress_owner.try('CREATE TRIGGER log BEFORE DELETE ON minikafka_topics.watched FOR EACH ROW EXECUTE FUNCTION regress_owner.log()');
ROLLBACK;
BEGIN;
SELECT regress_owner.try('CREATE TRIGGER log AFTER INSERT ON minikafka_data.p940005_0_1 FOR EACH ROW EXECUTE FUNCTION regress_owner.log();
	ALTER TABLE minikafka_data.p940005_0_1 DISABLE TRIGGER log');
ROLLBACK;
BEGIN;
SELECT regress_owner.try('CREATE TRIGGER log AFTER INSERT ON minikafka_data.p940005_0_1 EXECUTE FUNCTION regress_owner.log()');
ROLLBACK;
BEGIN;
SELECT regress_owner.try('ALTER TABLE minikafka_topics.watched ADD CONSTRAINT known FOREIGN KEY (key) REFERENCES regress_owner.known');
ROLLBACK;
BEGIN;
SELECT regress_owner.try('CREATE TABLE regress_owner.reader ("offset" bigint CONSTRAINT read REFERENCES minikafka_data.p940005_0_1)');
ROLLBACK;
-- removing is writing
CREATE TRIGGER log BEFORE DELETE ON minikafka_data.p940005_0_0 FOR EACH ROW EXECUTE FUNCTION regress_owner.log();
SELECT minikafka.set_topic_option('watched', 'cleanup_policy', 'compact');
CALL minikafka.compact('watched');
SELECT minikafka.delete_records('watched', 0, 2);
CALL minikafka.expire('watched');
SELECT count(*) FROM minikafka_topics.watched;
DROP TRIGGER log ON minikafka_data.p940005_0_0;
CALL minikafka.compact('watched');
SELECT count(*) FROM minikafka.fetch('watched', 0, 2);
SELECT minikafka.drop_topic('watched');
RESET ROLE;
-- the same for the catalog
SELECT minikafka.create_topic('listed', 1);
CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
BEGIN;
CREATE TRIGGER log AFTER INSERT OR UPDATE OR DELETE ON minikafka.group_progress FOR EACH ROW EXECUTE FUNCTION log();
SELECT minikafka.commit_offset('g', 'listed', 0, 0);
COMMIT;
SELECT count(*) FROM minikafka.group_progress g JOIN minikafka.topic t USING (topic_id) WHERE t.rel = 'minikafka_topics.listed'::regclass;
SELECT minikafka.commit_offset('g', 'listed', 0, 0);
SELECT minikafka.commit_offset('g', 'listed', 0, 0);
CREATE TRIGGER log AFTER INSERT OR UPDATE OR DELETE ON minikafka.group_progress FOR EACH ROW EXECUTE FUNCTION log();
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
DROP TRIGGER log ON minikafka.group_progress;
SELECT count(*) FROM minikafka.group_progress g JOIN minikafka.topic t USING (topic_id) WHERE t.rel = 'minikafka_topics.listed'::regclass;
BEGIN;
CREATE TRIGGER log AFTER INSERT OR UPDATE OR DELETE ON minikafka.topic FOR EACH ROW EXECUTE FUNCTION log();
SAVEPOINT s;
SELECT minikafka.create_topic('another', 1);
ROLLBACK TO s;
SELECT minikafka.set_topic_option('listed', 'retention', '1 day');
ROLLBACK TO s;
SELECT minikafka.drop_topic('listed');
ROLLBACK;
DROP FUNCTION log();
-- pg_repack passes over what has a trigger of this name: all that is written so
SELECT c.oid::regclass FROM pg_class c
WHERE relkind = 'r' AND relnamespace IN ('minikafka'::regnamespace, 'minikafka_data'::regnamespace)
	AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'repack_trigger');
-- on the catalog it does nothing
BEGIN;
TRUNCATE minikafka.inbox;
ROLLBACK;
SELECT minikafka.drop_topic('listed');

-- A primary key that has more columns: they hold what the table holds
SELECT setval('minikafka.topic_id', 940010) \gset
SELECT minikafka.create_topic('including', 1, segment_records => 10);
SELECT minikafka.send('including', 'before');
ALTER TABLE minikafka_data.p940011_0_0 DROP CONSTRAINT p940011_0_0_pkey, ADD PRIMARY KEY ("offset") INCLUDE (partition, value);
SELECT minikafka.send('including', repeat('x', i), 'k') FROM generate_series(1, 3) i;
SELECT minikafka.append('including', 0, NULL, NULL::bytea);
SELECT "offset", value FROM minikafka.fetch_text('including', 0, 0);
SELECT * FROM minikafka.check_topic('including');
VACUUM minikafka_data.p940011_0_0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT "offset", partition, value FROM minikafka_data.p940011_0_0 ORDER BY 1;
SELECT "offset", partition, value FROM minikafka_data.p940011_0_0 ORDER BY 1;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- one that cannot serve
BEGIN;
ALTER TABLE minikafka_data.p940011_0_0 DROP CONSTRAINT p940011_0_0_pkey, ADD PRIMARY KEY (partition, "offset");
SELECT minikafka.append('including', 0, 'k', 'v');
ROLLBACK;
BEGIN;
ALTER TABLE minikafka_data.p940011_0_0 DROP CONSTRAINT p940011_0_0_pkey, ADD PRIMARY KEY ("offset") DEFERRABLE;
SELECT minikafka.append('including', 0, 'k', 'v');
ROLLBACK;
-- a deferred check is a trigger
ALTER TABLE minikafka_data.p940011_0_0 ADD CONSTRAINT unique_value UNIQUE (value) DEFERRABLE INITIALLY DEFERRED;
SELECT minikafka.append('including', 0, 'k', 'v');
ALTER TABLE minikafka_data.p940011_0_0 DROP CONSTRAINT unique_value;
-- a type that would round
BEGIN;
ALTER TABLE minikafka_topics.including ALTER ts TYPE timestamptz(0);
SELECT minikafka.append('including', 0, 'k', 'v');
ROLLBACK;
-- a row that does not fit on a page
ALTER TABLE minikafka_topics.including ALTER value SET STORAGE PLAIN;
SELECT minikafka.send('including', string_agg(md5(i::text), '')) FROM generate_series(1, 300) i;
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('including', 0, 'k', 'v');
SELECT minikafka.drop_topic('including');

-- The tables of a topic that has another owner
SET ROLE regress_owner;
SELECT minikafka.create_topic('given', 1, segment_records => 2);
SELECT minikafka.send('given', 'v');
RESET ROLE;
ALTER TABLE minikafka_topics.given OWNER TO regress_forger;
SELECT minikafka.send('given', 'v');
SELECT * FROM minikafka.check_topic('given');
ALTER TABLE minikafka_data.p940012_0 OWNER TO regress_forger;
ALTER TABLE minikafka_data.p940012_0_0 OWNER TO regress_forger;
SELECT minikafka.send('given', 'v' || i) FROM generate_series(1, 2) i;
SELECT DISTINCT c.relowner::regrole FROM pg_partition_tree('minikafka_topics.given') t JOIN pg_class c ON c.oid = t.relid;
SELECT minikafka.drop_topic('given');

DROP SCHEMA regress_owner CASCADE;
DROP OWNED BY regress_owner, regress_forger;
DROP ROLE regress_owner, regress_forger;
