--
-- A transaction that uses more groups than the server has room to lock: says so,
-- and names the setting, before it locks anything
--
SELECT minikafka.create_topic('many', 1);
SELECT current_setting('max_locks_per_transaction')::int * (current_setting('max_connections')::int + current_setting('autovacuum_max_workers')::int
	+ current_setting('max_worker_processes')::int + current_setting('max_wal_senders')::int + current_setting('max_prepared_transactions')::int + 3) AS room \gset
BEGIN;
SELECT count(minikafka.commit_offset('many' || i, 'many', 0, 0)) = :room AS noted FROM generate_series(1, :room) i;
\set VERBOSITY sqlstate
COMMIT;
\set VERBOSITY default
SELECT count(*) FROM minikafka.groups;
\echo :LAST_ERROR_MESSAGE
-- each group twice, in savepoints, is no more than once
DO $$
BEGIN
	FOR i IN 1..10000 LOOP
		BEGIN
			PERFORM minikafka.commit_offset('once ' || i % 10, 'many', 0, 0);
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	END LOOP;
END
$$;
SELECT count(*) FROM minikafka.groups;
SELECT minikafka.drop_topic('many');
SELECT count(minikafka.delete_group(group_id)) FROM minikafka.groups;
DELETE FROM minikafka.consumer_group;
