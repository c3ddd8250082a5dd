-- 1,000 records in a transaction, by send_many().
SELECT minikafka.send_many(:topic, array_agg(:value::bytea),
                           array_agg(int4send(k)))
FROM generate_series(1, 1000) AS k;
