-- Catalog of the parked keys of share groups.

-- The records of parked keys that were set aside: where the dead letter of each is;
-- or, when redrive() has sent it back, at which offset.
CREATE TABLE minikafka.share_parked (
	group_no integer,
	topic_id integer,
	partition integer,
	era integer,
	slot integer,
	returned_offset bigint,
	record_offset bigint,
	key bytea NOT NULL,
	deliveries integer NOT NULL,
	dead_letter_topic_id integer NOT NULL,
	dead_letter_partition integer NOT NULL,
	dead_letter_offset bigint NOT NULL,
	at timestamptz NOT NULL,
	PRIMARY KEY (group_no, topic_id, partition, era, slot, returned_offset, record_offset)
);
CREATE INDEX share_parked_place ON minikafka.share_parked (group_no, topic_id, partition, era, slot, record_offset);
CREATE INDEX share_parked_letter ON minikafka.share_parked (dead_letter_topic_id, dead_letter_partition, dead_letter_offset);

COMMENT ON TABLE minikafka.share_parked IS 'records of parked keys of share groups: dead letters, and those that were sent back';
COMMENT ON COLUMN minikafka.share_parked.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_parked.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.share_parked.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.share_parked.era IS 'era of the partition';
COMMENT ON COLUMN minikafka.share_parked.slot IS 'slot of the key';
COMMENT ON COLUMN minikafka.share_parked.returned_offset IS 'offset at which redrive() has sent the record back; -1: it is a dead letter';
COMMENT ON COLUMN minikafka.share_parked.record_offset IS 'offset of the record when it was first set aside, which is its place in the order of the key';
COMMENT ON COLUMN minikafka.share_parked.key IS 'key of the record';
COMMENT ON COLUMN minikafka.share_parked.deliveries IS 'number of deliveries that counted';
COMMENT ON COLUMN minikafka.share_parked.dead_letter_topic_id IS 'number of the topic of its dead letter';
COMMENT ON COLUMN minikafka.share_parked.dead_letter_partition IS 'partition of its dead letter';
COMMENT ON COLUMN minikafka.share_parked.dead_letter_offset IS 'offset of its dead letter';
COMMENT ON COLUMN minikafka.share_parked.at IS 'when the row was made';

SELECT pg_extension_config_dump('minikafka.share_parked', '');

CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_parked WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
