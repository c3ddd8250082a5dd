/* The two ends of a pipeline: the outbox trigger, and the inbox */

CREATE FUNCTION minikafka.outbox() RETURNS trigger
LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_outbox';
COMMENT ON FUNCTION minikafka.outbox() IS
'A trigger, AFTER INSERT OR UPDATE OR DELETE ... FOR EACH ROW EXECUTE FUNCTION minikafka.outbox(topic, column ... [, -column ...]): sends the row to the topic as JSON. The key is the named column, or columns joined by ":"; columns with "-" before their name are left out. Headers: op (INSERT, UPDATE, DELETE), table and schema of the table that the trigger was made on. An UPDATE sends the new row, and if the key changes before that a tombstone of the old key; a DELETE sends a tombstone. Needs INSERT on the topic. Errors, when it fires: 42703 no such column; 22004 a null in the key; 42704 no such topic; 42501; 54000 the row is too large; 23502, 23514, 22021 or 22P02 not as the topic''s NOT NULL, CHECK or value_format want it (a tombstone has no value); 39P01 not AFTER ROW.';

CREATE FUNCTION minikafka.inbox_accept(consumer text, event_id text, payload bytea DEFAULT NULL)
RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_inbox_accept';
COMMENT ON FUNCTION minikafka.inbox_accept(text, text, bytea) IS
'True the first time that the consumer accepts the event, false for a repeat; takes effect with the transaction. Waits while another session''s first time is undecided. The first use of a consumer name makes it the caller''s. Errors: MK100 the event was accepted with another payload (where both have one); 42501 another role''s consumer; 40001 in REPEATABLE READ and SERIALIZABLE, when another transaction accepted it meanwhile: run the transaction again; 22023.';

CREATE FUNCTION minikafka.set_inbox_owner(consumer text, owner text)
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_set_inbox_owner';
COMMENT ON FUNCTION minikafka.set_inbox_owner(text, text) IS
'Gives the consumer of the inbox to another role; takes effect with the transaction. For its owner who is a member of that role, as ALTER ... OWNER TO, and for superusers. Errors: 42704 unknown consumer or role, 42501; 40001 another transaction has given it away meanwhile.';
