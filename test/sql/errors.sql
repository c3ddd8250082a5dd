--
-- Every function with NULLs, empty strings, negative and huge numbers, unknown
-- names: each answer with its SQLSTATE
--
-- Runs a call and rolls it back.
CREATE FUNCTION pg_temp.answer(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
	result text;
BEGIN
	EXECUTE 'SELECT ' || call INTO result;
	RAISE EXCEPTION 'ok' USING DETAIL = coalesce(result, 'NULL');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
	IF SQLERRM = 'ok' THEN
		RETURN 'ok: ' || detail;
	END IF;
	RETURN concat_ws(' | ', SQLSTATE || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;
SET client_min_messages = warning;
SELECT minikafka.create_topic('known', 2);
SELECT minikafka.append('known', 0, 'k', '{}'), minikafka.append('known', 1, 'k', '{}');
SELECT minikafka.commit_offset('group', 'known', 0, 1);

-- A call that is right, and its arguments.
CREATE TABLE calls (no serial, function text, arguments text[]);
INSERT INTO calls (function, arguments) VALUES
	('create_topic', ARRAY[$$topic => 'new'::text$$, $$partitions => 1::int$$, $$cleanup_policy => 'delete'::text$$, $$partitioner => 'md5'::text$$, $$segment_records => 100::bigint$$, $$max_message_bytes => 100::int$$, $$min_insync_replicas => 1::int$$, $$if_not_exists => false::boolean$$]),
	('set_topic_option', ARRAY[$$'known'::text$$, $$'max_message_bytes'::text$$, $$'100'::text$$]),
	('add_partitions', ARRAY[$$'known'::text$$, $$3::int$$]),
	('drop_topic', ARRAY[$$'known'::text$$, $$false::boolean$$]),
	('partition_for_key', ARRAY[$$'known'::text$$, $$'k'::text$$]),
	('partition_for_key', ARRAY[$$'known'::text$$, $$'k'::bytea$$]),
	('murmur2', ARRAY[$$'k'::bytea$$]),
	('check_topic', ARRAY[$$'known'::text$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::text$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::jsonb$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::json$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::bytea$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::bytea$$, $$'k'::bytea$$, $$'{}'::jsonb$$, $$0::int$$]),
	('send_many', ARRAY[$$'known'::text$$, $$'{a}'::text[]$$, $$'{k}'::text[]$$, $$'{NULL}'::jsonb[]$$]),
	('send_many', ARRAY[$$'known'::text$$, $$'{1}'::jsonb[]$$, $$'{k}'::text[]$$, $$'{NULL}'::jsonb[]$$]),
	('send_many', ARRAY[$$'known'::text$$, $$'{a}'::bytea[]$$, $$'{k}'::bytea[]$$, $$'{NULL}'::jsonb[]$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::text$$, $$'v'::text$$, $$'{}'::jsonb$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::text$$, $$'{}'::jsonb$$, $$'{}'::jsonb$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::bytea$$, $$'v'::bytea$$, $$'{}'::jsonb$$]),
	('fetch', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('fetch_text', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('fetch_json', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('offsets', ARRAY[$$'known'::text$$, $$0::int$$]),
	('offset_for_time', ARRAY[$$'known'::text$$, $$0::int$$, $$'2000-01-01'::timestamptz$$]),
	('commit_offset', ARRAY[$$'group'::text$$, $$'known'::text$$, $$0::int$$, $$1::bigint$$, $$'note'::text$$]),
	('committed', ARRAY[$$'group'::text$$, $$'known'::text$$, $$0::int$$]),
	('lag', ARRAY[$$'group'::text$$, $$'known'::text$$]),
	('delete_records', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$]);

-- Each argument in turn is replaced by each of these of its type.
CREATE TABLE replacements (no serial, type text, value text);
INSERT INTO replacements (type, value) VALUES
	('text', 'NULL'), ('text', ''''''), ('text', '''unknown'''),
	('int', 'NULL'), ('int', '-1'), ('int', '0'), ('int', '2147483647'), ('int', '(-2147483648)'),
	('bigint', 'NULL'), ('bigint', '-1'), ('bigint', '-2'),
	('bigint', '9223372036854775807'), ('bigint', '(-9223372036854775808)'),
	('boolean', 'NULL'), ('bytea', 'NULL'), ('bytea', ''''''), ('jsonb', 'NULL'), ('json', 'NULL'),
	('text[]', 'NULL'), ('text[]', '''{}'''), ('jsonb[]', 'NULL'), ('jsonb[]', '''{}'''), ('bytea[]', 'NULL'),
	('timestamptz', 'NULL'), ('timestamptz', '''infinity'''), ('timestamptz', '''-infinity''');
CREATE VIEW changed AS
SELECT c.no, function, position, r.no AS replacement,
	types, name || r.value AS argument,
	format('minikafka.%s(%s)', function, array_to_string(
		arguments[:position - 1] || (name || r.value || '::' || r.type) || arguments[position + 1:], ', ')) AS call
FROM calls c
CROSS JOIN LATERAL (SELECT string_agg(substring(a FROM '::(.*)'), ', ') AS types FROM unnest(arguments) a) t
CROSS JOIN LATERAL unnest(arguments) WITH ORDINALITY a(argument, position)
CROSS JOIN LATERAL (SELECT coalesce(substring(argument FROM '^\w+ => '), '') AS name) n
JOIN replacements r ON r.type = substring(argument FROM '::(.*)');
SET datestyle = iso;
\pset format unaligned
\pset tuples_only on
\pset fieldsep ' -> '
-- as it should be
SELECT format('%s(%s)', function, array_to_string(arguments, ', ')) AS call,
	regexp_replace(pg_temp.answer(format('minikafka.%s(%s)', function, array_to_string(arguments, ', '))),
		'\d{4}-\d\d-\d\d[^,"]*', 'TIME')
FROM calls ORDER BY no;
-- one argument changed
SELECT format('%s(%s): argument %s = %s', function, types, position, argument),
	regexp_replace(pg_temp.answer(call), '\d{4}-\d\d-\d\d[^,"]*', 'TIME')
FROM changed ORDER BY no, position, replacement;

-- Options: what is not built is refused with 0A000, what makes no sense 22023
SELECT call, pg_temp.answer('minikafka.' || call) FROM (VALUES
	($$create_topic('new', retention => '1 hour')$$),
	($$create_topic('new', retention => '0')$$),
	($$create_topic('new', retention => '-1 day')$$),
	($$create_topic('new', retention_bytes => 1)$$),
	($$create_topic('new', retention_bytes => 0)$$),
	($$create_topic('new', retention_bytes => -1)$$),
	($$create_topic('new', cleanup_policy => 'compact')$$),
	($$create_topic('new', cleanup_policy => 'compact,delete')$$),
	($$create_topic('new', cleanup_policy => 'delete,compact')$$),
	($$create_topic('new', cleanup_policy => 'Delete')$$),
	($$create_topic('new', cleanup_policy => 'delete,delete')$$),
	($$create_topic('new', partitioner => 'MD5')$$),
	($$create_topic('new', partitions => 10001)$$),
	($$create_topic('new', segment_records => 1000000001)$$),
	($$create_topic('new', max_message_bytes => 1000000001)$$),
	($$create_topic('new', min_insync_replicas => 2)$$),
	($$create_topic('new', min_insync_replicas => 0)$$),
	($$set_topic_option('known', 'retention', '1 hour')$$),
	($$set_topic_option('known', 'retention', '0')$$),
	($$set_topic_option('known', 'retention', 'soon')$$),
	($$set_topic_option('known', 'retention_bytes', '1')$$),
	($$set_topic_option('known', 'retention_bytes', '0')$$),
	($$set_topic_option('known', 'retention_bytes', 'x')$$),
	($$set_topic_option('known', 'cleanup_policy', 'compact')$$),
	($$set_topic_option('known', 'cleanup_policy', 'x')$$),
	($$set_topic_option('known', 'min_insync_replicas', '2')$$),
	($$set_topic_option('known', 'min_insync_replicas', '0')$$),
	($$set_topic_option('known', 'max_message_bytes', '0')$$),
	($$set_topic_option('known', 'max_message_bytes', '1000000001')$$),
	($$set_topic_option('known', 'max_message_bytes', '99999999999999999999')$$),
	($$set_topic_option('known', 'max_message_bytes', '1e3')$$),
	($$set_topic_option('known', 'max_message_bytes', '10 ')$$),
	($$set_topic_option('known', 'partitions', '3')$$),
	($$set_topic_option('known', 'partitioner', 'md5')$$),
	($$set_topic_option('known', 'segment_records', '3')$$),
	($$set_topic_option('known', 'delete_retention', '1 day')$$),
	($$set_topic_option('known', 'min_compaction_lag', '1 day')$$),
	($$add_partitions('known', 1)$$),
	($$add_partitions('known', 10001)$$)) v(call);

-- Producers and members are not built yet
SELECT call, pg_temp.answer('minikafka.' || call) FROM (VALUES
	($$send('known', 'v', 'k', producer => 'p')$$),
	($$send('known', 'v', 'k', sequence => 0)$$),
	($$send('known', 'v', 'k', epoch => 0)$$),
	($$send('known', 'v', 'k', producer => 'p', sequence => 0, epoch => 0)$$),
	($$send('known', '1'::jsonb, 'k', producer => 'p')$$),
	($$send('known', '1'::json, 'k', sequence => 0)$$),
	($$send('known', 'v'::bytea, 'k', epoch => 0)$$),
	($$send('known', 'v'::bytea, 'k'::bytea, producer => 'p')$$),
	($$append('known', 0, 'k', 'v', producer => 'p')$$),
	($$append('known', 0, 'k', '1'::jsonb, sequence => 0)$$),
	($$append('known', 0, 'k'::bytea, 'v'::bytea, epoch => 0)$$),
	($$commit_offset('group', 'known', 0, 0, member_id => 'm')$$),
	($$commit_offset('group', 'known', 0, 0, generation => 1)$$)) v(call);

-- Nothing that failed has left anything
\pset tuples_only off
\pset format aligned
SELECT topic, partitions, partitioner, max_message_bytes FROM minikafka.topics;
SELECT partition, log_start_offset, end_offset FROM minikafka.partitions ORDER BY 1;
SELECT partition, committed_offset FROM minikafka.lag('group') ORDER BY 1;
SELECT * FROM minikafka.check_topic('known');

SELECT minikafka.drop_topic('known');
DROP TABLE calls, replacements CASCADE;
