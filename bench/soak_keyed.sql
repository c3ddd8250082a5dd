-- A record of one of 10,000 keys; one of twenty deletes its key.
\set key random(1, 10000)
\set delete random(1, 20)
SELECT minikafka.send('compacted', CASE WHEN :delete > 1 THEN :value END::bytea, :key::bytea);
