--
-- Every function and procedure, as each kind of role, in a read-only transaction and in
-- a security-restricted operation.  A new one fails here until it is in the table.
--
CREATE ROLE audit_stranger; -- has nothing
CREATE ROLE audit_bare; -- USAGE on the schema, and no right to a topic
CREATE ROLE audit_monitor IN ROLE pg_monitor;
CREATE ROLE audit_reader; -- SELECT; has groups
CREATE ROLE audit_writer; -- INSERT; has a producer and an inbox consumer
CREATE ROLE audit_cleaner; -- DELETE
CREATE ROLE audit_owner; -- of the topic
GRANT USAGE ON SCHEMA minikafka TO audit_bare, audit_reader, audit_writer, audit_cleaner, audit_owner;
GRANT CREATE ON SCHEMA minikafka_topics TO audit_owner;
SET ROLE audit_owner;
SELECT minikafka.create_topic('audit', 1, cleanup_policy => 'compact,delete');
SELECT minikafka.create_topic('audit.dead', 1);
SELECT minikafka.send('audit', '1', 'k');
GRANT SELECT ON minikafka_topics.audit TO audit_reader;
GRANT SELECT ON minikafka_topics."audit.dead" TO audit_reader;
GRANT INSERT ON minikafka_topics.audit TO audit_writer;
GRANT DELETE ON minikafka_topics.audit TO audit_cleaner;
SET ROLE audit_reader;
SELECT minikafka.join_group('audit', '{audit}', 'm', session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.commit_offset('audit plain', 'audit', 0, 0);
SELECT minikafka.create_share_group('audit share', '{audit}');
SELECT minikafka.create_share_group('audit worker', '{audit}');
SET ROLE audit_writer;
SELECT minikafka.init_producer('audit');
SELECT minikafka.inbox_accept('audit', 'event');
SELECT minikafka.send_at('audit', 'v', '2100-01-01', 'k') AS scheduled \gset
RESET ROLE;

BEGIN;
-- Calls, the roles that may, and the SQLSTATE (of a procedure: that this is a transaction).
-- roles: b(are), m(onitor), r(eader), w(riter), c(leaner), o(wner); a superuser may all.
CREATE TEMP TABLE calls (f regprocedure, call text, roles text, writes boolean, told text DEFAULT '00000');
INSERT INTO calls (f, call, roles, writes)
SELECT p.oid, format('minikafka.%s(%L, %s%s)', proname, 'audit',
		CASE WHEN proname = 'append' THEN '0, ' END,
		CASE WHEN proname = 'append' THEN format('%L::%s, %L::%s', 'k', proargtypes[2]::regtype, '1', proargtypes[3]::regtype)
			WHEN proname LIKE 'send\_many%' THEN format('%L::%s, %L::%s', '{1}', proargtypes[1]::regtype, '{k}', proargtypes[2]::regtype)
			WHEN proname = 'send_at' THEN format('%L::%s, now(), %L::%s', '1', proargtypes[1]::regtype, 'k', proargtypes[3]::regtype)
			ELSE format('%L::%s, %L::%s', '1', proargtypes[1]::regtype, 'k', proargtypes[2]::regtype) END),
	'wo', true
FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace AND proname IN ('send', 'send_many', 'send_many_json', 'send_many_bytes', 'append', 'send_at');
INSERT INTO calls (f, call, roles, writes)
SELECT p.oid, format('minikafka.%s(%s)', proname, arguments), roles, writes
FROM (VALUES
	('create_topic', $$'audit.new'$$, 'o', true),
	('set_topic_option', $$'audit', 'max_message_bytes', '10'$$, 'o', true),
	('add_partitions', $$'audit', 2$$, 'o', true),
	('drop_topic', $$'audit'$$, 'o', true),
	('create_index', $$'audit', '(ts)'$$, 'o', true),
	('murmur2', $$'\x00'$$, 'bmrwco', false),
	('is_json', $$'\x00'$$, 'bmrwco', false),
	('is_text', $$'\x00'$$, 'bmrwco', false),
	('last_sent', '', 'bmrwco', false),
	('cancel_send', :'scheduled', 'wo', true),
	('init_producer', $$'audit new'$$, 'wo', true),
	('init_producer', $$'audit'$$, 'w', true),
	('producer_state', $$'audit'$$, 'mw', false),
	('set_producer_owner', $$'audit', 'audit_writer'$$, 'w', true),
	('fetch', $$'audit', 0, 0$$, 'ro', false),
	('fetch_text', $$'audit', 0, 0$$, 'ro', false),
	('fetch_json', $$'audit', 0, 0$$, 'ro', false),
	('offset_for_time', $$'audit', 0, now()$$, 'ro', false),
	('latest', $$'audit'$$, 'ro', false),
	('check_topic', $$'audit'$$, 'ro', false),
	('offsets', $$'audit', 0$$, 'mro', false),
	('try_offsets', $$'audit', 0$$, 'mro', false),
	('topic_dead_letters', $$'audit'$$, 'mro', false),
	('delete_records', $$'audit', 0, 0$$, 'co', true),
	('join_group', $$'audit', '{audit}', 'm'$$, 'r', true),
	('join_group', $$'audit new', '{audit}'$$, 'ro', true),
	('join_group', $$'audit new', '{no_such_topic}'$$, '', true),
	('create_share_group', $$'audit new', '{audit}'$$, 'ro', true),
	('set_group_option', $$'audit share', 'paused', 'true'$$, 'r', true),
	('reset_offsets', $$'audit share', 'audit', 'latest'$$, 'r', true),
	('delete_group', $$'audit share'$$, 'r', true),
	('acquire', $$'audit worker'$$, 'r', true),
	('acquire_text', $$'audit worker'$$, 'r', true),
	('acquire_json', $$'audit worker'$$, 'r', true),
	('leave_group', $$'audit', 'm'$$, 'r', true),
	('heartbeat', $$'audit', 'm'$$, 'r', true),
	('assignment', $$'audit', 'm'$$, 'mr', false),
	('poll', $$'audit', 'm'$$, 'r', true),
	('poll_text', $$'audit', 'm'$$, 'r', true),
	('poll_json', $$'audit', 'm'$$, 'r', true),
	('commit', $$'audit', 'm'$$, 'r', true),
	('seek', $$'audit', 'm', 'audit', 0, 0$$, 'r', true),
	('pause', $$'audit', 'm', 'audit', 0$$, 'r', true),
	('resume', $$'audit', 'm', 'audit', 0$$, 'r', true),
	('commit_offset', $$'audit plain', 'audit', 0, 0$$, 'r', true),
	('commit_offset', $$'audit new', 'audit', 0, 0$$, 'ro', true),
	('reset_offsets', $$'audit plain', 'audit', 'latest'$$, 'r', true),
	('committed', $$'audit', 'audit', 0$$, 'mr', false),
	('lag', $$'audit'$$, 'mr', false),
	('lag', $$'audit', 'audit'$$, 'mr', false),
	('group_commits', $$'audit'$$, 'mr', false),
	('group_deliveries', $$'audit'$$, 'mr', false),
	('group_is_visible', $$'audit'$$, 'bmrwco', false),
	('member_is_expired', $$'audit', 'm'$$, 'mr', false),
	('delete_group', $$'audit plain'$$, 'r', true),
	('grant_group', $$'audit', 'audit_bare'$$, 'r', true),
	('revoke_group', $$'audit', 'audit_bare'$$, 'r', true),
	('set_group_owner', $$'audit', 'audit_reader'$$, 'r', true),
	-- a group is one role's, its topic another's: see dead_letter.sql
	('dead_letter', $$'audit', 'audit', 0, 0, 'audit.dead', 'error'$$, '', true),
	('redrive', $$'audit.dead'$$, 'ro', true),
	-- no topic decides: USAGE on the schema is the right
	('inbox_accept', $$'audit new', 'event'$$, 'bmrwco', true),
	('inbox_accept', $$'audit', 'event'$$, 'w', true),
	('set_inbox_owner', $$'audit', 'audit_writer'$$, 'w', true)
) v(name, arguments, roles, writes) JOIN pg_proc p ON pronamespace = 'minikafka'::regnamespace AND proname = name;
INSERT INTO calls (f, call, roles, writes)
SELECT p.oid, format('minikafka.partition_for_key(%L, %L::%s)', 'audit', 'k', proargtypes[1]::regtype), 'rwo', false
FROM pg_proc p WHERE pronamespace = 'minikafka'::regnamespace AND proname = 'partition_for_key';
INSERT INTO calls VALUES
	('minikafka.maintain()', 'CALL minikafka.maintain()', '', true, '2D000'),
	('minikafka.deliver_due()', 'CALL minikafka.deliver_due()', 'bmrwco', true, '2D000'),
	('minikafka.expire(text, bigint)', $$CALL minikafka.expire('audit')$$, 'o', true, '2D000'),
	('minikafka.compact(text, bigint)', $$CALL minikafka.compact('audit')$$, 'o', true, '2D000'),
	('minikafka.wait_for_records(text, text, interval)', $$CALL minikafka.wait_for_records('audit', 'm', '0')$$, 'r', true, '2D000'),
	-- there is no such record
	('minikafka.acknowledge(text, text, text, text, interval)', $$minikafka.acknowledge('audit worker', '0.0.0.0.0.t0')$$, 'r', true, 'MK121'),
	('minikafka.renew(text, text, interval)', $$minikafka.renew('audit worker', '0.0.0.0.0.l0', '1 s')$$, 'r', true, 'MK121'),
	('minikafka.outbox()', 'minikafka.outbox()', 'bmrwco', false, '39P01'),
	('minikafka.refuse_write()', 'minikafka.refuse_write()', '', false, '39P01');
UPDATE calls SET call = 'SELECT ' || call WHERE call NOT LIKE 'CALL %';

SELECT plan(4 + (SELECT 2 * count(*)::int FROM calls) + (SELECT count(DISTINCT f)::int FROM calls));

-- What a call is told as a role; nothing of it stays.
CREATE FUNCTION pg_temp.told(sql text, rolename text, read_only boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF read_only THEN
		SET LOCAL transaction_read_only = on;
	END IF;
	PERFORM set_config('role', rolename, true);
	EXECUTE sql;
	RAISE EXCEPTION USING ERRCODE = '00XXX';
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLSTATE, '00XXX', '00000');
END $$;
CREATE TEMP TABLE roles (letter text, rolename text);
INSERT INTO roles VALUES ('-', 'audit_stranger'), ('b', 'audit_bare'), ('m', 'audit_monitor'), ('r', 'audit_reader'),
	('w', 'audit_writer'), ('c', 'audit_cleaner'), ('o', 'audit_owner'), ('s', current_user);

SELECT is_empty(
	$$SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minikafka') AND p.oid NOT IN (SELECT f FROM calls)$$,
	'every function and procedure is here');
SELECT is_empty(
	$$SELECT f FROM calls WHERE writes AND roles LIKE '%b%'
	AND f NOT IN ('minikafka.inbox_accept(text, text, bytea)'::regprocedure, 'minikafka.deliver_due()'::regprocedure)$$,
	'a role without a right to a topic can write nothing but events of its own to the inbox, and what others have scheduled');
SELECT is_empty($$SELECT f FROM calls WHERE roles LIKE '%-%'$$, 'a role without any grant can call nothing');
-- outside of a transaction block all of them would do something
SELECT is_empty(
	$$SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'minikafka'::regnamespace AND provolatile <> 'v'
	AND oid IN (SELECT f FROM calls WHERE writes)$$,
	'what writes is volatile');

SELECT is(
	string_agg(rolename || ' ' || pg_temp.told(call, rolename), ', ' ORDER BY roles),
	string_agg(rolename || ' ' || CASE WHEN letter = 's' OR calls.roles LIKE '%' || letter || '%' THEN told ELSE '42501' END, ', ' ORDER BY roles),
	call)
FROM calls, roles GROUP BY calls.ctid, call;

-- In a read-only transaction what writes is refused
SELECT is(pg_temp.told(call, current_user, true), CASE WHEN writes THEN '25006' ELSE told END, 'read-only: ' || call) FROM calls;

-- What the owner of an index can have others run is refused, whoever they are: also a
-- superuser who makes the index anew.  What depends on its arguments only may run.
CREATE FUNCTION tap_do(sql text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE sql;
	RETURN 1;
END $$;
-- said to be immutable, and volatile at heart
CREATE FUNCTION tap_run(sql text) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT public.tap_do(%L)', sql);
	RETURN 1;
END $$;
CREATE TABLE restricted (sql text);
CREATE FUNCTION pg_temp.told_restricted(sql text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO restricted VALUES (sql);
	CREATE INDEX ON restricted (tap_run(sql));
	RAISE EXCEPTION USING ERRCODE = '00XXX';
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLSTATE, '00XXX', '00000');
END $$;
SELECT is(pg_temp.told_restricted(min(call)), CASE WHEN provolatile = 'i' OR min(told) = '39P01' THEN min(told) ELSE '42501' END, 'restricted: ' || f)
FROM calls JOIN pg_proc ON oid = f GROUP BY f, provolatile;

SELECT * FROM finish();
ROLLBACK;

SELECT minikafka.leave_group('audit', 'm');
SELECT minikafka.delete_group('audit'), minikafka.delete_group('audit plain'), minikafka.delete_group('audit worker');
SELECT minikafka.drop_topic('audit'), minikafka.drop_topic('audit.dead');
DELETE FROM minikafka.producer WHERE producer = 'audit';
DELETE FROM minikafka.inbox WHERE consumer_no = (SELECT consumer_no FROM minikafka.inbox_consumer WHERE consumer = 'audit');
DELETE FROM minikafka.inbox_consumer WHERE consumer = 'audit';
REVOKE USAGE ON SCHEMA minikafka FROM audit_bare, audit_reader, audit_writer, audit_cleaner, audit_owner;
REVOKE CREATE ON SCHEMA minikafka_topics FROM audit_owner;
DROP ROLE audit_stranger, audit_bare, audit_monitor, audit_reader, audit_writer, audit_cleaner, audit_owner;
