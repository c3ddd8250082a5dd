-- The same without a producer.
\set sequence :sequence + 1
SELECT minikafka.send(:topic, :value, partition => :client_id);
