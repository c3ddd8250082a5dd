-- The application's tables, the topic, and the flights to come.

CREATE EXTENSION minikafka;

-- What the producers write: one row a flight.
CREATE TABLE flight (
	id integer PRIMARY KEY,
	departed timestamp NOT NULL,
	origin text NOT NULL,
	destination text NOT NULL,
	delay_minutes integer NOT NULL
);

-- What the consumers build from the events: one row an airport.
CREATE TABLE airport_delay (
	airport text PRIMARY KEY,
	flights bigint NOT NULL,
	total_delay bigint NOT NULL
);

SELECT minikafka.create_topic('flights', partitions => 8, retention => '7 days', segment_records => 200);

-- What the consumers send on: each change of an airport's row.  Of those only the
-- last of each airport is kept.
SELECT minikafka.create_topic('airport-delays', partitions => 1, cleanup_policy => 'compact', segment_records => 1000);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE ON airport_delay FOR EACH ROW
	EXECUTE FUNCTION minikafka.outbox('airport-delays', 'airport');

-- The file, as the producers find it.
CREATE TABLE arrival (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	departed timestamp,
	origin text,
	destination text,
	delay_minutes integer,
	distance_miles integer
);
\copy arrival (departed, origin, destination, delay_minutes, distance_miles) from 'examples/data/flights.csv' csv header
