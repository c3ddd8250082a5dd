-- What the drivers share: the tables, the topic, and the roles that they connect as.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- What the producers write: the business row, with its event in one transaction.
CREATE TABLE purchase (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	customer text NOT NULL,
	amount numeric NOT NULL
);

-- What a group of consumers makes of the events.
CREATE TABLE spent (
	group_id text,
	customer text,
	purchases bigint NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (group_id, customer)
);

SELECT minikafka.create_topic('purchases', partitions => 6);

-- The producers, and the consumers: each may do its own part, and nothing else.
CREATE ROLE shop LOGIN;
CREATE ROLE billing LOGIN;
GRANT USAGE ON SCHEMA minikafka TO shop, billing;
GRANT INSERT ON minikafka_topics.purchases TO shop;
GRANT SELECT, INSERT ON purchase TO shop;
GRANT SELECT ON minikafka_topics.purchases TO billing;
GRANT SELECT, INSERT, UPDATE ON spent TO billing;
