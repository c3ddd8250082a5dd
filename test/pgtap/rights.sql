--
-- Rights: who may call what, who sees what
--
BEGIN;
SELECT plan(200);

CREATE ROLE tap_owner;
CREATE ROLE tap_insert;
CREATE ROLE tap_select;
CREATE ROLE tap_delete;
CREATE ROLE tap_nothing;
CREATE ROLE tap_monitor IN ROLE pg_monitor;
-- pgTAP's tables belong to who made the plan
GRANT ALL ON ALL TABLES IN SCHEMA pg_temp TO PUBLIC;
GRANT ALL ON ALL SEQUENCES IN SCHEMA pg_temp TO PUBLIC;

-- What the extension grants to everybody, and to nobody
SELECT ok(has_schema_privilege('tap_nothing', schema, 'USAGE') AND NOT has_schema_privilege('tap_nothing', schema, 'CREATE'),
	'everybody may use, and not create in, schema ' || schema)
FROM unnest(ARRAY['minikafka', 'minikafka_topics', 'minikafka_data']) schema;
SELECT set_eq(
	$$SELECT proname::text FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace
	AND NOT has_function_privilege('tap_nothing', p.oid, 'EXECUTE')$$,
	ARRAY['refuse_write'], 'the functions that not everybody may call');
SELECT is_empty(
	$$SELECT proname FROM pg_proc WHERE pronamespace = 'minikafka'::regnamespace AND prosecdef
	AND NOT coalesce(proconfig::text LIKE '%search_path%', false)$$,
	'no function runs as its owner without a fixed search path');
SELECT set_eq(
	$$SELECT relname::text FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind IN ('r', 'v', 'S')
	AND has_table_privilege('tap_nothing', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')$$,
	ARRAY['topics', 'partitions'], 'the relations that everybody has a right to');
SELECT set_eq(
	$$SELECT relname::text FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'v'
	AND has_table_privilege('tap_nothing', oid, 'INSERT, UPDATE, DELETE')$$,
	'{}'::text[], 'nobody may write to a view');
SET ROLE tap_nothing;
SELECT throws_ok(format('SELECT FROM minikafka.%I', t), '42501', NULL, 'catalog table is not readable: ' || t)
FROM unnest(ARRAY['topic', 'partition', 'segment', 'consumer_group', 'group_progress']) t;
SELECT throws_ok(format('SELECT nextval(%L)', 'minikafka.' || s), '42501', NULL, 'sequence is not usable: ' || s)
FROM unnest(ARRAY['topic_id', 'group_no']) s;
SELECT throws_ok($$SELECT minikafka.create_topic('tap')$$, '42501', 'permission denied to create topic "tap"',
	'create_topic takes CREATE on schema minikafka_topics');
RESET ROLE;

GRANT CREATE ON SCHEMA minikafka_topics TO tap_owner;
SET ROLE tap_owner;
SELECT lives_ok($$SELECT minikafka.create_topic('tap', 2)$$, 'create_topic with CREATE');
RESET ROLE;
SELECT is_empty(
	$$SELECT relid FROM pg_partition_tree('minikafka_topics.tap') JOIN pg_class c ON c.oid = relid
	WHERE relowner <> 'tap_owner'::regrole$$, 'all tables of a topic belong to who made it');
GRANT INSERT ON minikafka_topics.tap TO tap_insert;
GRANT SELECT ON minikafka_topics.tap TO tap_select;
GRANT DELETE ON minikafka_topics.tap TO tap_delete;

-- The matrix.  right: one of INSERT, SELECT, DELETE, owner; a + is either.
CREATE TEMP TABLE calls (call text, needs text[]);
GRANT SELECT ON calls TO PUBLIC;
INSERT INTO calls VALUES
	($$minikafka.send('tap', 'v')$$, '{INSERT}'),
	($$minikafka.send('tap', '1'::jsonb)$$, '{INSERT}'),
	($$minikafka.send('tap', '1'::json)$$, '{INSERT}'),
	($$minikafka.send('tap', 'v'::bytea, 'k')$$, '{INSERT}'),
	($$minikafka.send('tap', 'v'::bytea, 'k'::bytea)$$, '{INSERT}'),
	($$minikafka.send_many('tap', ARRAY['v'])$$, '{INSERT}'),
	($$minikafka.send_many('tap', ARRAY['1']::jsonb[])$$, '{INSERT}'),
	($$minikafka.send_many('tap', ARRAY['v']::bytea[])$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k', 'v')$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k', '1'::jsonb)$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k'::bytea, 'v'::bytea)$$, '{INSERT}'),
	($$minikafka.partition_for_key('tap', 'k'::text)$$, '{INSERT,SELECT}'),
	($$minikafka.partition_for_key('tap', 'k'::bytea)$$, '{INSERT,SELECT}'),
	($$minikafka.fetch('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.fetch_text('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.fetch_json('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.offset_for_time('tap', 0, now())$$, '{SELECT}'),
	($$minikafka.offsets('tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.try_offsets('tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.check_topic('tap')$$, '{SELECT}'),
	($$minikafka.committed('tap', 'tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.commit_offset('tap ' || current_user, 'tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.delete_records('tap', 0, 0)$$, '{DELETE}'),
	($$minikafka.set_topic_option('tap', 'max_message_bytes', '10')$$, '{}'),
	($$minikafka.add_partitions('tap', 2)$$, '{}'),
	($$minikafka.drop_topic('tap')$$, '{}');
CREATE TEMP VIEW matrix AS
SELECT r.rolename, call, format('SELECT %s', call) AS sql, r.has = ANY (needs || '{owner}'::text[]) AS may
FROM calls, (VALUES ('tap_insert', 'INSERT'), ('tap_select', 'SELECT'), ('tap_delete', 'DELETE'),
	('tap_nothing', 'nothing'), ('tap_monitor', 'monitor'), ('tap_owner', 'owner')) r(rolename, has)
-- dropping it is for the end
WHERE NOT (r.has = 'owner' AND call LIKE '%drop_topic%');
GRANT SELECT ON matrix TO PUBLIC;
-- 42501, with the topic's name in the message
CREATE FUNCTION pg_temp.tap_check() RETURNS SETOF text LANGUAGE sql AS $$
SELECT CASE WHEN may THEN lives_ok(sql, rolename || ' may ' || call)
	ELSE throws_matching(sql, 'topic "tap"', rolename || ' may not ' || call) END
FROM matrix WHERE rolename = current_user
$$;
SET ROLE tap_insert;
SELECT pg_temp.tap_check();
SET ROLE tap_select;
SELECT pg_temp.tap_check();
SET ROLE tap_delete;
SELECT pg_temp.tap_check();
SET ROLE tap_nothing;
SELECT pg_temp.tap_check();
SET ROLE tap_monitor;
SELECT pg_temp.tap_check();
SET ROLE tap_owner;
SELECT pg_temp.tap_check();
SET ROLE tap_nothing;
SELECT throws_ok($$SELECT minikafka.send('tap', 'v')$$, '42501', 'permission denied for topic "tap"', 'no right: 42501');
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, 0)$$, '42501', 'permission denied for topic "tap"', 'no right: 42501');
SELECT throws_ok($$SELECT minikafka.delete_records('tap', 0, 0)$$, '42501', 'permission denied for topic "tap"', 'no right: 42501');
SELECT throws_ok($$SELECT minikafka.drop_topic('tap')$$, '42501', 'must be owner of topic "tap"', 'not the owner: 42501');
SELECT throws_ok($$SELECT minikafka.add_partitions('tap', 3)$$, '42501', 'must be owner of topic "tap"', 'not the owner: 42501');
SELECT throws_ok($$SELECT minikafka.set_topic_option('tap', 'retention', NULL)$$, '42501', 'must be owner of topic "tap"', 'not the owner: 42501');
-- the right comes before what else may be wrong with a call
SELECT throws_ok($$SELECT minikafka.fetch('tap', 99, -1)$$, '42501', NULL, 'no right: nothing else is told');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', partition => 99)$$, '42501', NULL, 'no right: nothing else is told');
RESET ROLE;

-- The views choose their rows
PREPARE topics AS SELECT topic COLLATE "default" FROM minikafka.topics;
PREPARE partitions AS SELECT topic COLLATE "default", partition FROM minikafka.partitions;
SET ROLE tap_nothing;
SELECT is_empty('topics', 'tap_nothing sees no topic');
SELECT is_empty('partitions', 'tap_nothing sees no partition');
SET ROLE tap_insert;
SELECT results_eq('topics', ARRAY['tap'], 'tap_insert sees the topic');
SELECT is_empty('partitions', 'tap_insert sees no partition');
SET ROLE tap_delete;
SELECT results_eq('topics', ARRAY['tap'], 'tap_delete sees the topic');
SET ROLE tap_select;
SELECT results_eq('topics', ARRAY['tap'], 'tap_select sees the topic');
SELECT set_eq('partitions', $$VALUES ('tap', 0), ('tap', 1)$$, 'tap_select sees its partitions');
SET ROLE tap_monitor;
SELECT results_eq('topics', ARRAY['tap'], 'pg_monitor sees the topic');
SELECT set_eq('partitions', $$VALUES ('tap', 0), ('tap', 1)$$, 'pg_monitor sees its partitions');
RESET ROLE;

-- Groups: the role that used one first
INSERT INTO minikafka.consumer_group SELECT nextval('minikafka.group_no'), 'tap of owner', 'tap_owner';
SET ROLE tap_select;
SELECT throws_ok($$SELECT minikafka.commit_offset('tap of owner', 'tap', 0, 0)$$, '42501',
	'permission denied for group "tap of owner"', 'nobody else commits for a group');
SELECT throws_ok($$SELECT minikafka.committed('tap of owner', 'tap', 0)$$, '42501', NULL, 'nor reads what it has committed');
SELECT throws_ok($$SELECT minikafka.lag('tap of owner')$$, '42501', NULL, 'nor its lag');
SELECT throws_ok($$SELECT minikafka.lag('tap of owner', 'tap')$$, '42501', NULL, 'nor its lag in a topic');
SET ROLE tap_owner;
SELECT lives_ok($$SELECT minikafka.commit_offset('tap of owner', 'tap', 0, 0)$$, 'its owner does');
SELECT lives_ok($$SELECT minikafka.lag('tap of owner', 'tap')$$, 'and sees its lag');
SET ROLE tap_monitor;
SELECT lives_ok($$SELECT minikafka.lag('tap of owner')$$, 'pg_monitor sees the lag');
SELECT lives_ok($$SELECT minikafka.lag('tap of owner', 'tap')$$, 'pg_monitor sees the lag in a topic');
SELECT lives_ok($$SELECT minikafka.committed('tap of owner', 'tap', 0)$$, 'pg_monitor sees what is committed');
SELECT throws_ok($$SELECT minikafka.commit_offset('tap of owner', 'tap', 0, 0)$$, '42501', NULL, 'pg_monitor does not commit');
RESET ROLE;

-- The owner drops it, and a member of the owner may too
SET ROLE tap_owner;
SELECT lives_ok($$SELECT minikafka.drop_topic('tap')$$, 'the owner drops it');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
