--
-- Partitioners: where a key goes
--

-- Kafka's murmur2, known values of its Java client
SELECT key, minikafka.murmur2(key::bytea) AS murmur2,
	minikafka.murmur2(key::bytea) = expected AS same
FROM (VALUES ('21', -973932308),
	('foobar', -790332482),
	('a-little-bit-long-string', -985981536),
	('a-little-bit-longer-string', -1486304829),
	('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971),
	('0', 971027396), ('1', -1993445489), ('128', -326012175),
	('2187', -1508407203), ('16384', -325739742), ('78125', -1654490814),
	('279936', 1462227128), ('823543', -2014198330), ('2097152', 607668903),
	('4782969', -1182699775), ('10000000', -1830336757),
	('19487171', -1603849305), ('35831808', -857013643),
	('62748517', -1167431028), ('105413504', -381294639),
	('170859375', -1658323481), ('100:48069', 1009543857)) v(key, expected);
-- the same, as librdkafka writes them; the last four have all lengths of tail
SELECT key, to_hex(minikafka.murmur2(key::bytea)) AS murmur2
FROM (VALUES ('kafka'), ('giberish123456789'), ('1234'), ('234'), ('34'),
	('4'), ('PreAmbleWillBeRemoved,ThePrePartThatIs'),
	('reAmbleWillBeRemoved,ThePrePartThatIs'),
	('eAmbleWillBeRemoved,ThePrePartThatIs'),
	('AmbleWillBeRemoved,ThePrePartThatIs')) v(key);
SELECT minikafka.murmur2(''), minikafka.murmur2('\x0020'), minikafka.murmur2(NULL);

-- The sign bit is cleared before the modulo; neither the absolute value nor
-- the unsigned number is taken.
SELECT minikafka.create_topic('three', 3), minikafka.create_topic('seven', 7),
	minikafka.create_topic('seventeen', 17);
SELECT key, minikafka.partition_for_key('three', key) AS three,
	mod(abs(minikafka.murmur2(key::bytea)), 3) AS by_abs,
	mod(minikafka.murmur2(key::bytea) & 4294967295, 3) AS by_unsigned
FROM (VALUES ('21'), ('foobar'), ('a-little-bit-long-string'),
	('a-little-bit-longer-string'),
	('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8'),
	('kafka'), ('giberish123456789'), ('1234'), ('234'), ('34'), ('4')) v(key);
SELECT key, minikafka.partition_for_key('seven', key) AS seven,
	minikafka.partition_for_key('seventeen', key) AS seventeen
FROM (VALUES (''), ('23456'),
	('this is another string with more length to it perhaps'), ('hejsan')) v(key);
-- kafka-python's values; a NUL byte in a key counts, as all others
SELECT key, (minikafka.murmur2(key) & 2147483647) % 1000 AS thousand,
	minikafka.partition_for_key('seventeen', key) =
		(minikafka.murmur2(key) & 2147483647) % 17 AS same_rule
FROM (VALUES (''::bytea), ('a'), ('ab'), ('abc'), ('123456789'), ('\x0020'), ('\x00')) v(key);

-- md5: the first four bytes as a big-endian number, modulo
SELECT minikafka.create_topic('three_md5', 3, partitioner => 'md5');
SELECT key, minikafka.partition_for_key('three_md5', key) AS md5,
	minikafka.partition_for_key('three', key) AS murmur2,
	('x' || left(md5(key), 8))::bit(32)::bigint % 3 AS md5_by_hand
FROM (VALUES ('ann'), ('bob'), ('cid'), ('dan'), ('eve'), ('fay')) v(key);
SELECT ('x' || left(md5('ann'), 8))::bit(32)::bigint AS ann;
SELECT minikafka.partition_for_key('three_md5', ''::text) AS empty_text,
	minikafka.partition_for_key('three_md5', '\x'::bytea) AS empty_bytea;

-- send(), send_many() and partition_for_key() agree, text and bytea too
SELECT count(*) AS keys,
	count(*) FILTER (WHERE p = minikafka.partition_for_key(topic, key)) AS send,
	count(*) FILTER (WHERE p = minikafka.partition_for_key(topic, key::bytea)) AS bytea
FROM (SELECT topic, key, minikafka.send(topic, 'v', key) AS p
	FROM (VALUES ('seven'), ('three_md5')) t(topic),
		(SELECT 'key ' || i AS key FROM generate_series(1, 200) i) k) s;
SELECT sum(minikafka.send_many('three_md5', ARRAY['a', 'b', 'c'],
	ARRAY['key ' || i, 'ann', 'fay'])) FROM generate_series(1, 10) i;
SELECT partition, count(*) AS records,
	bool_and(partition = minikafka.partition_for_key(topic, key)) AS right_one
FROM generate_series(0, 2) p,
	LATERAL minikafka.fetch_text('three_md5', p, 0, 1000)
GROUP BY 1 ORDER BY 1;
-- an explicit partition wins over the key, and is not wrapped around
SELECT minikafka.send('three', 'v', 'foobar', partition => 2);
SELECT minikafka.send('three', 'v', 'foobar', partition => 3);
\echo :LAST_ERROR_SQLSTATE
SELECT key, value FROM minikafka.fetch_text('three', 2, 0);

-- one partition for the records without a key or partition of a transaction
BEGIN;
SELECT count(DISTINCT minikafka.send('seven', 'v')) AS partitions,
	min(minikafka.send('seven', 'v')) AS sticky
FROM generate_series(1, 50) \gset
SELECT :partitions AS partitions;
COMMIT;
-- ... and the next one for the next transaction
SELECT minikafka.send('seven', 'v') = (:sticky + 1) % 7 AS next;
SELECT minikafka.send('seven', 'v') = (:sticky + 2) % 7 AS next;
-- a key or a partition of its own takes no part in it
BEGIN;
SELECT minikafka.send('seven', 'v') AS s1 \gset
SELECT minikafka.send('seven', 'v', 'key'),
	minikafka.send('seven', 'v', partition => (:s1 + 1) % 7) = (:s1 + 1) % 7 AS as_asked;
SELECT minikafka.send('seven', 'v') = :s1 AS same;
SELECT minikafka.send_many('seven', ARRAY['a', 'b']);
COMMIT;
SELECT sum(records) AS all, sum(records) FILTER (WHERE partition = :s1) >= 4 AS sticky
FROM minikafka.last_sent();
-- also when a savepoint was rolled back
BEGIN;
SAVEPOINT s;
SELECT minikafka.send('seven', 'v') AS s1 \gset
ROLLBACK TO s;
SELECT minikafka.send('seven', 'v') = :s1 AS same;
COMMIT;
-- each topic takes its turns for itself: of two topics with two partitions
-- that are sent to in each transaction, all four are used
SELECT minikafka.create_topic('left', 2), minikafka.create_topic('right', 2);
SELECT minikafka.send('left', 'v') AS l1, minikafka.send('right', 'v') AS r1 \gset
SELECT minikafka.send('left', 'v') AS l2, minikafka.send('right', 'v') AS r2 \gset
SELECT :l1 <> :l2 AS left_turned, :r1 <> :r2 AS right_turned;

-- the reference program's orders
SELECT minikafka.create_topic('orders', 3, partitioner => 'md5');
SELECT minikafka.send('orders', 'order-' || i,
	(ARRAY['ann', 'bob', 'fay', 'ann', 'bob', 'ann', 'dan', 'fay', 'ann'])[i + 1])
FROM generate_series(0, 8) i;
SELECT partition, string_agg(key || '@' || "offset", ' ' ORDER BY "offset") AS records,
	string_agg(value, ' ' ORDER BY "offset") AS values
FROM generate_series(0, 2) p, LATERAL minikafka.fetch_text('orders', p, 0)
GROUP BY partition ORDER BY partition;

SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;
