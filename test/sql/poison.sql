--
-- A record that cannot be decoded stops its partition, and no other of the
-- member's; and is told each time
--
SELECT minikafka.create_topic('poison', 3);
SELECT minikafka.join_group('poison', '{poison}', 'm');
-- the first of partition 1 is no JSON, the second of partition 2 no text
SELECT minikafka.send('poison', '"0-0"', partition => 0), minikafka.send('poison', '"0-1"', partition => 0),
	minikafka.send('poison', 'no JSON', partition => 1), minikafka.send('poison', '"1-1"', partition => 1),
	minikafka.send('poison', '"2-0"', partition => 2), minikafka.send('poison', '\xff'::bytea, partition => 2), minikafka.send('poison', '"2-2"', partition => 2);
SELECT partition, "offset", value FROM minikafka.poll_json('poison', 'm');
SELECT * FROM minikafka.commit('poison', 'm');
-- two stand still, and one has nothing: nothing else is left to return; it does
-- not wait
SET statement_timeout = '20min';
SELECT * FROM minikafka.poll_json('poison', 'm', max_wait => '1 hour');
\echo :LAST_ERROR_SQLSTATE
RESET statement_timeout;
-- one goes on, as often as it has records
SELECT minikafka.send('poison', to_jsonb('0-' || i), partition => 0) FROM generate_series(2, 5) i;
SELECT partition, "offset", value FROM minikafka.poll_json('poison', 'm', max_records => 2);
SELECT partition, "offset", value FROM minikafka.poll_json('poison', 'm', max_records => 2);
SELECT * FROM minikafka.commit('poison', 'm');
-- as text
SELECT partition, "offset", value FROM minikafka.poll_text('poison', 'm');
-- stepping over it, as the hint says
SELECT minikafka.seek('poison', 'm', 'poison', 2, 2);
SELECT partition, "offset", value FROM minikafka.poll_json('poison', 'm');
SELECT * FROM minikafka.commit('poison', 'm');
-- a key that is no text; and a topic of another name
SELECT minikafka.create_topic('poisoned', 1);
SELECT minikafka.send('poisoned', '{}', '\xff'::bytea::text) FROM (SELECT) x WHERE false;
SELECT minikafka.send('poisoned', '1'::bytea, '\xff'::bytea), minikafka.send('poison', '2', partition => 0);
SELECT minikafka.join_group('poison', '{poison,poisoned}', 'm');
SELECT topic, partition, "offset", value FROM minikafka.poll_json('poison', 'm');
SELECT topic, partition, "offset", value FROM minikafka.poll_text('poison', 'm');
SELECT topic, partition, "offset", value FROM minikafka.poll('poison', 'm');
-- fetch_json() and fetch_text() have one partition
SELECT "offset", value FROM minikafka.fetch_json('poison', 2, 0);
SELECT "offset", value FROM minikafka.fetch_json('poison', 2, 1);

SELECT minikafka.leave_group('poison', 'm');
SELECT minikafka.delete_group('poison');
SELECT minikafka.drop_topic('poison'), minikafka.drop_topic('poisoned');
DELETE FROM minikafka.consumer_group;
