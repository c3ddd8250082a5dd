/*
 * The catalog.  Only the C code writes it, and only it needs to read it; the
 * views show each role the rows that it may see.  Rows refer to each other by
 * number, and to a topic's tables by regclass, so that a restored dump is
 * consistent.
 */
CREATE SEQUENCE minikafka.topic_id AS integer;
CREATE SEQUENCE minikafka.group_no AS integer;
CREATE SEQUENCE minikafka.member_no AS integer;
CREATE SEQUENCE minikafka.producer_id AS integer;

-- Topics.  The table gives a topic its name, its owner and its rights.
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
	value_format text NOT NULL,
	delivery_delay interval,
	keep_unread boolean NOT NULL,
	delete_read boolean NOT NULL
);

CREATE TABLE minikafka.partition (
	topic_id integer,
	partition integer,
	log_start_offset bigint NOT NULL,
	rel regclass NOT NULL,
	PRIMARY KEY (topic_id, partition)
);

-- Segments that must exist.
CREATE TABLE minikafka.segment (
	topic_id integer,
	partition integer,
	segment bigint,
	rel regclass NOT NULL,
	PRIMARY KEY (topic_id, partition, segment)
);

-- Completed passes of compaction: the last one, and earlier ones whose
-- tombstones are not old enough to be removed.
CREATE TABLE minikafka.compaction (
	topic_id integer,
	partition integer,
	compacted_offset bigint,
	compacted_at timestamptz NOT NULL,
	records bigint NOT NULL,
	tombstones bigint NOT NULL,
	PRIMARY KEY (topic_id, partition, compacted_offset)
);

-- Partitions whose log is known to contain the offsets that are stored for
-- groups and producers: since the partition was created, or since it was
-- checked.  Not dumped, so a restored partition is checked again.
CREATE TABLE minikafka.settled_partition (
	topic_id integer NOT NULL,
	partition integer NOT NULL
);
CREATE INDEX settled_partition_idx ON minikafka.settled_partition (topic_id, partition);

-- Groups.  A deleted group stays, without an owner, so that its generation
-- never goes back.  Settings are NULL before the first member.
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
	halved_for interval,
	kind text NOT NULL DEFAULT 'consumer'
);

CREATE TABLE minikafka.group_grant (
	group_no integer,
	grantee name,
	PRIMARY KEY (group_no, grantee)
);

-- Members of groups.  A removed member stays for a while, with the reason.
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

-- Which member has a partition, and which one is to have it.
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

-- Newest first: the row with the greatest number counts.
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

-- Newest first too.  Two sessions of a member may add the same row.
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

-- Newest first.  A row is a run, in which sequences and offsets both increase by one.
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

-- Consumers of inbox_accept().
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
COMMENT ON SCHEMA minikafka_topics IS 'topics of minikafka, one partitioned table each';
COMMENT ON SCHEMA minikafka_data IS 'partitions and segments of the topics of minikafka';
COMMENT ON SEQUENCE minikafka.topic_id IS 'topic numbers';
COMMENT ON SEQUENCE minikafka.group_no IS 'group numbers';
COMMENT ON SEQUENCE minikafka.producer_id IS 'producer numbers';
COMMENT ON SEQUENCE minikafka.inbox_consumer_consumer_no_seq IS 'inbox consumer numbers';
COMMENT ON SEQUENCE minikafka.member_no IS 'member numbers; each join takes a new one';

COMMENT ON TABLE minikafka.topic IS 'catalog: topics';
COMMENT ON COLUMN minikafka.topic.topic_id IS 'topic number, which is part of the names of its tables';
COMMENT ON COLUMN minikafka.topic.rel IS 'table of the topic';
COMMENT ON COLUMN minikafka.topic.partitions IS 'number of partitions';
COMMENT ON COLUMN minikafka.topic.partitioner IS 'how a key selects a partition: murmur2 or md5';
COMMENT ON COLUMN minikafka.topic.cleanup_policy IS 'how old records are removed: delete, compact or compact,delete';
COMMENT ON COLUMN minikafka.topic.segment_records IS 'number of offsets in a segment table';
COMMENT ON COLUMN minikafka.topic.max_message_bytes IS 'maximum size of a record, in bytes';
COMMENT ON COLUMN minikafka.topic.min_insync_replicas IS 'number of servers, including the primary, that must have received a commit';
COMMENT ON COLUMN minikafka.topic.retention IS 'maximum age of records; NULL: no limit';
COMMENT ON COLUMN minikafka.topic.retention_bytes IS 'minimum number of bytes of a partition to keep; NULL: keep all';
COMMENT ON COLUMN minikafka.topic.delete_retention IS 'how long a tombstone is kept after the first pass of compaction that saw it; NULL: 24 hours';
COMMENT ON COLUMN minikafka.topic.min_compaction_lag IS 'minimum age of a record to be compacted; NULL: one hour for maintain(), none for compact()';
COMMENT ON COLUMN minikafka.topic.created_at IS 'when the topic was created';
COMMENT ON COLUMN minikafka.topic.value_format IS 'what a value must be: bytes, text or json';
COMMENT ON COLUMN minikafka.topic.delivery_delay IS 'minimum age of a record to be polled or acquired; NULL: none';
COMMENT ON COLUMN minikafka.topic.keep_unread IS 'whether retention keeps what a group has not read';
COMMENT ON COLUMN minikafka.topic.delete_read IS 'whether maintenance removes what all groups have read';

COMMENT ON TABLE minikafka.partition IS 'catalog: partitions';
COMMENT ON COLUMN minikafka.partition.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.partition.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.partition.log_start_offset IS 'first offset that can be read';
COMMENT ON COLUMN minikafka.partition.rel IS 'table of the partition';

COMMENT ON TABLE minikafka.segment IS 'catalog: segments that must exist';
COMMENT ON COLUMN minikafka.segment.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.segment.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.segment.segment IS 'segment number: its first offset divided by segment_records';
COMMENT ON COLUMN minikafka.segment.rel IS 'table of the segment';

COMMENT ON TABLE minikafka.compaction IS 'catalog: passes of compaction';
COMMENT ON COLUMN minikafka.compaction.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.compaction.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.compaction.compacted_offset IS 'below this offset the pass left each key at most once';
COMMENT ON COLUMN minikafka.compaction.compacted_at IS 'when the pass ended; for offset 0: when the first pass began';
COMMENT ON COLUMN minikafka.compaction.records IS 'number of records that the pass left below that offset';
COMMENT ON COLUMN minikafka.compaction.tombstones IS 'number of tombstones among them, not counting the last record of the partition';

COMMENT ON TABLE minikafka.settled_partition IS 'catalog: partitions whose log is known to contain the offsets stored for groups and producers; not dumped';
COMMENT ON COLUMN minikafka.settled_partition.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.settled_partition.partition IS 'partition number, from 0';

COMMENT ON TABLE minikafka.consumer_group IS 'catalog: groups of both kinds, including deleted ones';
COMMENT ON COLUMN minikafka.consumer_group.group_id IS 'group name';
COMMENT ON COLUMN minikafka.consumer_group.group_no IS 'group number; a group that is created again gets a new one';
COMMENT ON COLUMN minikafka.consumer_group.owner IS 'role that owns the group: the one that used it first, or to which it was given; empty if the group was deleted';
COMMENT ON COLUMN minikafka.consumer_group.generation IS 'increases by one with each rebalance';
COMMENT ON COLUMN minikafka.consumer_group.version IS 'increases by one with each change to the group, its members or their assignment';
COMMENT ON COLUMN minikafka.consumer_group.assignor IS 'sticky, range or roundrobin; NULL before the first member';
COMMENT ON COLUMN minikafka.consumer_group.protocol IS 'cooperative or eager; NULL before the first member';
COMMENT ON COLUMN minikafka.consumer_group.rebalanced_at IS 'when the generation began';
COMMENT ON COLUMN minikafka.consumer_group.rebalanced_why IS 'why the generation began: which members joined, left or were removed';
COMMENT ON COLUMN minikafka.consumer_group.halved IS 'how many times the number of records that a poll returns was halved because members were too slow';
COMMENT ON COLUMN minikafka.consumer_group.halved_at IS 'when it was last halved';
COMMENT ON COLUMN minikafka.consumer_group.halved_for IS 'time after which each halving is undone';
COMMENT ON COLUMN minikafka.consumer_group.kind IS 'consumer or share';

COMMENT ON TABLE minikafka.group_grant IS 'catalog: roles, other than its owner, that may use a group';
COMMENT ON COLUMN minikafka.group_grant.group_no IS 'group number';
COMMENT ON COLUMN minikafka.group_grant.grantee IS 'role name';

COMMENT ON TABLE minikafka.group_member IS 'catalog: members of groups, for a while including removed ones';
COMMENT ON COLUMN minikafka.group_member.group_no IS 'group number';
COMMENT ON COLUMN minikafka.group_member.member_id IS 'member id';
COMMENT ON COLUMN minikafka.group_member.member_no IS 'member number of this incarnation; each join takes a new one';
COMMENT ON COLUMN minikafka.group_member.instance_id IS 'instance id of a static member';
COMMENT ON COLUMN minikafka.group_member.topics IS 'names of the topics that the member subscribes to';
COMMENT ON COLUMN minikafka.group_member.topic_ids IS 'numbers of those topics, so that the subscription follows a renamed topic; 0: the topic does not exist yet';
COMMENT ON COLUMN minikafka.group_member.auto_offset_reset IS 'where the member starts without a committed offset: earliest, latest or none';
COMMENT ON COLUMN minikafka.group_member.session_timeout IS 'the member is removed if it was not heard of for this long';
COMMENT ON COLUMN minikafka.group_member.max_poll_interval IS 'the member is removed if it did not poll for this long';
COMMENT ON COLUMN minikafka.group_member.rebalance_timeout IS 'how long the member may keep a partition that is to move';
COMMENT ON COLUMN minikafka.group_member.joined_at IS 'when the member last joined';
COMMENT ON COLUMN minikafka.group_member.removed_at IS 'when the member was removed';
COMMENT ON COLUMN minikafka.group_member.removed_why IS 'left, fenced, session_timeout or max_poll_interval';

COMMENT ON TABLE minikafka.group_assignment IS 'catalog: partitions assigned to members';
COMMENT ON COLUMN minikafka.group_assignment.group_no IS 'group number';
COMMENT ON COLUMN minikafka.group_assignment.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.group_assignment.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.group_assignment.owner IS 'number of the member that has the partition';
COMMENT ON COLUMN minikafka.group_assignment.generation IS 'generation in which that member got it; in an eager group the generation of the group counts';
COMMENT ON COLUMN minikafka.group_assignment.target IS 'number of the member that is to have the partition';
COMMENT ON COLUMN minikafka.group_assignment.handover_at IS 'when the partition moves at the latest, if it is to move';

COMMENT ON TABLE minikafka.group_progress IS 'committed offsets and positions: the row with the greatest number counts';
COMMENT ON COLUMN minikafka.group_progress.group_no IS 'group number';
COMMENT ON COLUMN minikafka.group_progress.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.group_progress.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.group_progress.number IS 'increases by one with each change';
COMMENT ON COLUMN minikafka.group_progress.next_offset IS 'committed offset: the offset to read next; NULL: none';
COMMENT ON COLUMN minikafka.group_progress.metadata IS 'metadata that the consumer stored with the offset';
COMMENT ON COLUMN minikafka.group_progress.committed_at IS 'when the offset was committed';
COMMENT ON COLUMN minikafka.group_progress.committed_by IS 'member that committed it; NULL: a plain consumer';
COMMENT ON COLUMN minikafka.group_progress.committed_generation IS 'generation in which it was committed';
COMMENT ON COLUMN minikafka.group_progress.member_no IS 'number of the member to which the remaining columns apply; 0: none';
COMMENT ON COLUMN minikafka.group_progress.generation IS 'generation in which that member got the partition';
COMMENT ON COLUMN minikafka.group_progress.position IS 'offset from which it polls next; NULL: the committed offset';
COMMENT ON COLUMN minikafka.group_progress.turn IS 'order in which the member polls its partitions: the least turn comes next';
COMMENT ON COLUMN minikafka.group_progress.paused IS 'whether the member has paused the partition';

COMMENT ON TABLE minikafka.member_heartbeat IS 'when members were heard of: the newest rows count';
COMMENT ON COLUMN minikafka.member_heartbeat.member_no IS 'member number';
COMMENT ON COLUMN minikafka.member_heartbeat.polled IS '1: a poll; 0: another call';
COMMENT ON COLUMN minikafka.member_heartbeat.at IS 'time of the call';

COMMENT ON TABLE minikafka.producer IS 'catalog: idempotent producers';
COMMENT ON COLUMN minikafka.producer.producer IS 'producer name';
COMMENT ON COLUMN minikafka.producer.producer_id IS 'producer number';
COMMENT ON COLUMN minikafka.producer.owner IS 'role that owns the name: the one that used it first, or to which it was given';
COMMENT ON COLUMN minikafka.producer.epoch IS 'current epoch; older ones are fenced';
COMMENT ON COLUMN minikafka.producer.initialized IS 'whether init_producer() began the epoch';

COMMENT ON TABLE minikafka.producer_progress IS 'what producers have sent: runs of sequences and offsets';
COMMENT ON COLUMN minikafka.producer_progress.producer_id IS 'producer number';
COMMENT ON COLUMN minikafka.producer_progress.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.producer_progress.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.producer_progress.epoch IS 'epoch of the sequences';
COMMENT ON COLUMN minikafka.producer_progress.last_sequence IS 'last sequence of the run';
COMMENT ON COLUMN minikafka.producer_progress.first_sequence IS 'first sequence of the run';
COMMENT ON COLUMN minikafka.producer_progress.first_offset IS 'offset of the first sequence';
COMMENT ON COLUMN minikafka.producer_progress.sent_at IS 'when the run was sent';

COMMENT ON TABLE minikafka.inbox_consumer IS 'catalog: consumers of inbox_accept()';
COMMENT ON COLUMN minikafka.inbox_consumer.consumer IS 'consumer name';
COMMENT ON COLUMN minikafka.inbox_consumer.consumer_no IS 'consumer number';
COMMENT ON COLUMN minikafka.inbox_consumer.owner IS 'role that owns the name: the one that used it first, or to which it was given';

COMMENT ON TABLE minikafka.inbox IS 'events accepted by inbox_accept()';
COMMENT ON COLUMN minikafka.inbox.consumer_no IS 'consumer number';
COMMENT ON COLUMN minikafka.inbox.event_id IS 'event id';
COMMENT ON COLUMN minikafka.inbox.payload_sha256 IS 'SHA-256 of the payload; NULL if none was given';
COMMENT ON COLUMN minikafka.inbox.accepted_at IS 'when the event was accepted';

-- A topic's rows outlive a DROP TABLE of its table.  A dump must not contain
-- such rows: their regclass would be a bare number, which could be the OID of an
-- unrelated table after the restore.
SELECT pg_extension_config_dump('minikafka.topic', 'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = rel)');
SELECT pg_extension_config_dump('minikafka.partition', 'WHERE topic_id IN (SELECT t.topic_id FROM minikafka.topic t JOIN pg_catalog.pg_class c ON c.oid = t.rel)');
SELECT pg_extension_config_dump('minikafka.segment', 'WHERE topic_id IN (SELECT t.topic_id FROM minikafka.topic t JOIN pg_catalog.pg_class c ON c.oid = t.rel)');
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

CREATE FUNCTION minikafka.refuse_write()
RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_refuse_write';
COMMENT ON FUNCTION minikafka.refuse_write() IS
'Trigger function of the tables of topics: refuses every direct write (42501).';

-- Writes to the catalog fire no triggers, so a tool that rewrites a table while
-- it is in use must not touch the catalog.  pg_repack skips a table that has a
-- trigger of this name.  The trigger itself does nothing.
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.topic WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.partition WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.segment WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.compaction WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.settled_partition WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.consumer_group WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.group_grant WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.group_member WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.group_assignment WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.group_progress WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.member_heartbeat WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.producer WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.producer_progress WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.inbox_consumer WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.inbox WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
