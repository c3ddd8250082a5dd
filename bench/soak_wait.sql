-- A consumer that waits for records.
CALL minikafka.wait_for_records('woken', 'm' || :client_id, '5 s');
BEGIN;
SELECT * FROM minikafka.poll('woken', 'm' || :client_id);
SELECT * FROM minikafka.commit('woken', 'm' || :client_id);
COMMIT;
