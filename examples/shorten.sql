-- Makes both logs shorter.  Compaction leaves the last record of each airport in topic
-- airport-delays, which equals its row in airport_delay.  Retention keeps a week of topic
-- flights.

CREATE TEMP VIEW kept AS
SELECT topic, sum(log_start_offset) AS log_starts, sum(end_offset) AS ends, sum(segments) AS segments,
	CASE topic
		WHEN 'flights' THEN (SELECT count(*) FROM minikafka_topics.flights)
		ELSE (SELECT count(*) FROM minikafka_topics."airport-delays")
	END AS records
FROM minikafka.partitions
GROUP BY topic;

CREATE TEMP VIEW newest AS
SELECT a.*
FROM minikafka.latest('airport-delays') l
CROSS JOIN LATERAL jsonb_populate_record(NULL::airport_delay, convert_from(l.value, 'UTF8')::jsonb) a;

\echo Each change of airport_delay is a record of topic airport-delays
SELECT * FROM kept WHERE topic = 'airport-delays';

\echo Compaction leaves the last record of each airport
CALL minikafka.compact('airport-delays');
SELECT * FROM kept WHERE topic = 'airport-delays';

\echo latest() returns the rows of the table
SELECT
	(SELECT count(*) FROM newest) AS airports,
	(SELECT count(*) FROM (TABLE newest EXCEPT TABLE airport_delay) e) AS surplus_rows,
	(SELECT count(*) FROM (TABLE airport_delay EXCEPT TABLE newest) e) AS missing_rows;

\echo Topic flights, before and after retention in a session whose clock is a week ahead
SELECT * FROM kept WHERE topic = 'flights';
SET minikafka.clock_offset = '7d';
CALL minikafka.expire('flights');
SELECT * FROM kept WHERE topic = 'flights';
RESET minikafka.clock_offset;

DO $$
BEGIN
	IF EXISTS (TABLE newest EXCEPT TABLE airport_delay)
		OR EXISTS (TABLE airport_delay EXCEPT TABLE newest)
		OR (SELECT records FROM kept WHERE topic = 'airport-delays') <> (SELECT count(*) FROM airport_delay)
		OR (SELECT log_starts <> ends FROM kept WHERE topic = 'flights')
		OR (SELECT sum(lag) FROM minikafka.lag('airport-delay', 'flights')) <> 0
	THEN
		RAISE EXCEPTION 'the logs hold other records than they should';
	END IF;
END
$$;
