-- Share groups that park the key of an exhausted record: later records of the key
-- follow it to the dead-letter topic, until it is redriven or released.
SELECT minikafka.create_topic('parked', 1), minikafka.create_topic('parked.dead', 1);
SELECT minikafka.create_share_group('parked', '{parked}', max_deliveries => 1, backoff => '0');

-- what it needs
SELECT minikafka.set_group_option('parked', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.set_group_option('parked', 'dead_letter_topic', 'parked.dead');
SELECT minikafka.set_group_option('parked', 'ordering', 'none');
SELECT minikafka.set_group_option('parked', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.set_group_option('parked', 'ordering', 'key');
SELECT minikafka.set_group_option('parked', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.set_group_option('parked', 'ordering', 'none');
SELECT minikafka.set_group_option('parked', 'dead_letter_topic', NULL);
SELECT on_exhausted FROM minikafka.share_groups WHERE group_id = 'parked';

CREATE VIEW letters AS
SELECT "offset", value, headers->>'__dlq.errors.offset' AS from_offset, headers->>'__dlq.errors.delivery.count' AS count, headers->>'__dlq.errors.message' AS message
FROM minikafka.fetch_text('parked.dead', 0, (SELECT log_start_offset FROM minikafka.partitions WHERE topic = 'parked.dead'));
CREATE VIEW keys AS SELECT "offset", state, delivery_count, error, receipt IS NOT NULL AS receipt, pid, changed_at IS NOT NULL AS changed FROM minikafka.share_deliveries WHERE group_id = 'parked';
CREATE VIEW rows AS SELECT returned_offset, record_offset, dead_letter_offset FROM minikafka.share_parked ORDER BY record_offset, returned_offset;
-- accepts what there is, except for what is broken
CREATE TABLE broken (value text);
INSERT INTO broken VALUES ('a1'), ('bad');
CREATE FUNCTION work(n integer = 20) RETURNS TABLE ("offset" bigint, value text, result text) BEGIN ATOMIC
	SELECT "offset", value, minikafka.acknowledge('parked', receipt, CASE WHEN value IN (SELECT value FROM broken) THEN 'fail' ELSE 'accept' END, 'broken')
	FROM minikafka.acquire_text('parked', n);
END;

-- the record is a dead letter; those of its key that the transaction holds are
-- released, and follow at the next look; other keys go on
SELECT minikafka.send_many('parked', '{a1,b1,a2,a3,b2}', '{a,b,a,a,b}');
SELECT * FROM work();
SELECT * FROM keys;
SELECT * FROM letters;
-- nothing is handed out, and nothing is to be acknowledged; unless it is rolled back
BEGIN;
SELECT * FROM minikafka.acquire('parked', 10);
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT * FROM minikafka.acquire('parked', 10);
ROLLBACK TO s;
COMMIT;
SELECT count(*) FROM letters;
SELECT * FROM rows;
BEGIN;
SELECT * FROM minikafka.acquire('parked', 10);
COMMIT;
SELECT * FROM letters;
SELECT * FROM rows;
SELECT * FROM keys;
SELECT topic, lag, ready, waiting FROM minikafka.lag('parked');
-- also those that come later, in each way of acquiring; a call that waits ends, so
-- that its transaction can commit
SELECT minikafka.send_many('parked', '{a4,b3}', '{a,b}');
SELECT "offset", value FROM minikafka.acquire_text('parked', 10, accept => true);
SELECT minikafka.send_many('parked', '{a5,b4}', '{a,b}');
SELECT "offset", value, receipt FROM minikafka.acquire_text('parked', 10, lock_duration => '1 h') \gset
SELECT :'value', minikafka.acknowledge('parked', :'receipt');
SELECT minikafka.send('parked', 'a6', 'a');
CALL minikafka.wait_for_records('parked', NULL, '1 h');
SELECT * FROM minikafka.acquire('parked', max_wait => '1 h', accept => true);
SELECT "offset", value, from_offset FROM letters;

-- the first record of the key is redriven: it is handed out; what comes meanwhile
-- follows
SELECT minikafka.send_many('parked', '{a7,b5}', '{a,b}');
SELECT minikafka.redrive('parked.dead', 0, 0);
SELECT minikafka.send('parked', 'a8', 'a');
SELECT * FROM rows;
SELECT * FROM work();
DELETE FROM broken WHERE value = 'a1';
SELECT * FROM work();
SELECT "offset", value, from_offset FROM letters WHERE "offset" > 5;
SELECT * FROM work();
-- then all others: the key is free when they have been handed out
SELECT minikafka.redrive('parked.dead');
SELECT * FROM keys;
SELECT minikafka.send('parked', 'a9', 'a');
SELECT value, result FROM work();
SELECT count(*) FROM rows;

-- a record that has come before the redrive, and that no walk has come to, is not
-- handed out before what was redriven
INSERT INTO broken VALUES ('c1');
SELECT minikafka.send_many('parked', '{c1,c2}', '{c,c}');
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT minikafka.send('parked', 'c3', 'c');
SELECT minikafka.redrive('parked.dead');
SELECT minikafka.send('parked', 'c4', 'c');
SELECT value, result FROM work();
-- it fails again, and what was redriven with it follows again
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT "offset", value, from_offset FROM letters WHERE "offset" > 9;
SELECT "offset", error FROM keys;
-- what was redriven before an earlier one of its key follows once more
DELETE FROM broken WHERE value = 'c1';
SELECT minikafka.redrive('parked.dead');
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT minikafka.redrive('parked.dead');
SELECT value, result FROM work();
SELECT * FROM keys;

-- a key goes on when it is released
INSERT INTO broken VALUES ('d1');
SELECT minikafka.send_many('parked', '{d1,d2,d3}', '{d,d,d}');
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT receipt FROM minikafka.share_deliveries WHERE state = 'parked' \gset
SELECT minikafka.acknowledge('parked', :'receipt');
SELECT minikafka.acknowledge('parked', :'receipt', 'release', retry_after => '1 s');
SELECT minikafka.acknowledge('parked', :'receipt' || '0', 'release');
BEGIN;
SELECT minikafka.acknowledge('parked', :'receipt', 'release');
ROLLBACK;
SELECT count(*) FROM keys;
SELECT parked_keys FROM minikafka.share_groups WHERE group_id = 'parked';
SELECT minikafka.send('parked', 'd4', 'd');
SELECT minikafka.acknowledge('parked', :'receipt', 'release', 'let it go');
SELECT minikafka.acknowledge('parked', :'receipt', 'release');
SELECT * FROM keys;
SELECT parked_keys FROM minikafka.share_groups WHERE group_id = 'parked';
SELECT value, result FROM work();
DELETE FROM broken WHERE value = 'd1';
SELECT minikafka.redrive('parked.dead');
SELECT value, result FROM work();

-- a record without a key parks nothing; nor does one that is rejected
SELECT minikafka.send('parked', 'bad');
SELECT minikafka.send_many('parked', '{f1,f2}', '{f,f}');
SELECT value, minikafka.acknowledge('parked', receipt, CASE WHEN value = 'bad' THEN 'fail' WHEN value = 'f1' THEN 'reject' ELSE 'accept' END) FROM minikafka.acquire_text('parked', 10);
SELECT * FROM keys;

-- two keys with the same slot: only one of them is parked
SELECT min(key) AS one, max(key) AS two FROM (SELECT md5(i::text) AS key FROM generate_series(1, 300000) i) k GROUP BY minikafka.murmur2(convert_to(key, 'UTF8')) HAVING count(*) = 2 ORDER BY 1 LIMIT 1 \gset
SELECT minikafka.send_many('parked', '{bad,other,two,other}', ARRAY[:'one', :'two', :'one', :'two']);
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT count(*) FROM keys;
SELECT minikafka.redrive('parked.dead', target_topic => 'parked');
DELETE FROM broken WHERE value = 'bad';
SELECT value, result FROM work();
INSERT INTO broken VALUES ('bad');

-- dead letters that go elsewhere, or are removed, park no key
SELECT minikafka.create_topic('elsewhere', 1);
SELECT minikafka.send_many('parked', '{bad,g1}', '{g,g}');
SELECT value, result FROM work();
SELECT count(*) FROM keys;
SELECT minikafka.redrive('parked.dead', target_topic => 'elsewhere');
SELECT * FROM keys;
SELECT minikafka.send_many('parked', '{bad,g2}', '{g,g}');
SELECT value, result FROM work();
SELECT value, result FROM work();
SELECT * FROM minikafka.delete_records('parked.dead', 0, (SELECT max("offset") FROM letters));
SELECT count(*) FROM keys;
SELECT * FROM minikafka.delete_records('parked.dead', 0, (SELECT max("offset") + 1 FROM letters));
SELECT count(*) FROM keys;
SELECT minikafka.send('parked', 'g3', 'g');
SELECT value, result FROM work();
CALL minikafka.maintain();
SELECT count(*) FROM rows;

-- what a transaction knows of a key is void when a savepoint is rolled back in which
-- it has sent a dead letter elsewhere
SELECT minikafka.send_many('parked', '{m1,m2}', '{m,m}');
INSERT INTO broken VALUES ('m1');
SELECT value, result FROM work();
SELECT value, result FROM work();
DELETE FROM broken WHERE value = 'm1';
SELECT minikafka.redrive('parked.dead', 0, (SELECT "offset" FROM letters WHERE value = 'm1'));
SELECT minikafka.send('parked', 'm3', 'm');
BEGIN;
SELECT value, result FROM work(1);
SAVEPOINT s;
SELECT minikafka.redrive('parked.dead', target_topic => 'elsewhere');
SELECT value, result FROM work();
ROLLBACK TO s;
SELECT value, result FROM work();
COMMIT;
SELECT value FROM letters ORDER BY "offset" DESC LIMIT 2;
SELECT minikafka.redrive('parked.dead');
SELECT value, result FROM work();
SELECT count(*) FROM rows;

-- a dead letter that cannot be sent: its record waits, and its key with it
CREATE ROLE parked_owner;
SELECT minikafka.send_many('parked', '{bad,h2}', '{h,h}');
SELECT value, result FROM work();
SET client_min_messages = warning;
GRANT SELECT ON minikafka_topics.parked TO parked_owner;
SELECT minikafka.set_group_owner('parked', 'parked_owner');
RESET client_min_messages;
SELECT value, result FROM work();
SELECT "offset", state, error FROM keys ORDER BY "offset";
GRANT INSERT ON minikafka_topics."parked.dead" TO parked_owner;
SELECT value, result FROM work();
SELECT value, from_offset FROM letters;

-- another dead-letter topic: what follows goes where the key is
SELECT minikafka.create_topic('parked.dead2', 1);
GRANT INSERT ON minikafka_topics."parked.dead2" TO parked_owner;
SELECT minikafka.set_group_option('parked', 'dead_letter_topic', 'parked.dead2');
SELECT minikafka.send_many('parked', '{h3,bad}', '{h,i}');
SELECT value, result FROM work();
SELECT value FROM letters;
SELECT convert_from(value, 'UTF8') FROM minikafka_topics."parked.dead2";

-- keys that are parked stay so when the option changes, or the topic goes and comes
SELECT minikafka.set_group_option('parked', 'on_exhausted', 'block');
SELECT minikafka.set_group_option('parked', 'topics', '{elsewhere}');
SELECT minikafka.set_group_option('parked', 'topics', '{parked}');
SELECT minikafka.send_many('parked', '{h4,bad}', '{h,j}');
SELECT value, result FROM work();
SELECT "offset", state, error FROM keys ORDER BY 1;
SELECT parks FROM minikafka.share_group s JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'parked';
-- a topic that is dropped takes its letters along
SELECT minikafka.drop_topic('parked.dead');
SELECT * FROM rows;
SELECT "offset", state, error FROM keys ORDER BY 1;
SELECT minikafka.send('parked', 'h5', 'h');
SELECT value, result FROM work();
-- a reset begins anew
SELECT minikafka.reset_offsets('parked', 'parked', target => 'latest');
SELECT * FROM keys;
SELECT minikafka.send('parked', 'i2', 'i');
SELECT value, result FROM work();
CALL minikafka.maintain();
SELECT count(*) FROM rows;
SELECT minikafka.set_group_option('parked', 'max_deliveries', '2');
SELECT parks FROM minikafka.share_group s JOIN minikafka.consumer_group USING (group_no) WHERE group_id = 'parked';

-- under acquisition locks: the second delivery of a record has expired
SELECT minikafka.set_group_option('parked', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.send_many('parked', '{l1,l2}', '{l,l}');
SELECT value, delivery_count FROM minikafka.acquire_text('parked', 10, lock_duration => '1 min');
SET minikafka.clock_offset = '2 min';
SELECT value, delivery_count FROM minikafka.acquire_text('parked', 10, lock_duration => '1 min');
SET minikafka.clock_offset = '4 min';
SELECT value, delivery_count FROM minikafka.acquire_text('parked', 10, lock_duration => '1 min');
SELECT value, delivery_count FROM minikafka.acquire_text('parked', 10, lock_duration => '1 min');
SELECT convert_from(value, 'UTF8'), headers->>'__dlq.errors.delivery.count' AS count, headers->>'__dlq.errors.message' AS message FROM minikafka_topics."parked.dead2" WHERE "offset" > 0;
RESET minikafka.clock_offset;

-- what follows counts for the limit of dead letters; a call sets aside a limited number
SELECT count(minikafka.send('parked', 'l' || i, 'l')) FROM generate_series(1, 205) i;
SELECT count(*) FROM minikafka.acquire('parked', 10, accept => true);
SELECT "offset", error FROM keys;
SELECT minikafka.set_group_option('parked', 'dead_letter_limit', '150');
SELECT count(*) FROM minikafka.acquire('parked', 10, accept => true);
SELECT "offset", state, error FROM keys ORDER BY 1;
SELECT paused, paused_why FROM minikafka.share_groups WHERE group_id = 'parked';

SELECT minikafka.delete_group('parked');
SELECT count(*) FROM rows;
SELECT minikafka.drop_topic('parked'), minikafka.drop_topic('parked.dead2'), minikafka.drop_topic('elsewhere');
DROP FUNCTION work;
DROP VIEW letters, keys, rows;
DROP TABLE broken;
DROP ROLE parked_owner;
