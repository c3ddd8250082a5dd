-- A member joins and leaves a group, and a new producer sends one record.
\set group random(0, 49)
\set producer random(0, 1000000000)
SELECT minikafka.join_group('churn ' || :group, '{by_age}', 'm' || :client_id);
BEGIN;
SELECT * FROM minikafka.poll('churn ' || :group, 'm' || :client_id, 10);
SELECT * FROM minikafka.commit('churn ' || :group, 'm' || :client_id);
COMMIT;
SELECT minikafka.leave_group('churn ' || :group, 'm' || :client_id);
SELECT minikafka.send('by_size', :value::text, partition => 0,
    producer => 'churn ' || :producer, sequence => 0)
WHERE minikafka.init_producer('churn ' || :producer) IS NOT NULL;
