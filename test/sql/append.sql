--
-- append(): the offset is known at once
--
SELECT minikafka.create_topic('appended', 2);
SELECT minikafka.append('appended', 0, 'k', 'a'), minikafka.append('appended', 0, 'k', 'b');
SELECT minikafka.append('appended', 1, 'k', '{"a": 1}'::jsonb);
SELECT minikafka.append('appended', 1, '\x00'::bytea, '\xff'::bytea, '{"h": 1}');
SELECT minikafka.append('appended', 1, NULL, NULL::text), minikafka.append('appended', 1, '', '');
SELECT minikafka.append(topic => 'appended', value => 'named', key => 'k', partition => 1,
	headers => '{"h": "2"}');
SELECT "offset", key, value, headers FROM minikafka.fetch('appended', 1, 0) ORDER BY "offset";
SELECT * FROM minikafka.last_sent();

-- the key does not choose the partition
SELECT minikafka.partition_for_key('appended', 'k'::text) AS by_key,
	minikafka.append('appended', 1 - minikafka.partition_for_key('appended', 'k'::text), 'k', 'other') > 0 AS other;

-- With send() in one transaction: the offset counts what was sent before, and
-- the order of the calls is the order of the records.
SELECT minikafka.create_topic('mixed', 2);
BEGIN;
SELECT minikafka.send('mixed', '0', partition => 0);
SELECT minikafka.append('mixed', 0, 'k', '1');
SELECT minikafka.send('mixed', '2', partition => 0), minikafka.send('mixed', '3', partition => 0);
SELECT minikafka.send('mixed', 'x', partition => 1);
SELECT minikafka.append('mixed', 0, 'k', '4'), minikafka.append('mixed', 1, 'k', 'y');
SELECT minikafka.send('mixed', '5', partition => 0);
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('mixed', 0, 0) ORDER BY "offset";
SELECT "offset", value FROM minikafka.fetch_text('mixed', 1, 0) ORDER BY "offset";

-- a transaction does not read what it has itself appended
BEGIN;
SELECT minikafka.append('mixed', 1, 'k', 'z');
SELECT count(*) FROM minikafka.fetch('mixed', 1, 2);
SELECT * FROM minikafka.offsets('mixed', 1);
SELECT count(*) FROM minikafka_topics.mixed WHERE partition = 1;
ROLLBACK;
-- the offset of a rolled back append() is given again
SELECT minikafka.append('mixed', 1, 'k', 'z');

-- Savepoints
SELECT minikafka.create_topic('saved', 1);
BEGIN;
SELECT minikafka.send('saved', 'a');
SAVEPOINT s;
SELECT minikafka.append('saved', 0, 'k', 'b');
ROLLBACK TO s;
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('saved', 0, 0);

BEGIN;
SELECT minikafka.append('saved', 0, 'k', 'b');
SAVEPOINT s1;
SELECT minikafka.send('saved', 'gone', partition => 0);
SAVEPOINT s2;
SELECT minikafka.append('saved', 0, 'k', 'gone');
RELEASE s2;
SELECT minikafka.append('saved', 0, 'k', 'gone');
ROLLBACK TO s1;
SELECT minikafka.append('saved', 0, 'k', 'c');
RELEASE s1;
SELECT minikafka.append('saved', 0, 'k', 'd');
SAVEPOINT s3;
SAVEPOINT s4;
SELECT minikafka.append('saved', 0, 'k', 'e');
RELEASE s4;
RELEASE s3;
SELECT minikafka.append('saved', 0, 'k', 'f');
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('saved', 0, 0) ORDER BY "offset";

-- The lock that append() has taken goes with its savepoint, and is taken again
-- by the next append(); one that was taken outside stays.
CREATE VIEW sequencing AS
SELECT count(*) FROM pg_locks
WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid > 2
	AND mode = 'ShareUpdateExclusiveLock';
BEGIN;
SELECT minikafka.send('saved', 'g');
SELECT count AS after_send FROM sequencing;
SAVEPOINT s;
SELECT minikafka.append('saved', 0, 'k', 'gone');
SELECT count AS after_append FROM sequencing;
ROLLBACK TO s;
SELECT count AS after_rollback FROM sequencing;
SELECT minikafka.append('saved', 0, 'k', 'h');
SELECT count AS after_append FROM sequencing;
SAVEPOINT s;
SELECT minikafka.append('saved', 0, 'k', 'gone');
ROLLBACK TO s;
SELECT count AS still FROM sequencing;
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('saved', 0, 6) ORDER BY "offset";
DROP VIEW sequencing;

-- in exception blocks
DO $$
BEGIN
	PERFORM minikafka.append('saved', 0, 'k', 'i');
	FOR i IN 1 .. 3 LOOP
		BEGIN
			PERFORM minikafka.append('saved', 0, 'k', 'gone');
			PERFORM minikafka.send('saved', 'gone');
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			PERFORM minikafka.send('saved', 'caught ' || i);
		END;
	END LOOP;
	ASSERT minikafka.append('saved', 0, 'k', 'j') = 12;
END $$;
SELECT "offset", value FROM minikafka.fetch_text('saved', 0, 8) ORDER BY "offset";
SELECT * FROM minikafka.check_topic('saved');

-- Over the end of a segment, in one transaction
SELECT minikafka.create_topic('short', 1, segment_records => 3);
SELECT minikafka.append('short', 0, 'k', i::text) FROM generate_series(0, 10) i;
SELECT count(*), min("offset"), max("offset"), bool_and("offset" = value::int) AS in_order
FROM minikafka.fetch_text('short', 0, 0);
SELECT * FROM minikafka.check_topic('short');

-- A rolled back append leaves no row behind, so no dead one either: the pages
-- of the segment stay as many
SELECT pg_relation_size(relid) AS before, relid AS segment
FROM pg_partition_tree('minikafka_topics.saved') WHERE isleaf \gset
BEGIN;
SELECT count(minikafka.append('saved', 0, 'k', 'gone')) FROM generate_series(1, 5000);
ROLLBACK;
SELECT pg_relation_size(:'segment'::regclass) = :before AS same_size;

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
