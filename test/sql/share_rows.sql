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
