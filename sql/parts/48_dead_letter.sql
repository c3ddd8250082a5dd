/* Dead letters */

CREATE FUNCTION minikafka.dead_letter(
	group_id text,
	topic text,
	partition integer,
	record_offset bigint,
	dead_letter_topic text,
	error text)
RETURNS void
LANGUAGE c
AS 'MODULE_PATHNAME', 'minikafka_dead_letter';
COMMENT ON FUNCTION minikafka.dead_letter(text, text, integer, bigint, text, text) IS
'Sends a copy of a record that the group could not process to the dead-letter topic, with headers __dlq.errors.* that tell where it was and what the error is (may be NULL). Takes effect with the transaction; moves no offset. Requires the use of the group, SELECT on the topic and INSERT on the dead-letter topic. Errors: 42704 unknown group, topic or partition, MK023 a share group, 42501, 22023 the two topics are one, MK001 record_offset is not below the end, 54000 the copy is too large, and what send() raises for a record that violates a contract.';

CREATE FUNCTION minikafka.redrive(
	dead_letter_topic text,
	partition integer DEFAULT NULL,
	record_offset bigint DEFAULT NULL,
	max_records integer DEFAULT NULL,
	target_topic text DEFAULT NULL)
RETURNS bigint
LANGUAGE c
AS 'MODULE_PATHNAME', 'minikafka_redrive';
COMMENT ON FUNCTION minikafka.redrive(text, integer, bigint, integer, text) IS
'Sends dead letters back to the topic that each came from, or to target_topic, as new records, and returns how many; each letter once. Letters of a parked key of a share group come before the later records of the key. One letter (partition and record_offset), a partition, or all; at most max_records, the first ones. Takes effect with the transaction, which another redrive of the same topic waits for. Requires SELECT on the dead-letter topic and INSERT where it sends to; with target_topic also DELETE on the dead-letter topic. Errors: 42704, 42501, 22023, MK001 record_offset is not below the end, 54000 a record is too large, and what send() raises for a record that violates a contract.';
