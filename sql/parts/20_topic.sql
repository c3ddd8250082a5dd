/* Topics */

CREATE FUNCTION minikafka.refuse_write()
RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_refuse_write';
COMMENT ON FUNCTION minikafka.refuse_write() IS
'The trigger of the tables of topics: refuses every direct write (42501).';

-- Writes to the catalog fire no triggers, so a tool that writes a table anew
-- while it is in use must leave it alone: pg_repack passes over a table that
-- has a trigger of this name.  It does nothing.
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

CREATE FUNCTION minikafka.create_topic(
	topic text,
	partitions integer DEFAULT 3,
	retention interval DEFAULT NULL,
	retention_bytes bigint DEFAULT NULL,
	cleanup_policy text DEFAULT 'delete',
	partitioner text DEFAULT 'murmur2',
	segment_records bigint DEFAULT 1000000,
	max_message_bytes integer DEFAULT 1048588,
	min_insync_replicas integer DEFAULT 1,
	if_not_exists boolean DEFAULT false)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_create_topic';
COMMENT ON FUNCTION minikafka.create_topic(text, integer, interval, bigint, text, text, bigint, integer, integer, boolean) IS
'Makes a topic: the table minikafka_topics.<topic>, owned by the caller, who needs CREATE on that schema. Partitioner murmur2 (Kafka''s) or md5; segment_records: offsets a segment table; max_message_bytes: most bytes of key, value and headers of a record. retention: how old records may get, NULL for ever; retention_bytes: how much of a partition is kept at least, NULL all; cleanup_policy: delete, compact or compact,delete. Errors: 42710 exists, 22023 bad argument, 0A000 min_insync_replicas above 1.';

CREATE FUNCTION minikafka.set_topic_option(topic text, option text, value text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_topic_option';
COMMENT ON FUNCTION minikafka.set_topic_option(text, text, text) IS
'Sets an option of a topic that the caller owns: retention, retention_bytes, cleanup_policy, max_message_bytes, min_insync_replicas; delete_retention: how long tombstones are kept after the first pass of compaction that saw them (24 hours); min_compaction_lag: how old a record must be to be compacted (an hour for maintain(), 0 for compact()); value_format: what the values of records sent from now on must be, bytes, text (what fetch_text() can read) or json (what fetch_json() can read), tombstones excepted. NULL restores the default. Errors: 42704 unknown topic, 42501 not the owner, 22023 unknown option or bad value, 0A000 not supported yet.';

CREATE FUNCTION minikafka.add_partitions(topic text, total integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_add_partitions';
COMMENT ON FUNCTION minikafka.add_partitions(text, integer) IS
'Raises the number of partitions of a topic that the caller owns to total; a NOTICE says that keys move. Errors: 42704, 42501, 22023 when total is lower than now.';

CREATE FUNCTION minikafka.create_index(topic text, definition text)
RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_create_index';
COMMENT ON FUNCTION minikafka.create_index(text, text) IS
'Makes an index on a topic that the caller owns, on all its segments and on those to come. definition: what follows the table''s name in CREATE INDEX, such as (key) or USING hash (value) WHERE key IS NOT NULL. Returns the name of the index with its schema. Senders wait until it is built. What is in it runs as the owner, also at the COMMIT of those who send, for 5 seconds at most. Errors: 42704 unknown topic, 42501 not the owner, or no right to the tablespace, 42601 not one definition, and those of CREATE INDEX.';

CREATE FUNCTION minikafka.drop_topic(topic text, if_exists boolean DEFAULT false)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_drop_topic';
COMMENT ON FUNCTION minikafka.drop_topic(text, boolean) IS
'Drops a topic that the caller owns, with its records and committed offsets. Errors: 42704, 42501, 54000 when one transaction cannot lock so many tables.';

CREATE FUNCTION minikafka.partition_for_key(topic text, key text)
RETURNS integer LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_partition_for_key_text';
COMMENT ON FUNCTION minikafka.partition_for_key(text, text) IS
'The partition where send() would put this key, from 0 on. Errors: 42704, 42501, 22023 for a NULL key.';

CREATE FUNCTION minikafka.partition_for_key(topic text, key bytea)
RETURNS integer LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_partition_for_key_bytea';
COMMENT ON FUNCTION minikafka.partition_for_key(text, bytea) IS
'The partition where send() would put this key, from 0 on. Errors: 42704, 42501, 22023 for a NULL key.';

CREATE FUNCTION minikafka.murmur2(key bytea)
RETURNS integer LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'minikafka_murmur2';
COMMENT ON FUNCTION minikafka.murmur2(bytea) IS
'The hash that Kafka''s Java client puts keys to partitions by: 32 bits, signed. The partition is (hash & 0x7fffffff) modulo the number of partitions.';
