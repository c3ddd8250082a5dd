-- A consumer: a member of group airport-delay.  What a batch does to
-- airport_delay and how far it went are committed together: so each event
-- counts once, whoever is killed, and whoever goes on where another stood.
--
-- The CALL ends with an error when the group took the batch from this member,
-- and the batch is undone.  Its caller (examples/demo.sh) tells by the SQLSTATE
-- what to do: COMMIT's errors cannot be caught in here.

CREATE PROCEDURE consume(member text)
LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		-- One order for all, so that members cannot deadlock.
		INSERT INTO airport_delay AS a
		SELECT key, count(*), sum((value->>'delay')::integer)
		FROM minikafka.poll_json('airport-delay', member, max_records => 20, max_wait => '0.5s')
		GROUP BY key ORDER BY key
		ON CONFLICT (airport) DO UPDATE SET
			flights = a.flights + excluded.flights,
			total_delay = a.total_delay + excluded.total_delay;

		PERFORM minikafka.commit('airport-delay', member);
		COMMIT;
	END LOOP;
END
$$;
