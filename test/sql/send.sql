--
-- send(), send_many(), send_many_json(), send_many_bytes(), last_sent()
--
SELECT minikafka.create_topic('sent', 4);

-- Text, jsonb, json and bytea; a string literal is text.  Positional and named.
SELECT minikafka.send('sent', 'literal', partition => 0);
SELECT minikafka.send('sent', 'literal', 'key', '{"h": "1"}', 0);
SELECT minikafka.send('sent', '{"b": 1,  "a": [1, 2.50]}'::jsonb, 'key', partition => 0);
SELECT minikafka.send('sent', '{"b": 1,  "a": [1, 2.50]}'::json, 'key', partition => 0);
SELECT minikafka.send('sent', '\x00ff'::bytea, 'key', partition => 0);
SELECT minikafka.send('sent', '\x00ff'::bytea, '\xfe00'::bytea, partition => 0);
SELECT minikafka.send('sent', '\x00ff'::bytea, partition => 0);
SELECT minikafka.send(topic => 'sent', partition => 0, key => 'k', value => 'named',
	headers => '{}');
SELECT minikafka.send('sent', E'caf\u00e9 \u65e5\u672c \U0001F600', E'cl\u00e9', partition => 0);
-- jsonb is stored as its text, json as it was written
SELECT "offset", convert_from(key, 'UTF8') AS key,
	convert_from(value, 'UTF8') AS value, headers
FROM minikafka.fetch('sent', 0, 0)
WHERE "offset" NOT IN (4, 5, 6) ORDER BY "offset";
SELECT "offset", key, value, headers FROM minikafka.fetch('sent', 0, 4, 3);

-- NULL and empty, of key and value, stay apart, in all ways to send and read
SELECT minikafka.send('sent', v, k, partition => 1)
FROM (VALUES (1, NULL::text, NULL::text), (2, '', NULL), (3, NULL, ''), (4, '', '')) t(i, v, k);
SELECT minikafka.send('sent', v, k, partition => 1)
FROM (VALUES (1, NULL::bytea, NULL::bytea), (2, '', NULL), (3, NULL, ''), (4, '', '')) t(i, v, k);
SELECT minikafka.send('sent', NULL::jsonb, 'k', partition => 1),
	minikafka.send('sent', NULL::json, 'k', partition => 1),
	minikafka.send('sent', NULL::bytea, 'k', partition => 1),
	minikafka.send('sent', 'null'::jsonb, 'k', partition => 1);
SELECT "offset", key IS NULL AS key_null, length(key) AS key,
	value IS NULL AS value_null, length(value) AS value
FROM minikafka.fetch('sent', 1, 0) ORDER BY "offset";
SELECT "offset", key IS NULL AS key_null, length(key) AS key,
	value IS NULL AS value_null, length(value) AS value
FROM minikafka.fetch_text('sent', 1, 0, 4) ORDER BY "offset";
-- as they are in the table
SELECT "offset", key, value FROM minikafka_topics.sent
WHERE partition = 1 AND "offset" < 4 ORDER BY "offset";

-- NUL bytes
SELECT minikafka.send('sent', '\x00'::bytea, '\x0000'::bytea, partition => 2),
	minikafka.send('sent', '\x610062'::bytea, 'k', partition => 2);
SELECT "offset", key, value FROM minikafka.fetch('sent', 2, 0) ORDER BY "offset";

-- an event may also be a column or an expression
CREATE TABLE send_source AS
SELECT i, 'value ' || i AS t, jsonb_build_object('i', i) AS j, int8send(i) AS b
FROM generate_series(1, 3) i;
SELECT minikafka.send('sent', t, i::text, partition => 3),
	minikafka.send('sent', j, i::text, partition => 3),
	minikafka.send('sent', b, i::text, partition => 3)
FROM send_source ORDER BY i;
SELECT "offset", convert_from(key, 'UTF8') AS key, value
FROM minikafka.fetch('sent', 3, 0) ORDER BY "offset";

-- A record of max_message_bytes passes, one byte more does not.  Key, value
-- and headers count.
SELECT minikafka.create_topic('sized', 1, max_message_bytes => 100);
SELECT minikafka.send('sized', repeat('v', 100));
SELECT minikafka.send('sized', repeat('v', 101));
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send('sized', repeat('v', 60), repeat('k', 40));
SELECT minikafka.send('sized', repeat('v', 60), repeat('k', 41));
SELECT minikafka.send('sized', NULL, repeat('k', 100));
SELECT minikafka.send('sized', NULL, repeat('k', 101));
-- bytes, not characters
SELECT minikafka.send('sized', repeat(E'\u00e9', 50));
SELECT minikafka.send('sized', repeat(E'\u00e9', 51));
SELECT minikafka.send('sized', repeat('v', 100), headers => '{"a": "b"}');
SELECT minikafka.send('sized', repeat('v', 100), headers => '{}');
SELECT minikafka.send_many('sized', ARRAY[repeat('v', 100), repeat('v', 101)]);
SELECT minikafka.append('sized', 0, 'k', repeat('v', 99));
SELECT minikafka.append('sized', 0, 'k', repeat('v', 100));
\echo :LAST_ERROR_SQLSTATE
SELECT "offset", length(key) AS key, length(value) AS value
FROM minikafka.fetch('sized', 0, 0) ORDER BY "offset";
-- the default limit is Kafka's
SELECT minikafka.send('sent', repeat('x', 1048588), partition => 2);
SELECT minikafka.send('sent', repeat('x', 1048589), partition => 2);
\echo :LAST_ERROR_SQLSTATE

-- Values of some megabytes, compressible and not, come back whole
SELECT minikafka.create_topic('large', 1, max_message_bytes => 20000000);
CREATE TABLE large_source AS
SELECT 1 AS i, decode(string_agg(md5('a' || i), '' ORDER BY i), 'hex') AS b
FROM generate_series(1, 200000) i
UNION ALL SELECT 2, convert_to(repeat('0123456789', 800000), 'UTF8')
UNION ALL SELECT 3, decode(repeat('00', 5000000), 'hex');
SELECT i, length(b), pg_column_size(b) < length(b) / 2 AS compressed
FROM large_source ORDER BY i;
SELECT minikafka.send('large', b, i::text) FROM large_source ORDER BY i;
SELECT minikafka.send_many_bytes('large', (SELECT array_agg(b ORDER BY i) FROM large_source));
SELECT minikafka.append('large', 0, b, NULL) FROM large_source WHERE i = 1;
SELECT f."offset", length(f.value), f.value = s.b AS same
FROM large_source s
JOIN minikafka.fetch('large', 0, 0) f ON f."offset" % 3 = s.i - 1 AND f.value IS NOT NULL
ORDER BY f."offset";
SELECT key = (SELECT b FROM large_source WHERE i = 1) AS same_key
FROM minikafka.fetch('large', 0, 6);
-- and whole also with the table they came from gone before the commit
BEGIN;
SELECT minikafka.send('large', b, 'late') FROM large_source WHERE i = 1;
SELECT md5(b) AS md5 FROM large_source WHERE i = 1 \gset
DROP TABLE large_source;
COMMIT;
SELECT md5(value) = :'md5' AS same FROM minikafka.fetch('large', 0, 7);

-- send_many: in array order, a partition by each key
SELECT minikafka.create_topic('many', 3);
SELECT minikafka.send_many('many', ARRAY['a', 'b', 'c', NULL, 'e'],
	ARRAY['k', 'l', 'k', 'm', 'k'],
	ARRAY['{"n": 1}', NULL, '{}', '[{"key": "x", "base64": "AA=="}]', NULL]::jsonb[]);
SELECT partition, "offset", key, value, headers
FROM generate_series(0, 2) p, LATERAL minikafka.fetch_text('many', p, 0)
ORDER BY partition, "offset";
SELECT sum(records) FROM minikafka.last_sent();
SELECT minikafka.send_many_json('many', ARRAY['{"a": 1}', '2']::jsonb[], ARRAY['k', 'k']),
	minikafka.send_many_bytes('many', ARRAY['\x00', NULL]::bytea[], ARRAY['\x6b', '\x6b']::bytea[]);
SELECT "offset", key, value
FROM minikafka.fetch('many', minikafka.partition_for_key('many', 'k'::text), 3)
ORDER BY "offset";
-- without keys they all go to one partition
SELECT minikafka.send_many('many', ARRAY['a', 'b', 'c']);
SELECT records FROM minikafka.last_sent();
SELECT minikafka.send_many('many', ARRAY['a', 'b'], ARRAY[NULL, NULL]::text[]);
SELECT records FROM minikafka.last_sent();
-- none
SELECT minikafka.send_many('many', '{}'), minikafka.send_many('many', '{}', '{}', '{}');
-- arrays that do not fit each other
SELECT minikafka.send_many('many', ARRAY['a', 'b'], ARRAY['k']);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send_many('many', ARRAY['a', 'b'], headers => ARRAY['{}']::jsonb[]);
SELECT minikafka.send_many('many', ARRAY['a', 'b'], ARRAY['k', 'k'], '{}'::jsonb[]);
SELECT minikafka.send_many('many', ARRAY[['a', 'b'], ['c', 'd']]);
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.send_many('many', NULL);
\echo :LAST_ERROR_SQLSTATE
-- an error in the middle leaves nothing
SELECT minikafka.send_many('many', ARRAY['gone', 'gone'], headers => ARRAY['{}', '1']::jsonb[]);
SELECT count(*) FROM minikafka_topics.many WHERE value = 'gone';

-- last_sent: the last committed transaction that has sent
SELECT minikafka.create_topic('lasting', 2);
BEGIN;
SELECT minikafka.send('lasting', 'a', partition => 1),
	minikafka.send('lasting', 'b', partition => 0),
	minikafka.send('lasting', 'c', partition => 1);
SELECT count(*) FROM minikafka.last_sent() WHERE topic = 'lasting';
COMMIT;
SELECT * FROM minikafka.last_sent();
BEGIN;
SELECT minikafka.send('lasting', 'd', partition => 1);
ROLLBACK;
SELECT 1 / 0 FROM minikafka.send('lasting', 'd', partition => 1);
BEGIN;
SAVEPOINT s;
SELECT minikafka.send('lasting', 'd', partition => 1);
ROLLBACK TO s;
COMMIT;
SELECT * FROM minikafka.last_sent();
SELECT minikafka.send('lasting', 'e', partition => 1);
SELECT * FROM minikafka.last_sent();
-- a transaction does not read what it has itself sent
BEGIN;
SELECT minikafka.send('lasting', 'f', partition => 1);
SELECT count(*) FROM minikafka.fetch('lasting', 1, 3);
SELECT * FROM minikafka.offsets('lasting', 1);
SELECT count(*) FROM minikafka_topics.lasting WHERE partition = 1;
COMMIT;
SELECT "offset", value FROM minikafka.fetch_text('lasting', 1, 3);

-- many records, with savepoints, beyond work_mem: dense and in order
SET work_mem = '64kB';
SELECT minikafka.create_topic('bulk', 2, segment_records => 1000);
BEGIN;
SELECT count(minikafka.send('bulk', i || repeat(' ', 100), partition => i % 2))
FROM generate_series(1, 3000) i;
SAVEPOINT s;
SELECT count(minikafka.send('bulk', 'gone', partition => i % 2)) FROM generate_series(1, 3000) i;
ROLLBACK TO s;
SELECT count(minikafka.send('bulk', i || repeat(' ', 100), partition => i % 2))
FROM generate_series(3001, 5000) i;
COMMIT;
RESET work_mem;
SELECT * FROM minikafka.last_sent() ORDER BY partition;
SELECT p, count(*), min("offset"), max("offset"),
	bool_and(value::int = 2 * "offset" + CASE p WHEN 1 THEN 1 ELSE 2 END) AS in_order
FROM generate_series(0, 1) p, LATERAL minikafka.fetch_text('bulk', p, 0, 10000)
GROUP BY p ORDER BY p;
SELECT partition, end_offset, segments FROM minikafka.partitions WHERE topic = 'bulk' ORDER BY partition;
SELECT * FROM minikafka.check_topic('bulk');

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
DROP TABLE send_source;
