--
-- fetch(), fetch_text(), fetch_json()
--
SELECT minikafka.create_topic('fetched', 2, segment_records => 4);
SELECT minikafka.send('fetched', 'value ' || i, 'key', partition => 0)
FROM generate_series(0, 9) i;

-- columns and their types; ts is the time of the append
SELECT topic, partition, "offset", key, value, headers,
	ts BETWEEN now() - interval '1 minute' AND clock_timestamp() AS ts
FROM minikafka.fetch('fetched', 0, 0, 2);
SELECT pg_typeof(topic), pg_typeof(partition), pg_typeof("offset"), pg_typeof(ts),
	pg_typeof(key), pg_typeof(value), pg_typeof(headers)
FROM minikafka.fetch('fetched', 0, 0, 1);

-- from start_offset on, in order, at most max_records; over segments too
SELECT "offset", value FROM minikafka.fetch_text('fetched', 0, 0);
SELECT "offset", value FROM minikafka.fetch_text('fetched', 0, 2, 4);
SELECT "offset" FROM minikafka.fetch('fetched', 0, 9);
SELECT "offset" FROM minikafka.fetch(max_records => 1, start_offset => 3, partition => 0, topic => 'fetched');
SELECT count(*) FROM minikafka.fetch('fetched', 0, 0, 2147483647, 2147483647);
-- a call in the list of what is selected
SELECT (minikafka.fetch_text('fetched', 0, 8)).value;

-- at the end: no rows; beyond it, or below the log start: MK001
SELECT "offset" FROM minikafka.fetch('fetched', 0, 10);
SELECT "offset" FROM minikafka.fetch('fetched', 0, 11);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset" FROM minikafka.fetch('fetched', 0, 9223372036854775807);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset" FROM minikafka.fetch('fetched', 1, 0);
SELECT "offset" FROM minikafka.fetch('fetched', 1, 1);
SELECT minikafka.delete_records('fetched', 0, 6);
SELECT "offset" FROM minikafka.fetch('fetched', 0, 5);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset" FROM minikafka.fetch('fetched', 0, 0);
SELECT "offset" FROM minikafka.fetch('fetched', 0, 6);
-- the default is 100 records
SELECT count(minikafka.send('fetched', 'v', partition => 1)) FROM generate_series(1, 150);
SELECT count(*), max("offset") FROM minikafka.fetch('fetched', 1, 0);

-- max_bytes counts key, value and headers; the first record always comes
SELECT minikafka.create_topic('weighed', 1);
SELECT minikafka.send('weighed', repeat('v', 8), 'kk') FROM generate_series(1, 5);
SELECT count(*) FROM minikafka.fetch('weighed', 0, 0, 100, 30);
SELECT count(*) FROM minikafka.fetch('weighed', 0, 0, 100, 29);
SELECT count(*) FROM minikafka.fetch('weighed', 0, 0, 100, 1);
SELECT minikafka.send('weighed', repeat('v', 8), 'kk', '{"a": "b"}');
SELECT count(*) FROM minikafka.fetch('weighed', 0, 4, 100, 20);
-- a value counts as it was sent, not compressed
SELECT minikafka.send('weighed', repeat('v', 100000)) FROM generate_series(1, 3);
SELECT count(*) FROM minikafka.fetch('weighed', 0, 6, 100, 200000);
SELECT count(*) FROM minikafka.fetch('weighed', 0, 6, 100, 199999);

-- Text: the records before one that is no UTF-8 are returned; when it is the
-- first, an error tells which, and how to skip it
SELECT minikafka.create_topic('texts', 1);
SELECT minikafka.send('texts', E'caf\u00e9', E'\u65e5'), minikafka.send('texts', 'two'),
	minikafka.send('texts', '\xff'::bytea), minikafka.send('texts', 'four'),
	minikafka.send('texts', NULL, '\xc3'::bytea), minikafka.send('texts', 'six'),
	minikafka.send('texts', '\x6100'::bytea), minikafka.send('texts', NULL, NULL::text);
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 0);
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset", key, value FROM minikafka.fetch('texts', 0, 2, 1);
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 3);
-- a key is decoded too
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 4);
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 5);
-- text cannot have a NUL byte
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 6);
SELECT "offset", key, value FROM minikafka.fetch_text('texts', 0, 7);
SELECT count(*) FROM minikafka.fetch('texts', 0, 0);

-- JSON: the same; a tombstone is NULL, a JSON null is one
SELECT minikafka.create_topic('jsons', 1);
SELECT minikafka.send('jsons', '{"b": 1, "a": [2]}', 'k'), minikafka.send('jsons', NULL),
	minikafka.send('jsons', 'null'), minikafka.send('jsons', '"text"'::jsonb),
	minikafka.send('jsons', ' {"b" : 1.50} '::json), minikafka.send('jsons', '{broken'),
	minikafka.send('jsons', '6'), minikafka.send('jsons', ''),
	minikafka.send('jsons', '8'), minikafka.send('jsons', '\xff'::bytea),
	minikafka.send('jsons', '10'), minikafka.send('jsons', '"\u0000"'),
	minikafka.send('jsons', '12'), minikafka.send('jsons', '13', '\xff'::bytea),
	minikafka.send('jsons', '14'), minikafka.send('jsons', repeat('[', 100000)),
	minikafka.send('jsons', '{"last": 1e400}');
SELECT "offset", key, value, value IS NULL AS null FROM minikafka.fetch_json('jsons', 0, 0);
SELECT value->'a'->0 AS element FROM minikafka.fetch_json('jsons', 0, 0, 1);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 5);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 6);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 7);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 8);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 9);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 10);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 11);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 12);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 13);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 14);
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 15);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset", length(value::text) FROM minikafka.fetch_json('jsons', 0, 16);
-- reading what cannot be read leaves the transaction as it was
BEGIN;
SELECT minikafka.send('jsons', '17', 'k');
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 3);
SELECT minikafka.send('jsons', '18', 'k');
COMMIT;
SELECT "offset", value FROM minikafka.fetch_json('jsons', 0, 17);

-- A record and the row written by its transaction are joined in one statement
CREATE TABLE fetch_orders (id int PRIMARY KEY, amount int);
SELECT minikafka.create_topic('orders', 1);
BEGIN;
INSERT INTO fetch_orders VALUES (1, 10);
SELECT minikafka.send('orders', '{"id": 1}'::jsonb);
COMMIT;
SELECT f."offset", o.* FROM minikafka.fetch_json('orders', 0, 0) f
JOIN fetch_orders o ON o.id = (f.value->>'id')::int;
-- reading and sending in one statement, which reads what was before it
SELECT minikafka.send('orders', f.value) FROM minikafka.fetch('orders', 0, 0) f;
SELECT count(*) FROM minikafka.fetch('orders', 0, 0);
-- a cursor keeps what it has read
BEGIN;
DECLARE c CURSOR FOR SELECT "offset" FROM minikafka.fetch('orders', 0, 0);
FETCH 1 FROM c;
SELECT minikafka.drop_topic('orders');
ROLLBACK;
-- also a value that is stored out of line, and goes with the topic
SELECT minikafka.create_topic('cursed', 1);
SELECT minikafka.send('cursed', (SELECT string_agg(md5(n || ' ' || i), '' ORDER BY i) FROM generate_series(1, 1000) i))
FROM generate_series(1, 2) n;
BEGIN;
DECLARE c CURSOR FOR SELECT "offset", left(convert_from(value, 'UTF8'), 20) AS value FROM minikafka.fetch('cursed', 0, 0);
FETCH 1 FROM c;
SELECT minikafka.drop_topic('cursed');
FETCH 1 FROM c;
COMMIT;
-- in a view, a function and a prepared statement
CREATE VIEW fetch_view AS SELECT "offset", value FROM minikafka.fetch_text('orders', 0, 0);
SELECT "offset" FROM fetch_view;
DROP VIEW fetch_view;
PREPARE f(bigint) AS SELECT "offset" FROM minikafka.fetch('orders', 0, $1);
EXECUTE f(0);
EXECUTE f(1);
EXECUTE f(2);
EXECUTE f(3);
DEALLOCATE f;

-- The reference program's error: "offset 0 is below 5"
SELECT minikafka.create_topic('reference', 3, partitioner => 'md5');
SELECT count(minikafka.send('reference', 'order-' || i,
	(ARRAY['ann', 'bob', 'fay', 'ann', 'bob', 'ann', 'dan', 'fay', 'ann'])[i + 1]))
FROM generate_series(0, 8) i;
SELECT minikafka.delete_records('reference', p, -1) FROM generate_series(0, 2) p;
SELECT minikafka.send('reference', 'order-10', 'ann');
SELECT "offset", value FROM minikafka.fetch_text('reference', 2, 0);
\echo :LAST_ERROR_SQLSTATE
SELECT "offset", value FROM minikafka.fetch_text('reference', 2, 5);

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
DROP TABLE fetch_orders;
