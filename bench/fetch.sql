-- 500 records from anywhere in a partition.
\set start random(0, :records - 500)
SELECT * FROM minikafka.fetch(:topic, 0, :start, 500);
