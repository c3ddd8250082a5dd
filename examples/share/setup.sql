-- What the programs share.  Run it in this folder, as a superuser:
--
--     psql -v ON_ERROR_STOP=1 -f setup.sql
--
-- An airline owes its passengers a compensation if a flight is late by an hour or
-- more.  Each such flight is a job in topic claims, and its key is the airport.
-- The workers pay each once, and those of an airport in order.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- What the workers do
CREATE TABLE payment (
	flight integer PRIMARY KEY,
	airport text NOT NULL,
	amount integer NOT NULL CHECK (amount > 0),
	paid_by text NOT NULL DEFAULT current_setting('application_name'),
	number bigint GENERATED ALWAYS AS IDENTITY
);

SELECT minikafka.create_topic('claims', partitions => 8);
-- A dead letter is larger than its record: it tells what has happened.
SELECT minikafka.create_topic('claims.dead', partitions => 1, max_message_bytes => 2000000);
SELECT minikafka.create_share_group('payments', '{claims}',
	max_deliveries => 3, backoff => '200ms', dead_letter_topic => 'claims.dead');

-- The workers' role, with the rights that it needs.  Dead letters are written by
-- the right of the group's owner.  Roles belong to all databases of a server, so
-- it may be there already.
DO $$
BEGIN
	CREATE ROLE payer;
EXCEPTION WHEN duplicate_object THEN
	NULL;
END $$;
ALTER ROLE payer LOGIN PASSWORD 'payer-example';
GRANT USAGE ON SCHEMA minikafka TO payer;
GRANT SELECT ON minikafka_topics.claims TO payer;
GRANT INSERT ON payment TO payer;
SELECT minikafka.grant_group('payments', 'payer');

-- The jobs: 285 real flights; a delay that is no number; a value that is no JSON;
-- and a claim that is there already
CREATE TABLE arrival (
	id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	departed timestamp,
	origin text,
	destination text,
	delay_minutes integer,
	distance_miles integer
);
\copy arrival (departed, origin, destination, delay_minutes, distance_miles) from '../data/flights.csv' csv header
SELECT minikafka.send('claims', '{"flight": 0, "delay": "unknown"}', key => 'ORD');
SELECT minikafka.send('claims', 'flight 5001, 75 minutes', key => 'LAX');
SELECT count(minikafka.send('claims', jsonb_build_object('flight', id, 'delay', delay_minutes), key => origin)) AS claims
FROM (SELECT * FROM arrival WHERE delay_minutes >= 60 ORDER BY id) a;
SELECT minikafka.send('claims', jsonb_build_object('flight', id, 'delay', delay_minutes), key => origin)
FROM arrival WHERE delay_minutes >= 60 ORDER BY id LIMIT 1;
