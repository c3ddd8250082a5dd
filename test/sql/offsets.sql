--
-- offsets(), offset_for_time(), and the times of records
--
SELECT minikafka.create_topic('timed', 2, segment_records => 4);
SELECT * FROM minikafka.offsets('timed', 0);
SELECT minikafka.send('timed', 'v' || i, partition => 0) FROM generate_series(0, 9) i;
SELECT * FROM minikafka.offsets('timed', 0);
SELECT * FROM minikafka.offsets('timed', 1);
SELECT partition, (minikafka.offsets('timed', partition)).end_offset
FROM generate_series(0, 1) partition;
SELECT minikafka.delete_records('timed', 0, 3);
SELECT * FROM minikafka.offsets('timed', 0);
SELECT minikafka.offsets('timed', 2);
\echo :LAST_ERROR_SQLSTATE

-- The records of one transaction have one time.  The clock of the extension is
-- shifted here, so that the test need not wait.
SELECT minikafka.create_topic('clocked', 1, segment_records => 3);
CREATE TABLE clock (i int PRIMARY KEY, t timestamptz);
SET minikafka.clock_offset = 1000;
SELECT count(minikafka.send('clocked', 'first')) FROM generate_series(1, 4);
INSERT INTO clock SELECT 1, max(ts) FROM minikafka_topics.clocked;
SET minikafka.clock_offset = 2000;
SELECT count(minikafka.send('clocked', 'second')) FROM generate_series(1, 4);
INSERT INTO clock SELECT 2, max(ts) FROM minikafka_topics.clocked;
-- a clock that goes back does not take the times back
SET minikafka.clock_offset = 1500;
SELECT count(minikafka.send('clocked', 'back')) FROM generate_series(1, 2);
SET minikafka.clock_offset = 3000;
SELECT minikafka.append('clocked', 0, 'k', 'third');
INSERT INTO clock SELECT 3, max(ts) FROM minikafka_topics.clocked;
RESET minikafka.clock_offset;
SELECT min("offset"), max("offset"), value, clock.i
FROM minikafka.fetch_text('clocked', 0, 0) LEFT JOIN clock ON ts = t
GROUP BY value, clock.i ORDER BY 1;
SELECT extract(epoch FROM b.t - a.t)::int / 100 * 100 AS seconds
FROM clock a JOIN clock b ON b.i = a.i + 1 ORDER BY a.i;

-- the first record at or after a time
SELECT i, minikafka.offset_for_time('clocked', 0, t - interval '1 us') AS before,
	minikafka.offset_for_time('clocked', 0, t) AS at,
	minikafka.offset_for_time('clocked', 0, t + interval '1 us') AS after
FROM clock ORDER BY i;
SELECT minikafka.offset_for_time('clocked', 0, '-infinity') AS "-infinity",
	minikafka.offset_for_time('clocked', 0, 'infinity') AS infinity,
	minikafka.offset_for_time('clocked', 0, '2000-01-01') AS past,
	minikafka.offset_for_time('timed', 1, '-infinity') AS empty;
-- never one below the log start, which may lie within a segment
SELECT minikafka.delete_records('clocked', 0, 5);
SELECT i, minikafka.offset_for_time('clocked', 0, t) FROM clock ORDER BY i;
SELECT minikafka.delete_records('clocked', 0, -1);
SELECT minikafka.offset_for_time('clocked', 0, '-infinity');
-- over a hole
SELECT minikafka.create_topic('holed', 1);
SET minikafka.clock_offset = 1000;
SELECT count(minikafka.send('holed', 'v')) FROM generate_series(1, 3);
SET minikafka.clock_offset = 2000;
SELECT count(minikafka.send('holed', 'v')) FROM generate_series(1, 3);
RESET minikafka.clock_offset;
SET session_replication_role = replica;
DELETE FROM minikafka_topics.holed WHERE "offset" BETWEEN 2 AND 3;
RESET session_replication_role;
SELECT minikafka.offset_for_time('holed', 0, ts) FROM minikafka_topics.holed ORDER BY "offset";

-- only a superuser can shift the clock
CREATE ROLE regress_clock;
SET ROLE regress_clock;
SET minikafka.clock_offset = 1;
RESET ROLE;
DROP ROLE regress_clock;

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
DROP TABLE clock;
