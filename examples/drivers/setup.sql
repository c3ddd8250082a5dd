-- What the programs share: tables, a topic, and the roles that they connect as.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- Producers insert a row here and send its event, in one transaction.
CREATE TABLE purchase (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	customer text NOT NULL,
	amount numeric NOT NULL
);

-- Each group of consumers adds up the events here.
CREATE TABLE spent (
	group_id text,
	customer text,
	purchases bigint NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (group_id, customer)
);

SELECT minikafka.create_topic('purchases', partitions => 6);

-- The roles of producers and consumers.  Each has only the rights that it needs.
CREATE ROLE shop LOGIN;
CREATE ROLE billing LOGIN;
GRANT USAGE ON SCHEMA minikafka TO shop, billing;
GRANT INSERT ON minikafka_topics.purchases TO shop;
GRANT SELECT, INSERT ON purchase TO shop;
GRANT SELECT ON minikafka_topics.purchases TO billing;
GRANT SELECT, INSERT, UPDATE ON spent TO billing;
