--
-- A plain consumer: commit_offset(), committed(), lag()
--
SELECT minikafka.create_topic('consumed', 2);
SELECT count(minikafka.send('consumed', 'v' || i, partition => 0)) FROM generate_series(1, 5) i;

-- nothing yet
SELECT minikafka.committed('plain', 'consumed', 0);
SELECT * FROM minikafka.lag('plain');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.lag('plain', 'consumed');

-- the next offset to read, with a note
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, 'a note');
SELECT minikafka.committed('plain', 'consumed', 0), minikafka.committed('plain', 'consumed', 1);
SELECT minikafka.commit_offset('plain', 'consumed', 0, 3);
SELECT minikafka.committed('plain', 'consumed', 0);
-- back is allowed too
SELECT minikafka.commit_offset('plain', 'consumed', 0, 1);
SELECT minikafka.committed('plain', 'consumed', 0);
-- named arguments
SELECT minikafka.commit_offset(group_id => 'plain', topic => 'consumed', partition => 0,
	next_offset => 2, metadata => '');
-- kept newest first: the row of the greatest number counts, old ones are a trail
SELECT number, next_offset, metadata, committed_at <= clock_timestamp() AS committed_at
FROM minikafka.group_progress
JOIN minikafka.consumer_group USING (group_no)
WHERE group_id = 'plain' ORDER BY number;
-- groups and partitions are apart
SELECT minikafka.commit_offset('other', 'consumed', 0, 5), minikafka.commit_offset('plain', 'consumed', 1, 0);
SELECT g, p, minikafka.committed(g, 'consumed', p)
FROM (VALUES ('plain'), ('other')) v(g), generate_series(0, 1) p ORDER BY 1 DESC, 2;

-- outside the partition; the reference program's texts
SELECT minikafka.commit_offset('plain', 'consumed', 0, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'consumed', 0, 999);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'consumed', 0, 6);
SELECT minikafka.commit_offset('plain', 'consumed', 1, 1);
-- the ends themselves are inside; so is what lies below the log start
SELECT minikafka.commit_offset('ends', 'consumed', 0, 5), minikafka.committed('ends', 'consumed', 0);
SELECT minikafka.delete_records('consumed', 0, 2);
SELECT minikafka.commit_offset('ends', 'consumed', 0, 0), minikafka.committed('ends', 'consumed', 0);
-- metadata as large as Kafka's
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, repeat('m', 4096));
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, repeat('m', 4097));
\echo :LAST_ERROR_SQLSTATE
-- a member, or a generation, that the group does not have; it has had no member
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, member_id => 'm');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, generation => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2, generation => 0);

-- Lag: end minus the greater of committed and log start
SELECT topic, partition, log_start_offset, end_offset, committed_offset, lag,
	time_lag > '0' AS behind, member_id
FROM minikafka.lag('plain') ORDER BY partition;
SELECT partition, committed_offset, lag, time_lag > '0' AS behind
FROM minikafka.lag('ends', 'consumed') ORDER BY partition;
SELECT partition, committed_offset, lag, time_lag = '0' AS caught_up
FROM minikafka.lag('other', 'consumed') ORDER BY partition;
-- NULL: all topics in which the group has committed
SELECT minikafka.create_topic('consumed_too', 1), minikafka.create_topic('not_consumed', 1);
SELECT minikafka.commit_offset('plain', 'consumed_too', 0, 0);
SELECT topic, partition, lag FROM minikafka.lag('plain') ORDER BY 1, 2;
SELECT topic, partition, committed_offset, lag FROM minikafka.lag('plain', 'not_consumed');
SELECT minikafka.lag('plain', 'unknown');
-- time_lag is the age of the oldest unread record
SELECT minikafka.create_topic('aged', 1);
SET minikafka.clock_offset = -7200;
SELECT minikafka.send('aged', 'old');
SET minikafka.clock_offset = -3600;
SELECT minikafka.send('aged', 'newer');
RESET minikafka.clock_offset;
SELECT minikafka.commit_offset('plain', 'aged', 0, 0);
SELECT lag, date_trunc('hour', time_lag) AS hours FROM minikafka.lag('plain', 'aged');
SELECT minikafka.commit_offset('plain', 'aged', 0, 1);
SELECT lag, date_trunc('hour', time_lag) AS hours FROM minikafka.lag('plain', 'aged');
SELECT minikafka.commit_offset('plain', 'aged', 0, 2);
SELECT lag, time_lag FROM minikafka.lag('plain', 'aged');

-- A transaction sees its own; of several of one partition the last counts
BEGIN;
SELECT minikafka.commit_offset('plain', 'consumed', 0, 3);
SELECT minikafka.committed('plain', 'consumed', 0);
SELECT minikafka.commit_offset('plain', 'consumed', 0, 4), minikafka.commit_offset('plain', 'consumed', 1, 0);
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2);
SELECT minikafka.committed('plain', 'consumed', 0);
SAVEPOINT s;
SELECT minikafka.commit_offset('plain', 'consumed', 0, 5);
SELECT minikafka.committed('plain', 'consumed', 0);
ROLLBACK TO s;
SELECT minikafka.committed('plain', 'consumed', 0);
SAVEPOINT s;
SELECT minikafka.commit_offset('brand new', 'consumed', 0, 5);
ROLLBACK TO s;
COMMIT;
SELECT minikafka.committed('plain', 'consumed', 0), minikafka.committed('brand new', 'consumed', 0);
SELECT count(*) FROM minikafka.consumer_group WHERE group_id = 'brand new';
-- written in the business transaction it commits and rolls back with it
CREATE TABLE effects (value text);
BEGIN;
INSERT INTO effects SELECT value FROM minikafka.fetch_text('consumed', 0, 2);
SELECT minikafka.commit_offset('plain', 'consumed', 0, 5);
ROLLBACK;
SELECT count(*), minikafka.committed('plain', 'consumed', 0) FROM effects;
BEGIN;
INSERT INTO effects SELECT value FROM minikafka.fetch_text('consumed', 0, 2);
SELECT minikafka.commit_offset('plain', 'consumed', 0, 5);
COMMIT;
SELECT count(*), minikafka.committed('plain', 'consumed', 0) FROM effects;
-- in a savepoint that was released, with the group made in it
BEGIN;
SAVEPOINT s;
SELECT minikafka.commit_offset('saved', 'consumed', 0, 1);
RELEASE s;
SELECT minikafka.commit_offset('saved', 'consumed', 1, 0);
COMMIT;
SELECT minikafka.committed('saved', 'consumed', 0), minikafka.committed('saved', 'consumed', 1);
-- one transaction of several groups and topics
BEGIN;
SELECT minikafka.commit_offset(g, t, 0, 0)
FROM (VALUES ('z'), ('a'), ('m')) v(g), (VALUES ('not_consumed'), ('consumed')) w(t);
COMMIT;
SELECT g, topic, committed_offset
FROM (VALUES ('z'), ('a'), ('m')) v(g), LATERAL minikafka.lag(g)
WHERE partition = 0 ORDER BY 1, 2;

-- lag() shows a transaction its own too
BEGIN;
SELECT minikafka.commit_offset('plain', 'consumed', 0, 4);
SELECT committed_offset, lag FROM minikafka.lag('plain', 'consumed') WHERE partition = 0;
SAVEPOINT s;
SELECT minikafka.commit_offset('plain', 'consumed', 0, 2);
SELECT committed_offset, lag FROM minikafka.lag('plain') WHERE topic = 'consumed' AND partition = 0;
ROLLBACK TO s;
SELECT committed_offset, lag FROM minikafka.lag('plain', 'consumed') WHERE partition = 0;
ROLLBACK;
SELECT committed_offset, lag FROM minikafka.lag('plain', 'consumed') WHERE partition = 0;

-- However often a transaction commits, of however many partitions in turn, it
-- keeps the last of each; in savepoints too
CREATE FUNCTION pg_temp.used() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'TopTransactionContext'
$$;
BEGIN;
SELECT count(minikafka.commit_offset('turns', 'consumed', i % 2, 0, repeat('m', 1000)))
FROM generate_series(1, 100) i;
SELECT pg_temp.used() AS used \gset
SELECT count(minikafka.commit_offset('turns', 'consumed', i % 2, 0, repeat('m', 1000)))
FROM generate_series(1, 10000) i;
SELECT pg_temp.used() - :used < 100000 AS no_memory;
SELECT count(minikafka.delete_records('consumed', i % 2, 0)) FROM generate_series(1, 10000) i;
SELECT pg_temp.used() - :used < 100000 AS no_memory;
SAVEPOINT s;
SELECT count(minikafka.commit_offset('turns', 'consumed', i % 2, i / 10000, repeat('m', 1000)))
FROM generate_series(1, 10000) i;
SELECT pg_temp.used() - :used < 100000 AS no_memory;
ROLLBACK TO s;
COMMIT;
SELECT partition, committed_offset FROM minikafka.lag('turns', 'consumed') ORDER BY 1;

-- A topic dropped under a commit
BEGIN;
SELECT minikafka.commit_offset('plain', 'not_consumed', 0, 0);
SELECT minikafka.drop_topic('not_consumed');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.drop_topic('consumed_too');
SELECT DISTINCT topic FROM minikafka.lag('plain') ORDER BY 1;

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
-- a group outlives its topics
SELECT count(*) FROM minikafka.lag('plain');
DROP TABLE effects;
