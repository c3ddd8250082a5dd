-- The worker as a procedure.  Any number of sessions may call it:
--
--     psql -f worker.sql
--     psql -c "CALL pay_claims()"
--
-- It runs until it is interrupted.  What it has acquired is free again then.

-- The work: may fail.  It is in the transaction that acknowledges the job, so both
-- happen or neither does.
CREATE FUNCTION pay(airport text, claim jsonb)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO payment (flight, airport, amount)
	VALUES ((claim->>'flight')::integer, airport, 50 * ((claim->>'delay')::integer / 60));
$$;

CREATE PROCEDURE pay_claims(max_records integer DEFAULT 10)
LANGUAGE plpgsql AS $$
DECLARE
	job record;
BEGIN
	LOOP
		FOR job IN
			SELECT key, value, receipt
			FROM minikafka.acquire_json('payments', max_records, max_wait => '1s')
		LOOP
			-- The block is a savepoint: if the work fails, it is undone, and so is
			-- the answer.
			BEGIN
				-- Released: an earlier job of this airport has failed, so this one
				-- comes again after it.
				CONTINUE WHEN minikafka.acknowledge('payments', job.receipt) = 'released';
				PERFORM pay(job.key, job.value);
			EXCEPTION WHEN OTHERS THEN
				-- It comes again after a while, or has failed too often.
				PERFORM minikafka.acknowledge('payments', job.receipt, 'fail', SQLERRM);
			END;
		END LOOP;

		-- Here, and not in the loop over acquire_json(): each job that was acquired
		-- must be acknowledged by now.
		COMMIT;
	END LOOP;
END
$$;
