-- Each client waits for a record that never arrives.
SELECT * FROM minikafka.poll('waiter ' || :client_id, 'm', max_wait => '1 day');
