--
-- The view dead_letters: letters that no redrive has sent on, and who sees what of them
--
SELECT minikafka.create_topic('dl', 2);
SELECT minikafka.create_topic('dl.dead', 2);
SELECT minikafka.create_topic('dl.closed', 1);
SELECT minikafka.create_share_group('dl group', '{dl}', dead_letter_topic => 'dl.dead');
SELECT * FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%';
SELECT minikafka.send('dl', 'v', 'k' || i, '{"own": "1"}', partition => i / 3) FROM generate_series(0, 5) i;
BEGIN;
SELECT minikafka.acknowledge('dl group', receipt, 'reject', CASE WHEN partition = 1 OR "offset" = 0 THEN 'error ' || value END)
FROM minikafka.acquire_text('dl group', 6);
SELECT count(*) FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%';
COMMIT;
SELECT dead_letter_topic, dead_letter_partition, dead_letter_offset, group_id, source_topic, source_partition, source_offset, delivery_count
FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%' ORDER BY 2, 3;
SELECT count(*), count(error), min(error) FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%' AND sent_at BETWEEN now() - interval '1 hour' AND now();

-- What a redrive has marked is not there: one in the middle, then the first, then all
CREATE VIEW open_letters AS
SELECT string_agg(dead_letter_partition || '/' || dead_letter_offset, ' ' ORDER BY dead_letter_partition, dead_letter_offset) AS letters
FROM minikafka.dead_letters WHERE dead_letter_topic = 'dl.dead';
SELECT minikafka.redrive('dl.dead', 0, 1);
TABLE open_letters;
BEGIN;
SELECT minikafka.redrive('dl.dead', max_records => 1);
TABLE open_letters;
SAVEPOINT s;
SELECT minikafka.redrive('dl.dead');
TABLE open_letters;
ROLLBACK TO s;
TABLE open_letters;
COMMIT;
-- ... or sent elsewhere
SELECT minikafka.redrive('dl.dead', 1, 0, target_topic => 'dl.closed');
TABLE open_letters;
SELECT count(*) FROM minikafka.topic_dead_letters('dl.closed');
-- nor what is below the log start, also in the middle of what is open
SELECT minikafka.delete_records('dl.dead', 1, 2);
TABLE open_letters;

-- A record that is no letter, letters whose headers are an array, and headers that
-- anybody may have written
SELECT minikafka.send('dl.dead', 'v', headers => '{"__dlq.errors.group": "no letter"}', partition => 1);
SELECT minikafka.send('dl.dead', 'v', headers => '[{"key": "__dlq.errors.topic", "value": "a"}, {"key": "__dlq.errors.topic", "value": "b"}]', partition => 1);
SELECT minikafka.send('dl.dead', 'v', headers => '{"__dlq.errors.topic": null, "__dlq.errors.partition": "2147483648", "__dlq.errors.offset": "9223372036854775807", "__dlq.errors.delivery.count": "many"}', partition => 1);
SELECT minikafka.send('dl.dead', 'v', headers => jsonb_build_object('__dlq.errors.topic', 'dl', '__dlq.errors.message', repeat('long ', 20000)), partition => 1);
SELECT dead_letter_offset, group_id, source_topic, source_partition, source_offset, delivery_count, length(error) AS error
FROM minikafka.dead_letters WHERE dead_letter_topic = 'dl.dead' AND dead_letter_partition = 1 ORDER BY 1;

-- Another dead-letter topic is in the view when letters were sent back from it
SELECT minikafka.create_topic('dl.other', 1);
SELECT minikafka.send('dl.other', 'v', headers => '{"__dlq.errors.topic": "dl"}') FROM generate_series(1, 2);
SELECT count(*) FROM minikafka.dead_letters WHERE dead_letter_topic = 'dl.other';
SELECT dead_letter_partition, dead_letter_offset, source_topic FROM minikafka.topic_dead_letters('dl.other');
SELECT minikafka.redrive('dl.other', 0, 0);
SELECT dead_letter_offset, source_topic FROM minikafka.dead_letters WHERE dead_letter_topic = 'dl.other';

-- Rights
CREATE ROLE dl_monitor IN ROLE pg_monitor;
CREATE ROLE dl_reader;
CREATE ROLE dl_stranger;
GRANT USAGE ON SCHEMA minikafka TO dl_reader, dl_stranger;
GRANT SELECT ON minikafka_topics."dl.other" TO dl_reader;
SET ROLE dl_reader;
SELECT dead_letter_topic, dead_letter_offset, source_topic FROM minikafka.dead_letters;
SET ROLE dl_monitor;
SELECT dead_letter_topic, dead_letter_partition, dead_letter_offset, sent_at IS NULL AS no_time, group_id, source_topic, source_partition, source_offset, delivery_count, error
FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%' ORDER BY 1, 2, 3;
SET ROLE dl_stranger;
SELECT count(*) FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%';
SELECT * FROM minikafka.topic_dead_letters('dl.dead');
RESET ROLE;
SELECT * FROM minikafka.topic_dead_letters('no such topic');
SELECT * FROM minikafka.topic_dead_letters(NULL);

-- A topic that cannot be read hides itself only
ALTER TABLE minikafka_topics."dl.other" ENABLE ROW LEVEL SECURITY;
SET ROLE dl_reader;
SELECT count(*) FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%';
RESET ROLE;
ALTER TABLE minikafka_topics."dl.other" DISABLE ROW LEVEL SECURITY;

SELECT minikafka.delete_group('dl group');
SELECT minikafka.drop_topic(t) FROM unnest('{dl,dl.dead,dl.closed,dl.other}'::text[]) t;
SELECT count(*) FROM minikafka.dead_letters WHERE dead_letter_topic LIKE 'dl%';
DROP VIEW open_letters;
DROP OWNED BY dl_reader, dl_stranger;
DROP ROLE dl_monitor, dl_reader, dl_stranger;
