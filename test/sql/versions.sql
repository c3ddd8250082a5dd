--
-- A library and SQL objects of different versions: one clear error
--
\set VERBOSITY default
SELECT minikafka.create_topic('versions', 1);
SELECT minikafka.send('versions', 'v');
-- what is looked up once holds until something changes: so in new sessions
UPDATE pg_extension SET extversion = '0.0.9' WHERE extname = 'minikafka';
\c
SELECT minikafka.send('versions', 'v');
SELECT minikafka.join_group('versions', '{versions}', 'a');
SELECT minikafka.inbox_accept('versions', 'event');
SELECT * FROM minikafka.fetch('versions', 0, 0);
CALL minikafka.maintain();
UPDATE pg_extension SET extversion = '99.0' WHERE extname = 'minikafka';
SELECT minikafka.send('versions', 'v');
\echo :LAST_ERROR_SQLSTATE
-- the same session goes on once they fit
UPDATE pg_extension SET extversion = x.default_version
FROM pg_available_extensions x WHERE x.name = extname AND extname = 'minikafka';
SELECT minikafka.send('versions', 'v');
-- a relation that is not there, while the extension is
ALTER TABLE minikafka.inbox RENAME TO elsewhere;
SELECT minikafka.send('versions', 'v');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE minikafka.elsewhere RENAME TO inbox;
SELECT minikafka.send('versions', 'v');
-- a table with other columns, also after one was dropped
ALTER TABLE minikafka.topic ADD COLUMN more int;
SELECT minikafka.send('versions', 'v');
ALTER TABLE minikafka.topic DROP COLUMN more;
SELECT minikafka.send('versions', 'v');
\echo :LAST_ERROR_SQLSTATE
SET client_min_messages = warning;
DROP EXTENSION minikafka CASCADE;
CREATE EXTENSION minikafka;
