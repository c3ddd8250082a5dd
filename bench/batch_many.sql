-- 1,000 records in a transaction, by send_many_bytes().
SELECT minikafka.send_many_bytes(:topic, array_agg(:value::bytea),
                                 array_agg(int4send(k)))
FROM generate_series(1, 1000) AS k;
