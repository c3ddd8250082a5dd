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

-- The producers are the airline, the consumers the statistics office.  Each may do its
-- own part, and nothing else.
CREATE ROLE airline LOGIN;
CREATE ROLE statistics LOGIN;
GRANT USAGE ON SCHEMA minikafka TO airline, statistics;
GRANT INSERT ON minikafka_topics.flights TO airline;
GRANT INSERT ON flight TO airline;
GRANT SELECT ON minikafka_topics.flights TO statistics;
GRANT INSERT ON minikafka_topics."airport-delays" TO statistics;
GRANT SELECT, INSERT, UPDATE ON airport_delay TO statistics;

-- The file, as the producers find it.
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
