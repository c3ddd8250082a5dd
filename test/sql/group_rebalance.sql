--
-- Rebalances: what moves, when, and from where its new owner reads
--
SELECT minikafka.create_topic('moved', 4);
SELECT count(minikafka.send('moved', 'v' || i, partition => i % 4)) FROM generate_series(0, 39) i;
-- What each member has, and what it still has to let go
CREATE FUNCTION pg_temp.assigned(g text) RETURNS TABLE (member text, partitions text, owned int) LANGUAGE sql AS $$
	SELECT m.member_id, string_agg(a.topic || '/' || a.partition, ' ' ORDER BY a.topic COLLATE "C", a.partition), m.partitions
	FROM minikafka.group_members m
	LEFT JOIN LATERAL minikafka.assignment(g, m.member_id) a ON NOT a.revoking
	WHERE m.group_id = g
	GROUP BY 1, 3 ORDER BY m.member_id COLLATE "C"
$$;
-- What a poll returns, in short
CREATE FUNCTION pg_temp.poll(g text, m text, most int DEFAULT 100) RETURNS TABLE (read text) LANGUAGE sql AS $$
	SELECT topic || '/' || partition || ': ' || string_agg("offset"::text, ' ' ORDER BY "offset")
	FROM minikafka.poll(g, m, most) GROUP BY topic, partition ORDER BY topic COLLATE "C", partition
$$;

-- Cooperative: a partition that is to move stays with its owner until that has
-- committed what it has polled of it, or left; the others go on
-- Kafka case A28
SELECT minikafka.join_group('c', '{moved}', 'a');
SELECT * FROM pg_temp.poll('c', 'a', 8);
SELECT minikafka.join_group('c', '{moved}', 'b');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'c';
SELECT * FROM pg_temp.assigned('c');
-- the newcomer has nothing to read yet, and the owner reads nothing more of it
SELECT * FROM pg_temp.poll('c', 'b');
SELECT minikafka.seek('c', 'a', 'moved', 3, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.pause('c', 'a', 'moved', 3);
SELECT minikafka.seek('c', 'b', 'moved', 3, 0);
SELECT minikafka.commit_offset('c', 'moved', 3, 1, member_id => 'b');
\echo :LAST_ERROR_SQLSTATE
-- a heartbeat does not hand it over, nor a poll that is rolled back
SELECT minikafka.heartbeat('c', 'a');
BEGIN;
SELECT * FROM pg_temp.poll('c', 'a', 1);
ROLLBACK;
SELECT * FROM pg_temp.assigned('c');
-- its poll does, since it has polled nothing of it that it could still commit
SELECT * FROM pg_temp.poll('c', 'a', 1);
SELECT generation, state FROM minikafka.groups WHERE group_id = 'c';
SELECT * FROM pg_temp.assigned('c');
SELECT * FROM pg_temp.poll('c', 'b');
-- what does not move keeps its position
SELECT * FROM pg_temp.poll('c', 'a');
SELECT * FROM minikafka.commit('c', 'a');
-- commit() hands over too, after it has committed what it had read: the newcomer
-- reads on from there
SELECT minikafka.join_group('c', '{moved}', 'd');
SELECT * FROM pg_temp.assigned('c');
SELECT * FROM minikafka.commit('c', 'b');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'c';
SELECT * FROM pg_temp.assigned('c');
SELECT count(minikafka.send('moved', 'w', partition => p)) FROM generate_series(0, 3) p;
SELECT * FROM pg_temp.poll('c', 'a');
SELECT * FROM pg_temp.poll('c', 'b');
SELECT * FROM pg_temp.poll('c', 'd');
-- commit_offset() of the partition too
SELECT minikafka.join_group('c', '{moved}', 'e');
SELECT * FROM pg_temp.assigned('c');
SELECT count(minikafka.commit_offset('c', 'moved', p, 11, 'as I go', m)) FROM (VALUES
	('a', 0), ('a', 1), ('b', 2), ('b', 3)) v(m, p)
WHERE (m, 'moved', p) IN (SELECT member_id, topic, partition FROM minikafka.lag('c'));
SELECT * FROM pg_temp.assigned('c');
SELECT partition, "offset", metadata, member_id FROM minikafka.group_offsets WHERE group_id = 'c' ORDER BY 1;
-- a member that leaves lets go of all
SELECT minikafka.join_group('c2', '{moved}', 'a');
SELECT minikafka.join_group('c2', '{moved}', 'b');
SELECT minikafka.leave_group('c2', 'a');
SELECT * FROM pg_temp.assigned('c2');
-- a member that joins again does too, at once
SELECT minikafka.join_group('c2', '{moved}', 'a');
SELECT * FROM pg_temp.assigned('c2');
SELECT minikafka.join_group('c2', '{moved}', 'b');
SELECT * FROM pg_temp.assigned('c2');
-- a second rebalance while the first is not over: the one that is to get it
-- leaves again, and nothing moves
SELECT minikafka.join_group('c3', '{moved}', 'a');
SELECT * FROM pg_temp.poll('c3', 'a', 12);
SELECT minikafka.join_group('c3', '{moved}', 'b');
SELECT * FROM pg_temp.assigned('c3');
SELECT minikafka.leave_group('c3', 'b');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'c3';
SELECT * FROM pg_temp.assigned('c3');
SELECT * FROM pg_temp.poll('c3', 'a', 2);
-- another takes its place meanwhile
SELECT count(*) FROM minikafka.commit('c3', 'a');
SELECT minikafka.join_group('c3', '{moved}', 'b');
BEGIN;
SELECT minikafka.leave_group('c3', 'b');
SELECT minikafka.join_group('c3', '{moved}', 'd');
COMMIT;
SELECT * FROM pg_temp.assigned('c3');
SELECT count(*) FROM minikafka.poll('c3', 'a', 1);
SELECT * FROM pg_temp.assigned('c3');
-- a poll that is before the rebalance does not count for it
BEGIN;
SELECT count(*) FROM minikafka.poll('c3', 'a', 1);
SELECT minikafka.join_group('c3', '{moved}', 'e');
COMMIT;
SELECT * FROM pg_temp.assigned('c3');
-- the rebalance timeout of the owner, 30 s: then it is moved whatever happens
SELECT minikafka.join_group('c4', '{moved}', 'a', rebalance_timeout => '10 s');
SELECT minikafka.join_group('c4', '{moved}', 'b', rebalance_timeout => '1 h');
SET minikafka.clock_offset = 9;
SELECT minikafka.heartbeat('c4', 'b');
SELECT * FROM pg_temp.assigned('c4');
SET minikafka.clock_offset = 11;
SELECT minikafka.heartbeat('c4', 'b');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'c4';
SELECT * FROM pg_temp.assigned('c4');
SELECT minikafka.join_group('c4', '{moved}', 'd');
SELECT * FROM pg_temp.poll('c4', 'a', 1);
SET minikafka.clock_offset = 45;
SELECT minikafka.heartbeat('c4', m) FROM unnest('{a, b, d}'::text[]) m;
SELECT * FROM pg_temp.assigned('c4');
RESET minikafka.clock_offset;

-- Kafka case G32: of three members two let go one after the other, and at each
-- step a partition has one owner
SELECT minikafka.create_topic('foo', 6), minikafka.create_topic('bar', 3);
SELECT minikafka.join_group('g32', '{foo, bar}', 'm1', assignor => 'range'),
	minikafka.join_group('g32', '{foo, bar}', 'm2');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'g32';
SELECT * FROM pg_temp.assigned('g32');
SELECT minikafka.join_group('g32', '{foo, bar}', 'm3');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'g32';
SELECT * FROM pg_temp.assigned('g32');
SELECT * FROM pg_temp.poll('g32', 'm1');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'g32';
SELECT * FROM pg_temp.assigned('g32');
SELECT * FROM pg_temp.poll('g32', 'm2');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'g32';
SELECT * FROM pg_temp.assigned('g32');

-- Eager: everything is assigned anew at once, and read from what is committed
SELECT minikafka.join_group('e', '{moved}', 'a', protocol => 'eager');
SELECT * FROM pg_temp.poll('e', 'a', 11);
SELECT * FROM minikafka.commit('e', 'a');
SELECT * FROM pg_temp.poll('e', 'a', 11);
SELECT minikafka.pause('e', 'a', 'moved', 0);
SELECT minikafka.join_group('e', '{moved}', 'b');
SELECT generation, state FROM minikafka.groups WHERE group_id = 'e';
SELECT * FROM pg_temp.assigned('e');
SELECT * FROM pg_temp.poll('e', 'a', 3);
SELECT * FROM pg_temp.poll('e', 'b', 3);
-- what was read before is not committed: only what was read since
SELECT * FROM minikafka.commit('e', 'b');
SELECT minikafka.leave_group('e', 'b');
SELECT * FROM minikafka.commit('e', 'a');
SELECT * FROM pg_temp.assigned('e');
SELECT * FROM pg_temp.poll('e', 'a', 3);

-- More partitions: found by the next poll, heartbeat or commit of a member, and
-- assigned with that transaction, in one rebalance
SELECT minikafka.join_group('p', '{moved}', 'a'), minikafka.join_group('p', '{moved}', 'b');
SELECT * FROM pg_temp.assigned('p');
SET client_min_messages = warning;
SELECT minikafka.add_partitions('moved', 6);
RESET client_min_messages;
SELECT minikafka.send('moved', 'in a new one', partition => 5);
SELECT * FROM pg_temp.assigned('p');
SELECT count(*) FROM minikafka.poll('p', 'a', 1);
SELECT generation FROM minikafka.groups WHERE group_id = 'p';
SELECT * FROM pg_temp.assigned('p');
SELECT value FROM minikafka.poll_text('p', 'b') WHERE partition >= 4;
SELECT minikafka.heartbeat('e', 'a');
SELECT * FROM pg_temp.assigned('e');
-- A topic that is made after the join; a poll that finds it does not wait
SELECT minikafka.join_group('t', '{later, moved.not, moved}', 'a', max_poll_interval => '1 h');
SELECT count(*) FROM minikafka.poll('t', 'a', 1000);
SELECT * FROM minikafka.commit('t', 'a') WHERE "offset" > 11;
SELECT minikafka.create_topic('later', 1);
SELECT minikafka.send('later', 'v');
SELECT * FROM pg_temp.assigned('t');
SELECT * FROM minikafka.poll('t', 'a', max_wait => '20 days');
SELECT generation, state FROM minikafka.groups WHERE group_id = 't';
SELECT * FROM pg_temp.assigned('t');
SELECT * FROM pg_temp.poll('t', 'a');
-- in the transaction that makes it
BEGIN;
SELECT minikafka.create_topic('moved.not', 1);
SELECT minikafka.heartbeat('t', 'a');
COMMIT;
SELECT * FROM pg_temp.assigned('t');
-- A topic that is dropped goes, with its offsets; the other goes on
-- Kafka case O29
SELECT * FROM minikafka.commit('t', 'a');
SELECT topic FROM minikafka.group_offsets WHERE group_id = 't' AND topic <> 'moved';
SELECT minikafka.drop_topic('later');
SELECT topic FROM minikafka.group_offsets WHERE group_id = 't' AND topic <> 'moved';
SELECT count(*) FROM minikafka.group_progress WHERE topic_id NOT IN (SELECT topic_id FROM minikafka.topic);
SELECT * FROM pg_temp.assigned('t');
SELECT DISTINCT topic FROM minikafka.lag('t') ORDER BY 1;
SELECT * FROM pg_temp.poll('t', 'a');
SELECT generation FROM minikafka.groups WHERE group_id = 't';
SELECT * FROM pg_temp.assigned('t');
-- one that is made again under the name is another: it is read from the start
SELECT minikafka.create_topic('later', 2);
SELECT minikafka.send('later', 'v', partition => 1);
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.poll('t', 'a');
SELECT minikafka.committed('t', 'later', 1);
-- dropped and made again in one transaction, unnoticed in between
BEGIN;
SELECT minikafka.drop_topic('later');
SELECT minikafka.create_topic('later', 2);
COMMIT;
SELECT minikafka.send('later', 'v', partition => 1);
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.assigned('t');
-- A topic that gets another name is still subscribed to: the subscription follows,
-- by the next call, without a rebalance
SELECT * FROM minikafka.commit('t', 'a');
SELECT minikafka.send('later', 'renamed', partition => 1);
ALTER TABLE minikafka_topics.later RENAME TO sooner;
SELECT generation, topics FROM minikafka.groups JOIN minikafka.group_members USING (group_id) WHERE group_id = 't';
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.assigned('t');
SELECT generation, topics FROM minikafka.groups JOIN minikafka.group_members USING (group_id) WHERE group_id = 't';
-- also where the old name is another topic's now, or was subscribed to before
SELECT minikafka.create_topic('later', 1);
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.poll('t', 'a');
SELECT topics FROM minikafka.group_members WHERE group_id = 't';
SELECT minikafka.drop_topic('later');
-- a partition that was made since is read from its start, also where the member
-- begins at the end, and the topic has got another name since
SELECT minikafka.join_group('late', '{sooner}', 'm', auto_offset_reset => 'latest');
SELECT minikafka.add_partitions('sooner', 3);
SELECT minikafka.send('sooner', 'v', partition => 2);
ALTER TABLE minikafka_topics.sooner RENAME TO "sooner.still";
SELECT * FROM pg_temp.poll('late', 'm');
SELECT * FROM pg_temp.poll('late', 'm');
ALTER TABLE minikafka_topics."sooner.still" RENAME TO sooner;
SELECT minikafka.leave_group('late', 'm');
SELECT minikafka.join_group('both', '{sooner, "moved.to"}', 'm');
ALTER TABLE minikafka_topics.sooner RENAME TO "moved.to";
SELECT minikafka.join_group('both', '{"moved.to"}', 'n');
SELECT member_id, topics, partitions FROM minikafka.group_members WHERE group_id = 'both' ORDER BY 1;
ALTER TABLE minikafka_topics."moved.to" RENAME TO sooner;
SELECT minikafka.leave_group('both', m) FROM unnest('{m, n}'::text[]) m;
SELECT topic, partition, "offset" FROM minikafka.group_offsets WHERE group_id = 't' AND topic <> 'moved';
SELECT minikafka.join_group('t', '{sooner}', 'a');
SELECT minikafka.send('sooner', 'w', partition => 1);
SELECT * FROM pg_temp.poll('t', 'a');
ALTER TABLE minikafka_topics.sooner RENAME TO "moved.to";
ALTER TABLE minikafka_topics.moved RENAME TO sooner;
SELECT * FROM pg_temp.assigned('t');
SELECT * FROM pg_temp.poll('t', 'a');
SELECT * FROM pg_temp.assigned('t');
ALTER TABLE minikafka_topics.sooner RENAME TO moved;
-- A topic that is dropped while a transaction that has polled it is open
SELECT minikafka.join_group('d', '{moved.to}', 'a');
BEGIN;
SELECT * FROM pg_temp.poll('d', 'a');
SELECT minikafka.drop_topic('moved.to');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.drop_topic('moved.to');
SELECT * FROM pg_temp.poll('d', 'a');
COMMIT;
SELECT * FROM pg_temp.assigned('d');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
