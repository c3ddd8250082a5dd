--
-- Errors: the SQLSTATE of each kind
--
BEGIN;
SELECT plan(38);
SELECT minikafka.create_topic('tap', 2, max_message_bytes => 10);
CREATE TABLE minikafka_topics.tap_table ();

-- 42704
SELECT throws_ok($$SELECT minikafka.send('unknown', 'v')$$, '42704', 'topic "unknown" does not exist', 'send: unknown topic');
SELECT throws_ok($$SELECT minikafka.fetch('unknown', 0, 0)$$, '42704', 'topic "unknown" does not exist', 'fetch: unknown topic');
SELECT throws_ok($$SELECT minikafka.drop_topic('unknown')$$, '42704', 'topic "unknown" does not exist', 'drop_topic: unknown topic');
SELECT lives_ok($$SELECT minikafka.drop_topic('unknown', if_exists => true)$$, 'drop_topic if_exists');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', partition => 2)$$, '42704', 'partition 2 of topic "tap" does not exist', 'unknown partition');
SELECT throws_ok($$SELECT minikafka.append('tap', -1, 'k', 'v')$$, '42704', 'partition -1 of topic "tap" does not exist', 'negative partition');
SELECT throws_ok($$SELECT minikafka.lag('unknown')$$, '42704', 'group "unknown" does not exist', 'unknown group');
-- 42710
SELECT throws_ok($$SELECT minikafka.create_topic('tap')$$, '42710', 'topic "tap" already exists', 'topic exists');
SELECT lives_ok($$SELECT minikafka.create_topic('tap', if_not_exists => true)$$, 'create_topic if_not_exists');
-- 22023
SELECT throws_ok($$SELECT minikafka.create_topic('a b')$$, '22023', 'invalid topic name "a b"', 'bad name');
SELECT throws_ok($$SELECT minikafka.create_topic('new', 0)$$, '22023', NULL, 'no partitions');
SELECT throws_ok($$SELECT minikafka.create_topic(NULL)$$, '22023', 'argument "topic" must not be null', 'NULL name');
SELECT throws_ok($$SELECT minikafka.add_partitions('tap', 1)$$, '22023', NULL, 'fewer partitions');
SELECT throws_ok($$SELECT minikafka.set_topic_option('tap', 'nonsense', '1')$$, '22023', 'unrecognized topic option "nonsense"', 'unknown option');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', headers => '[1]')$$, '22023', NULL, 'bad headers');
SELECT throws_ok($$SELECT minikafka.send_many('tap', ARRAY['a'], ARRAY['a', 'b'])$$, '22023', NULL, 'arrays of two lengths');
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, -1)$$, '22023', NULL, 'negative offset');
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, 0, 0)$$, '22023', NULL, 'max_records below 1');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, -1)$$, '22023', 'offset -1 is outside [0, 0] of topic "tap" partition 0', 'commit below 0');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, 1)$$, '22023', 'offset 1 is outside [0, 0] of topic "tap" partition 0', 'commit beyond the end');
SELECT throws_ok($$SELECT minikafka.commit_offset('', 'tap', 0, 0)$$, '22023', NULL, 'empty group');
SELECT throws_ok($$SELECT minikafka.delete_records('tap', 0, -2)$$, '22023', NULL, 'delete below -1');
-- MK001
SELECT throws_ok($$SELECT minikafka.fetch('tap', 0, 1)$$, 'MK001', NULL, 'fetch beyond the end');
SELECT throws_ok($$SELECT minikafka.delete_records('tap', 0, 1)$$, 'MK001', NULL, 'delete beyond the end');
-- 54000
SELECT throws_ok($$SELECT minikafka.send('tap', repeat('v', 11))$$, '54000', 'record of 11 bytes is too large for topic "tap"', 'record too large');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, 0, repeat('m', 5000))$$, '54000', NULL, 'metadata too large');
SELECT throws_ok($$SELECT minikafka.create_topic('wide', 10000)$$, '54000', NULL, 'more tables than can be locked');
-- 0A000
SELECT throws_ok($$SELECT minikafka.create_topic('new', retention => '1 day')$$, '0A000', NULL, 'retention');
SELECT throws_ok($$SELECT minikafka.create_topic('new', retention_bytes => 1)$$, '0A000', NULL, 'retention_bytes');
SELECT throws_ok($$SELECT minikafka.create_topic('new', cleanup_policy => 'compact')$$, '0A000', NULL, 'compact');
SELECT throws_ok($$SELECT minikafka.create_topic('new', min_insync_replicas => 2)$$, '0A000', NULL, 'min_insync_replicas');
SELECT throws_ok($$SELECT minikafka.send('tap', 'v', 'k', producer => 'p', sequence => 0)$$, '0A000', NULL, 'producer');
SELECT throws_ok($$SELECT minikafka.commit_offset('g', 'tap', 0, 0, member_id => 'm')$$, '0A000', NULL, 'member_id');
SELECT throws_ok($$SELECT minikafka.send('tap_table', 'v')$$, '0A000', NULL, 'a table that is no topic');
-- 42501
SELECT throws_ok($$DELETE FROM minikafka_topics.tap$$, '42501', 'cannot write to table "minikafka_topics.tap" directly', 'direct write');
-- 22021, 22P02
SELECT minikafka.create_topic('bytes', 1);
COMMIT;
BEGIN;
SELECT minikafka.send('bytes', '\xff'::bytea);
COMMIT;
BEGIN;
SELECT throws_ok($$SELECT minikafka.fetch_text('bytes', 0, 0)$$, '22021', NULL, 'fetch_text of what is no text');
SELECT throws_ok($$SELECT minikafka.fetch_json('bytes', 0, 0)$$, '22P02', NULL, 'fetch_json of what is no JSON');
-- 25006
SET TRANSACTION READ ONLY;
SELECT throws_ok($$SELECT minikafka.send('tap', 'v')$$, '25006', NULL, 'send in a read-only transaction');
SELECT * FROM finish();
ROLLBACK;
SELECT minikafka.drop_topic('tap'), minikafka.drop_topic('bytes');
DROP TABLE minikafka_topics.tap_table;
