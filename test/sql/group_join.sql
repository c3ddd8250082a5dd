--
-- Joining and leaving: generations, settings, timeouts
--
SELECT minikafka.create_topic('joined', 3);
SELECT count(minikafka.send('joined', 'v' || i, partition => i % 3)) FROM generate_series(0, 8) i;
-- What each member of a group has
CREATE FUNCTION pg_temp.assigned(g text) RETURNS TABLE (member text, partitions text) LANGUAGE sql AS $$
	SELECT m.member_id, string_agg(a.topic || '/' || a.partition, ' ' ORDER BY a.topic COLLATE "C", a.partition)
	FROM minikafka.group_members m
	LEFT JOIN LATERAL minikafka.assignment(g, m.member_id) a ON NOT a.revoking
	WHERE m.group_id = g
	GROUP BY 1 ORDER BY m.member_id COLLATE "C"
$$;

-- A join takes effect at COMMIT; the transaction itself does not see it either
-- Kafka cases G01, G34: no group, no member; the first member begins generation 1
SELECT minikafka.heartbeat('g', 'm1');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.join_group('g', '{joined}', 'm1');
SELECT count(*) FROM minikafka.groups;
SAVEPOINT s;
SELECT minikafka.heartbeat('g', 'm1');
ROLLBACK TO s;
SELECT minikafka.assignment('g', 'm1');
ROLLBACK TO s;
SELECT minikafka.poll('g', 'm1');
ROLLBACK;
SELECT count(*) FROM minikafka.groups;
SELECT minikafka.join_group('g', '{joined}', 'm1');
SELECT minikafka.heartbeat('g', 'm1');
SELECT group_id, generation, state, assignor, protocol, members, owner = current_user AS mine FROM minikafka.groups;
SELECT minikafka.heartbeat('g', 'm2');
\echo :LAST_ERROR_SQLSTATE
-- a savepoint that was rolled back has not joined, one that was released has
BEGIN;
SAVEPOINT s;
SELECT minikafka.join_group('g', '{joined}', 'gone');
ROLLBACK TO s;
SAVEPOINT s;
SELECT minikafka.join_group('g', '{joined}', 'm2');
RELEASE s;
SELECT minikafka.join_group('g', '{joined}', 'm3');
SAVEPOINT s;
SELECT minikafka.leave_group('g', 'm1');
ROLLBACK TO s;
COMMIT;
-- several joins of one transaction are one rebalance
SELECT minikafka.heartbeat('g', 'm1');
SELECT member, partitions FROM pg_temp.assigned('g');
-- a transaction that is read-only by then joins as well
BEGIN;
SELECT minikafka.join_group('read only', '{joined}', 'm');
SET TRANSACTION READ ONLY;
COMMIT;
SELECT minikafka.heartbeat('read only', 'm');
-- prepared transactions do not
BEGIN;
SELECT minikafka.join_group('prepared', '{joined}', 'm');
PREPARE TRANSACTION 'joined';
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.groups WHERE group_id = 'prepared';
-- Kafka case G10: a member id of the caller's choice is as good as one that was
-- made up, which is another one each time
-- Kafka case G08: and there is no member before the join with it
SELECT minikafka.join_group('ids', '{joined}') AS id1 \gset
SELECT minikafka.join_group('ids', '{joined}') AS id2 \gset
SELECT :'id1' <> :'id2' AS differ, length(:'id1'), minikafka.heartbeat('ids', :'id1'), minikafka.heartbeat('ids', :'id2');
SELECT count(*), count(*) FILTER (WHERE member_id IN (:'id1', :'id2')) FROM minikafka.group_members WHERE group_id = 'ids';

-- More members than partitions: the others are idle, and may poll
SELECT minikafka.join_group('g', '{joined}', 'm4'), minikafka.join_group('g', '{joined}', 'm5');
SELECT count(*) FROM minikafka.poll('g', 'm1');
SELECT member, partitions FROM pg_temp.assigned('g');
SELECT count(*) FROM minikafka.poll('g', 'm5');
SELECT * FROM minikafka.commit('g', 'm5');
-- a place that gets free is theirs
SELECT minikafka.leave_group('g', 'm2');
SELECT member, partitions FROM pg_temp.assigned('g');
SELECT minikafka.heartbeat('g', 'm2');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.leave_group('g', 'm2');
-- Kafka cases G07, G05: the last to leave leaves a group that is empty; its
-- members are unknown
SELECT minikafka.leave_group('g', 'm' || i) FROM generate_series(3, 5) i;
SELECT generation, state, members FROM minikafka.groups WHERE group_id = 'g';
SELECT minikafka.leave_group('g', 'm1');
SELECT generation, state, members, assignor, protocol FROM minikafka.groups WHERE group_id = 'g';
SELECT minikafka.heartbeat('g', 'm1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.assignment('g', 'm1');
SELECT member_id FROM minikafka.lag('g');
-- once more, with one member: 1, 2
SELECT minikafka.join_group('only', '{joined}', 'm');
SELECT state, generation FROM minikafka.groups WHERE group_id = 'only';
SELECT minikafka.leave_group('only', 'm');
SELECT state, generation FROM minikafka.groups WHERE group_id = 'only';

-- Changes of one transaction are one rebalance, whatever they are
SELECT minikafka.join_group('g', '{joined}', 'a'), minikafka.join_group('g', '{joined}', 'b');
SELECT minikafka.heartbeat('g', 'a') AS generation \gset
BEGIN;
SELECT minikafka.leave_group('g', 'a');
SELECT minikafka.join_group('g', '{joined}', 'c');
SELECT minikafka.join_group('g', '{joined}', 'a');
COMMIT;
SELECT minikafka.heartbeat('g', 'a') - :generation AS rebalances;
SELECT member, partitions IS NOT NULL AS has_some FROM pg_temp.assigned('g');
-- a member that joins and leaves in one transaction was never there
BEGIN;
SELECT minikafka.join_group('g', '{joined}', 'd');
SELECT minikafka.leave_group('g', 'd');
ROLLBACK;
SELECT minikafka.leave_group('g', m) FROM unnest('{a, b, c}'::text[]) m;

-- Joining again: with the same topics no rebalance (Kafka case G29); with others
-- one
SELECT minikafka.create_topic('joined.too', 1);
SELECT minikafka.join_group('again', '{joined}', 'a'), minikafka.join_group('again', '{joined}', 'b');
SELECT minikafka.heartbeat('again', 'a'), minikafka.heartbeat('again', 'b');
SELECT member, partitions FROM pg_temp.assigned('again');
SELECT minikafka.join_group('again', '{joined, joined}', 'a');
SELECT minikafka.join_group('again', '{joined}', 'b');
SELECT minikafka.heartbeat('again', 'a'), minikafka.heartbeat('again', 'b');
SELECT member, partitions FROM pg_temp.assigned('again');
SELECT minikafka.join_group('again', '{joined.too, joined}', 'a');
SELECT minikafka.heartbeat('again', 'a'), minikafka.heartbeat('again', 'b');
SELECT member, partitions FROM pg_temp.assigned('again');
SELECT minikafka.join_group('again', '{joined, joined.too}', 'a');
SELECT minikafka.heartbeat('again', 'a');
-- positions go back to what is committed
SELECT count(*) FROM minikafka.poll('again', 'b', 1);
SELECT * FROM minikafka.commit('again', 'b');
SELECT "offset" AS "offset after" FROM minikafka.poll('again', 'b', 1);
SELECT "offset" AS "offset after" FROM minikafka.poll('again', 'b', 1);
SELECT minikafka.join_group('again', '{joined}', 'b');
SELECT "offset" AS "offset again" FROM minikafka.poll('again', 'b', 1);
-- also in the transaction that polls
BEGIN;
SELECT partition, "offset" FROM minikafka.poll('again', 'b', 1);
SELECT minikafka.join_group('again', '{joined}', 'b');
COMMIT;
SELECT partition, "offset" FROM minikafka.poll('again', 'b', 1);
SELECT minikafka.leave_group('again', 'a'), minikafka.leave_group('again', 'b');

-- Settings: the first member's; later ones take them, or name the same
-- (MK023); those of an empty group are chosen anew
SELECT minikafka.join_group('settings', '{joined}', 'a', assignor => 'range', protocol => 'eager');
SELECT minikafka.join_group('settings', '{joined}', 'b');
SELECT minikafka.join_group('settings', '{joined}', 'c', assignor => 'range', protocol => 'eager');
SELECT minikafka.join_group('settings', '{joined}', 'd', assignor => 'sticky');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.join_group('settings', '{joined}', 'd', protocol => 'cooperative');
\echo :LAST_ERROR_SQLSTATE
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
-- also of one's own, as long as there are others
SELECT minikafka.join_group('settings', '{joined}', 'a', protocol => 'cooperative');
SELECT minikafka.leave_group('settings', 'b'), minikafka.leave_group('settings', 'c');
SELECT minikafka.join_group('settings', '{joined}', 'a', protocol => 'cooperative');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.leave_group('settings', 'a');
SELECT minikafka.join_group('settings', '{joined}', 'a');
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
-- found only at COMMIT: of two in one transaction, too
BEGIN;
SELECT minikafka.leave_group('settings', 'a');
SELECT minikafka.join_group('settings', '{joined}', 'b', assignor => 'roundrobin');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
SELECT minikafka.leave_group('settings', 'a');
BEGIN;
SELECT minikafka.join_group('settings', '{joined}', 'a', assignor => 'roundrobin');
SELECT minikafka.join_group('settings', '{joined}', 'b', assignor => 'range');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
SELECT minikafka.join_group('settings', '{joined}', 'a', assignor => 'roundrobin');
SELECT minikafka.leave_group('settings', 'a');
SELECT minikafka.join_group('settings', '{joined}', 'b', assignor => 'range');
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
-- members that are dead do not count
SET minikafka.clock_offset = 60;
SELECT minikafka.join_group('settings', '{joined}', 'c', assignor => 'sticky', protocol => 'eager');
RESET minikafka.clock_offset;
SELECT assignor, protocol, members FROM minikafka.groups WHERE group_id = 'settings';
SELECT minikafka.heartbeat('settings', 'b');
-- those of members may differ
SELECT minikafka.join_group('settings', '{joined}', 'a', auto_offset_reset => 'none', session_timeout => '10 s',
	max_poll_interval => '1 h', rebalance_timeout => '1 ms');

-- Timeouts. The session timeout of 45 s, without a call
-- Kafka case G11
SELECT minikafka.join_group('timeouts', '{joined}', 'm');
SET minikafka.clock_offset = 44;
SELECT minikafka.assignment('timeouts', 'm');
SET minikafka.clock_offset = 46;
SELECT minikafka.heartbeat('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.poll('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.seek('timeouts', 'm', 'joined', 0, 0);
SELECT minikafka.pause('timeouts', 'm', 'joined', 0);
-- it is not removed yet, but it does not count
SELECT members, state FROM minikafka.groups WHERE group_id = 'timeouts';
SELECT member_id, partitions, expired FROM minikafka.group_members WHERE group_id = 'timeouts';
SELECT count(*) FROM minikafka.assignment('timeouts', 'm');
-- nor may it commit what it polled before
SET minikafka.clock_offset = 0;
SELECT count(*) FROM minikafka.poll('timeouts', 'm');
SET minikafka.clock_offset = 46;
SELECT * FROM minikafka.commit('timeouts', 'm') ORDER BY 2;
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('timeouts', 'joined', 0, 1, member_id => 'm');
\echo :LAST_ERROR_SQLSTATE
-- but for a transaction that has polled, the max poll interval counts alone
SET minikafka.clock_offset = 0;
BEGIN;
SELECT count(*) FROM minikafka.poll('timeouts', 'm', 1);
SET minikafka.clock_offset = 46;
SELECT count(*) FROM minikafka.commit('timeouts', 'm');
SET minikafka.clock_offset = 301;
SELECT count(*) FROM minikafka.commit('timeouts', 'm');
ROLLBACK;
SET minikafka.clock_offset = 92;
-- whoever joins removes it
SELECT minikafka.join_group('timeouts', '{joined}', 'n');
SELECT member_id, partitions FROM minikafka.group_members WHERE group_id = 'timeouts';
SELECT generation FROM minikafka.groups WHERE group_id = 'timeouts';
SELECT minikafka.heartbeat('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('timeouts', 'joined', 0, 1, member_id => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.leave_group('timeouts', 'm');
SELECT minikafka.assignment('timeouts', 'm');
-- it may join again
SELECT minikafka.join_group('timeouts', '{joined}', 'm');
SELECT minikafka.heartbeat('timeouts', 'm');
-- any call counts; heartbeats are written once per tenth of the timeout, 4.5 s
CREATE PROCEDURE pg_temp.live(first int, last int, step int, call text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first..last BY step LOOP
		PERFORM set_config('minikafka.clock_offset', i::text, false);
		EXECUTE 'SELECT ' || call;
		COMMIT;
	END LOOP;
END $$;
CALL pg_temp.live(93, 230, 1, $$minikafka.heartbeat('timeouts', m) FROM unnest('{m, n}'::text[]) m$$);
SELECT member_id, last_seen - last_poll > '130 s' AS heard_of_later FROM minikafka.group_members WHERE group_id = 'timeouts' ORDER BY 1;
SELECT generation FROM minikafka.groups WHERE group_id = 'timeouts';
SELECT count(*) BETWEEN 20 AND 32 AS few FROM minikafka.member_heartbeat
GROUP BY member_no ORDER BY member_no DESC LIMIT 2;

-- The max poll interval of 5 min: heartbeats do not help, only polls
-- Kafka case G37
CALL pg_temp.live(240, 390, 10, $$minikafka.heartbeat('timeouts', m) FROM unnest('{m, n}'::text[]) m$$);
SELECT count(*) FROM minikafka.poll('timeouts', 'n');
SET minikafka.clock_offset = 394;
SELECT minikafka.heartbeat('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.poll('timeouts', 'm');
\echo :LAST_ERROR_SQLSTATE
-- the next poll of another removes it, with its transaction
SELECT generation, members FROM minikafka.groups WHERE group_id = 'timeouts';
BEGIN;
SELECT count(*) FROM minikafka.poll('timeouts', 'n');
SELECT generation, members FROM minikafka.groups WHERE group_id = 'timeouts';
ROLLBACK;
SELECT generation, members FROM minikafka.groups WHERE group_id = 'timeouts';
SELECT count(*) FROM minikafka.poll('timeouts', 'n');
SELECT generation, members FROM minikafka.groups WHERE group_id = 'timeouts';
SELECT member, partitions FROM pg_temp.assigned('timeouts');
SELECT minikafka.heartbeat('timeouts', 'm');
-- it joins again, and polls
SELECT minikafka.join_group('timeouts', '{joined}', 'm');
SELECT count(*) FROM minikafka.poll('timeouts', 'm');
-- each member has its own timeouts, which are named
SELECT minikafka.join_group('timeouts', '{joined}', 'short', session_timeout => '1.5 s', max_poll_interval => '20 s'),
	minikafka.join_group('timeouts', '{joined}', 'long', session_timeout => '20 days', max_poll_interval => '20 days');
SET minikafka.clock_offset = 396;
SELECT minikafka.heartbeat('timeouts', 'short');
SELECT minikafka.heartbeat('timeouts', 'long');
SELECT minikafka.heartbeat('timeouts', 'short');
SELECT minikafka.join_group('timeouts', '{joined}', 'short', session_timeout => '1 h', max_poll_interval => '20 s');
SET minikafka.clock_offset = 417;
SELECT minikafka.heartbeat('timeouts', 'short');
SET minikafka.clock_offset = 1000000;
SELECT minikafka.heartbeat('timeouts', 'long');
SELECT member_id FROM minikafka.group_members WHERE group_id = 'timeouts';
-- only dead members: the group is as good as empty
SET minikafka.clock_offset = 5000000;
SELECT minikafka.reset_offsets('timeouts', 'joined', 'earliest');
SELECT state, members FROM minikafka.groups WHERE group_id = 'timeouts';
-- why a member was removed is remembered for an hour
SELECT minikafka.heartbeat('timeouts', 'long');
SET minikafka.clock_offset = 5003700;
SELECT minikafka.join_group('timeouts', '{joined}', 'z');
SELECT minikafka.heartbeat('timeouts', 'long');
SELECT count(*) FROM minikafka.group_member WHERE removed_at IS NOT NULL
	AND group_no = (SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'timeouts');
RESET minikafka.clock_offset;
-- and of the last hundred only
CREATE PROCEDURE pg_temp.come_and_go(times int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..times LOOP
		PERFORM minikafka.join_group('passing', '{joined}', 'm' || i);
		COMMIT;
		PERFORM minikafka.leave_group('passing', 'm' || i);
		COMMIT;
	END LOOP;
END $$;
CALL pg_temp.come_and_go(110);
SELECT minikafka.heartbeat('passing', 'm10');
SELECT minikafka.heartbeat('passing', 'm11');
SELECT count(*) FROM minikafka.group_member
WHERE group_no = (SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'passing');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
