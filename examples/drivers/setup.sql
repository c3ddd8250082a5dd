-- What the drivers share: the tables and the topic.

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
