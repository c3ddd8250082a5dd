-- The sample data of try.sh: a topic with 5,000 real flights, one record each.

CREATE EXTENSION minikafka;

CREATE TEMP TABLE flight (
	departed timestamp,
	origin text,
	destination text,
	delay_minutes integer,
	distance_miles integer
);
\copy flight from 'examples/data/flights.csv' csv header

-- Flights from one airport have one key, so they are in one partition, in order.
SET client_min_messages = warning;
DO $$
BEGIN
	PERFORM minikafka.create_topic('flights', partitions => 3);
	PERFORM minikafka.send_many_json('flights',
		array_agg(jsonb_build_object('departed', departed, 'destination', destination, 'delay', delay_minutes)
			ORDER BY departed),
		array_agg(origin ORDER BY departed))
	FROM flight;
END
$$;
