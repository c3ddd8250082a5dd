/*
 * The catalog.  Only the C code writes it, and only it needs to read it; the
 * views show each role what concerns it.  Rows name each other by number, and
 * a topic's tables by regclass, so a dump restored elsewhere fits together.
 */
CREATE SEQUENCE minikafka.topic_id AS integer;
CREATE SEQUENCE minikafka.group_no AS integer;
CREATE SEQUENCE minikafka.member_no AS integer;
CREATE SEQUENCE minikafka.producer_id AS integer;

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
	delete_retention interval,
	min_compaction_lag interval,
	created_at timestamptz NOT NULL,
	value_format text NOT NULL
);

CREATE TABLE minikafka.partition (
	topic_id integer,
	partition integer,
	log_start_offset bigint NOT NULL,
	rel regclass NOT NULL,
	PRIMARY KEY (topic_id, partition)
);

-- The segments that there should be.
CREATE TABLE minikafka.segment (
	topic_id integer,
	partition integer,
	segment bigint,
	rel regclass NOT NULL,
	PRIMARY KEY (topic_id, partition, segment)
);

-- Passes of compaction that came to their end: the last, and those before whose
-- tombstones are not old enough to go.
CREATE TABLE minikafka.compaction (
	topic_id integer,
	partition integer,
	compacted_offset bigint,
	compacted_at timestamptz NOT NULL,
	records bigint NOT NULL,
	tombstones bigint NOT NULL,
	PRIMARY KEY (topic_id, partition, compacted_offset)
);

-- Partitions whose log is known to have what groups and producers have noted of
-- it: from the start, or since it was looked for.  Not dumped, so not known of a
-- partition that was restored.
CREATE TABLE minikafka.settled_partition (
	topic_id integer NOT NULL,
	partition integer NOT NULL
);
CREATE INDEX settled_partition_idx ON minikafka.settled_partition (topic_id, partition);

-- A group, also one that was deleted (then without an owner): so that its
-- generation never goes back.  Settings are NULL before the first member.
CREATE TABLE minikafka.consumer_group (
	group_id text COLLATE "C" PRIMARY KEY,
	group_no integer NOT NULL UNIQUE,
	owner name NOT NULL,
	generation integer NOT NULL,
	version bigint NOT NULL,
	assignor text,
	protocol text,
	rebalanced_at timestamptz,
	rebalanced_why text,
	halved integer NOT NULL DEFAULT 0,
	halved_at timestamptz,
	halved_for interval
);

CREATE TABLE minikafka.group_grant (
	group_no integer,
	grantee name,
	PRIMARY KEY (group_no, grantee)
);

-- A member of a group; for a while also one that was removed, and why.
CREATE TABLE minikafka.group_member (
	group_no integer,
	member_id text COLLATE "C",
	member_no integer NOT NULL UNIQUE,
	instance_id text COLLATE "C",
	topics text[] NOT NULL,
	topic_ids integer[] NOT NULL,
	auto_offset_reset text NOT NULL,
	session_timeout interval NOT NULL,
	max_poll_interval interval NOT NULL,
	rebalance_timeout interval NOT NULL,
	joined_at timestamptz NOT NULL,
	removed_at timestamptz,
	removed_why text,
	PRIMARY KEY (group_no, member_id)
);

-- Who has a partition, and who is to have it.
CREATE TABLE minikafka.group_assignment (
	group_no integer,
	topic_id integer,
	partition integer,
	owner integer NOT NULL,
	generation integer NOT NULL,
	target integer NOT NULL,
	handover_at timestamptz,
	PRIMARY KEY (group_no, topic_id, partition)
);

-- Newest first: what holds is the row of the greatest number.
CREATE TABLE minikafka.group_progress (
	group_no integer,
	topic_id integer,
	partition integer,
	number bigint,
	next_offset bigint,
	metadata text,
	committed_at timestamptz,
	committed_by text,
	committed_generation integer,
	member_no integer NOT NULL,
	generation integer NOT NULL,
	position bigint,
	turn bigint NOT NULL,
	paused boolean NOT NULL,
	PRIMARY KEY (group_no, topic_id, partition, number)
);

-- Newest first too; two sessions of a member may add the same.
CREATE TABLE minikafka.member_heartbeat (
	member_no integer NOT NULL,
	polled integer NOT NULL,
	at timestamptz NOT NULL
);
CREATE INDEX member_heartbeat_idx ON minikafka.member_heartbeat (member_no, polled, at);

CREATE TABLE minikafka.producer (
	producer text COLLATE "C" PRIMARY KEY,
	producer_id integer NOT NULL UNIQUE,
	owner name NOT NULL,
	epoch integer NOT NULL,
	initialized boolean NOT NULL
);

-- Newest first.  A row is a run: sequences and offsets both grow by one.
CREATE TABLE minikafka.producer_progress (
	producer_id integer,
	topic_id integer,
	partition integer,
	epoch integer,
	last_sequence bigint,
	first_sequence bigint NOT NULL,
	first_offset bigint NOT NULL,
	sent_at timestamptz NOT NULL,
	PRIMARY KEY (producer_id, topic_id, partition, epoch, last_sequence)
);

-- Consumers whose events inbox_accept() knows.
CREATE TABLE minikafka.inbox_consumer (
	consumer text COLLATE "C" PRIMARY KEY,
	consumer_no integer GENERATED ALWAYS AS IDENTITY UNIQUE,
	owner name NOT NULL
);

CREATE TABLE minikafka.inbox (
	consumer_no integer,
	event_id text COLLATE "C",
	payload_sha256 bytea,
	accepted_at timestamptz NOT NULL,
	PRIMARY KEY (consumer_no, event_id)
);
CREATE INDEX inbox_accepted_idx ON minikafka.inbox (accepted_at);

COMMENT ON SCHEMA minikafka IS 'functions, views and catalog of minikafka';
COMMENT ON SCHEMA minikafka_topics IS 'the topics of minikafka, a partitioned table each';
COMMENT ON SCHEMA minikafka_data IS 'the partitions and segments of the topics of minikafka';
COMMENT ON SEQUENCE minikafka.topic_id IS 'numbers of topics';
COMMENT ON SEQUENCE minikafka.group_no IS 'numbers of groups';
COMMENT ON SEQUENCE minikafka.producer_id IS 'numbers of producers';
COMMENT ON SEQUENCE minikafka.inbox_consumer_consumer_no_seq IS 'numbers of inbox consumers';
COMMENT ON SEQUENCE minikafka.member_no IS 'numbers of members: a new one at each join';

COMMENT ON TABLE minikafka.topic IS 'catalog: topics';
COMMENT ON COLUMN minikafka.topic.topic_id IS 'number of the topic, in the names of its tables';
COMMENT ON COLUMN minikafka.topic.rel IS 'table of the topic';
COMMENT ON COLUMN minikafka.topic.partitions IS 'number of partitions';
COMMENT ON COLUMN minikafka.topic.partitioner IS 'how keys are put to partitions';
COMMENT ON COLUMN minikafka.topic.cleanup_policy IS 'how old records go: delete, compact or compact,delete';
COMMENT ON COLUMN minikafka.topic.segment_records IS 'offsets in a segment table';
COMMENT ON COLUMN minikafka.topic.max_message_bytes IS 'most bytes of a record';
COMMENT ON COLUMN minikafka.topic.min_insync_replicas IS 'synchronous standbys that a commit needs, with the primary';
COMMENT ON COLUMN minikafka.topic.retention IS 'how long records are kept';
COMMENT ON COLUMN minikafka.topic.retention_bytes IS 'how many bytes of a partition are kept';
COMMENT ON COLUMN minikafka.topic.delete_retention IS 'how long tombstones are kept after the first pass of compaction that saw them, NULL: 24 hours';
COMMENT ON COLUMN minikafka.topic.min_compaction_lag IS 'how old a record must be to be compacted, NULL: an hour for maintain(), of any age for compact()';
COMMENT ON COLUMN minikafka.topic.created_at IS 'when the topic was created';
COMMENT ON COLUMN minikafka.topic.value_format IS 'what a value must be: bytes, text or json';

COMMENT ON TABLE minikafka.partition IS 'catalog: partitions';
COMMENT ON COLUMN minikafka.partition.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.partition.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.partition.log_start_offset IS 'first offset that can be read';
COMMENT ON COLUMN minikafka.partition.rel IS 'table of the partition';

COMMENT ON TABLE minikafka.segment IS 'catalog: segments that there should be';
COMMENT ON COLUMN minikafka.segment.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.segment.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.segment.segment IS 'number of the segment: its first offset divided by segment_records';
COMMENT ON COLUMN minikafka.segment.rel IS 'table of the segment';

COMMENT ON TABLE minikafka.compaction IS 'catalog: passes of compaction';
COMMENT ON COLUMN minikafka.compaction.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.compaction.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.compaction.compacted_offset IS 'below it no key came twice after the pass';
COMMENT ON COLUMN minikafka.compaction.compacted_at IS 'when the pass was done; of offset 0: when the first began';
COMMENT ON COLUMN minikafka.compaction.records IS 'records that the pass has left below it';
COMMENT ON COLUMN minikafka.compaction.tombstones IS 'tombstones among them, without the last record of the partition';

COMMENT ON TABLE minikafka.settled_partition IS 'catalog: partitions whose log has what groups and producers have noted of it; not dumped';
COMMENT ON COLUMN minikafka.settled_partition.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.settled_partition.partition IS 'number of the partition';

COMMENT ON TABLE minikafka.consumer_group IS 'catalog: consumer groups, also deleted ones';
COMMENT ON COLUMN minikafka.consumer_group.group_id IS 'name of the group';
COMMENT ON COLUMN minikafka.consumer_group.group_no IS 'number of the group: a new one when it is made again';
COMMENT ON COLUMN minikafka.consumer_group.owner IS 'role that it belongs to: that used it first, or that it was given to; empty: the group was deleted';
COMMENT ON COLUMN minikafka.consumer_group.generation IS 'grows by one with each rebalance';
COMMENT ON COLUMN minikafka.consumer_group.version IS 'grows by one with each change to the group, its members or their assignment';
COMMENT ON COLUMN minikafka.consumer_group.assignor IS 'sticky, range or roundrobin';
COMMENT ON COLUMN minikafka.consumer_group.protocol IS 'cooperative or eager';
COMMENT ON COLUMN minikafka.consumer_group.rebalanced_at IS 'when the generation began';
COMMENT ON COLUMN minikafka.consumer_group.rebalanced_why IS 'which members joined, left or were removed then';
COMMENT ON COLUMN minikafka.consumer_group.halved IS 'how often what a poll returns was halved, since members were too slow';
COMMENT ON COLUMN minikafka.consumer_group.halved_at IS 'when it was halved last';
COMMENT ON COLUMN minikafka.consumer_group.halved_for IS 'after how long each time is taken back';

COMMENT ON TABLE minikafka.group_grant IS 'catalog: roles that may use a group, besides its owner';
COMMENT ON COLUMN minikafka.group_grant.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.group_grant.grantee IS 'role';

COMMENT ON TABLE minikafka.group_member IS 'catalog: members of groups, for a while also removed ones';
COMMENT ON COLUMN minikafka.group_member.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.group_member.member_id IS 'name of the member';
COMMENT ON COLUMN minikafka.group_member.member_no IS 'number of the member in this incarnation: a new one at each join';
COMMENT ON COLUMN minikafka.group_member.instance_id IS 'name of the instance, of a static member';
COMMENT ON COLUMN minikafka.group_member.topics IS 'topics that it subscribes to';
COMMENT ON COLUMN minikafka.group_member.topic_ids IS 'their numbers, by which the subscription follows when a topic is renamed; 0: there is none yet';
COMMENT ON COLUMN minikafka.group_member.auto_offset_reset IS 'where it starts without a committed offset: earliest, latest or none';
COMMENT ON COLUMN minikafka.group_member.session_timeout IS 'how long it may not be heard of';
COMMENT ON COLUMN minikafka.group_member.max_poll_interval IS 'how long it may not poll';
COMMENT ON COLUMN minikafka.group_member.rebalance_timeout IS 'how long it may keep a partition that is to move';
COMMENT ON COLUMN minikafka.group_member.joined_at IS 'when it joined, the last time';
COMMENT ON COLUMN minikafka.group_member.removed_at IS 'when it was removed';
COMMENT ON COLUMN minikafka.group_member.removed_why IS 'left, fenced, session_timeout or max_poll_interval';

COMMENT ON TABLE minikafka.group_assignment IS 'catalog: partitions of members';
COMMENT ON COLUMN minikafka.group_assignment.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.group_assignment.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.group_assignment.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.group_assignment.owner IS 'number of the member that has it';
COMMENT ON COLUMN minikafka.group_assignment.generation IS 'generation in which it got it; in an eager group that of the group counts';
COMMENT ON COLUMN minikafka.group_assignment.target IS 'number of the member that is to have it';
COMMENT ON COLUMN minikafka.group_assignment.handover_at IS 'when it moves at the latest, if it is to move';

COMMENT ON TABLE minikafka.group_progress IS 'committed offsets and positions: the row of the greatest number counts';
COMMENT ON COLUMN minikafka.group_progress.group_no IS 'number of the group';
COMMENT ON COLUMN minikafka.group_progress.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.group_progress.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.group_progress.number IS 'grows by one with each change';
COMMENT ON COLUMN minikafka.group_progress.next_offset IS 'committed offset: the one to read next; NULL: none';
COMMENT ON COLUMN minikafka.group_progress.metadata IS 'what the consumer noted with it';
COMMENT ON COLUMN minikafka.group_progress.committed_at IS 'when it was committed';
COMMENT ON COLUMN minikafka.group_progress.committed_by IS 'member that committed it; NULL: a plain consumer';
COMMENT ON COLUMN minikafka.group_progress.committed_generation IS 'generation in which it was committed';
COMMENT ON COLUMN minikafka.group_progress.member_no IS 'number of the member that the rest is about; 0: none';
COMMENT ON COLUMN minikafka.group_progress.generation IS 'generation in which that member got the partition';
COMMENT ON COLUMN minikafka.group_progress.position IS 'where it polls next; NULL: at the committed offset';
COMMENT ON COLUMN minikafka.group_progress.turn IS 'which of its partitions is polled next: that of the least turn';
COMMENT ON COLUMN minikafka.group_progress.paused IS 'whether it has paused the partition';

COMMENT ON TABLE minikafka.member_heartbeat IS 'when members were heard of: the newest rows count';
COMMENT ON COLUMN minikafka.member_heartbeat.member_no IS 'number of the member';
COMMENT ON COLUMN minikafka.member_heartbeat.polled IS '1: it polled; 0: it was heard of otherwise';
COMMENT ON COLUMN minikafka.member_heartbeat.at IS 'when';

COMMENT ON TABLE minikafka.producer IS 'catalog: idempotent producers';
COMMENT ON COLUMN minikafka.producer.producer IS 'name of the producer';
COMMENT ON COLUMN minikafka.producer.producer_id IS 'number of the producer';
COMMENT ON COLUMN minikafka.producer.owner IS 'role that it belongs to: that used it first, or that it was given to';
COMMENT ON COLUMN minikafka.producer.epoch IS 'current epoch; older ones are fenced';
COMMENT ON COLUMN minikafka.producer.initialized IS 'whether init_producer() began it';

COMMENT ON TABLE minikafka.producer_progress IS 'what producers have sent: runs of sequences and offsets';
COMMENT ON COLUMN minikafka.producer_progress.producer_id IS 'number of the producer';
COMMENT ON COLUMN minikafka.producer_progress.topic_id IS 'number of the topic';
COMMENT ON COLUMN minikafka.producer_progress.partition IS 'number of the partition';
COMMENT ON COLUMN minikafka.producer_progress.epoch IS 'epoch of the sequences';
COMMENT ON COLUMN minikafka.producer_progress.last_sequence IS 'last sequence of the run';
COMMENT ON COLUMN minikafka.producer_progress.first_sequence IS 'first sequence of the run';
COMMENT ON COLUMN minikafka.producer_progress.first_offset IS 'offset of the first sequence';
COMMENT ON COLUMN minikafka.producer_progress.sent_at IS 'when it was sent';

COMMENT ON TABLE minikafka.inbox_consumer IS 'catalog: consumers of inbox_accept()';
COMMENT ON COLUMN minikafka.inbox_consumer.consumer IS 'name of the consumer';
COMMENT ON COLUMN minikafka.inbox_consumer.consumer_no IS 'number of the consumer';
COMMENT ON COLUMN minikafka.inbox_consumer.owner IS 'role that it belongs to: that used it first, or that it was given to';

COMMENT ON TABLE minikafka.inbox IS 'events that were accepted';
COMMENT ON COLUMN minikafka.inbox.consumer_no IS 'number of the consumer';
COMMENT ON COLUMN minikafka.inbox.event_id IS 'id of the event';
COMMENT ON COLUMN minikafka.inbox.payload_sha256 IS 'SHA-256 of its payload, NULL if none was given';
COMMENT ON COLUMN minikafka.inbox.accepted_at IS 'when it was accepted';

-- A topic's row outlives a DROP TABLE of its table; a dump must not keep it,
-- since the number that it would show could be another table elsewhere.
SELECT pg_extension_config_dump('minikafka.topic', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rel)');
SELECT pg_extension_config_dump('minikafka.partition', '');
SELECT pg_extension_config_dump('minikafka.segment', '');
SELECT pg_extension_config_dump('minikafka.compaction', '');
SELECT pg_extension_config_dump('minikafka.consumer_group', '');
SELECT pg_extension_config_dump('minikafka.group_grant', '');
SELECT pg_extension_config_dump('minikafka.group_member', '');
SELECT pg_extension_config_dump('minikafka.group_assignment', '');
SELECT pg_extension_config_dump('minikafka.group_progress', '');
SELECT pg_extension_config_dump('minikafka.member_heartbeat', '');
SELECT pg_extension_config_dump('minikafka.topic_id', '');
SELECT pg_extension_config_dump('minikafka.group_no', '');
SELECT pg_extension_config_dump('minikafka.member_no', '');
SELECT pg_extension_config_dump('minikafka.producer', '');
SELECT pg_extension_config_dump('minikafka.producer_progress', '');
SELECT pg_extension_config_dump('minikafka.producer_id', '');
SELECT pg_extension_config_dump('minikafka.inbox_consumer', '');
SELECT pg_extension_config_dump('minikafka.inbox_consumer_consumer_no_seq', '');
SELECT pg_extension_config_dump('minikafka.inbox', '');
