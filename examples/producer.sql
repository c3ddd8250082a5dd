-- A producer: one transaction for each flight, which inserts the row and sends its
-- event.

CREATE PROCEDURE produce(worker integer, workers integer, since timestamp, until timestamp)
LANGUAGE plpgsql AS $$
DECLARE
	a arrival;
BEGIN
	FOR a IN
		SELECT * FROM arrival
		WHERE id % workers = worker AND departed >= since AND departed < until
		ORDER BY id
	LOOP
		-- Every tenth flight: a first attempt, with a wrong delay, fails.  The
		-- block is a savepoint: its row and its event are rolled back, and the
		-- transaction continues.
		IF a.id % 10 = 7 THEN
			BEGIN
				PERFORM record_flight(a.id, a.departed, a.origin, a.destination, 9999);
				RAISE EXCEPTION 'delay is out of range';
			EXCEPTION WHEN raise_exception THEN
				NULL;
			END;
		END IF;

		PERFORM record_flight(a.id, a.departed, a.origin, a.destination, a.delay_minutes);

		-- Every tenth flight: the whole transaction is rolled back.
		IF a.id % 10 = 3 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END
$$;

-- The business write.  The events of one airport have the same key, so they are in
-- one partition, in order.
CREATE FUNCTION record_flight(id integer, departed timestamp, origin text, destination text, delay_minutes integer)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO flight VALUES (id, departed, origin, destination, delay_minutes);
	SELECT minikafka.send('flights',
		jsonb_build_object('flight', id, 'departed', departed,
			'destination', destination, 'delay', delay_minutes),
		key => origin);
$$;
