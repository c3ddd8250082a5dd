-- The dead-letter desk: what an operator does with jobs that have failed too often.
-- Run it when the workers have gone through the topic:  psql -f desk.sql

-- Letters that are closed are kept here, for whoever asks.
SELECT minikafka.create_topic('claims.closed', partitions => 1, max_message_bytes => 2000000);

\echo Look
SELECT "offset", key, value, headers->>'__dlq.errors.delivery.count' AS deliveries,
	headers->>'__dlq.errors.message' AS error
FROM minikafka.fetch_text('claims.dead', 0, 0);

\echo Mend the cause, and send the letter back
-- An unknown delay is one of an hour.
CREATE OR REPLACE FUNCTION pay(airport text, claim jsonb)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO payment (flight, airport, amount)
	VALUES ((claim->>'flight')::integer, airport,
		50 * (coalesce(nullif(claim->>'delay', 'unknown'), '60')::integer / 60));
$$;
SELECT key, value, minikafka.redrive('claims.dead', partition, "offset")
FROM minikafka.fetch_text('claims.dead', 0, 0)
WHERE value LIKE '%unknown%';

\echo Mend the record: send a better one, and close the letter, in one transaction
BEGIN;
SELECT minikafka.send('claims', '{"flight": 5001, "delay": 75}'::jsonb, key => 'LAX');
SELECT key, value, minikafka.redrive('claims.dead', partition, "offset", target_topic => 'claims.closed')
FROM minikafka.fetch_text('claims.dead', 0, 0)
WHERE value LIKE 'flight 5001%';
COMMIT;

\echo Let go: a flight that is paid needs nothing
SELECT key, value, minikafka.redrive('claims.dead', l.partition, l."offset", target_topic => 'claims.closed')
FROM minikafka.fetch_text('claims.dead', 0, 0) l
WHERE headers->>'__dlq.errors.message' LIKE '%payment_pkey%';

\echo A letter is sent once: nothing is left
SELECT minikafka.redrive('claims.dead');
