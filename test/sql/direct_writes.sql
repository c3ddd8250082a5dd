--
-- Direct writes to the tables of a topic are refused, for every role
--
CREATE ROLE regress_writer;
GRANT USAGE ON SCHEMA minikafka TO regress_writer;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_writer;
SET ROLE regress_writer;
SELECT minikafka.create_topic('written', 1, segment_records => 4);
SELECT count(minikafka.send('written', 'v')) FROM generate_series(1, 6);
RESET ROLE;
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
	detail text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
	-- the numbers of topics differ
	RETURN regexp_replace(concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, '')), '\mp\d+_', 'pN_', 'g');
END $$;

CREATE TABLE writes (no serial, command text);
GRANT SELECT ON writes TO regress_writer;
INSERT INTO writes (command) VALUES
	('INSERT INTO %s VALUES (7, now(), 0)'),
	('INSERT INTO %s SELECT 7, now(), 0 WHERE false'),
	('UPDATE %s SET value = ''changed'''),
	('UPDATE %s SET value = ''changed'' WHERE false'),
	('DELETE FROM %s'),
	('TRUNCATE %s'),
	('INSERT INTO %s VALUES (1, now(), 0) ON CONFLICT DO NOTHING'),
	('MERGE INTO %s t USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT VALUES (7, now(), 0)'),
	('WITH w AS (DELETE FROM %s RETURNING value) SELECT FROM w');
CREATE VIEW tables AS
SELECT level, regexp_replace(relid::text, '\mp\d+_', 'pN_') AS name, relid
FROM pg_partition_tree('minikafka_topics.written');
GRANT SELECT ON tables TO regress_writer;

-- as a superuser, and as the owner: on the topic, the partition, the segments
\pset format unaligned
SELECT level, command, pg_temp.try(format(command, relid::regclass)) AS answer
FROM writes, tables WHERE level = 0 OR no IN (1, 3, 5, 6)
ORDER BY no, name;
SELECT DISTINCT left(pg_temp.try(format(command, relid::regclass)), 5) AS superuser FROM writes, tables;
SET ROLE regress_writer;
SELECT DISTINCT left(pg_temp.try(format(command, relid::regclass)), 5) AS owner FROM writes, tables;
RESET ROLE;
\pset format aligned

-- COPY, to all of them
\set VERBOSITY terse
COPY minikafka_topics.written FROM stdin;
7	2000-01-01	0	\N	\N	\N
\.
\set VERBOSITY default
SELECT level, left(pg_temp.try(format('COPY %s FROM PROGRAM ''echo''', relid::regclass)), 5) AS copy
FROM tables ORDER BY name;

-- nothing has changed
SELECT count(*), count(*) FILTER (WHERE value = 'v') FROM minikafka_topics.written;
SELECT * FROM minikafka.check_topic('written');

-- also in the segments that are made later
SELECT minikafka.send('written', 'v') FROM generate_series(1, 10);
SET ROLE regress_writer;
SELECT count(*) AS tables, count(*) FILTER (WHERE pg_temp.try(format('DELETE FROM %s', relid::regclass)) LIKE '42501%') AS refused
FROM tables;
RESET ROLE;

-- reading and looking after them is not refused
SELECT count(*) FROM minikafka_topics.written;
COPY (SELECT "offset", partition FROM minikafka_topics.written ORDER BY 1 LIMIT 2) TO stdout;
VACUUM minikafka_topics.written;
ANALYZE minikafka_topics.written;
REINDEX TABLE minikafka_topics.written;
SELECT * FROM minikafka.check_topic('written');

-- refuse_write() is a trigger function and no more
SELECT minikafka.refuse_write();

DROP TABLE writes;
DROP VIEW tables;
SELECT minikafka.drop_topic('written');
REVOKE CREATE ON SCHEMA minikafka_topics FROM regress_writer;
REVOKE USAGE ON SCHEMA minikafka FROM regress_writer;
DROP ROLE regress_writer;
