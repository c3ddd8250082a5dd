/* Reading */

CREATE TYPE minikafka.record AS (
	topic text,
	partition integer,
	"offset" bigint,
	ts timestamptz,
	key bytea,
	value bytea,
	headers jsonb);
COMMENT ON TYPE minikafka.record IS 'A record as fetch() returns it.';

CREATE TYPE minikafka.record_text AS (
	topic text,
	partition integer,
	"offset" bigint,
	ts timestamptz,
	key text,
	value text,
	headers jsonb);
COMMENT ON TYPE minikafka.record_text IS 'A record as fetch_text() returns it.';

CREATE TYPE minikafka.record_json AS (
	topic text,
	partition integer,
	"offset" bigint,
	ts timestamptz,
	key text,
	value jsonb,
	headers jsonb);
COMMENT ON TYPE minikafka.record_json IS 'A record as fetch_json() returns it.';

CREATE FUNCTION minikafka.fetch(
	topic text,
	partition integer,
	start_offset bigint,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800)
RETURNS SETOF minikafka.record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_fetch';
COMMENT ON FUNCTION minikafka.fetch(text, integer, bigint, integer, integer) IS
'Returns the records of a partition from start_offset on, in order: at most max_records, and after the first at most max_bytes. Stops before the first record that is not decided yet or that the statement does not see; no rows at the end. Requires SELECT on the topic. Errors: MK001 start_offset is below the log start or beyond the end, 42704, 42501, 22023.';

CREATE FUNCTION minikafka.fetch_text(
	topic text,
	partition integer,
	start_offset bigint,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800)
RETURNS SETOF minikafka.record_text
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_fetch_text';
COMMENT ON FUNCTION minikafka.fetch_text(text, integer, bigint, integer, integer) IS
'Returns the records of a partition from start_offset on, in order, with key and value as text: at most max_records, and after the first at most max_bytes. Stops before the first record that is not decided yet or that the statement does not see; no rows at the end. Returns the records before one that cannot be decoded; if that is the first, raises an error (22021). Requires SELECT on the topic. Errors: MK001 start_offset is below the log start or beyond the end, 42704, 42501, 22023.';

CREATE FUNCTION minikafka.fetch_json(
	topic text,
	partition integer,
	start_offset bigint,
	max_records integer DEFAULT 100,
	max_bytes integer DEFAULT 52428800)
RETURNS SETOF minikafka.record_json
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100
AS 'MODULE_PATHNAME', 'minikafka_fetch_json';
COMMENT ON FUNCTION minikafka.fetch_json(text, integer, bigint, integer, integer) IS
'Returns the records of a partition from start_offset on, in order, with the key as text and the value as JSON: at most max_records, and after the first at most max_bytes. Stops before the first record that is not decided yet or that the statement does not see; no rows at the end. Returns the records before one that cannot be decoded; if that is the first, raises an error (22021 or 22P02). Requires SELECT on the topic. Errors: MK001 start_offset is below the log start or beyond the end, 42704, 42501, 22023.';

CREATE FUNCTION minikafka.is_json(value bytea)
RETURNS boolean LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'minikafka_is_json';
COMMENT ON FUNCTION minikafka.is_json(bytea) IS
'Returns whether fetch_json() can read a value: whether it is JSON in UTF-8 that jsonb can store. For CHECK constraints of topics.';

CREATE FUNCTION minikafka.is_text(value bytea)
RETURNS boolean LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'minikafka_is_text';
COMMENT ON FUNCTION minikafka.is_text(bytea) IS
'Returns whether fetch_text() can read a key or a value: whether it is UTF-8, and the database''s encoding has its characters. For CHECK constraints of topics.';

CREATE FUNCTION minikafka.offsets(
	topic text,
	partition integer,
	OUT log_start_offset bigint,
	OUT end_offset bigint)
RETURNS record LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_offsets';
COMMENT ON FUNCTION minikafka.offsets(text, integer) IS
'Returns the log start of a partition and its end: the first offset that is not decided yet, where a reader stands that has read everything (Kafka''s last stable offset). Requires SELECT on the topic, or membership in pg_monitor. Errors: 42704, 42501, 0A000, 55000.';

CREATE FUNCTION minikafka.try_offsets(
	topic text,
	partition integer,
	OUT log_start_offset bigint,
	OUT end_offset bigint)
RETURNS record LANGUAGE c STABLE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'minikafka_try_offsets';
COMMENT ON FUNCTION minikafka.try_offsets(text, integer) IS
'Like offsets(), but returns NULLs for a topic that cannot be read (row-level security, a table altered by hand). For the view partitions.';

CREATE FUNCTION minikafka.offset_for_time(topic text, partition integer, ts timestamptz)
RETURNS bigint LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_offset_for_time';
COMMENT ON FUNCTION minikafka.offset_for_time(text, integer, timestamptz) IS
'Returns the offset of the first record of a partition that was appended at or after ts; NULL if there is none. Requires SELECT on the topic. Errors: 42704, 42501, 0A000, 55000.';
