-- Catalog of scheduled records.
CREATE SEQUENCE minikafka.scheduled_id;

-- Records that are not due yet, or could not be sent.  Rows are only inserted and
-- deleted; a record that could not be sent gets a new row of the same id.
CREATE TABLE minikafka.scheduled_record (
	id bigint PRIMARY KEY,
	topic_id integer NOT NULL,
	at timestamptz NOT NULL,
	due timestamptz NOT NULL,
	scheduled_by name NOT NULL,
	scheduled_at timestamptz NOT NULL,
	attempts integer NOT NULL,
	error text,
	key bytea,
	value bytea,
	headers jsonb
);
CREATE INDEX scheduled_record_due_idx ON minikafka.scheduled_record (due, at, id);

-- Where a look for records that are due begins: at the least time of the greatest
-- epoch.  Not dumped, so after a restore the first look begins at the beginning.
CREATE TABLE minikafka.schedule_start (
	epoch bigint NOT NULL,
	due timestamptz NOT NULL
);
CREATE INDEX schedule_start_idx ON minikafka.schedule_start (epoch, due);

COMMENT ON SEQUENCE minikafka.scheduled_id IS 'ids of scheduled records';

COMMENT ON TABLE minikafka.scheduled_record IS 'catalog: records that are to be sent later';
COMMENT ON COLUMN minikafka.scheduled_record.id IS 'id, as send_at() returned it';
COMMENT ON COLUMN minikafka.scheduled_record.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.scheduled_record.at IS 'when the record is to be sent';
COMMENT ON COLUMN minikafka.scheduled_record.due IS 'when it is tried next: at first the same time, later if it could not be sent';
COMMENT ON COLUMN minikafka.scheduled_record.scheduled_by IS 'role that scheduled it, by whose right it is sent';
COMMENT ON COLUMN minikafka.scheduled_record.scheduled_at IS 'when it was scheduled';
COMMENT ON COLUMN minikafka.scheduled_record.attempts IS 'how many times it could not be sent';
COMMENT ON COLUMN minikafka.scheduled_record.error IS 'why it could not be sent the last time';
COMMENT ON COLUMN minikafka.scheduled_record.key IS 'key of the record';
COMMENT ON COLUMN minikafka.scheduled_record.value IS 'value of the record';
COMMENT ON COLUMN minikafka.scheduled_record.headers IS 'headers of the record; NULL: none';

COMMENT ON TABLE minikafka.schedule_start IS 'catalog: where a look for scheduled records that are due begins: at the least time of the greatest epoch; not dumped';
COMMENT ON COLUMN minikafka.schedule_start.epoch IS 'increases by one each time the start moves up';
COMMENT ON COLUMN minikafka.schedule_start.due IS 'no scheduled record is due earlier than the least of these times';

SELECT pg_extension_config_dump('minikafka.scheduled_record', '');
SELECT pg_extension_config_dump('minikafka.scheduled_id', '');

CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.scheduled_record WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.schedule_start WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
