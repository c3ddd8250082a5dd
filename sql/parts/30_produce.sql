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
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 25006 read-only, 0A000 for producer, sequence and epoch, which are not supported yet.';

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
'The value is stored as its text. Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 25006 read-only, 0A000 for producer, sequence and epoch, which are not supported yet.';

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
'The value is stored as its text. Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 25006 read-only, 0A000 for producer, sequence and epoch, which are not supported yet.';

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
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 25006 read-only, 0A000 for producer, sequence and epoch, which are not supported yet.';

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
'Notes a record, which gets its offset and is stored when the transaction commits; returns the partition. Without key and partition: one partition for the whole transaction and topic. headers: a JSON object, or an array of {key, value or base64}. Needs INSERT on the topic. Errors: 42704 unknown topic or partition, 42501, 22023 bad headers, 54000 too large, 25006 read-only, 0A000 for producer, sequence and epoch, which are not supported yet.';

CREATE FUNCTION minikafka.send_many(
	topic text,
	payloads text[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_text';
COMMENT ON FUNCTION minikafka.send_many(text, text[], text[], jsonb[]) IS
'Like send() for each element, in array order; returns how many. The arrays are of one length (22023).';

CREATE FUNCTION minikafka.send_many(
	topic text,
	payloads jsonb[],
	keys text[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_jsonb';
COMMENT ON FUNCTION minikafka.send_many(text, jsonb[], text[], jsonb[]) IS
'Like send() for each element, in array order; returns how many. The arrays are of one length (22023).';

CREATE FUNCTION minikafka.send_many(
	topic text,
	payloads bytea[],
	keys bytea[] DEFAULT NULL,
	headers jsonb[] DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_many_bytea';
COMMENT ON FUNCTION minikafka.send_many(text, bytea[], bytea[], jsonb[]) IS
'Like send() for each element, in array order; returns how many. The arrays are of one length (22023).';

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
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first.';

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
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first.';

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
'Like send(), but the offset is known at once and returned: other transactions that send to the partition wait until this one ends. Two transactions that append to partitions in opposite orders can deadlock (40P01): lowest partition first.';

CREATE FUNCTION minikafka.last_sent(
	OUT topic text,
	OUT partition integer,
	OUT base_offset bigint,
	OUT records bigint)
RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_last_sent';
COMMENT ON FUNCTION minikafka.last_sent() IS
'What this session''s last committed transaction that sent has sent: for each partition the first offset, and how many records. Session state, so of no use through a transaction pooler.';
