-- Urgent and normal jobs: topics of one group, in an order.
--
--     psql -f urgent.sql
--
-- Flights that were three hours late or more are urgent, and late by an hour, normal.

SELECT minikafka.create_topic('urgent', partitions => 2);
SELECT minikafka.create_topic('normal', partitions => 4);
SELECT count(minikafka.send(CASE WHEN delay_minutes >= 180 THEN 'urgent' ELSE 'normal' END,
	jsonb_build_object('flight', id, 'delay', delay_minutes), key => origin)) AS jobs
FROM arrival WHERE delay_minutes >= 60;

-- A share group: the topics in their order.  A worker gets a normal job only if no
-- urgent one can be had: it is no problem if that never ends, or add workers.  With
-- "fair", which is the default, all partitions take turns: four of five are normal.
BEGIN;
SELECT minikafka.create_share_group('late flights', '{urgent,normal}');
SELECT minikafka.set_group_option('late flights', 'priority', 'strict');
COMMIT;

\echo 19 are urgent, so the 20th is normal
SELECT topic, count(*), count(minikafka.acknowledge('late flights', receipt)) AS acknowledged
FROM minikafka.acquire('late flights', max_records => 20)
GROUP BY topic ORDER BY topic DESC;

\echo A new urgent job comes before the normal ones that wait
SELECT minikafka.send('urgent', '{"flight": 5001, "delay": 400}', key => 'ORD');
SELECT topic, value, minikafka.acknowledge('late flights', receipt)
FROM minikafka.acquire_text('late flights');

-- A consumer group: a member polls the urgent topic first.
SELECT minikafka.join_group('late flights, in order', '{urgent,normal}', 'clerk');

-- Urgent records, or a few normal ones.  To be called in the transaction that does
-- the work and calls commit().
CREATE FUNCTION poll_urgent_first(member text)
RETURNS TABLE (topic text, key text, value jsonb) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT r.topic, r.key, r.value
		FROM minikafka.poll_json('late flights, in order', member, 100, topics => '{urgent}') r;
	IF NOT FOUND THEN
		-- Few: an urgent record that comes now waits for them.
		RETURN QUERY SELECT r.topic, r.key, r.value
			FROM minikafka.poll_json('late flights, in order', member, 5, max_wait => '1s') r;
	END IF;
END
$$;

\echo The urgent ones first, too
BEGIN;
SELECT topic, count(*) FROM poll_urgent_first('clerk') GROUP BY topic;
SELECT count(*) AS committed FROM minikafka.commit('late flights, in order', 'clerk');
COMMIT;
BEGIN;
SELECT topic, count(*) FROM poll_urgent_first('clerk') GROUP BY topic;
SELECT count(*) AS committed FROM minikafka.commit('late flights, in order', 'clerk');
COMMIT;
