-- What mail.py needs, in the database of setup.sql:  psql -f mail.sql

SELECT minikafka.create_topic('notices', partitions => 4);
SELECT minikafka.create_share_group('mailers', '{notices}', max_deliveries => 3, backoff => '200ms');
GRANT SELECT ON minikafka_topics.notices TO payer;
SELECT minikafka.grant_group('mailers', 'payer');

-- The passengers of the flights that were three hours late or more get a mail.
SELECT count(minikafka.send('notices',
	jsonb_build_object('flight', id, 'to', destination, 'passengers', 20 + id % 20), key => origin)) AS notices
FROM (SELECT * FROM arrival WHERE delay_minutes >= 180 ORDER BY id) a;
