--
-- Names of topics and groups: they work everywhere, or fail at once with 22023
--
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- Everything that takes a topic's name, in one go
CREATE FUNCTION pg_temp.everything(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	failed text;
BEGIN
	PERFORM minikafka.create_topic(name, 1);
	PERFORM minikafka.create_topic(name, 1, if_not_exists => true);
	PERFORM minikafka.set_topic_option(name, 'max_message_bytes', '100');
	PERFORM minikafka.add_partitions(name, 2);
	PERFORM minikafka.send(name, 'v', 'k');
	PERFORM minikafka.send(name, '{}'::jsonb, 'k');
	PERFORM minikafka.send(name, '{}'::json, 'k');
	PERFORM minikafka.send(name, '\x00'::bytea, 'k');
	PERFORM minikafka.send(name, '\x00'::bytea, '\x00'::bytea);
	PERFORM minikafka.send_many(name, ARRAY['a', 'b'], ARRAY['k', 'l']);
	PERFORM minikafka.append(name, 0, 'k', 'v');
	PERFORM minikafka.partition_for_key(name, 'k'::text);
	PERFORM minikafka.partition_for_key(name, 'k'::bytea);
	PERFORM minikafka.fetch(name, 0, 0);
	PERFORM minikafka.fetch_text(name, 0, 0);
	PERFORM minikafka.fetch_json(name, 0, 0);
	PERFORM minikafka.offsets(name, 0);
	PERFORM minikafka.offset_for_time(name, 0, now());
	PERFORM minikafka.commit_offset('names', name, 0, 0);
	PERFORM minikafka.committed('names', name, 0);
	PERFORM minikafka.delete_records(name, 0, -1);
	PERFORM minikafka.check_topic(name);
	PERFORM FROM minikafka.topics WHERE topic = name;
	IF NOT FOUND THEN RETURN 'not in view topics'; END IF;
	PERFORM FROM minikafka.partitions WHERE topic = name;
	IF NOT FOUND THEN RETURN 'not in view partitions'; END IF;
	EXECUTE format('SELECT FROM minikafka_topics.%I', name);
	EXECUTE format('GRANT SELECT ON minikafka_topics.%I TO PUBLIC', name);
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE TABLE names (no serial, name text);
INSERT INTO names (name) VALUES ('a'), ('a-b'), ('Orders.v1'), ('orders'),
	('Orders'), ('ORDERS'), ('_orders'), ('-'), ('...'), ('.a'), ('select'),
	('user'), ('table'), ('1'), ('0.1-2_3'), ('pg_class'), ('p1_0'), ('null'),
	(repeat('a', 62) || 'b'), (repeat('A', 62) || 'b');
-- good names
SET client_min_messages = warning;
SELECT no, left(name, 20) AS name, length(name), pg_temp.everything(name)
FROM names ORDER BY no;
RESET client_min_messages;

-- each is its own topic, with its own records
SELECT count(*), count(*) FILTER (WHERE e.end_offset >= 1) AS written
FROM names CROSS JOIN LATERAL minikafka.offsets(name, 0) e;
SELECT n.name, t.topic FROM names n
LEFT JOIN minikafka.topics t ON t.topic = n.name
WHERE t.topic IS NULL;
SELECT minikafka.append('orders', 1, 'k', 'lower') - minikafka.append('Orders', 1, 'k', 'upper') AS same_offset;
SELECT t, f.value FROM (VALUES ('orders'), ('Orders')) v(t)
CROSS JOIN LATERAL minikafka.offsets(t, 1) o
CROSS JOIN LATERAL minikafka.fetch_text(t, 1, o.end_offset - 1) f
ORDER BY t DESC;
-- last_sent gives the name back, with its case
SELECT minikafka.send('Orders.v1', 'x', partition => 0);
SELECT topic, partition, records FROM minikafka.last_sent();
-- lag too
SELECT count(*), count(DISTINCT topic) FROM minikafka.lag('names');
SELECT count(*) FROM names WHERE pg_temp.try(format('SELECT minikafka.lag(''names'', %L)', name)) <> 'ok';
-- a member can read all of them
SELECT minikafka.join_group('readers', (SELECT array_agg(name) FROM names), 'r');
SELECT count(*), count(DISTINCT topic) FROM minikafka.assignment('readers', 'r') JOIN names ON name = topic;
SELECT count(*) = (SELECT sum(end_offset - log_start_offset) FROM minikafka.partitions) AS all, count(DISTINCT topic)
FROM minikafka.poll('readers', 'r', 1000) JOIN names ON name = topic;
SELECT count(*), count(DISTINCT topic) FROM minikafka.commit('readers', 'r') JOIN names ON name = topic;
SELECT count(*) FROM names, (VALUES ('seek(''readers'', ''r'', %L, 0, 0)'), ('pause(''readers'', ''r'', %L, 0)'),
	('resume(''readers'', ''r'', %L, 0)'), ('commit_offset(''readers'', %L, 0, 0, member_id => ''r'')'),
	('reset_offsets(''names'', %L, ''latest'')')) v(f)
WHERE pg_temp.try(format('SELECT minikafka.' || f, name)) <> 'ok';
SELECT count(DISTINCT topic) FROM minikafka.group_offsets JOIN names ON name = topic WHERE group_id = 'readers';
SELECT count(DISTINCT topic) FROM minikafka.consumer_lag JOIN names ON name = topic WHERE group_id = 'readers';
SELECT minikafka.leave_group('readers', 'r');
-- and all can be dropped
SELECT count(minikafka.drop_topic(name)) FROM names;
SELECT count(*) FROM minikafka.topics;
TRUNCATE names RESTART IDENTITY;

-- bad names: refused at once by create_topic, unknown to all others
INSERT INTO names (name) VALUES (''), ('.'), ('..'), ('a"b'), ('x;drop table'),
	('a b'), (' a'), ('a '), ('a''b'), ('a/b'), ('a\b'), ('a:b'), ('a%sb'),
	('a$b'), (E'a\nb'), (E'a\tb'), (E'\u00e9'), (E'caf\u00e9'),
	(E'\u65e5\u672c'), (E'\U0001F600'), (repeat('a', 64)), (repeat('a', 65)),
	(repeat('a', 1000)), ('minikafka_topics.orders'), ('a,b'), ('*');
UPDATE names SET name = 'minikafka_topics/orders' WHERE name = 'minikafka_topics.orders';
\pset format unaligned
SELECT no, left(pg_temp.try(format('SELECT minikafka.create_topic(%L)', name)), 60) AS create_topic
FROM names ORDER BY no;
\pset format aligned
SELECT f AS function, count(*), count(*) FILTER (WHERE
	starts_with(pg_temp.try(format('SELECT minikafka.' || f, name)), '42704 topic "')) AS unknown
FROM names, (VALUES ('send(%L, ''x'')'), ('send_many(%L, ARRAY[''x''])'),
	('append(%L, 0, ''k'', ''v'')'), ('partition_for_key(%L, ''k''::text)'),
	('fetch(%L, 0, 0)'), ('fetch_text(%L, 0, 0)'), ('fetch_json(%L, 0, 0)'),
	('offsets(%L, 0)'), ('offset_for_time(%L, 0, now())'),
	('commit_offset(''g'', %L, 0, 0)'), ('committed(''g'', %L, 0)'), ('lag(''readers'', %L)'),
	('reset_offsets(''g'', %L, ''latest'')'), ('seek(''g'', ''m'', %L, 0, 0)'),
	('pause(''g'', ''m'', %L, 0)'), ('resume(''g'', ''m'', %L, 0)'),
	('delete_records(%L, 0, -1)'), ('check_topic(%L)'),
	('set_topic_option(%L, ''max_message_bytes'', ''1'')'),
	('add_partitions(%L, 2)'), ('drop_topic(%L)')) v(f)
GROUP BY f ORDER BY f COLLATE "C";
SELECT minikafka.create_topic('x;drop table');
-- join_group() says so at once too, although a topic may be made later
SELECT count(*), count(*) FILTER (WHERE
	starts_with(pg_temp.try(format('SELECT minikafka.join_group(''g'', ARRAY[%L])', name)), '22023 invalid topic name "')) AS refused
FROM names;
-- nothing was made on the way
SELECT count(*) FROM minikafka.topics;
SELECT count(*) FROM pg_class WHERE relnamespace = 'minikafka_topics'::regnamespace;
-- if_not_exists does not let a bad name through
SELECT minikafka.create_topic('..', if_not_exists => true);

-- Groups: any text of 1 to 255 bytes
SELECT minikafka.create_topic('names', 1);
TRUNCATE names RESTART IDENTITY;
INSERT INTO names (name) VALUES ('g'), ('G'), ('.'), ('a"b'), ('x;drop table'),
	('a b'), (E'caf\u00e9'), (E'\u65e5\u672c'), (repeat('g', 255)),
	(repeat(E'\u00e9', 127));
SELECT no, pg_temp.try(format('SELECT minikafka.commit_offset(%L, ''names'', 0, 0, %L)', name, no)) AS commit_offset
FROM names ORDER BY no;
SELECT no, minikafka.committed(name, 'names', 0), l.lag
FROM names CROSS JOIN LATERAL minikafka.lag(name, 'names') l
ORDER BY no;
SELECT count(*) FROM minikafka.consumer_group WHERE group_id IN (SELECT name FROM names);
-- as names of members and instances too
SELECT no, pg_temp.try(format('SELECT minikafka.join_group(%1$L, ''{names}'', %1$L, %1$L)', name)) AS join_group
FROM names ORDER BY no;
SELECT count(*), count(*) FILTER (WHERE m.member_id = name AND m.instance_id = name AND m.partitions = 1) AS members
FROM names JOIN minikafka.group_members m ON m.group_id = name;
SELECT count(*) FROM names, (VALUES ('heartbeat(%1$L, %1$L)'), ('assignment(%1$L, %1$L)'), ('poll(%1$L, %1$L)'),
	('commit(%1$L, %1$L)'), ('seek(%1$L, %1$L, ''names'', 0, 0)'), ('leave_group(%1$L, %1$L)')) v(f)
WHERE pg_temp.try(format('SELECT minikafka.' || f, name)) <> 'ok';
SELECT count(minikafka.join_group('all', '{names}', name, name)) FROM names;
SELECT count(*), count(DISTINCT minikafka.heartbeat('all', member_id)) AS generations
FROM minikafka.group_members JOIN names ON name = member_id WHERE group_id = 'all';
\pset format unaligned
SELECT pg_temp.try(format('SELECT minikafka.commit_offset(%L, ''names'', 0, 0)', g))
FROM (VALUES (''), (repeat('g', 256)), (repeat(E'\u00e9', 128))) v(g);
SELECT pg_temp.try(format('SELECT minikafka.committed(%L, ''names'', 0)', g))
FROM (VALUES ('')) v(g);
SELECT pg_temp.try(format('SELECT minikafka.lag(%L)', g))
FROM (VALUES ('')) v(g);
\pset format aligned
SELECT minikafka.drop_topic('names');
DROP TABLE names;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
