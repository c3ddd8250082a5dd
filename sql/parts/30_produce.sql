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
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send';
COMMENT ON FUNCTION minikafka.send(text, text, text, jsonb, integer, text, bigint, integer) IS
'Adds a record to the transaction, and returns the partition. The record gets its offset and is stored when the transaction commits. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; requires a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Requires INSERT on the topic, and the producer. Errors: 42704 unknown topic or partition, 42501, 22023 invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only, MK045 the sequence is not the next one, or was sent before with another key or value, MK047 the epoch is not the current one, both also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value jsonb,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send';
COMMENT ON FUNCTION minikafka.send(text, jsonb, text, jsonb, integer, text, bigint, integer) IS
'Adds a record to the transaction, and returns the partition. The record gets its offset and is stored when the transaction commits. The value is stored as its text. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; requires a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Requires INSERT on the topic, and the producer. Errors: 42704 unknown topic or partition, 42501, 22023 invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only, MK045 the sequence is not the next one, or was sent before with another key or value, MK047 the epoch is not the current one, both also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value json,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send';
COMMENT ON FUNCTION minikafka.send(text, json, text, jsonb, integer, text, bigint, integer) IS
'Adds a record to the transaction, and returns the partition. The record gets its offset and is stored when the transaction commits. The value is stored as its text. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; requires a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Requires INSERT on the topic, and the producer. Errors: 42704 unknown topic or partition, 42501, 22023 invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only, MK045 the sequence is not the next one, or was sent before with another key or value, MK047 the epoch is not the current one, both also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value bytea,
	key text,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send';
COMMENT ON FUNCTION minikafka.send(text, bytea, text, jsonb, integer, text, bigint, integer) IS
'Adds a record to the transaction, and returns the partition. The record gets its offset and is stored when the transaction commits. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; requires a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Requires INSERT on the topic, and the producer. Errors: 42704 unknown topic or partition, 42501, 22023 invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only, MK045 the sequence is not the next one, or was sent before with another key or value, MK047 the epoch is not the current one, both also at COMMIT.';

CREATE FUNCTION minikafka.send(
	topic text,
	value bytea,
	key bytea DEFAULT NULL,
	headers jsonb DEFAULT NULL,
	partition integer DEFAULT NULL,
	producer text DEFAULT NULL,
	sequence bigint DEFAULT NULL,
	epoch integer DEFAULT NULL)
RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send';
COMMENT ON FUNCTION minikafka.send(text, bytea, bytea, jsonb, integer, text, bigint, integer) IS
'Adds a record to the transaction, and returns the partition. The record gets its offset and is stored when the transaction commits. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. producer and sequence: the producer numbers its records to each partition from 0; a repeat is acknowledged and not stored again; requires a key or a partition. epoch: as init_producer() returned it; NULL: the current one. Requires INSERT on the topic, and the producer. Errors: 42704 unknown topic or partition, 42501, 22023 invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only, MK045 the sequence is not the next one, or was sent before with another key or value, MK047 the epoch is not the current one, both also at COMMIT.';

CREATE FUNCTION minikafka.send_many(
	topic text,
	payloads text[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many';
COMMENT ON FUNCTION minikafka.send_many(text, text[], text[], jsonb[]) IS
'Sends a record for each element, as send() does, in the order of the arrays; returns their number. The arrays must have one dimension and the same length. Requires INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

CREATE FUNCTION minikafka.send_many_json(
	topic text,
	payloads jsonb[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_json';
COMMENT ON FUNCTION minikafka.send_many_json(text, jsonb[], text[], jsonb[]) IS
'Sends a record for each element, as send() does, in the order of the arrays; returns their number. Each value is stored as its text. The arrays must have one dimension and the same length. Requires INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

CREATE FUNCTION minikafka.send_many_bytes(
	topic text,
	payloads bytea[],
	keys bytea[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_bytes';
COMMENT ON FUNCTION minikafka.send_many_bytes(text, bytea[], bytea[], jsonb[]) IS
'Sends a record for each element, as send() does, in the order of the arrays; returns their number. The keys are bytes too. The arrays must have one dimension and the same length. Requires INSERT on the topic. Errors: 22023 arrays of different lengths or of more than one dimension, and those of send().';

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
'Like send(), but returns the offset, which it determines at once: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): append to the lowest partition first. With a producer, the producer''s lock is also held until the end; a repeat returns the original offset. Errors as for send(). At COMMIT: 40001 the transaction has also sent a record of a producer to the partition with send(), and another session was first.';

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
'Like send(), but returns the offset, which it determines at once: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): append to the lowest partition first. With a producer, the producer''s lock is also held until the end; a repeat returns the original offset. Errors as for send(). At COMMIT: 40001 the transaction has also sent a record of a producer to the partition with send(), and another session was first.';

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
'Like send(), but returns the offset, which it determines at once: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): append to the lowest partition first. With a producer, the producer''s lock is also held until the end; a repeat returns the original offset. Errors as for send(). At COMMIT: 40001 the transaction has also sent a record of a producer to the partition with send(), and another session was first.';

CREATE FUNCTION minikafka.last_sent(
	OUT topic text,
	OUT partition integer,
	OUT base_offset bigint,
	OUT records bigint)
RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_last_sent';
COMMENT ON FUNCTION minikafka.last_sent() IS
'Returns what this session''s last committed transaction with records has sent: for each partition the first offset and the number of records. Repeats of a producer appear with their original offsets. This is session state, so it is of no use through a transaction pooler.';

CREATE FUNCTION minikafka.init_producer(
	producer text,
	OUT producer_id bigint,
	OUT epoch integer)
RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_init_producer';
COMMENT ON FUNCTION minikafka.init_producer(text) IS
'Begins the producer''s next epoch at COMMIT, and returns it. Sequences begin at 0, and records sent in an older epoch are fenced (MK047). A new producer begins with epoch 0 and belongs to the caller. Requires the producer; for a new one, INSERT on any topic. Errors: 42501, 54000 no epoch is left, 22023. At COMMIT: MK047 another session has begun an epoch meanwhile.';

CREATE FUNCTION minikafka.producer_state(producer text)
RETURNS TABLE (topic text, partition integer, epoch integer, last_sequence bigint, last_offset bigint)
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'minikafka_producer_state';
COMMENT ON FUNCTION minikafka.producer_state(text) IS
'Returns, for each partition to which the producer has sent, the last sequence in the current epoch and its offset. A client that starts again continues at the next sequence, or at 0 without a row. Sequences older than minikafka.producer_expiry are forgotten. Requires the producer, or membership in pg_monitor. Errors: 42501, 22023.';

CREATE FUNCTION minikafka.set_producer_owner(producer text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_producer_owner';
COMMENT ON FUNCTION minikafka.set_producer_owner(text, text) IS
'Gives the producer name to another role, at COMMIT. Requires to be its owner and a member of that role, as ALTER ... OWNER TO does, or a superuser. Errors: 42704 unknown producer or role, 42501, both also at COMMIT.';
