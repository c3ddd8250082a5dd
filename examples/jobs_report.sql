-- For examples/demo.sh: what fifty workers have done, and whether it is right.

CREATE TEMP VIEW next_to AS
SELECT *, lag(flight) OVER w AS flight_before, lag(ended) OVER w AS ended_before
FROM work WINDOW w AS (PARTITION BY airport ORDER BY number);

\echo The airports with the most jobs: one at a time, in order, by many workers
SELECT airport, count(*) AS jobs, count(DISTINCT worker) AS workers,
	bool_and(flight_before IS NULL OR flight_before < flight) AS in_order,
	bool_and(ended_before IS NULL OR ended_before <= began) AS one_at_a_time
FROM next_to GROUP BY airport ORDER BY count(*) DESC, airport LIMIT 5;

\echo All jobs: each once, and many at the same time
CREATE TEMP VIEW summary AS
SELECT jobs, done, flights, dead_letters, workers,
	(SELECT max(n) FROM (SELECT sum(change) OVER (ORDER BY at, change) AS n
		FROM work, LATERAL (VALUES (began, 1), (ended, -1)) AS e (at, change)) b) AS at_once,
	(SELECT count(*) FROM next_to WHERE flight_before > flight OR ended_before > began) AS out_of_order
FROM result;
TABLE summary;

DO $$
BEGIN
	IF NOT (SELECT done = 285 AND flights = done AND dead_letters = 3 AND jobs = done + dead_letters
			AND workers > 8 AND out_of_order = 0 FROM summary) THEN
		RAISE EXCEPTION 'a job was not done once and in order';
	END IF;
END
$$;
