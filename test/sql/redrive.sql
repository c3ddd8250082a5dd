--
-- redrive(): dead letters that go back to where they came from
--
SELECT setval('minikafka.topic_id', 950000) \gset
SELECT minikafka.create_topic('work', 3);
SELECT minikafka.create_topic('dead', 2, segment_records => 4);
SELECT minikafka.commit_offset('workers', 'work', 0, 0);
SELECT count(minikafka.send('work', 'work ' || i, 'k' || i, '{"trace": "7"}', partition => i % 3)) FROM generate_series(0, 5) i;
SELECT count(minikafka.dead_letter('workers', 'work', i % 3, i / 3, 'dead', 'failed')) FROM generate_series(0, 5) i;
CREATE VIEW redriven AS SELECT partition, "offset", convert_from(value, 'UTF8') AS value, headers
FROM minikafka_topics.work WHERE headers::text LIKE '%redriven%' ORDER BY partition, "offset";
CREATE VIEW marks AS SELECT partition, first_offset, last_offset FROM minikafka.redriven ORDER BY partition, first_offset;
SELECT partition, "offset", value, headers->'__dlq.errors.partition' AS from_partition FROM minikafka.fetch_text('dead', 0, 0)
UNION ALL SELECT partition, "offset", value, headers->'__dlq.errors.partition' FROM minikafka.fetch_text('dead', 1, 0);

-- Rolled back, and in a savepoint
BEGIN;
SELECT minikafka.redrive('dead');
SELECT minikafka.redrive('dead');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT minikafka.redrive('dead', 0, 1);
ROLLBACK TO s;
SELECT minikafka.redrive('dead', 0, 2);
COMMIT;
SELECT * FROM redriven;
SELECT * FROM marks;
-- One letter; it goes once
SELECT minikafka.redrive('dead', 0, 0), minikafka.redrive('dead', 0, 0), minikafka.redrive('dead', 0, 2);
SELECT * FROM marks;
-- The first one of all, of a partition, and the rest
SELECT minikafka.redrive('dead', max_records => 1);
SELECT * FROM marks;
SELECT minikafka.redrive('dead', 1, max_records => 1);
SELECT minikafka.redrive('dead');
SELECT minikafka.redrive('dead');
SELECT * FROM marks;
SELECT partition, "offset", value, headers FROM redriven;
SELECT "offset", value, headers->'__dlq.errors.offset' AS "in" FROM minikafka.fetch_text('dead', 0, 0);

-- What fails again counts how often it came back
SELECT minikafka.dead_letter('workers', 'work', 0, 2, 'dead', 'failed again');
SELECT "offset", value, headers - '__dlq.errors.timestamp' AS headers FROM minikafka.fetch_text('dead', 0, 4);
SELECT minikafka.redrive('dead');
SELECT headers FROM redriven WHERE headers->>'__dlq.redriven.offset' = '4' AND headers->>'__dlq.redriven.partition' = '0';

-- Records that are no dead letters, of which nothing is left, or whose topic is gone
SELECT minikafka.send('dead', 'no letter', 'k', partition => 1);
SELECT minikafka.send('dead', 'no letter', headers => '[{"key": "__dlq.errors.topic", "base64": "d29yaw=="}]', partition => 1);
SELECT minikafka.delete_records('work', 1, 1);
SELECT minikafka.dead_letter('workers', 'work', 1, 0, 'dead', 'gone');
SELECT minikafka.send('dead', 'from itself', headers => '{"__dlq.errors.topic": "dead"}', partition => 1);
SELECT minikafka.send('dead', 'from SECRET', headers => '{"__dlq.errors.topic": "SECRET", "__dlq.errors.partition": "1"}', partition => 1);
SELECT minikafka.send('dead', 'from a long name', headers => jsonb_build_object('__dlq.errors.topic', repeat('x', 100)), partition => 1);
SELECT minikafka.send('dead', 'from elsewhere', headers => '{"__dlq.errors.topic": "work", "__dlq.errors.partition": "99999999999999999999"}', partition => 1);
SELECT minikafka.send('dead', 'from partition 8', headers => '{"__dlq.errors.topic": "work", "__dlq.errors.partition": "8"}', partition => 1);
SELECT minikafka.redrive('dead');
SELECT * FROM marks;
SELECT partition, value FROM redriven WHERE value LIKE 'from%';
-- again: what was gone is not looked at again
SELECT minikafka.redrive('dead');
-- elsewhere, where the key decides
SELECT minikafka.create_topic('other', 5);
SELECT minikafka.redrive('dead', 1, 2, target_topic => 'other');
SELECT minikafka.redrive('dead', max_records => 3, target_topic => 'other');
SELECT minikafka.redrive('dead', target_topic => 'other');
SELECT minikafka.redrive('dead', target_topic => 'other');
SELECT * FROM marks;
SELECT partition, convert_from(value, 'UTF8') AS value, headers, CASE WHEN key IS NOT NULL THEN partition = minikafka.partition_for_key('other', key) END AS by_key FROM minikafka_topics.other ORDER BY 1, "offset";

-- Several batches, with holes, segments and what is no letter
SELECT minikafka.drop_topic('other');
SELECT minikafka.create_topic('other', 1);
SELECT count(minikafka.send('dead', 'v' || i, headers => CASE WHEN i % 250 = 100 THEN '{}' ELSE '{"__dlq.errors.topic": "other"}'::jsonb END, partition => 0)) FROM generate_series(1, 900) i;
\set VERBOSITY terse
SELECT minikafka.redrive('dead', max_records => 300);
SELECT minikafka.redrive('dead', max_records => 300);
\set VERBOSITY default
SELECT count(*), count(DISTINCT value) FROM minikafka_topics.other;
SELECT * FROM marks WHERE partition = 0;
-- the marks go with the records
SELECT minikafka.delete_records('dead', 0, 400);
SET client_min_messages = warning;
SELECT minikafka.redrive('dead', max_records => 1);
SELECT * FROM marks WHERE partition = 0;
SELECT minikafka.redrive('dead');
RESET client_min_messages;
SELECT count(*), count(DISTINCT value) FROM minikafka_topics.other;
SELECT * FROM marks WHERE partition = 0;
SELECT minikafka.redrive('dead', 0, 100);
-- holes
SELECT minikafka.create_topic('hole', 1, segment_records => 10, cleanup_policy => 'compact');
SELECT count(minikafka.send('hole', 'v' || i, 'k' || i % 7, '{"__dlq.errors.topic": "other"}')) FROM generate_series(1, 50) i;
CALL minikafka.compact('hole');
SELECT minikafka.redrive('hole', max_records => 3);
SELECT minikafka.redrive('hole', 0, 5), minikafka.redrive('hole', 0, 48);
SELECT first_offset, last_offset FROM minikafka.redriven WHERE topic_id = 950005 ORDER BY 1;
SELECT minikafka.redrive('hole');
SELECT first_offset, last_offset FROM minikafka.redriven WHERE topic_id = 950005;
SELECT minikafka.drop_topic('hole');
SELECT count(*) FROM minikafka.redriven WHERE topic_id = 950005;

-- Records that were lost in a restore: their marks do not count for new ones
SELECT minikafka.create_topic('lost', 1);
SELECT count(minikafka.send('lost', 'v', headers => '{"__dlq.errors.topic": "other"}')) FROM generate_series(1, 5);
SELECT minikafka.redrive('lost', 0, 1), minikafka.redrive('lost', 0, 4);
SET session_replication_role = replica;
DELETE FROM minikafka_topics.lost;
RESET session_replication_role;
DELETE FROM minikafka.settled_partition WHERE topic_id = 950006;
\c -
-- what lies beyond the end
SELECT minikafka.redrive('lost');
SELECT minikafka.send('lost', 'new', headers => '{"__dlq.errors.topic": "other"}') FROM generate_series(1, 2);
SELECT first_offset, last_offset FROM minikafka.redriven WHERE topic_id = 950006;
SELECT minikafka.redrive('lost');
SELECT minikafka.drop_topic('lost');

-- A letter that does not fit: which one, and nothing is sent
SELECT minikafka.send('dead', repeat('x', 300), headers => '{"__dlq.errors.topic": "other"}', partition => 0);
SELECT minikafka.set_topic_option('other', 'max_message_bytes', '300');
SELECT minikafka.redrive('dead');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.set_topic_option('other', 'max_message_bytes', '1000');

-- Arguments
SELECT minikafka.redrive(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('no_such_topic');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', NULL, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', 0, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', 0, 100000);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', max_records => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', target_topic => 'no_such_topic');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', target_topic => 'dead');
\echo :LAST_ERROR_SQLSTATE
BEGIN READ ONLY;
SELECT minikafka.redrive('dead');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- Rights: SELECT there, INSERT where it goes to; to take it elsewhere, DELETE there
CREATE ROLE regress_worker;
GRANT USAGE ON SCHEMA minikafka TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.redrive('dead');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT SELECT ON minikafka_topics.dead TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.redrive('dead');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.redrive('dead', target_topic => 'other');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT INSERT ON minikafka_topics.other TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.redrive('dead', target_topic => 'other');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.redrive('dead');
ROLLBACK;
RESET ROLE;
GRANT DELETE ON minikafka_topics.dead TO regress_worker;
SET ROLE regress_worker;
SELECT minikafka.redrive('dead', target_topic => 'other');
RESET ROLE;

SET client_min_messages = warning;
DROP VIEW redriven, marks;
SELECT minikafka.delete_group('workers');
SELECT minikafka.drop_topic(t) FROM unnest('{work,dead,other}'::text[]) t;
SELECT count(*) FROM minikafka.redriven;
REVOKE USAGE ON SCHEMA minikafka FROM regress_worker;
DROP ROLE regress_worker;
