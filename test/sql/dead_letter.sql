--
-- dead_letter(): copies of records that could not be processed (Kafka cases B04, B05, B08)
--
SELECT minikafka.create_topic('work', 3);
SELECT minikafka.create_topic('work.dead', 2);
SELECT minikafka.send('work', '\x00ff'::bytea, '\x01fe'::bytea, '{"trace": "7", "none": null}', partition => 2);
SELECT minikafka.send('work', NULL, 'k', '[{"key": "a", "value": "1"}, {"key": "a", "base64": "3q0="}, {"key": "__dlq.errors.topic", "value": "old"}, {"key": "__dlq.errors.other", "value": "old"}]', partition => 2);
SELECT minikafka.send('work', repeat('long ', 2000), headers => '{"__dlq.errors.message": "old", "__dlq.errors.stage": "old"}', partition => 1);
SELECT minikafka.join_group('workers', '{work}', 'w', session_timeout => '1 day', max_poll_interval => '1 day', auto_offset_reset => 'earliest');
CREATE VIEW letters AS SELECT partition, "offset", key, left(encode(value, 'escape'), 10) AS value,
	CASE jsonb_typeof(headers) WHEN 'array' THEN headers - (jsonb_array_length(headers) - 1) ELSE headers - '__dlq.errors.timestamp' END AS headers
FROM minikafka_topics."work.dead" ORDER BY partition, "offset";

-- In the transaction of the member: with its commit, or not at all
BEGIN;
SELECT partition, "offset" FROM minikafka.poll('workers', 'w');
SELECT minikafka.dead_letter('workers', 'work', 2, 0, 'work.dead', 'no such customer');
SELECT partition, "offset" FROM minikafka.commit('workers', 'w');
ROLLBACK;
SELECT count(*) FROM letters;
BEGIN;
SELECT partition, "offset" FROM minikafka.poll('workers', 'w');
SELECT minikafka.dead_letter('workers', 'work', 2, 0, 'work.dead', 'no such customer');
SAVEPOINT s;
SELECT minikafka.dead_letter('workers', 'work', 2, 1, 'work.dead', 'rolled back');
ROLLBACK TO s;
SELECT partition, "offset" FROM minikafka.commit('workers', 'w');
COMMIT;
-- the partition is the record's, modulo the number of partitions
SELECT * FROM letters;
SELECT d.key = w.key AND d.value = w.value AS same, (d.headers->>'__dlq.errors.timestamp')::timestamptz = w.ts AS ts
FROM minikafka_topics."work.dead" d, minikafka_topics.work w WHERE w.partition = 2 AND w."offset" = 0;
-- headers of an array, and those of an earlier failure; no error
SELECT minikafka.dead_letter('workers', 'work', 2, 1, 'work.dead', NULL);
SELECT minikafka.dead_letter('workers', 'work', 1, 0, 'work.dead', '');
SELECT * FROM letters;
SELECT d.value = w.value AS same FROM minikafka_topics."work.dead" d, minikafka_topics.work w WHERE d.partition = 1 AND w.partition = 1;

-- A record that is gone
SELECT minikafka.delete_records('work', 2, 1);
SELECT minikafka.dead_letter('workers', 'work', 2, 0, 'work.dead', 'too late');
SELECT * FROM letters WHERE "offset" = 2;
-- there is none yet, or it is not decided
SELECT minikafka.dead_letter('workers', 'work', 2, 2, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.append('work', 2, 'k', 'v');
SELECT minikafka.dead_letter('workers', 'work', 2, 2, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
SELECT minikafka.dead_letter('workers', 'work', 2, -1, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE

-- Size: the error is cut, at a whole character; nothing else.  The exact size depends
-- on how many digits the time of the record has
CREATE FUNCTION pg_temp.fails(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE call;
	RETURN 'no error';
EXCEPTION WHEN program_limit_exceeded THEN
	RETURN regexp_replace(SQLERRM, '\d+', 'N');
END $$;
SELECT minikafka.create_topic('work.small', 1, max_message_bytes => 400);
SELECT minikafka.send('work', repeat('v', 100), 'k', partition => 0);
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.small', repeat('x' || chr(233), 100));
SELECT length(value), octet_length(headers->>'__dlq.errors.message') > 20 AS "some", octet_length(headers->>'__dlq.errors.message') < 200 AS less,
	headers->>'__dlq.errors.message' = left(repeat('x' || chr(233), 100), length(headers->>'__dlq.errors.message')) AS whole
FROM minikafka_topics."work.small";
SELECT minikafka.set_topic_option('work.small', 'max_message_bytes', '200');
SELECT pg_temp.fails($$SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.small', 'SECRET')$$);
-- no more than 8 kB of it is kept
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x' || repeat(chr(233), 5000));
SELECT octet_length(headers->>'__dlq.errors.message') FROM minikafka_topics."work.dead" WHERE partition = 0 AND value LIKE 'vvv%';

-- The contract of the dead-letter topic holds
SELECT minikafka.create_topic('work.compact', 1, cleanup_policy => 'compact');
SELECT minikafka.dead_letter('workers', 'work', 1, 0, 'work.compact', 'SECRET');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE minikafka_topics."work.compact" ALTER value SET NOT NULL;
SELECT minikafka.dead_letter('workers', 'work', 2, 1, 'work.compact', 'SECRET');
\echo :LAST_ERROR_SQLSTATE

-- Names and NULLs
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter('nobody', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter('workers', 'no_such_topic', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'no_such_topic', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter('workers', 'work', 3, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter(NULL, 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.dead_letter('workers', 'work', 0, 0, NULL, 'x');
\echo :LAST_ERROR_SQLSTATE
-- a share group has its own way
SELECT minikafka.create_share_group('sharing', '{work}');
SELECT minikafka.dead_letter('sharing', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.delete_group('sharing');
-- a plain consumer's first transaction makes the group
BEGIN;
SELECT minikafka.commit_offset('plain', 'work', 0, 1);
SELECT pg_temp.fails($$SELECT minikafka.dead_letter('plain', 'work', 0, 0, 'work.small', 'x')$$);
ROLLBACK;
BEGIN;
SELECT minikafka.commit_offset('plain', 'work', 0, 1);
SELECT minikafka.dead_letter('plain', 'work', 0, 0, 'work.dead', 'x');
COMMIT;
SELECT count(*) FROM letters WHERE headers->>'__dlq.errors.group' = 'plain';

-- Rights: the group, the topic, the dead-letter topic
CREATE ROLE regress_worker;
GRANT USAGE ON SCHEMA minikafka TO regress_worker;
SET ROLE regress_worker;
\set VERBOSITY terse
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
RESET ROLE;
SELECT minikafka.grant_group('workers', 'regress_worker');
SET ROLE regress_worker;
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT ON minikafka_topics.work TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT INSERT ON minikafka_topics."work.dead" TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x');
RESET ROLE;
BEGIN READ ONLY;
SELECT minikafka.dead_letter('workers', 'work', 0, 0, 'work.dead', 'x');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

DROP VIEW letters;
SELECT minikafka.leave_group('workers', 'w');
SELECT minikafka.delete_group('workers'), minikafka.delete_group('plain');
SELECT minikafka.drop_topic(t) FROM unnest('{work,work.dead,work.small,work.compact}'::text[]) t;
REVOKE USAGE ON SCHEMA minikafka FROM regress_worker;
DROP ROLE regress_worker;
