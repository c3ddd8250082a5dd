--
-- check_topic(): no row for a sound topic, one for each thing that is broken
--
-- The names of tables have the topic's number in them.
SELECT setval('minikafka.topic_id', 910000) \gset
SELECT minikafka.create_topic('sound', 2, segment_records => 4);
SELECT count(minikafka.send('sound', 'v', partition => p))
FROM generate_series(0, 1) p, generate_series(1, 10) i;
SELECT minikafka.commit_offset('checked', 'sound', 0, 10);
SELECT * FROM minikafka.check_topic('sound');
SELECT minikafka.create_topic('bare', 1);
SELECT * FROM minikafka.check_topic('bare');

-- a ts that goes back
SET session_replication_role = replica;
BEGIN;
UPDATE minikafka_topics.sound SET ts = ts - interval '1 second' WHERE partition = 1 AND "offset" IN (2, 5);
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
-- holes are worth a notice: in the middle, over a segment, at the start
BEGIN;
DELETE FROM minikafka_topics.sound WHERE partition = 0 AND "offset" = 1;
DELETE FROM minikafka_topics.sound WHERE partition = 0 AND "offset" BETWEEN 3 AND 8;
DELETE FROM minikafka_topics.sound WHERE partition = 1 AND "offset" < 2;
SELECT * FROM minikafka.check_topic('sound');
-- and readers step over them
SELECT partition, "offset" FROM generate_series(0, 1) p, LATERAL minikafka.fetch('sound', p, 0)
ORDER BY 1, 2;
ROLLBACK;
-- rows below the log start do not matter any more
BEGIN;
SELECT minikafka.delete_records('sound', 1, 6);
COMMIT;
BEGIN;
DELETE FROM minikafka_topics.sound WHERE partition = 1 AND "offset" IN (1, 3, 5);
UPDATE minikafka_topics.sound SET ts = ts - interval '1 second' WHERE partition = 1 AND "offset" = 2;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
RESET session_replication_role;

-- a table that is missing: a segment, the newest one, a partition with all its
-- segments
BEGIN;
DROP TABLE minikafka_data.p910001_0_1;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
DROP TABLE minikafka_data.p910001_0_2;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
DROP TABLE minikafka_data.p910001_0;
SELECT DISTINCT severity, partition FROM minikafka.check_topic('sound');
ROLLBACK;
-- a table that is not attached
BEGIN;
ALTER TABLE minikafka_data.p910001_0 DETACH PARTITION minikafka_data.p910001_0_1;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
ALTER TABLE minikafka_topics.sound DETACH PARTITION minikafka_data.p910001_0;
SELECT DISTINCT severity, partition FROM minikafka.check_topic('sound');
ROLLBACK;

-- a table that was altered
BEGIN;
ALTER TABLE minikafka_data.p910001_0_1 DROP CONSTRAINT p910001_0_1_pkey;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
ALTER TABLE minikafka_data.p910001_0_1 SET UNLOGGED;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
ALTER TABLE minikafka_topics.bare ADD COLUMN extra int;
SELECT * FROM minikafka.check_topic('bare');
ROLLBACK;
BEGIN;
ALTER TABLE minikafka_topics.bare ALTER COLUMN value TYPE text USING 'x';
SELECT * FROM minikafka.check_topic('bare');
ROLLBACK;

-- names do not matter
BEGIN;
ALTER TABLE minikafka_data.p910001_0_0 RENAME TO p;
ALTER TABLE minikafka_data.p910001_0_1 RENAME TO p910001_0_0;
ALTER TABLE minikafka_data.p RENAME TO p910001_0_1;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
-- but a table is no other segment's, nor one of another partition or topic
BEGIN;
UPDATE minikafka.segment SET rel = 'minikafka_data.p910001_0_1' WHERE topic_id = 910001 AND partition = 0 AND segment = 0;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
UPDATE minikafka.segment SET rel = 'minikafka_data.p910001_1_2' WHERE topic_id = 910001 AND partition = 0 AND segment = 2;
SELECT * FROM minikafka.check_topic('sound');
SELECT * FROM minikafka.fetch('sound', 0, 8);
ROLLBACK;
BEGIN;
UPDATE minikafka.partition SET rel = 'minikafka_data.p910001_1' WHERE topic_id = 910001 AND partition = 0;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;

-- committed offsets beyond the end, and of what does not exist; only the
-- newest of a group and partition counts
SELECT group_no FROM minikafka.consumer_group WHERE group_id = 'checked' \gset
BEGIN;
UPDATE minikafka.group_progress SET next_offset = 11 WHERE group_no = :group_no;
SELECT severity, partition, "offset", replace(problem, 'number ' || :group_no, 'number N') AS problem
FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
UPDATE minikafka.group_progress SET next_offset = -2 WHERE group_no = :group_no;
SELECT severity, partition, "offset", replace(problem, 'number ' || :group_no, 'number N') AS problem
FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
UPDATE minikafka.group_progress SET partition = 2 WHERE group_no = :group_no;
SELECT severity, partition, "offset", replace(problem, 'number ' || :group_no, 'number N') AS problem
FROM minikafka.check_topic('sound');
ROLLBACK;
BEGIN;
UPDATE minikafka.group_progress SET next_offset = 11 WHERE group_no = :group_no;
INSERT INTO minikafka.group_progress
SELECT group_no, topic_id, partition, number + 1, 10, metadata, committed_at, committed_by,
	committed_generation, member_no, generation, position, turn, paused
FROM minikafka.group_progress WHERE group_no = :group_no;
SELECT * FROM minikafka.check_topic('sound');
ROLLBACK;
-- the same of another topic is no concern of this one
SELECT minikafka.commit_offset('checked', 'bare', 0, 0);
BEGIN;
UPDATE minikafka.group_progress SET next_offset = 99 WHERE topic_id = 910002;
SELECT * FROM minikafka.check_topic('sound');
SELECT severity, partition, "offset" FROM minikafka.check_topic('bare');
ROLLBACK;

-- what a share group has noted: a sound group, and each thing that can be wrong
SELECT minikafka.create_share_group('sharing', '{sound}', backoff => '1 min');
SELECT count(*) FROM minikafka.acquire('sharing', 3, accept => true);
SELECT "offset" FROM minikafka.reset_offsets('sharing', 'sound', 'earliest');
BEGIN;
SELECT count(minikafka.acknowledge('sharing', receipt,
	CASE WHEN "offset" = 2 THEN 'fail' WHEN partition = 1 AND "offset" > 7 THEN 'release' ELSE 'accept' END))
FROM minikafka.acquire('sharing', 99);
COMMIT;
SELECT * FROM minikafka.check_topic('sound');
SELECT group_no AS shared_no FROM minikafka.consumer_group WHERE group_id = 'sharing' \gset
CREATE FUNCTION pg_temp.problems() RETURNS TABLE (severity text, partition int, "offset" bigint, problem text) LANGUAGE sql AS $$
	SELECT severity, partition, "offset", regexp_replace(problem, 'number [0-9]+', 'number N') FROM minikafka.check_topic('sound')
$$;
BEGIN;
INSERT INTO minikafka.share_done VALUES (:shared_no, 910001, 0, 1, 10, 9);
SELECT * FROM pg_temp.problems();
ROLLBACK;
BEGIN;
INSERT INTO minikafka.share_checkpoint VALUES (:shared_no, 910001, 0, 2, 1, 11, '{}', '{}', now());
SELECT * FROM pg_temp.problems();
ROLLBACK;
BEGIN;
INSERT INTO minikafka.share_delivery VALUES (:shared_no, 910001, 0, 1, 12, 1, 1, 'failed', 1, 0, NULL, now(), NULL);
SELECT * FROM pg_temp.problems();
ROLLBACK;
BEGIN;
INSERT INTO minikafka.share_done VALUES (:shared_no, 910001, 1, 1, 9, 7), (:shared_no, 910001, 1, 2, 3, 3),
	(:shared_no, 910001, 5, 1, 3, 3), (999999, 910001, 0, 0, 3, 3);
INSERT INTO minikafka.share_checkpoint VALUES (:shared_no, 910001, 0, 2, 1, 6, '{4,3}', '{1,2}', now());
SELECT * FROM pg_temp.problems();
UPDATE minikafka.share_group SET epoch = 0 WHERE group_no = :shared_no;
SELECT * FROM pg_temp.problems() WHERE problem LIKE '%era';
ROLLBACK;
-- rows of a former era mean nothing
BEGIN;
INSERT INTO minikafka.share_done VALUES (:shared_no, 910001, 0, 0, 99, 90);
SELECT * FROM pg_temp.problems();
ROLLBACK;
SELECT minikafka.delete_group('sharing');

-- a catalog that lacks the segments
BEGIN;
DELETE FROM minikafka.segment WHERE topic_id = 910002;
SELECT * FROM minikafka.check_topic('bare');
ROLLBACK;

-- nothing of it was kept
SELECT * FROM minikafka.check_topic('sound');
SELECT * FROM minikafka.check_topic('bare');

-- segments that lie wholly below the log start may be dropped by hand
ALTER SEQUENCE minikafka.topic_id RESTART 910003;
SELECT minikafka.create_topic('passed', 1, segment_records => 2);
SELECT count(minikafka.send('passed', i::text)) FROM generate_series(0, 6) i;
SELECT minikafka.delete_records('passed', 0, 5);
DROP TABLE minikafka_data.p910003_0_0, minikafka_data.p910003_0_1;
SELECT * FROM minikafka.check_topic('passed');
SELECT minikafka.send('passed', '7');
SELECT "offset", value FROM minikafka.fetch_text('passed', 0, 5);
SELECT * FROM minikafka.fetch('passed', 0, 4);
SELECT topic, log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'passed';
-- but not this one
BEGIN;
DROP TABLE minikafka_data.p910003_0_2;
SELECT * FROM minikafka.check_topic('passed');
SELECT * FROM minikafka.fetch('passed', 0, 5);
ROLLBACK;
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
