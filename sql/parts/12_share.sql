-- Catalog of share groups.

-- Settings of groups of kind "share".
CREATE TABLE minikafka.share_group (
	group_no integer PRIMARY KEY,
	ordering text NOT NULL,
	max_deliveries integer NOT NULL,
	backoff interval NOT NULL,
	max_backoff interval NOT NULL,
	dead_letter_topic_id integer,
	auto_offset_reset text NOT NULL,
	max_in_flight integer NOT NULL,
	priority text NOT NULL,
	on_exhausted text,
	dead_letter_limit integer,
	paused boolean NOT NULL,
	paused_why text,
	epoch integer NOT NULL,
	ordering_epoch integer NOT NULL,
	parks boolean NOT NULL
);

-- The topics of a share group, in the order of their priority.
CREATE TABLE minikafka.share_topic (
	group_no integer,
	priority integer,
	topic_id integer NOT NULL,
	PRIMARY KEY (group_no, priority)
);

-- Newest first: below "high" all is done but the exceptions.
CREATE TABLE minikafka.share_checkpoint (
	group_no integer,
	topic_id integer,
	partition integer,
	number bigint,
	era integer NOT NULL,
	high bigint NOT NULL,
	exceptions bigint[] NOT NULL,
	slots integer[] NOT NULL,
	made_at timestamptz NOT NULL,
	lost bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (group_no, topic_id, partition, number)
);

-- Runs of offsets that are done.
CREATE TABLE minikafka.share_done (
	group_no integer,
	topic_id integer,
	partition integer,
	era integer,
	last_offset bigint,
	first_offset bigint NOT NULL,
	PRIMARY KEY (group_no, topic_id, partition, era, last_offset)
);

-- Newest first: deliveries that did not end well, or are under a lock.
CREATE TABLE minikafka.share_delivery (
	group_no integer,
	topic_id integer,
	partition integer,
	era integer,
	record_offset bigint,
	number bigint,
	acquisition bigint NOT NULL,
	state text NOT NULL,
	deliveries integer NOT NULL,
	slot integer NOT NULL,
	until timestamptz,
	at timestamptz NOT NULL,
	error text,
	PRIMARY KEY (group_no, topic_id, partition, era, record_offset, number)
);

COMMENT ON TABLE minikafka.share_group IS 'catalog: settings of share groups';
COMMENT ON COLUMN minikafka.share_group.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_group.ordering IS 'key: records of a key are handed out in order; none: in any order';
COMMENT ON COLUMN minikafka.share_group.max_deliveries IS 'number of deliveries after which a record is exhausted';
COMMENT ON COLUMN minikafka.share_group.backoff IS 'time before the second delivery; doubles with each further one';
COMMENT ON COLUMN minikafka.share_group.max_backoff IS 'maximum of that time';
COMMENT ON COLUMN minikafka.share_group.dead_letter_topic_id IS 'number of the topic for dead letters; NULL: none';
COMMENT ON COLUMN minikafka.share_group.auto_offset_reset IS 'where the group started in its topics: earliest or latest';
COMMENT ON COLUMN minikafka.share_group.max_in_flight IS 'number of slots of a partition, held or waiting, beyond which no further record is handed out';
COMMENT ON COLUMN minikafka.share_group.priority IS 'fair: topics in turn; strict: in their order';
COMMENT ON COLUMN minikafka.share_group.on_exhausted IS 'what becomes of an exhausted record: dead_letter, dead_letter_key, block or pause; NULL: dead_letter if there is a dead-letter topic, otherwise block';
COMMENT ON COLUMN minikafka.share_group.dead_letter_limit IS 'records of the dead-letter topic within an hour after which the group pauses; NULL: no limit';
COMMENT ON COLUMN minikafka.share_group.paused IS 'whether the group hands out nothing';
COMMENT ON COLUMN minikafka.share_group.paused_why IS 'why the group was paused';
COMMENT ON COLUMN minikafka.share_group.epoch IS 'increases by one with each reset, and with each change of the ordering';
COMMENT ON COLUMN minikafka.share_group.ordering_epoch IS 'epoch of the last change of the ordering';

COMMENT ON COLUMN minikafka.share_group.parks IS 'whether keys may be parked, by on_exhausted now or earlier';

COMMENT ON TABLE minikafka.share_topic IS 'catalog: topics of share groups';
COMMENT ON COLUMN minikafka.share_topic.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_topic.priority IS 'order of the topics, from 1';
COMMENT ON COLUMN minikafka.share_topic.topic_id IS 'topic number';

COMMENT ON TABLE minikafka.share_checkpoint IS 'how far share groups have come: the row with the greatest number counts';
COMMENT ON COLUMN minikafka.share_checkpoint.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_checkpoint.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.share_checkpoint.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.share_checkpoint.number IS 'increases by one with each checkpoint';
COMMENT ON COLUMN minikafka.share_checkpoint.era IS 'epoch of the group in which it was last reset in this topic; other eras of runs and deliveries do not count';
COMMENT ON COLUMN minikafka.share_checkpoint.high IS 'below this offset all records are done, except for the exceptions';
COMMENT ON COLUMN minikafka.share_checkpoint.exceptions IS 'offsets below it that were not done, ascending';
COMMENT ON COLUMN minikafka.share_checkpoint.slots IS 'slot of each exception';
COMMENT ON COLUMN minikafka.share_checkpoint.made_at IS 'when the checkpoint was made';
COMMENT ON COLUMN minikafka.share_checkpoint.lost IS 'number of records of this era that were removed before they were done, and that it counts as done';

COMMENT ON TABLE minikafka.share_done IS 'runs of offsets that share groups are done with';
COMMENT ON COLUMN minikafka.share_done.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_done.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.share_done.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.share_done.era IS 'era of the partition';
COMMENT ON COLUMN minikafka.share_done.last_offset IS 'last offset of the run';
COMMENT ON COLUMN minikafka.share_done.first_offset IS 'first offset of the run';

COMMENT ON TABLE minikafka.share_delivery IS 'deliveries of share groups that did not end well or are under an acquisition lock: the row with the greatest number counts';
COMMENT ON COLUMN minikafka.share_delivery.group_no IS 'group number';
COMMENT ON COLUMN minikafka.share_delivery.topic_id IS 'topic number';
COMMENT ON COLUMN minikafka.share_delivery.partition IS 'partition number, from 0';
COMMENT ON COLUMN minikafka.share_delivery.era IS 'era of the partition';
COMMENT ON COLUMN minikafka.share_delivery.record_offset IS 'offset of the record';
COMMENT ON COLUMN minikafka.share_delivery.number IS 'increases by one with each change';
COMMENT ON COLUMN minikafka.share_delivery.acquisition IS 'increases by one with each acquisition under a lock';
COMMENT ON COLUMN minikafka.share_delivery.state IS 'locked, released, failed or blocked';
COMMENT ON COLUMN minikafka.share_delivery.deliveries IS 'number of deliveries that count';
COMMENT ON COLUMN minikafka.share_delivery.slot IS 'slot of the record';
COMMENT ON COLUMN minikafka.share_delivery.until IS 'end of the acquisition lock, or time of the next delivery; NULL: at once';
COMMENT ON COLUMN minikafka.share_delivery.at IS 'when the row was made';
COMMENT ON COLUMN minikafka.share_delivery.error IS 'why the delivery failed';

SELECT pg_extension_config_dump('minikafka.share_group', '');
SELECT pg_extension_config_dump('minikafka.share_topic', '');
SELECT pg_extension_config_dump('minikafka.share_checkpoint', '');
SELECT pg_extension_config_dump('minikafka.share_done', '');
SELECT pg_extension_config_dump('minikafka.share_delivery', '');

CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_group WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_topic WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_checkpoint WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_done WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
CREATE TRIGGER repack_trigger BEFORE TRUNCATE ON minikafka.share_delivery WHEN (false) EXECUTE FUNCTION minikafka.refuse_write();
