/* Scheduled records */

CREATE FUNCTION minikafka.send_at(
	topic text,
	value text,
	at timestamptz,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_at';
COMMENT ON FUNCTION minikafka.send_at(text, text, timestamptz, text, jsonb) IS
'Schedules a record, and returns its id. When the transaction has committed and the time has come, the record is sent as send() does, and gets its offset then, and its partition. Records of a key are sent in the order of their times, and of their ids. The delivery worker sends what is due; without it, deliver_due(), maintain() and wait_for_records() do. At that time the role that scheduled the record must still have INSERT, and the record must satisfy the contract: otherwise it is tried again later, and the view scheduled shows why. headers: as for send(). Requires INSERT on the topic. Errors: 42704 unknown topic, also at COMMIT, 42501, 22023 at is NULL or infinite, or invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only.';

CREATE FUNCTION minikafka.send_at(
	topic text,
	value jsonb,
	at timestamptz,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_at';
COMMENT ON FUNCTION minikafka.send_at(text, jsonb, timestamptz, text, jsonb) IS
'Schedules a record, and returns its id. When the transaction has committed and the time has come, the record is sent as send() does, and gets its offset then, and its partition. Records of a key are sent in the order of their times, and of their ids. The delivery worker sends what is due; without it, deliver_due(), maintain() and wait_for_records() do. At that time the role that scheduled the record must still have INSERT, and the record must satisfy the contract: otherwise it is tried again later, and the view scheduled shows why. The value is stored as its text. headers: as for send(). Requires INSERT on the topic. Errors: 42704 unknown topic, also at COMMIT, 42501, 22023 at is NULL or infinite, or invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only.';

CREATE FUNCTION minikafka.send_at(
	topic text,
	value json,
	at timestamptz,
	key text DEFAULT NULL,
	headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_at';
COMMENT ON FUNCTION minikafka.send_at(text, json, timestamptz, text, jsonb) IS
'Schedules a record, and returns its id. When the transaction has committed and the time has come, the record is sent as send() does, and gets its offset then, and its partition. Records of a key are sent in the order of their times, and of their ids. The delivery worker sends what is due; without it, deliver_due(), maintain() and wait_for_records() do. At that time the role that scheduled the record must still have INSERT, and the record must satisfy the contract: otherwise it is tried again later, and the view scheduled shows why. The value is stored as its text. headers: as for send(). Requires INSERT on the topic. Errors: 42704 unknown topic, also at COMMIT, 42501, 22023 at is NULL or infinite, or invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only.';

CREATE FUNCTION minikafka.send_at(
	topic text,
	value bytea,
	at timestamptz,
	key text,
	headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_at';
COMMENT ON FUNCTION minikafka.send_at(text, bytea, timestamptz, text, jsonb) IS
'Schedules a record, and returns its id. When the transaction has committed and the time has come, the record is sent as send() does, and gets its offset then, and its partition. Records of a key are sent in the order of their times, and of their ids. The delivery worker sends what is due; without it, deliver_due(), maintain() and wait_for_records() do. At that time the role that scheduled the record must still have INSERT, and the record must satisfy the contract: otherwise it is tried again later, and the view scheduled shows why. headers: as for send(). Requires INSERT on the topic. Errors: 42704 unknown topic, also at COMMIT, 42501, 22023 at is NULL or infinite, or invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only.';

CREATE FUNCTION minikafka.send_at(
	topic text,
	value bytea,
	at timestamptz,
	key bytea DEFAULT NULL,
	headers jsonb DEFAULT NULL)
RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_send_at';
COMMENT ON FUNCTION minikafka.send_at(text, bytea, timestamptz, bytea, jsonb) IS
'Schedules a record, and returns its id. When the transaction has committed and the time has come, the record is sent as send() does, and gets its offset then, and its partition. Records of a key are sent in the order of their times, and of their ids. The delivery worker sends what is due; without it, deliver_due(), maintain() and wait_for_records() do. At that time the role that scheduled the record must still have INSERT, and the record must satisfy the contract: otherwise it is tried again later, and the view scheduled shows why. headers: as for send(). Requires INSERT on the topic. Errors: 42704 unknown topic, also at COMMIT, 42501, 22023 at is NULL or infinite, or invalid headers, 54000 too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic, 25006 read-only.';

CREATE FUNCTION minikafka.cancel_send(id bigint)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_cancel_send';
COMMENT ON FUNCTION minikafka.cancel_send(bigint) IS
'Cancels a scheduled record, if the transaction commits. Returns true if the record is cancelled, false if there is none of this id, as when it was sent, or if another transaction is sending or cancelling it. Never waits. Requires to own the topic, or to be a member of the role that scheduled the record and INSERT on the topic. Errors: 42501, 22023, 25006.';

CREATE PROCEDURE minikafka.deliver_due()
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_deliver_due';
COMMENT ON PROCEDURE minikafka.deliver_due() IS
'Sends the scheduled records that are due, in batches, and commits after each. Returns at once if another session is sending them. A record that cannot be sent is tried again later. It cannot run in a transaction block (2D000). Errors: 25006.';

CREATE VIEW minikafka.scheduled WITH (security_barrier) AS
SELECT s.id,
	c.relname::text AS topic,
	s.at,
	CASE WHEN r.may_read OR r.is_mine THEN s.key END AS key,
	s.scheduled_by::text AS scheduled_by,
	s.scheduled_at,
	s.attempts,
	CASE WHEN s.attempts > 0 THEN s.due END AS next_attempt,
	-- the message of a contract may hold what the record holds
	CASE WHEN r.may_read OR r.is_mine THEN s.error END AS error
FROM minikafka.scheduled_record s
JOIN minikafka.topic t ON t.topic_id = s.topic_id
JOIN pg_catalog.pg_class c ON c.oid = t.rel
CROSS JOIN LATERAL (
	-- a policy may hide any record, so with one that applies to the role none is shown
	SELECT pg_catalog.has_table_privilege(c.oid, 'SELECT') AND NOT pg_catalog.row_security_active(c.oid) AS may_read,
		COALESCE(pg_catalog.pg_has_role(pg_catalog.to_regrole(pg_catalog.quote_ident(s.scheduled_by::text))::oid, 'USAGE'), false) AS is_mine) r
WHERE r.may_read
	OR r.is_mine
	OR pg_catalog.pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW minikafka.scheduled IS 'Records that are scheduled in the topics that the role may read, or by the role itself.';
COMMENT ON COLUMN minikafka.scheduled.id IS 'id, as send_at() returned it';
COMMENT ON COLUMN minikafka.scheduled.topic IS 'topic name';
COMMENT ON COLUMN minikafka.scheduled.at IS 'when the record is to be sent';
COMMENT ON COLUMN minikafka.scheduled.key IS 'key of the record; NULL if it has none, or if the role may neither read the topic nor has scheduled the record';
COMMENT ON COLUMN minikafka.scheduled.scheduled_by IS 'role that scheduled it, by whose right it is sent';
COMMENT ON COLUMN minikafka.scheduled.scheduled_at IS 'when it was scheduled';
COMMENT ON COLUMN minikafka.scheduled.attempts IS 'how many times it could not be sent';
COMMENT ON COLUMN minikafka.scheduled.next_attempt IS 'when it is tried next, if it could not be sent';
COMMENT ON COLUMN minikafka.scheduled.error IS 'why it could not be sent the last time; NULL if there was no attempt yet, or if the role may neither read the topic nor has scheduled the record';
