\set sequence :sequence + 1
SELECT minikafka.append(:topic, 0, 'k', :value, producer => 'appending', sequence => :sequence);
