--
-- Event triggers: a log of all DDL in a topic, which is sent to by the triggers
-- themselves.  What the extension does to its own tables fires none of them.
--
SET client_min_messages = warning;
CREATE ROLE regress_ddl;
GRANT USAGE ON SCHEMA minikafka TO regress_ddl;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_ddl;
SELECT minikafka.create_topic('ddl', 1, segment_records => 4);
GRANT INSERT ON minikafka_topics.ddl TO PUBLIC;
CREATE FUNCTION log_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.send('ddl', tg_event || ': ' || tg_tag);
END $$;
CREATE EVENT TRIGGER log_start ON ddl_command_start EXECUTE FUNCTION log_ddl();
CREATE EVENT TRIGGER log_end ON ddl_command_end EXECUTE FUNCTION log_ddl();
CREATE EVENT TRIGGER log_drop ON sql_drop EXECUTE FUNCTION log_ddl();
CREATE EVENT TRIGGER log_rewrite ON table_rewrite EXECUTE FUNCTION log_ddl();

-- what was logged, and then gone
CREATE FUNCTION pg_temp.logged() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT value FROM minikafka.offsets('ddl', 0) o,
		LATERAL minikafka.fetch_text('ddl', 0, o.log_start_offset) f;
	PERFORM minikafka.delete_records('ddl', 0, -1);
END $$;
SELECT * FROM pg_temp.logged();

-- ordinary DDL
CREATE TABLE seen (x int);
ALTER TABLE seen ALTER x TYPE bigint;
SELECT * FROM pg_temp.logged();
BEGIN;
DROP TABLE seen;
ROLLBACK;
DROP TABLE seen;
SELECT * FROM pg_temp.logged();

-- topics, also by a role with few rights
SELECT minikafka.create_topic('made', 2, segment_records => 2);
SELECT minikafka.add_partitions('made', 3);
SELECT minikafka.set_topic_option('made', 'max_message_bytes', '1000');
SELECT minikafka.drop_topic('made');
SET ROLE regress_ddl;
SELECT minikafka.create_topic('made', 1, segment_records => 2);
SELECT minikafka.add_partitions('made', 2);
-- segments, made ahead and when they are needed
SELECT minikafka.send('made', 'v', partition => 0);
SELECT minikafka.send('made', 'v', partition => 0);
SELECT count(minikafka.send('made', 'v', partition => 1)) FROM generate_series(1, 9);
SELECT minikafka.append('made', 0, 'k', 'v');
SELECT topic, partition, end_offset, segments FROM minikafka.partitions WHERE topic = 'made' ORDER BY 2;
SELECT minikafka.drop_topic('made');
RESET ROLE;
SELECT * FROM pg_temp.logged();

-- as part of another command, which is logged, and of which the drop is
CREATE TABLE of_calls AS SELECT 1 AS created FROM minikafka.create_topic('made', 1);
DO $$
BEGIN
	CREATE TEMP TABLE dropped AS SELECT 1 FROM minikafka.drop_topic('made');
END $$;
DROP TABLE of_calls;
SELECT * FROM pg_temp.logged();

-- the log's own segments: more than two of them in one transaction
DO $$
BEGIN
	FOR i IN 1 .. 6 LOOP
		EXECUTE format('CREATE TEMP TABLE t%s ()', i);
	END LOOP;
END $$;
SELECT count(*) FROM pg_temp.logged();
SELECT * FROM minikafka.check_topic('ddl');

-- DDL on the topic's own table
CREATE INDEX ON minikafka_topics.ddl (ts);
SELECT * FROM pg_temp.logged();

DROP EVENT TRIGGER log_start;
DROP EVENT TRIGGER log_end;
DROP EVENT TRIGGER log_drop;
DROP EVENT TRIGGER log_rewrite;
DROP FUNCTION log_ddl();

-- one that fails stops no sender, and no topic from being made
CREATE FUNCTION no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'no DDL here: %', tg_tag;
END $$;
CREATE EVENT TRIGGER no_ddl ON ddl_command_end EXECUTE FUNCTION no_ddl();
CREATE EVENT TRIGGER no_drop ON sql_drop EXECUTE FUNCTION no_ddl();
SELECT count(minikafka.send('ddl', i::text)) FROM generate_series(1, 9) i;
SELECT minikafka.create_topic('made');
SELECT minikafka.drop_topic('made');
\set VERBOSITY terse
CREATE TABLE refused ();
\set VERBOSITY default
DROP EVENT TRIGGER no_ddl;
DROP EVENT TRIGGER no_drop;
DROP FUNCTION no_ddl();
SELECT minikafka.drop_topic('ddl');
REVOKE CREATE ON SCHEMA minikafka_topics FROM regress_ddl;
REVOKE USAGE ON SCHEMA minikafka FROM regress_ddl;
DROP ROLE regress_ddl;
