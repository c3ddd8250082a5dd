-- Receipts that are not those of a delivery which may be answered.
SELECT minikafka.create_topic('receipts', 1);
SELECT minikafka.create_share_group('receipts', '{receipts}', backoff => '1 day', max_backoff => '1 day');
SELECT minikafka.send_many('receipts', '{0,1,2,3,4,5}', '{a,b,b,c,d,d}');

-- of a record that is done, when maintenance has removed what said so
BEGIN;
SELECT receipt AS first FROM minikafka.acquire('receipts') \gset
SELECT minikafka.acknowledge('receipts', :'first');
COMMIT;
CALL minikafka.maintain();
CALL minikafka.maintain();
SELECT minikafka.acknowledge('receipts', :'first', 'fail');

-- of a record after one that has failed in this transaction
BEGIN;
SELECT string_agg(receipt, ' ' ORDER BY "offset") AS both FROM minikafka.acquire('receipts', 2) \gset
ROLLBACK;
BEGIN;
SELECT "offset", minikafka.acknowledge('receipts', receipt, 'fail') FROM minikafka.acquire('receipts');
SELECT minikafka.acknowledge('receipts', split_part(:'both', ' ', 2), 'fail');
ROLLBACK;
SELECT "offset", minikafka.acknowledge('receipts', receipt, 'fail') FROM minikafka.acquire('receipts');

-- of a delivery in a former transaction, and the record is acquired under a lock
BEGIN;
SELECT min(receipt) AS former FROM minikafka.acquire('receipts', 2) \gset
ROLLBACK;
BEGIN;
SELECT "offset", delivery_count FROM minikafka.acquire('receipts', lock_duration => '1 min');
SELECT minikafka.acknowledge('receipts', :'former', 'fail');
ROLLBACK;
SELECT "offset" FROM minikafka.acquire('receipts', accept => true);

SELECT minikafka.delete_group('receipts');
SELECT minikafka.drop_topic('receipts');
