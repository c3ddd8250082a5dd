SELECT * FROM minikafka.acquire(:group, :records, accept => true);
