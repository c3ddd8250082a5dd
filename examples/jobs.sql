-- For examples/demo.sh: the work of examples/share/worker.sql takes from 10 ms to
-- 1 s, and tells when it was done.

-- No key: a job that is done twice has two rows.
CREATE TABLE work (
	number bigint GENERATED ALWAYS AS IDENTITY,
	airport text NOT NULL,
	flight integer NOT NULL,
	worker text NOT NULL,
	began timestamptz NOT NULL,
	ended timestamptz NOT NULL
);
GRANT INSERT ON work TO payer;

CREATE OR REPLACE FUNCTION pay(airport text, claim jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	flight constant integer := claim->>'flight';
	began constant timestamptz := clock_timestamp();
BEGIN
	PERFORM pg_sleep(0.01 * 100 ^ (flight * 7919 % 1000 / 1000.0));
	INSERT INTO payment (flight, airport, amount)
	VALUES (flight, airport, 50 * ((claim->>'delay')::integer / 60));
	INSERT INTO work (airport, flight, worker, began, ended)
	VALUES (airport, flight, current_setting('application_name'), began, clock_timestamp());
END
$$;

-- What has come to an end: done, or a dead letter
CREATE VIEW result AS
SELECT
	(SELECT count(*) FROM work) AS done,
	(SELECT count(DISTINCT flight) FROM work) AS flights,
	(SELECT end_offset FROM minikafka.offsets('claims.dead', 0)) AS dead_letters,
	(SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'claims') AS jobs,
	(SELECT count(DISTINCT worker) FROM work) AS workers;
