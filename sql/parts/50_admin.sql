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
'Reads the whole topic and tells what is wrong: severity "error" (an offset in the wrong segment, a time going back, a missing or altered table, a committed offset beyond the end) or "notice" (a hole). No rows: sound. Needs SELECT on the topic.';
