--
-- delete_records(): the log start moves up, never back
--
SELECT minikafka.create_topic('deleted', 2, segment_records => 4);
SELECT count(minikafka.send('deleted', 'v' || i, partition => 0)) FROM generate_series(0, 9) i;

SELECT minikafka.delete_records('deleted', 0, 3);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 3, 1);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 2, 1);
-- never back
SELECT minikafka.delete_records('deleted', 0, 1), minikafka.delete_records('deleted', 0, 0);
SELECT * FROM minikafka.offsets('deleted', 0);
-- to the end, not beyond
SELECT minikafka.delete_records('deleted', 0, 11);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.delete_records('deleted', 0, 10);
SELECT * FROM minikafka.offsets('deleted', 0);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 10);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 9);
SELECT minikafka.delete_records('deleted', 0, -2);
\echo :LAST_ERROR_SQLSTATE
-- -1 is all there is
SELECT minikafka.send('deleted', 'ten', partition => 0);
SELECT minikafka.delete_records('deleted', 0, -1);
SELECT minikafka.delete_records('deleted', 0, -1);
SELECT minikafka.delete_records('deleted', 1, -1);
-- an empty partition goes on at the next offset
SELECT minikafka.append('deleted', 0, 'k', 'eleven');
SELECT "offset", value FROM minikafka.fetch_text('deleted', 0, 11);
SELECT * FROM minikafka.check_topic('deleted');

-- also when the rows that were deleted are not there any more
SELECT minikafka.delete_records('deleted', 0, -1);
SET session_replication_role = replica;
DELETE FROM minikafka_topics.deleted;
RESET session_replication_role;
SELECT minikafka.append('deleted', 0, 'k', 'twelve');
SELECT * FROM minikafka.offsets('deleted', 0);
SELECT "offset", value FROM minikafka.fetch_text('deleted', 0, 12);
SELECT * FROM minikafka.check_topic('deleted');

-- nor the segments that held them
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN
		SELECT c.oid FROM pg_partition_tree('minikafka_topics.deleted') p
		JOIN pg_class c ON c.oid = p.relid
		WHERE isleaf AND c.relname ~ '^p\d+_0_[01]$'
	LOOP
		EXECUTE format('DROP TABLE %s', t);
	END LOOP;
END $$;
SELECT segments FROM minikafka.partitions WHERE topic = 'deleted' AND partition = 0;
SELECT "offset", value FROM minikafka.fetch_text('deleted', 0, 12);
SELECT minikafka.append('deleted', 0, 'k', 'v'), minikafka.delete_records('deleted', 0, 13);
SELECT minikafka.delete_records('deleted', 0, 14);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 3);
SELECT minikafka.drop_topic('deleted');
SELECT minikafka.create_topic('deleted', 2, segment_records => 4);
SELECT count(minikafka.send('deleted', 'v' || i, partition => 0)) FROM generate_series(0, 12) i;
SELECT minikafka.delete_records('deleted', 0, 12);

-- It takes effect with the transaction
BEGIN;
SELECT minikafka.delete_records('deleted', 0, -1);
-- known to this transaction's other calls of delete_records
SELECT minikafka.delete_records('deleted', 0, 12), minikafka.delete_records('deleted', 0, 0);
SELECT "offset" FROM minikafka.fetch('deleted', 0, 12);
ROLLBACK;
SELECT * FROM minikafka.offsets('deleted', 0);
BEGIN;
SAVEPOINT s;
SELECT minikafka.delete_records('deleted', 0, -1);
ROLLBACK TO s;
COMMIT;
SELECT * FROM minikafka.offsets('deleted', 0);
-- what the same transaction sends lies beyond what it deletes
BEGIN;
SELECT minikafka.send('deleted', 'thirteen', partition => 0);
SELECT minikafka.delete_records('deleted', 0, -1);
SELECT minikafka.append('deleted', 0, 'k', 'fourteen');
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('deleted', 0, 13);
SELECT * FROM minikafka.offsets('deleted', 0);
-- of several in a transaction the highest counts
BEGIN;
SELECT minikafka.delete_records('deleted', 0, 15), minikafka.delete_records('deleted', 0, 14);
COMMIT;
SELECT * FROM minikafka.offsets('deleted', 0);
-- not on the wrong partition
SELECT minikafka.delete_records('deleted', 2, -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM minikafka.offsets('deleted', 1);

-- A consumer: its committed offset stays, its lag counts from the log start
SELECT minikafka.commit_offset('delete_group', 'deleted', 0, 2);
SELECT log_start_offset, end_offset, committed_offset, lag FROM minikafka.lag('delete_group', 'deleted')
WHERE partition = 0;
SELECT minikafka.append('deleted', 0, 'k', 'fifteen');
SELECT log_start_offset, end_offset, committed_offset, lag FROM minikafka.lag('delete_group', 'deleted')
WHERE partition = 0;

-- To the end of a full segment, when the next one was not made: a topic of one
-- record a segment, and one whose segments were all passed
SELECT minikafka.create_topic('single', 1, segment_records => 1);
SELECT minikafka.append('single', 0, 'k', 'v') FROM generate_series(1, 3);
SELECT minikafka.delete_records('single', 0, -1);
SELECT minikafka.append('single', 0, 'k', 'v');
SELECT "offset" FROM minikafka.fetch('single', 0, 3);
SELECT * FROM minikafka.check_topic('single');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
