--
-- Checkpoints of share groups that workers make themselves, after many runs
--
SELECT minikafka.create_topic('work', 1);
SELECT count(minikafka.send('work', 'v', 'k' || i % 5)) FROM generate_series(0, 1299) i;
SELECT minikafka.create_share_group('g', '{work}');
CREATE PROCEDURE pg_temp.work(transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. transactions LOOP
		PERFORM minikafka.acquire('g', accept => true);
		COMMIT;
	END LOOP;
END $$;
-- one record waits, so not all below is done
SELECT "offset", minikafka.acknowledge('g', receipt, 'release', retry_after => '1 h') FROM minikafka.acquire('g');
CALL pg_temp.work(1040);
SELECT count(*) > 0 AS made, max(high) > 500 AS high, min(exceptions[1]) AS start, max(cardinality(exceptions)) > 100 AS exceptions FROM minikafka.share_checkpoint;
-- a session that begins with it goes on where the others are
\c -
SELECT count(*) FROM minikafka.acquire('g', 1000, accept => true);
SET minikafka.clock_offset = '2 h';
SELECT count(*), min("offset"), max("offset") FROM minikafka.acquire('g', 1000, accept => true);
SELECT count(*) FROM minikafka.acquire('g', 1000, accept => true);
RESET minikafka.clock_offset;
SELECT minikafka.delete_group('g');
SELECT minikafka.drop_topic('work');
