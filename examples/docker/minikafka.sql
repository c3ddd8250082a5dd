-- Run once, in database POSTGRES_DB, when the container starts with an empty volume.
CREATE EXTENSION minikafka;
-- The background worker maintains this database.
SELECT format('ALTER SYSTEM SET minikafka.database = %L', quote_ident(current_database())) \gexec
