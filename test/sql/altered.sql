--
-- What the owner of a topic can do to its tables: it is a clear error or has no
-- effect, and the owner's code never runs as another user
--
CREATE ROLE regress_owner;
CREATE ROLE regress_other;
GRANT USAGE ON SCHEMA minikafka TO regress_owner, regress_other;
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA regress_owner TO PUBLIC;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
-- The names of tables have the topic's number in them: it is 920001, ...
SELECT setval('minikafka.topic_id', 920000) \gset
SET client_min_messages = warning;

-- What each alteration does to each way to use the topic.  The alteration is
-- the owner's, the use is another user's.
CREATE TABLE alterations (no serial, sql text);
INSERT INTO alterations (sql) VALUES
	-- columns
	('ALTER TABLE minikafka_topics.altered ALTER COLUMN value TYPE text USING encode(value, ''hex'')'),
	('ALTER TABLE minikafka_topics.altered ALTER COLUMN ts TYPE bigint USING 0'),
	('ALTER TABLE minikafka_topics.altered ADD COLUMN extra int DEFAULT 1'),
	('ALTER TABLE minikafka_topics.altered DROP COLUMN headers'),
	('ALTER TABLE minikafka_topics.altered RENAME COLUMN key TO k'),
	-- segments
	('ALTER TABLE minikafka_data.p%s_0_0 DROP CONSTRAINT p%1$s_0_0_pkey'),
	('ALTER TABLE minikafka_data.p%s_0_0 SET UNLOGGED'),
	('DROP TABLE minikafka_data.p%s_0_0'),
	('DROP TABLE minikafka_data.p%s_0'),
	('ALTER TABLE minikafka_data.p%s_0_0 DISABLE TRIGGER ALL'),
	('DROP TRIGGER repack_trigger ON minikafka_data.p%s_0_0'),
	('CREATE FUNCTION regress_owner.no() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE ''trigger as %%'', current_user; END $f$;
	CREATE TRIGGER no BEFORE INSERT OR UPDATE OR DELETE ON minikafka_data.p%s_0_0 FOR EACH ROW EXECUTE FUNCTION regress_owner.no()'),
	-- what has no effect
	('ALTER TABLE minikafka_data.p%s_0_0 SET SCHEMA regress_owner'),
	('ALTER TABLE minikafka_topics.altered ALTER COLUMN value SET STORAGE EXTERNAL'),
	('ALTER TABLE minikafka_topics.altered ALTER COLUMN value SET DEFAULT ''x'''),
	('ALTER TABLE minikafka_topics.altered ALTER COLUMN ts DROP NOT NULL'),
	('ALTER TABLE minikafka_topics.altered ADD CHECK (value IS NULL) NOT VALID'),
	('ALTER TABLE minikafka_data.p%s_0_0 SET (fillfactor = 50)'),
	('ALTER TABLE minikafka_data.p%s_0_0 CLUSTER ON p%1$s_0_0_pkey'),
	('ALTER TABLE minikafka_data.p%s_0_0 REPLICA IDENTITY FULL'),
	('ALTER TABLE minikafka_topics.altered DISABLE TRIGGER ALL'),
	('CREATE RULE no AS ON INSERT TO minikafka_topics.altered DO INSTEAD NOTHING'),
	-- what the owner may not
	('CREATE INDEX ON minikafka_data.p%s_0_0 (key)'),
	('CREATE INDEX ON minikafka_topics.altered (key)'),
	('ALTER TABLE minikafka_data.p%s_0_0 RENAME TO mine'),
	('DROP SCHEMA minikafka_data CASCADE');


CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || SQLERRM || coalesce(' | ' || nullif(detail, ''), '');
END $$;
\pset tuples_only on
\pset format unaligned
SELECT 'SET ROLE regress_owner',
	$$SELECT minikafka.create_topic('altered', 1)$$,
	$$GRANT ALL ON minikafka_topics.altered TO regress_other$$,
	$$SELECT minikafka.send('altered', 'v')$$,
	-- relations are cached by now, as in a session that has used the topic
	format('SELECT pg_temp.try(%L)', format(sql, 920000 + no)),
	'SET ROLE regress_other',
	$$SELECT minikafka.send('altered', 'w')$$,
	$$SELECT 'append: ' || pg_temp.try('SELECT minikafka.append(''altered'', 0, ''k'', ''x'')')$$,
	$$SELECT 'fetch: ' || pg_temp.try('SELECT minikafka.fetch(''altered'', 0, 0)')$$,
	$$SELECT 'offsets: ' || pg_temp.try('SELECT minikafka.offsets(''altered'', 0)')$$,
	$$SELECT 'offset_for_time: ' || pg_temp.try('SELECT minikafka.offset_for_time(''altered'', 0, now())')$$,
	$$SELECT 'commit_offset: ' || pg_temp.try('SELECT minikafka.commit_offset(''altered'', ''altered'', 0, 0)')$$,
	$$SELECT 'check_topic:', severity, problem FROM minikafka.check_topic('altered')$$,
	'SET ROLE regress_owner',
	$$SELECT minikafka.drop_topic('altered')$$,
	'RESET ROLE'
FROM alterations ORDER BY no \gexec
\pset tuples_only off
\pset format aligned
DROP TABLE alterations;

-- An alteration that is undone leaves no trace
SELECT setval('minikafka.topic_id', 921000) \gset
SET ROLE regress_owner;
SELECT minikafka.create_topic('undone', 1);
SELECT minikafka.send('undone', 'before');
ALTER TABLE minikafka_topics.undone RENAME COLUMN key TO k;
SELECT minikafka.send('undone', 'during');
SELECT count(*) FROM minikafka.fetch('undone', 0, 0);
ALTER TABLE minikafka_topics.undone RENAME COLUMN k TO key;
SELECT minikafka.send('undone', 'after');
SELECT "offset", value FROM minikafka.fetch_text('undone', 0, 0);
BEGIN;
ALTER TABLE minikafka_topics.undone ADD COLUMN extra int;
SAVEPOINT s;
SELECT minikafka.fetch('undone', 0, 0);
ROLLBACK TO s;
ROLLBACK;
SELECT count(*) FROM minikafka.fetch('undone', 0, 0);
-- Whoever alters in the transaction that has sent fails at its COMMIT
BEGIN;
SELECT minikafka.send('undone', 'lost');
ALTER TABLE minikafka_topics.undone ADD COLUMN extra int;
COMMIT;
SELECT count(*) FROM minikafka.fetch('undone', 0, 0);
RESET ROLE;

-- Rewriting the tables, or building their indexes anew, has no effect
VACUUM FULL minikafka_topics.undone;
CLUSTER minikafka_data.p921001_0_0 USING p921001_0_0_pkey;
SELECT minikafka.send('undone', 'rewritten');
REINDEX TABLE CONCURRENTLY minikafka_data.p921001_0_0;
SELECT minikafka.send('undone', 'reindexed');
ALTER TABLE minikafka_topics.undone SET TABLESPACE pg_default;
SELECT minikafka.send('undone', 'moved');
SELECT "offset", value FROM minikafka.fetch_text('undone', 0, 0);
SELECT * FROM minikafka.check_topic('undone');

-- Rows that were put there by hand, around the trigger, with what a record
-- cannot have: nothing crashes
ALTER TABLE minikafka_topics.undone ALTER ts DROP NOT NULL;
ALTER TABLE minikafka_data.p921001_0 ALTER ts DROP NOT NULL;
ALTER TABLE minikafka_data.p921001_0_0 ALTER ts DROP NOT NULL;
SET ROLE regress_owner;
ALTER TABLE minikafka_data.p921001_0_0 DISABLE TRIGGER ALL;
INSERT INTO minikafka_data.p921001_0_0 VALUES (7, NULL, 0, NULL, 'by hand', '"scalar"');
SELECT "offset", value, headers FROM minikafka.fetch_text('undone', 0, 5);
ALTER TABLE minikafka_data.p921001_0_0 ENABLE TRIGGER ALL;
SELECT "offset", value, headers FROM minikafka.fetch_text('undone', 0, 5);
SELECT minikafka.append('undone', 0, 'k', 'after');
SELECT severity, partition, "offset" FROM minikafka.check_topic('undone');
SELECT minikafka.drop_topic('undone');
RESET ROLE;

-- A topic that is broken does not spoil the view and lag() for the others
SELECT setval('minikafka.topic_id', 922000) \gset
SELECT minikafka.create_topic('broken', 1), minikafka.create_topic('whole', 1);
SELECT minikafka.commit_offset('both', 'broken', 0, 0), minikafka.commit_offset('both', 'whole', 0, 0);
DROP TABLE minikafka_data.p922001_0_0;
SELECT topic, partition, log_start_offset, end_offset, segments
FROM minikafka.partitions ORDER BY 1;
SELECT topic, committed_offset, end_offset, lag FROM minikafka.lag('both') ORDER BY 1;
SELECT minikafka.drop_topic('broken'), minikafka.drop_topic('whole');

-- A constraint is no hindrance for the next segments
SELECT minikafka.create_topic('full', 1, segment_records => 4);
ALTER TABLE minikafka_topics.full ADD CONSTRAINT c CHECK (value IS NOT NULL) NOT VALID;
ALTER TABLE minikafka_topics.full ALTER COLUMN key SET NOT NULL;
SELECT count(minikafka.send('full', 'v', 'k')) FROM generate_series(1, 6);
SELECT end_offset, segments FROM minikafka.partitions WHERE topic = 'full';
SELECT count(*) FROM minikafka.fetch('full', 0, 0);
SELECT * FROM minikafka.check_topic('full');
SELECT minikafka.add_partitions('full', 2);
SELECT count(minikafka.send('full', 'v', 'k', partition => 1)) FROM generate_series(1, 6);
SELECT partition, end_offset, segments FROM minikafka.partitions WHERE topic = 'full' ORDER BY 1;
-- What keeps the next segment from being attached fails the sender that needs
-- it, clearly, and nothing of the transaction is kept
CREATE TABLE in_the_way PARTITION OF minikafka_data.p922003_0 FOR VALUES FROM (8) TO (12);
\set VERBOSITY sqlstate
BEGIN;
SELECT count(minikafka.send('full', 'v', 'k', partition => 0)) FROM generate_series(1, 4);
COMMIT;
\set VERBOSITY default
SELECT end_offset FROM minikafka.partitions WHERE topic = 'full' AND partition = 0;
DROP TABLE in_the_way;
SELECT count(minikafka.send('full', 'v', 'k', partition => 0)) FROM generate_series(1, 4);
SELECT end_offset, segments FROM minikafka.partitions WHERE topic = 'full' AND partition = 0;
SELECT minikafka.drop_topic('full');

-- An index of one's own, made by a superuser, is kept, in new segments too
SELECT minikafka.create_topic('indexed', 1, segment_records => 2);
CREATE INDEX indexed_key ON minikafka_topics.indexed (key);
CREATE INDEX indexed_headers ON minikafka_topics.indexed USING gin (headers);
SELECT count(minikafka.send('indexed', 'v' || i, 'k' || i, jsonb_build_object('i', i)))
FROM generate_series(1, 7) i;
SET enable_seqscan = off;
SELECT "offset", value FROM minikafka_topics.indexed WHERE key = 'k6';
SELECT "offset", value FROM minikafka_topics.indexed WHERE headers @> '{"i": "7"}';
RESET enable_seqscan;
-- a unique one may refuse a record: nothing of the transaction is kept
CREATE UNIQUE INDEX ON minikafka_topics.indexed (key, "offset", partition);
SELECT minikafka.create_topic('unique', 2);
CREATE UNIQUE INDEX ON minikafka_data.p922005_1_0 (key);
SELECT minikafka.send('unique', 'v', 'k', partition => 1);
BEGIN;
SELECT minikafka.send('unique', 'v', 'k', partition => 0), minikafka.send('unique', 'v', 'k', partition => 1);
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT p, (minikafka.offsets('unique', p)).end_offset FROM generate_series(0, 1) p;
SELECT minikafka.send('unique', 'v', 'other', partition => p) FROM generate_series(0, 1) p;
SELECT p, (minikafka.offsets('unique', p)).end_offset FROM generate_series(0, 1) p;
SELECT minikafka.drop_topic('indexed'), minikafka.drop_topic('unique');

-- Expression indexes: the functions in them run as the owner, whoever sends;
-- also those that the planner evaluates because their arguments are constant.
-- An owner that may make none on a segment gets one by ATTACH.
RESET client_min_messages;
SET ROLE regress_owner;
CREATE TABLE regress_owner.seen (what text, who name);
CREATE FUNCTION regress_owner.note(what text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO regress_owner.seen VALUES ($1, current_user);
	RETURN 1;
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING '% runs as %', $1, current_user;
	RETURN 1;
END $$;
-- said to be immutable, and volatile at heart
CREATE FUNCTION regress_owner.spy(what text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	EXECUTE format('SELECT regress_owner.note(%L)', $1);
	RETURN 1;
END $$;
SELECT minikafka.create_topic('spied', 1);
GRANT ALL ON minikafka_topics.spied TO regress_other;
CREATE INDEX ON ONLY minikafka_topics.spied ((regress_owner.spy('expression') + octet_length(value)));
CREATE INDEX ON ONLY minikafka_topics.spied ((regress_owner.spy('row' || left(value::text, 0))));
CREATE INDEX ON ONLY minikafka_topics.spied ("offset") WHERE regress_owner.spy('predicate' || left(value::text, 0)) = 1;
SELECT minikafka.add_partitions('spied', 2);
SELECT count(*) > 0 AS indexes FROM pg_indexes WHERE indexdef LIKE '%spy%' AND tablename LIKE 'p%\_1\_0';
DELETE FROM regress_owner.seen;
RESET ROLE;
SELECT minikafka.send('spied', 'by superuser', partition => 1);
\c -
SELECT minikafka.append('spied', 1, 'k', 'by superuser, in a new session');
\c -
SELECT count(*) FROM minikafka.fetch('spied', 1, 0);
SELECT * FROM minikafka.check_topic('spied');
\c -
SET ROLE regress_other;
SELECT minikafka.send('spied', 'by other', partition => 1);
SELECT count(*) FROM minikafka.fetch('spied', 1, 0);
RESET ROLE;
SELECT DISTINCT * FROM regress_owner.seen ORDER BY 1;
-- what such a function sets is set back, and it cannot send
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION regress_owner.note(what text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF what = 'row' THEN
		PERFORM set_config('regress.setting', 'changed', false);
		PERFORM set_config('search_path', 'regress_owner', false);
	END IF;
	RETURN 1;
END $$;
RESET ROLE;
SET regress.setting = 'mine';
SELECT minikafka.send('spied', 'v', partition => 1);
SHOW regress.setting;
SHOW search_path;
SET ROLE regress_owner;
CREATE OR REPLACE FUNCTION regress_owner.note(what text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF what = 'row' THEN
		RETURN minikafka.send('spied', 'by the index');
	END IF;
	RETURN 1;
END $$;
RESET ROLE;
\set VERBOSITY terse
SELECT minikafka.send('spied', 'v', partition => 1);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT (minikafka.offsets('spied', 1)).end_offset;
SELECT minikafka.drop_topic('spied');
-- and its search_path is not the sender's: what the sender has put in the way of
-- length() is not called, neither for a row nor for what is constant
SET ROLE regress_owner;
CREATE FUNCTION regress_owner.len(bytea) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN length($1);
END $$;
SELECT minikafka.create_topic('called', 1);
GRANT ALL ON minikafka_topics.called TO regress_other;
CREATE INDEX ON ONLY minikafka_topics.called (regress_owner.len(value));
CREATE INDEX ON ONLY minikafka_topics.called ((regress_owner.len('constant') + octet_length(value)));
SELECT minikafka.add_partitions('called', 2);
RESET ROLE;
CREATE SCHEMA regress_other AUTHORIZATION regress_other;
\c -
SET ROLE regress_other;
CREATE FUNCTION regress_other.length(bytea) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'code of the sender runs as %', current_user;
	RETURN 0;
END $$;
GRANT USAGE ON SCHEMA regress_other TO PUBLIC;
SET search_path = regress_other, pg_catalog;
SELECT minikafka.send('called', 'v', partition => 1);
SELECT minikafka.append('called', 1, 'k', 'v');
SHOW search_path;
-- as it would be for an INSERT
SET ROLE regress_owner;
SELECT regress_owner.len('v');
RESET search_path;
RESET ROLE;
SELECT minikafka.drop_topic('called');

-- An ordinary table whose index calls the extension: when another role
-- analyzes, reindexes or vacuums it, no call takes effect
SELECT minikafka.create_topic('private', 1);
SET ROLE regress_owner;
CREATE TABLE regress_owner.bait (x int);
CREATE FUNCTION regress_owner.hook(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
INSERT INTO regress_owner.bait SELECT generate_series(1, 10);
CREATE INDEX bait_hook ON regress_owner.bait (regress_owner.hook(x));
CREATE FUNCTION regress_owner.run(sql text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE $1;
	RETURN 1;
EXCEPTION WHEN OTHERS THEN
	RAISE EXCEPTION '% %', SQLSTATE, SQLERRM;
END $$;
CREATE OR REPLACE FUNCTION regress_owner.hook(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	EXECUTE format('SELECT regress_owner.run(%L)', current_setting('regress.call'));
	RETURN $1;
END $$;
RESET ROLE;
\set VERBOSITY terse
SET regress.call = $$SELECT minikafka.send('private', 'v')$$;
ANALYZE regress_owner.bait;
REINDEX TABLE regress_owner.bait;
SET regress.call = $$SELECT minikafka.send('private', '\x00'::bytea)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.send_many('private', ARRAY['v'])$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.append('private', 0, 'k', 'v')$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.fetch('private', 0, 0)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.commit_offset('g', 'private', 0, 0)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.committed('g', 'private', 0)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.lag('g')$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.offsets('private', 0)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.offset_for_time('private', 0, now())$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.delete_records('private', 0, -1)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.check_topic('private')$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.partition_for_key('private', 'k'::text)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.last_sent()$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.create_topic('made')$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.set_topic_option('private', 'max_message_bytes', '1')$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.add_partitions('private', 2)$$;
ANALYZE regress_owner.bait;
SET regress.call = $$SELECT minikafka.drop_topic('private')$$;
ANALYZE regress_owner.bait;
\set VERBOSITY default
RESET regress.call;
SELECT topic, partitions, max_message_bytes FROM minikafka.topics;
SELECT * FROM minikafka.offsets('private', 0);
SELECT minikafka.drop_topic('private');

SET client_min_messages = warning;
DROP SCHEMA regress_owner, regress_other CASCADE;
DELETE FROM minikafka.consumer_group WHERE group_id = 'altered';
REVOKE CREATE ON SCHEMA minikafka_topics FROM regress_owner;
REVOKE USAGE ON SCHEMA minikafka FROM regress_owner, regress_other;
DROP ROLE regress_owner, regress_other;
