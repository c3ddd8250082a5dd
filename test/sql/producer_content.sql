--
-- A repeated sequence with another key or value: a producer that begins at 0
-- again, and would lose its records without a word
--
CREATE FUNCTION sent() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset" || ':' || coalesce(key, '-') || '=' || coalesce(value, '-'), ' ' ORDER BY "offset") FROM minikafka.fetch_text('content', 0, (SELECT log_start_offset FROM minikafka.offsets('content', 0)))
$$;
SELECT minikafka.create_topic('content', 1);
SELECT minikafka.send('content', 'v' || i, 'k' || i, producer => 'p', sequence => i) FROM generate_series(0, 4) i;
-- the same again is a repeat; headers are not compared, since a retry has its own
SELECT minikafka.send('content', 'v' || i, 'k' || i, headers => '{"trace": "2"}', producer => 'p', sequence => i) FROM generate_series(0, 4) i;
SELECT minikafka.append('content', 0, 'k3', 'v3', producer => 'p', sequence => 3);
SELECT sent();
-- another value, another key
SELECT minikafka.send('content', 'new', 'k0', producer => 'p', sequence => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('content', 'v1', 'other', producer => 'p', sequence => 1);
SELECT minikafka.append('content', 0, 'k2', 'w2', producer => 'p', sequence => 2);
\echo :LAST_ERROR_SQLSTATE
-- what is NULL is not empty
SELECT minikafka.send('content', NULL::text, 'k4', producer => 'p', sequence => 4);
SELECT minikafka.send('content', 'v4', partition => 0, producer => 'p', sequence => 4);
SELECT minikafka.send('content', NULL::text, partition => 0, producer => 'p', sequence => 5);
SELECT minikafka.send('content', NULL::text, partition => 0, producer => 'p', sequence => 5);
SELECT minikafka.send('content', '', partition => 0, producer => 'p', sequence => 5);
SELECT sent();
-- the hint helps
SELECT epoch FROM minikafka.init_producer('p');
SELECT minikafka.send('content', 'new', 'k0', producer => 'p', sequence => 0);
SELECT sent();

-- in one transaction, also over savepoints
BEGIN;
SELECT minikafka.send('content', 'a' || i, 'k', producer => 'p', sequence => i) FROM generate_series(1, 3) i;
SAVEPOINT s;
SELECT minikafka.send('content', 'gone', 'k', producer => 'p', sequence => 4);
SELECT minikafka.send('content', 'other', 'k', producer => 'p', sequence => 4);
ROLLBACK TO s;
SELECT minikafka.send('content', 'a' || i, 'k', producer => 'p', sequence => i) FROM generate_series(4, 6) i;
SELECT minikafka.send('content', 'a' || i, 'k', producer => 'p', sequence => i) FROM generate_series(0, 6) i OFFSET 1;
ROLLBACK TO s;
SELECT minikafka.send('content', 'a' || i, 'k', producer => 'p', sequence => i) FROM generate_series(4, 6) i;
SELECT minikafka.send('content', 'a' || i, 'k', producer => 'p', sequence => i) FROM generate_series(1, 6) i;
SELECT minikafka.append('content', 0, 'k', 'a7', producer => 'p', sequence => 7);
SELECT minikafka.append('content', 0, 'k', 'a7', producer => 'p', sequence => 7);
SAVEPOINT s;
SELECT minikafka.append('content', 0, 'k', 'b7', producer => 'p', sequence => 7);
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO s;
COMMIT;
SELECT sent();

-- with as much as spills to disk, in order and not
SET work_mem = '64kB';
BEGIN;
SELECT count(minikafka.send('content', repeat(i::text, 100), 'k', producer => 'q', sequence => i)) FROM generate_series(0, 2999) i;
SELECT count(minikafka.send('content', repeat(i::text, 100), 'k', producer => 'q', sequence => i)) FROM generate_series(0, 2999, 10) i;
SELECT count(minikafka.send('content', repeat(i::text, 100), 'k', producer => 'q', sequence => i)) FROM generate_series(2999, 0, -500) i;
SELECT count(minikafka.send('content', repeat(i::text, 100), 'k', producer => 'q', sequence => i)) FROM generate_series(3000, 3009) i;
SAVEPOINT s;
SELECT minikafka.send('content', 'x', 'k', producer => 'q', sequence => 1500);
ROLLBACK TO s;
SELECT count(minikafka.send('content', repeat(i::text, 100), 'k', producer => 'q', sequence => i)) FROM generate_series(2990, 3019) i;
COMMIT;
RESET work_mem;
SELECT last_sequence FROM minikafka.producer_state('q');
SELECT end_offset FROM minikafka.offsets('content', 0);
-- large values, which are compressed or elsewhere
SELECT minikafka.send('content', repeat('large', 100000), 'k', producer => 'q', sequence => 3020);
SELECT minikafka.send('content', repeat('large', 100000), 'k', producer => 'q', sequence => 3020);
SELECT minikafka.send('content', repeat('lerge', 100000), 'k', producer => 'q', sequence => 3020);

-- what is not in the log any more is not compared: below the log start, and
-- compacted away
SELECT minikafka.delete_records('content', 0, -1);
SELECT minikafka.send('content', 'whatever', 'k', producer => 'q', sequence => 3020);
SELECT minikafka.set_topic_option('content', 'cleanup_policy', 'compact');
SELECT minikafka.send('content', i::text, 'same', producer => 'r', sequence => i) FROM generate_series(0, 2) i;
CALL minikafka.compact('content');
SELECT minikafka.send('content', 'whatever', 'same', producer => 'r', sequence => 0);
SELECT minikafka.send('content', 'whatever', 'same', producer => 'r', sequence => 2);
SELECT sent();
SELECT * FROM minikafka.check_topic('content');

SELECT minikafka.drop_topic('content');
DROP FUNCTION sent();
