/* Producing */

CREATE FUNCTION minikafka.send(
	topic text,
	value text,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_text';
COMMENT ON FUNCTION minikafka.send(text, text, text, jsonb, integer, text, bigint, integer) IS
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; needs a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it, 25006 read-only; MK045 the sequence is not the next, or was sent before with another key or value, MK047 the epoch is not the current one, also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value jsonb,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_jsonb';
COMMENT ON FUNCTION minikafka.send(text, jsonb, text, jsonb, integer, text, bigint, integer) IS
'The value is stored as its text. Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; needs a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it, 25006 read-only; MK045 the sequence is not the next, or was sent before with another key or value, MK047 the epoch is not the current one, also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value json,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_text';
COMMENT ON FUNCTION minikafka.send(text, json, text, jsonb, integer, text, bigint, integer) IS
'The value is stored as its text. Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; needs a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it, 25006 read-only; MK045 the sequence is not the next, or was sent before with another key or value, MK047 the epoch is not the current one, also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value bytea,
	key text,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_bytea_text';
COMMENT ON FUNCTION minikafka.send(text, bytea, text, jsonb, integer, text, bigint, integer) IS
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; needs a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it, 25006 read-only; MK045 the sequence is not the next, or was sent before with another key or value, MK047 the epoch is not the current one, also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value bytea,
	key bytea DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_bytea';
COMMENT ON FUNCTION minikafka.send(text, bytea, bytea, jsonb, integer, text, bigint, integer) IS
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; needs a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it, 25006 read-only; MK045 the sequence is not the next, or was sent before with another key or value, MK047 the epoch is not the current one, also at COMMIT.';

CREATE FUNCTION minikafka.send_many(
	topic text,
	payloads text[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many';
COMMENT ON FUNCTION minikafka.send_many(text, text[], text[], jsonb[]) IS
'Sends a record for each element, as send() does, in array order; returns how many. The arrays are of one length. Needs INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

CREATE FUNCTION minikafka.send_many_json(
	topic text,
	payloads jsonb[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_json';
COMMENT ON FUNCTION minikafka.send_many_json(text, jsonb[], text[], jsonb[]) IS
'Sends a record for each element, as send() does, in array order; returns how many. Each value is stored as its text. The arrays are of one length. Needs INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

CREATE FUNCTION minikafka.send_many_bytes(
	topic text,
	payloads bytea[],
	keys bytea[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_bytes';
COMMENT ON FUNCTION minikafka.send_many_bytes(text, bytea[], bytea[], jsonb[]) IS
'Sends a record for each element, as send() does, in array order; returns how many. The keys are bytes too. The arrays are of one length. Needs INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

CREATE FUNCTION minikafka.append(
	topic text,
	partition integer,
	key text,
	value text,
	headers jsonb DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_append_text';
COMMENT ON FUNCTION minikafka.append(text, integer, text, text, jsonb, text, bigint, integer) IS
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first. With a producer, its lock is held likewise; a repeat returns the original offset. Error at COMMIT: 40001 the transaction has sent to the partition for a producer with send(), and another session was first.';

CREATE FUNCTION minikafka.append(
	topic text,
	partition integer,
	key text,
	value jsonb,
	headers jsonb DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_append_jsonb';
COMMENT ON FUNCTION minikafka.append(text, integer, text, jsonb, jsonb, text, bigint, integer) IS
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first. With a producer, its lock is held likewise; a repeat returns the original offset. Error at COMMIT: 40001 the transaction has sent to the partition for a producer with send(), and another session was first.';

CREATE FUNCTION minikafka.append(
	topic text,
	partition integer,
	key bytea,
	value bytea,
	headers jsonb DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_append_bytea';
COMMENT ON FUNCTION minikafka.append(text, integer, bytea, bytea, jsonb, text, bigint, integer) IS
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first. With a producer, its lock is held likewise; a repeat returns the original offset. Error at COMMIT: 40001 the transaction has sent to the partition for a producer with send(), and another session was first.';

CREATE FUNCTION minikafka.last_sent(
	OUT topic text,
	OUT partition integer,
	OUT base_offset bigint,
	OUT records bigint)
RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_last_sent';
COMMENT ON FUNCTION minikafka.last_sent() IS
'What this session''s last committed transaction that sent has sent: for each partition the first offset, and how many records; also what was there already, of sequences that were repeated. Session state, so of no use through a transaction pooler.';

CREATE FUNCTION minikafka.init_producer(
	producer text,
	OUT producer_id bigint,
	OUT epoch integer)
RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_init_producer';
COMMENT ON FUNCTION minikafka.init_producer(text) IS
'Begins the producer''s next epoch, at COMMIT, and returns it: sequences are numbered from 0, and what still sends in an older epoch is fenced (MK047). A new producer belongs to the caller, who needs INSERT on a topic, and begins with epoch 0. At COMMIT: MK047 another session has begun an epoch meanwhile. Errors: 42501 another role''s producer, or no right to make one, 54000 no epoch is left, 22023.';

CREATE FUNCTION minikafka.producer_state(producer text)
RETURNS TABLE (topic text, partition integer, epoch integer, last_sequence bigint, last_offset bigint)
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_producer_state';
COMMENT ON FUNCTION minikafka.producer_state(text) IS
'For each partition that the producer has sent to: the last sequence in the current epoch, and its offset: so a client that starts again goes on at the next, and at 0 where there is no row. What is older than minikafka.producer_expiry is forgotten. Needs the right to the producer, or membership in pg_monitor. Errors: 42501, 22023.';

CREATE FUNCTION minikafka.set_producer_owner(producer text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_producer_owner';
COMMENT ON FUNCTION minikafka.set_producer_owner(text, text) IS
'Gives the producer name to another role, from COMMIT on. For its owner who is a member of that role, as ALTER ... OWNER TO, and for superusers. Errors: 42704 unknown producer or role, 42501, both also at COMMIT.';
