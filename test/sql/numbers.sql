--
-- Numbers: none is given that a row bears, wherever the sequences stand; so after
-- a logical copy, which copies no sequences
--
SET client_min_messages = warning;
DROP EXTENSION minikafka CASCADE;
CREATE EXTENSION minikafka;
RESET client_min_messages;
SELECT minikafka.create_topic('first', 1), minikafka.create_topic('second', 1);
SELECT count(minikafka.send('first', i::text)) FROM generate_series(1, 10) i;
SELECT minikafka.commit_offset('billing', 'first', 0, 3);
SELECT minikafka.join_group('members', '{first}', 'a');
SELECT minikafka.append('first', 0, 'k', 'v', producer => 'shop', sequence => 0);
SELECT minikafka.inbox_accept('mailer', 'event');
CREATE VIEW numbers AS
SELECT 'topic' AS kind, topic_id AS number FROM minikafka.topic
UNION ALL SELECT 'group', group_no FROM minikafka.consumer_group
UNION ALL SELECT 'member', member_no FROM minikafka.group_member
UNION ALL SELECT 'producer', producer_id FROM minikafka.producer
UNION ALL SELECT 'consumer', consumer_no FROM minikafka.inbox_consumer;
CREATE PROCEDURE fall_back() LANGUAGE sql AS $$
SELECT setval(s.oid::regclass, 1, false) FROM pg_class s
WHERE s.relnamespace = 'minikafka'::regnamespace AND s.relkind = 'S'
$$;
CREATE TABLE before AS SELECT * FROM numbers;

CALL fall_back();
SELECT minikafka.create_topic('third', 1);
SELECT minikafka.commit_offset('mailer', 'first', 0, 10);
SELECT minikafka.committed('billing', 'first', 0), minikafka.committed('mailer', 'first', 0);
SELECT minikafka.join_group('members', '{first}', 'b');
SELECT minikafka.append('first', 0, 'k', 'v', producer => 'web', sequence => 0);
SELECT minikafka.inbox_accept('invoices', 'event'), minikafka.inbox_accept('mailer', 'event');
SELECT kind, count(*), count(DISTINCT number), min(number) FILTER (WHERE b IS NULL) > max(number) FILTER (WHERE b IS NOT NULL) AS above
FROM numbers n LEFT JOIN before b USING (kind, number) GROUP BY 1 ORDER BY 1;
SELECT * FROM minikafka.check_topic('first');

-- an epoch takes the number at the call, and a rollback does not give it back
CALL fall_back();
BEGIN;
SELECT producer_id > (SELECT max(producer_id) FROM minikafka.producer) AS above FROM minikafka.init_producer('rolled-back');
ROLLBACK;
SELECT producer_id > (SELECT max(producer_id) FROM minikafka.producer) AS above FROM minikafka.init_producer('epochs');

-- rows that are left of what is gone bear numbers too
TRUNCATE before;
INSERT INTO before SELECT kind, max(number) FROM numbers GROUP BY 1;
INSERT INTO minikafka.group_progress (group_no, topic_id, partition, number, member_no, generation, turn, paused)
VALUES (1000, 2000, 0, 1, 0, 0, 0, false);
INSERT INTO minikafka.member_heartbeat VALUES (3000, 1, now());
INSERT INTO minikafka.producer_progress VALUES (4000, 2001, 0, 0, 0, 0, 0, now());
INSERT INTO minikafka.group_assignment VALUES (1001, 2002, 0, 1, 1, 1, NULL);
INSERT INTO minikafka.inbox VALUES (5000, 'event', NULL, now());
SELECT minikafka.create_topic('fourth', 1);
SELECT minikafka.join_group('others', '{second}', 'a');
SELECT minikafka.append('first', 0, 'k', 'v', producer => 'app', sequence => 0), minikafka.inbox_accept('orders', 'event');
SELECT kind, n.number FROM numbers n JOIN before b USING (kind) WHERE n.number > b.number ORDER BY 1;

-- a table that a topic has left is not in the way of the next
CALL fall_back();
CREATE TABLE minikafka_data.p2004_0 ();
SELECT minikafka.create_topic('fifth', 1);
SELECT p.topic_id, p.rel FROM minikafka.partition p JOIN minikafka.topic t USING (topic_id) WHERE t.rel = 'minikafka_topics.fifth'::regclass;
DROP TABLE minikafka_data.p2004_0;

-- rows of share groups bear numbers too: of each table one has the greatest
CREATE FUNCTION next(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CALL fall_back();
	PERFORM minikafka.create_topic(name, 1);
	RETURN (SELECT max(topic_id) FROM minikafka.topic);
END $$;
INSERT INTO minikafka.share_checkpoint VALUES (1100, 2100, 0, 1, 0, 0, '{}', '{}', now());
SELECT next('sixth');
SELECT minikafka.create_share_group('sixth', '{sixth}');
INSERT INTO minikafka.share_done VALUES (1200, 2200, 0, 0, 0, 0);
SELECT next('seventh');
SELECT minikafka.create_share_group('seventh', '{seventh}');
INSERT INTO minikafka.share_delivery VALUES (1300, 2300, 0, 0, 0, 1, 0, 'failed', 1, 0, NULL, now(), NULL);
SELECT next('eighth');
SELECT minikafka.create_share_group('eighth', '{eighth}');
SELECT group_id, group_no FROM minikafka.consumer_group WHERE kind = 'share' ORDER BY 2;
DROP FUNCTION next(text);

-- no number can be written twice
\set VERBOSITY sqlstate
UPDATE minikafka.consumer_group SET group_no = 1;
UPDATE minikafka.group_member SET member_no = 1;
INSERT INTO minikafka.inbox_consumer (consumer, consumer_no, owner) OVERRIDING SYSTEM VALUE
SELECT 'twice', min(consumer_no), current_user FROM minikafka.inbox_consumer;
\set VERBOSITY default

-- Maintenance looks after nothing while a dump is restored: while there are rows
-- and no sequence has given a number.  Where none is restored, the first that is
-- sent moves the sequences.
CALL fall_back();
CALL minikafka.maintain();
\c
SELECT minikafka.send('first', 'v');
CALL minikafka.maintain();
SELECT last_value >= (SELECT max(topic_id) FROM minikafka.topic) AS topic_id FROM minikafka.topic_id;
SELECT last_value >= (SELECT max(group_no) FROM minikafka.consumer_group) AS group_no FROM minikafka.group_no;
-- or what the hint says
CALL fall_back();
CALL minikafka.maintain();
SELECT setval('minikafka.topic_id', max(topic_id)) > 0 FROM minikafka.topic;
CALL minikafka.maintain();
-- where one of them only is behind, as after pg_restore --clean over what is
-- newer, nothing is being restored
SELECT setval('minikafka.topic_id', 1), setval('minikafka.group_no', 1);
CALL minikafka.maintain();

SET client_min_messages = warning;
DROP EXTENSION minikafka CASCADE;
DROP VIEW IF EXISTS numbers;
DROP PROCEDURE fall_back();
DROP TABLE before;
CREATE EXTENSION minikafka;
