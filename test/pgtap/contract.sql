--
-- The contract of a topic: the SQLSTATE of each way to miss it
--
BEGIN;
SELECT plan(10);
SELECT minikafka.create_topic('tap', 1);
ALTER TABLE minikafka_topics.tap ALTER key SET NOT NULL, ADD CONSTRAINT short CHECK (length(value) < 9);
SELECT throws_ok($$SELECT minikafka.send('tap', 'v')$$, '23502',
	'null value in column "key" of topic "tap" violates not-null constraint', 'NOT NULL');
SELECT throws_ok($$SELECT minikafka.send('tap', 'too long a value', 'k')$$, '23514',
	'record for topic "tap" violates check constraint "short"', 'CHECK');
SELECT lives_ok($$SELECT minikafka.set_topic_option('tap', 'value_format', 'json')$$, 'json');
SELECT throws_ok($$SELECT minikafka.send('tap', '{', 'k')$$, '22P02', 'value for topic "tap" is not valid JSON', 'no JSON');
SELECT lives_ok($$SELECT minikafka.send('tap', NULL::text, 'k')$$, 'a tombstone');
SELECT lives_ok($$SELECT minikafka.set_topic_option('tap', 'value_format', 'text')$$, 'text');
SELECT throws_ok($$SELECT minikafka.send('tap', '\xff'::bytea, 'k')$$, '22021', 'value for topic "tap" is not valid text', 'no text');
SELECT lives_ok($$SELECT minikafka.set_topic_option('tap', 'value_format', NULL)$$, 'the default');
SELECT results_eq($$SELECT value_format FROM minikafka.topics WHERE topic = 'tap'$$, $$VALUES ('bytes')$$, 'is bytes');
SELECT throws_ok($$SELECT minikafka.set_topic_option('tap', 'value_format', 'xml')$$, '22023', 'invalid value format "xml"', 'another');
SELECT * FROM finish();
ROLLBACK;
