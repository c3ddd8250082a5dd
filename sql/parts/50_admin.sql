/* Administration of topics */

CREATE FUNCTION minikafka.delete_records(topic text, partition integer, before_offset bigint)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_delete_records';
COMMENT ON FUNCTION minikafka.delete_records(text, integer, bigint) IS
'Advances the log start of a partition to before_offset (-1: to the end) when the transaction commits; it never moves back. Returns the new log start. Requires DELETE on the topic. Errors: MK001 beyond the end, 42704, 42501, 22023.';

CREATE FUNCTION minikafka.check_topic(
	topic text,
	OUT severity text,
	OUT partition integer,
	OUT "offset" bigint,
	OUT problem text)
RETURNS SETOF record LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'minikafka_check_topic';
COMMENT ON FUNCTION minikafka.check_topic(text) IS
'Reads the whole topic and returns a row for each problem, or no rows if the topic is sound. severity: error (an offset in the wrong segment, a time that goes back, a missing or altered table, an attached table that is not a segment, a committed offset beyond the end), warning (times in the future) or notice (a hole, in a topic that was never compacted). Requires SELECT on the topic. Errors: 42704, 42501.';

CREATE PROCEDURE minikafka.maintain()
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_maintain';
COMMENT ON PROCEDURE minikafka.maintain() IS
'One pass of maintenance over everything, in many short transactions: creates segments ahead of need, applies retention and compaction, removes members whose timeouts have passed, and what is no longer needed of offsets, heartbeats, share groups, producers and inboxes. Several sessions may call it at once. A failure raises a WARNING and does not stop the pass; what is in use is left for the next pass, and functions in the indexes and constraints of a topic are cancelled after 5 seconds. It cannot run in a transaction block (2D000). Requires EXECUTE. Errors: 42501, 25006.';

CREATE PROCEDURE minikafka.expire(topic text, INOUT removed bigint DEFAULT 0)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_expire';
COMMENT ON PROCEDURE minikafka.expire(text, bigint) IS
'Applies retention to a topic that the caller owns: advances the log starts to the first record that is not older than retention, or to the segments that retention_bytes keeps, with keep_unread no further than all groups have read, with delete_read at least that far; then removes what lies below, except what is in use. removed: number of records that the log starts have passed. Waits for other sessions that remove records of the topic or have locked them, up to lock_timeout. It cannot run in a transaction block (2D000). Errors: 42704, 42501, 22023, 25006, 55P03, 55000 a table was altered.';

CREATE PROCEDURE minikafka.compact(topic text, INOUT removed bigint DEFAULT 0)
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_compact';
COMMENT ON PROCEDURE minikafka.compact(text, bigint) IS
'Compacts a topic that the caller owns: of the records of a key that are older than min_compaction_lag only the newest stays, in its place; a tombstone is removed when delete_retention has passed since the first pass that saw it; the last record of a partition stays. removed: number of removed records. Waits for other sessions that remove records of the topic or have locked them, up to lock_timeout. It cannot run in a transaction block (2D000). Errors: 55000 its cleanup_policy does not compact, or a table was altered, 42704, 42501, 22023, 25006, 55P03.';

CREATE FUNCTION minikafka.latest(topic text)
RETURNS SETOF minikafka.record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1000
AS 'MODULE_PATHNAME', 'minikafka_latest';
COMMENT ON FUNCTION minikafka.latest(text) IS
'Returns the newest record of each key in each partition, without tombstones and records without a key, in one scan of the log; as the statement''s snapshot sees it, except what retention has removed since. Requires SELECT on the topic. Errors: 42704, 42501, 22023, 0A000, 55000.';
