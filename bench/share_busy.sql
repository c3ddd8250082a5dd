\set ms random(10, :most)
BEGIN;
SELECT * FROM minikafka.acquire(:group, max_wait => '1 minute', accept => true);
SELECT pg_sleep(:ms / 1000.0);
COMMIT;
