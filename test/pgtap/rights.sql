--
-- Rights: which role may call what, which role sees what
--
BEGIN;
SELECT plan(575);

CREATE ROLE tap_owner;
CREATE ROLE tap_insert;
CREATE ROLE tap_select;
CREATE ROLE tap_delete;
CREATE ROLE tap_stranger;
CREATE ROLE tap_nothing; -- but USAGE
CREATE ROLE tap_monitor IN ROLE pg_monitor;
CREATE ROLE tap_granted;
CREATE ROLE tap_member IN ROLE tap_select;
-- pgTAP's tables belong to the role that made the plan
GRANT USAGE ON SCHEMA minikafka TO tap_owner, tap_insert, tap_select, tap_delete, tap_nothing, tap_granted;
GRANT ALL ON ALL TABLES IN SCHEMA pg_temp TO PUBLIC;
GRANT ALL ON ALL SEQUENCES IN SCHEMA pg_temp TO PUBLIC;

-- What the extension grants to all roles, and to none
SELECT ok(has_schema_privilege('tap_nothing', schema, 'USAGE') AND NOT has_schema_privilege('tap_nothing', schema, 'CREATE'),
	'a role with USAGE may use, and not create in, schema ' || schema)
FROM unnest(ARRAY['minikafka', 'minikafka_topics', 'minikafka_data']) schema;
SELECT is(has_schema_privilege('tap_stranger', schema, 'USAGE, CREATE'), schema <> 'minikafka', 'a role without USAGE, and schema ' || schema)
FROM unnest(ARRAY['minikafka', 'minikafka_topics', 'minikafka_data']) schema;
SELECT ok(has_schema_privilege('pg_monitor', 'minikafka', 'USAGE') AND NOT has_schema_privilege('pg_monitor', 'minikafka', 'CREATE'),
	'pg_monitor is let in');
SELECT set_eq(
	$$SELECT proname::text FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace
	AND NOT has_function_privilege('tap_nothing', p.oid, 'EXECUTE')$$,
	ARRAY['refuse_write', 'maintain'], 'the functions that not every role may call');
SELECT is_empty(
	$$SELECT proname FROM pg_proc WHERE pronamespace = 'minikafka'::regnamespace AND prosecdef
	AND NOT coalesce(proconfig::text LIKE '%search_path%', false)$$,
	'no function runs as its owner without a fixed search path');
SELECT set_eq(
	$$SELECT relname::text FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind IN ('r', 'v', 'S')
	AND has_table_privilege('tap_nothing', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')$$,
	ARRAY['topics', 'partitions', 'groups', 'group_members', 'group_offsets', 'consumer_lag', 'share_groups', 'share_deliveries', 'dead_letters', 'scheduled'], 'the relations that all roles have a right to');
SELECT set_eq(
	$$SELECT relname::text FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'v'
	AND has_table_privilege('tap_nothing', oid, 'INSERT, UPDATE, DELETE')$$,
	'{}'::text[], 'no role may write to a view');
SET ROLE tap_nothing;
SELECT throws_ok(format('SELECT FROM minikafka.%I', relname), '42501', NULL, 'catalog table is not readable: ' || relname)
FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'r' ORDER BY relname;
SELECT throws_ok(format('SELECT nextval(%L)', 'minikafka.' || relname), '42501', NULL, 'sequence is not usable: ' || relname)
FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'S' ORDER BY relname;
SELECT throws_ok($$SELECT minikafka.create_topic('tap')$$, '42501', 'permission denied to create topic "tap"',
	'create_topic takes CREATE on schema minikafka_topics');
RESET ROLE;

GRANT CREATE ON SCHEMA minikafka_topics TO tap_owner;
SET ROLE tap_owner;
SELECT lives_ok($$SELECT minikafka.create_topic('tap', 2)$$, 'create_topic with CREATE');
RESET ROLE;
SELECT is_empty(
	$$SELECT relid FROM pg_partition_tree('minikafka_topics.tap') JOIN pg_class c ON c.oid = relid
	WHERE relowner <> 'tap_owner'::regrole$$, 'all tables of a topic belong to the role that made it');
GRANT INSERT ON minikafka_topics.tap TO tap_insert;
GRANT SELECT ON minikafka_topics.tap TO tap_select, tap_granted;
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
	($$minikafka.send_many_json('tap', ARRAY['1']::jsonb[])$$, '{INSERT}'),
	($$minikafka.send_many_bytes('tap', ARRAY['v']::bytea[])$$, '{INSERT}'),
	($$minikafka.send_at('tap', 'v', now())$$, '{INSERT}'),
	($$minikafka.send_at('tap', '1'::jsonb, now())$$, '{INSERT}'),
	($$minikafka.send_at('tap', 'v'::bytea, now(), 'k')$$, '{INSERT}'),
	($$minikafka.send_at('tap', 'v'::bytea, now(), 'k'::bytea)$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k', 'v')$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k', '1'::jsonb)$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k'::bytea, 'v'::bytea)$$, '{INSERT}'),
	($$minikafka.send('tap', 'v', 'k', producer => 'tap ' || current_user, sequence => 0)$$, '{INSERT}'),
	($$minikafka.append('tap', 0, 'k', 'v', producer => 'tap append ' || current_user, sequence => 0)$$, '{INSERT}'),
	($$minikafka.partition_for_key('tap', 'k'::text)$$, '{INSERT,SELECT}'),
	($$minikafka.partition_for_key('tap', 'k'::bytea)$$, '{INSERT,SELECT}'),
	($$minikafka.fetch('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.fetch_text('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.fetch_json('tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.offset_for_time('tap', 0, now())$$, '{SELECT}'),
	($$minikafka.offsets('tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.try_offsets('tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.topic_dead_letters('tap')$$, '{SELECT,monitor}'),
	($$minikafka.check_topic('tap')$$, '{SELECT}'),
	($$minikafka.latest('tap')$$, '{SELECT}'),
	($$minikafka.committed('tap', 'tap', 0)$$, '{SELECT,monitor}'),
	($$minikafka.commit_offset('tap ' || current_user, 'tap', 0, 0)$$, '{SELECT}'),
	($$minikafka.join_group('tap join ' || current_user, '{other, tap}')$$, '{SELECT}'),
	($$minikafka.create_share_group('tap share ' || current_user, '{tap}')$$, '{SELECT}'),
	($$minikafka.delete_records('tap', 0, 0)$$, '{DELETE}'),
	($$minikafka.redrive('tap', max_records => 1)$$, '{SELECT}'),
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
-- procedures: a role that may call is told that this is a transaction block
SELECT throws_ok($$CALL minikafka.maintain()$$, '42501', 'permission denied for procedure maintain', 'maintain() is not for every role');
SELECT throws_ok(format('CALL minikafka.%s(%L)', procedure, 'tap'), '42501', 'must be owner of topic "tap"', 'not the owner: ' || procedure)
FROM unnest(ARRAY['expire', 'compact']) procedure;
SET ROLE tap_delete;
SELECT throws_ok($$CALL minikafka.expire('tap')$$, '42501', 'must be owner of topic "tap"', 'DELETE is not enough for expire()');
SET ROLE tap_monitor;
SELECT throws_ok($$CALL minikafka.maintain()$$, '42501', NULL, 'nor is maintain() for pg_monitor');
SET ROLE tap_owner;
SELECT throws_ok($$CALL minikafka.maintain()$$, '42501', NULL, 'nor for an owner');
SELECT throws_ok($$CALL minikafka.expire('tap')$$, '2D000', NULL, 'the owner may expire()');
SELECT throws_ok($$CALL minikafka.compact('tap')$$, '55000', NULL, 'the owner may compact()');
RESET ROLE;
GRANT EXECUTE ON PROCEDURE minikafka.maintain() TO tap_nothing;
SET ROLE tap_nothing;
SELECT throws_ok($$CALL minikafka.maintain()$$, '2D000', NULL, 'maintain() can be granted');
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

-- Groups: the role that used one first, and those that it has granted it to.
-- One that has a member, and one that has none.
INSERT INTO minikafka.consumer_group (group_id, group_no, owner, generation, version, assignor, protocol) VALUES
	('tap group', nextval('minikafka.group_no'), 'tap_select', 1, 1, 'sticky', 'cooperative'),
	('tap empty', nextval('minikafka.group_no'), 'tap_select', 0, 1, NULL, NULL),
	('tap unused', nextval('minikafka.group_no'), 'tap_select', 0, 1, NULL, NULL);
INSERT INTO minikafka.consumer_group (group_id, group_no, owner, generation, version, kind) VALUES ('tap share', nextval('minikafka.group_no'), 'tap_select', 0, 1, 'share');
INSERT INTO minikafka.share_group VALUES (currval('minikafka.group_no'), 'key', 5, '1 s', '1 s', NULL, 'earliest', 100, 'fair', NULL, NULL, false, NULL, 0, 0, false);
INSERT INTO minikafka.share_topic SELECT currval('minikafka.group_no'), 1, topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.tap'::regclass;
INSERT INTO minikafka.group_member (group_no, member_id, member_no, topics, topic_ids, auto_offset_reset, session_timeout, max_poll_interval, rebalance_timeout, joined_at)
SELECT group_no, 'm', nextval('minikafka.member_no'), '{tap}', '{0}', 'earliest', '1 day', '1 day', '1 day', now()
FROM minikafka.consumer_group WHERE group_id = 'tap group';
INSERT INTO minikafka.member_heartbeat (member_no, polled, at)
SELECT currval('minikafka.member_no'), 1, now();
INSERT INTO minikafka.group_assignment (group_no, topic_id, partition, owner, generation, target)
SELECT group_no, topic_id, p, currval('minikafka.member_no'), 1, currval('minikafka.member_no')
FROM minikafka.consumer_group, minikafka.topic, generate_series(0, 1) p
WHERE group_id = 'tap group' AND rel = 'minikafka_topics.tap'::regclass;
INSERT INTO minikafka.group_grant SELECT group_no, 'tap_granted' FROM minikafka.consumer_group WHERE owner = 'tap_select';

-- The matrix of groups.  needs: to use it, to own it; monitor: to see it.
CREATE TEMP TABLE group_calls (call text, needs text);
INSERT INTO group_calls VALUES
	($$minikafka.join_group('tap group', '{tap}')$$, 'use'),
	($$minikafka.heartbeat('tap group', 'm')$$, 'use'),
	($$minikafka.poll('tap group', 'm')$$, 'use'),
	($$minikafka.poll_text('tap group', 'm')$$, 'use'),
	($$minikafka.poll_json('tap group', 'm')$$, 'use'),
	($$minikafka.commit('tap group', 'm')$$, 'use'),
	($$minikafka.commit_offset('tap group', 'tap', 0, 0, member_id => 'm')$$, 'use'),
	($$minikafka.commit_offset('tap empty', 'tap', 0, 0)$$, 'use'),
	($$minikafka.seek('tap group', 'm', 'tap', 0, 0)$$, 'use'),
	($$minikafka.pause('tap group', 'm', 'tap', 0)$$, 'use'),
	($$minikafka.resume('tap group', 'm', 'tap', 0)$$, 'use'),
	($$minikafka.reset_offsets('tap empty', 'tap', 'earliest')$$, 'use'),
	($$minikafka.reset_offsets('tap empty', 'tap', 'group:tap group')$$, 'use'),
	($$minikafka.reset_offsets('tap share', 'tap', 'group:tap empty')$$, 'use'),
	($$minikafka.set_group_option('tap share', 'paused', 'true')$$, 'own'),
	($$minikafka.leave_group('tap group', 'm')$$, 'use'),
	($$minikafka.assignment('tap group', 'm')$$, 'see'),
	($$minikafka.committed('tap group', 'tap', 0)$$, 'see'),
	($$minikafka.lag('tap group')$$, 'see'),
	($$minikafka.lag('tap group', 'tap')$$, 'see'),
	($$minikafka.group_commits('tap group')$$, 'see'),
	($$minikafka.group_deliveries('tap group')$$, 'see'),
	($$minikafka.grant_group('tap group', 'tap_nothing')$$, 'own'),
	($$minikafka.revoke_group('tap group', 'tap_nothing')$$, 'own'),
	-- once, since no call may follow it
	($$minikafka.delete_group('tap unused')$$, 'own');
CREATE TEMP VIEW group_matrix AS
SELECT r.rolename, call, needs, format('SELECT %s', call) AS sql, needs = ANY (r.may) AS may
FROM group_calls, (VALUES
	('tap_select', '{own,use,see}'::text[]), ('tap_member', '{own,use,see}'), ('tap_granted', '{use,see}'), ('tap_monitor', '{see}'),
	('tap_owner', '{}'), ('tap_insert', '{}'), ('tap_nothing', '{}')) r(rolename, may)
WHERE NOT (r.rolename = 'tap_member' AND call LIKE '%delete_group%');
GRANT SELECT ON group_matrix TO PUBLIC;
-- 42501; with a right to the topic, for the group
CREATE FUNCTION pg_temp.tap_check_groups() RETURNS SETOF text LANGUAGE sql AS $$
SELECT CASE WHEN may THEN lives_ok(sql, rolename || ' may ' || call)
	ELSE throws_ok(sql, '42501', CASE WHEN rolename = 'tap_owner' THEN format('permission denied for group "%s"', substring(call, 'tap [a-z]+')) END, rolename || ' may not ' || call) END
FROM group_matrix WHERE rolename = current_user
$$;
SET ROLE tap_select;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_member;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_granted;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_monitor;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_owner;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_insert;
SELECT pg_temp.tap_check_groups();
SET ROLE tap_nothing;
SELECT pg_temp.tap_check_groups();
-- the right comes before what else may be wrong with a call
SELECT throws_ok($$SELECT minikafka.heartbeat('tap group', 'nobody')$$, '42501', NULL, 'no right: nothing is told of the members');
SELECT throws_ok($$SELECT minikafka.delete_group('tap group')$$, '42501', NULL, 'nor whether there are any');
SELECT throws_ok($$SELECT minikafka.join_group('tap group', '{tap}', assignor => 'range')$$, '42501', NULL, 'nor of its settings');
SELECT throws_ok($$CALL minikafka.wait_for_records('tap group', 'm', '0')$$, '42501', 'permission denied for group "tap group"', 'wait_for_records');
SELECT ok(NOT minikafka.group_is_visible('tap group'), 'group_is_visible: no right');
SELECT ok(NOT minikafka.group_is_visible('tap no group'), 'group_is_visible: no group');
SELECT throws_ok($$SELECT minikafka.member_is_expired('tap group', 'm')$$, '42501', NULL, 'member_is_expired: no right');
RESET ROLE;
-- the topic's owner takes away the right to read it
REVOKE SELECT ON minikafka_topics.tap FROM tap_granted;
SET ROLE tap_granted;
SELECT throws_ok($$SELECT minikafka.poll('tap group', 'm')$$, '42501', 'permission denied for topic "tap"', 'poll takes SELECT on the topic too');
SELECT throws_ok($$SELECT minikafka.seek('tap group', 'm', 'tap', 0, 0)$$, '42501', 'permission denied for topic "tap"', 'seek does too');
SELECT throws_ok($$SELECT minikafka.reset_offsets('tap empty', 'tap', 'latest')$$, '42501', 'permission denied for topic "tap"', 'reset_offsets does too');
SELECT throws_ok($$SELECT minikafka.lag('tap group', 'tap')$$, '42501', 'permission denied for topic "tap"', 'lag in a topic does too');
SELECT is_empty($$SELECT minikafka.lag('tap group')$$, 'lag leaves out what cannot be read');
SELECT lives_ok($$SELECT minikafka.heartbeat('tap group', 'm')$$, 'heartbeat does not');
RESET ROLE;
GRANT SELECT ON minikafka_topics.tap TO tap_granted;
SELECT lives_ok($$SELECT minikafka.heartbeat('tap group', 'm')$$, 'a superuser may use any group');

-- The views of groups choose their rows
INSERT INTO minikafka.group_progress (group_no, topic_id, partition, number, next_offset, committed_at, committed_generation, member_no, generation, turn, paused)
SELECT group_no, topic_id, 0, 1, 0, now(), -1, 0, 0, 0, false FROM minikafka.consumer_group, minikafka.topic
WHERE group_id = 'tap group' AND rel = 'minikafka_topics.tap'::regclass;
CREATE FUNCTION pg_temp.tap_check_views(sees boolean) RETURNS SETOF text LANGUAGE sql AS $$
SELECT is(n::int, CASE WHEN sees THEN most ELSE 0 END, format('%s sees %s of view %s', current_user, n, view))
FROM (
	SELECT 'groups', 1, count(*) FROM minikafka.groups WHERE group_id = 'tap group' UNION ALL
	SELECT 'group_members', 1, count(*) FROM minikafka.group_members WHERE group_id = 'tap group' UNION ALL
	SELECT 'group_offsets', 1, count(*) FROM minikafka.group_offsets WHERE group_id = 'tap group' UNION ALL
	SELECT 'consumer_lag', 2, count(*) FROM minikafka.consumer_lag WHERE group_id = 'tap group'
) v(view, most, n)
$$;
SET ROLE tap_select;
SELECT pg_temp.tap_check_views(true);
SET ROLE tap_member;
SELECT pg_temp.tap_check_views(true);
SET ROLE tap_granted;
SELECT pg_temp.tap_check_views(true);
SET ROLE tap_monitor;
SELECT pg_temp.tap_check_views(true);
SET ROLE tap_owner;
SELECT pg_temp.tap_check_views(false);
SET ROLE tap_nothing;
SELECT pg_temp.tap_check_views(false);
RESET ROLE;

-- Producers and inbox consumers: the role that used the name first.  No other role
-- can be granted it, other than as a member of that role.
GRANT INSERT ON minikafka_topics.tap TO tap_select, tap_granted;
INSERT INTO minikafka.producer (producer, producer_id, owner, epoch, initialized)
VALUES ('tap producer', nextval('minikafka.producer_id'), 'tap_select', 0, true);
INSERT INTO minikafka.producer_progress (producer_id, topic_id, partition, epoch, last_sequence, first_sequence, first_offset, sent_at)
SELECT currval('minikafka.producer_id'), topic_id, 0, 0, 0, 0, 0, now()
FROM minikafka.topic WHERE rel = 'minikafka_topics.tap'::regclass;
INSERT INTO minikafka.inbox_consumer (consumer, owner) VALUES ('tap consumer', 'tap_select');
CREATE TEMP TABLE name_calls (call text, needs text, refusal text);
INSERT INTO name_calls VALUES
	($$minikafka.append('tap', 0, 'k', 'v', producer => 'tap producer', sequence => 0)$$, 'use', 'permission denied for producer "tap producer"'),
	($$minikafka.send('tap', 'v', 'k', producer => 'tap producer', sequence => 0, partition => 0)$$, 'use', 'permission denied for producer "tap producer"'),
	($$minikafka.send('tap', 'v', 'k', producer => 'tap producer', sequence => 0, partition => 1)$$, 'use', 'permission denied for producer "tap producer"'),
	($$minikafka.init_producer('tap producer')$$, 'use', 'permission denied for producer "tap producer"'),
	($$minikafka.producer_state('tap producer')$$, 'see', 'permission denied for producer "tap producer"'),
	($$minikafka.inbox_accept('tap consumer', 'event ' || current_user)$$, 'use', 'permission denied for inbox consumer "tap consumer"'),
	-- a role that may send may begin one; any role may ask for one that is not there
	($$minikafka.init_producer('tap begins ' || current_user)$$, 'send', NULL),
	($$minikafka.producer_state('tap no producer')$$, 'any', NULL),
	($$minikafka.inbox_accept('tap begins ' || current_user, 'event')$$, 'any', NULL);
CREATE TEMP VIEW name_matrix AS
SELECT r.rolename, call, refusal, format('SELECT %s', call) AS sql, needs = ANY (r.may) AS may
FROM name_calls, (VALUES
	('tap_select', '{use,see,send,any}'::text[]), ('tap_member', '{use,see,send,any}'), ('tap_monitor', '{see,any}'),
	('tap_granted', '{send,any}'), ('tap_owner', '{send,any}'), ('tap_insert', '{send,any}'), ('tap_nothing', '{any}')) r(rolename, may);
GRANT SELECT ON name_matrix TO PUBLIC;
CREATE FUNCTION pg_temp.tap_check_names() RETURNS SETOF text LANGUAGE sql AS $$
SELECT CASE WHEN may THEN lives_ok(sql, rolename || ' may ' || call)
	-- the right to the topic comes first
	ELSE throws_ok(sql, '42501', CASE WHEN rolename IN ('tap_monitor', 'tap_nothing') AND call ~ 'send|append'
		THEN 'permission denied for topic "tap"' ELSE refusal END, rolename || ' may not ' || call) END
FROM name_matrix WHERE rolename = current_user
$$;
SET ROLE tap_select;
SELECT pg_temp.tap_check_names();
SET ROLE tap_member;
SELECT pg_temp.tap_check_names();
SET ROLE tap_monitor;
SELECT pg_temp.tap_check_names();
SET ROLE tap_granted;
SELECT pg_temp.tap_check_names();
SET ROLE tap_owner;
SELECT pg_temp.tap_check_names();
SET ROLE tap_insert;
SELECT pg_temp.tap_check_names();
SET ROLE tap_nothing;
SELECT pg_temp.tap_check_names();
-- the right comes before what else may be wrong with a call
SET ROLE tap_insert;
SELECT throws_ok($$SELECT minikafka.append('tap', 0, 'k', 'v', producer => 'tap producer', sequence => 7)$$, '42501', NULL, 'no right: nothing is told of the sequence');
SELECT throws_ok($$SELECT minikafka.append('tap', 0, 'k', 'v', producer => 'tap producer', sequence => 0, epoch => 7)$$, '42501', NULL, 'nor of the epoch');
SELECT throws_ok($$SELECT minikafka.inbox_accept('tap consumer', 'event tap_select', 'other')$$, '42501', NULL, 'nor of the event');
RESET ROLE;
SELECT lives_ok(sql, 'a superuser may ' || call) FROM name_matrix WHERE rolename = 'tap_select' AND call LIKE '%tap producer%';

-- The owner drops it, and a member of the owner may too
SET ROLE tap_owner;
SELECT lives_ok($$SELECT minikafka.drop_topic('tap')$$, 'the owner drops it');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
