/* Both ends of a pipeline: the outbox trigger and the inbox */

CREATE FUNCTION minikafka.outbox() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_outbox';
COMMENT ON FUNCTION minikafka.outbox() IS
'Trigger function that sends a row as JSON to a topic: AFTER INSERT OR UPDATE OR DELETE ... FOR EACH ROW EXECUTE FUNCTION minikafka.outbox(topic, column ... [, -column ...]). The key is the text of the named column, or of several columns joined by ":"; columns with "-" before their name are left out of the value. Headers: op (INSERT, UPDATE, DELETE), table and schema of the table on which the trigger was created. An UPDATE sends the new row, preceded by a tombstone of the old key if the key changes; a DELETE sends a tombstone. Requires INSERT on the topic. Errors when it fires: 42703 no such column, 22004 a null in the key, 42704 no such topic, 42501, 54000 the row is too large, 23502, 23514, 22021 or 22P02 the record violates NOT NULL, CHECK or value_format of the topic (a tombstone has no value), 39P01 not AFTER ROW.';

CREATE FUNCTION minikafka.inbox_accept(consumer text, event_id text, payload bytea DEFAULT NULL)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_inbox_accept';
COMMENT ON FUNCTION minikafka.inbox_accept(text, text, bytea) IS
'Returns true the first time that the consumer accepts the event, and false for a repeat; takes effect with the transaction. Waits while another session''s first time is undecided. The first use of a consumer name creates it for the caller. Errors: MK100 the event was accepted with another payload (if both have one), 42501 the consumer belongs to another role, 40001 in REPEATABLE READ and SERIALIZABLE, another transaction has accepted the event meanwhile: run the transaction again, 22023.';

CREATE FUNCTION minikafka.set_inbox_owner(consumer text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_inbox_owner';
COMMENT ON FUNCTION minikafka.set_inbox_owner(text, text) IS
'Gives the consumer of the inbox to another role; takes effect with the transaction. Requires to be its owner and a member of that role, as ALTER ... OWNER TO does, or a superuser. Errors: 42704 unknown consumer or role, 42501, 40001 another transaction has given it away meanwhile.';
