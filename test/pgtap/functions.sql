--
-- The functions: names, arguments, defaults, results, volatility
--
BEGIN;
SELECT plan(232);

-- As doc/reference.md has them: this list is the contract.
CREATE TEMP TABLE contract (name text, arguments text, result text, volatility "char", parallel "char");
INSERT INTO contract VALUES
	('create_topic', 'topic text, partitions integer DEFAULT 3, retention interval DEFAULT NULL::interval, retention_bytes bigint DEFAULT NULL::bigint, cleanup_policy text DEFAULT ''delete''::text, partitioner text DEFAULT ''murmur2''::text, segment_records bigint DEFAULT 1000000, max_message_bytes integer DEFAULT 1048588, min_insync_replicas integer DEFAULT 1, if_not_exists boolean DEFAULT false', 'void', 'v', 'u'),
	('set_topic_option', 'topic text, option text, value text', 'void', 'v', 'u'),
	('add_partitions', 'topic text, total integer', 'void', 'v', 'u'),
	('create_index', 'topic text, definition text', 'text', 'v', 'u'),
	('drop_topic', 'topic text, if_exists boolean DEFAULT false', 'void', 'v', 'u'),
	('partition_for_key', 'topic text, key text', 'integer', 's', 'r'),
	('partition_for_key', 'topic text, key bytea', 'integer', 's', 'r'),
	('murmur2', 'key bytea', 'integer', 'i', 's'),
	('check_topic', 'topic text, OUT severity text, OUT partition integer, OUT "offset" bigint, OUT problem text', 'SETOF record', 's', 'r'),
	('send', 'topic text, value text, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v', 'u'),
	('send', 'topic text, value jsonb, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v', 'u'),
	('send', 'topic text, value json, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v', 'u'),
	-- value and key of bytea: the default of the key is this one's
	('send', 'topic text, value bytea, key text, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v', 'u'),
	('send', 'topic text, value bytea, key bytea DEFAULT NULL::bytea, headers jsonb DEFAULT NULL::jsonb, partition integer DEFAULT NULL::integer, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'integer', 'v', 'u'),
	('send_many', 'topic text, payloads text[], keys text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v', 'u'),
	('send_many_json', 'topic text, payloads jsonb[], keys text[] DEFAULT NULL::text[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v', 'u'),
	('send_many_bytes', 'topic text, payloads bytea[], keys bytea[] DEFAULT NULL::bytea[], headers jsonb[] DEFAULT NULL::jsonb[]', 'bigint', 'v', 'u'),
	('append', 'topic text, partition integer, key text, value text, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v', 'u'),
	('append', 'topic text, partition integer, key text, value jsonb, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v', 'u'),
	('append', 'topic text, partition integer, key bytea, value bytea, headers jsonb DEFAULT NULL::jsonb, producer text DEFAULT NULL::text, sequence bigint DEFAULT NULL::bigint, epoch integer DEFAULT NULL::integer', 'bigint', 'v', 'u'),
	('init_producer', 'producer text, OUT producer_id bigint, OUT epoch integer', 'record', 'v', 'u'),
	('producer_state', 'producer text', 'TABLE(topic text, partition integer, epoch integer, last_sequence bigint, last_offset bigint)', 's', 'u'),
	('send_at', 'topic text, value text, at timestamp with time zone, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb', 'bigint', 'v', 'u'),
	('send_at', 'topic text, value jsonb, at timestamp with time zone, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb', 'bigint', 'v', 'u'),
	('send_at', 'topic text, value json, at timestamp with time zone, key text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb', 'bigint', 'v', 'u'),
	('send_at', 'topic text, value bytea, at timestamp with time zone, key text, headers jsonb DEFAULT NULL::jsonb', 'bigint', 'v', 'u'),
	('send_at', 'topic text, value bytea, at timestamp with time zone, key bytea DEFAULT NULL::bytea, headers jsonb DEFAULT NULL::jsonb', 'bigint', 'v', 'u'),
	('cancel_send', 'id bigint', 'boolean', 'v', 'u'),
	('deliver_due', '', NULL, 'v', 'u'),
	('last_sent', 'OUT topic text, OUT partition integer, OUT base_offset bigint, OUT records bigint', 'SETOF record', 'v', 'u'),
	('fetch', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record', 's', 'r'),
	('fetch_text', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record_text', 's', 'r'),
	('fetch_json', 'topic text, partition integer, start_offset bigint, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800', 'SETOF minikafka.record_json', 's', 'r'),
	('is_json', 'value bytea', 'boolean', 'i', 's'),
	('is_text', 'value bytea', 'boolean', 'i', 's'),
	('offsets', 'topic text, partition integer, OUT log_start_offset bigint, OUT end_offset bigint', 'record', 's', 'r'),
	-- for view partitions
	('try_offsets', 'topic text, partition integer, OUT log_start_offset bigint, OUT end_offset bigint', 'record', 's', 'u'),
	('offset_for_time', 'topic text, partition integer, ts timestamp with time zone', 'bigint', 's', 'r'),
	('delete_records', 'topic text, partition integer, before_offset bigint', 'bigint', 'v', 'u'),
	('latest', 'topic text', 'SETOF minikafka.record', 's', 'r'),
	('join_group', 'group_id text, topics text[], member_id text DEFAULT NULL::text, instance_id text DEFAULT NULL::text, assignor text DEFAULT NULL::text, protocol text DEFAULT NULL::text, auto_offset_reset text DEFAULT NULL::text, session_timeout interval DEFAULT NULL::interval, max_poll_interval interval DEFAULT NULL::interval, rebalance_timeout interval DEFAULT NULL::interval', 'text', 'v', 'u'),
	('leave_group', 'group_id text, member_id text', 'void', 'v', 'u'),
	('heartbeat', 'group_id text, member_id text', 'integer', 'v', 'u'),
	('assignment', 'group_id text, member_id text', 'TABLE(topic text, partition integer, revoking boolean)', 's', 'u'),
	('poll', 'group_id text, member_id text, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, topics text[] DEFAULT NULL::text[]', 'SETOF minikafka.record', 'v', 'u'),
	('poll_text', 'group_id text, member_id text, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, topics text[] DEFAULT NULL::text[]', 'SETOF minikafka.record_text', 'v', 'u'),
	('poll_json', 'group_id text, member_id text, max_records integer DEFAULT 100, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, topics text[] DEFAULT NULL::text[]', 'SETOF minikafka.record_json', 'v', 'u'),
	('commit', 'group_id text, member_id text', 'TABLE(topic text, partition integer, "offset" bigint)', 'v', 'u'),
	('commit_offset', 'group_id text, topic text, partition integer, next_offset bigint, metadata text DEFAULT NULL::text, member_id text DEFAULT NULL::text, generation integer DEFAULT NULL::integer', 'void', 'v', 'u'),
	('committed', 'group_id text, topic text, partition integer', 'bigint', 's', 'u'),
	('seek', 'group_id text, member_id text, topic text, partition integer, next_offset bigint', 'void', 'v', 'u'),
	('pause', 'group_id text, member_id text, topic text, partition integer', 'void', 'v', 'u'),
	('resume', 'group_id text, member_id text, topic text, partition integer', 'void', 'v', 'u'),
	('reset_offsets', 'group_id text, topic text, target text', 'TABLE(topic text, partition integer, "offset" bigint)', 'v', 'u'),
	('delete_group', 'group_id text', 'void', 'v', 'u'),
	('grant_group', 'group_id text, grantee text', 'void', 'v', 'u'),
	('revoke_group', 'group_id text, grantee text', 'void', 'v', 'u'),
	('create_share_group', 'group_id text, topics text[], ordering text DEFAULT ''key''::text, max_deliveries integer DEFAULT 5, backoff interval DEFAULT ''00:00:01''::interval, max_backoff interval DEFAULT ''00:05:00''::interval, dead_letter_topic text DEFAULT NULL::text, auto_offset_reset text DEFAULT ''earliest''::text', 'void', 'v', 'u'),
	('set_group_option', 'group_id text, option text, value text', 'void', 'v', 'u'),
	('acquire', 'group_id text, max_records integer DEFAULT 1, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, lock_duration interval DEFAULT NULL::interval, accept boolean DEFAULT false', 'TABLE(topic text, partition integer, "offset" bigint, ts timestamp with time zone, key bytea, value bytea, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)', 'v', 'u'),
	('acquire_text', 'group_id text, max_records integer DEFAULT 1, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, lock_duration interval DEFAULT NULL::interval, accept boolean DEFAULT false', 'TABLE(topic text, partition integer, "offset" bigint, ts timestamp with time zone, key text, value text, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)', 'v', 'u'),
	('acquire_json', 'group_id text, max_records integer DEFAULT 1, max_bytes integer DEFAULT 52428800, max_wait interval DEFAULT ''00:00:00''::interval, lock_duration interval DEFAULT NULL::interval, accept boolean DEFAULT false', 'TABLE(topic text, partition integer, "offset" bigint, ts timestamp with time zone, key text, value jsonb, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)', 'v', 'u'),
	('acknowledge', 'group_id text, receipt text, type text DEFAULT ''accept''::text, error text DEFAULT NULL::text, retry_after interval DEFAULT NULL::interval', 'text', 'v', 'u'),
	('renew', 'group_id text, receipt text, lock_duration interval', 'timestamp with time zone', 'v', 'u'),
	('set_group_owner', 'group_id text, owner text', 'void', 'v', 'u'),
	('set_producer_owner', 'producer text, owner text', 'void', 'v', 'u'),
	('set_inbox_owner', 'consumer text, owner text', 'void', 'v', 'u'),
	('lag', 'group_id text, topic text DEFAULT NULL::text', 'SETOF minikafka.partition_lag', 's', 'u'),
	-- for the views of groups
	('group_is_visible', 'group_id text', 'boolean', 's', 'u'),
	('member_is_expired', 'group_id text, member_id text', 'boolean', 's', 'u'),
	('group_commits', 'group_id text', 'TABLE(topic text, partition integer, "offset" bigint, metadata text, committed_at timestamp with time zone, member_id text, generation integer)', 's', 'u'),
	('topic_dead_letters', 'topic text, OUT dead_letter_partition integer, OUT dead_letter_offset bigint, OUT sent_at timestamp with time zone, OUT group_id text, OUT source_topic text, OUT source_partition integer, OUT source_offset bigint, OUT delivery_count integer, OUT error text', 'SETOF record', 's', 'u'),
	('group_deliveries', 'group_id text, OUT topic text, OUT partition integer, OUT "offset" bigint, OUT state text, OUT delivery_count integer, OUT locked_until timestamp with time zone, OUT waiting_until timestamp with time zone, OUT error text, OUT receipt text, OUT pid integer, OUT changed_at timestamp with time zone', 'SETOF record', 's', 'u'),
	('dead_letter', 'group_id text, topic text, partition integer, record_offset bigint, dead_letter_topic text, error text', 'void', 'v', 'u'),
	('redrive', 'dead_letter_topic text, partition integer DEFAULT NULL::integer, record_offset bigint DEFAULT NULL::bigint, max_records integer DEFAULT NULL::integer, target_topic text DEFAULT NULL::text', 'bigint', 'v', 'u'),
	('inbox_accept', 'consumer text, event_id text, payload bytea DEFAULT NULL::bytea', 'boolean', 'v', 'u'),
	-- procedures have no result
	('maintain', '', NULL, 'v', 'u'),
	('expire', 'IN topic text, INOUT removed bigint DEFAULT 0', NULL, 'v', 'u'),
	('compact', 'IN topic text, INOUT removed bigint DEFAULT 0', NULL, 'v', 'u'),
	('wait_for_records', 'IN group_id text, IN member_id text, IN max_wait interval', NULL, 'v', 'u');

CREATE TEMP VIEW found AS
SELECT p.proname::text AS name, pg_get_function_arguments(p.oid) AS arguments,
	pg_get_function_result(p.oid) AS result, p.provolatile AS volatility, p.proparallel AS parallel, p.prokind AS kind, p.oid
FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace;

-- a line for each, so that a failure names it
SELECT results_eq(
	format('SELECT result, volatility, parallel FROM found WHERE name = %L AND arguments = %L', name, arguments),
	format('VALUES (%L, %L::"char", %L::"char")', result, volatility, parallel),
	format('%s(%s)', name, arguments))
FROM contract;
SELECT results_eq(
	'SELECT name COLLATE "default", arguments COLLATE "default" FROM found WHERE result IS DISTINCT FROM ''trigger'' EXCEPT SELECT name COLLATE "default", arguments COLLATE "default" FROM contract',
	'SELECT NULL::text, NULL::text WHERE false',
	'there is no other function');
SELECT is(kind, 'p'::"char", name || ' is a procedure') FROM found WHERE name IN ('maintain', 'deliver_due', 'expire', 'compact', 'wait_for_records');
SELECT set_eq($$SELECT name FROM found WHERE kind <> 'f'$$, ARRAY['maintain', 'deliver_due', 'expire', 'compact', 'wait_for_records'], 'all others are functions');
SELECT set_eq($$SELECT name FROM found WHERE result = 'trigger'$$, ARRAY['outbox', 'refuse_write'], 'the trigger functions');

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
	('partition_lag', $$('topic', 'text'), ('partition', 'integer'), ('log_start_offset', 'bigint'), ('end_offset', 'bigint'), ('committed_offset', 'bigint'), ('lag', 'bigint'), ('time_lag', 'interval'), ('member_id', 'text'), ('ready', 'bigint'), ('in_flight', 'bigint'), ('waiting', 'bigint'), ('lost', 'bigint')$$)
) v(type, columns);

-- the views
SELECT has_view('minikafka', view, 'view ' || view) FROM unnest(ARRAY['topics', 'partitions', 'groups', 'group_members', 'group_offsets', 'consumer_lag', 'share_groups', 'share_deliveries', 'dead_letters', 'scheduled']) view;
SELECT results_eq(
	format($$SELECT attname::text COLLATE "default", atttypid::regtype::text COLLATE "default" FROM pg_attribute
		WHERE attrelid = 'minikafka.%I'::regclass AND attnum > 0 ORDER BY attnum$$, view),
	format('VALUES %s', columns),
	'columns of view ' || view)
FROM (VALUES
	('topics', $$('topic', 'text'), ('partitions', 'integer'), ('partitioner', 'text'), ('cleanup_policy', 'text'), ('retention', 'interval'), ('retention_bytes', 'bigint'), ('segment_records', 'bigint'), ('max_message_bytes', 'integer'), ('min_insync_replicas', 'integer'), ('owner', 'text'), ('created_at', 'timestamp with time zone'), ('delete_retention', 'interval'), ('min_compaction_lag', 'interval'), ('value_format', 'text'), ('delivery_delay', 'interval'), ('keep_unread', 'boolean'), ('delete_read', 'boolean')$$),
	('partitions', $$('topic', 'text'), ('partition', 'integer'), ('log_start_offset', 'bigint'), ('end_offset', 'bigint'), ('segments', 'bigint'), ('bytes', 'bigint')$$),
	('groups', $$('group_id', 'text'), ('generation', 'integer'), ('state', 'text'), ('assignor', 'text'), ('protocol', 'text'), ('members', 'integer'), ('owner', 'text'), ('rebalanced_at', 'timestamp with time zone'), ('rebalanced_why', 'text'), ('kind', 'text')$$),
	('group_members', $$('group_id', 'text'), ('member_id', 'text'), ('instance_id', 'text'), ('topics', 'text[]'), ('partitions', 'integer'), ('last_seen', 'timestamp with time zone'), ('last_poll', 'timestamp with time zone'), ('in_transaction', 'boolean'), ('joined_at', 'timestamp with time zone'), ('session_timeout', 'interval'), ('max_poll_interval', 'interval'), ('expired', 'boolean')$$),
	('group_offsets', $$('group_id', 'text'), ('topic', 'text'), ('partition', 'integer'), ('offset', 'bigint'), ('metadata', 'text'), ('committed_at', 'timestamp with time zone'), ('member_id', 'text'), ('generation', 'integer')$$),
	('consumer_lag', $$('group_id', 'text'), ('topic', 'text'), ('partition', 'integer'), ('log_start_offset', 'bigint'), ('end_offset', 'bigint'), ('committed_offset', 'bigint'), ('lag', 'bigint'), ('time_lag', 'interval'), ('member_id', 'text'), ('ready', 'bigint'), ('in_flight', 'bigint'), ('waiting', 'bigint'), ('lost', 'bigint')$$),
	('share_groups', $$('group_id', 'text'), ('ordering', 'text'), ('max_deliveries', 'integer'), ('backoff', 'interval'), ('max_backoff', 'interval'), ('dead_letter_topic', 'text'), ('auto_offset_reset', 'text'), ('topics', 'text[]'), ('max_in_flight', 'integer'), ('priority', 'text'), ('on_exhausted', 'text'), ('dead_letter_limit', 'integer'), ('paused', 'boolean'), ('paused_why', 'text'), ('parked_keys', 'bigint'), ('owner', 'text')$$),
	('share_deliveries', $$('group_id', 'text'), ('topic', 'text'), ('partition', 'integer'), ('offset', 'bigint'), ('state', 'text'), ('delivery_count', 'integer'), ('locked_until', 'timestamp with time zone'), ('waiting_until', 'timestamp with time zone'), ('error', 'text'), ('receipt', 'text'), ('pid', 'integer'), ('changed_at', 'timestamp with time zone')$$),
	('dead_letters', $$('dead_letter_topic', 'text'), ('dead_letter_partition', 'integer'), ('dead_letter_offset', 'bigint'), ('sent_at', 'timestamp with time zone'), ('group_id', 'text'), ('source_topic', 'text'), ('source_partition', 'integer'), ('source_offset', 'bigint'), ('delivery_count', 'integer'), ('error', 'text')$$),
	('scheduled', $$('id', 'bigint'), ('topic', 'text'), ('at', 'timestamp with time zone'), ('key', 'bytea'), ('scheduled_by', 'text'), ('scheduled_at', 'timestamp with time zone'), ('attempts', 'integer'), ('next_attempt', 'timestamp with time zone'), ('error', 'text')$$)
) v(view, columns);

-- How calls are resolved: what a client library sends, untyped or typed.
SELECT minikafka.create_topic('resolved', 1);
SELECT minikafka.commit_offset('committed', 'resolved', 0, 0);
SELECT minikafka.join_group('joined', '{resolved}', 'm');
SELECT minikafka.create_topic('compacted', 1, cleanup_policy => 'compact');
COMMIT;
CALL minikafka.maintain();
CALL minikafka.expire('resolved') \gset expire_
CALL minikafka.expire(topic => 'resolved'::varchar, removed => NULL) \gset named_
CALL minikafka.compact('compacted', 5) \gset compact_
BEGIN;
SELECT is(removed, 0, what)
FROM (VALUES (:expire_removed, 'expire()'), (:named_removed, 'expire() by name'), (:compact_removed, 'compact(), whatever comes in')) v(removed, what);
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a')$$, 'send of literals');
SELECT lives_ok($$SELECT minikafka.send('resolved', NULL)$$, 'send of NULL');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a', 'k', '{"h": 1}', 0)$$, 'send of five literals');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a'::varchar, 'k'::varchar)$$, 'send of varchar');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea)$$, 'send of bytea without a key');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea, 'k')$$, 'send of bytea with a literal key');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea, '\x00'::bytea)$$, 'send of bytea and bytea');
SELECT lives_ok($$SELECT minikafka.send('resolved', jsonb_build_object('a', 1), key => 'k')$$, 'send of jsonb');
SELECT lives_ok($$SELECT minikafka.send('resolved', row_to_json(row(1)), 'k')$$, 'send of json');
SELECT lives_ok($$SELECT minikafka.send_many('resolved', ARRAY['a'])$$, 'send_many of an array');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, 'k', 'v')$$, 'append of literals');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, NULL, NULL)$$, 'append of NULLs');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a', 'k', producer => 'p', sequence => 0)$$, 'send of an int sequence');
SELECT lives_ok($$SELECT minikafka.send('resolved', 'a', 'k', NULL, NULL, 'p', '1', '0')$$, 'send of eight literals');
SELECT lives_ok($$SELECT minikafka.send('resolved', '\x00'::bytea, 'k', producer => 'p', sequence => 2, epoch => 0)$$, 'send of bytea, with a sequence');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, 'k', 'v', NULL, 'p', 3, 0)$$, 'append of eight arguments');
SELECT lives_ok($$SELECT minikafka.append('resolved', 0, 'k', 'v', producer => 'p', sequence => 4)$$, 'append of an int sequence');
SELECT lives_ok($$SELECT producer_id, epoch FROM minikafka.init_producer('r'::varchar)$$, 'columns of init_producer()');
SELECT lives_ok($$SELECT topic, partition, epoch, last_sequence, last_offset FROM minikafka.producer_state(producer => 'p')$$, 'columns of producer_state()');
SELECT lives_ok($$SELECT minikafka.inbox_accept('c', 'e', '\x00')$$, 'inbox_accept of literals');
SELECT lives_ok($$SELECT minikafka.inbox_accept('c'::varchar, 'f'::varchar)$$, 'inbox_accept of varchar');
SELECT lives_ok($$SELECT minikafka.fetch('resolved', 0, 0)$$, 'fetch of int literals');
SELECT lives_ok($$SELECT minikafka.commit_offset('g', 'resolved', 0, 0)$$, 'commit_offset of int literals');
SELECT lives_ok($$SELECT minikafka.delete_records('resolved', 0, -1)$$, 'delete_records of int literals');
SELECT lives_ok($$SELECT minikafka.partition_for_key('resolved', 'k')$$, 'partition_for_key of a literal');
SELECT lives_ok($$SELECT topic, partition, "offset", ts, key, value, headers FROM minikafka.latest('resolved'::varchar)$$, 'columns of latest()');
SELECT lives_ok($$SELECT minikafka.committed('committed', 'resolved', 0)$$, 'committed of literals');
SELECT lives_ok($$SELECT minikafka.lag('committed')$$, 'lag of a literal');
SELECT lives_ok($$SELECT minikafka.join_group('new', '{resolved}')$$, 'join_group of literals');
SELECT lives_ok($$SELECT minikafka.join_group('new', ARRAY['resolved'], 'm', NULL, NULL, NULL, NULL, '1 s', '1 s', '1 s')$$, 'join_group of an array and of literals');
SELECT lives_ok($$SELECT minikafka.join_group('new', ARRAY['resolved']::varchar[], 'm'::varchar)$$, 'join_group of varchar');
SELECT lives_ok($$SELECT minikafka.poll('joined', 'm', 10, 10000, '0 s')$$, 'poll of literals');
SELECT lives_ok($$SELECT minikafka.poll('joined', 'm', max_wait => make_interval())$$, 'poll by name');
SELECT throws_ok($$SELECT minikafka.poll('joined', 'm', topics => '{no.such}')$$, '22023', NULL, 'poll of a topic that is none of the member''s');
SELECT lives_ok($$SELECT minikafka.poll_text('joined', 'm')$$, 'poll_text of literals');
SELECT lives_ok($$SELECT minikafka.poll_json('joined', 'm')$$, 'poll_json of literals');
SELECT lives_ok($$SELECT minikafka.seek('joined', 'm', 'resolved', 0, 0)$$, 'seek of int literals');
SELECT lives_ok($$SELECT minikafka.pause('joined', 'm', 'resolved', 0), minikafka.resume('joined', 'm', 'resolved', 0)$$, 'pause and resume of int literals');
-- an argument and a column of the result are called "topic"
SELECT lives_ok($$SELECT topic, partition, "offset" FROM minikafka.reset_offsets(group_id => 'committed', topic => 'resolved', target => 'latest')$$, 'reset_offsets by name');
SELECT lives_ok($$SELECT topic, partition, "offset" FROM minikafka.commit('joined', 'm')$$, 'columns of commit()');
SELECT lives_ok($$SELECT topic, partition FROM minikafka.assignment('joined', 'm')$$, 'columns of assignment()');

-- Untyped parameters, as drivers send them: of several forms the one of text is chosen.
CREATE FUNCTION pg_temp.inferred(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	types text;
BEGIN
	EXECUTE 'PREPARE untyped AS SELECT minikafka.' || call;
	SELECT parameter_types::text INTO types FROM pg_prepared_statements WHERE name = 'untyped';
	DEALLOCATE untyped;
	RETURN types;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE TEMP TABLE untyped (name text, required integer, names text[], types regtype[]);
INSERT INTO untyped VALUES
	('send', 2, '{topic,value,key,headers,partition,producer,sequence,epoch}', '{text,text,text,jsonb,integer,text,bigint,integer}'),
	('append', 4, '{topic,partition,key,value,headers,producer,sequence,epoch}', '{text,integer,text,text,jsonb,text,bigint,integer}'),
	('send_at', 3, '{topic,value,at,key,headers}', '{text,text,"timestamp with time zone",text,jsonb}'),
	('partition_for_key', 2, '{topic,key}', '{text,text}'),
	('send_many', 2, '{topic,payloads,keys,headers}', '{text,text[],text[],jsonb[]}'),
	('send_many_json', 2, '{topic,payloads,keys,headers}', '{text,jsonb[],text[],jsonb[]}'),
	('send_many_bytes', 2, '{topic,payloads,keys,headers}', '{text,bytea[],bytea[],jsonb[]}'),
	('inbox_accept', 2, '{consumer,event_id,payload}', '{text,text,bytea}');
SELECT set_eq($$SELECT name FROM found GROUP BY name HAVING count(*) > 1$$, ARRAY['send', 'append', 'send_at', 'partition_for_key'],
	'the functions with several forms; table untyped tests each');
-- with each number of arguments that the function takes, by place and by name
SELECT is(pg_temp.inferred(format('%s(%s)', name, string_agg(notation || '$' || i, ', ' ORDER BY i))), types[:n]::text,
	format('untyped: %s() of %s arguments%s', name, n, CASE WHEN named THEN ' by name' ELSE '' END))
FROM untyped CROSS JOIN generate_series(required, cardinality(names)) n CROSS JOIN (VALUES (false), (true)) v(named)
CROSS JOIN LATERAL (SELECT i, CASE WHEN named THEN names[i] || ' => ' ELSE '' END AS notation FROM generate_series(1, n) i) a
GROUP BY name, n, named, types ORDER BY name, n, named;
SELECT is(pg_temp.inferred(call), types, 'untyped: ' || call)
FROM (VALUES
	('send($1, $2, key => $3)', '{text,text,text}'),
	('send($1, $2, partition => $3)', '{text,text,integer}'),
	('send($1, $2::jsonb, key => $3)', '{text,jsonb,text}'),
	('send($1, $2::bytea, key => $3)', '{text,bytea,text}'),
	('send($1, $2::bytea, $3, $4)', '{text,bytea,text,jsonb}'),
	('send_at($1, $2::jsonb, $3)', '{text,jsonb,"timestamp with time zone"}'),
	('send_at($1, $2::bytea, $3, $4)', '{text,bytea,"timestamp with time zone",text}'),
	('append($1, $2, $3, $4::jsonb)', '{text,integer,text,jsonb}'),
	('append($1, $2, $3, $4::bytea)', '{text,integer,bytea,bytea}'),
	('append($1, $2, $3::text, $4)', '{text,integer,text,text}')) v(call, types);
SELECT lives_ok($$SELECT minikafka.send_many('resolved', '{a,b}')$$, 'send_many of literals');
SELECT lives_ok($$SELECT minikafka.send_many('resolved', '{a,b}', '{k,l}', '{NULL,NULL}')$$, 'send_many of four literals');
SELECT lives_ok($$SELECT minikafka.send_many('resolved', ARRAY['a']::varchar[], ARRAY['k']::varchar[])$$, 'send_many of arrays of varchar');
SELECT lives_ok($$SELECT minikafka.send_many_json('resolved', '{"{\"a\": 1}"}', '{k}')$$, 'send_many_json of literals');
SELECT lives_ok($$SELECT minikafka.send_many_bytes('resolved', '{a,b}', '{k,l}')$$, 'send_many_bytes of literals');
SELECT throws_ok($$SELECT minikafka.send_many('resolved', ARRAY['1']::jsonb[])$$, '42883', NULL, 'send_many takes no jsonb[]');

-- the plan depends on it: a scan of fetch() is not thought to return a thousand
SELECT is(prorows, 100::real, 'fetch() is estimated as its default') FROM pg_proc
WHERE oid = 'minikafka.fetch'::regproc;

SELECT is(prorows, 1::real, proname || '() is estimated as its default') FROM pg_proc
WHERE pronamespace = 'minikafka'::regnamespace AND proname LIKE 'acquire%';

SELECT is(prorows, 100::real, 'poll() is estimated as its default') FROM pg_proc
WHERE oid = 'minikafka.poll'::regproc;

SELECT * FROM finish();
ROLLBACK;
SELECT minikafka.leave_group('joined', 'm');
SELECT minikafka.delete_group(g) FROM unnest(ARRAY['joined', 'committed']) g;
SELECT minikafka.drop_topic('resolved'), minikafka.drop_topic('compacted');
