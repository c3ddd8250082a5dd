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
		IF call LIKE '%init_producer(%' THEN
			detail := regexp_replace(detail, '\d+,', 'ID,');
		END IF;
		IF call LIKE '%send_at(%' THEN
			detail := 'ID';
		END IF;
		IF call LIKE '%acquire%(%' AND result IS NOT NULL THEN
			detail := 'a record';
		END IF;
		RETURN 'ok: ' || regexp_replace(detail, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID');
	END IF;
	RETURN concat_ws(' | ', SQLSTATE || ' ' || message, nullif(detail, ''), nullif(hint, ''));
END $$;
SET client_min_messages = warning;
SELECT minikafka.create_topic('known', 2);
SELECT minikafka.append('known', 0, 'k', '{}', producer => 'p', sequence => 0), minikafka.append('known', 1, 'k', '{}');
SELECT minikafka.create_topic('dead', 1);
SELECT minikafka.create_topic('shared', 1);
-- each call that gets a record is rolled back, and so has it wait
SELECT minikafka.send_many('shared', array_agg('{}'::text), array_agg('k' || i)) FROM generate_series(1, 1000) i;
SELECT minikafka.create_share_group('workers', '{shared}', backoff => '1 day', max_backoff => '1 day');
SELECT minikafka.set_group_option('workers', 'max_in_flight', '1000');
SELECT minikafka.commit_offset('group', 'known', 0, 1);
SELECT minikafka.join_group('members', '{known}', 'm');
SELECT minikafka.inbox_accept('consumer', 'event', 'v');
CREATE ROLE regress_grantee;

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
	('send', ARRAY[$$'known'::text$$, $$'{}'::text$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::jsonb$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::json$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::bytea$$, $$'k'::text$$, $$'{}'::jsonb$$, $$0::int$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('send', ARRAY[$$'known'::text$$, $$'{}'::bytea$$, $$'k'::bytea$$, $$'{}'::jsonb$$, $$0::int$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('send_many', ARRAY[$$'known'::text$$, $$'{a}'::text[]$$, $$'{k}'::text[]$$, $$'{NULL}'::jsonb[]$$]),
	('send_many_json', ARRAY[$$'known'::text$$, $$'{1}'::jsonb[]$$, $$'{k}'::text[]$$, $$'{NULL}'::jsonb[]$$]),
	('send_many_bytes', ARRAY[$$'known'::text$$, $$'{a}'::bytea[]$$, $$'{k}'::bytea[]$$, $$'{NULL}'::jsonb[]$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::text$$, $$'v'::text$$, $$'{}'::jsonb$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::text$$, $$'{}'::jsonb$$, $$'{}'::jsonb$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('append', ARRAY[$$'known'::text$$, $$0::int$$, $$'k'::bytea$$, $$'v'::bytea$$, $$'{}'::jsonb$$, $$'p'::text$$, $$1::bigint$$, $$0::int$$]),
	('fetch', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('fetch_text', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('fetch_json', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$1::int$$]),
	('offsets', ARRAY[$$'known'::text$$, $$0::int$$]),
	('offset_for_time', ARRAY[$$'known'::text$$, $$0::int$$, $$'2000-01-01'::timestamptz$$]),
	('commit_offset', ARRAY[$$'group'::text$$, $$'known'::text$$, $$0::int$$, $$1::bigint$$, $$'note'::text$$]),
	('commit_offset', ARRAY[$$'members'::text$$, $$'known'::text$$, $$0::int$$, $$1::bigint$$, $$'note'::text$$, $$'m'::text$$, $$1::int$$]),
	('committed', ARRAY[$$'group'::text$$, $$'known'::text$$, $$0::int$$]),
	('lag', ARRAY[$$'group'::text$$, $$'known'::text$$]),
	('join_group', ARRAY[$$'members'::text$$, $$'{known}'::text[]$$, $$'n'::text$$, $$'i'::text$$, $$'sticky'::text$$, $$'cooperative'::text$$, $$'latest'::text$$, $$'1 min'::interval$$, $$'1 min'::interval$$, $$'1 min'::interval$$]),
	('join_group', ARRAY[$$'new'::text$$, $$'{known}'::text[]$$, $$'n'::text$$]),
	('leave_group', ARRAY[$$'members'::text$$, $$'m'::text$$]),
	('heartbeat', ARRAY[$$'members'::text$$, $$'m'::text$$]),
	('assignment', ARRAY[$$'members'::text$$, $$'m'::text$$]),
	('poll', ARRAY[$$'members'::text$$, $$'m'::text$$, $$1::int$$, $$1::int$$, $$'0'::interval$$]),
	('poll_text', ARRAY[$$'members'::text$$, $$'m'::text$$, $$1::int$$, $$1::int$$, $$'0'::interval$$]),
	('poll_json', ARRAY[$$'members'::text$$, $$'m'::text$$, $$1::int$$, $$1::int$$, $$'0'::interval$$]),
	('commit', ARRAY[$$'members'::text$$, $$'m'::text$$]),
	('seek', ARRAY[$$'members'::text$$, $$'m'::text$$, $$'known'::text$$, $$0::int$$, $$1::bigint$$]),
	('pause', ARRAY[$$'members'::text$$, $$'m'::text$$, $$'known'::text$$, $$0::int$$]),
	('resume', ARRAY[$$'members'::text$$, $$'m'::text$$, $$'known'::text$$, $$0::int$$]),
	('reset_offsets', ARRAY[$$'group'::text$$, $$'known'::text$$, $$'latest'::text$$]),
	('delete_group', ARRAY[$$'group'::text$$]),
	('grant_group', ARRAY[$$'group'::text$$, $$'regress_grantee'::text$$]),
	('revoke_group', ARRAY[$$'group'::text$$, $$'regress_grantee'::text$$]),
	('delete_records', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$]),
	('latest', ARRAY[$$'known'::text$$]),
	('dead_letter', ARRAY[$$'group'::text$$, $$'known'::text$$, $$0::int$$, $$0::bigint$$, $$'dead'::text$$, $$'error'::text$$]),
	('redrive', ARRAY[$$'known'::text$$, $$0::int$$, $$0::bigint$$, $$1::int$$, $$'dead'::text$$]),
	('create_share_group', ARRAY[$$'new'::text$$, $$'{shared}'::text[]$$, $$'key'::text$$, $$5::int$$, $$'1 s'::interval$$, $$'5 min'::interval$$, $$'dead'::text$$, $$'earliest'::text$$]),
	('set_group_option', ARRAY[$$'workers'::text$$, $$'max_deliveries'::text$$, $$'3'::text$$]),
	('acquire', ARRAY[$$'workers'::text$$, $$1::int$$, $$100::int$$, $$'0'::interval$$, $$'1 s'::interval$$, $$false::boolean$$]),
	('acquire_text', ARRAY[$$'workers'::text$$, $$1::int$$, $$100::int$$, $$'0'::interval$$, $$'1 s'::interval$$, $$false::boolean$$]),
	('acquire_json', ARRAY[$$'workers'::text$$, $$1::int$$, $$100::int$$, $$'0'::interval$$, $$'1 s'::interval$$, $$false::boolean$$]),
	('acknowledge', ARRAY[$$'workers'::text$$, $$'0.0.0.0.0.t0'::text$$, $$'fail'::text$$, $$'error'::text$$, $$'1 s'::interval$$]),
	('renew', ARRAY[$$'workers'::text$$, $$'0.0.0.0.0.l0'::text$$, $$'1 s'::interval$$]),
	('send_at', ARRAY[$$'known'::text$$, $$'v'::text$$, $$'2100-01-01'::timestamptz$$, $$'k'::text$$, $$'{}'::jsonb$$]),
	('cancel_send', ARRAY[$$1000000000::bigint$$]),
	('init_producer', ARRAY[$$'p'::text$$]),
	('producer_state', ARRAY[$$'p'::text$$]),
	('inbox_accept', ARRAY[$$'consumer'::text$$, $$'event'::text$$, $$'v'::bytea$$]);

-- Each argument in turn is replaced by each of these of its type.
CREATE TABLE replacements (no serial, type text, value text);
INSERT INTO replacements (type, value) VALUES
	('text', 'NULL'), ('text', ''''''), ('text', '''unknown'''),
	('int', 'NULL'), ('int', '-1'), ('int', '0'), ('int', '2147483647'), ('int', '(-2147483648)'),
	('bigint', 'NULL'), ('bigint', '-1'), ('bigint', '-2'),
	('bigint', '9223372036854775807'), ('bigint', '(-9223372036854775808)'),
	('boolean', 'NULL'), ('bytea', 'NULL'), ('bytea', ''''''), ('jsonb', 'NULL'), ('json', 'NULL'),
	('text[]', 'NULL'), ('text[]', '''{}'''), ('text[]', '''{NULL}'''), ('text[]', '''{""}'''), ('jsonb[]', 'NULL'), ('jsonb[]', '''{}'''), ('bytea[]', 'NULL'),
	('timestamptz', 'NULL'), ('timestamptz', '''infinity'''), ('timestamptz', '''-infinity'''),
	('interval', 'NULL'), ('interval', '''0'''), ('interval', '''-1 ms'''), ('interval', '''0.000999 s'''),
	('interval', '''1 ms'''), ('interval', '''2147483647 ms'''), ('interval', '''2147483648 ms'''),
	('interval', '''100000000 years''');
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

-- Options: what makes no sense is refused with 22023, what is not built 0A000
SELECT call, pg_temp.answer('minikafka.' || call) FROM (VALUES
	($$create_topic('new', retention => '1 hour')$$),
	($$create_topic('new', retention => '0')$$),
	($$create_topic('new', retention => '-1 day')$$),
	($$create_topic('new', retention => '100000000 years')$$),
	($$create_topic('new', retention => '-1 month 40 days')$$),
	($$create_topic('new', retention => '1 month -40 days')$$),
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
	($$set_topic_option('known', 'delete_retention', '0')$$),
	($$set_topic_option('known', 'delete_retention', '-1 us')$$),
	($$set_topic_option('known', 'delete_retention', '')$$),
	($$set_topic_option('known', 'min_compaction_lag', '1 day')$$),
	($$set_topic_option('known', 'min_compaction_lag', '0')$$),
	($$set_topic_option('known', 'min_compaction_lag', '-1 day')$$),
	($$set_topic_option('known', 'min_compaction_lag', 'soon')$$),
	($$set_topic_option('known', 'Retention', '1 day')$$),
	($$add_partitions('known', 1)$$),
	($$add_partitions('known', 10001)$$)) v(call);

-- A sequence needs its producer, a producer its sequence, and a key or a partition
SELECT call, pg_temp.answer('minikafka.' || call) FROM (VALUES
	($$send('known', 'v', 'k', producer => 'p')$$),
	($$send('known', 'v', 'k', producer => 'p', epoch => 0)$$),
	($$send('known', 'v', 'k', sequence => 1)$$),
	($$send('known', 'v', 'k', epoch => 0)$$),
	($$send('known', 'v', 'k', sequence => 1, epoch => 0)$$),
	($$send('known', 'v', producer => 'p', sequence => 1)$$),
	($$send('known', 'v', producer => 'p', sequence => 1, epoch => 0)$$),
	($$send('known', '1'::jsonb, 'k', producer => 'p')$$),
	($$send('known', '1'::jsonb, producer => 'p', sequence => 1)$$),
	($$send('known', '1'::json, 'k', sequence => 1)$$),
	($$send('known', '1'::json, producer => 'p', sequence => 1)$$),
	($$send('known', 'v'::bytea, 'k', epoch => 0)$$),
	($$send('known', 'v'::bytea, NULL::text, producer => 'p', sequence => 1)$$),
	($$send('known', 'v'::bytea, 'k'::bytea, producer => 'p')$$),
	($$send('known', 'v'::bytea, producer => 'p', sequence => 1)$$),
	-- an empty key is a key
	($$send('known', 'v', '', producer => 'p', sequence => 0)$$),
	($$append('known', 0, 'k', 'v', producer => 'p')$$),
	($$append('known', 0, 'k', '1'::jsonb, sequence => 1)$$),
	($$append('known', 0, 'k'::bytea, 'v'::bytea, epoch => 0)$$),
	($$append('known', 0, NULL, 'v', producer => 'p', sequence => 1)$$),
	-- in order, and not
	($$send('known', 'v', partition => 0, producer => 'p', sequence => 2)$$),
	($$send('known', 'v', partition => 0, producer => 'p', sequence => 0)$$),
	($$send('known', 'v', partition => 1, producer => 'p', sequence => 1)$$),
	($$send('known', 'v', partition => 0, producer => 'P', sequence => 1)$$),
	($$append('known', 0, 'k', 'v', producer => 'p', sequence => 2)$$),
	($$append('known', 0, 'k', 'v', producer => 'p', sequence => 0)$$),
	($$append('known', 1, 'k', 'v', producer => 'p', sequence => 1)$$),
	($$append('known', 0, 'k', 'v', producer => 'p', sequence => 2147483648, epoch => 0)$$),
	-- what is wrong with the record comes first
	($$send('known', repeat('v', 2000000), partition => 0, producer => 'p', sequence => 5)$$),
	($$send('known', 'v', partition => 2, producer => 'p', sequence => 5)$$),
	($$send('known', 'v', headers => '[1]', partition => 0, producer => 'p', sequence => 5)$$),
	($$outbox()$$)) v(call);

-- Names of groups, members, instances, producers, inbox consumers and events: any text of 1 to 255 bytes that is not
-- all blank; case, blanks and signs count
CREATE TABLE ids (no serial, id text);
INSERT INTO ids (id) VALUES ('M'), ('m-1.2_3'), (' m'), ('m '), ('a"b''c;d'), ('1'), ('NULL'),
	(E'caf\u00e9'), (E'\u65e5\u672c'), (repeat('x', 255)), (repeat(E'\u00e9', 127)),
	(''), (' '), (E' \t\r\n '), (repeat('x', 256)), (repeat(E'\u00e9', 128));
SELECT function, string_agg(replace(replace(pg_temp.answer(format('minikafka.' || function, id)), repeat('x', 255), 'xx'),
	repeat(E'\u00e9', 127), E'\u00e9\u00e9'), E'\n    ' ORDER BY no)
FROM ids, (VALUES (1, 'join_group(%1$L, ''{known}'', %1$L, %1$L)'), (2, 'heartbeat(%1$L, %1$L)'),
	(3, 'commit_offset(%1$L, ''known'', 0, 0)')) v(n, function)
GROUP BY n, function ORDER BY n;
-- all others in short: no member, no group, or a bad name
SELECT function, string_agg(DISTINCT regexp_replace(left(pg_temp.answer(format('minikafka.' || function, id)), 5), 'ok.*', 'ok'), ' ')
	FILTER (WHERE no <= 11) AS good,
	string_agg(DISTINCT left(pg_temp.answer(format('minikafka.' || function, id)), 16), ' ')
	FILTER (WHERE no > 11) AS bad
FROM ids, (VALUES ('join_group(%L, ''{known}'')'), ('join_group(''g'', ''{known}'', %L)'), ('join_group(''g'', ''{known}'', ''m'', %L)'),
	('leave_group(%L, ''m'')'), ('leave_group(''members'', %L)'), ('heartbeat(%L, ''m'')'),
	('heartbeat(''members'', %L)'), ('assignment(%L, ''m'')'), ('assignment(''members'', %L)'),
	('poll(%L, ''m'')'), ('poll(''members'', %L)'), ('poll_text(%L, ''m'')'), ('poll_text(''members'', %L)'),
	('poll_json(%L, ''m'')'), ('poll_json(''members'', %L)'), ('commit(%L, ''m'')'), ('commit(''members'', %L)'),
	('commit_offset(''members'', ''known'', 0, 0, NULL, %L)'), ('committed(%L, ''known'', 0)'), ('lag(%L)'),
	('seek(%L, ''m'', ''known'', 0, 0)'), ('seek(''members'', %L, ''known'', 0, 0)'),
	('pause(%L, ''m'', ''known'', 0)'), ('pause(''members'', %L, ''known'', 0)'),
	('resume(%L, ''m'', ''known'', 0)'), ('resume(''members'', %L, ''known'', 0)'),
	('reset_offsets(%L, ''known'', ''latest'')'), ('delete_group(%L)'), ('group_is_visible(%L)'),
	('grant_group(%L, ''regress_grantee'')'), ('revoke_group(%L, ''regress_grantee'')'),
	('send(''known'', ''v'', ''k'', producer => %L, sequence => 0)'), ('append(''known'', 0, ''k'', ''v'', producer => %L, sequence => 0)'),
	('init_producer(%L)'), ('producer_state(%L)'), ('inbox_accept(%L, ''e'')'), ('inbox_accept(''c'', %L)')) v(function)
GROUP BY function ORDER BY function COLLATE "C";

-- Settings of members, and topics
-- Kafka case G35: what a join is refused for at once, as above
SELECT call, pg_temp.answer('minikafka.' || call) FROM (VALUES
	($$join_group('new', '{known}', assignor => 'Sticky')$$),
	($$join_group('new', '{known}', assignor => 'cooperative-sticky')$$),
	($$join_group('new', '{known}', protocol => 'EAGER')$$),
	($$join_group('new', '{known}', auto_offset_reset => 'Earliest')$$),
	($$join_group('new', '{known,unknown}', 'n')$$),
	($$join_group('new', '{known,known}', 'n')$$),
	($$join_group('new', '{known,.}', 'n')$$),
	($$join_group('new', '{known,a b}', 'n')$$),
	($$join_group('new', ARRAY[repeat('t', 64)], 'n')$$),
	($$join_group('new', ARRAY['known', NULL], 'n')$$),
	($$join_group('new', ARRAY[['known'], ['unknown']], 'n')$$),
	($$join_group('new', '[5:5]={known}'::text[], 'n')$$),
	($$join_group('members', '{known}', 'n', assignor => 'range')$$),
	($$join_group('members', '{known}', 'n', protocol => 'eager')$$),
	($$join_group('members', '{known}', 'n', assignor => 'sticky', protocol => 'cooperative')$$),
	($$commit_offset('members', 'known', 0, 0)$$),
	($$commit_offset('members', 'known', 0, 0, generation => 1)$$),
	($$commit_offset('members', 'known', 0, 0, member_id => 'm')$$),
	($$commit_offset('members', 'known', 0, 0, repeat('m', 4097), 'm')$$),
	($$reset_offsets('members', 'known', 'latest')$$),
	($$delete_group('members')$$)) v(call);

-- Targets of reset_offsets()
SELECT target, pg_temp.answer(format('minikafka.reset_offsets(%L, %L, %L)', 'group', 'known', target)) FROM unnest(ARRAY[
	'Earliest', 'earliest ', 'offset', 'offset:', 'offset: ', 'offset: 1', 'offset:-1', 'offset:1x', 'offset:1.5', 'offset:0x1',
	'offset:9223372036854775807', 'offset:9223372036854775808', 'shift', 'shift:', 'shift:+1', 'shift:-1', 'shift:--1', 'shift: 1', 'shift:0',
	'shift:9223372036854775807', 'shift:-9223372036854775808', 'shift:-9223372036854775809',
	'time', 'time:', 'time:yesterday', 'time:soon', 'time:2000-01-01', 'time:infinity', 'time:-infinity',
	'timestamp:2000-01-01']) target;

-- Read-only transactions: nothing that has an effect
CREATE TABLE effects (no serial, call text);
INSERT INTO effects (call) VALUES
	($$join_group('members', '{known}', 'n')$$), ($$leave_group('members', 'm')$$), ($$heartbeat('members', 'm')$$),
	($$poll('members', 'm')$$), ($$poll_text('members', 'm')$$), ($$poll_json('members', 'm')$$), ($$commit('members', 'm')$$),
	($$commit_offset('members', 'known', 0, 0, member_id => 'm')$$), ($$seek('members', 'm', 'known', 0, 0)$$),
	($$pause('members', 'm', 'known', 0)$$), ($$resume('members', 'm', 'known', 0)$$),
	($$reset_offsets('group', 'known', 'latest')$$), ($$delete_group('group')$$),
	($$grant_group('group', 'regress_grantee')$$), ($$revoke_group('group', 'regress_grantee')$$),
	($$assignment('members', 'm')$$), ($$committed('group', 'known', 0)$$), ($$lag('group')$$), ($$group_is_visible('group')$$),
	($$send('known', 'v', 'k', producer => 'p', sequence => 0)$$), ($$append('known', 0, 'k', 'v', producer => 'p', sequence => 0)$$),
	($$init_producer('p')$$), ($$inbox_accept('consumer', 'event')$$), ($$producer_state('p')$$);
BEGIN READ ONLY;
SELECT call, pg_temp.answer('minikafka.' || call) FROM effects ORDER BY no;
SELECT group_id FROM minikafka.groups WHERE group_id IN ('group', 'members') ORDER BY 1;
COMMIT;
BEGIN READ ONLY;
CALL minikafka.wait_for_records('members', 'm', '0');
COMMIT;

-- Security-restricted operations: nothing at all
INSERT INTO effects (call) VALUES ($$try_offsets('known', 0)$$);
CREATE TABLE bait (x int);
INSERT INTO bait VALUES (1);
CREATE FUNCTION hook(x int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT x';
CREATE INDEX ON bait (hook(x));
CREATE FUNCTION try(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE call;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE OR REPLACE FUNCTION hook(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	c text;
BEGIN
	FOR c IN SELECT call FROM public.effects ORDER BY no LOOP
		RAISE WARNING '% -> %', c, public.try('SELECT minikafka.' || c);
	END LOOP;
	RAISE WARNING '%', public.try($q$CALL minikafka.wait_for_records('members', 'm', '0')$q$);
	RETURN x;
END $$;
\set VERBOSITY terse
ANALYZE bait;
\set VERBOSITY default

-- wait_for_records(), which is a procedure
CALL minikafka.wait_for_records(NULL, 'm', '0');
CALL minikafka.wait_for_records('', 'm', '0');
CALL minikafka.wait_for_records('unknown', 'm', '0');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.wait_for_records('members', NULL, '0');
CALL minikafka.wait_for_records('members', ' ', '0');
CALL minikafka.wait_for_records('members', 'unknown', '0');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.wait_for_records('members', 'm', NULL);
CALL minikafka.wait_for_records('members', 'm', '-1 ms');
\echo :LAST_ERROR_SQLSTATE
CALL minikafka.wait_for_records('members', 'm', '2147483648 ms');
CALL minikafka.wait_for_records('members', 'm', '0');
BEGIN;
CALL minikafka.wait_for_records('members', 'm', '0');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;

-- Nothing that failed has left anything
SELECT minikafka.delete_group('workers'), minikafka.drop_topic('shared');
\pset tuples_only off
\pset format aligned
SELECT topic, partitions, partitioner, max_message_bytes FROM minikafka.topics;
SELECT partition, log_start_offset, end_offset FROM minikafka.partitions ORDER BY 1;
SELECT partition, committed_offset FROM minikafka.lag('group') ORDER BY 1;
SELECT group_id, generation, members FROM minikafka.groups WHERE group_id IN ('group', 'members', 'new', 'unknown') ORDER BY 1;
SELECT * FROM minikafka.producer_state('p');
SELECT producer, owner = current_user AS own, epoch FROM minikafka.producer WHERE producer IN ('p', 'P', 'unknown', 'M') ORDER BY 1;
SELECT consumer, event_id FROM minikafka.inbox JOIN minikafka.inbox_consumer USING (consumer_no) ORDER BY 1, 2;
SELECT * FROM minikafka.check_topic('known');

SELECT minikafka.drop_topic('known'), minikafka.drop_topic('dead');
DROP TABLE calls, replacements, ids, effects, bait CASCADE;
DROP FUNCTION hook(int), try(text);
DROP ROLE regress_grantee;

-- no group stays for other tests, nor its generation; nor a producer, nor an event
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
DELETE FROM minikafka.inbox;
DELETE FROM minikafka.inbox_consumer;
