BEGIN;
SELECT * FROM minikafka.poll(:group, 'm' || :client_id, :records);
SELECT * FROM minikafka.commit(:group, 'm' || :client_id);
COMMIT;
