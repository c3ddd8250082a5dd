/* Looking after topics */

CREATE FUNCTION minikafka.delete_records(topic text, partition integer, before_offset bigint)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_delete_records';
COMMENT ON FUNCTION minikafka.delete_records(text, integer, bigint) IS
'Moves the log start of a partition up to before_offset (-1: to the end) when the transaction commits, and never back; returns the new log start. Needs DELETE on the topic. Errors: MK001 beyond the end, 42704, 42501, 22023.';

CREATE FUNCTION minikafka.check_topic(
	topic text,
	OUT severity text,
	OUT partition integer,
	OUT "offset" bigint,
	OUT problem text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_check_topic';
COMMENT ON FUNCTION minikafka.check_topic(text) IS
'Reads the whole topic and tells what is wrong: severity "error" (an offset in the wrong segment, a time going back, a missing or altered table, one that is attached and is no segment, a committed offset beyond the end), "warning" (times in the future) or "notice" (a hole, on a topic that was never compacted). No rows: sound. Needs SELECT on the topic.';

CREATE PROCEDURE minikafka.maintain()
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_maintain';
COMMENT ON PROCEDURE minikafka.maintain() IS
'One pass of maintenance over everything, in many short transactions: next segments, retention, compaction, members whose timeouts have passed, and what is not needed any more of offsets, heartbeats, producers and inboxes. Several sessions may do that at once. What fails is reported with a WARNING and does not stop the rest; what is in use is left for the next pass, and functions in the indexes and constraints of a topic are stopped after 5 seconds. Not in a transaction block (2D000). EXECUTE is to be granted. Errors: 42501, 25006.';

CREATE PROCEDURE minikafka.expire(topic text, INOUT removed bigint DEFAULT 0)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_expire';
COMMENT ON PROCEDURE minikafka.expire(text, bigint) IS
'Retention of a topic that the caller owns: moves the log starts up to the first record that is not older than retention, or to the segments that retention_bytes keeps; then drops what lies below, as far as it is not in use. removed: how many records the log starts have passed. Not in a transaction block (2D000). Errors: 42704, 42501, 22023, 25006, 55000 a table was altered.';

CREATE PROCEDURE minikafka.compact(topic text, INOUT removed bigint DEFAULT 0)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_compact';
COMMENT ON PROCEDURE minikafka.compact(text, bigint) IS
'Compaction of a topic that the caller owns: of the records of a key that are older than min_compaction_lag only the newest stays, where it is; a tombstone goes when delete_retention has passed since a pass saw it first; the last record of a partition stays. removed: how many records went. Not in a transaction block (2D000). Errors: 55000 its cleanup_policy is not to compact, or a table was altered; 42704, 42501, 22023, 25006.';

CREATE FUNCTION minikafka.latest(topic text)
RETURNS SETOF minikafka.record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1000
AS 'MODULE_PATHNAME', 'minikafka_latest';
COMMENT ON FUNCTION minikafka.latest(text) IS
'The newest record of each key in each partition, without those that are tombstones or have no key, in one pass over the log; as the statement''s snapshot sees it, but for what retention has removed since. Needs SELECT on the topic. Errors: 42704, 42501, 22023, 0A000, 55000.';
