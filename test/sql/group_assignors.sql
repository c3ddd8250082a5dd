--
-- The assignors, through join_group() and assignment()
--
\set SHOW_CONTEXT never
-- Topics with so many partitions, in place of those there are
CREATE FUNCTION pg_temp.topics(topics json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.drop_topic(topic) FROM minikafka.topics;
	PERFORM minikafka.create_topic(key, value::int) FROM json_each_text(topics);
END $$;
-- Members and what they subscribe to, all in one rebalance
CREATE FUNCTION pg_temp.join_all(g text, a text, members json) RETURNS void LANGUAGE sql AS $$
	SELECT minikafka.join_group(g, string_to_array(value, ' '), key, assignor => a, protocol => 'eager')
	FROM json_each_text(members)
$$;
CREATE FUNCTION pg_temp.leave_all(g text, VARIADIC members text[]) RETURNS void LANGUAGE sql AS $$
	SELECT minikafka.leave_group(g, m) FROM unnest(members) m
$$;
-- What each has, of its instance id if it has one
CREATE FUNCTION pg_temp.assigned(g text) RETURNS TABLE (member text, partitions text) LANGUAGE sql AS $$
	SELECT coalesce(m.instance_id, m.member_id),
		string_agg(a.topic || 'p' || a.partition, ' ' ORDER BY a.topic COLLATE "C", a.partition)
	FROM minikafka.group_members m
	LEFT JOIN LATERAL minikafka.assignment(g, m.member_id) a ON NOT a.revoking
	WHERE m.group_id = g
	GROUP BY 1 ORDER BY coalesce(m.instance_id, m.member_id) COLLATE "C"
$$;

-- range

-- Kafka case A01
SELECT pg_temp.topics('{"t0": 3, "t1": 3}');
SELECT pg_temp.join_all('A01', 'range', '{"C0": "t0 t1", "C1": "t0 t1"}');
SELECT * FROM pg_temp.assigned('A01');
-- the same one by one, and however they come
SELECT pg_temp.join_all('A01 late', 'range', '{"C1": "t0 t1"}');
SELECT * FROM pg_temp.assigned('A01 late');
SELECT pg_temp.join_all('A01 late', 'range', '{"C0": "t1 t0 t1"}');
SELECT * FROM pg_temp.assigned('A01 late');
-- Kafka case A02: no topic is refused, one that there is not gives nothing
SELECT pg_temp.join_all('A02', 'range', '{"c": ""}');
SELECT pg_temp.join_all('A02', 'range', '{"c": "t9"}');
SELECT * FROM pg_temp.assigned('A02');
-- Kafka case A04
SELECT pg_temp.topics('{"t": 2}');
SELECT pg_temp.join_all('A04', 'range', '{"c1": "t", "c2": "t"}');
SELECT * FROM pg_temp.assigned('A04');
-- Kafka case A05
SELECT pg_temp.topics('{"t1": 3, "t2": 2}');
SELECT pg_temp.join_all('A05', 'range', '{"c1": "t1", "c2": "t1 t2", "c3": "t1"}');
SELECT * FROM pg_temp.assigned('A05');
-- Kafka case A07: static members keep what they have, whoever comes and goes
SELECT pg_temp.topics('{"t1": 5, "t2": 4}');
SELECT count(minikafka.join_group('A07', '{t1, t2}', instance_id => i, assignor => 'range', protocol => 'eager'))
FROM unnest('{i1, i2, i3}'::text[]) i;
SELECT pg_temp.join_all('A07', 'range', '{"c4": "t1 t2"}');
SELECT * FROM pg_temp.assigned('A07');
BEGIN;
SELECT pg_temp.leave_all('A07', 'c4');
SELECT pg_temp.join_all('A07', 'range', '{"c5": "t1 t2"}');
COMMIT;
SELECT * FROM pg_temp.assigned('A07');
-- Kafka case A08: and whatever member ids they have
SELECT pg_temp.topics('{"t1": 5, "t2": 5}');
SELECT minikafka.join_group('A08', '{t1, t2}', 'a', 'i1', 'range', 'eager'),
	minikafka.join_group('A08', '{t1, t2}', 'b', 'i2'), minikafka.join_group('A08', '{t1, t2}', 'c', 'i3');
SELECT * FROM pg_temp.assigned('A08');
SELECT count(minikafka.leave_group('A08', m)) FROM unnest('{a, b, c}'::text[]) m;
SELECT minikafka.join_group('A08', '{t1, t2}', 'c', 'i1', 'range', 'eager'),
	minikafka.join_group('A08', '{t1, t2}', 'a', 'i2'), minikafka.join_group('A08', '{t1, t2}', 'b', 'i3');
SELECT * FROM pg_temp.assigned('A08');
-- Kafka case A10
SELECT pg_temp.topics('{"t1": 3, "t2": 3, "t3": 2}');
SELECT pg_temp.join_all('A10', 'range', '{"A": "t1 t2", "B": "t3", "C": "t2 t3"}');
SELECT * FROM pg_temp.assigned('A10');

-- roundrobin

-- Kafka case A11
SELECT pg_temp.topics('{"t0": 3, "t1": 3}');
SELECT pg_temp.join_all('A11', 'roundrobin', '{"C0": "t0 t1", "C1": "t0 t1"}');
SELECT * FROM pg_temp.assigned('A11');
-- Kafka cases A12, A13
SELECT pg_temp.topics('{"t0": 1, "t1": 2, "t2": 3}');
SELECT pg_temp.join_all('A12', 'roundrobin', '{"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}');
SELECT * FROM pg_temp.assigned('A12');
SELECT pg_temp.leave_all('A12', 'C0');
SELECT * FROM pg_temp.assigned('A12');
-- Kafka case A14: static members come first
SELECT pg_temp.topics('{"t1": 3, "t2": 3}');
SELECT pg_temp.join_all('A14', 'roundrobin', '{"c4": "t1 t2"}');
SELECT count(minikafka.join_group('A14', '{t1, t2}', instance_id => i)) FROM unnest('{i3, i1, i2}'::text[]) i;
SELECT * FROM pg_temp.assigned('A14');
-- Kafka case A16: members and topics in any order
SELECT pg_temp.topics('{"topic-A": 14, "topic-B": 5}');
SELECT pg_temp.join_all('A16', 'roundrobin', '{"member-3": "topic-B topic-A", "member-1": "topic-A topic-B",
	"member-4": "topic-A topic-B", "member-2": "topic-B topic-A"}');
SELECT member, replace(partitions, 'topic-', '') AS partitions FROM pg_temp.assigned('A16');

-- sticky

-- Kafka case A17
SELECT pg_temp.topics('{"t0": 2, "t1": 2, "t2": 2, "t3": 2}');
SELECT pg_temp.join_all('A17', 'sticky', '{"C0": "t0 t1 t2 t3", "C1": "t0 t1 t2 t3", "C2": "t0 t1 t2 t3"}');
SELECT * FROM pg_temp.assigned('A17');
-- of what C1 had each of the others gets a part, and keeps what it has
SELECT pg_temp.leave_all('A17', 'C1');
SELECT * FROM pg_temp.assigned('A17');
-- Kafka cases A19, A20
SELECT pg_temp.topics('{"t0": 1, "t1": 2, "t2": 3}');
SELECT pg_temp.join_all('A19', 'sticky', '{"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}');
SELECT * FROM pg_temp.assigned('A19');
SELECT pg_temp.leave_all('A19', 'C0');
SELECT * FROM pg_temp.assigned('A19');
-- Kafka case A22
SELECT pg_temp.topics('{"t1": 3, "t2": 4}');
SELECT pg_temp.join_all('A22', 'sticky', '{"c1": "t1 t2", "c2": "t1 t2"}');
SELECT * FROM pg_temp.assigned('A22');
SELECT pg_temp.join_all('A22', 'sticky', '{"c3": "t1 t2", "c4": "t1 t2"}');
SELECT * FROM pg_temp.assigned('A22');
SELECT pg_temp.leave_all('A22', 'c1', 'c2');
SELECT * FROM pg_temp.assigned('A22');
-- Kafka case A23: what c3 leaves goes to c1
SELECT pg_temp.topics('{"t1": 2, "t2": 3}');
SELECT pg_temp.join_all('A23', 'sticky', '{"c1": "t1 t2", "c2": "t1 t2", "c3": "t1 t2"}');
SELECT * FROM pg_temp.assigned('A23');
SELECT pg_temp.leave_all('A23', 'c3');
SELECT * FROM pg_temp.assigned('A23');
-- a member that joins again with other topics moves as few partitions as it must
SELECT pg_temp.join_all('A23', 'sticky', '{"c2": "t1"}');
SELECT * FROM pg_temp.assigned('A23');
SELECT pg_temp.join_all('A23', 'sticky', '{"c2": "t1 t2"}');
SELECT * FROM pg_temp.assigned('A23');

-- Kafka case A29: whatever the assignor, each partition has one reader, which
-- subscribes to it; where all subscribe to the same, the numbers differ by one
-- at most (by range: in each topic)
SELECT pg_temp.topics('{"t0": 1, "t1": 2, "t2": 5, "t3": 7}');
CREATE FUNCTION pg_temp.check(g text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	assigned bigint;
	readers bigint;
	strangers bigint;
	wanted bigint;
	difference bigint;
	topic_difference bigint;
BEGIN
	SELECT count(*), count(DISTINCT (a.topic, a.partition)), count(*) FILTER (WHERE a.topic <> ALL (m.topics))
	INTO readers, assigned, strangers
	FROM minikafka.group_members m CROSS JOIN LATERAL minikafka.assignment(g, m.member_id) a
	WHERE m.group_id = g;
	SELECT count(*) INTO wanted FROM minikafka.partitions p
	WHERE EXISTS (SELECT FROM minikafka.group_members m WHERE m.group_id = g AND p.topic = ANY (m.topics));
	SELECT max(partitions) - min(partitions) INTO difference FROM minikafka.group_members WHERE group_id = g;
	SELECT max(d) INTO topic_difference FROM (
		SELECT max(n) - min(n) AS d FROM (
			SELECT t, m.member_id, (SELECT count(*) FROM minikafka.assignment(g, m.member_id) a WHERE a.topic = t) AS n
			FROM minikafka.group_members m CROSS JOIN LATERAL unnest(m.topics) t
			WHERE m.group_id = g) c
		GROUP BY t) d;
	RETURN CASE WHEN readers = wanted AND assigned = wanted AND strangers = 0 THEN 'all' ELSE 'not all' END ||
		CASE WHEN difference <= 1 THEN ', even' ELSE '' END ||
		CASE WHEN topic_difference <= 1 THEN ', each topic even' ELSE '' END;
END $$;
-- 1 to 9 members that come one by one, and then go
CREATE PROCEDURE pg_temp.grow_and_shrink(a text, alike boolean) LANGUAGE plpgsql AS $$
DECLARE
	g text := a || CASE WHEN alike THEN ' alike' ELSE ' different' END;
	topics text[] := '{t0, t1, t2, t3}';
	seen text[] := '{}';
BEGIN
	FOR i IN 1..9 LOOP
		PERFORM minikafka.join_group(g, CASE WHEN alike THEN topics ELSE topics[1 + i % 3:1 + i % 4 + i % 3] END,
			'm' || i, assignor => a, protocol => 'eager');
		COMMIT;
		seen := seen || pg_temp.check(g);
	END LOOP;
	FOR i IN 1..8 LOOP
		PERFORM minikafka.leave_group(g, 'm' || i * 4 % 9);
		COMMIT;
		seen := seen || pg_temp.check(g);
	END LOOP;
	RAISE NOTICE '%: %', g, (SELECT string_agg(DISTINCT s COLLATE "C", ' / ' ORDER BY s COLLATE "C") FROM unnest(seen) s);
END $$;
CALL pg_temp.grow_and_shrink('range', true);
CALL pg_temp.grow_and_shrink('roundrobin', true);
CALL pg_temp.grow_and_shrink('sticky', true);
CALL pg_temp.grow_and_shrink('range', false);
CALL pg_temp.grow_and_shrink('roundrobin', false);
CALL pg_temp.grow_and_shrink('sticky', false);

SELECT pg_temp.topics('{}');

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
