--
-- Rows of share groups go with their topic and with their group
--
SELECT minikafka.create_topic('shared-a', 1), minikafka.create_topic('shared-b', 1), minikafka.create_topic('shared-c', 1);
SELECT minikafka.create_share_group(g, '{shared-a, shared-b, shared-c}') FROM unnest('{sharing one, sharing two}'::text[]) g;
INSERT INTO minikafka.share_checkpoint SELECT group_no, topic_id, 0, 1, 0, 0, '{}', '{}', now() FROM minikafka.share_topic;
INSERT INTO minikafka.share_done SELECT group_no, topic_id, 0, 0, 9, 5 FROM minikafka.share_topic;
INSERT INTO minikafka.share_delivery SELECT group_no, topic_id, 0, 0, 3, 1, 1, 'locked', 1, 7, now(), now(), NULL FROM minikafka.share_topic;
CREATE VIEW share_rows AS
SELECT r.relation, group_id, relname AS topic, count(*)
FROM (SELECT 'checkpoint', group_no, topic_id FROM minikafka.share_checkpoint
	UNION ALL SELECT 'done', group_no, topic_id FROM minikafka.share_done
	UNION ALL SELECT 'delivery', group_no, topic_id FROM minikafka.share_delivery
	UNION ALL SELECT 'topic', group_no, topic_id FROM minikafka.share_topic) r(relation, group_no, topic_id)
LEFT JOIN minikafka.consumer_group USING (group_no)
LEFT JOIN minikafka.topic USING (topic_id) LEFT JOIN pg_class c ON c.oid = rel
WHERE group_id LIKE 'sharing %' OR group_id IS NULL
GROUP BY 1, 2, 3;
SELECT topic, string_agg(format('%s %s', group_id, relation), ', ' ORDER BY group_id, relation) FROM share_rows GROUP BY 1 ORDER BY 1;
-- a topic that is dropped, and one whose table was
SELECT minikafka.drop_topic('shared-a');
DROP TABLE minikafka_topics."shared-b";
SET client_min_messages = error; -- the warning has the topic's number
CALL minikafka.maintain();
RESET client_min_messages;
SELECT topic, string_agg(format('%s %s', group_id, relation), ', ' ORDER BY group_id, relation) FROM share_rows GROUP BY 1 ORDER BY 1;
-- a group that is deleted
SELECT minikafka.delete_group('sharing one');
SELECT topic, string_agg(format('%s %s', group_id, relation), ', ' ORDER BY group_id, relation) FROM share_rows GROUP BY 1 ORDER BY 1;
-- a group of the same name has nothing of it
SELECT minikafka.create_share_group('sharing one', '{shared-c}');
SELECT topic, string_agg(format('%s %s', group_id, relation), ', ' ORDER BY group_id, relation) FROM share_rows GROUP BY 1 ORDER BY 1;
SELECT minikafka.delete_group(g) FROM unnest('{sharing one, sharing two}'::text[]) g;
SELECT * FROM share_rows;
SELECT count(*) FROM minikafka.share_group WHERE group_no NOT IN (SELECT group_no FROM minikafka.consumer_group WHERE owner <> '');
DROP VIEW share_rows;
SELECT minikafka.drop_topic('shared-c');

--
-- A log that has lost records, as after a restore without them: what a share group
-- has noted of records beyond its tail does not count for those to come
--
SELECT minikafka.create_topic('lossy', 2, segment_records => 10);
SELECT minikafka.create_share_group('sharing lossy', '{lossy}');
SELECT group_no, topic_id FROM minikafka.share_topic JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'sharing lossy' \gset
CREATE FUNCTION share_state(OUT epoch int, OUT version bigint, OUT checkpoints text, OUT done text, OUT deliveries text) STABLE LANGUAGE sql AS $$
SELECT s.epoch, g.version,
	(SELECT string_agg(format('%s.%s era %s: %s %s %s', partition, number, era, high, exceptions, slots), ', ' ORDER BY partition, number)
		FROM minikafka.share_checkpoint WHERE group_no = s.group_no),
	(SELECT string_agg(format('%s era %s: %s-%s', partition, era, first_offset, last_offset), ', ' ORDER BY partition, era, last_offset)
		FROM minikafka.share_done WHERE group_no = s.group_no),
	(SELECT string_agg(format('%s era %s: %s.%s %s', partition, era, record_offset, number, error), ', ' ORDER BY partition, era, record_offset, number)
		FROM minikafka.share_delivery WHERE group_no = s.group_no)
FROM minikafka.share_group s JOIN minikafka.consumer_group g USING (group_no) WHERE group_id = 'sharing lossy'
$$;
-- partition 0 has lost all, and partition 1 what lies beyond its first segment
SELECT count(minikafka.send('lossy', 'v', partition => 1)) FROM generate_series(0, 9);
CALL minikafka.maintain();
INSERT INTO minikafka.share_checkpoint VALUES
	(:group_no, :topic_id, 0, 3, 0, 20, '{7,12}', '{70,120}', now()),
	(:group_no, :topic_id, 1, 1, 0, 8, '{2,5}', '{20,-50}', now());
INSERT INTO minikafka.share_done (group_no, topic_id, partition, era, first_offset, last_offset)
SELECT :group_no, :topic_id, partition, 0, first, last
FROM (VALUES (0, 7, 7), (0, 25, 30), (1, 1, 1), (1, 5, 5), (1, 9, 12), (1, 15, 20)) v(partition, first, last);
INSERT INTO minikafka.share_delivery
SELECT :group_no, :topic_id, partition, 0, record_offset, n, 0, 'failed', 1, 20, NULL, now(), repeat('e', record_offset)
FROM (VALUES (0, 12), (1, 2), (1, 3), (1, 8), (1, 14)) v(partition, record_offset), generate_series(1, 2) n;
SELECT * FROM share_state() \gx
-- nothing is lost where the partition was made here
CALL minikafka.maintain();
SELECT epoch, checkpoints FROM share_state() \gx
DELETE FROM minikafka.settled_partition WHERE topic_id = :topic_id;
\c -
-- before the first record that a session sends (one remembers that it has looked)
BEGIN;
SELECT minikafka.send('lossy', 'v', partition => 0);
COMMIT;
SELECT epoch, checkpoints FROM share_state() \gx
-- by maintenance, which also removes the former era
\set VERBOSITY terse
CALL minikafka.maintain();
\set VERBOSITY default
SELECT * FROM share_state() \gx
-- and nothing more
DELETE FROM minikafka.settled_partition WHERE topic_id = :topic_id;
\c -
CALL minikafka.maintain();
SELECT epoch, checkpoints FROM share_state() \gx
SELECT minikafka.delete_group('sharing lossy');
SELECT minikafka.drop_topic('lossy');
DROP FUNCTION share_state();
