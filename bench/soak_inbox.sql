-- A consumer that accepts each record once.
BEGIN;
SELECT count(*) FROM minikafka.poll('accepting', 'm' || :client_id, 100)
WHERE minikafka.inbox_accept('accepting', partition || '/' || "offset");
SELECT * FROM minikafka.commit('accepting', 'm' || :client_id);
COMMIT;
