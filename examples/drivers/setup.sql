-- What the programs share: tables, a topic, and the roles that they connect as.
-- The passwords are examples: choose others on a server that is not for trying.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- Producers insert a row here and send its event, in one transaction.
CREATE TABLE purchase (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	customer text NOT NULL,
	amount numeric NOT NULL
);

-- Each group of consumers adds up the events here.
CREATE TABLE customer_total (
	group_id text,
	customer text,
	purchases bigint NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (group_id, customer)
);

SELECT minikafka.create_topic('purchases', partitions => 6);

-- The roles of producers and consumers.  Each has only the rights that it needs.
-- Roles belong to all databases of a server, so they may be there already.
DO $$
BEGIN
	CREATE ROLE shop;
EXCEPTION WHEN duplicate_object THEN
	NULL;
END $$;
DO $$
BEGIN
	CREATE ROLE billing;
EXCEPTION WHEN duplicate_object THEN
	NULL;
END $$;
ALTER ROLE shop LOGIN PASSWORD 'shop-example';
ALTER ROLE billing LOGIN PASSWORD 'billing-example';
GRANT USAGE ON SCHEMA minikafka TO shop, billing;
GRANT INSERT ON minikafka_topics.purchases TO shop;
GRANT SELECT, INSERT ON purchase TO shop;
GRANT SELECT ON minikafka_topics.purchases TO billing;
GRANT SELECT, INSERT, UPDATE ON customer_total TO billing;
