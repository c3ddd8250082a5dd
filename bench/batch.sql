-- 1,000 records in a transaction, by one SELECT.
SELECT count(minikafka.send(:topic, :value::bytea, int4send(k)))
FROM generate_series(1, 1000) AS k;
