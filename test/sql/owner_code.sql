--
-- What an owner has written runs for a limited time where others wait for it:
-- in maintenance, and in their COMMIT
--
CREATE ROLE regress_owner;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO regress_owner;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
CREATE SCHEMA regress_owner AUTHORIZATION regress_owner;
GRANT USAGE ON SCHEMA regress_owner TO PUBLIC;
SELECT setval('minikafka.topic_id', 948000) \gset
SET ROLE regress_owner;
CREATE TABLE regress_owner.mode (mode text);
INSERT INTO regress_owner.mode VALUES ('quick');
RESET ROLE;
CREATE FUNCTION regress_owner.cancel() RETURNS bool LANGUAGE sql SECURITY DEFINER AS 'SELECT pg_cancel_backend(pg_backend_pid())';
SET ROLE regress_owner;
-- Where a segment is being made it does what the mode is, else nothing: so it
-- is nothing that keeps records from being sent.
CREATE FUNCTION regress_owner.making() RETURNS bool LANGUAGE sql AS $$
	SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
		WHERE l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock' AND c.relname LIKE 'p948001\_%')
$$;
CREATE FUNCTION regress_owner.code(always bool) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	mode text;
BEGIN
	SELECT m.mode INTO mode FROM regress_owner.mode m WHERE always OR regress_owner.making();
	IF mode = 'slow' THEN
		PERFORM pg_sleep(600);
	ELSIF mode = 'stubborn' THEN
		FOR i IN 1..3 LOOP
			BEGIN
				PERFORM pg_sleep(600);
			EXCEPTION WHEN query_canceled THEN
				NULL;
			END;
		END LOOP;
	ELSIF mode = 'cancelled' THEN
		PERFORM regress_owner.cancel();
		PERFORM pg_sleep(600);
	ELSIF mode = 'failing' THEN
		RAISE 'it fails';
	ELSIF mode = 'waiting' THEN
		RAISE lock_not_available; -- as after lock_timeout
	END IF;
	RETURN 1;
END $$;
SELECT minikafka.create_topic('slow', 1, segment_records => 4);
SELECT minikafka.create_topic('young', 1, segment_records => 4, retention => '1 hour');
SELECT minikafka.create_index('slow', '((regress_owner.code(false) + "offset"))');
SELECT minikafka.send('slow', 'v' || i) FROM generate_series(0, 1) i;
SELECT minikafka.send('young', 'v' || i) FROM generate_series(0, 1) i;

-- In passing nothing of it is run; in maintenance it is
UPDATE regress_owner.mode SET mode = 'failing';
SELECT minikafka.send('slow', 'v2');
SELECT segments FROM minikafka.partitions WHERE topic = 'slow';
RESET ROLE;
CALL minikafka.maintain();
UPDATE regress_owner.mode SET mode = 'waiting';
CALL minikafka.maintain();
UPDATE regress_owner.mode SET mode = 'slow';
SET minikafka.clock_offset = 7200;
CALL minikafka.maintain();
RESET minikafka.clock_offset;
-- and the next topic was looked after
SELECT topic, log_start_offset, end_offset, segments FROM minikafka.partitions ORDER BY 1;

-- A sender that needs the segment fails, in time
SELECT minikafka.send('slow', 'v3');
SELECT minikafka.send('slow', 'not sent');
UPDATE regress_owner.mode SET mode = 'stubborn';
SELECT minikafka.send('slow', 'not sent');
UPDATE regress_owner.mode SET mode = 'failing';
SELECT minikafka.send('slow', 'not sent');
-- a cancel stays one
UPDATE regress_owner.mode SET mode = 'cancelled';
SELECT minikafka.send('slow', 'not sent');
UPDATE regress_owner.mode SET mode = 'quick';
SELECT minikafka.send('slow', 'v4');
SELECT "offset", value FROM minikafka.fetch_text('slow', 0, 0);
SELECT minikafka.drop_topic('slow');

-- The same where an index takes a record
SET ROLE regress_owner;
SELECT minikafka.create_topic('slow', 1);
SELECT minikafka.create_index('slow', '((regress_owner.code(true) + "offset"))');
UPDATE regress_owner.mode SET mode = 'slow';
RESET ROLE;
SELECT minikafka.send('slow', 'not sent');
UPDATE regress_owner.mode SET mode = 'quick';
SELECT minikafka.send('slow', 'v0');
SELECT "offset", value FROM minikafka.fetch_text('slow', 0, 0);

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
SET client_min_messages = warning;
DROP SCHEMA regress_owner CASCADE;
DROP OWNED BY regress_owner;
DROP ROLE regress_owner;
