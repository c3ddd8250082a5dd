--
-- Groups, producers and inbox consumers given to another role
--
\set VERBOSITY default
CREATE ROLE regress_first;
CREATE ROLE regress_second;
CREATE ROLE regress_third;
CREATE ROLE regress_both IN ROLE regress_first, regress_second;
GRANT USAGE ON SCHEMA minikafka TO regress_first, regress_second, regress_third;
SELECT minikafka.create_topic('owned', 2);
GRANT SELECT, INSERT ON minikafka_topics.owned TO regress_first, regress_second, regress_third;
SET ROLE regress_first;
SELECT minikafka.join_group('owned', '{owned}', 'm');
SELECT minikafka.grant_group('owned', 'regress_third');
SELECT minikafka.send('owned', 'v', 'k', producer => 'owned', sequence => 0) IS NOT NULL AS sent;
SELECT minikafka.inbox_accept('owned', 'e');

-- The right: as for ALTER ... OWNER TO, an owner that is a member of the new one
RESET ROLE;
CREATE TEMP TABLE calls (call text);
GRANT SELECT ON calls TO PUBLIC;
INSERT INTO calls VALUES ('set_group_owner(%L, %L)'), ('set_producer_owner(%L, %L)'), ('set_inbox_owner(%L, %L)');
CREATE FUNCTION pg_temp.try(name text, owner text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	call text;
	hint text;
	detail text;
BEGIN
	FOR call IN SELECT c.call FROM pg_temp.calls c LOOP
		BEGIN
			EXECUTE format('SELECT minikafka.' || call, name, owner);
			RETURN NEXT 'ok';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
			RETURN NEXT concat_ws(' | ', SQLSTATE || ' ' || regexp_replace(SQLERRM, '^must be able to SET ROLE', 'must be member of role'), nullif(detail, ''), nullif(hint, ''));
		END;
	END LOOP;
END $$;
SET ROLE regress_first;
\pset format unaligned
SELECT pg_temp.try('owned', 'regress_second');
SELECT pg_temp.try('owned', 'regress_no_such_role');
SELECT pg_temp.try('owned', 'public');
SELECT pg_temp.try('no such', 'regress_first');
SELECT pg_temp.try('owned', NULL);
SELECT pg_temp.try('', 'regress_first');
-- to itself it may
BEGIN;
SELECT pg_temp.try('owned', 'regress_first');
COMMIT;
SET ROLE regress_second;
SELECT pg_temp.try('owned', 'regress_second');
-- the grant is to use the group
SET ROLE regress_third;
SELECT pg_temp.try('owned', 'regress_third');
SELECT pg_temp.try('owned', 'regress_no_such_role');
RESET ROLE;
BEGIN READ ONLY;
SELECT pg_temp.try('owned', 'regress_second');
COMMIT;
\pset format aligned
SET ROLE regress_both;
-- at COMMIT
BEGIN;
SELECT count(*) FROM pg_temp.try('owned', 'regress_second');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM pg_temp.try('owned', 'regress_second');
ROLLBACK TO s;
COMMIT;
SET ROLE regress_first;
SELECT count(*) FROM minikafka.poll('owned', 'm');
SELECT minikafka.send('owned', 'v', 'k', producer => 'owned', sequence => 1) IS NOT NULL AS sent;
SELECT minikafka.inbox_accept('owned', 'e');
SET ROLE regress_both;
BEGIN;
SELECT pg_temp.try('owned', 'regress_second');
-- the transaction itself goes by what holds before
SELECT minikafka.send('owned', 'v', 'k', producer => 'owned', sequence => 2) IS NOT NULL AS sent;
SELECT count(*) FROM minikafka.poll('owned', 'm');
COMMIT;
RESET ROLE;
SELECT group_id, owner FROM minikafka.groups WHERE group_id = 'owned';
SELECT producer, owner, epoch FROM minikafka.producer WHERE producer = 'owned';
SELECT consumer, owner FROM minikafka.inbox_consumer WHERE consumer = 'owned';

-- The same session, which has used them all, knows at once
SET ROLE regress_first;
SELECT minikafka.poll('owned', 'm');
SELECT minikafka.send('owned', 'v', 'k', producer => 'owned', sequence => 3);
SELECT minikafka.producer_state('owned');
SELECT minikafka.inbox_accept('owned', 'e');
SELECT count(*) FROM minikafka.groups;
SET ROLE regress_second;
SELECT count(*) FROM minikafka.poll('owned', 'm');
SELECT minikafka.send('owned', 'v', 'k', producer => 'owned', sequence => 3) IS NOT NULL AS sent;
SELECT minikafka.inbox_accept('owned', 'e'), minikafka.inbox_accept('owned', 'e2');
SELECT group_id, owner FROM minikafka.groups;
-- what it was granted to stays, and is the new owner's to take back
SET ROLE regress_third;
SELECT count(*) FROM minikafka.poll('owned', 'm');
SET ROLE regress_first;
SELECT minikafka.revoke_group('owned', 'regress_third');
SET ROLE regress_second;
SELECT minikafka.revoke_group('owned', 'regress_third');
SET ROLE regress_third;
SELECT minikafka.poll('owned', 'm');
RESET ROLE;
-- a superuser may give anything; the last owner counts
BEGIN;
SELECT pg_temp.try('owned', 'regress_first');
SELECT pg_temp.try('owned', 'regress_third');
COMMIT;
SELECT owner FROM minikafka.groups WHERE group_id = 'owned'
UNION ALL SELECT owner FROM minikafka.producer WHERE producer = 'owned'
UNION ALL SELECT owner FROM minikafka.inbox_consumer WHERE consumer = 'owned';
-- beside an epoch that begins in the same transaction
BEGIN;
SET LOCAL ROLE regress_third;
SELECT epoch FROM minikafka.init_producer('owned');
RESET ROLE;
SELECT minikafka.set_producer_owner('owned', 'regress_first');
COMMIT;
SELECT owner, epoch FROM minikafka.producer WHERE producer = 'owned';
-- what is not there before COMMIT cannot be given
BEGIN;
SELECT minikafka.init_producer('owned new') IS NOT NULL AS made;
SELECT minikafka.set_producer_owner('owned new', 'regress_first');
ROLLBACK;
BEGIN;
SELECT minikafka.commit_offset('owned new', 'owned', 0, 0);
SELECT minikafka.set_group_owner('owned new', 'regress_first');
ROLLBACK;
BEGIN;
SELECT minikafka.inbox_accept('owned new', 'e');
SELECT minikafka.set_inbox_owner('owned new', 'regress_first');
SET LOCAL ROLE regress_first;
SELECT minikafka.inbox_accept('owned new', 'e2');
ROLLBACK;
-- a group that was deleted has no owner
SELECT minikafka.commit_offset('owned deleted', 'owned', 0, 0);
SELECT minikafka.delete_group('owned deleted');
SELECT minikafka.set_group_owner('owned deleted', 'regress_first');
-- not with PREPARE TRANSACTION
BEGIN;
SELECT minikafka.set_producer_owner('owned', 'regress_first');
PREPARE TRANSACTION 'owned';

-- Roles that do not exist are told, one line for each
SELECT minikafka.set_group_owner('owned', 'regress_third'), minikafka.grant_group('owned', 'regress_second');
SELECT minikafka.commit_offset('owned 2', 'owned', 0, 0);
SELECT minikafka.set_group_owner('owned 2', 'regress_third');
CALL minikafka.maintain();
REVOKE ALL ON minikafka_topics.owned FROM regress_first, regress_second, regress_third;
REVOKE USAGE ON SCHEMA minikafka FROM regress_first, regress_second, regress_third;
DROP ROLE regress_first, regress_second, regress_third, regress_both;
CALL minikafka.maintain();
-- a new one of that name has what the former had
CREATE ROLE regress_third;
GRANT USAGE ON SCHEMA minikafka TO regress_third;
SET ROLE regress_third;
SELECT group_id, owner FROM minikafka.groups ORDER BY 1;
SELECT minikafka.inbox_accept('owned', 'e3');
RESET ROLE;
REVOKE USAGE ON SCHEMA minikafka FROM regress_third;
DROP ROLE regress_third;
-- mended, they are quiet
SELECT minikafka.set_group_owner(group_id, current_user), minikafka.set_producer_owner('owned', current_user),
	minikafka.set_inbox_owner('owned', current_user)
FROM minikafka.groups;
SELECT minikafka.revoke_group('owned', 'regress_second');
CALL minikafka.maintain();

-- A new name takes a right
CREATE ROLE regress_first;
GRANT USAGE ON SCHEMA minikafka TO regress_first;
SET ROLE regress_first;
SELECT minikafka.join_group('taken', '{no_such_topic}');
SELECT minikafka.join_group('taken', '{owned}');
SELECT minikafka.join_group('taken', '{no_such_topic,owned}');
SELECT minikafka.commit_offset('taken', 'owned', 0, 0);
SELECT minikafka.init_producer('taken');
SELECT minikafka.send('owned', 'v', 'k', producer => 'taken', sequence => 0);
RESET ROLE;
GRANT SELECT ON minikafka_topics.owned TO regress_first;
SET ROLE regress_first;
SELECT minikafka.join_group('taken', '{no_such_topic}');
SELECT minikafka.init_producer('taken');
SELECT minikafka.join_group('taken', '{no_such_topic,owned}', 'm');
-- once there it may read what comes later
SELECT minikafka.join_group('taken', '{no_such_topic}', 'n');
SELECT minikafka.leave_group('taken', 'm'), minikafka.leave_group('taken', 'n');
RESET ROLE;
GRANT INSERT ON minikafka_topics.owned TO regress_first;
SET ROLE regress_first;
SELECT minikafka.init_producer('taken') IS NOT NULL AS made;
RESET ROLE;
-- a producer that there is goes on without
REVOKE ALL ON minikafka_topics.owned FROM regress_first;
SET ROLE regress_first;
SELECT epoch FROM minikafka.init_producer('taken');
RESET ROLE;
-- a superuser needs none
SELECT minikafka.join_group('taken early', '{no_such_topic}', 'm');
SELECT minikafka.leave_group('taken early', 'm');
REVOKE USAGE ON SCHEMA minikafka FROM regress_first;
SELECT minikafka.set_group_owner('taken', current_user), minikafka.set_producer_owner('taken', current_user);
DROP ROLE regress_first;

SELECT minikafka.leave_group('owned', 'm');
SELECT count(minikafka.delete_group(group_id)) FROM minikafka.groups;
SELECT minikafka.drop_topic('owned');
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer WHERE producer IN ('owned', 'taken');
DELETE FROM minikafka.inbox_consumer WHERE consumer = 'owned';
DELETE FROM minikafka.inbox;
