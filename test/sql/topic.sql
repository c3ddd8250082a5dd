--
-- Topics: making, changing, dropping them, and the views that show them
--
SET client_min_messages = notice;

-- the defaults
SELECT minikafka.create_topic('first');
SELECT topic, partitions, partitioner, cleanup_policy, retention,
	retention_bytes, segment_records, max_message_bytes, min_insync_replicas,
	owner = current_user AS mine
FROM minikafka.topics WHERE topic = 'first';
SELECT topic, partition, log_start_offset, end_offset, segments, bytes > 0 AS bytes
FROM minikafka.partitions WHERE topic = 'first' ORDER BY partition;
SELECT created_at BETWEEN now() - interval '1 minute' AND clock_timestamp() AS sane
FROM minikafka.topics WHERE topic = 'first';

-- a topic is a partitioned table, with these columns in this order
SELECT relkind, pg_get_partkeydef(oid), relowner::regrole::text = current_user AS mine
FROM pg_class WHERE oid = 'minikafka_topics.first'::regclass;
SELECT attname, atttypid::regtype, attnotnull
FROM pg_attribute
WHERE attrelid = 'minikafka_topics.first'::regclass AND attnum > 0
ORDER BY attnum;
-- below it a table for each partition, partitioned by offset, and segments
SELECT DISTINCT level, pg_get_partkeydef(relid), isleaf
FROM pg_partition_tree('minikafka_topics.first') ORDER BY level;
-- the primary key of a segment; what keeps vacuum from locking readers out
SELECT pg_get_constraintdef(k.oid), c.reloptions
FROM pg_partition_tree('minikafka_topics.first') t
JOIN pg_class c ON c.oid = t.relid
JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
WHERE t.isleaf
GROUP BY 1, 2;

-- other options
SELECT minikafka.create_topic('second', partitions => 2, partitioner => 'md5',
	segment_records => 10, max_message_bytes => 100,
	cleanup_policy => 'delete', min_insync_replicas => 1);
SELECT topic, partitions, partitioner, segment_records, max_message_bytes
FROM minikafka.topics ORDER BY topic;

-- it exists
SELECT minikafka.create_topic('first');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('first', 7, if_not_exists => true);
SELECT partitions FROM minikafka.topics WHERE topic = 'first';

-- how records go
SELECT minikafka.create_topic('aged', 1, retention => '1 day', retention_bytes => 1000),
	minikafka.create_topic('compacted', 1, cleanup_policy => 'compact'),
	minikafka.create_topic('both', 1, retention => '1 month 1 day 1 hour', cleanup_policy => 'delete,compact');
SELECT topic, cleanup_policy, retention, retention_bytes, delete_retention, min_compaction_lag
FROM minikafka.topics WHERE topic IN ('aged', 'compacted', 'both') ORDER BY topic;
SELECT minikafka.drop_topic('aged'), minikafka.drop_topic('compacted'), minikafka.drop_topic('both');
-- an option whose mechanism is not built is refused, never taken in silence
SELECT minikafka.create_topic('third', min_insync_replicas => 2);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.topics WHERE topic = 'third';

-- set_topic_option
SELECT minikafka.set_topic_option('first', 'max_message_bytes', '7');
SELECT max_message_bytes FROM minikafka.topics WHERE topic = 'first';
SELECT minikafka.send('first', '12345678');
SELECT minikafka.set_topic_option('first', 'max_message_bytes', NULL);
SELECT max_message_bytes FROM minikafka.topics WHERE topic = 'first';
SELECT minikafka.send('first', '12345678', partition => 0);
SELECT minikafka.set_topic_option('first', 'retention', '1 day'),
	minikafka.set_topic_option('first', 'retention_bytes', '1000'),
	minikafka.set_topic_option('first', 'cleanup_policy', 'delete,compact'),
	minikafka.set_topic_option('first', 'delete_retention', '1 hour'),
	minikafka.set_topic_option('first', 'min_compaction_lag', '0');
SELECT cleanup_policy, retention, retention_bytes, delete_retention, min_compaction_lag
FROM minikafka.topics WHERE topic = 'first';
-- they hold from then on
SELECT minikafka.send('first', 'without a key', partition => 0);
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.set_topic_option('first', 'cleanup_policy', 'delete');
SELECT minikafka.send('first', 'without a key', partition => 1);
ROLLBACK;
SELECT minikafka.set_topic_option('first', 'retention', NULL),
	minikafka.set_topic_option('first', 'retention_bytes', NULL),
	minikafka.set_topic_option('first', 'cleanup_policy', NULL),
	minikafka.set_topic_option('first', 'delete_retention', NULL),
	minikafka.set_topic_option('first', 'min_compaction_lag', NULL);
SELECT cleanup_policy, retention, retention_bytes, delete_retention, min_compaction_lag
FROM minikafka.topics WHERE topic = 'first';
-- the only values that this one can have
SELECT minikafka.set_topic_option('first', 'min_insync_replicas', '1'),
	minikafka.set_topic_option('first', 'min_insync_replicas', NULL);
SELECT minikafka.set_topic_option('first', 'min_insync_replicas', '2');
\echo :LAST_ERROR_SQLSTATE

-- add_partitions: the records stay, keys move, and a NOTICE says so
SELECT minikafka.send('first', 'kept', partition => 2);
SELECT minikafka.add_partitions('first', 5);
SELECT minikafka.add_partitions('first', 5);
SELECT minikafka.add_partitions('first', 4);
\echo :LAST_ERROR_SQLSTATE
SELECT partition, end_offset, segments
FROM minikafka.partitions WHERE topic = 'first' ORDER BY partition;
SELECT value FROM minikafka.fetch_text('first', 2, 0);
SELECT minikafka.send('first', 'new', partition => 4);
SELECT value FROM minikafka.fetch_text('first', 4, 0);
-- also to a partition made in the same transaction; and all of it rolls back
BEGIN;
SELECT minikafka.add_partitions('first', 6);
SELECT minikafka.send('first', 'gone', partition => 5);
ROLLBACK;
SELECT minikafka.send('first', 'gone', partition => 5);
BEGIN;
SELECT minikafka.add_partitions('first', 6);
SELECT minikafka.send('first', 'sixth', partition => 5);
COMMIT;
SELECT value FROM minikafka.fetch_text('first', 5, 0);

-- a topic made, written to, dropped, made again, all in one transaction
BEGIN;
SELECT minikafka.create_topic('brief', 1);
SELECT minikafka.send('brief', 'one');
SELECT minikafka.drop_topic('brief');
SELECT minikafka.create_topic('brief', 1);
COMMIT;
-- what was sent was for the topic that is no more
SELECT count(*) FROM minikafka.topics WHERE topic = 'brief';
BEGIN;
SELECT minikafka.create_topic('brief', 1);
SAVEPOINT s;
SELECT minikafka.drop_topic('brief');
SELECT minikafka.create_topic('brief', 2);
ROLLBACK TO s;
SELECT minikafka.send('brief', 'two', partition => 0);
COMMIT;
SELECT partitions FROM minikafka.topics WHERE topic = 'brief';
SELECT value FROM minikafka.fetch_text('brief', 0, 0);
-- a rolled back topic leaves nothing
BEGIN;
SELECT minikafka.create_topic('never', 1);
SELECT minikafka.send('never', 'x');
ROLLBACK;
SELECT minikafka.send('never', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.topic WHERE rel NOT IN (SELECT oid FROM pg_class);

-- drop_topic takes records, tables and committed offsets with it
SELECT minikafka.commit_offset('topic_group', 'brief', 0, 1);
SELECT topic_id AS brief_id FROM minikafka.topic
WHERE rel = 'minikafka_topics.brief'::regclass \gset
SELECT minikafka.drop_topic('brief');
SELECT minikafka.drop_topic('brief');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.drop_topic('brief', if_exists => true);
SELECT (SELECT count(*) FROM minikafka.topic WHERE topic_id = :brief_id) AS topic,
	(SELECT count(*) FROM minikafka.partition WHERE topic_id = :brief_id) AS partition,
	(SELECT count(*) FROM minikafka.segment WHERE topic_id = :brief_id) AS segment,
	(SELECT count(*) FROM minikafka.group_progress WHERE topic_id = :brief_id) AS progress,
	(SELECT count(*) FROM pg_class
	 WHERE relnamespace = 'minikafka_data'::regnamespace
		AND relname LIKE format('p%s\_%%', :brief_id)) AS tables;
-- a topic of the same name is another topic
SELECT minikafka.create_topic('brief', 1);
SELECT minikafka.committed('topic_group', 'brief', 0);
SELECT count(*) FROM minikafka.fetch('brief', 0, 0);
-- a transaction that has sent to a topic that is dropped, and made again, in
-- between fails when it commits
BEGIN;
SELECT minikafka.send('brief', 'to the old one', partition => 0);
SELECT minikafka.drop_topic('brief');
COMMIT;
\echo :LAST_ERROR_SQLSTATE

-- what others have built on a topic keeps it
CREATE VIEW topic_view AS SELECT * FROM minikafka_topics.brief;
SELECT minikafka.drop_topic('brief');
\echo :LAST_ERROR_SQLSTATE
DROP VIEW topic_view;

-- a table among the topics that is none
CREATE TABLE minikafka_topics.table_only ("offset" bigint, partition int);
SELECT minikafka.send('table_only', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.fetch('table_only', 0, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('table_only');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.create_topic('table_only', if_not_exists => true);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.drop_topic('table_only', if_exists => true);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.topics WHERE topic = 'table_only';
DROP TABLE minikafka_topics.table_only;

-- DROP TABLE in place of drop_topic(): the topic is gone too, and its name free
DROP TABLE minikafka_topics.brief;
SELECT minikafka.send('brief', 'x');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.topics WHERE topic = 'brief';
SELECT minikafka.create_topic('brief', 1);
SELECT minikafka.send('brief', 'x');
SELECT value FROM minikafka.fetch_text('brief', 0, 0);

-- a topic that has more tables than one transaction can lock says so at once
\set VERBOSITY terse
SELECT minikafka.create_topic('wide', 10000);
\set VERBOSITY default
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM minikafka.topics WHERE topic = 'wide';

-- renaming the table renames the topic
ALTER TABLE minikafka_topics.brief RENAME TO renamed;
SELECT minikafka.send('brief', 'y');
SELECT minikafka.send('renamed', 'y');
SELECT topic, value FROM minikafka.fetch_text('renamed', 0, 0) ORDER BY "offset";

SELECT minikafka.drop_topic('renamed'), minikafka.drop_topic('first'),
	minikafka.drop_topic('second');
SELECT count(*) FROM minikafka.topics;
