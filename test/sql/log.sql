--
-- Kafka's cases of the log that no other test has, with their own numbers
--
-- Of what takes a commit in progress, specs have these.  Kafka cases L05, L07: the
-- end is the first record that is not decided, whatever was committed behind it
-- (in_flight).  Kafka case L13: retention removes nothing there (retain_age), and
-- Kafka case C13: nor does compaction (compact_race)

-- Kafka case L01: one record, at offset 1024
SELECT minikafka.create_topic('one', 1);
SELECT minikafka.send_many('one', array_fill('v'::text, ARRAY[1025]));
SELECT minikafka.delete_records('one', 0, 1024);
SELECT * FROM minikafka.offsets('one', 0);
SELECT "offset" FROM minikafka.fetch('one', 0, 1024);
SELECT "offset" FROM minikafka.fetch('one', 0, 1025);
SELECT "offset" FROM minikafka.fetch('one', 0, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset" FROM minikafka.fetch('one', 0, 1026);
\echo :LAST_ERROR_SQLSTATE

-- Kafka case L16: delete_records() of ten records
SELECT minikafka.create_topic('ten', 1);
SELECT minikafka.send_many('ten', array_agg(i::text ORDER BY i)) FROM generate_series(0, 9) i;
SELECT minikafka.delete_records('ten', 0, 2);
SELECT minikafka.delete_records('ten', 0, 15);
\echo :LAST_ERROR_SQLSTATE
SELECT (minikafka.offsets('ten', 0)).log_start_offset;
SELECT minikafka.delete_records('ten', 0, -1);
SELECT minikafka.delete_records('eleven', 0, 1);
\echo :LAST_ERROR_SQLSTATE

-- Kafka case L19: a hundred records in each of two partitions, apart in time
SELECT minikafka.create_topic('timed', 2);
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		PERFORM set_config('minikafka.clock_offset', (i * 1000)::text, false);
		PERFORM minikafka.append('timed', p, NULL, i::text) FROM generate_series(0, 1) p;
		COMMIT;
	END LOOP;
END $$;
RESET minikafka.clock_offset;
SELECT p, minikafka.offset_for_time('timed', p, (SELECT ts FROM minikafka.fetch_text('timed', p, i, 1))) FROM (VALUES (0, 0), (1, 20)) v(p, i);
SELECT minikafka.offset_for_time('timed', 0, NULL);
\echo :LAST_ERROR_SQLSTATE
-- Kafka case L22: the first, the end, and the one of the greatest time
SELECT minikafka.create_topic('special', 1);
SELECT minikafka.send_many('special', array_fill('v'::text, ARRAY[9]));
SET minikafka.clock_offset = 100;
SELECT minikafka.send('special', 'later');
SELECT log_start_offset, end_offset, minikafka.offset_for_time('special', 0, (SELECT max(ts) FROM minikafka.fetch('special', 0, 0)))
FROM minikafka.offsets('special', 0);
-- Kafka case L23: the first that has the greatest time, although the clock went
-- back.  Kafka case L29: the time is the server's, and one for a batch
SELECT minikafka.create_topic('back', 1);
RESET minikafka.clock_offset;
SELECT minikafka.append('back', 0, NULL, 'f');
SET minikafka.clock_offset = 100;
SELECT minikafka.append('back', 0, NULL, 'f + 1');
RESET minikafka.clock_offset;
SELECT minikafka.append('back', 0, NULL, 'f');
SELECT minikafka.offset_for_time('back', 0, (SELECT max(ts) FROM minikafka.fetch('back', 0, 0)));
SELECT count(DISTINCT ts), min(ts) BETWEEN now() - interval '1 min' AND clock_timestamp() AS now FROM minikafka.fetch('special', 0, 0, 9);

-- Kafka case L26: a record larger than max_bytes comes if it is the first
SELECT minikafka.create_topic('large', 1);
SELECT minikafka.send_many('large', ARRAY[repeat('v', 10241), 'small', repeat('v', 10241)]);
SELECT "offset", length(value) FROM minikafka.fetch('large', 0, 0, max_bytes => 10240);
SELECT "offset", length(value) FROM minikafka.fetch('large', 0, 1, max_bytes => 10240);

-- Kafka case L32: seek() in fifty records
SELECT minikafka.create_topic('sought', 1);
SELECT minikafka.send_many('sought', array_agg(i::text ORDER BY i)) FROM generate_series(0, 49) i;
SELECT minikafka.join_group('log', '{sought}', 'm', auto_offset_reset => 'earliest');
SELECT minikafka.seek('log', 'm', 'sought', 0, 50);
SELECT "offset" FROM minikafka.poll('log', 'm');
SELECT "offset" FROM minikafka.commit('log', 'm');
SELECT minikafka.seek('log', 'm', 'sought', 0, 0);
SELECT min("offset"), count(*) FROM minikafka.poll('log', 'm');
SELECT minikafka.seek('log', 'm', 'sought', 0, 25);
SELECT min("offset"), count(*) FROM minikafka.poll('log', 'm');
-- Kafka case L41: a poll() of an empty partition waits as long as it was told;
-- with a record, no longer than it takes to come (018_wait.t)
SELECT clock_timestamp() AS began \gset
SELECT count(*) FROM minikafka.poll('log', 'm', max_wait => '0.5 s');
SELECT clock_timestamp() - :'began' >= '0.5 s' AS waited;
SELECT minikafka.leave_group('log', 'm');

-- Kafka case L34: ten thousand records, two at a time
SELECT minikafka.create_topic('many', 1);
SELECT minikafka.send_many('many', array_agg(i::text ORDER BY i)) FROM generate_series(0, 9999) i;
SELECT minikafka.join_group('log', '{many}', 'm', auto_offset_reset => 'earliest');
DO $$
DECLARE
	polled int := 0;
	n int;
	ordered boolean;
BEGIN
	LOOP
		SELECT count(*), bool_and(value::int = "offset" AND "offset" BETWEEN polled AND polled + 1)
		INTO n, ordered FROM minikafka.poll_text('log', 'm', 2);
		EXIT WHEN n = 0;
		ASSERT n <= 2 AND ordered, format('%s records from %s on', n, polled);
		polled := polled + n;
	END LOOP;
	RAISE NOTICE '% records', polled;
END $$;
SELECT minikafka.leave_group('log', 'm');
-- Kafka case L35: a thousand, of which ten are read
SELECT minikafka.delete_records('many', 0, 9000);
SELECT minikafka.join_group('log', '{many}', 'm', auto_offset_reset => 'earliest');
SELECT count(*) FROM minikafka.poll('log', 'm', 10);
SELECT minikafka.commit('log', 'm');
SELECT committed_offset - log_start_offset AS lead, lag FROM minikafka.lag('log', 'many');
-- Kafka case L38: what was rolled back does not count
BEGIN;
SELECT minikafka.send('many', 'gone');
ROLLBACK;
SELECT lag FROM minikafka.lag('log', 'many');
SELECT count(*) FROM minikafka.poll('log', 'm', 1000);
SELECT minikafka.commit('log', 'm');
SELECT lag FROM minikafka.lag('log', 'many');
SELECT minikafka.leave_group('log', 'm');

-- Kafka case L40: nor does it take an offset
SELECT minikafka.create_topic('aborted', 1);
SELECT minikafka.append('aborted', 0, NULL, 'x');
BEGIN;
SELECT minikafka.append('aborted', 0, NULL, 'y') FROM generate_series(1, 2);
ROLLBACK;
SELECT minikafka.append('aborted', 0, NULL, 'x');
SELECT "offset", value FROM minikafka.fetch_text('aborted', 0, 0);

-- Kafka case L37: headers keep their order, and their repetitions; NULL is not
-- empty
SELECT minikafka.create_topic('headed', 1);
SELECT minikafka.append('headed', 0, NULL, 'v', '[{"key": "b", "value": "1"}, {"key": "a", "value": null}, {"key": "b", "value": ""}, {"key": "b", "value": "2"}]');
SELECT headers FROM minikafka.fetch('headed', 0, 0);

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
SELECT minikafka.delete_group('log');
DELETE FROM minikafka.consumer_group;
