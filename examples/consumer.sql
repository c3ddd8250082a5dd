-- A consumer of one partition.  What a batch does to airport_delay and the
-- offset up to which it went are committed together: so each event counts
-- once, whenever the consumer is killed and started again.

CREATE PROCEDURE consume(which integer)
LANGUAGE plpgsql AS $$
DECLARE
	next_offset bigint;
	batch_end bigint;
BEGIN
	-- One consumer a partition: a second one would wait here.
	PERFORM pg_advisory_lock(hashtext('airport-delay'), which);

	LOOP
		-- On from the committed offset; from the log start for a new group, or
		-- where records were deleted that it had not read.
		next_offset := greatest(
			minikafka.committed('airport-delay', 'flights', which),
			(SELECT log_start_offset FROM minikafka.offsets('flights', which)));

		WITH batch AS (
			SELECT * FROM minikafka.fetch_json('flights', which, next_offset, max_records => 100)
		), applied AS (
			INSERT INTO airport_delay AS a
			SELECT key, count(*), sum((value->>'delay')::integer) FROM batch GROUP BY key
			ON CONFLICT (airport) DO UPDATE SET
				flights = a.flights + excluded.flights,
				total_delay = a.total_delay + excluded.total_delay
		)
		SELECT max("offset") + 1 INTO batch_end FROM batch;

		IF batch_end IS NULL THEN
			PERFORM pg_sleep(0.1);	-- nothing new
		ELSE
			PERFORM minikafka.commit_offset('airport-delay', 'flights', which, batch_end);
		END IF;
		COMMIT;
	END LOOP;
END
$$;
