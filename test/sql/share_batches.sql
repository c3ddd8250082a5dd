-- How many records a call hands out: as many as it was asked for, if it can.
SELECT minikafka.create_topic(t, 1) FROM unnest('{batches,batches.dead}'::text[]) t;
SELECT minikafka.create_share_group('batches', '{batches}', max_deliveries => 1, dead_letter_topic => 'batches.dead');
SELECT minikafka.set_group_option('batches', 'on_exhausted', 'dead_letter_key');

-- what follows an earlier record of its key is none of them
SELECT minikafka.send_many('batches', '{k0,k1,a,b}', '{k,k,a,b}');
SELECT minikafka.acknowledge('batches', receipt, 'fail') FROM minikafka.acquire('batches');
SELECT value FROM minikafka.acquire_text('batches', 2, accept => true);
SELECT "offset", convert_from(value, 'UTF8') FROM minikafka_topics."batches.dead";

-- nor is what waits, whatever its size
SELECT count(minikafka.send('batches', repeat(v, 1000), v)) FROM unnest('{x,y,z}'::text[]) v;
SELECT minikafka.acknowledge('batches', receipt, 'release', retry_after => '1 day') FROM minikafka.acquire('batches');
\c -
SELECT left(value, 1) FROM minikafka.acquire_text('batches', 10, max_bytes => 2500, accept => true);

-- nor does it take up the room that a transaction has for keys: half of
-- max_locks_per_transaction
SHOW max_locks_per_transaction;
SELECT count(minikafka.send('batches', 'v', 'key ' || i)) FROM generate_series(1, 40) i;
SELECT count(*), min(answer) FROM (SELECT minikafka.acknowledge('batches', receipt, 'release', retry_after => '1 day') AS answer
FROM minikafka.acquire('batches', 20)) a;
CALL minikafka.maintain();
\c -
SELECT count(*), min("offset"), max("offset") FROM minikafka.acquire('batches', 100, accept => true);

-- however many rows about records that are done lie between two that wait
SELECT count(minikafka.send('batches', 'v', 'between ' || i)) FROM generate_series(1, 22) i;
CREATE PROCEDURE answer(n int, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM minikafka.acknowledge('batches', receipt, answer, retry_after => CASE WHEN answer = 'release' THEN interval '1 min' END)
		FROM minikafka.acquire('batches');
		COMMIT;
	END LOOP;
END $$;
CALL answer(1, 'release');
CALL answer(20, 'accept');
CALL answer(1, 'release');
SET minikafka.clock_offset = '1h';
SELECT convert_from(key, 'UTF8') FROM minikafka.acquire('batches', 100, accept => true);
RESET minikafka.clock_offset;
DROP PROCEDURE answer;

-- a failure releases no record of another key, where a call has let go of one that waits
SELECT minikafka.reset_offsets('batches', 'batches', target => 'latest');
SELECT minikafka.set_group_option('batches', 'max_deliveries', '2');
SELECT minikafka.send_many('batches', '{a,b,c,d}', '{a,b,c,d}');
SELECT minikafka.acknowledge('batches', receipt, 'release', retry_after => '1 day') FROM minikafka.acquire('batches');
\c -
BEGIN;
CREATE TEMPORARY TABLE got AS SELECT value, receipt FROM minikafka.acquire_text('batches', 3);
SELECT value, minikafka.acknowledge('batches', receipt, CASE value WHEN 'c' THEN 'fail' ELSE 'accept' END) FROM got ORDER BY value;
COMMIT;

SELECT minikafka.delete_group('batches');
SELECT minikafka.drop_topic(t) FROM unnest('{batches,batches.dead}'::text[]) t;
