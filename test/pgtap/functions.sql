--
-- The functions: names, arguments, defaults, results, volatility
--
BEGIN;
SELECT plan(64);

-- As API.md has them: this list is the contract.
CREATE TEMP TABLE contract (name text, arguments text, result text, volatility "char");
INSERT INTO contract VALUES
	('create_topic', 'topic text, partitions integer DEFAULT 3, retention interval DEFAULT NULL::interval, retention_bytes bigint DEFAULT NULL::bigint, cleanup_policy text DEFAULT ''delete''::text, partitioner text DEFAULT ''murmur2''::text, segment_records bigint DEFAULT 1000000, max_message_bytes integer DEFAULT 1048588, min_insync_replicas integer DEFAULT 1, if_not_exists boolean DEFAULT false', 'void', 'v'),
	('set_topic_option', 'topic text, option text, value text', 'void', 'v'),
	('add_partitions', 'topic text, total integer', 'void', 'v'),
	('drop_topic', 'topic text, if_exists boolean DEFAULT false', 'void', 'v'),
	('partition_for_key', 'topic text, key text', 'integer', 's'),
	('partition_for_key', 'topic text, key bytea', 'integer', 's'),
	('murmur2', 'key bytea', 'integer', 'i'),
	('check_topic', 'topic text, OUT severity text, OUT partition integer, OUT "offset" bigint, OUT problem text', 'SETOF record', 's'),
	('send', 'topic text, value text, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v'),
	('send', 'topic text, value jsonb, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v'),
	('send', 'topic text, value json, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v'),
	-- value and key of bytea: the default of the key is this one's
	('send', 'topic text, value bytea, key text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v'),
	('send', 'topic text, value bytea, key bytea DEFAULT NULL::bytea, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v'),
	('send_many', 'topic text, payloads text[], keys text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v'),
	('send_many', 'topic text, payloads jsonb[], keys text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v'),
	('send_many', 'topic text, payloads bytea[], keys bytea[] DEFAULT NULL::bytea[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v'),
	('append', 'topic text, partition integer, key text, value text, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v'),
	('append', 'topic text, partition integer, key text, value jsonb, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v'),
	('append', 'topic text, partition integer, key bytea, value bytea, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v'),
	('last_sent', 'OUT topic text, OUT partition integer, OUT base_offset bigint, OUT records bigint', 'SETOF record', 'v'),
	('fetch', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record', 's'),
	('fetch_text', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record_text', 's'),
	('fetch_json', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record_json', 's'),
	('offsets', 'topic text, partition integer, OUT log_start_offset bigint, OUT end_offset bigint', 'record', 's'),
	-- for view partitions
	('try_offsets', 'topic text, partition integer, OUT log_start_offset bigint, OUT end_offset bigint', 'record', 's'),
	('offset_for_time', 'topic text, partition integer, ts timestamp with time zone', 'bigint', 's'),
	('delete_records', 'topic text, partition integer, before_offset bigint', 'bigint', 'v'),
	('commit_offset', 'group_id text, topic text, partition integer, next_offset bigint, metadata text DEFAULT NULL::text, member_id text DEFAULT NULL::text, generation integer DEFAULT NULL::integer', 'void', 'v'),
	('committed', 'group_id text, topic text, partition integer', 'bigint', 's'),
	('lag', 'group_id text, topic text DEFAULT NULL::text', 'SETOF minikafka.partition_lag', 's');

CREATE TEMP VIEW found AS
SELECT p.proname::text AS name, pg_get_function_arguments(p.oid) AS arguments,
	pg_get_function_result(p.oid) AS result, p.provolatile AS volatility, p.oid
FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace;

-- a line for each, so that a failure names it
SELECT results_eq(
	format('SELECT result, volatility FROM found WHERE name = %L AND arguments = %L', name, arguments),
	format('VALUES (%L, %L::"char")', result, volatility),
	format('%s(%s)', name, arguments))
FROM contract;
SELECT results_eq(
	'SELECT name COLLATE "default", arguments COLLATE "default" FROM found WHERE result <> ''trigger'' EXCEPT SELECT name COLLATE "default", arguments COLLATE "default" FROM contract',
	'SELECT NULL::text, NULL::text WHERE false',
	'there is no other function');
-- what is not built yet is not there, rather than there and without effect
SELECT hasnt_function('minikafka', name, name || '() is not there yet')
FROM unnest(ARRAY['join_group', 'poll', 'commit', 'init_producer', 'inbox_accept', 'outbox', 'maintain', 'expire']) name;

-- the row types
SELECT results_eq(
	format($$SELECT attname::text COLLATE "default", atttypid::regtype::text COLLATE "default" FROM pg_attribute
		WHERE attrelid = 'minikafka.%I'::regclass AND attnum > 0 ORDER BY attnum$$, type),
	format('VALUES %s', columns),
	'columns of type ' || type)
FROM (VALUES
	('record', $$('topic', 'text'), ('partition', 'integer'), ('offset', 'bigint'), ('ts', 'timestamp with time zone'), ('key', 'bytea'), ('value', 'bytea'), ('headers', 'jsonb')$$),
	('record_text', $$('topic', 'text'), ('partition', 'integer'), ('offset', 'bigint'), ('ts', 'timestamp with time zone'), ('key', 'text'), ('value', 'text'), ('headers', 'jsonb')$$),
	('record_json', $$('topic', 'text'), ('partition', 'integer'), ('offset', 'bigint'), ('ts', 'timestamp with time zone'), ('key', 'text'), ('value', 'jsonb'), ('headers', 'jsonb')$$),
	('partition_lag', $$('topic', 'text'), ('partition', 'integer'), ('log_start_offset', 'bigint'), ('end_offset', 'bigint'), ('committed_offset', 'bigint'), ('lag', 'bigint'), ('time_lag', 'interval'), ('member_id', 'text')$$)
) v(type, columns);

-- the views
SELECT has_view('minikafka', view, 'view ' || view) FROM unnest(ARRAY['topics', 'partitions']) view;
SELECT results_eq(
	$$SELECT attname::text COLLATE "default", atttypid::regtype::text COLLATE "default" FROM pg_attribute
	WHERE attrelid = 'minikafka.topics'::regclass AND attnum > 0 ORDER BY attnum$$,
	$$VALUES ('topic', 'text'), ('partitions', 'integer'), ('partitioner', 'text'), ('cleanup_policy', 'text'),
	('retention', 'interval'), ('retention_bytes', 'bigint'), ('segment_records', 'bigint'),
	('max_message_bytes', 'integer'), ('min_insync_replicas', 'integer'), ('owner', 'text'),
	('created_at', 'timestamp with time zone')$$,
	'columns of view topics');
SELECT results_eq(
	$$SELECT attname::text COLLATE "default", atttypid::regtype::text COLLATE "default" FROM pg_attribute
	WHERE attrelid = 'minikafka.partitions'::regclass AND attnum > 0 ORDER BY attnum$$,
	$$VALUES ('topic', 'text'), ('partition', 'integer'), ('log_start_offset', 'bigint'), ('end_offset', 'bigint'),
	('segments', 'bigint'), ('bytes', 'bigint')$$,
	'columns of view partitions');

-- How calls are resolved: what a client library sends, untyped or typed.
SELECT minikafka.create_topic('resolved', 1);
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a')$$, 'send of literals');
SELECT lives_ok($$SELECT minikafka.send('resolved', NULL)$$, 'send of NULL');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a', 'k', '{"h": 1}', 0)$$, 'send of five literals');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a'::varchar, 'k'::varchar)$$, 'send of varchar');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea)$$, 'send of bytea without a key');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea, 'k')$$, 'send of bytea with a literal key');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea, '\x00'::bytea)$$, 'send of bytea and bytea');
SELECT lives_ok($$SELECT minikafka.send('resolved', jsonb_build_object('a', 1), key => 'k')$$, 'send of jsonb');
SELECT lives_ok($$SELECT minikafka.send('resolved', row_to_json(row(1)), 'k')$$, 'send of json');
SELECT lives_ok($$SELECT minikafka.send_many('resolved', ARRAY['a'])$$, 'send_many of literals');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, 'k', 'v')$$, 'append of literals');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, NULL, NULL)$$, 'append of NULLs');
SELECT lives_ok($$SELECT minikafka.fetch('resolved', 0, 0)$$, 'fetch of int literals');
SELECT lives_ok($$SELECT minikafka.commit_offset('g', 'resolved', 0, 0)$$, 'commit_offset of int literals');
SELECT lives_ok($$SELECT minikafka.delete_records('resolved', 0, -1)$$, 'delete_records of int literals');
SELECT lives_ok($$SELECT minikafka.partition_for_key('resolved', 'k')$$, 'partition_for_key of a literal');
-- the plan depends on it: a scan of fetch() is not thought to return a thousand
SELECT is(prorows, 100::real, 'fetch() is estimated as its default') FROM pg_proc
WHERE oid = 'minikafka.fetch'::regproc;

SELECT * FROM finish();
ROLLBACK;
