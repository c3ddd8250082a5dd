--
-- send() and the transaction: everything takes effect at COMMIT
--
SELECT minikafka.create_topic('log', 1, segment_records => 5);
-- what is in the log, and then gone
CREATE FUNCTION pg_temp.take() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	SELECT string_agg(value, ' ' ORDER BY "offset") INTO result
	FROM minikafka.offsets('log', 0) o, LATERAL minikafka.fetch_text('log', 0, o.log_start_offset) f;
	PERFORM minikafka.delete_records('log', 0, -1);
	RETURN result;
END $$;

-- rollbacks leave nothing, and no hole
BEGIN;
SELECT minikafka.send('log', 'a');
ROLLBACK;
SELECT minikafka.send('log', 'b');
BEGIN;
SELECT minikafka.send('log', 'c');
SELECT 1 / 0;
COMMIT;
SELECT minikafka.send('log', 'd');
SELECT * FROM minikafka.offsets('log', 0);
SELECT pg_temp.take();

-- savepoints, nested, released, rolled back
BEGIN;
SELECT minikafka.send('log', 'a');
SAVEPOINT s1;
SELECT minikafka.send('log', 'gone');
SAVEPOINT s2;
SELECT minikafka.send('log', 'gone');
RELEASE s2;
SELECT minikafka.send('log', 'gone');
ROLLBACK TO s1;
SELECT minikafka.send('log', 'b');
SAVEPOINT s3;
SELECT minikafka.send('log', 'c');
SAVEPOINT s4;
SELECT minikafka.send('log', 'gone');
ROLLBACK TO s4;
SAVEPOINT s5;
RELEASE s5;
SELECT minikafka.send('log', 'd');
RELEASE s3;
SAVEPOINT s6;
ROLLBACK TO s6;
SELECT minikafka.send('log', 'e');
COMMIT;
SELECT pg_temp.take();
-- only in a savepoint, all of it rolled back, then something
BEGIN;
SAVEPOINT s1;
SELECT minikafka.send('log', 'gone');
ROLLBACK TO s1;
SELECT minikafka.send('log', 'kept');
ROLLBACK TO s1;
COMMIT;
SELECT pg_temp.take();
BEGIN;
SAVEPOINT s1;
SELECT minikafka.send('log', 'gone');
ROLLBACK TO s1;
RELEASE s1;
SELECT minikafka.send('log', 'kept');
COMMIT;
SELECT pg_temp.take();
-- many small ones, half of them rolled back
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		BEGIN
			PERFORM minikafka.send('log', i::text);
			IF i % 2 = 0 THEN
				RAISE 'back';
			END IF;
		EXCEPTION WHEN raise_exception THEN
		END;
	END LOOP;
END $$;
SELECT pg_temp.take();
-- deep ones, thrown out from the inside
CREATE FUNCTION pg_temp.deep(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.send('log', 'in ' || n);
	IF n = 0 THEN
		RAISE 'deep';
	END IF;
	BEGIN
		PERFORM pg_temp.deep(n - 1);
	EXCEPTION WHEN raise_exception THEN
		PERFORM minikafka.send('log', 'out ' || n);
		IF n < 3 THEN
			RAISE;
		END IF;
	END;
END $$;
SELECT pg_temp.deep(5);
SELECT pg_temp.take();

-- the partition of a transaction's records without a key is chosen anew where
-- it was rolled back; twice, since it may be the first by chance
SELECT minikafka.create_topic('stuck', 1);
BEGIN;
SAVEPOINT s;
SELECT minikafka.add_partitions('stuck', 20);
SELECT minikafka.send('stuck', 'gone') BETWEEN 0 AND 19 AS sent;
ROLLBACK TO s;
SELECT minikafka.send('stuck', 'one');
COMMIT;
BEGIN;
SAVEPOINT s;
SELECT minikafka.add_partitions('stuck', 20);
SELECT minikafka.send('stuck', 'gone') BETWEEN 0 AND 19 AS sent;
ROLLBACK TO s;
SELECT minikafka.send('stuck', 'two');
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('stuck', 0, 0);
SELECT minikafka.drop_topic('stuck');

-- in a deferred trigger, which runs when the transaction commits
CREATE TABLE deferred (id int, fails boolean);
CREATE FUNCTION send_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.send('log', TG_ARGV[0] || NEW.id);
	IF NEW.fails THEN
		RAISE 'this row fails';
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON deferred
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION send_row('deferred ');
CREATE TRIGGER immediate AFTER INSERT ON deferred FOR EACH ROW EXECUTE FUNCTION send_row('row ');
BEGIN;
INSERT INTO deferred VALUES (1, false), (2, false);
SELECT minikafka.send('log', 'last call');
COMMIT;
SELECT pg_temp.take();
ALTER TABLE deferred DISABLE TRIGGER immediate;
BEGIN;
SELECT minikafka.send('log', 'gone');
INSERT INTO deferred VALUES (3, false), (4, true);
\set VERBOSITY terse
COMMIT;
\set VERBOSITY default
SELECT pg_temp.take();
BEGIN;
INSERT INTO deferred VALUES (5, false);
SET CONSTRAINTS ALL IMMEDIATE;
SELECT minikafka.send('log', 'after');
COMMIT;
SELECT pg_temp.take();

-- in procedures with COMMIT and ROLLBACK, over the ends of segments
CREATE PROCEDURE send_and_commit(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM minikafka.send('log', i::text);
		IF i % 3 = 0 THEN
			ROLLBACK;
		ELSE
			COMMIT;
			ASSERT (SELECT records FROM minikafka.last_sent()) = 1;
		END IF;
	END LOOP;
	PERFORM minikafka.send('log', 'end');
END $$;
CALL send_and_commit(14);
SELECT pg_temp.take();
-- in a transaction block it cannot commit, and leaves nothing
BEGIN;
SELECT minikafka.send('log', 'gone');
\set VERBOSITY terse
CALL send_and_commit(1);
\set VERBOSITY default
COMMIT;
SELECT pg_temp.take();
DO $$
BEGIN
	PERFORM minikafka.append('log', 0, 'k', 'one');
	COMMIT AND CHAIN;
	PERFORM minikafka.append('log', 0, 'k', 'two');
END $$;
SELECT pg_temp.take();
BEGIN;
SELECT minikafka.send('log', 'a');
COMMIT AND CHAIN;
SELECT minikafka.send('log', 'gone');
ROLLBACK AND CHAIN;
SELECT minikafka.send('log', 'b');
COMMIT;
SELECT pg_temp.take();

-- in WITH HOLD cursors, which are read to their end when the transaction commits
BEGIN;
DECLARE c CURSOR WITH HOLD FOR
SELECT i, minikafka.send('log', 'held ' || i) FROM generate_series(1, 3) i;
SELECT minikafka.send('log', 'before');
COMMIT;
FETCH ALL FROM c;
SELECT pg_temp.take();
CLOSE c;
-- one that is not held sends what was read of it
BEGIN;
DECLARE c CURSOR FOR SELECT i, minikafka.send('log', 'read ' || i) FROM generate_series(1, 3) i;
FETCH 2 FROM c;
COMMIT;
SELECT pg_temp.take();

-- two-phase commit is refused where something was sent or committed
BEGIN;
SELECT minikafka.send('log', 'gone');
PREPARE TRANSACTION 'regress';
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT minikafka.append('log', 0, 'k', 'gone');
PREPARE TRANSACTION 'regress';
BEGIN;
SELECT minikafka.commit_offset('prepared', 'log', 0, 0);
PREPARE TRANSACTION 'regress';
BEGIN;
SELECT minikafka.delete_records('log', 0, -1);
PREPARE TRANSACTION 'regress';
SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database();
-- not where it was rolled back, or only read
BEGIN;
SAVEPOINT s;
SELECT minikafka.send('log', 'gone');
SELECT minikafka.append('log', 0, 'k', 'gone');
SELECT minikafka.commit_offset('prepared', 'log', 0, 0);
ROLLBACK TO s;
SELECT count(*) FROM minikafka.fetch('log', 0, (minikafka.offsets('log', 0)).end_offset);
CREATE TABLE prepared ();
PREPARE TRANSACTION 'regress';
-- others go on meanwhile
SELECT minikafka.send('log', 'while prepared');
COMMIT PREPARED 'regress';
DROP TABLE prepared;
SELECT pg_temp.take();

-- Read-only transactions read, and send nothing
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
BEGIN READ ONLY;
SELECT call, pg_temp.try('SELECT ' || call) FROM (VALUES
	($$minikafka.send('log', 'v')$$), ($$minikafka.send('log', '\x00'::bytea)$$),
	($$minikafka.send_many('log', ARRAY['v'])$$), ($$minikafka.append('log', 0, 'k', 'v')$$),
	($$minikafka.commit_offset('g', 'log', 0, 0)$$), ($$minikafka.delete_records('log', 0, -1)$$),
	($$minikafka.create_topic('new')$$), ($$minikafka.drop_topic('log')$$),
	($$minikafka.set_topic_option('log', 'retention', NULL)$$), ($$minikafka.add_partitions('log', 2)$$),
	($$minikafka.offsets('log', 0)$$), ($$minikafka.fetch('log', 0, (minikafka.offsets('log', 0)).end_offset)$$),
	($$minikafka.committed('g', 'log', 0)$$), ($$minikafka.check_topic('log')$$),
	($$minikafka.last_sent()$$), ($$minikafka.offset_for_time('log', 0, now())$$),
	($$minikafka.partition_for_key('log', 'k'::text)$$), ($$FROM minikafka.partitions$$)) v(call);
COMMIT;
-- what was sent before the transaction became read-only is sent, also when a
-- segment has to be made for it
SELECT minikafka.create_topic('turned', 1, segment_records => 2);
BEGIN;
SELECT minikafka.send('turned', 'a');
SET TRANSACTION READ ONLY;
COMMIT;
BEGIN;
SELECT minikafka.send('turned', 'b');
SET TRANSACTION READ ONLY;
COMMIT;
BEGIN;
SELECT minikafka.send('turned', 'c'), minikafka.send('turned', 'd');
SET TRANSACTION READ ONLY;
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('turned', 0, 0);
SELECT minikafka.drop_topic('turned');

-- all isolation levels
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT minikafka.send('log', 'repeatable');
SELECT minikafka.append('log', 0, 'k', 'read') = (minikafka.offsets('log', 0)).end_offset + 1 AS next;
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT minikafka.send('log', 'serial');
SELECT minikafka.append('log', 0, 'k', 'izable') = (minikafka.offsets('log', 0)).end_offset + 1 AS next;
COMMIT;
SELECT pg_temp.take();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT minikafka.commit_offset('levels', 'log', 0, 0);
SELECT minikafka.create_topic('serial', 2, segment_records => 1);
SELECT minikafka.send_many('serial', ARRAY['a', 'b', 'c']);
COMMIT;
SELECT sum(records) FROM minikafka.last_sent();
SELECT minikafka.committed('levels', 'log', 0);
SELECT minikafka.drop_topic('serial');

-- together with NOTIFY, temporary tables, a lock, and DDL
BEGIN;
CREATE TEMP TABLE t (x int) ON COMMIT DROP;
NOTIFY regress, 'x';
SELECT minikafka.send('log', 'with all');
CREATE TABLE made (x int);
LOCK TABLE made;
COMMIT;
SELECT pg_temp.take();
DROP TABLE made;

-- settings of the session have no part in the making of segments
CREATE SCHEMA elsewhere;
CREATE ACCESS METHOD heap2 TYPE TABLE HANDLER heap_tableam_handler;
BEGIN;
SELECT count(minikafka.send('log', i::text)) FROM generate_series(1, 12) i;
SET LOCAL search_path = elsewhere;
SET LOCAL default_table_access_method = heap2;
SET LOCAL quote_all_identifiers = on;
SET LOCAL standard_conforming_strings = off;
COMMIT;
SELECT DISTINCT amname FROM pg_partition_tree('minikafka_topics.log')
JOIN pg_class c ON c.oid = relid JOIN pg_am a ON a.oid = relam WHERE isleaf;
DROP ACCESS METHOD heap2;
-- nor have event triggers
CREATE FUNCTION no_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE 'no DDL here';
END $$;
CREATE EVENT TRIGGER no_ddl ON ddl_command_start EXECUTE FUNCTION no_ddl();
SELECT count(minikafka.send('log', i::text)) FROM generate_series(13, 24) i;
DROP EVENT TRIGGER no_ddl;
DROP FUNCTION no_ddl();
SELECT pg_temp.take();
DROP SCHEMA elsewhere;

SELECT * FROM minikafka.check_topic('log');
SELECT minikafka.drop_topic('log');
DROP TABLE deferred;
DROP FUNCTION send_row();
DROP PROCEDURE send_and_commit(int);
