-- A queue that does not grow: maintenance removes what every group has read.
--
--     psql -f queue.sql

-- Small segments: a segment whose records are all read is dropped.
SELECT minikafka.create_topic('scans', partitions => 2, segment_records => 1000);
SELECT minikafka.set_topic_option('scans', 'delete_read', 'true');
-- Bags can be sorted in any order.
SELECT minikafka.create_share_group('sorting', '{scans}', ordering => 'none');

\echo Each flight is a bag that was scanned
SELECT count(minikafka.send('scans', jsonb_build_object('flight', id), key => origin)) FROM arrival;

\echo One bag comes again in three seconds; the others are sorted, and COMMIT accepts them
SELECT "offset" AS waits, minikafka.acknowledge('sorting', receipt, 'release', retry_after => '3 seconds')
FROM minikafka.acquire('sorting');
DO $$
BEGIN
	LOOP
		PERFORM FROM minikafka.acquire('sorting', max_records => 500, accept => true);
		EXIT WHEN NOT FOUND;
		COMMIT;
	END LOOP;
END
$$;

-- The background worker does this; without it, do it now and then.
CALL minikafka.maintain();
\echo What is left: all from the bag that waits on, and of the other partition, nothing
SELECT partition, log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'scans';

\echo The bag is sorted: now nothing is left
SELECT "offset" AS sorted FROM minikafka.acquire('sorting', max_wait => '10 seconds', accept => true);
CALL minikafka.maintain();
SELECT partition, log_start_offset, end_offset, segments FROM minikafka.partitions WHERE topic = 'scans';
