--
-- Idempotent producers: sequences, repeats, epochs
--
-- what is in a partition
CREATE FUNCTION log(topic text, partition int) RETURNS text LANGUAGE sql AS $$
SELECT string_agg(value, ' ' ORDER BY "offset")
FROM minikafka.fetch_text(topic, partition, (minikafka.offsets(topic, partition)).log_start_offset, 1000)
$$;
SELECT minikafka.create_topic('produced', 3);

-- Kafka case I01: single records 0 to 5, then a batch, which is sent again
SELECT string_agg(minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i)::text, ' ')
FROM generate_series(0, 2) i;
SELECT minikafka.append('produced', 0, NULL, '3', producer => 'p', sequence => 3);
SELECT minikafka.append('produced', 0, NULL, '4', producer => 'p', sequence => 4);
SELECT minikafka.append('produced', 0, NULL, '5', producer => 'p', sequence => 5);
SELECT minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i) FROM generate_series(6, 8) i;
SELECT minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i) FROM generate_series(6, 8) i;
SELECT * FROM minikafka.offsets('produced', 0);
-- Kafka cases I02, I03, I04: each sequence that is known is acknowledged, also in
-- the middle of a batch, and of how many batches ago it is
SELECT minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i) FROM generate_series(7, 8) i;
SELECT minikafka.append('produced', 0, NULL, '2', producer => 'p', sequence => 2);
SELECT minikafka.append('produced', 0, NULL, '1', producer => 'p', sequence => 1);
-- Kafka case I05: twice
SELECT minikafka.append('produced', 0, NULL, '9', producer => 'p', sequence => 9);
SELECT minikafka.append('produced', 0, NULL, '9', producer => 'p', sequence => 9);
-- Kafka case I17: a repeat is no error, and never one of what is not stored
SELECT minikafka.send('produced', '9', partition => 0, producer => 'p', sequence => 9);
SELECT minikafka.append('produced', 0, NULL, '11', producer => 'p', sequence => 11);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('produced', '11', partition => 0, producer => 'p', sequence => 11);
SELECT minikafka.append('produced', 0, NULL, '10', producer => 'p', sequence => 10);
SELECT log('produced', 0);
-- what a repeat says is not looked at
SELECT minikafka.append('produced', 0, NULL, '10', '{"h": "1"}', producer => 'p', sequence => 10);
SELECT key, value, headers FROM minikafka.fetch_text('produced', 0, 10);
SELECT * FROM minikafka.producer_state('p');
-- the last 1,000 and more, also those sent one by one
DO $$ BEGIN
	FOR i IN 11 .. 1499 LOOP
		PERFORM minikafka.send('produced', i::text, partition => 0, producer => 'p', sequence => i);
		COMMIT;
	END LOOP;
END $$;
SELECT count(*), bool_and(minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i) = i)
FROM generate_series(0, 1499) i;
SELECT * FROM minikafka.producer_state('p');
SELECT count(*), bool_and("offset" = value::int) FROM minikafka.fetch_text('produced', 0, 0, 10000);

-- last_sent() has the offsets of what was there
SELECT minikafka.send('produced', '3', partition => 0, producer => 'p', sequence => 3);
SELECT * FROM minikafka.last_sent();
BEGIN;
SELECT minikafka.send('produced', i::text, partition => 0, producer => 'p', sequence => i) FROM generate_series(1498, 1501) i;
COMMIT;
SELECT * FROM minikafka.last_sent();
BEGIN;
SELECT minikafka.send('produced', '5', partition => 0, producer => 'p', sequence => 5);
SELECT minikafka.send('produced', 'plain', partition => 0);
SELECT minikafka.send('produced', '1502', partition => 0, producer => 'p', sequence => 1502);
SELECT minikafka.send('produced', '7', partition => 0, producer => 'p', sequence => 7);
SELECT minikafka.send('produced', 'plain', partition => 0);
SELECT minikafka.send('produced', '1503', partition => 0, producer => 'p', sequence => 1503);
COMMIT;
SELECT * FROM minikafka.last_sent();
SELECT "offset", value FROM minikafka.fetch_text('produced', 0, 1500);
-- those in one transaction with others are found by their offsets
SELECT minikafka.append('produced', 0, NULL, i::text, producer => 'p', sequence => i) FROM generate_series(1500, 1503) i;

-- Kafka case I14: producers are independent, and so are partitions and topics
SELECT minikafka.create_topic('other', 1);
BEGIN;
SELECT minikafka.send('produced', format('%s%s%s', producer, partition, i), partition => partition, producer => producer, sequence => i)
FROM generate_series(0, 1) i, generate_series(1, 2) partition, unnest('{a, b}'::text[]) producer;
SELECT minikafka.send('other', 'a' || i, 'key', producer => 'a', sequence => i) FROM generate_series(0, 2) i;
COMMIT;
SELECT partition, log('produced', partition) FROM generate_series(1, 2) partition;
SELECT log('other', 0);
SELECT * FROM minikafka.last_sent() ORDER BY topic, partition, base_offset;
SELECT producer, s.* FROM unnest('{a, b, c}'::text[]) producer, minikafka.producer_state(producer) s
ORDER BY producer, topic, partition;
SELECT minikafka.append('produced', partition, NULL, format('%s%s%s', producer, partition, i), producer => producer, sequence => i)
FROM generate_series(0, 1) i, generate_series(1, 2) partition, unnest('{a, b}'::text[]) producer;
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'b', sequence => 1);
-- a name is case sensitive, and may have blanks
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'A', sequence => 1);
SELECT minikafka.append('other', 0, NULL, producer, producer => producer, sequence => 0)
FROM unnest(ARRAY['A', ' a', E'caf\u00e9', repeat('p', 255)]) producer;

-- All forms of send() and append(); keys choose partitions as ever
SELECT minikafka.create_topic('forms', 3);
SELECT minikafka.partition_for_key('forms', 'k'::text) AS k \gset
SELECT minikafka.send('forms', 'text', 'k', producer => 'f', sequence => 0) = :k AS chosen;
SELECT minikafka.send('forms', '{"a": 1}'::jsonb, 'k', producer => 'f', sequence => 1) = :k AS chosen;
SELECT minikafka.send('forms', '{"a" : 2}'::json, 'k', producer => 'f', sequence => 2) = :k AS chosen;
SELECT minikafka.send('forms', 'bytea'::bytea, 'k', producer => 'f', sequence => 3) = :k AS chosen;
SELECT minikafka.send('forms', 'bytea, bytea'::bytea, 'k'::bytea, producer => 'f', sequence => 4) = :k AS chosen;
SELECT minikafka.append('forms', :k, 'k', 'text', producer => 'f', sequence => 5);
SELECT minikafka.append('forms', :k, 'k', '{"a": 3}'::jsonb, producer => 'f', sequence => 6);
SELECT minikafka.append('forms', :k, 'k'::bytea, 'bytea'::bytea, NULL, 'f', 7, 0);
SELECT minikafka.send('forms', 'eight', 'k', '{"h": "1"}', :k, 'f', 8, 0) = :k AS chosen;
-- a tombstone
SELECT minikafka.send('forms', NULL, 'k', producer => 'f', sequence => 9) = :k AS chosen;
SELECT "offset", key, value, headers FROM minikafka.fetch_text('forms', :k, 0);
-- again, each in another form
SELECT minikafka.send('forms', 'text'::bytea, 'k', producer => 'f', sequence => 0) = :k AS chosen;
SELECT minikafka.append('forms', :k, 'k'::bytea, '{"a": 1}'::bytea, producer => 'f', sequence => 1);
SELECT minikafka.append('forms', :k, 'k', 'bytea, bytea', producer => 'f', sequence => 4);
SELECT end_offset FROM minikafka.offsets('forms', :k);
-- the number is of the partition, whichever key chose it; an explicit one wins
SELECT minikafka.send('forms', 'by number', 'k', partition => (:k + 1) % 3, producer => 'f', sequence => 0) = (:k + 1) % 3 AS given;
SELECT minikafka.send('forms', 'other key', key, producer => 'f', sequence => 10) = :k AS chosen
FROM generate_series(0, 99) i, LATERAL (SELECT 'key ' || i) s(key)
WHERE minikafka.partition_for_key('forms', key) = :k LIMIT 1;
-- so a key that moves, when partitions are added, is refused there
SELECT minikafka.send('forms', 'moves', 'key 2', producer => 'moving', sequence => i) AS partition FROM generate_series(0, 1) i;
SET client_min_messages = warning;
SELECT minikafka.add_partitions('forms', 7);
RESET client_min_messages;
SELECT minikafka.partition_for_key('forms', 'key 2'::text);
SELECT minikafka.send('forms', 'moves', 'key 2', producer => 'moving', sequence => 1);
\echo :LAST_ERROR_SQLSTATE

-- Kafka case I20: the sequence and the record commit together or not at all
SELECT minikafka.create_topic('rolled', 2);
BEGIN;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 0);
SELECT minikafka.append('rolled', 0, NULL, 'gone', producer => 'r', sequence => 1);
ROLLBACK;
SELECT * FROM minikafka.producer_state('r');
SELECT count(*) FROM minikafka.producer WHERE producer = 'r';
SELECT minikafka.append('rolled', 0, NULL, 'r1', producer => 'r', sequence => 1);
SELECT minikafka.append('rolled', 0, NULL, 'r0', producer => 'r', sequence => 0);
BEGIN;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 1);
SELECT 1 / 0;
COMMIT;
SELECT minikafka.append('rolled', 0, NULL, 'r1', producer => 'r', sequence => 1);
-- an out-of-order one ends its transaction, with what was in order
BEGIN;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 2);
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 4);
COMMIT;
SELECT log('rolled', 0);

-- Kafka cases T29, T32: with business rows, offsets and savepoints
CREATE TABLE business (what text);
BEGIN;
INSERT INTO business VALUES ('gone');
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 2);
SELECT minikafka.commit_offset('producing', 'rolled', 0, 2);
ROLLBACK;
SELECT count(*) FROM business;
SELECT minikafka.committed('producing', 'rolled', 0);
BEGIN;
INSERT INTO business VALUES ('kept');
SELECT minikafka.send('rolled', 'r2', partition => 0, producer => 'r', sequence => 2);
SELECT minikafka.commit_offset('producing', 'rolled', 0, 2);
COMMIT;
SELECT count(*) FROM business;
SELECT minikafka.committed('producing', 'rolled', 0);
SELECT * FROM minikafka.last_sent();
BEGIN;
SAVEPOINT s;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 3);
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 4);
ROLLBACK TO s;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 4);
ROLLBACK TO s;
SELECT minikafka.send('rolled', 'r3', partition => 0, producer => 'r', sequence => 3);
COMMIT;
BEGIN;
SELECT minikafka.send('rolled', 'r4', partition => 0, producer => 'r', sequence => 4);
SAVEPOINT s1;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 5);
SAVEPOINT s2;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 6);
SELECT minikafka.send('rolled', 'gone', partition => 1, producer => 'r', sequence => 0);
SELECT minikafka.send('rolled', 'gone', partition => 1, producer => 'new', sequence => 0);
RELEASE s2;
SELECT minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => 7);
ROLLBACK TO s1;
SELECT minikafka.send('rolled', 'r5', partition => 0, producer => 'r', sequence => 5);
SAVEPOINT s3;
SELECT minikafka.send('rolled', 'r6', partition => 0, producer => 'r', sequence => 6);
RELEASE s3;
SELECT minikafka.send('rolled', 'r5', partition => 0, producer => 'r', sequence => 5);
SELECT minikafka.send('rolled', 'r7', partition => 0, producer => 'r', sequence => 7);
RELEASE s1;
COMMIT;
SELECT log('rolled', 0), log('rolled', 1);
SELECT * FROM minikafka.producer_state('r');
SELECT count(*) FROM minikafka.producer WHERE producer = 'new';
DO $$ BEGIN
	FOR i IN 8 .. 12 LOOP
		BEGIN
			PERFORM minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => i);
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			PERFORM minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i);
		END;
		BEGIN
			PERFORM minikafka.send('rolled', 'gone', partition => 0, producer => 'r', sequence => i + 2);
		EXCEPTION WHEN SQLSTATE 'MK045' THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT log('rolled', 0);
SELECT * FROM minikafka.last_sent();
-- repeats in savepoints that are rolled back are not told
BEGIN;
SELECT minikafka.send('rolled', 'r1', partition => 0, producer => 'r', sequence => 1);
SAVEPOINT s;
SELECT minikafka.send('rolled', 'r2', partition => 0, producer => 'r', sequence => 2);
ROLLBACK TO s;
COMMIT;
SELECT * FROM minikafka.last_sent();

BEGIN;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{1, 2}'::int[]) i;
SAVEPOINT s1;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{3, 4, 7, 8}'::int[]) i;
SAVEPOINT s2;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{9, 11}'::int[]) i;
ROLLBACK TO s2;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{1, 12, 13}'::int[]) i;
ROLLBACK TO s1;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{3, 6, 1, 2}'::int[]) i;
RELEASE s1;
SELECT minikafka.send('rolled', 'r' || i, partition => 0, producer => 'r', sequence => i) FROM unnest('{7, 9, 8}'::int[]) i;
COMMIT;
SELECT * FROM minikafka.last_sent();
SELECT log('rolled', 0);

-- append() and savepoints: an offset that was rolled back does not come again
SELECT minikafka.create_topic('saved', 2);
BEGIN;
SELECT minikafka.append('saved', 0, NULL, 's0', producer => 's', sequence => 0);
SAVEPOINT s;
SELECT minikafka.append('saved', 0, NULL, 'gone', producer => 's', sequence => 1);
ROLLBACK TO s;
SELECT minikafka.send('saved', 'plain', partition => 0);
SELECT minikafka.append('saved', 0, NULL, 's1', producer => 's', sequence => 1);
SELECT minikafka.append('saved', 0, NULL, 's1', '{"h": "1"}', producer => 's', sequence => 1);
SELECT minikafka.append('saved', 0, NULL, 's0', producer => 's', sequence => 0);
SAVEPOINT s;
SELECT minikafka.append('saved', 0, NULL, 'gone', producer => 's', sequence => i) FROM generate_series(2, 4) i;
ROLLBACK TO s;
SELECT minikafka.send('saved', 'plain', partition => 0);
SELECT minikafka.send('saved', 's2', partition => 0, producer => 's', sequence => 2);
SAVEPOINT s;
SELECT minikafka.append('saved', 0, NULL, 's2', producer => 's', sequence => 2);
ROLLBACK TO s;
SELECT minikafka.append('saved', 0, NULL, 's3', producer => 's', sequence => 3);
-- and send() of what was appended is a repeat as any other
SELECT minikafka.send('saved', 's3', partition => 0, producer => 's', sequence => 3);
SELECT minikafka.append('saved', 0, NULL, 's3', producer => 's', sequence => 3);
COMMIT;
SELECT log('saved', 0);
SELECT minikafka.append('saved', 0, NULL, 's' || i, producer => 's', sequence => i) FROM generate_series(0, 3) i;
SELECT * FROM minikafka.check_topic('saved');

-- What interleaves with others in one partition: runs of sequences and offsets
BEGIN;
SELECT count(CASE WHEN i % 3 = 2 THEN minikafka.send('saved', 'plain', partition => 1)
	ELSE minikafka.send('saved', i::text, partition => 1, producer => 'run' || i % 3, sequence => i / 3) END)
FROM generate_series(0, 14) i;
SELECT count(minikafka.send('saved', 'a', partition => 1, producer => 'run0', sequence => i)) FROM generate_series(5, 8) i;
COMMIT;
SELECT log('saved', 1);
SELECT producer, first_sequence, last_sequence, first_offset
FROM minikafka.producer_progress JOIN minikafka.producer USING (producer_id)
WHERE producer LIKE 'run%' ORDER BY 1, 2;
SELECT string_agg(minikafka.append('saved', 1, NULL, CASE WHEN i < 5 THEN (3 * i)::text ELSE 'a' END, producer => 'run0', sequence => i)::text, ' ') AS run0,
	string_agg(minikafka.append('saved', 1, NULL, (3 * (i % 5) + 1)::text, producer => 'run1', sequence => i % 5)::text, ' ') AS run1
FROM generate_series(0, 8) i;
SELECT * FROM minikafka.last_sent() ORDER BY base_offset;

-- In a deferred trigger, as the transaction ends
CREATE FUNCTION send_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.send('other', NEW.what, 'key', producer => 'trigger', sequence => NEW.what::int);
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER send_row AFTER INSERT ON business DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION send_row();
INSERT INTO business VALUES ('0'), ('1'), ('1'), ('2'), ('0');
INSERT INTO business VALUES ('3'), ('5');
SELECT * FROM minikafka.producer_state('trigger');
DROP TABLE business;

-- Kafka cases I07, I08; D16: a new epoch begins at 0, and fences the former one
SELECT minikafka.create_topic('epochs', 2);
SELECT minikafka.append('epochs', 0, NULL, 'a' || i, producer => 'e', sequence => i) FROM generate_series(0, 2) i;
SELECT epoch FROM minikafka.init_producer('e');
SELECT * FROM minikafka.producer_state('e');
SELECT minikafka.append('epochs', 0, NULL, 'b', producer => 'e', sequence => i, epoch => 1) FROM generate_series(1, 2) i;
SELECT minikafka.append('epochs', 0, NULL, 'b', producer => 'e', sequence => 2, epoch => 1);
SELECT minikafka.append('epochs', 0, NULL, 'b0', producer => 'e', sequence => 0, epoch => 1);
SELECT minikafka.append('epochs', 0, NULL, 'old', producer => 'e', sequence => 3, epoch => 0);
\echo :LAST_ERROR_SQLSTATE
-- also what it has sent
SELECT minikafka.append('epochs', 0, NULL, 'old', producer => 'e', sequence => 2, epoch => 0);
SELECT minikafka.send('epochs', 'old', partition => 1, producer => 'e', sequence => 0, epoch => 0);
-- without an epoch it is the current one
SELECT minikafka.append('epochs', 0, NULL, 'b0', producer => 'e', sequence => 0);
SELECT minikafka.append('epochs', 0, NULL, 'b1', producer => 'e', sequence => 1);
SELECT minikafka.append('epochs', 0, NULL, 'b2', producer => 'e', sequence => 2, epoch => 2);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.producer_state('e');
SELECT log('epochs', 0);
-- Kafka case T02: a new name is at epoch 0; the number stays
SELECT producer_id AS id, epoch FROM minikafka.init_producer('i') \gset
SELECT :epoch AS epoch;
SELECT producer_id = :id AS same, epoch FROM minikafka.init_producer('i');
SELECT minikafka.append('epochs', 1, NULL, 'v', producer => 'i', sequence => 0, epoch => 0);
-- Kafka case T22: twice in one transaction; the last counts
BEGIN;
SELECT producer_id = :id AS same, epoch FROM minikafka.init_producer('i');
SELECT producer_id = :id AS same, epoch FROM minikafka.init_producer('i');
SELECT minikafka.send('epochs', 'i0', partition => 1, producer => 'i', sequence => 0, epoch => 3);
SELECT minikafka.append('epochs', 1, NULL, 'i1', producer => 'i', sequence => 1);
COMMIT;
BEGIN;
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.send('epochs', 'i0', partition => 1, producer => 'i', sequence => 0, epoch => 3);
ROLLBACK;
SELECT * FROM minikafka.producer_state('i');
-- rolled back
BEGIN;
SELECT epoch FROM minikafka.init_producer('i');
SELECT epoch FROM minikafka.init_producer('never');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.send('epochs', 'gone', partition => 1, producer => 'i', sequence => 0);
ROLLBACK TO s;
SELECT minikafka.send('epochs', 'i2', partition => 1, producer => 'i', sequence => 2, epoch => 3);
COMMIT;
SELECT minikafka.append('epochs', 1, NULL, 'i3', producer => 'i', sequence => 3, epoch => 3);
SELECT minikafka.append('epochs', 1, NULL, 'v', producer => 'never', sequence => 0, epoch => 1);
-- what the transaction itself has sent before is not fenced
BEGIN;
SELECT minikafka.send('epochs', 'i4', partition => 1, producer => 'i', sequence => 4);
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.send('epochs', 'j0', partition => 1, producer => 'i', sequence => 0);
SELECT minikafka.send('epochs', 'old', partition => 1, producer => 'i', sequence => 5, epoch => 3);
COMMIT;
BEGIN;
SELECT minikafka.send('epochs', 'i4', partition => 1, producer => 'i', sequence => 4);
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.send('epochs', 'j0', partition => 1, producer => 'i', sequence => 0);
COMMIT;
SELECT log('epochs', 1);
SELECT * FROM minikafka.producer_state('i');
BEGIN;
SELECT minikafka.send('epochs', 'j1', partition => 1, producer => 'i', sequence => 1);
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.append('epochs', 1, NULL, 'k0', producer => 'i', sequence => 0);
SELECT epoch FROM minikafka.init_producer('i');
SELECT minikafka.append('epochs', 1, NULL, 'l0', producer => 'i', sequence => 0);
SELECT minikafka.append('epochs', 1, NULL, 'l0', producer => 'i', sequence => 0);
COMMIT;
SELECT * FROM minikafka.producer_state('i');
-- nor is a producer that it has begun by sending
BEGIN;
SELECT minikafka.send('epochs', 'n0', partition => 1, producer => 'n', sequence => 0);
SELECT epoch FROM minikafka.init_producer('n');
SELECT minikafka.send('epochs', 'o0', partition => 1, producer => 'n', sequence => 0, epoch => 1);
COMMIT;
SELECT log('epochs', 1);
SELECT * FROM minikafka.producer_state('n');

-- Kafka cases I10, I19: the ends of the numbers.  Sequences do not wrap around.
INSERT INTO minikafka.producer (producer, producer_id, owner, epoch, initialized)
VALUES ('end', nextval('minikafka.producer_id'), current_user, 2147483646, true);
INSERT INTO minikafka.producer_progress (producer_id, topic_id, partition, epoch, first_sequence, last_sequence, first_offset, sent_at)
SELECT producer_id, topic_id, 0, epoch, s.first, s.last, s.first_offset, now()
FROM minikafka.producer, minikafka.topic, (VALUES ('epochs', 2147483640, 2147483646, -10), ('other', 9223372036854775800, 9223372036854775805, 0)) s(topic, first, last, first_offset)
WHERE producer = 'end' AND rel = format('minikafka_topics.%I', s.topic)::regclass;
SELECT minikafka.append('epochs', 0, NULL, 'int', producer => 'end', sequence => i) FROM generate_series(2147483647, 2147483649) i;
SELECT * FROM minikafka.producer_state('end') ORDER BY topic;
BEGIN;
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => 9223372036854775806);
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => 9223372036854775807);
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => 9223372036854775807);
ROLLBACK;
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => 9223372036854775807);
SELECT minikafka.send('other', 'last but one', 'k', producer => 'end', sequence => 9223372036854775806);
SELECT minikafka.send('other', 'last', 'k', producer => 'end', sequence => 9223372036854775807);
SELECT minikafka.send('other', 'last', 'k', producer => 'end', sequence => 9223372036854775807);
SELECT * FROM minikafka.last_sent();
SELECT minikafka.append('other', 0, key, value, producer => 'end', sequence => 9223372036854775804) FROM minikafka.fetch_text('other', 0, 4, 1);
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => -1);
SELECT minikafka.append('other', 0, NULL, 'v', producer => 'end', sequence => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.producer_state('end') ORDER BY topic;
-- Kafka case T05: epochs; there the name goes on under a new number, here it ends
SELECT epoch FROM minikafka.init_producer('end');
SELECT minikafka.append('other', 0, NULL, 'again', producer => 'end', sequence => 0, epoch => 2147483647);
SELECT epoch FROM minikafka.init_producer('end');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('other', 0, NULL, 'again', producer => 'end', sequence => 1);

-- Kafka case I23: what retention has removed is acknowledged by its offset
SELECT minikafka.create_topic('deleted', 1, segment_records => 5);
SELECT count(minikafka.append('deleted', 0, NULL, i::text, producer => 'd', sequence => i)) FROM generate_series(0, 11) i;
SELECT minikafka.delete_records('deleted', 0, 11);
SELECT minikafka.append('deleted', 0, NULL, CASE i WHEN 11 THEN '11' ELSE 'gone' END, producer => 'd', sequence => i) FROM unnest('{0, 6, 11}'::int[]) i;
SELECT * FROM minikafka.last_sent() ORDER BY base_offset;
SELECT minikafka.delete_records('deleted', 0, -1);
SELECT minikafka.send('deleted', 'repeated', 'k', producer => 'd', sequence => 11);
SELECT minikafka.append('deleted', 0, NULL, '12', producer => 'd', sequence => 12);
SELECT log('deleted', 0);

-- Kafka case I11: what is older than the expiry is forgotten, and numbers begin
-- at 0 again (there any number would do)
SELECT minikafka.create_topic('expired', 2);
SELECT minikafka.append('expired', 0, NULL, 'a' || i, producer => 'x', sequence => i) FROM generate_series(0, 2) i;
SET minikafka.clock_offset = 86400;
SELECT minikafka.append('expired', 1, NULL, 'a' || i, producer => 'x', sequence => i) FROM generate_series(0, 2) i;
SET minikafka.clock_offset = 604000;
SELECT minikafka.append('expired', 0, NULL, 'a0', producer => 'x', sequence => 0);
SELECT * FROM minikafka.producer_state('x') ORDER BY partition;
SET minikafka.clock_offset = 605000;
SELECT * FROM minikafka.producer_state('x') ORDER BY partition;
SELECT minikafka.append('expired', 0, NULL, 'a3', producer => 'x', sequence => 3);
SELECT minikafka.append('expired', 0, NULL, 'b1', producer => 'x', sequence => 1);
SELECT minikafka.send('expired', 'b1', partition => 0, producer => 'x', sequence => 1);
SELECT minikafka.append('expired', 1, NULL, 'a2', producer => 'x', sequence => 2);
-- so a repeat is a new record
SELECT minikafka.append('expired', 0, NULL, 'b0', producer => 'x', sequence => 0);
SELECT minikafka.append('expired', 0, NULL, 'b1', producer => 'x', sequence => 1);
SELECT * FROM minikafka.producer_state('x') ORDER BY partition;
SELECT log('expired', 0);
-- a producer that goes on does not lose what it sent before: the last counts
SET minikafka.clock_offset = 1200000;
SELECT minikafka.append('expired', 0, NULL, 'b2', producer => 'x', sequence => 2);
SET minikafka.clock_offset = 1210000;
SELECT minikafka.append('expired', 0, NULL, 'b0', producer => 'x', sequence => 0);
-- Kafka case T13: the name, its owner and its epoch stay
SELECT epoch FROM minikafka.init_producer('x');
SET minikafka.clock_offset = 3000000;
SELECT minikafka.append('expired', 0, NULL, 'c0', producer => 'x', sequence => 0, epoch => 0);
SELECT minikafka.append('expired', 0, NULL, 'c0', producer => 'x', sequence => 0, epoch => 1);
-- it expires within a transaction, by a shorter setting
SET minikafka.producer_expiry = '1h';
BEGIN;
SELECT minikafka.send('expired', 'c1', partition => 0, producer => 'x', sequence => 1);
SET LOCAL minikafka.clock_offset = 3004000;
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SET minikafka.clock_offset = 3004000;
BEGIN;
SELECT minikafka.send('expired', 'd' || i, partition => 0, producer => 'x', sequence => i) FROM generate_series(0, 1) i;
SAVEPOINT s;
SELECT minikafka.send('expired', 'gone', partition => 0, producer => 'x', sequence => 2);
ROLLBACK TO s;
SELECT minikafka.append('expired', 0, NULL, 'd2', producer => 'x', sequence => 2);
COMMIT;
SELECT log('expired', 0);
RESET minikafka.producer_expiry;
-- the clock goes back
RESET minikafka.clock_offset;
SELECT minikafka.append('expired', 0, NULL, 'd3', producer => 'x', sequence => 3);
SELECT * FROM minikafka.producer_state('x') ORDER BY partition;

-- A topic that is dropped takes the numbers along, and no epoch
SELECT minikafka.drop_topic('epochs');
SELECT * FROM minikafka.producer_state('e');
SELECT minikafka.create_topic('epochs', 2);
SELECT * FROM minikafka.producer_state('e');
SELECT minikafka.append('epochs', 0, NULL, 'v', producer => 'e', sequence => 2, epoch => 1);
SELECT minikafka.append('epochs', 0, NULL, 'anew', producer => 'e', sequence => 0, epoch => 0);
SELECT minikafka.append('epochs', 0, NULL, 'anew', producer => 'e', sequence => 0, epoch => 1);
SELECT * FROM minikafka.producer_state('e');
-- in one transaction
BEGIN;
SELECT minikafka.append('epochs', 0, NULL, 'v', producer => 'e', sequence => 1);
SELECT minikafka.drop_topic('epochs');
ROLLBACK;
BEGIN;
SELECT minikafka.append('epochs', 0, NULL, 'anew', producer => 'e', sequence => 0);
SELECT minikafka.drop_topic('epochs');
SELECT minikafka.create_topic('epochs', 1);
SELECT minikafka.append('epochs', 0, NULL, 'anew', producer => 'e', sequence => 0);
COMMIT;
SELECT log('epochs', 0);

-- Kafka case T14: one transaction to two topics fails, one commits
BEGIN;
SELECT minikafka.send('other', 'failed', 'k', producer => 't', sequence => 0), minikafka.send('deleted', 'failed', 'k', producer => 't', sequence => 0);
ROLLBACK;
BEGIN;
SELECT minikafka.send('other', 'done', 'k', producer => 't', sequence => 0), minikafka.send('deleted', 'done', 'k', producer => 't', sequence => 0);
COMMIT;
SELECT * FROM minikafka.producer_state('t') ORDER BY topic;
SELECT right(log('other', 0), 12), log('deleted', 0);

-- Kafka cases T23, T26: what is rolled back takes no offset, so a group has nothing
-- to step over
SELECT minikafka.create_topic('aborted', 1);
BEGIN;
SELECT minikafka.send('aborted', 'aborted', 'k', producer => 'b', sequence => 0);
ROLLBACK;
SELECT minikafka.join_group('aborted', '{aborted}', 'm');
SELECT count(*) FROM minikafka.poll('aborted', 'm');
SELECT * FROM minikafka.commit('aborted', 'm');
SELECT * FROM minikafka.offsets('aborted', 0);
BEGIN;
SELECT count(minikafka.send('aborted', 'committed', 'k', producer => 'b', sequence => i)) FROM generate_series(0, 4) i;
COMMIT;
BEGIN;
SELECT count(minikafka.send('aborted', 'aborted', 'k', producer => 'b', sequence => i)) FROM generate_series(5, 9) i;
ROLLBACK;
SELECT count(*), max("offset") FROM minikafka.poll('aborted', 'm');
BEGIN;
SELECT count(minikafka.send('aborted', 'plain', 'k')) FROM generate_series(0, 4) i;
SELECT count(minikafka.send('aborted', 'committed', 'k', producer => 'b', sequence => i)) FROM generate_series(5, 9) i;
COMMIT;
BEGIN;
SELECT count(minikafka.send('aborted', 'aborted', 'k', producer => 'b', sequence => i)) FROM generate_series(10, 14) i;
ROLLBACK;
SELECT value, count(*), max("offset") FROM minikafka.poll_text('aborted', 'm') GROUP BY value ORDER BY 3;
SELECT * FROM minikafka.commit('aborted', 'm');

-- Kafka case T16: what was rolled back between two others leaves no hole
SELECT minikafka.create_topic('hole', 1);
SELECT minikafka.send('hole', 'x', 'k');
BEGIN;
SELECT minikafka.send('hole', 'y', 'k', producer => 'h', sequence => i) FROM generate_series(0, 1) i;
ROLLBACK;
SELECT minikafka.send('hole', 'x', 'k');
SELECT "offset", value FROM minikafka.fetch_text('hole', 0, 0);

-- Kafka case T25: 100 records committed, then 100 that are open
SELECT minikafka.create_topic('open', 1);
BEGIN;
SELECT count(minikafka.send('open', 'v', 'k', producer => 'o', sequence => i)) FROM generate_series(0, 99) i;
COMMIT;
BEGIN;
SELECT count(minikafka.send('open', 'v', 'k', producer => 'o', sequence => i)) FROM generate_series(100, 199) i;
SELECT * FROM minikafka.offsets('open', 0);
SELECT * FROM minikafka.producer_state('o');
COMMIT;
SELECT * FROM minikafka.offsets('open', 0);
SELECT * FROM minikafka.producer_state('o');

-- Kafka case T17: 500 records are read, and sent on with the offset, in batches of
-- which each is rolled back once
SELECT minikafka.create_topic('input', 1), minikafka.create_topic('output', 1);
SELECT minikafka.send_many('input', array_agg(i::text ORDER BY i), array_agg('k'::text ORDER BY i)) FROM generate_series(1, 500) i;
SELECT minikafka.join_group('copy', '{input}', 'm');
CREATE PROCEDURE copy() LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	read int;
BEGIN
	FOR attempt IN 1 .. 1000 LOOP
		SELECT count(minikafka.send('output', value, 'k', producer => 'copy', sequence => "offset")) INTO read
		FROM minikafka.poll_text('copy', 'm', 30);
		PERFORM minikafka.commit('copy', 'm');
		IF attempt % 2 = 1 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
		EXIT WHEN read = 0 AND attempt % 2 = 0;
		n := n + read;
	END LOOP;
	RAISE NOTICE '% records were polled', n;
END $$;
CALL copy();
SELECT count(*), count(DISTINCT value), bool_and(value::int = "offset" + 1) FROM minikafka.fetch_text('output', 0, 0, 1000);
SELECT minikafka.committed('copy', 'input', 0);
SELECT * FROM minikafka.producer_state('copy');

-- Kafka case T28: what is sent with an offset that is refused is not sent
BEGIN;
SELECT minikafka.send('output', 'zombie', 'k', producer => 'copy', sequence => 500);
SELECT minikafka.commit_offset('copy', 'input', 0, 500, member_id => 'm', generation => 7);
\echo :LAST_ERROR_SQLSTATE
COMMIT;
SELECT * FROM minikafka.producer_state('copy');

-- A name belongs to the role that used it first
CREATE ROLE regress_first;
CREATE ROLE regress_member IN ROLE regress_first;
CREATE ROLE regress_other;
CREATE ROLE regress_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA minikafka TO regress_first, regress_other;
GRANT INSERT ON minikafka_topics.other TO regress_first, regress_other;
SET ROLE regress_first;
SELECT minikafka.send('other', 'o0', 'k', producer => 'owned', sequence => 0);
SET ROLE regress_member;
SELECT minikafka.send('other', 'o1', 'k', producer => 'owned', sequence => 1);
SELECT count(*) FROM minikafka.init_producer('owned');
SELECT minikafka.send('other', 'm0', 'k', producer => 'owned', sequence => 0);
SELECT epoch FROM minikafka.producer_state('owned');
SET ROLE regress_other;
SELECT minikafka.send('other', 'v', 'k', producer => 'owned', sequence => 1);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.append('other', 0, 'k', 'v', producer => 'owned', sequence => 0);
SELECT minikafka.init_producer('owned');
SELECT minikafka.producer_state('owned');
SELECT minikafka.producer_state('not there');
SET ROLE regress_monitor;
SELECT epoch, last_sequence FROM minikafka.producer_state('owned');
SELECT minikafka.init_producer('owned');
SELECT minikafka.send('other', 'v', 'k', producer => 'owned', sequence => 1);
RESET ROLE;
SELECT epoch, last_sequence FROM minikafka.producer_state('owned');
-- two roles in one transaction: the role without a right is refused at once
BEGIN;
SET LOCAL ROLE regress_first;
SELECT minikafka.send('other', 'm1', 'k', producer => 'owned', sequence => 1);
SAVEPOINT s;
SET LOCAL ROLE regress_other;
SELECT minikafka.send('other', 'v', 'k', producer => 'owned', sequence => 2);
ROLLBACK TO s;
SELECT minikafka.send('other', 'm2', 'k', producer => 'owned', sequence => 2);
COMMIT;
SELECT last_sequence FROM minikafka.producer_state('owned');
-- a new name is the first one's, if it commits
BEGIN;
SAVEPOINT s;
SET LOCAL ROLE regress_other;
SELECT minikafka.send('other', 'gone', 'k', producer => 'owned2', sequence => 0);
ROLLBACK TO s;
SET LOCAL ROLE regress_first;
SELECT minikafka.send('other', 'o0', 'k', producer => 'owned2', sequence => 0);
SAVEPOINT s;
SET LOCAL ROLE regress_other;
SELECT minikafka.send('other', 'gone', 'k', producer => 'owned2', sequence => 1);
ROLLBACK TO s;
COMMIT;
SELECT producer, owner FROM minikafka.producer WHERE producer LIKE 'owned%' ORDER BY 1;
BEGIN;
SET LOCAL ROLE regress_other;
SELECT epoch FROM minikafka.init_producer('owned3');
ROLLBACK;
SET ROLE regress_first;
SELECT epoch FROM minikafka.init_producer('owned3');
SELECT minikafka.init_producer('owned3') IS NOT NULL;
RESET ROLE;
-- rights to the topic
REVOKE INSERT ON minikafka_topics.other FROM regress_first;
SET ROLE regress_first;
SELECT minikafka.append('other', 0, 'k', 'v', producer => 'owned', sequence => 0);
SELECT epoch, last_sequence FROM minikafka.producer_state('owned');
RESET ROLE;
DROP OWNED BY regress_first, regress_other;
REVOKE USAGE ON SCHEMA minikafka FROM regress_first, regress_other;
DROP ROLE regress_first, regress_member, regress_other, regress_monitor;

-- Where nothing may be sent; a repeat is no exception
BEGIN READ ONLY;
SELECT minikafka.send('other', 'a0', 'key', producer => 'a', sequence => 0);
ROLLBACK;
BEGIN READ ONLY;
SELECT minikafka.init_producer('a');
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM minikafka.producer_state('a') ORDER BY topic, partition;
ROLLBACK;
BEGIN;
SELECT minikafka.append('other', 0, 'key', 'a0', producer => 'a', sequence => 0) IS NULL;
PREPARE TRANSACTION 'regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT epoch FROM minikafka.init_producer('a');
PREPARE TRANSACTION 'regress';
\echo :LAST_ERROR_SQLSTATE
-- a snapshot makes no difference
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT minikafka.append('other', 0, 'k', 'a3', producer => 'a', sequence => 3) > 0;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT minikafka.send('other', 'a4', 'k', producer => 'a', sequence => 4);
SELECT minikafka.send('other', 'a3', 'k', producer => 'a', sequence => 3);
COMMIT;
SELECT topic, last_sequence FROM minikafka.producer_state('a') WHERE topic = 'other';
-- a plan that is kept
PREPARE again(bigint) AS SELECT minikafka.append('other', 0, NULL, 'a' || $1, producer => 'a', sequence => $1) IS NOT NULL;
EXECUTE again(5);
EXECUTE again(5);
EXECUTE again(6);
SELECT topic, last_sequence FROM minikafka.producer_state('a') WHERE topic = 'other';

SELECT minikafka.leave_group('aborted', 'm'), minikafka.leave_group('copy', 'm');
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
SELECT count(*) FROM minikafka.producer_progress;
DROP PROCEDURE copy;
DROP FUNCTION log(text, int), send_row();

-- no producer stays for other tests, nor a group
SELECT count(minikafka.delete_group(group_id)) FROM minikafka.groups;
DELETE FROM minikafka.consumer_group;
DELETE FROM minikafka.producer;
