--
-- How old records must be to be compacted: an hour for maintain(), any age for
-- compact(), which is called; and for both what the topic's option says.
--
CREATE FUNCTION left_over() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(key || '=' || value, ' ' ORDER BY "offset") FROM minikafka.fetch_text('lag', 0, 0)
$$;
SELECT minikafka.create_topic('lag', 1, cleanup_policy => 'compact');
SELECT min_compaction_lag FROM minikafka.topics WHERE topic = 'lag';
SELECT count(minikafka.append('lag', 0, 'k', i::text)) FROM generate_series(0, 2) i;
-- a consumer that is less than an hour behind sees every record
CALL minikafka.maintain();
SELECT left_over();
SET minikafka.clock_offset = '50min';
SELECT count(minikafka.append('lag', 0, 'k', i::text)) FROM generate_series(3, 5) i;
CALL minikafka.maintain();
SELECT left_over();
SET minikafka.clock_offset = '70min';
CALL minikafka.maintain();
SELECT left_over();
-- compact() compacts all of it
CALL minikafka.compact('lag');
SELECT left_over();

-- the option counts for both, also where it is longer or shorter
SELECT count(minikafka.append('lag', 0, 'k', i::text)) FROM generate_series(6, 8) i;
SELECT minikafka.set_topic_option('lag', 'min_compaction_lag', '2 hours');
SET minikafka.clock_offset = '140min';
CALL minikafka.maintain();
CALL minikafka.compact('lag');
SELECT left_over();
SELECT minikafka.set_topic_option('lag', 'min_compaction_lag', '0');
SELECT count(minikafka.append('lag', 0, 'k', i::text)) FROM generate_series(9, 11) i;
CALL minikafka.maintain();
SELECT left_over();
-- and NULL is the default again
SELECT minikafka.set_topic_option('lag', 'min_compaction_lag', NULL);
SELECT count(minikafka.append('lag', 0, 'k', i::text)) FROM generate_series(12, 14) i;
CALL minikafka.maintain();
SELECT left_over();

RESET minikafka.clock_offset;
SELECT minikafka.drop_topic('lag');
DROP FUNCTION left_over();
