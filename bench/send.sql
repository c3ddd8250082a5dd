-- One record of 200 bytes in a transaction.
\set key random(1, 1000000)
SELECT minikafka.send(:topic, :value::bytea, :key::bytea);
