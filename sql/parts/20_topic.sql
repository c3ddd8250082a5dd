/* Topics */

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
'Creates a topic: the table minikafka_topics.<topic>, owned by the caller. retention: maximum age of records, NULL for ever; retention_bytes: minimum number of bytes of a partition to keep, NULL all; cleanup_policy: delete, compact or compact,delete; partitioner: murmur2 (as Kafka''s Java client) or md5; segment_records: number of offsets in a segment table; max_message_bytes: maximum size of key, value and headers of a record together. Requires CREATE on schema minikafka_topics. Errors: 42710 the topic exists, 42501, 22023 invalid argument, 0A000 min_insync_replicas above 1, 54000 too many tables to lock.';

CREATE FUNCTION minikafka.set_topic_option(topic text, option text, value text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_topic_option';
COMMENT ON FUNCTION minikafka.set_topic_option(text, text, text) IS
'Sets an option of a topic that the caller owns: retention, retention_bytes, cleanup_policy, max_message_bytes, min_insync_replicas; delete_retention: how long tombstones are kept after the first pass of compaction that saw them (24 hours); min_compaction_lag: minimum age of a record to be compacted (one hour for maintain(), 0 for compact()); value_format: what the values of records sent from now on must be, except tombstones: bytes, text (readable by fetch_text()) or json (readable by fetch_json()); delivery_delay: minimum age of a record to be polled or acquired (none); keep_unread: whether retention keeps what a group has not read (false); delete_read: whether maintenance removes what all groups have read (false). NULL restores the default. Errors: 42704 unknown topic, 42501 not the owner, 22023 unknown option or invalid value, 0A000 not supported.';

CREATE FUNCTION minikafka.add_partitions(topic text, total integer)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_add_partitions';
COMMENT ON FUNCTION minikafka.add_partitions(text, integer) IS
'Increases the number of partitions of a topic that the caller owns to total. A NOTICE says that keys move to other partitions. Errors: 42704, 42501, 22023 total is lower than the current number, 54000.';

CREATE FUNCTION minikafka.create_index(topic text, definition text)
RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_create_index';
COMMENT ON FUNCTION minikafka.create_index(text, text) IS
'Creates an index on a topic that the caller owns, on all its segments and those to come; returns the name of the index with its schema. definition: what follows the table''s name in CREATE INDEX, such as (key) or USING hash (value) WHERE key IS NOT NULL. Senders wait until the index is built. Its expressions run as the owner, also at the COMMIT of senders, for at most 5 seconds. Errors: 42704 unknown topic, 42501 not the owner, or no right to the tablespace, 42601 not one definition, and those of CREATE INDEX.';

CREATE FUNCTION minikafka.drop_topic(topic text, if_exists boolean DEFAULT false)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_drop_topic';
COMMENT ON FUNCTION minikafka.drop_topic(text, boolean) IS
'Drops a topic that the caller owns, with its records and committed offsets. Errors: 42704, 42501, 54000 more tables than one transaction can lock.';

CREATE FUNCTION minikafka.partition_for_key(topic text, key text)
RETURNS integer LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_partition_for_key_text';
COMMENT ON FUNCTION minikafka.partition_for_key(text, text) IS
'Returns the partition, from 0, to which send() would send this key. Requires SELECT or INSERT on the topic. Errors: 42704, 42501, 22023 the key is NULL.';

CREATE FUNCTION minikafka.partition_for_key(topic text, key bytea)
RETURNS integer LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_partition_for_key_bytea';
COMMENT ON FUNCTION minikafka.partition_for_key(text, bytea) IS
'Returns the partition, from 0, to which send() would send this key. Requires SELECT or INSERT on the topic. Errors: 42704, 42501, 22023 the key is NULL.';

CREATE FUNCTION minikafka.murmur2(key bytea)
RETURNS integer LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'minikafka_murmur2';
COMMENT ON FUNCTION minikafka.murmur2(bytea) IS
'Returns the 32-bit signed hash by which Kafka''s Java client selects the partition of a key: (hash & 0x7fffffff) modulo the number of partitions.';
