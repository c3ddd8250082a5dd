/* Share groups: creating them, their options */

CREATE FUNCTION minikafka.create_share_group(
	group_id text,
	topics text[],
	ordering text DEFAULT 'key',
	max_deliveries integer DEFAULT 5,
	backoff interval DEFAULT '1s',
	max_backoff interval DEFAULT '5min',
	dead_letter_topic text DEFAULT NULL,
	auto_offset_reset text DEFAULT 'earliest')
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_create_share_group';
COMMENT ON FUNCTION minikafka.create_share_group(text, text[], text, integer, interval, interval, text, text) IS
'Creates a share group, which hands out the records of its topics one by one, at COMMIT. It belongs to the caller. topics: names of topics, in the order of their priority. ordering: key (a record is handed out when all earlier records of its key are done) or none. max_deliveries: from 1 to 1000000; a record whose last delivery has failed is exhausted. backoff: time before the second delivery, which doubles with each further one up to max_backoff. dead_letter_topic: gets copies of exhausted records; NULL: they wait for a person. auto_offset_reset: earliest, or latest, which begins at the end that each partition has at COMMIT. Requires SELECT on the topics, and INSERT on the dead-letter topic. Errors: 42710 there is such a share group, MK023 a consumer group has the name, both also at COMMIT, 42704 unknown topic, 42501, 22023.';

CREATE FUNCTION minikafka.set_group_option(group_id text, option text, value text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_group_option';
COMMENT ON FUNCTION minikafka.set_group_option(text, text, text) IS
'Sets an option of a share group, at COMMIT. NULL restores the default. Options: topics (an array; one that is added begins by auto_offset_reset, one that is removed keeps its state), ordering (key, none), max_deliveries, backoff, max_backoff, dead_letter_topic, auto_offset_reset (earliest, latest), max_in_flight (1 to 20000), priority (fair, strict: topics in their order), on_exhausted (dead_letter, dead_letter_key: later records of the key follow it there, block, pause), dead_letter_limit (records of the dead-letter topic within an hour, at which the group pauses instead of sending one more), paused. Requires to be the owner of the group; for topics SELECT on each; for a dead-letter topic INSERT. Errors: MK023 it is a consumer group, 22023 unknown option or value, or a value that does not fit the others, also at COMMIT, 42704, 42501.';

/* Share groups: handing out records, and answers */

CREATE FUNCTION minikafka.acquire(
	group_id text,
	max_records integer DEFAULT 1,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	lock_duration interval DEFAULT NULL,
	accept boolean DEFAULT false)
RETURNS TABLE (topic text, partition integer, "offset" bigint, ts timestamptz, key bytea, value bytea, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)
LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'minikafka_acquire';
COMMENT ON FUNCTION minikafka.acquire(text, integer, integer, interval, interval, boolean) IS
'Hands out records of a share group that no other worker has. Each must be acknowledged before COMMIT, unless accept is true or a lock_duration is given. max_records, max_bytes: limits; the first record is returned whatever its size. max_wait: how long to wait for a record if there is none. lock_duration: the records are for the caller for that long after the COMMIT, and are acknowledged in a later transaction. accept: COMMIT accepts those that are not acknowledged otherwise. delivery_count: 1 at the first delivery. fencing_token: grows with each acquisition of the record under a lock, also over resets; NULL without lock_duration. Errors: 42704 unknown group, 42501, 22023, MK023 a consumer group; at COMMIT MK121 a record that is not acknowledged, MK022 the offsets were reset, 42704 the group was deleted.';

CREATE FUNCTION minikafka.acquire_text(
	group_id text,
	max_records integer DEFAULT 1,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	lock_duration interval DEFAULT NULL,
	accept boolean DEFAULT false)
RETURNS TABLE (topic text, partition integer, "offset" bigint, ts timestamptz, key text, value text, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)
LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'minikafka_acquire_text';
COMMENT ON FUNCTION minikafka.acquire_text(text, integer, integer, interval, interval, boolean) IS
'As acquire(), with keys and values as text. The delivery of a record that is no text has failed; the call goes on with others.';

CREATE FUNCTION minikafka.acquire_json(
	group_id text,
	max_records integer DEFAULT 1,
	max_bytes integer DEFAULT 52428800,
	max_wait interval DEFAULT '0',
	lock_duration interval DEFAULT NULL,
	accept boolean DEFAULT false)
RETURNS TABLE (topic text, partition integer, "offset" bigint, ts timestamptz, key text, value jsonb, headers jsonb, delivery_count integer, receipt text, fencing_token bigint)
LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'minikafka_acquire_json';
COMMENT ON FUNCTION minikafka.acquire_json(text, integer, integer, interval, interval, boolean) IS
'As acquire(), with keys as text and values as jsonb. The delivery of a record that is no JSON has failed; the call goes on with others.';

CREATE FUNCTION minikafka.acknowledge(
	group_id text,
	receipt text,
	type text DEFAULT 'accept',
	error text DEFAULT NULL,
	retry_after interval DEFAULT NULL)
RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_acknowledge';
COMMENT ON FUNCTION minikafka.acknowledge(text, text, text, text, interval) IS
'Answers a delivery, in effect at COMMIT. type: accept (it is done); release (it is handed out again, at once or after retry_after, and not counted); fail (it is counted, and handed out again after retry_after, by default a backoff, until it is exhausted); reject (never again). error: why, for whoever may use the group; 8 kB of it are kept. With the receipt of a parked key, release lets later records of the key go on. Returns what becomes of the record: accepted, released, retry, dead_letter, rejected, blocked or paused; released, and not accepted, whatever type is, if an earlier record of its key has failed or was released in this transaction. Errors: MK121 the record is not held by this delivery, was acknowledged already, or an earlier one of its key was not; 55P03 another session holds it; 42704 unknown group, 42501, 22023.';

CREATE FUNCTION minikafka.renew(
	group_id text,
	receipt text,
	lock_duration interval)
RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_renew';
COMMENT ON FUNCTION minikafka.renew(text, text, interval) IS
'Lets the acquisition lock of a record end lock_duration from now, at COMMIT. Returns that time. Errors: MK121 the lock was lost, 55P03, 42704, 42501, 22023.';
