--
-- In which order acquire() looks at partitions and at records
--
-- priority fair: each call begins at the next partition
SELECT minikafka.create_topic('turns', 4);
SELECT minikafka.create_share_group('turns', '{turns}', 'none');
SELECT count(minikafka.send('turns', 'v' || i, partition => i % 4)) FROM generate_series(0, 19) i;
DO $$
BEGIN
	CREATE TEMP TABLE got (partition int);
	FOR i IN 1 .. 8 LOOP
		INSERT INTO got SELECT a.partition FROM minikafka.acquire('turns', accept => true) a;
	END LOOP;
END $$;
SELECT partition, count(*) FROM got GROUP BY 1 ORDER BY 1;
SELECT minikafka.delete_group('turns'), minikafka.drop_topic('turns');

-- A key that waits costs the others nothing, however many of its records wait: a
-- session remembers each key's by themselves, and looks at the first one only.
SELECT minikafka.create_topic('turns', 1);
SELECT minikafka.create_share_group('turns', '{turns}');
SELECT minikafka.send('turns', 'stuck', 'stuck');
SELECT minikafka.acknowledge('turns', receipt, 'fail', 'why', '1 h') FROM minikafka.acquire('turns');
SELECT count(minikafka.send('turns', 'v' || i, CASE WHEN i <= 2000 THEN 'stuck' ELSE 'free' END)) FROM generate_series(1, 2010) i;
CREATE VIEW looks AS
SELECT sum(idx_scan + idx_tup_fetch)::bigint AS looks FROM pg_stat_xact_all_tables WHERE schemaname LIKE 'minikafka%';
-- the session gets to know them
SELECT "offset" FROM minikafka.acquire('turns', accept => true);
BEGIN;
SELECT looks FROM looks \gset
SELECT "offset" FROM minikafka.acquire('turns', accept => true);
SELECT looks - :looks BETWEEN 1 AND 100 AS few FROM looks;
COMMIT;
DROP VIEW looks;
SELECT minikafka.delete_group('turns'), minikafka.drop_topic('turns');
