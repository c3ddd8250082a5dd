--
-- maintain(), expire(), compact(): which roles may call them and from where, and what
-- they do about what is broken
--
-- The names of tables have the topic's number in them.
SELECT setval('minikafka.topic_id', 920000) \gset
\set SHOW_CONTEXT never
-- nothing to do
CALL minikafka.maintain();

-- Arguments
CALL minikafka.expire(NULL);
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.compact(NULL);
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.expire('');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.compact('no topic');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.latest(NULL);
SELECT * FROM minikafka.latest('');
-- names are taken as they are
SELECT minikafka.create_topic('Q.Topic-1', 1, retention => '1 hour', cleanup_policy => 'compact,delete'), minikafka.create_topic('q.topic-1', 1);
SELECT minikafka.set_topic_option('Q.Topic-1', 'min_compaction_lag', '0');
SELECT minikafka.append('Q.Topic-1', 0, 'k', i::text) FROM generate_series(0, 4) i;
CALL minikafka.compact('Q.Topic-1');
CALL minikafka.compact('q.topic-1');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.expire('Q.Topic-1', NULL);
CALL minikafka.expire(topic => 'Q.Topic-1', removed => 77);
CALL minikafka.expire('minikafka_topics."Q.Topic-1"');
CALL minikafka.expire('"Q.Topic-1"');
SELECT count(*) FROM minikafka.latest('Q.Topic-1');
-- into a variable
DO $$ DECLARE
	n bigint := 5;
BEGIN
	CALL minikafka.expire('Q.Topic-1', n);
	RAISE NOTICE 'removed %', n;
	CALL minikafka.compact('Q.Topic-1', n);
	RAISE NOTICE 'removed %', n;
	CALL minikafka.maintain();
END $$;

-- Where: they end transactions
BEGIN;
CALL minikafka.maintain();
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
CALL minikafka.expire('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
BEGIN;
CALL minikafka.compact('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
CREATE FUNCTION maintaining() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL minikafka.maintain(); END $$;
SELECT maintaining();
\echo :LAST_ERROR_SQLSTATE
CREATE PROCEDURE maintaining_twice() LANGUAGE plpgsql AS $$ BEGIN CALL minikafka.maintain(); CALL minikafka.maintain(); END $$;
CALL maintaining_twice();
-- a handler of exceptions is a subtransaction
DO $$ BEGIN
	CALL minikafka.maintain();
EXCEPTION WHEN division_by_zero THEN
	NULL;
END $$;
\echo :LAST_ERROR_SQLSTATE
-- with whatever is the default, which stays
SET default_transaction_isolation = serializable;
SET lock_timeout = '7s';
CALL minikafka.maintain();
CALL minikafka.expire('Q.Topic-1');
SHOW transaction_isolation;
SHOW lock_timeout;
RESET lock_timeout;
RESET default_transaction_isolation;
SET default_transaction_read_only = on;
CALL minikafka.maintain();
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.expire('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.compact('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.latest('Q.Topic-1');
RESET default_transaction_read_only;
-- what the transaction before them has done is committed
DO $$ BEGIN
	PERFORM minikafka.append('Q.Topic-1', 0, 'k', 'before');
	CALL minikafka.maintain();
	RAISE EXCEPTION 'after';
END $$;
SELECT "offset", value FROM minikafka.fetch_text('Q.Topic-1', 0, 4);

-- Rights
CREATE ROLE regress_owner;
CREATE ROLE regress_keeper;
GRANT USAGE ON SCHEMA minikafka TO regress_owner, regress_keeper;
GRANT CREATE ON SCHEMA minikafka_topics, minikafka_data TO regress_owner;
SET ROLE regress_owner;
CALL minikafka.maintain();
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('owned', 1, retention => '1 hour', cleanup_policy => 'compact,delete', segment_records => 4);
SELECT count(minikafka.append('owned', 0, (i % 2)::text, i::text)) FROM generate_series(0, 9) i;
CALL minikafka.compact('owned');
CALL minikafka.expire('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.compact('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
-- the right comes before what else may be wrong
CALL minikafka.compact('q.topic-1');
SELECT * FROM minikafka.latest('Q.Topic-1');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
-- a role that may maintain does so for all topics
GRANT EXECUTE ON PROCEDURE minikafka.maintain() TO regress_keeper;
SET minikafka.clock_offset = 7200;
SET ROLE regress_keeper;
CALL minikafka.maintain();
SELECT current_user;
RESET ROLE;
SELECT topic, log_start_offset, end_offset FROM minikafka.partitions WHERE topic IN ('owned', 'Q.Topic-1') ORDER BY topic;
RESET minikafka.clock_offset;
-- a segment that it makes belongs to the topic's owner
SELECT minikafka.append('owned', 0, '1', 'v');
DROP TABLE minikafka_data.p920003_0_3;
DELETE FROM minikafka.segment WHERE topic_id = 920003 AND segment = 3;
\c -
\set SHOW_CONTEXT never
SET ROLE regress_keeper;
CALL minikafka.maintain();
RESET ROLE;
SELECT relowner::regrole FROM pg_class WHERE oid = 'minikafka_data.p920003_0_3'::regclass;
SELECT * FROM minikafka.check_topic('owned');

-- What the owner has put on the tables runs as the owner, if at all
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
SET ROLE regress_owner;
CREATE SEQUENCE regress_owner.as_owner;
CREATE SEQUENCE regress_owner.as_other;
GRANT ALL ON ALL SEQUENCES IN SCHEMA regress_owner TO PUBLIC;
GRANT USAGE ON SCHEMA regress_owner TO PUBLIC;
CREATE FUNCTION regress_owner.noted(bytea) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
	IF current_user = 'regress_owner' THEN
		PERFORM nextval('regress_owner.as_owner');
	ELSE
		PERFORM nextval('regress_owner.as_other');
	END IF;
	RETURN length($1);
END $$;
SELECT minikafka.create_topic('indexed', 1, retention => '1 hour', cleanup_policy => 'compact,delete', segment_records => 1000);
SELECT minikafka.set_topic_option('indexed', 'min_compaction_lag', '0');
CREATE INDEX ON minikafka_topics.indexed (regress_owner.noted(value));
SELECT minikafka.send_many('indexed', array_agg(repeat('v', 1000) ORDER BY i), array_agg(CASE WHEN i % 1000 = 500 THEN 'once ' || i ELSE (i % 10)::text END ORDER BY i))
FROM generate_series(0, 2999) i;
RESET ROLE;
SELECT pg_relation_filenode('minikafka_data.p920004_0_0') AS node \gset
CREATE TEMP TABLE calls AS SELECT last_value FROM regress_owner.as_owner;
SET ROLE regress_keeper;
CALL minikafka.maintain();
RESET ROLE;
SELECT "offset" FROM minikafka.fetch('indexed', 0, 0, 3);
SELECT pg_relation_filenode('minikafka_data.p920004_0_0') <> :node AS written_anew,
	(SELECT last_value FROM regress_owner.as_owner) > (SELECT last_value FROM calls) AS run_as_owner,
	(SELECT is_called FROM regress_owner.as_other) AS run_as_other;
SET minikafka.clock_offset = 7200;
SELECT minikafka.append('indexed', 0, 'k', 'v');
CALL minikafka.maintain();
SELECT * FROM minikafka.offsets('indexed', 0);
SELECT "offset" FROM minikafka_topics.indexed;
SELECT is_called FROM regress_owner.as_other;
SELECT minikafka.drop_topic('indexed');
SET client_min_messages = warning;
DROP SCHEMA regress_owner CASCADE;
RESET client_min_messages;
RESET minikafka.clock_offset;
SELECT minikafka.drop_topic(topic) FROM minikafka.topics;
REVOKE ALL ON PROCEDURE minikafka.maintain() FROM regress_keeper;
REVOKE CREATE ON SCHEMA minikafka_topics, minikafka_data FROM regress_owner;
REVOKE USAGE ON SCHEMA minikafka FROM regress_owner, regress_keeper;
DROP ROLE regress_owner, regress_keeper;

-- What is broken is reported, at each pass, and stops nothing else: three topics,
-- of which that in the middle has a problem with partition 0
SELECT setval('minikafka.topic_id', 921000) \gset
CREATE PROCEDURE make_three() LANGUAGE plpgsql AS $$ BEGIN
	PERFORM set_config('minikafka.clock_offset', '0', false);
	PERFORM minikafka.drop_topic(t.topic) FROM minikafka.topics t;
	COMMIT;
	PERFORM setval('minikafka.topic_id', 921000);
	PERFORM minikafka.create_topic(t, 2, retention => '1 hour', cleanup_policy => 'compact,delete', segment_records => 4) FROM unnest('{a, broken, c}'::text[]) t;
	PERFORM minikafka.append(t, p, i::text, 'old') FROM unnest('{a, broken, c}'::text[]) t, generate_series(0, 1) p, generate_series(0, 9) i;
	COMMIT;
	PERFORM set_config('minikafka.clock_offset', '7200', false);
	PERFORM minikafka.append(t, p, 'k', 'young') FROM unnest('{a, broken, c}'::text[]) t, generate_series(0, 1) p;
END $$;
CREATE VIEW starts AS SELECT topic, string_agg(format('%s: %s', partition, log_start_offset), ', ' ORDER BY partition) AS log_starts
FROM minikafka.partitions GROUP BY 1 ORDER BY 1;
CALL make_three();
SELECT * FROM starts;
-- a segment is missing
DROP TABLE minikafka_data.p921002_0_1;
CALL minikafka.maintain();
SELECT * FROM starts;
CALL minikafka.maintain();
-- for one topic it is an error
CALL minikafka.expire('broken');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.compact('broken');
\echo :LAST_ERROR_SQLSTATE
-- until the log start has passed it
SELECT minikafka.delete_records('broken', 0, 8);
CALL minikafka.maintain();
SELECT * FROM starts;
SELECT * FROM minikafka.check_topic('broken');
-- the newest one is
CALL make_three();
DROP TABLE minikafka_data.p921002_0_3, minikafka_data.p921002_0_2;
CALL minikafka.maintain();
SELECT topic, partition, log_start_offset FROM minikafka.partition JOIN minikafka.topic USING (topic_id) JOIN LATERAL (SELECT relname AS topic FROM pg_class c WHERE c.oid = minikafka.topic.rel) r ON true ORDER BY 1, 2;
-- one was altered
CALL make_three();
ALTER TABLE minikafka_data.p921002_0_1 DROP CONSTRAINT p921002_0_1_pkey;
CALL minikafka.maintain();
SELECT topic, partition, log_start_offset FROM minikafka.partition JOIN minikafka.topic USING (topic_id) JOIN LATERAL (SELECT relname AS topic FROM pg_class c WHERE c.oid = minikafka.topic.rel) r ON true ORDER BY 1, 2;
-- or detached: the log start passes it, and it is left alone
CALL make_three();
ALTER TABLE minikafka_data.p921002_0 DETACH PARTITION minikafka_data.p921002_0_1;
CALL minikafka.maintain();
SELECT * FROM starts;
SELECT count(*) FROM minikafka_data.p921002_0_1;
DROP TABLE minikafka_data.p921002_0_1;
-- the table of a partition is missing, with its segments
CALL make_three();
DROP TABLE minikafka_data.p921002_0;
CALL minikafka.maintain();
SELECT topic, partition, log_start_offset FROM minikafka.partition JOIN minikafka.topic USING (topic_id) JOIN LATERAL (SELECT relname AS topic FROM pg_class c WHERE c.oid = minikafka.topic.rel) r ON true ORDER BY 1, 2;
-- the catalog has no segments
CALL make_three();
DELETE FROM minikafka.segment WHERE topic_id = 921002 AND partition = 0;
CALL minikafka.maintain();
SELECT topic, partition, log_start_offset FROM minikafka.partition JOIN minikafka.topic USING (topic_id) JOIN LATERAL (SELECT relname AS topic FROM pg_class c WHERE c.oid = minikafka.topic.rel) r ON true ORDER BY 1, 2;
-- the table of a topic was dropped: the rest of it goes
CALL make_three();
SELECT minikafka.commit_offset('broken', 'broken', 0, 1);
SELECT minikafka.append('broken', 0, 'k', 'v', producer => 'broken', sequence => 0);
SELECT minikafka.join_group('broken members', '{broken, c}', 'm', auto_offset_reset => 'earliest');
DROP TABLE minikafka_topics.broken;
CALL minikafka.maintain();
SELECT * FROM starts;
SELECT (SELECT count(*) FROM minikafka.topic WHERE topic_id = 921002) AS topic,
	(SELECT count(*) FROM minikafka.partition WHERE topic_id = 921002) AS partition,
	(SELECT count(*) FROM minikafka.segment WHERE topic_id = 921002) AS segment,
	(SELECT count(*) FROM minikafka.compaction WHERE topic_id = 921002) AS compaction,
	(SELECT count(*) FROM minikafka.group_progress WHERE topic_id = 921002) AS progress,
	(SELECT count(*) FROM minikafka.producer_progress WHERE topic_id = 921002) AS sequences;
CALL minikafka.maintain();
-- its name can be used again, and members that subscribe to it get the new topic
SELECT minikafka.create_topic('broken', 1);
SELECT minikafka.send('broken', 'v');
SELECT minikafka.heartbeat('broken members', 'm');
SELECT topic, count(*) FROM minikafka.poll('broken members', 'm') GROUP BY 1 ORDER BY 1;
-- a group that is broken
SELECT minikafka.commit_offset('broken', 'c', 0, 11);
UPDATE minikafka.group_progress SET committed_generation = NULL
WHERE group_no = (SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'broken');
SELECT minikafka.commit_offset('fine', 'c', 0, i) FROM generate_series(0, 1) i;
SELECT minikafka.commit_offset('fine', 'c', 0, 2);
CALL minikafka.maintain();
SELECT count(*) FROM minikafka.group_progress WHERE group_no = (SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'fine');

RESET minikafka.clock_offset;
SELECT minikafka.leave_group('broken members', 'm');
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
DROP PROCEDURE make_three(), maintaining_twice();
DROP FUNCTION maintaining();
DROP VIEW starts;
DELETE FROM minikafka.group_progress;
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.group_member;
DELETE FROM minikafka.group_assignment;
DELETE FROM minikafka.producer;
