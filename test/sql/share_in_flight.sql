--
-- max_in_flight: how many keys of a partition may be held or wait.  At the limit no
-- record of another key is handed out; those that wait come when it is their time
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('work', 1);
-- offsets 0 to 11: of six keys in turn
SELECT count(minikafka.send('work', 'v' || i, 'k' || i % 6)) FROM generate_series(0, 11) i;
-- A group with this limit
CREATE FUNCTION in_flight_make(g text, most int, ordering text DEFAULT 'key') RETURNS void LANGUAGE sql AS $$
	SELECT minikafka.create_share_group(g, '{work}', ordering, max_deliveries => 1);
	SELECT minikafka.set_group_option(g, 'max_in_flight', most::text);
$$;
-- What a call hands out
CREATE FUNCTION in_flight_acquire(g text, most int DEFAULT 100) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset"::text, ' ' ORDER BY "offset") FROM minikafka.acquire(g, most, accept => true)
$$;
-- The same, each answered so
CREATE FUNCTION in_flight_answer(g text, most int, answer text, after interval DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset" || ' ' || minikafka.acknowledge(g, receipt, answer, retry_after => after), ', ' ORDER BY "offset") FROM minikafka.acquire(g, most)
$$;
CREATE FUNCTION in_flight_lock(g text, most int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg("offset"::text, ' ' ORDER BY "offset") FROM minikafka.acquire(g, most, lock_duration => '1 min')
$$;

-- What the transaction holds itself counts
SELECT in_flight_make('own', 3);
BEGIN;
SELECT in_flight_acquire('own', 2);
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');
ROLLBACK;
-- one that fails alone after the rollback
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');
SELECT in_flight_acquire('own');

-- Records that wait for their time: the rest goes on with what the limit leaves
SELECT in_flight_make('waiting', 3);
SELECT in_flight_answer('waiting', 2, 'release', '1 h');
SELECT in_flight_acquire('waiting');
SELECT in_flight_answer('waiting', 1, 'release', '1 h');
SELECT in_flight_acquire('waiting');
-- a new session sees the same
\c -
SELECT in_flight_acquire('waiting');
-- a higher limit holds at once
SELECT minikafka.set_group_option('waiting', 'max_in_flight', '4');
SELECT in_flight_acquire('waiting');
SELECT in_flight_acquire('waiting');
-- a lower one too
SELECT minikafka.set_group_option('waiting', 'max_in_flight', '2');
SELECT in_flight_acquire('waiting');
-- when it is their time they come, and after them what is behind
SET minikafka.clock_offset = '2 h';
SELECT in_flight_acquire('waiting');
SELECT in_flight_acquire('waiting');
RESET minikafka.clock_offset;

-- Records that wait for a person, and one that is let go
SELECT in_flight_make('blocked', 3);
SELECT in_flight_answer('blocked', 3, 'fail');
SELECT in_flight_acquire('blocked');
SELECT "offset", minikafka.acknowledge('blocked', receipt) FROM minikafka.share_deliveries WHERE group_id = 'blocked' AND "offset" = 1;
-- its key is looked at again after a second at most
SET minikafka.clock_offset = '2 s';
SELECT in_flight_acquire('blocked');
SELECT in_flight_acquire('blocked');
SELECT in_flight_acquire('blocked');
RESET minikafka.clock_offset;

-- Records under a lock
SELECT in_flight_make('locked', 3);
CREATE TEMP TABLE held AS SELECT "offset", receipt FROM minikafka.acquire('locked', 2, lock_duration => '1 min');
SELECT in_flight_acquire('locked');
SELECT in_flight_lock('locked', 100);
SELECT in_flight_acquire('locked');
SELECT "offset", minikafka.acknowledge('locked', receipt) FROM held WHERE "offset" = 0;
SELECT in_flight_acquire('locked');
SELECT in_flight_lock('locked', 100);
SELECT in_flight_lock('locked', 100);

-- Records of one key count once, whatever comes behind the first one
SELECT minikafka.create_topic('keys', 1);
SELECT count(minikafka.send('keys', 'v', 'hot')) FROM generate_series(1, 100) i;
SELECT minikafka.create_share_group('keys', '{keys}');
SELECT minikafka.set_group_option('keys', 'max_in_flight', '2');
SELECT count(*) FROM minikafka.acquire('keys', 60, accept => true);
SELECT in_flight_answer('keys', 1, 'release', '1 h');
SELECT minikafka.send('keys', 'v', 'other');
SELECT in_flight_acquire('keys');
SELECT minikafka.set_group_option('keys', 'max_in_flight', '1');
SELECT minikafka.send('keys', 'v', 'third');
SELECT in_flight_acquire('keys');

-- With ordering "none" each record counts
SELECT in_flight_make('none', 8, 'none');
BEGIN;
SELECT in_flight_acquire('none');
ROLLBACK;

-- A limit for each partition
SELECT minikafka.create_topic('two', 2);
SELECT count(minikafka.send('two', 'v', 'k' || i, partition => i % 2)) FROM generate_series(0, 9) i;
SELECT minikafka.create_share_group('two', '{two}');
SELECT minikafka.set_group_option('two', 'max_in_flight', '3');
SELECT partition, count(*) FROM minikafka.acquire('two', 100, accept => true) GROUP BY 1 ORDER BY 1;

-- What is remembered is limited too: behind 20,000 records that wait the partition
-- waits, whatever the keys
SELECT minikafka.create_topic('deep', 1);
SELECT minikafka.send('deep', 'v', 'stuck');
SELECT count(minikafka.send('deep', 'v', 'stuck')) FROM generate_series(1, 19999) i;
SELECT minikafka.send('deep', 'v', 'other');
SELECT minikafka.create_share_group('deep', '{deep}');
SELECT in_flight_answer('deep', 1, 'release', '1 h');
SELECT in_flight_acquire('deep');
SET minikafka.clock_offset = '2 h';
SELECT in_flight_acquire('deep', 1);
SELECT in_flight_acquire('deep', 1), in_flight_acquire('deep', 1);
RESET minikafka.clock_offset;

SELECT count(minikafka.delete_group(group_id)) > 0 AS deleted FROM minikafka.groups;
SELECT count(minikafka.drop_topic(topic)) > 0 AS dropped FROM minikafka.topics;
DROP FUNCTION in_flight_make(text, int, text), in_flight_acquire(text, int), in_flight_answer(text, int, text, interval), in_flight_lock(text, int);
