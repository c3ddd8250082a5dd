-- Each client waits for a record that does not come.
SELECT * FROM minikafka.poll('waiter ' || :client_id, 'm', max_wait => '1 day');
