-- 20,000 records in a transaction.
SELECT minikafka.send_many_bytes(:topic, array_agg(:value::bytea),
                                 array_agg(int4send(k)))
FROM generate_series(1, 20000) AS k;
