-- Catalog of dead letters.

-- Which records of a topic redrive() has sent on: runs of offsets that do not
-- touch each other.  Rows are updated in place, under a lock.
CREATE TABLE minikafka.redriven (
	topic_id integer,
	partition integer,
	first_offset bigint,
	last_offset bigint NOT NULL,
	PRIMARY KEY (topic_id, partition, first_offset)
);

COMMENT ON TABLE minikafka.redriven IS 'which dead letters redrive() has sent on: runs of offsets';
COMMENT ON COLUMN minikafka.redriven.topic_id IS 'number of the dead-letter topic';
COMMENT ON COLUMN minikafka.redriven.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.redriven.first_offset IS 'first offset of the run';
COMMENT ON COLUMN minikafka.redriven.last_offset IS 'last offset of the run';

SELECT pg_extension_config_dump('minikafka.redriven', '');

CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.redriven WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
