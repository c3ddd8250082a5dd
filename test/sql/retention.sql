--
-- Retention: what is old or too much goes, from the log start on
--
-- the records that can be read, and the numbers of the segments, which have
-- their tables
CREATE FUNCTION log(topic text, partition int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
SELECT format('%s..%s: %s', o.log_start_offset, o.end_offset,
	(SELECT string_agg(value, ' ' ORDER BY "offset") FROM minikafka.fetch_text(topic, partition, o.log_start_offset)))
FROM minikafka.offsets(topic, partition) o
$$;
CREATE FUNCTION segments(topic text, partition int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(coalesce(s.segment::text, 'none') || CASE WHEN c.oid IS NULL THEN ' missing' ELSE '' END, ' ' ORDER BY s.segment)
FROM minikafka.topic t
JOIN minikafka.segment s ON s.topic_id = t.topic_id AND s.partition = $2
LEFT JOIN pg_class c ON c.relname = format('p%s_%s_%s', t.topic_id, s.partition, s.segment) AND c.relnamespace = 'minikafka_data'::regnamespace
WHERE t.rel = format('minikafka_topics.%I', topic)::regclass
$$;

-- By age.  A record of each hour, from 0 to 9 o'clock
SELECT minikafka.create_topic('aged', 2, retention => '5 hours', segment_records => 4);
DO $$ BEGIN
	FOR hour IN 0 .. 9 LOOP
		PERFORM set_config('minikafka.clock_offset', (hour * 3600)::text, false);
		PERFORM minikafka.send('aged', hour || 'h', partition => 0);
		COMMIT;
	END LOOP;
END $$;
SELECT log('aged'), segments('aged');
-- at a quarter past 9: those of 4 o'clock and before are older than 5 hours
SET minikafka.clock_offset = 33300;
CALL minikafka.expire('aged');
SELECT log('aged'), segments('aged');
-- what lies below the log start is gone, in the segment where it is too
SELECT "offset" FROM minikafka_topics.aged ORDER BY 1;
SELECT topic, partition, log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'aged' ORDER BY partition;
SELECT * FROM minikafka.check_topic('aged');
CALL minikafka.expire('aged');
SELECT minikafka.fetch('aged', 0, 4);
SELECT minikafka.offset_for_time('aged', 0, '-infinity'), minikafka.offset_for_time('aged', 0, 'infinity');
-- a retention that is changed
SELECT minikafka.set_topic_option('aged', 'retention', '2 hours 30 minutes');
CALL minikafka.expire('aged');
SELECT log('aged'), segments('aged');
SELECT minikafka.set_topic_option('aged', 'retention', NULL);
SET minikafka.clock_offset = 1000000;
CALL minikafka.expire('aged');
SELECT minikafka.set_topic_option('aged', 'retention', '100000000 years');
CALL minikafka.expire('aged');
SELECT log('aged'), segments('aged');
-- Kafka case L11: all are too old; the newest segment stays, and the end
SELECT minikafka.set_topic_option('aged', 'retention', '1 month');
CALL minikafka.expire('aged');
SET minikafka.clock_offset = 2700000;
CALL minikafka.expire('aged');
SELECT log('aged'), segments('aged');
SELECT count(*) FROM minikafka_topics.aged;
SELECT * FROM minikafka.check_topic('aged');
SELECT minikafka.offset_for_time('aged', 0, '-infinity');
-- and the log goes on where it was
SELECT minikafka.append('aged', 0, 'k', 'next'), minikafka.append('aged', 0, 'k', 'and next');
SELECT minikafka.append('aged', 0, 'k', 'v') FROM generate_series(12, 17);
SELECT log('aged'), segments('aged');
SET minikafka.clock_offset = 6000000;
CALL minikafka.expire('aged');
SELECT log('aged'), segments('aged');
SELECT minikafka.append('aged', 0, 'k', 'v');
SELECT log('aged'), segments('aged');
SELECT * FROM minikafka.check_topic('aged');
RESET minikafka.clock_offset;
SELECT minikafka.drop_topic('aged');

-- The age is that of the append, at COMMIT, however long the transaction took
SELECT minikafka.create_topic('long', 1, retention => '1 hour');
BEGIN;
SELECT minikafka.send('long', 'v');
SET minikafka.clock_offset = 7200;
COMMIT;
CALL minikafka.expire('long');
SELECT log('long');
-- D15: times never go back along a partition, so nothing goes in the middle
RESET minikafka.clock_offset;
SELECT minikafka.create_topic('back', 1, retention => '10 hours');
SELECT minikafka.append('back', 0, NULL, 'at 0');
SET minikafka.clock_offset = 180000;
SELECT minikafka.append('back', 0, NULL, 'at 50');
RESET minikafka.clock_offset;
SELECT minikafka.append('back', 0, NULL, 'at 0, too');
SET minikafka.clock_offset = 180000;
SELECT minikafka.append('back', 0, NULL, 'at 50, too');
SELECT "offset", ts - first_value(ts) OVER () > '49 hours' AS late FROM minikafka.fetch('back', 0, 0);
SET minikafka.clock_offset = 198000;
CALL minikafka.expire('back');
SELECT log('back');
RESET minikafka.clock_offset;

-- All partitions, of a topic whose name needs quotes
SELECT minikafka.create_topic('All.Of-them', 3, retention => '1 hour', segment_records => 2);
SELECT count(minikafka.send('All.Of-them', format('%s.%s', p, i), partition => p)) FROM generate_series(0, 2) p, generate_series(1, p * 2) i;
SET minikafka.clock_offset = 7200;
SELECT minikafka.send('All.Of-them', 'young', partition => 2);
CALL minikafka.expire('All.Of-them');
SELECT p, log('All.Of-them', p), segments('All.Of-them', p) FROM generate_series(0, 2) p;
CALL minikafka.expire('all.of-them');
RESET minikafka.clock_offset;

-- By size: the newest segments that have so many bytes together, and the one
-- that the end is in
SELECT minikafka.create_topic('sized', 1, segment_records => 100);
SELECT count(minikafka.send('sized', repeat(i::text, 200), partition => 0)) FROM generate_series(0, 649) i;
SELECT segments('sized');
SELECT sum(bytes) FILTER (WHERE segment >= 6) AS last_one, sum(bytes) FILTER (WHERE segment >= 4) AS last_three, sum(bytes) AS all_of_them
FROM (SELECT segment, pg_total_relation_size(format('minikafka_data.p%s_0_%s', topic_id, segment)) AS bytes
	FROM minikafka.segment JOIN minikafka.topic USING (topic_id)
	WHERE minikafka.topic.rel = 'minikafka_topics.sized'::regclass AND segment <= 6) s \gset
-- Kafka case L10: there is less than that
SELECT minikafka.set_topic_option('sized', 'retention_bytes', (:all_of_them + 1)::text);
CALL minikafka.expire('sized');
SELECT minikafka.set_topic_option('sized', 'retention_bytes', :'all_of_them');
CALL minikafka.expire('sized');
SELECT minikafka.set_topic_option('sized', 'retention_bytes', (:last_three + 1)::text);
CALL minikafka.expire('sized');
SELECT log_start_offset, segments FROM minikafka.partitions WHERE topic = 'sized';
SELECT bytes >= :last_three + 1 AS enough FROM minikafka.partitions WHERE topic = 'sized';
SELECT minikafka.set_topic_option('sized', 'retention_bytes', :'last_three');
CALL minikafka.expire('sized');
SELECT log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'sized';
-- within a segment nothing goes by size
SELECT minikafka.delete_records('sized', 0, 450);
CALL minikafka.expire('sized');
SELECT log_start_offset, segments FROM minikafka.partitions WHERE topic = 'sized';
SELECT minikafka.set_topic_option('sized', 'retention_bytes', :'last_one');
CALL minikafka.expire('sized');
SELECT minikafka.set_topic_option('sized', 'retention_bytes', '1');
CALL minikafka.expire('sized');
SELECT log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'sized';
SELECT * FROM minikafka.check_topic('sized');
-- the end at the end of a segment: that one stays
SELECT count(minikafka.send('sized', 'v', partition => 0)) FROM generate_series(650, 699) i;
CALL minikafka.expire('sized');
SELECT log_start_offset, end_offset FROM minikafka.partitions WHERE topic = 'sized';
SELECT minikafka.send('sized', 'v', partition => 0);
CALL minikafka.expire('sized');
SELECT log_start_offset, end_offset FROM minikafka.partitions WHERE topic = 'sized';
-- both: what goes farther
SELECT minikafka.set_topic_option('sized', 'retention', '1 hour');
CALL minikafka.expire('sized');
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('sized');
SELECT log_start_offset, end_offset FROM minikafka.partitions WHERE topic = 'sized';
RESET minikafka.clock_offset;

-- compact alone is for ever; with delete retention holds
SELECT minikafka.create_topic('kept', 1, retention => '1 hour', retention_bytes => 1, cleanup_policy => 'compact', segment_records => 2);
SELECT minikafka.append('kept', 0, i::text, i || '') FROM generate_series(0, 4) i;
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('kept');
SELECT log('kept'), segments('kept');
-- what delete_records() has passed goes nevertheless
SELECT minikafka.delete_records('kept', 0, 3);
CALL minikafka.expire('kept');
SELECT log('kept'), segments('kept'), (SELECT count(*) FROM minikafka_topics.kept);
SELECT minikafka.set_topic_option('kept', 'cleanup_policy', 'compact,delete');
CALL minikafka.expire('kept');
SELECT log('kept'), segments('kept');
RESET minikafka.clock_offset;

-- Kafka case L14: 15 records, 5 in a segment; the log start lies in one
SELECT minikafka.create_topic('deleted', 1, segment_records => 5);
SELECT count(minikafka.send('deleted', i::text)) FROM generate_series(0, 14) i;
SELECT segments('deleted');
SELECT minikafka.delete_records('deleted', 0, 1);
CALL minikafka.expire('deleted');
SELECT segments('deleted'), (SELECT min("offset") FROM minikafka_topics.deleted);
SELECT minikafka.delete_records('deleted', 0, 6);
CALL minikafka.expire('deleted');
SELECT segments('deleted'), (SELECT min("offset") FROM minikafka_topics.deleted);
SELECT minikafka.delete_records('deleted', 0, 15);
CALL minikafka.expire('deleted');
SELECT log('deleted'), segments('deleted'), (SELECT min("offset") FROM minikafka_topics.deleted);
-- more rows than a step removes, and more segments than one
SELECT minikafka.create_topic('trimmed', 1);
SELECT minikafka.send_many('trimmed', array_agg(i::text)) FROM generate_series(1, 45000) i;
SELECT minikafka.delete_records('trimmed', 0, 44999);
CALL minikafka.expire('trimmed');
SELECT log('trimmed'), (SELECT min("offset") FROM minikafka_topics.trimmed);
-- a pass leaves many rows to the drop of their table, if the log goes on in a later
-- one; expire() does not
SELECT minikafka.create_topic('soon', 1, segment_records => 2000);
SELECT minikafka.send_many('soon', array_agg(i::text)) FROM generate_series(1, 3000) i;
SELECT minikafka.delete_records('soon', 0, 1500);
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT (minikafka.offsets('soon', 0)).log_start_offset, count(*), min("offset") FROM minikafka_topics.soon;
CALL minikafka.expire('soon');
SELECT count(*), min("offset") FROM minikafka_topics.soon;
SELECT minikafka.delete_records('soon', 0, 2000);
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT segments('soon'), count(*), min("offset") FROM minikafka_topics.soon;
SELECT minikafka.create_topic('ones', 1, segment_records => 1);
SELECT count(minikafka.append('ones', 0, NULL, i::text)) FROM generate_series(0, 29) i;
SELECT minikafka.delete_records('ones', 0, 28);
CALL minikafka.expire('ones');
SELECT log('ones'), segments('ones');
SELECT minikafka.append('ones', 0, NULL, '30');
SELECT minikafka.delete_records('ones', 0, -1);
CALL minikafka.expire('ones');
SELECT log('ones'), segments('ones');
SELECT minikafka.append('ones', 0, NULL, '31');
SELECT log('ones'), segments('ones');
SELECT * FROM minikafka.check_topic('ones');
-- the newest segment stays also when the log start has passed it, since no session
-- could make the next one
SELECT minikafka.create_topic('full', 1, segment_records => 4);
SELECT minikafka.append('full', 0, NULL, i::text) FROM generate_series(0, 7) i;
DO $$ BEGIN
	EXECUTE format('DROP TABLE minikafka_data.p%s_0_2', (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.full'::regclass));
	DELETE FROM minikafka.segment WHERE segment = 2 AND topic_id = (SELECT topic_id FROM minikafka.topic WHERE rel = 'minikafka_topics.full'::regclass);
END $$;
\c -
SELECT minikafka.delete_records('full', 0, -1);
CALL minikafka.expire('full');
SELECT log('full'), segments('full'), (SELECT count(*) FROM minikafka_topics.full);
SELECT minikafka.append('full', 0, NULL, '8');
SELECT log('full'), segments('full');
SELECT * FROM minikafka.check_topic('full');

-- Readers: a group that is behind the log start gets its reset policy
SELECT minikafka.create_topic('read', 1, retention => '1 hour', segment_records => 2);
SELECT count(minikafka.send('read', i::text)) FROM generate_series(0, 4) i;
SELECT minikafka.commit_offset(g, 'read', 0, 2) FROM unnest('{earliest, latest, none}'::text[]) g;
SELECT minikafka.join_group(g, '{read}', 'm', auto_offset_reset => g) FROM unnest('{earliest, latest, none}'::text[]) g;
SELECT minikafka.join_group('position', '{read}', 'm', auto_offset_reset => 'earliest');
SELECT "offset" FROM minikafka.poll('position', 'm', 3);
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('read');
RESET minikafka.clock_offset;
SELECT minikafka.send('read', '5');
-- committed 2, log start 5, end 6: one is unread
SELECT group_id, log_start_offset, end_offset, committed_offset, lag FROM minikafka.consumer_lag WHERE topic = 'read' ORDER BY group_id;
SELECT "offset", value FROM minikafka.poll_text('earliest', 'm');
SELECT "offset", value FROM minikafka.poll_text('latest', 'm');
SELECT "offset" FROM minikafka.poll('none', 'm');
\echo :LAST_ERROR_SQLSTATE
-- a position in what is gone is one too
SELECT "offset", value FROM minikafka.poll_text('position', 'm');
SELECT * FROM minikafka.commit('earliest', 'm');
SELECT * FROM minikafka.commit('latest', 'm');
SELECT * FROM minikafka.commit('position', 'm');
SELECT minikafka.send('read', '6');
SELECT group_id, committed_offset, lag FROM minikafka.consumer_lag WHERE topic = 'read' ORDER BY group_id;
SELECT "offset", value FROM minikafka.poll_text('latest', 'm');
-- seek() does it for a member without a policy
SELECT minikafka.seek('none', 'm', 'read', 0, 5);
SELECT "offset", value FROM minikafka.poll_text('none', 'm');
SELECT * FROM minikafka.check_topic('read');
SELECT count(minikafka.leave_group(group_id, member_id)) FROM minikafka.group_members;
SELECT count(minikafka.delete_group(group_id)) FROM minikafka.groups;

-- Kafka case L17: offsets in what was deleted
SELECT minikafka.create_topic('sought', 1, segment_records => 4);
SELECT count(minikafka.send('sought', i::text)) FROM generate_series(0, 9) i;
SELECT minikafka.join_group('sought', '{sought}', 'm', auto_offset_reset => 'earliest');
SELECT minikafka.delete_records('sought', 0, 3);
CALL minikafka.expire('sought');
SELECT minikafka.seek('sought', 'm', 'sought', 0, 1);
SELECT count(*), min("offset") FROM minikafka.poll('sought', 'm');
SELECT minikafka.delete_records('sought', 0, 5);
CALL minikafka.expire('sought');
SELECT minikafka.seek('sought', 'm', 'sought', 0, 0);
SELECT min("offset") FROM minikafka.poll('sought', 'm');
SELECT minikafka.delete_records('sought', 0, 8);
CALL minikafka.expire('sought');
SELECT minikafka.seek('sought', 'm', 'sought', 0, 3);
SELECT count(*) FROM minikafka.poll('sought', 'm');
-- Kafka case L20: times
SELECT minikafka.offset_for_time('sought', 0, '-infinity');
SELECT minikafka.delete_records('sought', 0, -1);
SELECT minikafka.offset_for_time('sought', 0, '-infinity');
CALL minikafka.expire('sought');
SELECT minikafka.offset_for_time('sought', 0, '-infinity');
SELECT minikafka.leave_group('sought', 'm');
SELECT minikafka.delete_group('sought');

-- Kafka case I23: a repeat of what is gone is acknowledged with its offset
SELECT minikafka.create_topic('repeated', 1, retention => '1 hour', segment_records => 2);
SELECT count(minikafka.append('repeated', 0, NULL, i::text, producer => 'p', sequence => i)) FROM generate_series(0, 4) i;
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('repeated');
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT segments('repeated'), count(*) FROM minikafka_topics.repeated;
SELECT minikafka.append('repeated', 0, NULL, 'again', producer => 'p', sequence => i) FROM generate_series(0, 4) i;
SELECT minikafka.send('repeated', 'again', partition => 0, producer => 'p', sequence => 1);
SELECT topic, partition, base_offset, records FROM minikafka.last_sent();
SELECT log('repeated');
SELECT minikafka.append('repeated', 0, NULL, '5', producer => 'p', sequence => 5);
SELECT log('repeated');
RESET minikafka.clock_offset;

-- maintain() does it too, and makes the next segment
SELECT minikafka.create_topic('passed', 2, retention => '1 hour', segment_records => 2);
SELECT count(minikafka.send('passed', i::text, partition => 1)) FROM generate_series(0, 4) i;
SET minikafka.clock_offset = 7200;
SELECT minikafka.send('passed', '5', partition => 1);
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('passed', 1), segments('passed', 1), (SELECT count(*) FROM minikafka_topics.passed);
RESET minikafka.clock_offset;

-- rights
CREATE ROLE regress_keeper;
GRANT USAGE ON SCHEMA minikafka TO regress_keeper;
SET ROLE regress_keeper;
CALL minikafka.expire('passed');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT ALL ON minikafka_topics.passed TO regress_keeper;
SET ROLE regress_keeper;
CALL minikafka.expire('passed');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DO $$
DECLARE
	part regclass;
BEGIN
	FOR part IN SELECT relid FROM pg_partition_tree('minikafka_topics.passed') LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO regress_keeper', part);
	END LOOP;
END $$;
SET ROLE regress_keeper;
SELECT minikafka.delete_records('passed', 1, 6);
CALL minikafka.expire('passed');
RESET ROLE;
SELECT log('passed', 1), segments('passed', 1), (SELECT count(*) FROM minikafka_topics.passed);

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
REVOKE USAGE ON SCHEMA minikafka FROM regress_keeper;
DROP ROLE regress_keeper;
DROP FUNCTION log(text, int), segments(text, int);
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
