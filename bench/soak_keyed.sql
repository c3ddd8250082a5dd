-- A record of one of 2,000 keys; one of twenty deletes its key.
\set key random(1, 2000)
\set delete random(1, 20)
SELECT minikafka.send('compacted', CASE WHEN :delete > 1 THEN :value END::bytea, :key::bytea);
