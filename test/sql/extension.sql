--
-- The extension itself: what it is made of, and that it cannot be dropped from
-- under its topics
--
SELECT minikafka.create_topic('member', 1);
SELECT minikafka.send('member', 'v');
SELECT minikafka.join_group('group', '{member}', 'm');
SELECT "offset", value FROM minikafka.poll_text('group', 'm');
SELECT minikafka.append('member', 0, 'k', 'v', producer => 'p', sequence => 0), minikafka.inbox_accept('c', 'e');

-- the three schemas are members, topics and their tables are not
SELECT nspname FROM pg_namespace n
JOIN pg_depend d ON d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e'
WHERE nspname LIKE 'minikafka%' ORDER BY 1;
SELECT count(*) FROM pg_depend d
JOIN pg_partition_tree('minikafka_topics.member') t ON d.classid = 'pg_class'::regclass AND d.objid = t.relid
WHERE d.deptype = 'e';
-- every catalog table and sequence is dumped
SELECT c.relname, c.oid = ANY (e.extconfig) AS dumped
FROM pg_class c, pg_extension e
WHERE e.extname = 'minikafka' AND c.relnamespace = 'minikafka'::regnamespace AND c.relkind IN ('r', 'S')
ORDER BY 1;

DROP EXTENSION minikafka;
\echo :LAST_ERROR_SQLSTATE
SELECT value FROM minikafka.fetch_text('member', 0, 0);

-- with CASCADE the topics go too; the session can go on after it is made anew
SET client_min_messages = warning;
DROP EXTENSION minikafka CASCADE;
SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'minikafka%';
CREATE EXTENSION minikafka;
SELECT count(*) FROM minikafka.topics;
SELECT minikafka.send('member', 'v');
SELECT minikafka.create_topic('member', 1);
SELECT * FROM minikafka.last_sent();
SELECT minikafka.append('member', 0, 'k', 'anew'), minikafka.append('member', 0, 'k', 'second');
SELECT "offset", value FROM minikafka.fetch_text('member', 0, 0);
-- groups are gone too, although their numbers come again
SELECT minikafka.heartbeat('group', 'm');
SELECT minikafka.join_group('group', '{member}', 'n');
SELECT * FROM minikafka.assignment('group', 'n');
SELECT "offset", value FROM minikafka.poll_text('group', 'n');
SELECT minikafka.heartbeat('group', 'm');
-- and so are producers and inbox consumers
SELECT minikafka.append('member', 0, 'k', 'v', producer => 'p', sequence => 1);
SELECT minikafka.append('member', 0, 'k', 'v', producer => 'p', sequence => 0);
SELECT minikafka.inbox_accept('c', 'e'), minikafka.inbox_accept('c', 'e');
SELECT minikafka.drop_topic('member');
-- without topics there is nothing to keep it
DROP EXTENSION minikafka;
SELECT minikafka.send('member', 'v');
BEGIN;
CREATE EXTENSION minikafka;
SELECT minikafka.create_topic('member', 1);
SELECT minikafka.send('member', 'v');
ROLLBACK;
CREATE EXTENSION minikafka;
SELECT minikafka.create_topic('member', 1);
SELECT minikafka.send('member', 'v');
SELECT minikafka.drop_topic('member');
-- a library that is loaded without its extension says so
CREATE FUNCTION pg_temp.fetch(text, int, bigint, int, int) RETURNS SETOF record
LANGUAGE c AS 'minikafka', 'minikafka_fetch';
DROP EXTENSION minikafka;
SELECT * FROM pg_temp.fetch('member', 0, 0, 1, 1) AS t(topic text, partition int, "offset" bigint,
	ts timestamptz, key bytea, value bytea, headers jsonb);
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION minikafka;
-- the settings that it has, and that no other can be invented
SHOW minikafka.clock_offset;
SHOW minikafka.producer_expiry;
\set VERBOSITY sqlstate
SET minikafka.producer_expiry = 0;
SET minikafka.offsets_retention = 0;
SET minikafka.inbox_retention = 0;
\set VERBOSITY default
SET minikafka.producer_expiry = '1d';
SHOW minikafka.producer_expiry;
RESET minikafka.producer_expiry;
-- their defaults, and that not every role may change them
SELECT name, current_setting(name), context FROM pg_settings WHERE name LIKE 'minikafka.%' ORDER BY 1;
SET minikafka.no_such_setting = 1;
-- the script is for CREATE EXTENSION only
CREATE EXTENSION minikafka;
