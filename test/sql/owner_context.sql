--
-- An error of the server in what an owner has written stays as it is, without
-- the statements in its context: they may have been made of a record's contents
--
CREATE ROLE regress_context;
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO regress_context;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_context;
CREATE SCHEMA regress_context AUTHORIZATION regress_context;
SET ROLE regress_context;
SELECT minikafka.create_topic('context', 1);
CREATE FUNCTION regress_context.has_no_right(value bytea) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %L FROM pg_authid', convert_from(value, 'UTF8'));
	RETURN true;
END $$;
ALTER TABLE minikafka_topics.context
	ADD CONSTRAINT has_no_right CHECK (regress_context.has_no_right(value));
SELECT minikafka.send('context', 'a secret');

-- that of the caller is there
DO $$
BEGIN
	PERFORM minikafka.send('context', 'a secret');
END $$;

-- at COMMIT
ALTER TABLE minikafka_topics.context DROP CONSTRAINT has_no_right,
	ADD CONSTRAINT has_no_right CHECK ("offset" < 0 OR regress_context.has_no_right(value));
BEGIN;
SELECT minikafka.send('context', 'a secret');
COMMIT;

-- a function that names no schema
ALTER TABLE minikafka_topics.context DROP CONSTRAINT has_no_right;
CREATE FUNCTION regress_context.unqualified(value bytea) RETURNS boolean LANGUAGE plpgsql AS
'BEGIN RETURN has_no_right(value); END';
ALTER TABLE minikafka_topics.context ADD CHECK (regress_context.unqualified(value));
SELECT minikafka.send('context', 'a secret');
SELECT minikafka.drop_topic('context');
RESET ROLE;
DROP SCHEMA regress_context CASCADE;
DROP OWNED BY regress_context;
DROP ROLE regress_context;
