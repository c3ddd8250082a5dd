--
-- Rights: those of the topic's table
--
CREATE ROLE regress_owner;
CREATE ROLE regress_producer;
CREATE ROLE regress_consumer;
CREATE ROLE regress_cleaner;
CREATE ROLE regress_nobody;
CREATE ROLE regress_team;
CREATE ROLE regress_member IN ROLE regress_team;
CREATE ROLE regress_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA minikafka TO regress_owner, regress_producer, regress_consumer, regress_cleaner,
	regress_nobody, regress_team, regress_member;
\set VERBOSITY default

-- making a topic takes CREATE on minikafka_topics
SET ROLE regress_owner;
SELECT minikafka.create_topic('owned');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('owned', if_not_exists => true);
RESET ROLE;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
SET ROLE regress_owner;
SELECT minikafka.create_topic('owned', 2, segment_records => 4);
SELECT topic, owner FROM minikafka.topics;
-- all of its tables belong to the topic's owner
RESET ROLE;
SELECT DISTINCT relowner::regrole FROM pg_partition_tree('minikafka_topics.owned') t
JOIN pg_class c ON c.oid = t.relid;

-- no other role can do anything; the error names the topic
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(hint, ''));
END $$;
CREATE TABLE calls (no serial, call text);
INSERT INTO calls (call) VALUES
	($$minikafka.send('owned', '1')$$),
	($$minikafka.send('owned', '1'::jsonb)$$),
	($$minikafka.send('owned', '1'::json)$$),
	($$minikafka.send('owned', '\x31'::bytea, 'k')$$),
	($$minikafka.send('owned', '\x31'::bytea)$$),
	($$minikafka.send_many('owned', ARRAY['1'])$$),
	($$minikafka.send_many_json('owned', ARRAY['1']::jsonb[])$$),
	($$minikafka.send_many_bytes('owned', ARRAY['\x31']::bytea[])$$),
	($$minikafka.append('owned', 0, 'k', '1')$$),
	($$minikafka.append('owned', 0, 'k', '1'::jsonb)$$),
	($$minikafka.append('owned', 0, '\x31'::bytea, '\x31'::bytea)$$),
	($$minikafka.partition_for_key('owned', 'k'::text)$$),
	($$minikafka.partition_for_key('owned', 'k'::bytea)$$),
	($$minikafka.fetch('owned', 0, 0)$$),
	($$minikafka.fetch_text('owned', 0, 0)$$),
	($$minikafka.fetch_json('owned', 0, 0)$$),
	($$minikafka.offsets('owned', 0)$$),
	($$minikafka.offset_for_time('owned', 0, now())$$),
	($$minikafka.commit_offset('rights', 'owned', 0, 0)$$),
	($$minikafka.committed('rights', 'owned', 0)$$),
	($$minikafka.lag('rights', 'owned')$$),
	($$minikafka.reset_offsets('rights', 'owned', 'earliest')$$),
	($$minikafka.grant_group('rights', 'regress_nobody')$$),
	($$minikafka.revoke_group('rights', 'regress_nobody')$$),
	($$minikafka.join_group('rights joined', '{owned}', 'n')$$),
	($$minikafka.heartbeat('rights joined', 'm')$$),
	($$minikafka.assignment('rights joined', 'm')$$),
	($$minikafka.poll('rights joined', 'm')$$),
	($$minikafka.poll_text('rights joined', 'm')$$),
	($$minikafka.poll_json('rights joined', 'm')$$),
	($$minikafka.commit('rights joined', 'm')$$),
	($$minikafka.commit_offset('rights joined', 'owned', 0, 0, member_id => 'm')$$),
	($$minikafka.seek('rights joined', 'm', 'owned', 0, 0)$$),
	($$minikafka.pause('rights joined', 'm', 'owned', 0)$$),
	($$minikafka.resume('rights joined', 'm', 'owned', 0)$$),
	($$minikafka.leave_group('rights joined', 'm')$$),
	($$minikafka.check_topic('owned')$$),
	($$minikafka.delete_records('owned', 0, 0)$$),
	($$minikafka.set_topic_option('owned', 'max_message_bytes', '1000')$$),
	($$minikafka.add_partitions('owned', 2)$$),
	($$minikafka.drop_topic('owned')$$),
	($$FROM minikafka_topics.owned$$),
	($$FROM minikafka.partitions WHERE topic = 'owned'$$);
GRANT SELECT ON calls TO PUBLIC;
SELECT minikafka.commit_offset('rights', 'owned', 0, 0);
SELECT minikafka.join_group('rights joined', '{owned}', 'm');
SET ROLE regress_nobody;
\pset format unaligned
SELECT call, pg_temp.try('SELECT ' || call) FROM calls ORDER BY no;
\pset format aligned
SELECT count(*) FROM minikafka.topics;
SELECT count(*) FROM minikafka.partitions;
RESET ROLE;

-- INSERT to produce and nothing else, SELECT to consume and nothing else,
-- DELETE to delete records and nothing else; the rest is the owner's
GRANT INSERT ON minikafka_topics.owned TO regress_producer;
GRANT SELECT ON minikafka_topics.owned TO regress_consumer;
GRANT DELETE ON minikafka_topics.owned TO regress_cleaner;
CREATE TABLE answers (no int, who text, answer text);
GRANT INSERT ON answers TO PUBLIC;
-- each role a group of its own
UPDATE calls SET call = replace(call, 'rights', 'rights of %I');
SET ROLE regress_consumer;
SELECT minikafka.commit_offset('rights of consumer', 'owned', 0, 0);
SELECT minikafka.join_group('rights of consumer joined', '{owned}', 'm');
SET ROLE regress_owner;
SELECT minikafka.commit_offset('rights of owner', 'owned', 0, 0);
SELECT minikafka.join_group('rights of owner joined', '{owned}', 'm');
SET ROLE regress_producer;
INSERT INTO answers SELECT no, 'producer', pg_temp.try('SELECT ' || format(call, 'producer')) FROM calls;
SET ROLE regress_consumer;
INSERT INTO answers SELECT no, 'consumer', pg_temp.try('SELECT ' || format(call, 'consumer')) FROM calls;
SET ROLE regress_cleaner;
INSERT INTO answers SELECT no, 'cleaner', pg_temp.try('SELECT ' || format(call, 'cleaner')) FROM calls;
SET ROLE regress_monitor;
INSERT INTO answers SELECT no, 'monitor', pg_temp.try('SELECT ' || replace(call, 'rights of %I', 'rights of consumer')) FROM calls;
SET ROLE regress_owner;
INSERT INTO answers SELECT no, 'owner', pg_temp.try('SELECT ' || format(call, 'owner'))
FROM calls WHERE call NOT LIKE '%drop_topic%';
RESET ROLE;
SELECT left(call, 60) AS call,
	max(left(answer, 5)) FILTER (WHERE who = 'producer') AS producer,
	max(left(answer, 5)) FILTER (WHERE who = 'consumer') AS consumer,
	max(left(answer, 5)) FILTER (WHERE who = 'cleaner') AS cleaner,
	max(left(answer, 5)) FILTER (WHERE who = 'monitor') AS monitor,
	max(left(answer, 5)) FILTER (WHERE who = 'owner') AS owner
FROM calls JOIN answers USING (no) GROUP BY no, call ORDER BY no;
-- the hints
SELECT DISTINCT answer FROM answers WHERE answer <> 'ok' AND who IN ('producer', 'consumer', 'cleaner') ORDER BY 1;

-- what each sees of the views
SET ROLE regress_producer;
SELECT topic FROM minikafka.topics;
SELECT topic, partition FROM minikafka.partitions;
SET ROLE regress_consumer;
SELECT topic FROM minikafka.topics;
SELECT topic, partition FROM minikafka.partitions ORDER BY 2;
SET ROLE regress_monitor;
SELECT topic, owner FROM minikafka.topics;
SELECT topic, partition, end_offset > 0 AS used FROM minikafka.partitions ORDER BY 2;
RESET ROLE;

-- also where a condition that costs nothing is evaluated first
CREATE FUNCTION leak(value anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.000001 AS $$
BEGIN
	RAISE NOTICE 'leaked: %', value;
	RETURN true;
END $$;
SET ROLE regress_nobody;
SELECT topic FROM minikafka.topics WHERE leak(max_message_bytes);
SELECT topic FROM minikafka.partitions WHERE leak(partition);
SET ROLE regress_consumer;
SELECT topic FROM minikafka.topics WHERE leak(topic);
RESET ROLE;
DROP FUNCTION leak(anyelement);

-- a right that is taken away is gone at once
REVOKE INSERT ON minikafka_topics.owned FROM regress_producer;
SET ROLE regress_producer;
SELECT minikafka.send('owned', 'v');
RESET ROLE;
-- also from a session that has used it, and from a member of a group
GRANT INSERT, SELECT ON minikafka_topics.owned TO regress_team;
SET ROLE regress_member;
SELECT minikafka.send('owned', 'v', partition => 1);
RESET ROLE;
REVOKE regress_team FROM regress_member;
SET ROLE regress_member;
SELECT minikafka.send('owned', 'v');
RESET ROLE;
GRANT regress_team TO regress_member;
-- the owner of the database changes: that is a membership too
SELECT current_user AS database_owner \gset
GRANT INSERT ON minikafka_topics.owned TO pg_database_owner;
ALTER DATABASE :"DBNAME" OWNER TO regress_nobody;
SET ROLE regress_nobody;
SELECT minikafka.send('owned', 'v', partition => 1);
RESET ROLE;
ALTER DATABASE :"DBNAME" OWNER TO :"database_owner";
SET ROLE regress_nobody;
SELECT minikafka.send('owned', 'v', partition => 1);
RESET ROLE;
REVOKE INSERT ON minikafka_topics.owned FROM pg_database_owner;
-- a right to a column is no right to the topic
GRANT SELECT ("offset"), INSERT (value) ON minikafka_topics.owned TO regress_producer;
SET ROLE regress_producer;
SELECT minikafka.fetch('owned', 0, 0);
SELECT minikafka.send('owned', 'v');
RESET ROLE;
-- rights to a partition's table or a segment are no right to the topic
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT relid FROM pg_partition_tree('minikafka_topics.owned') WHERE level > 0 LOOP
		EXECUTE format('GRANT ALL ON %s TO regress_nobody', t);
	END LOOP;
END $$;
SET ROLE regress_nobody;
SELECT minikafka.fetch('owned', 0, 0);
SELECT minikafka.send('owned', 'v');
RESET ROLE;
-- a role that may read a topic's table may not read its segments
SET ROLE regress_consumer;
SELECT count(*) > 0 AS rows FROM minikafka_topics.owned;
SELECT DISTINCT left(pg_temp.try(format('SELECT FROM %s', relid::regclass)), 5) AS below
FROM pg_partition_tree('minikafka_topics.owned') WHERE level > 0;
RESET ROLE;

-- An owner may be a role that others are in
DO $$
DECLARE
	part regclass;
BEGIN
	FOR part IN SELECT relid FROM pg_partition_tree('minikafka_topics.owned') LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO regress_team', part);
	END LOOP;
END $$;
SET ROLE regress_member;
SELECT minikafka.set_topic_option('owned', 'max_message_bytes', '2000');
SELECT minikafka.delete_records('owned', 0, 1);
SET ROLE regress_owner;
SELECT minikafka.set_topic_option('owned', 'max_message_bytes', '2000');
SELECT minikafka.send('owned', 'v');
RESET ROLE;
DO $$
DECLARE
	part regclass;
BEGIN
	FOR part IN SELECT relid FROM pg_partition_tree('minikafka_topics.owned') LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO regress_owner', part);
	END LOOP;
END $$;
GRANT SELECT, INSERT ON minikafka_topics.owned TO regress_team;

-- Segments belong to the topic's owner whoever sends the record that needs one
GRANT INSERT ON minikafka_topics.owned TO regress_producer;
SET ROLE regress_producer;
SELECT count(minikafka.send('owned', 'v', partition => 1)) FROM generate_series(1, 20);
RESET ROLE;
SELECT relowner::regrole, count(*) FROM pg_partition_tree('minikafka_topics.owned') t
JOIN pg_class c ON c.oid = t.relid WHERE isleaf AND parentrelid::text LIKE '%\_1'
GROUP BY 1;

-- A group belongs to the role that used it first
SET ROLE regress_consumer;
SELECT minikafka.commit_offset('shared', 'owned', 1, 3);
SET ROLE regress_member;
SELECT minikafka.commit_offset('shared', 'owned', 1, 4);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.committed('shared', 'owned', 1);
SELECT minikafka.lag('shared');
SET ROLE regress_owner;
SELECT minikafka.commit_offset('shared', 'owned', 1, 4);
SET ROLE regress_monitor;
SELECT committed_offset, lag > 0 AS behind FROM minikafka.lag('shared') WHERE partition = 1;
SELECT committed_offset, lag > 0 AS behind FROM minikafka.lag('shared', 'owned') WHERE partition = 1;
SELECT minikafka.commit_offset('shared', 'owned', 1, 4);
SET ROLE regress_consumer;
SELECT minikafka.committed('shared', 'owned', 1);
RESET ROLE;
-- but of two roles that use it first at one time one does, at COMMIT
BEGIN;
SET LOCAL ROLE regress_member;
SELECT minikafka.commit_offset('raced', 'owned', 1, 1);
SET LOCAL ROLE regress_consumer;
SELECT minikafka.commit_offset('raced', 'owned', 1, 2);
\set VERBOSITY terse
COMMIT;
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.consumer_group WHERE group_id = 'raced';

-- Its owner, and no other role, may let others use it
SET ROLE regress_member;
SELECT minikafka.grant_group('shared', 'regress_member');
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_consumer;
SELECT minikafka.grant_group('shared', 'regress_member');
SET ROLE regress_member;
SELECT minikafka.commit_offset('shared', 'owned', 1, 4);
SELECT minikafka.committed('shared', 'owned', 1);
SELECT committed_offset FROM minikafka.lag('shared') ORDER BY partition;
SELECT minikafka.join_group('shared', '{owned}', 'of member');
SELECT group_id, state, members, owner FROM minikafka.groups;
SELECT group_id, member_id, partitions FROM minikafka.group_members;
SELECT group_id, topic, partition, "offset", member_id FROM minikafka.group_offsets;
SELECT group_id, topic, partition, committed_offset, member_id FROM minikafka.consumer_lag ORDER BY partition;
SELECT minikafka.leave_group('shared', 'of member');
-- a role that uses a group may not give it away, nor delete it; the call fails, not only
-- COMMIT
SELECT pg_temp.try('SELECT minikafka.' || call) FROM (VALUES ($$grant_group('shared', 'regress_nobody')$$),
	($$revoke_group('shared', 'regress_member')$$), ($$delete_group('shared')$$)) v(call);
SELECT minikafka.grant_group('shared', 'regress_nobody');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.revoke_group('shared', 'regress_member');
SELECT minikafka.delete_group('shared');
\echo :LAST_ERROR_SQLSTATE
-- once more changes nothing; taken away it is gone at once
SET ROLE regress_consumer;
SELECT minikafka.grant_group('shared', 'regress_member'), minikafka.grant_group('shared', 'regress_member');
SELECT minikafka.revoke_group('shared', 'regress_member');
SET ROLE regress_member;
SELECT minikafka.commit_offset('shared', 'owned', 1, 4);
SELECT count(*) FROM minikafka.groups;
-- also by the grant of a role that others are in; at COMMIT
BEGIN;
SET LOCAL ROLE regress_consumer;
SELECT minikafka.grant_group('shared', 'regress_team');
SET LOCAL ROLE regress_member;
SELECT pg_temp.try($$SELECT minikafka.committed('shared', 'owned', 1)$$);
COMMIT;
SET ROLE regress_member;
SELECT minikafka.committed('shared', 'owned', 1);
BEGIN;
SET LOCAL ROLE regress_consumer;
SELECT minikafka.revoke_group('shared', 'regress_team');
ROLLBACK;
SELECT minikafka.committed('shared', 'owned', 1);
SET ROLE regress_consumer;
BEGIN;
SELECT minikafka.revoke_group('shared', 'regress_team');
SAVEPOINT s;
SELECT minikafka.grant_group('shared', 'regress_team');
SELECT minikafka.grant_group('shared', 'regress_cleaner');
ROLLBACK TO s;
COMMIT;
SET ROLE regress_member;
SELECT minikafka.committed('shared', 'owned', 1);
-- the topic takes a right of its own
SET ROLE regress_consumer;
SELECT minikafka.grant_group('shared', 'regress_cleaner');
SET ROLE regress_cleaner;
\pset format unaligned
SELECT call, pg_temp.try('SELECT minikafka.' || call) FROM (VALUES
	($$commit_offset('shared', 'owned', 1, 3)$$),
	($$committed('shared', 'owned', 1)$$),
	($$lag('shared')$$),
	($$lag('shared', 'owned')$$),
	($$reset_offsets('shared', 'owned', 'latest')$$),
	($$join_group('shared', '{owned}')$$),
	($$join_group('shared', '{not yet}')$$),
	($$join_group('shared', '{not.yet}', 'early')$$)) v(call);
\pset format aligned
SELECT group_id FROM minikafka.groups;
SELECT count(*) FROM minikafka.group_offsets;
SELECT count(*) FROM minikafka.consumer_lag;
-- also a topic that is made later; assignment() does not show what it may not see
RESET ROLE;
SELECT minikafka.create_topic('not.yet', 1);
SELECT minikafka.send('not.yet', 'v');
SET ROLE regress_cleaner;
SELECT minikafka.poll('shared', 'early');
SELECT * FROM minikafka.assignment('shared', 'early');
SELECT minikafka.poll('shared', 'early');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.consumer_lag;
RESET ROLE;
GRANT SELECT ON minikafka_topics."not.yet" TO regress_cleaner;
SET ROLE regress_cleaner;
SELECT value FROM minikafka.poll_text('shared', 'early');
RESET ROLE;
REVOKE SELECT ON minikafka_topics."not.yet" FROM regress_cleaner;
SET ROLE regress_cleaner;
SELECT minikafka.poll('shared', 'early');
SELECT minikafka.seek('shared', 'early', 'not.yet', 0, 0);
SELECT minikafka.commit_offset('shared', 'not.yet', 0, 0, member_id => 'early');
SELECT minikafka.leave_group('shared', 'early');
RESET ROLE;
SELECT minikafka.drop_topic('not.yet');
-- members of pg_monitor see all groups, and can do nothing with them
SET ROLE regress_monitor;
SELECT group_id, CASE WHEN owner ~ '^regress' THEN owner END AS owner FROM minikafka.groups
WHERE group_id ~ '^rights|^shared' ORDER BY 1;
SELECT group_id, member_id FROM minikafka.group_members WHERE group_id ~ '^rights|^shared' ORDER BY 1, 2;
SELECT DISTINCT group_id, topic FROM minikafka.group_offsets ORDER BY 1;
SELECT group_id, topic, count(*) FROM minikafka.consumer_lag GROUP BY 1, 2 ORDER BY 1;
-- others see their own, also where a condition that costs nothing comes first
RESET ROLE;
CREATE FUNCTION leak(value anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.000001 AS $$
BEGIN
	RAISE NOTICE 'leaked: %', value;
	RETURN true;
END $$;
SET ROLE regress_nobody;
SELECT group_id FROM minikafka.groups WHERE leak(group_id);
SELECT group_id FROM minikafka.group_members WHERE leak(group_id);
SELECT group_id FROM minikafka.group_offsets WHERE leak(group_id);
SELECT group_id FROM minikafka.consumer_lag WHERE leak(group_id);
SET ROLE regress_owner;
SELECT group_id FROM minikafka.groups WHERE leak(group_id) ORDER BY 1;
RESET ROLE;
DROP FUNCTION leak(anyelement);

-- What a call notes is done as the role that called, whatever the role is at COMMIT
BEGIN;
SET LOCAL ROLE regress_consumer;
SELECT minikafka.join_group('made by', '{owned}', 'm');
SET LOCAL ROLE regress_nobody;
COMMIT;
SELECT owner FROM minikafka.groups WHERE group_id = 'made by';
-- in a function that runs as its owner, that one
CREATE FUNCTION join_as_owner(text) RETURNS text LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog AS $$SELECT minikafka.join_group($1, '{owned}', 'm')$$;
ALTER FUNCTION join_as_owner(text) OWNER TO regress_consumer;
SET ROLE regress_nobody;
SELECT join_as_owner('made by proxy');
SELECT minikafka.poll('made by proxy', 'm');
RESET ROLE;
SELECT owner FROM minikafka.groups WHERE group_id = 'made by proxy';
DROP FUNCTION join_as_owner(text);
-- a group that a superuser made belongs to the superuser
SELECT minikafka.join_group('superuser''s', '{owned}', 'm');
SET ROLE regress_consumer;
\set VERBOSITY terse
SELECT minikafka.join_group('superuser''s', '{owned}', 'n');
\set VERBOSITY default
RESET ROLE;
SELECT minikafka.leave_group('superuser''s', 'm');
-- which sees groups of other roles too
SELECT minikafka.leave_group('made by', 'm');
SELECT minikafka.delete_group('made by');
-- a right that is gone at COMMIT
BEGIN;
SET LOCAL ROLE regress_cleaner;
SELECT minikafka.join_group('shared', '{nothing.yet}', 'late');
RESET ROLE;
SELECT minikafka.revoke_group('shared', 'regress_cleaner');
COMMIT;
SELECT member_id FROM minikafka.group_members WHERE group_id = 'shared';
SET ROLE regress_cleaner;
SELECT minikafka.heartbeat('shared', 'late');
RESET ROLE;
SELECT minikafka.leave_group('shared', 'late');

-- What a role has sent stays sent when it ends its work as another role
BEGIN;
SET LOCAL ROLE regress_producer;
SELECT minikafka.append('owned', 0, 'k', 'as producer') AS n \gset
SET LOCAL ROLE regress_nobody;
COMMIT;
SELECT value FROM minikafka.fetch_text('owned', 0, :n);

-- lag() of a group shows no topic that its owner has lost the right to read
REVOKE SELECT ON minikafka_topics.owned FROM regress_consumer;
SET ROLE regress_consumer;
SELECT minikafka.lag('shared', 'owned');
SELECT pg_temp.try('SELECT 1 / count(*) FROM minikafka.lag(''shared'')') <> 'ok' AS nothing_shown;
RESET ROLE;

-- No role may read the catalog
SET ROLE regress_owner;
SELECT pg_temp.try(format('SELECT FROM minikafka.%s', t))
FROM (VALUES ('topic'), ('partition'), ('segment'), ('consumer_group'),
	('group_progress'), ('group_grant'), ('group_member'), ('group_assignment'),
	('member_heartbeat'), ('redriven'), ('topic_id'), ('group_no'), ('member_no'),
	('share_group'), ('share_topic'), ('share_checkpoint'), ('share_done'), ('share_delivery'), ('share_parked'),
	('scheduled_record'), ('schedule_start'), ('scheduled_id')) v(t);
SELECT pg_temp.try('SELECT nextval(''minikafka.topic_id'')');
SELECT pg_temp.try('CREATE TABLE minikafka_data.mine ()');
SELECT pg_temp.try('CREATE FUNCTION minikafka.mine() RETURNS int LANGUAGE sql AS ''SELECT 1''');
SELECT pg_temp.try('CREATE TRIGGER t BEFORE INSERT ON minikafka_topics.owned EXECUTE FUNCTION minikafka.refuse_write()');
RESET ROLE;

-- functions that run as their owner give others the rights of the owner, and no more
CREATE FUNCTION send_as_owner(text) RETURNS int LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog AS $$SELECT minikafka.send('owned', $1, partition => 0)$$;
ALTER FUNCTION send_as_owner(text) OWNER TO regress_producer;
SET ROLE regress_nobody;
SELECT send_as_owner('by proxy');
RESET ROLE;
DROP FUNCTION send_as_owner(text);

-- Row-level security: refused for roles that it would apply to
ALTER TABLE minikafka_topics.owned ENABLE ROW LEVEL SECURITY;
SET ROLE regress_member;
SELECT minikafka.send('owned', 'v');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.fetch('owned', 0, 1);
SELECT minikafka.append('owned', 0, 'k', 'v');
SELECT minikafka.offsets('owned', 0);
SELECT minikafka.check_topic('owned');
SET row_security = off;
SELECT minikafka.fetch('owned', 0, 1);
RESET row_security;
RESET ROLE;
-- it does not spoil the views and lag() for the other topics
SELECT minikafka.create_topic('plain', 1);
GRANT SELECT ON minikafka_topics.plain TO regress_member;
SET ROLE regress_member;
SELECT minikafka.commit_offset('mine', 'plain', 0, 0);
SELECT topic, partition, log_start_offset, end_offset FROM minikafka.partitions ORDER BY 1, 2;
SELECT topic FROM minikafka.topics ORDER BY 1;
SELECT topic, lag FROM minikafka.lag('mine');
SET ROLE regress_owner;
SELECT count(*) > 0 AS rows FROM minikafka.fetch('owned', 0, 1);
RESET ROLE;
SELECT count(*) > 0 AS rows FROM minikafka.fetch('owned', 0, 1);
ALTER TABLE minikafka_topics.owned FORCE ROW LEVEL SECURITY;
SET ROLE regress_owner;
SELECT minikafka.fetch('owned', 0, 1);
RESET ROLE;
ALTER TABLE minikafka_topics.owned NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;
SET ROLE regress_member;
SELECT count(*) > 0 AS rows FROM minikafka.fetch('owned', 0, 1);
RESET ROLE;
SELECT minikafka.drop_topic('plain');

-- the last right: only the owner drops it
SET ROLE regress_producer;
SELECT minikafka.drop_topic('owned');
SET ROLE regress_owner;
SELECT minikafka.drop_topic('owned');
RESET ROLE;
-- the group of a role that is no more is a superuser's
REVOKE CREATE ON SCHEMA minikafka_topics FROM regress_owner;
DROP TABLE calls, answers;
SELECT minikafka.create_topic('left', 1);
CREATE ROLE regress_leaver;
GRANT USAGE ON SCHEMA minikafka TO regress_leaver;
GRANT SELECT ON minikafka_topics.left TO regress_leaver, regress_nobody;
SET ROLE regress_leaver;
SELECT minikafka.commit_offset('left over', 'left', 0, 0);
RESET ROLE;
REVOKE ALL ON minikafka_topics.left FROM regress_leaver;
REVOKE USAGE ON SCHEMA minikafka FROM regress_leaver;
DROP ROLE regress_leaver;
SET ROLE regress_nobody;
SELECT minikafka.commit_offset('left over', 'left', 0, 0);
RESET ROLE;
SELECT minikafka.commit_offset('left over', 'left', 0, 0);
-- a grant to it does no harm
CREATE ROLE regress_leaver;
SELECT minikafka.grant_group('left over', 'regress_leaver');
DROP ROLE regress_leaver;
SET ROLE regress_nobody;
SELECT minikafka.commit_offset('left over', 'left', 0, 0);
RESET ROLE;
SELECT minikafka.commit_offset('left over', 'left', 0, 0);
-- and can be taken back, so that no later role of that name has it
SELECT minikafka.grant_group('left over', 'regress_leaver');
SELECT minikafka.revoke_group('left over', 'regress_leaver');
SELECT grantee FROM minikafka.group_grant WHERE grantee = 'regress_leaver';
SELECT minikafka.revoke_group('left over', 'regress_leaver');
SELECT minikafka.drop_topic('left');
REVOKE USAGE ON SCHEMA minikafka FROM regress_owner, regress_producer, regress_consumer, regress_cleaner,
	regress_nobody, regress_team, regress_member;
DROP ROLE regress_owner, regress_producer, regress_consumer, regress_cleaner,
	regress_nobody, regress_team, regress_member, regress_monitor;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
