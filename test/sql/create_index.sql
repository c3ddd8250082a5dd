--
-- create_index(): indexes that the owner of a topic makes
--
CREATE ROLE regress_owner;
CREATE ROLE regress_other;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO regress_owner, regress_other;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA regress_owner TO PUBLIC;
SELECT setval('minikafka.topic_id', 945000) \gset
SET ROLE regress_owner;
SELECT minikafka.create_topic('indexed', 1, segment_records => 3);
SELECT minikafka.create_topic('Mixed.Case', 2);
GRANT ALL ON minikafka_topics.indexed TO regress_other;
SELECT count(minikafka.send('indexed', 'v' || i, 'k' || i, jsonb_build_object('i', i::text))) FROM generate_series(0, 3) i;

-- of each kind; on the segments that are there, and on those to come
SELECT minikafka.create_index('indexed', '(key)');
SELECT minikafka.create_index('indexed', 'USING hash (key)');
SELECT minikafka.create_index('indexed', 'USING gin (headers) WITH (fastupdate = off)');
SELECT minikafka.create_index('indexed', '(key, ts DESC NULLS FIRST) INCLUDE (partition) WHERE key IS NOT NULL');
CREATE FUNCTION regress_owner.len(bytea) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT length($1)';
SELECT minikafka.create_index('indexed', '(regress_owner.len(value)) -- of the value');
SELECT minikafka.create_index('Mixed.Case', '(key)');
SELECT indexdef FROM pg_indexes WHERE schemaname = 'minikafka_topics' AND tablename IN ('indexed', 'Mixed.Case') ORDER BY 1;
RESET ROLE;
SET ROLE regress_other;
SELECT count(minikafka.send('indexed', 'v' || i, 'k' || i, jsonb_build_object('i', i::text))) FROM generate_series(4, 9) i;
RESET ROLE;
SELECT tablename, count(*) FROM pg_indexes WHERE schemaname = 'minikafka_data' AND tablename LIKE 'p945001%' GROUP BY 1 ORDER BY 1;
SELECT count(*) AS invalid FROM pg_index WHERE NOT indisvalid;
SET enable_seqscan = off;
SELECT "offset" FROM minikafka_topics.indexed WHERE key = 'k7';
SELECT "offset" FROM minikafka_topics.indexed WHERE headers @> '{"i": "8"}';
RESET enable_seqscan;
SELECT * FROM minikafka.check_topic('indexed');
SET ROLE regress_owner;
DROP INDEX minikafka_topics.indexed_key_idx1;

-- one definition, and of this table
SELECT minikafka.create_index('indexed', '(key); DROP TABLE minikafka_topics.indexed');
SELECT minikafka.create_index('indexed', '(key); CREATE INDEX ON minikafka_topics.indexed (ts)');
SELECT minikafka.create_index('indexed', '.indexed (key)');
SELECT minikafka.create_index('indexed', '');
SELECT minikafka.create_index('indexed', 'key');
SELECT minikafka.create_index('indexed', 'x (key)');
SELECT minikafka.create_index('indexed', '("key)');
SELECT minikafka.create_index('indexed', '(nothing)');
SELECT minikafka.create_index('indexed', '(key) TABLESPACE nowhere');
SELECT minikafka.create_index('indexed', '(random())');
SELECT minikafka.create_index('indexed', 'USING gin (key)');
SELECT minikafka.create_index('indexed', NULL);
SELECT minikafka.create_index(NULL, '(key)');
SELECT minikafka.create_index('none', '(key)');
BEGIN READ ONLY;
SELECT minikafka.create_index('indexed', '(key)');
ROLLBACK;
SELECT minikafka.create_index('indexed', '(ts) TABLESPACE pg_global');
RESET ROLE;

-- only the owner may; a superuser too, and then it runs as the owner
SET ROLE regress_other;
SELECT minikafka.create_index('indexed', '(key)');
RESET ROLE;
CREATE FUNCTION regress_owner.spy(bytea) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_user <> 'regress_owner' THEN
		RAISE WARNING 'the code of the owner runs as another';
	END IF;
	RETURN 1;
END $$;
SELECT minikafka.create_index('indexed', '((regress_owner.spy(value) + regress_owner.spy(''constant'')))');
SELECT DISTINCT relowner::regrole FROM pg_class WHERE relname LIKE '%945001%' OR relname LIKE 'indexed%';
SET ROLE regress_other;
SELECT minikafka.append('indexed', 0, 'k', 'v');
RESET ROLE;
-- not in an index that another role builds
SET ROLE regress_owner;
CREATE TABLE regress_owner.bait (x int);
INSERT INTO regress_owner.bait VALUES (1);
CREATE FUNCTION regress_owner.hook(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE INDEX ON regress_owner.bait (regress_owner.hook(x));
CREATE OR REPLACE FUNCTION regress_owner.hook(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	EXECUTE 'SELECT minikafka.create_index(''indexed'', ''(key)'')';
	RETURN 1;
END $$;
RESET ROLE;
\set VERBOSITY terse
REINDEX TABLE regress_owner.bait;
\set VERBOSITY default
-- the session's own settings do not matter
SET ROLE regress_owner;
SET search_path = regress_owner;
SET default_tablespace = pg_default;
SELECT minikafka.create_index('indexed', '(len(key))');
RESET default_tablespace;
RESET search_path;
SELECT minikafka.append('indexed', 0, 'k', 'v');
-- and it is undone with its transaction
BEGIN;
SELECT minikafka.create_index('indexed', '("offset")');
ROLLBACK;
SELECT minikafka.append('indexed', 0, 'k', 'v');
SELECT minikafka.drop_topic('indexed'), minikafka.drop_topic('Mixed.Case');
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA regress_owner CASCADE;
DROP OWNED BY regress_owner, regress_other;
DROP ROLE regress_owner, regress_other;
