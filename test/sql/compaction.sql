--
-- Compaction: the newest record of each key stays, where it is
--
-- the records that can be read, and the numbers of the segments, which have
-- their tables
CREATE FUNCTION log(topic text, partition int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
SELECT format('%s..%s: %s', o.log_start_offset, o.end_offset,
	(SELECT string_agg(format('%s:%s=%s', "offset", coalesce(key, 'NULL'), coalesce(value, 'NULL')), ' ' ORDER BY "offset")
	FROM minikafka.fetch_text(topic, partition, o.log_start_offset)))
FROM minikafka.offsets(topic, partition) o
$$;
CREATE FUNCTION segments(topic text, partition int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(s.segment || CASE WHEN c.oid IS NULL THEN ' missing' ELSE '' END, ' ' ORDER BY s.segment)
FROM minikafka.topic t
JOIN minikafka.segment s ON s.topic_id = t.topic_id AND s.partition = $2
LEFT JOIN pg_class c ON c.oid = s.rel
WHERE t.rel = format('minikafka_topics.%I', topic)::regclass
$$;
CREATE VIEW passes AS
SELECT c.relname AS topic, p.partition, p.compacted_offset, p.records, p.tombstones
FROM minikafka.compaction p JOIN minikafka.topic USING (topic_id) JOIN pg_class c ON c.oid = rel
ORDER BY 1, 2, 3;

-- Kafka case C01: offsets stay as they are, and so do the log start and the end
SELECT minikafka.create_topic('counted', 1, cleanup_policy => 'compact');
SELECT minikafka.append('counted', 0, (i % 2)::text, i::text) FROM generate_series(0, 4) i;
CALL minikafka.compact('counted');
SELECT log('counted'), count(*) FROM minikafka_topics.counted;
SELECT * FROM passes;
CALL minikafka.compact('counted');
SELECT * FROM minikafka.check_topic('counted');
-- the log goes on
SELECT minikafka.append('counted', 0, '1', '5'), minikafka.append('counted', 0, '2', '6');
CALL minikafka.compact('counted');
SELECT log('counted');
SELECT * FROM passes;

-- Kafka case C17: some keys come again and again, others once; a key that is
-- empty, or has a NUL byte, is a key
SELECT minikafka.create_topic('several', 2, cleanup_policy => 'compact', segment_records => 7);
DO $$ BEGIN
	FOR i IN 1 .. 5 LOOP
		PERFORM minikafka.append('several', partition, 'k' || k, format('k%s.%s', k, i)) FROM generate_series(0, 1) partition, generate_series(1, 3) k;
		PERFORM minikafka.append('several', partition, 'u' || i, 'u') FROM generate_series(0, 1) partition;
	END LOOP;
	PERFORM minikafka.append('several', 0, k, v) FROM (VALUES ('\x'::bytea, '1'::bytea), ('\x00', '1'), ('\x0000', '1'), ('\x', '2'), ('\x00', '2')) r(k, v);
	PERFORM minikafka.append('several', 1, 'k2', NULL::text);
	PERFORM minikafka.append('several', 1, 'last', 'one');
END $$;
CALL minikafka.compact('several');
SELECT "offset", key, convert_from(value, 'UTF8') AS value FROM minikafka.fetch('several', 0, 0);
SELECT log('several', 1);
SELECT segments('several', 0), segments('several', 1);
SELECT * FROM minikafka.check_topic('several');

-- Kafka cases C19, L02: reading from an offset that is not there
SELECT minikafka.create_topic('gaps', 1, cleanup_policy => 'compact', segment_records => 16);
SELECT count(minikafka.append('gaps', 0, CASE WHEN i < 50 OR i % 7 = 1 THEN 'stays' || i ELSE 'goes' END, i::text))
FROM generate_series(0, 98) i;
SELECT minikafka.append('gaps', 0, 'goes', '99');
CALL minikafka.compact('gaps');
SELECT string_agg(value, ' ') FROM minikafka.fetch_text('gaps', 0, 45);
SELECT count(*), bool_and(f."offset" = CASE WHEN i < 50 THEN i WHEN i = 99 THEN 99 ELSE least(i + (8 - i % 7) % 7, 99) END) AS right
FROM generate_series(0, 99) i, LATERAL minikafka.fetch('gaps', 0, i, 1) f;
SELECT * FROM minikafka.offsets('gaps', 0);
SELECT minikafka.fetch('gaps', 0, 100);
SELECT minikafka.fetch('gaps', 0, 101);
SELECT string_agg("offset"::text, ' ') FROM minikafka.fetch('gaps', 0, 51, max_records => 3);
-- so does a group; its positions go on from what it has read
SELECT minikafka.join_group('gaps', '{gaps}', 'm', auto_offset_reset => 'earliest');
SELECT minikafka.seek('gaps', 'm', 'gaps', 0, 52);
SELECT "offset" FROM minikafka.poll('gaps', 'm', 1);
SELECT "offset" FROM minikafka.commit('gaps', 'm');
SELECT "offset" FROM minikafka.poll('gaps', 'm', 2);
SELECT "offset" FROM minikafka.commit('gaps', 'm');
SELECT log_start_offset, end_offset, committed_offset, lag FROM minikafka.lag('gaps');
SELECT count(*) FROM minikafka.poll('gaps', 'm');
SELECT "offset" FROM minikafka.commit('gaps', 'm');
SELECT lag, time_lag FROM minikafka.lag('gaps');
SELECT minikafka.leave_group('gaps', 'm');
-- a committed offset where there is nothing is as good as any
SELECT minikafka.commit_offset('gaps', 'gaps', 0, 55);
SELECT committed_offset, lag FROM minikafka.lag('gaps');
SELECT minikafka.join_group('gaps', '{gaps}', 'm', auto_offset_reset => 'none');
SELECT "offset" FROM minikafka.poll('gaps', 'm', 1);
SELECT minikafka.leave_group('gaps', 'm');
SELECT minikafka.reset_offsets('gaps', 'gaps', target) FROM unnest('{earliest, offset:60, shift:1, latest}'::text[]) target;
SELECT minikafka.delete_group('gaps');

-- Kafka case C04: a tombstone goes when delete_retention, 24 hours, has passed
-- since the first pass that saw it, however old it was then
SELECT minikafka.create_topic('tombstones', 1, cleanup_policy => 'compact');
SELECT minikafka.append('tombstones', 0, key, value) FROM (VALUES (1, 'a', '1'), (2, 'b', '1'), (3, 'a', NULL), (4, 'b', '2')) v(no, key, value) ORDER BY no;
SET minikafka.clock_offset = 360000;
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SELECT * FROM passes WHERE topic = 'tombstones';
SET minikafka.clock_offset = 446000;
CALL minikafka.compact('tombstones');
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('tombstones');
SET minikafka.clock_offset = 447000;
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SELECT * FROM passes WHERE topic = 'tombstones';
-- later tombstones have their own time
SELECT minikafka.append('tombstones', 0, 'c', '1'), minikafka.append('tombstones', 0, 'c', NULL), minikafka.append('tombstones', 0, 'd', '1');
CALL minikafka.compact('tombstones');
SET minikafka.clock_offset = 490000;
SELECT minikafka.append('tombstones', 0, 'd', NULL), minikafka.append('tombstones', 0, 'e', '1');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SET minikafka.clock_offset = 534000;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('tombstones');
SELECT * FROM passes WHERE topic = 'tombstones';
SET minikafka.clock_offset = 570000;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('tombstones');
SET minikafka.clock_offset = 577000;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('tombstones');
SELECT * FROM passes WHERE topic = 'tombstones';
-- the option
SELECT minikafka.set_topic_option('tombstones', 'delete_retention', '1 hour');
SELECT minikafka.append('tombstones', 0, 'b', NULL), minikafka.append('tombstones', 0, 'f', '1');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SET minikafka.clock_offset = 581000;
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SELECT minikafka.set_topic_option('tombstones', 'delete_retention', '0');
SELECT minikafka.append('tombstones', 0, 'f', NULL), minikafka.append('tombstones', 0, 'g', '1');
CALL minikafka.compact('tombstones');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
-- a key that comes after its tombstone
SELECT minikafka.append('tombstones', 0, 'g', NULL), minikafka.append('tombstones', 0, 'g', '2');
CALL minikafka.compact('tombstones');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
-- the last record stays whatever it is, so that the end is known
SELECT minikafka.append('tombstones', 0, 'g', NULL), minikafka.append('tombstones', 0, 'e', NULL);
CALL minikafka.compact('tombstones');
CALL minikafka.compact('tombstones');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
\c -
SELECT * FROM minikafka.offsets('tombstones', 0);
SELECT minikafka.append('tombstones', 0, 'h', '1');
CALL minikafka.compact('tombstones');
CALL minikafka.compact('tombstones');
SELECT log('tombstones');
SELECT * FROM minikafka.check_topic('tombstones');

-- Kafka case C05: no key that a tombstone has ended survives
SELECT minikafka.create_topic('ended', 1, cleanup_policy => 'compact', segment_records => 64);
SELECT minikafka.set_topic_option('ended', 'delete_retention', '0');
SELECT count(minikafka.append('ended', 0, i::text, i::text)) FROM generate_series(0, 99) i;
SELECT count(minikafka.append('ended', 0, i::text, NULL)) FROM generate_series(0, 99, 2) i;
SELECT count(minikafka.append('ended', 0, i::text, i::text)) FROM generate_series(100, 119) i;
CALL minikafka.compact('ended');
SELECT count(*) FILTER (WHERE value IS NULL) AS tombstones, count(*) FILTER (WHERE value::int < 100 AND value::int % 2 = 0) AS even, count(*)
FROM minikafka.fetch_text('ended', 0, 0, 1000);
CALL minikafka.compact('ended');
SELECT count(*) FILTER (WHERE value IS NULL) AS tombstones, count(*) FILTER (WHERE value::int < 100 AND value::int % 2 = 0) AS even, count(*)
FROM minikafka.fetch_text('ended', 0, 0, 1000);

-- Kafka case C06: what idempotent producers have sent
SELECT minikafka.create_topic('produced', 1, cleanup_policy => 'compact');
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p1', sequence => no - 1) FROM unnest('{1, 2, 3}'::text[]) WITH ORDINALITY k(key, no);
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p2', sequence => no - 1) FROM unnest('{3, 1, 4}'::text[]) WITH ORDINALITY k(key, no);
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p3', sequence => no - 1) FROM unnest('{1, 4}'::text[]) WITH ORDINALITY k(key, no);
CALL minikafka.compact('produced');
SELECT log('produced');
SELECT producer, last_sequence, last_offset FROM unnest('{p1, p2, p3}'::text[]) producer, minikafka.producer_state(producer);
-- Kafka cases C07, I23: each repeat is acknowledged with its offset, also in
-- another session, and nothing is appended
\c -
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p1', sequence => no - 1) FROM unnest('{1, 2, 3}'::text[]) WITH ORDINALITY k(key, no);
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p3', sequence => no - 1) FROM unnest('{1, 4}'::text[]) WITH ORDINALITY k(key, no);
SELECT minikafka.append('produced', 0, key, 'v', producer => 'p2', sequence => no - 1) FROM unnest('{3, 1, 4}'::text[]) WITH ORDINALITY k(key, no);
SELECT log('produced');
-- Kafka case C08: a further producer
SELECT minikafka.append('produced', 0, '2', 'v', producer => 'p4', sequence => 0);
CALL minikafka.compact('produced');
SELECT log('produced');

-- Kafka case C10: what is rolled back was never there
SELECT minikafka.create_topic('aborted', 1, cleanup_policy => 'compact');
BEGIN;
SELECT minikafka.append('aborted', 0, key, 'gone') FROM unnest('{1, 2}'::text[]) key;
ROLLBACK;
SELECT minikafka.append('aborted', 0, key, 'p2') FROM unnest('{2, 3}'::text[]) key;
BEGIN;
SELECT minikafka.append('aborted', 0, key, 'gone') FROM unnest('{3, 4}'::text[]) key;
ROLLBACK;
BEGIN;
SELECT minikafka.append('aborted', 0, '2', 'p1');
SAVEPOINT s;
SELECT minikafka.send('aborted', 'gone', '3');
ROLLBACK TO s;
COMMIT;
CALL minikafka.compact('aborted');
SELECT log('aborted');

-- Kafka case C14: only what is older than min_compaction_lag
SELECT minikafka.create_topic('lagging', 1, cleanup_policy => 'compact');
SELECT minikafka.set_topic_option('lagging', 'min_compaction_lag', '1 hour');
SELECT minikafka.append('lagging', 0, 'a', '1'), minikafka.append('lagging', 0, 'a', '2'), minikafka.append('lagging', 0, 'b', '1');
CALL minikafka.compact('lagging');
SET minikafka.clock_offset = 7200;
SELECT minikafka.append('lagging', 0, 'a', '3'), minikafka.append('lagging', 0, 'a', '4'), minikafka.append('lagging', 0, 'b', '2');
CALL minikafka.compact('lagging');
SELECT log('lagging');
SELECT * FROM passes WHERE topic = 'lagging';
CALL minikafka.compact('lagging');
SET minikafka.clock_offset = 14400;
CALL minikafka.compact('lagging');
SELECT log('lagging');
SELECT * FROM passes WHERE topic = 'lagging';
-- a lag that is made longer does not bring back what was compacted
SELECT minikafka.set_topic_option('lagging', 'min_compaction_lag', '1000 years');
SELECT minikafka.append('lagging', 0, 'a', '5');
CALL minikafka.compact('lagging');
SELECT minikafka.set_topic_option('lagging', 'min_compaction_lag', '0');
CALL minikafka.compact('lagging');
SELECT log('lagging');
RESET minikafka.clock_offset;

-- Kafka case C16: no record without a key, by any way in
SELECT minikafka.send('lagging', 'v');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('lagging', 0, NULL, 'v');
-- Kafka case L31: one in a batch refuses the batch
SELECT minikafka.send_many('lagging', '{v, w, x}', '{a, NULL, c}');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE sent (id int PRIMARY KEY, key text);
CREATE TRIGGER sent AFTER INSERT ON sent FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('lagging', 'key');
INSERT INTO sent VALUES (1, 'a'), (2, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT log('lagging');
DROP TABLE sent;
-- those that are there already stay
SELECT minikafka.create_topic('keyless', 1);
SELECT minikafka.append('keyless', 0, key, 'v') FROM unnest('{a, NULL, a, NULL, b, a, NULL}'::text[]) key;
CALL minikafka.compact('keyless');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.set_topic_option('keyless', 'cleanup_policy', 'compact');
CALL minikafka.compact('keyless');
SELECT log('keyless');
SELECT minikafka.append('keyless', 0, 'b', 'v');
CALL minikafka.compact('keyless');
SELECT log('keyless');
-- a topic that is not compacted any more has its holes still
SELECT minikafka.set_topic_option('keyless', 'cleanup_policy', 'delete');
SELECT * FROM minikafka.check_topic('keyless');
SELECT minikafka.append('keyless', 0, NULL, 'v');
SELECT log('keyless');
SELECT minikafka.set_topic_option('keyless', 'retention', '1 hour');
SET minikafka.clock_offset = 7200;
CALL minikafka.expire('keyless');
SELECT log('keyless');
RESET minikafka.clock_offset;

-- Both: retention first.  What it removes is counted as there is of it
SELECT minikafka.create_topic('both', 1, retention => '1 hour', cleanup_policy => 'compact,delete', segment_records => 4);
SELECT count(minikafka.append('both', 0, (i % 3)::text, i::text)) FROM generate_series(0, 9) i;
CALL minikafka.compact('both');
SELECT log('both'), segments('both');
SET minikafka.clock_offset = 7200;
SELECT count(minikafka.append('both', 0, (i % 2)::text, i::text)) FROM generate_series(10, 13) i;
CALL minikafka.expire('both');
SELECT log('both'), segments('both');
CALL minikafka.compact('both');
SELECT log('both'), segments('both');
SELECT * FROM passes WHERE topic = 'both';
SELECT * FROM minikafka.check_topic('both');
SET minikafka.clock_offset = 14400;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('both'), segments('both');
SELECT minikafka.append('both', 0, '1', 'v');
SELECT log('both');
RESET minikafka.clock_offset;

-- Many small segments: those without records are dropped.  Of 43 records in 11
-- segments these stay: 13, and the last three
SELECT minikafka.create_topic('small', 1, cleanup_policy => 'compact', segment_records => 4);
DO $$ BEGIN
	FOR i IN 0 .. 42 LOOP
		PERFORM set_config('minikafka.clock_offset', (i * 60)::text, false);
		PERFORM minikafka.append('small', 0, CASE WHEN i = 13 THEN 'once' ELSE (i % 3)::text END, i::text);
		COMMIT;
	END LOOP;
END $$;
RESET minikafka.clock_offset;
SELECT min(ts) AS started FROM minikafka.fetch('small', 0, 0, 1) \gset
CALL minikafka.compact('small');
SELECT log('small'), segments('small');
SELECT topic, partition, log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'small';
SELECT * FROM minikafka.check_topic('small');
-- reading from before a hole, from within, and over it
SELECT start, string_agg(f."offset"::text, ' ') FROM unnest('{0, 4, 11, 12, 13, 14, 20, 39, 40, 42, 43}'::bigint[]) start
LEFT JOIN LATERAL minikafka.fetch('small', 0, start) f ON true GROUP BY 1 ORDER BY 1;
SELECT minikafka.fetch('small', 0, 44);
SELECT minute, minikafka.offset_for_time('small', 0, :'started'::timestamptz + minute * interval '1 minute' - interval '30 seconds')
FROM unnest('{0, 1, 13, 14, 30, 40, 42, 43}'::int[]) minute;
SELECT minikafka.join_group('small', '{small}', 'm', auto_offset_reset => 'earliest');
SELECT "offset" FROM minikafka.poll('small', 'm', 1);
SELECT "offset" FROM minikafka.commit('small', 'm');
SELECT committed_offset, lag FROM minikafka.lag('small');
SELECT "offset" FROM minikafka.poll('small', 'm', 2);
SELECT "offset" FROM minikafka.poll('small', 'm');
SELECT "offset" FROM minikafka.poll('small', 'm');
SELECT "offset" FROM minikafka.commit('small', 'm');
SELECT minikafka.seek('small', 'm', 'small', 0, 20);
SELECT "offset" FROM minikafka.poll('small', 'm');
SELECT minikafka.leave_group('small', 'm');
SELECT minikafka.delete_group('small');
SELECT "offset", convert_from(value, 'UTF8') AS value FROM minikafka.latest('small');
-- in another session, and appending
\c -
SELECT log('small');
SELECT minikafka.append('small', 0, i::text, '4' || i) FROM generate_series(3, 6) i;
SELECT log('small'), segments('small');
CALL minikafka.compact('small');
-- the log start in a hole
SELECT minikafka.delete_records('small', 0, 21);
SELECT log('small');
SELECT minikafka.fetch('small', 0, 20);
SELECT minikafka.fetch_text('small', 0, 21, 1) IS NOT NULL;
CALL minikafka.expire('small');
SELECT segments('small');
SELECT * FROM minikafka.check_topic('small');
-- compacting goes on from there
SELECT minikafka.append('small', 0, (i % 3)::text, i::text) FROM generate_series(47, 50) i;
CALL minikafka.compact('small');
SELECT log('small'), segments('small');
SELECT minikafka.delete_records('small', 0, -1);
CALL minikafka.compact('small');
CALL minikafka.expire('small');
SELECT log('small'), segments('small');
SELECT minikafka.append('small', 0, 'new', 'v');
SELECT log('small');
SELECT * FROM minikafka.check_topic('small');

-- Kafka case C02: no room for all keys.  It takes several slices, and the newest
-- record of each key is what stays
SELECT minikafka.create_topic('sliced', 1, cleanup_policy => 'compact', segment_records => 10000);
SELECT minikafka.send_many('sliced', array_agg(i::text ORDER BY i), array_agg((i * 7919 % 40000)::text || repeat('k', 20) ORDER BY i))
FROM generate_series(0, 109999) i;
CREATE TABLE expected AS SELECT DISTINCT ON (key) key, "offset", value FROM minikafka_topics.sliced ORDER BY key, "offset" DESC;
SET maintenance_work_mem = '1MB';
CALL minikafka.compact('sliced');
SELECT count(*) FROM (SELECT key, "offset", value FROM minikafka_topics.sliced EXCEPT SELECT * FROM expected) d;
SELECT count(*), (SELECT count(*) FROM expected) AS expected FROM minikafka_topics.sliced;
SELECT * FROM passes WHERE topic = 'sliced';
CALL minikafka.compact('sliced');
-- the next pass looks for the keys of what is new
SELECT minikafka.send_many('sliced', array_agg('new' || i ORDER BY i), array_agg(i::text || repeat('k', 20) ORDER BY i))
FROM generate_series(0, 29999) i;
TRUNCATE expected;
INSERT INTO expected SELECT DISTINCT ON (key) key, "offset", value FROM minikafka_topics.sliced ORDER BY key, "offset" DESC;
CALL minikafka.compact('sliced');
SELECT count(*) FROM (SELECT key, "offset", value FROM minikafka_topics.sliced EXCEPT SELECT * FROM expected) d;
SELECT count(*), (SELECT count(*) FROM expected) AS expected FROM minikafka_topics.sliced;
SELECT * FROM passes WHERE topic = 'sliced';
-- and they come back one by one, with tombstones
SELECT minikafka.send_many('sliced', array_agg(NULL::text), array_agg(i::text || repeat('k', 20))) FROM generate_series(0, 39999) i;
SELECT minikafka.send('sliced', 'v', 'last');
CALL minikafka.compact('sliced');
SELECT minikafka.set_topic_option('sliced', 'delete_retention', '0');
CALL minikafka.compact('sliced');
SELECT log('sliced'), segments('sliced'), count(*) FROM minikafka_topics.sliced;
SELECT * FROM minikafka.check_topic('sliced');

-- Keys in TOAST, of which few have room
SELECT minikafka.create_topic('toasted', 1, cleanup_policy => 'compact');
CREATE TABLE keys AS SELECT k, string_agg(md5(format('%s %s', k, i)), '') AS key FROM generate_series(1, 30) k, generate_series(1, 3000) i GROUP BY k;
SELECT count(minikafka.append('toasted', 0, key, round || ' ' || k)) FROM (SELECT * FROM keys, generate_series(1, 3) round ORDER BY round, k) r;
CALL minikafka.compact('toasted');
SELECT count(*), count(*) FILTER (WHERE r.value = '3 ' || k.k) AS newest, min("offset"), max("offset"), min(length(r.key))
FROM minikafka.fetch_text('toasted', 0, 0) r LEFT JOIN keys k ON k.key = r.key;
SELECT count(minikafka.append('toasted', 0, key, NULL)) FROM (SELECT * FROM keys WHERE k <= 15) r;
CALL minikafka.compact('toasted');
SELECT count(*), count(*) FILTER (WHERE convert_from(value, 'UTF8') LIKE '3 %') AS newest FROM minikafka.latest('toasted');
RESET maintenance_work_mem;
-- and values
SELECT minikafka.set_topic_option('toasted', 'max_message_bytes', '4000000');
SELECT minikafka.append('toasted', 0, 'value', (SELECT string_agg(key, '') FROM keys));
SELECT minikafka.append('toasted', 0, 'value', (SELECT string_agg(key, '' ORDER BY k) FROM keys));
CALL minikafka.compact('toasted');
SELECT convert_from(value, 'UTF8') = (SELECT string_agg(key, '' ORDER BY k) FROM keys) FROM minikafka.latest('toasted') WHERE key = 'value';
DROP TABLE keys, expected;

-- A table that is mostly empty is rewritten, and what it has is there
SELECT minikafka.create_topic('shrunk', 1, cleanup_policy => 'compact', segment_records => 1000);
SELECT minikafka.send_many('shrunk', array_agg(repeat('v', 1000) ORDER BY i), array_agg(CASE WHEN i % 1000 = 500 THEN 'once ' || i ELSE (i % 10)::text END ORDER BY i))
FROM generate_series(0, 2999) i;
SELECT format('minikafka_data.p%s_0_0', topic_id) AS first, format('minikafka_data.p%s_0_2', topic_id) AS newest
FROM minikafka.topic WHERE rel = 'minikafka_topics.shrunk'::regclass \gset
SELECT pg_relation_filenode(:'first') AS first_node, pg_relation_filenode(:'newest') AS newest_node \gset
CALL minikafka.compact('shrunk');
SELECT "offset", key FROM minikafka.fetch_text('shrunk', 0, 0);
SELECT segments('shrunk'), pg_relation_filenode(:'first') <> :first_node AS first_is_new, pg_relation_filenode(:'newest') <> :newest_node AS newest_is_new;
SELECT * FROM minikafka.check_topic('shrunk');
DELETE FROM minikafka_topics.shrunk;
SELECT minikafka.append('shrunk', 0, '0', 'v');

-- maintain() looks after a partition when as many records have come as there are
SELECT minikafka.create_topic('dirty', 1, cleanup_policy => 'compact');
SELECT minikafka.set_topic_option('dirty', 'min_compaction_lag', '0');
SELECT count(minikafka.append('dirty', 0, i::text, '1')) FROM generate_series(1, 4) i;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT * FROM passes WHERE topic = 'dirty';
SELECT minikafka.append('dirty', 0, i::text, '2') FROM generate_series(1, 3) i;
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('dirty');
SELECT minikafka.append('dirty', 0, '1', '3');
SET client_min_messages = error;
CALL minikafka.maintain();
RESET client_min_messages;
SELECT log('dirty');
SELECT * FROM passes WHERE topic = 'dirty';
SELECT minikafka.append('dirty', 0, '1', '4');
CALL minikafka.compact('dirty');
SELECT log('dirty');

-- latest(): the newest record of each key in each partition, whether compacted or
-- not; no tombstones, and none without a key
SELECT minikafka.create_topic('latest', 3, segment_records => 3);
SELECT count(minikafka.append('latest', partition, key, value)) FROM (VALUES (1, 0, 'a', '1'), (2, 0, 'b', '1'), (3, 0, NULL, 'x'), (4, 0, 'a', '2'),
	(5, 0, 'c', '1'), (6, 0, 'b', NULL), (7, 0, 'd', NULL), (8, 0, 'd', '2'), (9, 2, 'a', '9'), (10, 2, '', '9')) v(no, partition, key, value);
SELECT partition, "offset", convert_from(key, 'UTF8') AS key, convert_from(value, 'UTF8') AS value, headers FROM minikafka.latest('latest');
SELECT count(*) FROM (SELECT (minikafka.latest('latest')).* LIMIT 2) l;
-- what the log start has passed does not count
SELECT minikafka.delete_records('latest', 0, 4);
SELECT string_agg(format('%s/%s %s', partition, "offset", convert_from(key, 'UTF8')), ', ') FROM minikafka.latest('latest');
-- the transaction's own as fetch() has it
BEGIN;
SELECT minikafka.append('latest', 1, 'mine', 'v');
SELECT count(*) FROM minikafka.fetch('latest', 1, 0);
SELECT count(*) FROM minikafka.latest('latest') WHERE partition = 1;
COMMIT;
SELECT count(*) FROM minikafka.latest('latest') WHERE partition = 1;
SELECT minikafka.set_topic_option('latest', 'cleanup_policy', 'compact');
CALL minikafka.compact('latest');
SELECT string_agg(format('%s/%s %s', partition, "offset", convert_from(key, 'UTF8')), ', ') FROM minikafka.latest('latest');
SELECT minikafka.delete_records('latest', partition, -1) FROM generate_series(0, 2) partition;
SELECT count(*) FROM minikafka.latest('latest');

-- what is known of passes goes with the topic
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
SELECT count(*) FROM minikafka.compaction;
DROP VIEW passes;
DROP FUNCTION log(text, int), segments(text, int);
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
