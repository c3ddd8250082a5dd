/* Share groups: creating them, their options */

CREATE FUNCTION minikafka.create_share_group(
	group_id text,
	topics text[],
	ordering text DEFAULT 'key',
	max_deliveries integer DEFAULT 5,
	backoff interval DEFAULT '1s',
	max_backoff interval DEFAULT '5min',
	dead_letter_topic text DEFAULT NULL,
	auto_offset_reset text DEFAULT 'earliest')
RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'minikafka_create_share_group';
COMMENT ON FUNCTION minikafka.create_share_group(text, text[], text, integer, interval, interval, text, text) IS
'Creates a share group, which hands out the records of its topics one by one, at COMMIT. It belongs to the caller. topics: names of topics, in the order of their priority. ordering: key (a record is handed out when all earlier records of its key are done) or none. max_deliveries: from 1 to 1000000; a record whose last delivery has failed is exhausted. backoff: time before the second delivery, which doubles with each further one up to max_backoff. dead_letter_topic: gets copies of exhausted records; NULL: they wait for a person. auto_offset_reset: earliest, or latest, which begins at the end that each partition has at COMMIT. Requires SELECT on the topics, and INSERT on the dead-letter topic. Errors: 42710 there is such a share group, MK023 a consumer group has the name, both also at COMMIT, 42704 unknown topic, 42501, 22023.';
