-- The result, and a comparison with the source.

\echo
\echo The partitions of the topic
SELECT * FROM minikafka.partitions WHERE topic = 'flights' ORDER BY partition;

\echo The ten airports with the longest average delay (of those with 50 flights or more)
SELECT airport, flights, total_delay, round(total_delay::numeric / flights, 1) AS average_delay
FROM airport_delay
WHERE flights >= 50
ORDER BY total_delay::numeric / flights DESC, airport
LIMIT 10;

\echo The lag of the consumers
SELECT partition, end_offset, committed_offset, lag, time_lag, member_id
FROM minikafka.lag('airport-delay', 'flights') ORDER BY partition;

CREATE TEMP VIEW expected AS
SELECT origin AS airport, count(*) AS flights, sum(delay_minutes) AS total_delay
FROM flight GROUP BY origin;

CREATE TEMP VIEW result AS
SELECT
	(SELECT count(*) FROM arrival) AS arrivals,
	(SELECT count(*) FROM arrival WHERE id % 10 = 3) AS rolled_back,
	(SELECT count(*) FROM flight) AS flights,
	(SELECT sum(end_offset) FROM minikafka.partitions WHERE topic = 'flights') AS events,
	(SELECT sum(lag) FROM minikafka.lag('airport-delay', 'flights')) AS unread,
	(SELECT count(*) FROM expected) AS airports,
	(SELECT count(*) FROM (TABLE expected EXCEPT TABLE airport_delay) e) AS missing_rows,
	(SELECT count(*) FROM (TABLE airport_delay EXCEPT TABLE expected) e) AS surplus_rows;

\echo airport_delay compared with GROUP BY over flight
TABLE result;

DO $$
BEGIN
	IF NOT (SELECT arrivals - rolled_back = flights AND events = flights
			AND airports > 0 AND unread = 0
			AND missing_rows = 0 AND surplus_rows = 0 FROM result) THEN
		RAISE EXCEPTION 'airport_delay differs from GROUP BY over flight';
	END IF;
END
$$;
