/*
 * The catalog.  Only the C code writes it, and only it needs to read it; the
 * views show each role what concerns it.  Rows name each other by number, and
 * a topic's table by regclass, so a dump restored elsewhere fits together.
 */
CREATE SEQUENCE minikafka.topic_id AS integer;
CREATE SEQUENCE minikafka.group_no AS integer;

-- A topic: its table is its name, its owner and its rights.
CREATE TABLE minikafka.topic (
	topic_id integer PRIMARY KEY,
	rel regclass NOT NULL UNIQUE,
	partitions integer NOT NULL,
	partitioner text NOT NULL,
	cleanup_policy text NOT NULL,
	segment_records bigint NOT NULL,
	max_message_bytes integer NOT NULL,
	min_insync_replicas integer NOT NULL,
	retention interval,
	retention_bytes bigint,
	created_at timestamptz NOT NULL
);

CREATE TABLE minikafka.partition (
	topic_id integer,
	partition integer,
	log_start_offset bigint NOT NULL,
	PRIMARY KEY (topic_id, partition)
);

-- The segments that there should be.
CREATE TABLE minikafka.segment (
	topic_id integer,
	partition integer,
	segment bigint,
	PRIMARY KEY (topic_id, partition, segment)
);

CREATE TABLE minikafka.consumer_group (
	group_no integer PRIMARY KEY,
	group_id text COLLATE "C" NOT NULL UNIQUE,
	owner name NOT NULL
);

-- Newest first: the committed offset is the row of the greatest number.
CREATE TABLE minikafka.group_progress (
	group_no integer,
	topic_id integer,
	partition integer,
	number bigint,
	next_offset bigint NOT NULL,
	metadata text,
	committed_at timestamptz NOT NULL,
	PRIMARY KEY (group_no, topic_id, partition, number)
);

COMMENT ON SCHEMA minikafka IS 'functions, views and catalog of minikafka';
COMMENT ON SCHEMA minikafka_topics IS 'the topics of minikafka, a partitioned table each';
COMMENT ON SCHEMA minikafka_data IS 'the partitions and segments of the topics of minikafka';
COMMENT ON SEQUENCE minikafka.topic_id IS 'numbers of topics';
COMMENT ON SEQUENCE minikafka.group_no IS 'numbers of groups';

COMMENT ON TABLE minikafka.topic IS 'catalog: topics';
COMMENT ON COLUMN minikafka.topic.topic_id IS 'number of the topic, in the names of its tables';
COMMENT ON COLUMN minikafka.topic.rel IS 'table of the topic';
COMMENT ON COLUMN minikafka.topic.partitions IS 'number of partitions';
COMMENT ON COLUMN minikafka.topic.partitioner IS 'how keys are put to partitions';
COMMENT ON COLUMN minikafka.topic.cleanup_policy IS 'how old records go';
COMMENT ON COLUMN minikafka.topic.segment_records IS 'offsets in a segment table';
COMMENT ON COLUMN minikafka.topic.max_message_bytes IS 'most bytes of a record';
COMMENT ON COLUMN minikafka.topic.min_insync_replicas IS 'synchronous standbys that a commit needs, with the primary';
COMMENT ON COLUMN minikafka.topic.retention IS 'how long records are kept';
COMMENT ON COLUMN minikafka.topic.retention_bytes IS 'how many bytes of a partition are kept';
COMMENT ON COLUMN minikafka.topic.created_at IS 'when the topic was created';

COMMENT ON TABLE minikafka.partition IS 'catalog: partitions';
COMMENT ON COLUMN minikafka.partition.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.partition.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.partition.log_start_offset IS 'first offset that can be read';

COMMENT ON TABLE minikafka.segment IS 'catalog: segments that there should be';
COMMENT ON COLUMN minikafka.segment.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.segment.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.segment.segment IS 'number of the segment: its first offset divided by segment_records';

COMMENT ON TABLE minikafka.consumer_group IS 'catalog: consumer groups';
COMMENT ON COLUMN minikafka.consumer_group.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.consumer_group.group_id IS 'name of the group';
COMMENT ON COLUMN minikafka.consumer_group.owner IS 'role that used the group first';

COMMENT ON TABLE minikafka.group_progress IS 'committed offsets: the row of the greatest number counts';
COMMENT ON COLUMN minikafka.group_progress.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.group_progress.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.group_progress.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.group_progress.number IS 'grows by one with each commit';
COMMENT ON COLUMN minikafka.group_progress.next_offset IS 'offset to read next';
COMMENT ON COLUMN minikafka.group_progress.metadata IS 'what the consumer noted with it';
COMMENT ON COLUMN minikafka.group_progress.committed_at IS 'when it was committed';

-- A topic's row outlives a DROP TABLE of its table; a dump must not keep it,
-- since the number that it would show could be another table elsewhere.
SELECT pg_extension_config_dump('minikafka.topic', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rel)');
SELECT pg_extension_config_dump('minikafka.partition', '');
SELECT pg_extension_config_dump('minikafka.segment', '');
SELECT pg_extension_config_dump('minikafka.consumer_group', '');
SELECT pg_extension_config_dump('minikafka.group_progress', '');
SELECT pg_extension_config_dump('minikafka.topic_id', '');
SELECT pg_extension_config_dump('minikafka.group_no', '');
