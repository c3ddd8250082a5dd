-- A record of each client's own producer, to a partition of its own.
\set sequence :sequence + 1
SELECT minikafka.send(:topic, :value, partition => :client_id,
    producer => :run || ' ' || :client_id, sequence => :sequence);
