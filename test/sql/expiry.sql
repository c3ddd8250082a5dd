--
-- Expiry: what maintain() removes of groups, producers and inboxes
--
-- rows of a group, a line for each partition
CREATE VIEW progress AS
SELECT group_id, c.relname AS topic, partition, count(*) AS rows
FROM minikafka.group_progress JOIN minikafka.consumer_group USING (group_no) JOIN minikafka.topic USING (topic_id) JOIN pg_class c ON c.oid = rel
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
CREATE VIEW heartbeats AS
SELECT group_id, member_id, polled, count(*) AS rows
FROM minikafka.member_heartbeat LEFT JOIN minikafka.group_member USING (member_no) LEFT JOIN minikafka.consumer_group USING (group_no)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- of what other tests have left nothing is to be seen
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
DELETE FROM minikafka.member_heartbeat WHERE member_no NOT IN (SELECT member_no FROM minikafka.group_member);

SELECT minikafka.create_topic('expiring', 2);
SELECT count(minikafka.send('expiring', i::text, partition => i % 2)) FROM generate_series(0, 39) i;

-- Progress: the newest row of each partition is what counts, and what stays
SELECT minikafka.join_group('busy', '{expiring}', 'm', auto_offset_reset => 'earliest');
DO $$ BEGIN
	FOR i IN 1 .. 15 LOOP
		PERFORM minikafka.poll('busy', 'm', 1);
		PERFORM minikafka.commit('busy', 'm');
		COMMIT;
	END LOOP;
END $$;
SELECT minikafka.pause('busy', 'm', 'expiring', 1);
SELECT minikafka.commit_offset('plain', 'expiring', 1, i, 'note ' || i) FROM generate_series(0, 5) i;
SELECT bool_and(rows > 5) AS several FROM progress WHERE group_id = 'busy';
SELECT group_id, topic, partition, "offset", metadata FROM minikafka.group_offsets ORDER BY 1, 2, 3;
CALL minikafka.maintain();
SELECT * FROM progress;
SELECT group_id, topic, partition, "offset", metadata FROM minikafka.group_offsets ORDER BY 1, 2, 3;
-- positions and pauses are as they were
SELECT partition, "offset" FROM minikafka.poll('busy', 'm', 2);
SELECT minikafka.resume('busy', 'm', 'expiring', 1);
SELECT partition, min("offset"), max("offset") FROM minikafka.poll('busy', 'm') GROUP BY 1 ORDER BY 1;
SELECT minikafka.committed('busy', 'expiring', partition) FROM generate_series(0, 1) partition;
-- more rows than a step removes
SELECT group_no, topic_id FROM minikafka.consumer_group, minikafka.topic
WHERE group_id = 'plain' AND rel = 'minikafka_topics.expiring'::regclass \gset
INSERT INTO minikafka.group_progress (group_no, topic_id, partition, number, next_offset, committed_at, committed_generation, member_no, generation, turn, paused)
SELECT :group_no, :topic_id, 0, n, 1 + n % 5, now(), 0, 0, 0, 0, false FROM generate_series(1, 45000) n;
CALL minikafka.maintain();
SELECT * FROM progress WHERE group_id = 'plain';
SELECT minikafka.committed('plain', 'expiring', 0);

-- Heartbeats: the newest of each kind
DO $$ BEGIN
	FOR i IN 1 .. 10 LOOP
		PERFORM set_config('minikafka.clock_offset', (i * 30)::text, false);
		PERFORM minikafka.heartbeat('busy', 'm');
		COMMIT;
		IF i < 6 THEN
			PERFORM minikafka.poll('busy', 'm');
			COMMIT;
		END IF;
	END LOOP;
END $$;
SELECT last_seen AS seen, last_poll AS polled FROM minikafka.group_members WHERE group_id = 'busy' \gset
SELECT bool_and(rows > 1) AS several FROM heartbeats WHERE group_id = 'busy';
CALL minikafka.maintain();
SELECT * FROM heartbeats;
SELECT last_seen = :'seen' AS same, last_poll = :'polled' AS same FROM minikafka.group_members WHERE group_id = 'busy';
-- of members that are no more, none
SELECT minikafka.join_group('busy', '{expiring}', 'm');
SELECT minikafka.leave_group('busy', 'm');
CALL minikafka.maintain();
SELECT * FROM heartbeats;
RESET minikafka.clock_offset;

-- Members whose timeouts have passed are removed, as any call would do it
SELECT minikafka.join_group('timely', '{expiring}', member) FROM unnest('{a, b}'::text[]) member;
SELECT minikafka.join_group('silent', '{expiring}', 'a', max_poll_interval => '50 s');
SET minikafka.clock_offset = 40;
SELECT minikafka.heartbeat('timely', 'a'), minikafka.heartbeat('silent', 'a');
CALL minikafka.maintain();
SELECT group_id, member_id, partitions FROM minikafka.group_members ORDER BY 1, 2;
SET minikafka.clock_offset = 60;
CALL minikafka.maintain();
SELECT group_id, member_id, partitions FROM minikafka.group_members ORDER BY 1, 2;
SELECT group_id, generation, state, members FROM minikafka.groups WHERE group_id IN ('timely', 'silent') ORDER BY 1;
SELECT minikafka.heartbeat('timely', 'b');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.heartbeat('silent', 'a');
-- nothing is done twice
CALL minikafka.maintain();
SELECT group_id, generation, state, members FROM minikafka.groups WHERE group_id IN ('timely', 'silent') ORDER BY 1;
SET minikafka.clock_offset = 120;
CALL minikafka.maintain();
SELECT group_id, state, members FROM minikafka.groups WHERE group_id IN ('timely', 'silent') ORDER BY 1;
-- a partition that is to move moves when the time for that is over
SELECT minikafka.join_group('moving', '{expiring}', 'a', session_timeout => '1 hour', rebalance_timeout => '1 min');
SELECT minikafka.join_group('moving', '{expiring}', 'b', session_timeout => '1 hour', rebalance_timeout => '1 min');
SELECT member_id, partitions FROM minikafka.group_members WHERE group_id = 'moving' ORDER BY 1;
SET minikafka.clock_offset = 200;
CALL minikafka.maintain();
SELECT member_id, partitions FROM minikafka.group_members WHERE group_id = 'moving' ORDER BY 1;
SELECT minikafka.leave_group('moving', member_id) FROM minikafka.group_members WHERE group_id = 'moving';
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;

-- Kafka case O19: offsets of a plain consumer, 7 days after the last commit
CREATE ROLE regress_reader;
GRANT USAGE ON SCHEMA minikafka TO regress_reader;
SELECT minikafka.commit_offset('plain', 'expiring', partition, 5) FROM generate_series(0, 1) partition;
SELECT minikafka.grant_group('plain', 'regress_reader');
SET minikafka.clock_offset = 300000;
SELECT minikafka.commit_offset('plain', 'expiring', 0, 6);
SET minikafka.clock_offset = 904000;
CALL minikafka.maintain();
SELECT partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'plain' ORDER BY 1;
SET minikafka.clock_offset = 905000;
CALL minikafka.maintain();
SELECT group_id FROM minikafka.groups;
SELECT minikafka.committed('plain', 'expiring', 0);
SELECT * FROM progress;
SELECT count(*) FROM minikafka.group_grant;
SELECT minikafka.lag('plain');
-- it is gone as if it had been deleted: the next role can have the name
GRANT SELECT ON minikafka_topics.expiring TO regress_reader;
SET ROLE regress_reader;
SELECT minikafka.commit_offset('plain', 'expiring', 0, 1);
RESET ROLE;
SELECT group_id, owner FROM minikafka.groups;

-- Kafka case O20: of a group that had members it counts from when it was empty
RESET minikafka.clock_offset;
SELECT minikafka.join_group('left', '{expiring}', 'm', auto_offset_reset => 'earliest', session_timeout => '20 days', max_poll_interval => '20 days');
SELECT minikafka.join_group('lost', '{expiring}', 'm', auto_offset_reset => 'earliest', session_timeout => '1 day', max_poll_interval => '20 days');
-- Kafka case O23: of a group that has members, be it rebalancing or not, none goes,
-- however old its commits; nor of one that is committing (spec expiry_race)
SELECT minikafka.join_group('live', '{expiring}', 'm', auto_offset_reset => 'earliest', session_timeout => '20 days', max_poll_interval => '20 days', rebalance_timeout => '20 days');
SELECT group_id, count(*) FROM unnest('{left, lost, live}'::text[]) group_id, minikafka.poll(group_id, 'm') GROUP BY 1 ORDER BY 1;
SELECT minikafka.commit(group_id, 'm') FROM unnest('{left, lost, live}'::text[]) group_id;
SELECT generation FROM minikafka.groups WHERE group_id = 'left' \gset
SET minikafka.clock_offset = 700000;
SELECT minikafka.leave_group('left', 'm');
SELECT minikafka.join_group('live', '{expiring}', 'n', session_timeout => '20 days', max_poll_interval => '20 days', rebalance_timeout => '20 days');
CALL minikafka.maintain();
SELECT group_id, members FROM minikafka.groups ORDER BY 1;
SET minikafka.clock_offset = 1300000;
CALL minikafka.maintain();
SELECT group_id, members FROM minikafka.groups ORDER BY 1;
SET minikafka.clock_offset = 1306000;
CALL minikafka.maintain();
SELECT group_id, members, state FROM minikafka.groups ORDER BY 1;
SELECT partition, "offset" FROM minikafka.group_offsets WHERE group_id = 'live' ORDER BY 1;
-- the generation of one that is made again goes on
SELECT minikafka.join_group('left', '{expiring}', 'm');
SELECT generation > :generation AS further FROM minikafka.groups WHERE group_id = 'left';
SELECT minikafka.leave_group(group_id, member_id) FROM minikafka.group_members;
-- the setting
SET minikafka.offsets_retention = '1h';
SET minikafka.clock_offset = 1309000;
CALL minikafka.maintain();
SELECT group_id FROM minikafka.groups ORDER BY 1;
SET minikafka.clock_offset = 1310000;
CALL minikafka.maintain();
SELECT group_id FROM minikafka.groups ORDER BY 1;
RESET minikafka.offsets_retention;
RESET minikafka.clock_offset;
-- nothing is left but names with their generations
SELECT * FROM progress;
SELECT count(*) FROM minikafka.group_member;
SELECT * FROM heartbeats;
SELECT group_id, owner FROM minikafka.consumer_group WHERE group_id IN ('busy', 'plain', 'left', 'lost', 'live') ORDER BY 1;
-- one that has no offset has nothing to lose: it stays, with its owner
SELECT minikafka.create_topic('gone', 1);
SELECT minikafka.commit_offset('topicless', 'gone', 0, 0);
SELECT minikafka.drop_topic('gone');
SET minikafka.clock_offset = 2000000;
CALL minikafka.maintain();
SELECT group_id FROM minikafka.groups;
RESET minikafka.clock_offset;

-- Kafka case T13: producers.  The last 1,000 sequences are known at least, and all
-- of an epoch that is not the newest can go
DO $$ BEGIN
	FOR i IN 0 .. 1499 LOOP
		PERFORM minikafka.send('expiring', i::text, partition => 0, producer => 'steady', sequence => i);
		COMMIT;
	END LOOP;
END $$;
SELECT minikafka.append('expiring', 1, NULL, 'v', producer => 'steady', sequence => 0) AS steady_offset \gset
CREATE VIEW sequences AS
SELECT producer, partition, p.epoch, min(first_sequence), max(last_sequence)
FROM minikafka.producer_progress p JOIN minikafka.producer USING (producer_id) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
CALL minikafka.maintain();
SELECT producer, partition, epoch, min > 0 AND max - min >= 999 AS enough, max FROM sequences WHERE producer = 'steady' AND partition = 0;
SELECT bool_and(minikafka.append('expiring', 0, NULL, i::text, producer => 'steady', sequence => i) = 20 + i) FROM generate_series(500, 1499) i;
SELECT minikafka.append('expiring', 0, NULL, 'again', producer => 'steady', sequence => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 1500);
SELECT epoch FROM minikafka.init_producer('steady');
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 0);
CALL minikafka.maintain();
SELECT producer, partition, epoch FROM sequences;
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 0);
-- 7 days after the last record of a partition; its name, its owner and its epoch
-- stay, so that an older epoch is fenced for ever
SET minikafka.clock_offset = 300000;
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 1);
SET minikafka.clock_offset = 610000;
CALL minikafka.maintain();
SELECT producer, partition, epoch FROM sequences;
SET minikafka.clock_offset = 910000;
CALL minikafka.maintain();
SELECT producer, partition, epoch FROM sequences;
SELECT epoch FROM minikafka.producer WHERE producer = 'steady';
GRANT INSERT ON minikafka_topics.expiring TO regress_reader;
SET ROLE regress_reader;
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 0);
RESET ROLE;
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 0, epoch => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('expiring', 0, NULL, 'v', producer => 'steady', sequence => 0, epoch => 1) > 0 AS appended;
RESET minikafka.clock_offset;

-- The inbox: 30 days
SELECT minikafka.inbox_accept('expiring', 'old ' || i, 'v') FROM generate_series(1, 2) i;
SET minikafka.clock_offset = 1000000;
SELECT minikafka.inbox_accept('expiring', 'young', 'v'), minikafka.inbox_accept('expiring', 'old 1', 'v');
SET minikafka.clock_offset = 2591000;
CALL minikafka.maintain();
SELECT event_id FROM minikafka.inbox JOIN minikafka.inbox_consumer USING (consumer_no) WHERE consumer = 'expiring' ORDER BY 1;
SET minikafka.clock_offset = 2593000;
CALL minikafka.maintain();
SELECT event_id FROM minikafka.inbox JOIN minikafka.inbox_consumer USING (consumer_no) WHERE consumer = 'expiring' ORDER BY 1;
-- what is forgotten is new, whatever its payload; the consumer keeps its owner
SELECT minikafka.inbox_accept('expiring', 'old 1', 'w'), minikafka.inbox_accept('expiring', 'young', 'v');
SET ROLE regress_reader;
SELECT minikafka.inbox_accept('expiring', 'new', 'v');
RESET ROLE;
SET minikafka.inbox_retention = '1h';
SET minikafka.clock_offset = 2600000;
CALL minikafka.maintain();
SELECT count(*) FROM minikafka.inbox;
RESET minikafka.inbox_retention;
-- more than a step removes
INSERT INTO minikafka.inbox SELECT consumer_no, i::text, NULL, '2020-01-01' FROM minikafka.inbox_consumer, generate_series(1, 45000) i WHERE consumer = 'expiring';
CALL minikafka.maintain();
SELECT count(*) FROM minikafka.inbox;
RESET minikafka.clock_offset;

SELECT minikafka.drop_topic('expiring');
DROP VIEW progress, heartbeats, sequences;
REVOKE USAGE ON SCHEMA minikafka FROM regress_reader;
DROP ROLE regress_reader;
DELETE FROM minikafka.inbox_consumer WHERE consumer = 'expiring';
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
