-- The tables of the application, the topics, the roles, and the flights to record.

CREATE EXTENSION minikafka;

-- The producers insert one row for each flight.
CREATE TABLE flight (
	id integer PRIMARY KEY,
	departed timestamp NOT NULL,
	origin text NOT NULL,
	destination text NOT NULL,
	delay_minutes integer NOT NULL
);

-- The consumers maintain one row for each airport, from the events.
CREATE TABLE airport_delay (
	airport text PRIMARY KEY,
	flights bigint NOT NULL,
	total_delay bigint NOT NULL
);

SELECT minikafka.create_topic('flights', partitions => 8, retention => '7 days', segment_records => 200);

-- The outbox trigger sends each change of an airport's row.  Compaction keeps the
-- last record of each airport.
SELECT minikafka.create_topic('airport-delays', partitions => 1, cleanup_policy => 'compact', segment_records => 1000);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE ON airport_delay FOR EACH ROW
	EXECUTE FUNCTION minikafka.outbox('airport-delays', 'airport');

-- The producers connect as the airline, the consumers as the statistics office.  Each
-- role has only the rights that it needs.
CREATE ROLE airline LOGIN;
CREATE ROLE statistics LOGIN;
GRANT USAGE ON SCHEMA minikafka TO airline, statistics;
GRANT INSERT ON minikafka_topics.flights TO airline;
GRANT INSERT ON flight TO airline;
GRANT SELECT ON minikafka_topics.flights TO statistics;
GRANT INSERT ON minikafka_topics."airport-delays" TO statistics;
GRANT SELECT, INSERT, UPDATE ON airport_delay TO statistics;

-- The data file, which the producers read.
CREATE TABLE arrival (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	departed timestamp,
	origin text,
	destination text,
	delay_minutes integer,
	distance_miles integer
);
GRANT SELECT ON arrival TO airline;
\copy arrival (departed, origin, destination, delay_minutes, distance_miles) from 'examples/data/flights.csv' csv header
