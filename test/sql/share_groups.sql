--
-- Share groups: creating them, their options, resetting and deleting them
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('shared', 2), minikafka.create_topic('shared.urgent', 1), minikafka.create_topic('shared.dead', 1);
SELECT count(minikafka.send('shared', 'v' || i, partition => i % 2)) FROM generate_series(0, 9) i;
-- Where a share group stands: the newest checkpoint of each partition
CREATE FUNCTION pg_temp.stands(g text) RETURNS TABLE (topic name, partition int, number bigint, era int, high bigint, exceptions bigint[]) LANGUAGE sql AS $$
	SELECT DISTINCT ON (topic_id, partition) relname, partition, number, era, high, exceptions
	FROM minikafka.share_checkpoint JOIN minikafka.consumer_group USING (group_no)
	JOIN minikafka.topic t USING (topic_id) JOIN pg_class c ON c.oid = t.rel WHERE group_id = g
	ORDER BY topic_id, partition, number DESC
$$;

-- creation, with all defaults; it takes effect at COMMIT
BEGIN;
SELECT minikafka.create_share_group('workers', '{shared}');
SELECT count(*) FROM minikafka.share_groups;
COMMIT;
SELECT * FROM minikafka.share_groups \gx
SELECT * FROM minikafka.groups \gx
SELECT * FROM pg_temp.stands('workers');
-- with all arguments; a topic that is named twice counts once
SELECT minikafka.create_share_group('all', '{shared.urgent,shared,shared.urgent}', 'none', 3, '2 s', '1 min', 'shared.dead', 'latest');
SELECT * FROM minikafka.share_groups WHERE group_id = 'all' \gx
-- latest: from the ends at COMMIT on
SELECT * FROM pg_temp.stands('all');
BEGIN;
SELECT minikafka.create_share_group('latest', '{shared}', auto_offset_reset => 'latest');
SELECT minikafka.append('shared', 0, 'k', 'of this transaction, so not read yet');
COMMIT;
SELECT * FROM pg_temp.stands('latest');
-- a partition that comes later is read from its start
SET client_min_messages = warning;
SELECT minikafka.add_partitions('shared', 3);
RESET client_min_messages;
SELECT * FROM pg_temp.stands('latest');

-- a name is taken once; Kafka case X14
SELECT minikafka.create_share_group('workers', '{shared}');
BEGIN;
SELECT minikafka.create_share_group('twice', '{shared}');
SAVEPOINT a;
SELECT minikafka.create_share_group('twice', '{shared}');
ROLLBACK TO a;
SELECT minikafka.join_group('twice', '{shared}');
ROLLBACK TO a;
SELECT minikafka.commit_offset('twice', 'shared', 0, 0);
ROLLBACK;
BEGIN;
SELECT minikafka.join_group('consumers', '{shared}', 'm');
SAVEPOINT a;
SELECT minikafka.create_share_group('consumers', '{shared}');
ROLLBACK TO a;
COMMIT;
SELECT minikafka.create_share_group('consumers', '{shared}');
-- the savepoint took it back
BEGIN;
SAVEPOINT a;
SELECT minikafka.create_share_group('undone', '{shared}');
ROLLBACK TO a;
SELECT minikafka.commit_offset('undone', 'shared', 0, 0);
COMMIT;
SELECT group_id, kind, state, generation, members FROM minikafka.groups ORDER BY group_id COLLATE "C";

-- arguments
SELECT minikafka.create_share_group('', '{shared}');
SELECT minikafka.create_share_group(NULL, '{shared}');
SELECT minikafka.create_share_group('new', NULL);
SELECT minikafka.create_share_group('new', '{}');
SELECT minikafka.create_share_group('new', '{shared,NULL}');
SELECT minikafka.create_share_group('new', '{shared,no_such_topic}');
SELECT minikafka.create_share_group('new', '{shared}', ordering => 'offset');
SELECT minikafka.create_share_group('new', '{shared}', ordering => NULL);
SELECT minikafka.create_share_group('new', '{shared}', max_deliveries => 0);
SELECT minikafka.create_share_group('new', '{shared}', max_deliveries => 1000001);
SELECT minikafka.create_share_group('new', '{shared}', max_deliveries => NULL);
SELECT minikafka.create_share_group('new', '{shared}', backoff => '-1 s');
SELECT minikafka.create_share_group('new', '{shared}', backoff => NULL);
SELECT minikafka.create_share_group('new', '{shared}', max_backoff => '25 days');
SELECT minikafka.create_share_group('new', '{shared}', backoff => '2 s', max_backoff => '1 s');
SELECT minikafka.create_share_group('new', '{shared}', dead_letter_topic => 'no_such_topic');
SELECT minikafka.create_share_group('new', '{shared,shared.dead}', dead_letter_topic => 'shared.dead');
SELECT minikafka.create_share_group('new', '{shared}', auto_offset_reset => 'none');
SELECT minikafka.create_share_group('new', '{shared}', backoff => '0', max_backoff => '0', max_deliveries => 1);

-- what is for consumer groups is refused
SELECT minikafka.join_group('workers', '{shared}');
SELECT minikafka.join_group('workers', '{no_such_topic}');
SELECT minikafka.leave_group('workers', 'm');
SELECT minikafka.heartbeat('workers', 'm');
SELECT * FROM minikafka.assignment('workers', 'm');
SELECT * FROM minikafka.poll('workers', 'm');
SELECT * FROM minikafka.poll_text('workers', 'm');
SELECT * FROM minikafka.poll_json('workers', 'm');
SELECT * FROM minikafka.commit('workers', 'm');
SELECT minikafka.commit_offset('workers', 'shared', 0, 0);
SELECT minikafka.commit_offset('workers', 'shared', 0, 0, member_id => 'm');
SELECT minikafka.committed('workers', 'shared', 0);
SELECT minikafka.seek('workers', 'm', 'shared', 0, 0);
SELECT minikafka.pause('workers', 'm', 'shared', 0);
SELECT minikafka.resume('workers', 'm', 'shared', 0);
CALL minikafka.wait_for_records('workers', 'm', '0');
SELECT * FROM minikafka.group_members WHERE group_id = 'workers';
SELECT * FROM minikafka.group_offsets WHERE group_id = 'workers';
-- and the other way round
SELECT minikafka.set_group_option('consumers', 'paused', 'true');

-- options
SELECT minikafka.set_group_option('workers', option, value) FROM (VALUES ('max_deliveries', '7'), ('max_backoff', '1 h'),
	('backoff', '90 s'), ('auto_offset_reset', 'latest'), ('max_in_flight', '10'), ('priority', 'strict'), ('on_exhausted', 'pause'),
	('dead_letter_limit', '100'), ('dead_letter_topic', 'shared.dead'), ('topics', '{shared.urgent,shared}'), ('paused', 'on')) v (option, value);
SELECT * FROM minikafka.share_groups WHERE group_id = 'workers' \gx
SELECT state FROM minikafka.groups WHERE group_id = 'workers';
-- the topic that was added begins at its end; the other one goes on where it stands
SELECT * FROM pg_temp.stands('workers');
-- the defaults
SELECT minikafka.set_group_option('workers', option, NULL) FROM unnest(ARRAY['max_deliveries', 'backoff', 'max_backoff', 'auto_offset_reset',
	'max_in_flight', 'priority', 'on_exhausted', 'dead_letter_limit', 'dead_letter_topic', 'paused']) option;
SELECT * FROM minikafka.share_groups WHERE group_id = 'workers' \gx
-- one that has been there before goes on where it stood
SELECT minikafka.set_group_option('workers', 'auto_offset_reset', 'latest');
SELECT minikafka.set_group_option('workers', 'topics', '{shared}');
SELECT topics FROM minikafka.share_groups WHERE group_id = 'workers';
SELECT minikafka.send('shared.urgent', 'v');
SELECT minikafka.set_group_option('workers', 'topics', '{shared,shared.urgent}');
SELECT * FROM pg_temp.stands('workers');
-- a new ordering is a new epoch, and no new era
SELECT minikafka.set_group_option('workers', 'ordering', 'key');
SELECT minikafka.set_group_option('workers', 'ordering', 'none');
SELECT epoch, ordering_epoch FROM minikafka.share_group JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'workers';
-- values
SELECT minikafka.set_group_option('workers', 'nonsense', '1');
SELECT minikafka.set_group_option('workers', NULL, '1');
SELECT minikafka.set_group_option('no such group', 'paused', 'true');
SELECT minikafka.set_group_option('workers', 'topics', NULL);
SELECT minikafka.set_group_option('workers', 'topics', '{}');
SELECT minikafka.set_group_option('workers', 'topics', '{shared');
SELECT minikafka.set_group_option('workers', 'topics', '{no_such_topic}');
SELECT minikafka.set_group_option('workers', 'ordering', 'offset');
SELECT minikafka.set_group_option('workers', 'max_deliveries', '1.5');
SELECT minikafka.set_group_option('workers', 'max_deliveries', '0');
SELECT minikafka.set_group_option('workers', 'backoff', '6 min');
SELECT minikafka.set_group_option('workers', 'max_backoff', '0.5 s');
SELECT minikafka.set_group_option('workers', 'max_in_flight', '20001');
SELECT minikafka.set_group_option('workers', 'priority', 'lazy');
SELECT minikafka.set_group_option('workers', 'dead_letter_limit', '0');
SELECT minikafka.set_group_option('workers', 'paused', 'perhaps');
SELECT minikafka.set_group_option('workers', 'on_exhausted', 'forget');
-- a dead-letter topic and what needs it
SELECT minikafka.set_group_option('workers', 'on_exhausted', 'dead_letter');
SELECT minikafka.set_group_option('workers', 'dead_letter_topic', 'shared');
SELECT minikafka.set_group_option('workers', 'dead_letter_topic', 'shared.dead');
SELECT on_exhausted FROM minikafka.share_groups WHERE group_id = 'workers';
SELECT minikafka.set_group_option('workers', 'on_exhausted', 'dead_letter');
SELECT minikafka.set_group_option('workers', 'dead_letter_topic', NULL);
SELECT minikafka.set_group_option('workers', 'topics', '{shared.dead}');
-- a script in one transaction: each call sees what the former ones ask for
BEGIN;
SELECT minikafka.create_share_group('script', '{shared}');
SELECT minikafka.set_group_option('script', 'dead_letter_topic', 'shared.dead');
SELECT minikafka.set_group_option('script', 'on_exhausted', 'dead_letter');
SELECT minikafka.set_group_option('script', 'topics', '{shared,shared.urgent}');
SELECT minikafka.grant_group('script', 'pg_monitor');
SELECT * FROM minikafka.reset_offsets('script', 'shared', 'offset:3');
SAVEPOINT a;
SELECT minikafka.set_group_option('script', 'dead_letter_topic', NULL);
ROLLBACK TO a;
SELECT minikafka.set_group_option('script', 'paused', 'true');
ROLLBACK TO a;
COMMIT;
SELECT * FROM minikafka.share_groups WHERE group_id = 'script' \gx
SELECT * FROM pg_temp.stands('script');
-- who pauses it again: why it had paused is forgotten
UPDATE minikafka.share_group SET paused = true, paused_why = 'of a test' WHERE group_no = (SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'script');
UPDATE minikafka.consumer_group SET version = version + 1 WHERE group_id = 'script';
SELECT minikafka.set_group_option('script', 'max_deliveries', '2');
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'script';
SELECT minikafka.set_group_option('script', 'paused', 'false');
SELECT minikafka.set_group_option('script', 'paused', 'true');
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'script';

-- reset_offsets(): an era for each reset of a topic
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'latest');
SELECT * FROM pg_temp.stands('workers');
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'shift:-2');
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'offset:1000');
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'earliest');
BEGIN;
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'offset:2');
SELECT * FROM minikafka.reset_offsets('workers', 'shared.urgent', 'latest');
SAVEPOINT a;
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'offset:1');
ROLLBACK TO a;
COMMIT;
SELECT * FROM pg_temp.stands('workers');
SELECT epoch, ordering_epoch FROM minikafka.share_group JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'workers';
-- to where another group stands, of either kind; where it has no offset, to the start
SELECT minikafka.commit_offset('plain', 'shared', 1, 4);
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'group:plain');
BEGIN;
SELECT minikafka.commit_offset('plain', 'shared', 0, 3);
SELECT * FROM minikafka.reset_offsets('workers', 'shared', 'group:plain');
COMMIT;
SELECT * FROM minikafka.reset_offsets('plain', 'shared', 'group:latest');
SELECT minikafka.committed('plain', 'shared', p) FROM generate_series(0, 2) p;
SELECT * FROM minikafka.reset_offsets('plain', 'shared', 'group:no such group');
SELECT * FROM minikafka.reset_offsets('plain', 'shared', 'group:');
SELECT * FROM minikafka.reset_offsets('plain', 'shared', 'group');
SELECT * FROM minikafka.reset_offsets('no such group', 'shared', 'group:plain');
-- a topic that the share group does not have, or has as of this transaction
SELECT * FROM minikafka.reset_offsets('latest', 'shared.urgent', 'earliest');
BEGIN;
SELECT minikafka.set_group_option('latest', 'topics', '{shared,shared.urgent}');
SELECT * FROM minikafka.reset_offsets('latest', 'shared.urgent', 'earliest');
ROLLBACK;
-- one that this transaction makes hands out nothing yet
BEGIN;
SELECT minikafka.create_share_group('early', '{shared}');
SELECT * FROM minikafka.acquire('early');
ROLLBACK;
SELECT * FROM minikafka.reset_offsets('consumers', 'shared', 'group:plain');
-- a share group stands at the first record that is not done: a checkpoint, and runs since then
INSERT INTO minikafka.share_checkpoint
SELECT group_no, (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.shared'::regclass), 0, 100, era, high, exceptions, slots, now()
FROM minikafka.consumer_group, (VALUES (1000, 4, '{1,2}'::bigint[], '{1,1}'::int[])) v(era, high, exceptions, slots) WHERE group_id = 'workers';
CREATE FUNCTION pg_temp.done(first bigint, last bigint, era int = 1000) RETURNS TABLE (topic text, partition int, "offset" bigint) LANGUAGE sql AS $$
	INSERT INTO minikafka.share_done
	SELECT group_no, (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.shared'::regclass), 0, era, last, first
	FROM minikafka.consumer_group WHERE group_id = 'workers';
	SELECT * FROM minikafka.reset_offsets('plain', 'shared', 'group:workers') LIMIT 1;
$$;
SELECT * FROM pg_temp.done(0, 3, 7); -- another era
SELECT * FROM pg_temp.done(2, 2);
SELECT * FROM pg_temp.done(5, 5);
SELECT * FROM pg_temp.done(1, 1);
SELECT * FROM pg_temp.done(4, 4);

-- deletion takes the state of all topics with it, also that of topics it has no more
SELECT minikafka.set_group_option('workers', 'topics', '{shared.urgent}');
SELECT minikafka.delete_group('workers');
SELECT minikafka.set_group_option('workers', 'paused', 'true');
SELECT count(*) FROM minikafka.share_groups WHERE group_id = 'workers';
SELECT (SELECT count(*) FROM minikafka.share_group) - (SELECT count(*) FROM minikafka.share_groups) AS groups,
	(SELECT count(*) FROM minikafka.share_done) AS done,
	(SELECT count(*) FROM minikafka.share_checkpoint c WHERE NOT EXISTS (SELECT FROM minikafka.share_group g WHERE g.group_no = c.group_no)) AS checkpoints;
-- from then on the name may be that of the other kind
SELECT minikafka.commit_offset('workers', 'shared', 0, 1);
SELECT kind FROM minikafka.groups WHERE group_id = 'workers';
SELECT minikafka.delete_group('workers');
SELECT minikafka.create_share_group('workers', '{shared}');
SELECT kind FROM minikafka.groups WHERE group_id = 'workers';
BEGIN;
SELECT minikafka.set_group_option('workers', 'paused', 'true');
SELECT minikafka.delete_group('workers');
ROLLBACK;
BEGIN;
SELECT minikafka.delete_group('workers');
SELECT minikafka.create_share_group('workers', '{shared}');
ROLLBACK;

-- rights: the owner's, and those to the topics
CREATE ROLE regress_share_owner;
CREATE ROLE regress_share_worker;
GRANT USAGE ON SCHEMA minikafka TO regress_share_owner, regress_share_worker;
SET ROLE regress_share_owner;
SELECT minikafka.create_share_group('owned', '{shared}');
RESET ROLE;
GRANT SELECT ON minikafka_topics.shared TO regress_share_owner, regress_share_worker;
SET ROLE regress_share_owner;
SELECT minikafka.create_share_group('owned', '{shared,shared.urgent}');
SELECT minikafka.create_share_group('owned', '{shared}', dead_letter_topic => 'shared.dead');
SELECT minikafka.create_share_group('owned', '{shared}');
SELECT minikafka.create_share_group('workers', '{shared}');
SELECT minikafka.set_group_option('owned', 'topics', '{shared,shared.urgent}');
SELECT minikafka.set_group_option('owned', 'dead_letter_topic', 'shared.dead');
SELECT minikafka.set_group_option('workers', 'paused', 'true');
SELECT * FROM minikafka.reset_offsets('owned', 'shared', 'group:plain');
SELECT minikafka.grant_group('owned', 'regress_share_worker');
SELECT group_id FROM minikafka.share_groups;
SET ROLE regress_share_worker;
SELECT group_id, owner FROM minikafka.share_groups;
SELECT minikafka.set_group_option('owned', 'paused', 'true');
SELECT minikafka.delete_group('owned');
SELECT count(*) FROM minikafka.reset_offsets('owned', 'shared', 'latest');
RESET ROLE;
-- a dead-letter topic is written by the owner's right, whoever sets it
SELECT minikafka.set_group_option('owned', 'dead_letter_topic', 'shared.dead');
GRANT INSERT ON minikafka_topics."shared.dead" TO regress_share_owner;
SELECT minikafka.set_group_option('owned', 'dead_letter_topic', 'shared.dead');
SELECT minikafka.revoke_group('owned', 'regress_share_worker');
SELECT minikafka.set_group_owner('owned', 'regress_share_worker');
SET ROLE regress_share_worker;
SELECT minikafka.set_group_option('owned', 'dead_letter_topic', NULL);
SELECT group_id, owner, dead_letter_topic FROM minikafka.share_groups;
RESET ROLE;

-- no expiry, unlike consumer groups: only delete_group() ends a share group
SET minikafka.clock_offset = '1000 d';
CALL minikafka.maintain();
RESET minikafka.clock_offset;
SELECT group_id, kind FROM minikafka.groups ORDER BY group_id COLLATE "C";

-- topics that are renamed and dropped
ALTER TABLE minikafka_topics."shared.urgent" RENAME TO "shared.now";
SELECT topics FROM minikafka.share_groups WHERE group_id = 'script';
SELECT minikafka.drop_topic('shared.now');
SELECT minikafka.drop_topic('shared.dead');
SELECT topics, dead_letter_topic, on_exhausted FROM minikafka.share_groups WHERE group_id = 'script';
SELECT minikafka.set_group_option('script', 'paused', 'false');
SELECT minikafka.set_group_option('script', 'dead_letter_topic', NULL);
SELECT minikafka.set_group_option('script', 'on_exhausted', NULL);
SELECT minikafka.set_group_option('script', 'dead_letter_topic', NULL);
SELECT topics, dead_letter_topic, on_exhausted FROM minikafka.share_groups WHERE group_id = 'script';
SELECT minikafka.create_topic('shared.with', 1);
SELECT minikafka.create_share_group('with', '{shared.with}', auto_offset_reset => 'latest');
BEGIN;
SELECT minikafka.delete_group('with');
SELECT minikafka.drop_topic('shared.with');
COMMIT;
SELECT minikafka.drop_topic('shared');
SELECT topics, paused FROM minikafka.share_groups WHERE group_id = 'script';
SELECT count(*) FROM minikafka.share_topic;
SELECT minikafka.delete_group(group_id) FROM minikafka.groups WHERE group_id IN (
	'all', 'consumers', 'latest', 'new', 'owned', 'plain', 'script', 'undone', 'workers');
SELECT count(*) FROM minikafka.share_group;
REVOKE USAGE ON SCHEMA minikafka FROM regress_share_owner, regress_share_worker;
DROP ROLE regress_share_owner, regress_share_worker;
