-- A consumer: a member of group airport-delay.  Each transaction updates
-- airport_delay and commits the positions.  So each event counts once, also when
-- a member is killed and another one continues in its place.  It needs the tables
-- and topics of setup.sql.
--
-- If the group has given the batch's partitions to another member, COMMIT fails
-- and the batch is rolled back.  A procedure cannot catch an error of COMMIT, so
-- the caller (examples/demo.sh) handles it, by its SQLSTATE.

CREATE PROCEDURE consume(member text)
LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		-- All members take the rows in one order, so that they cannot deadlock.
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
