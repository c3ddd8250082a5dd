-- Terminates the consumer that reads the flights from ORD, in the middle of a
-- batch: it has to wait for ORD's row, which is locked here.

BEGIN;
SELECT FROM airport_delay WHERE airport = 'ORD' FOR UPDATE;

DO $$
DECLARE
	consumer integer;
BEGIN
	LOOP
		SELECT pid INTO consumer FROM pg_locks
		WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid));
		EXIT WHEN FOUND;
		IF clock_timestamp() > now() + interval '1 minute' THEN
			RAISE EXCEPTION 'no consumer came here';
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
	IF NOT pg_terminate_backend(consumer, 30000) THEN
		RAISE EXCEPTION 'the consumer does not end';
	END IF;
END
$$;

SELECT format('killed the consumer of partition %s in the middle of a batch, at offset %s of %s',
	partition, committed_offset, end_offset)
FROM minikafka.lag('airport-delay', 'flights')
WHERE partition = minikafka.partition_for_key('flights', 'ORD');
COMMIT;
