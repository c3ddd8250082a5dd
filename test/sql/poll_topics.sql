--
-- poll(…, topics): some of the member's topics
--
\set VERBOSITY terse
SELECT minikafka.create_topic('urgent', 1), minikafka.create_topic('normal', 2), minikafka.create_topic('foreign', 1);
SELECT minikafka.join_group('some', '{urgent,normal,later}', 'm');
SELECT count(minikafka.send('normal', 'n' || i, partition => i % 2)) FROM generate_series(0, 5) i;
SELECT count(minikafka.send('urgent', 'u' || i)) FROM generate_series(0, 3) i;

SELECT topic, value FROM minikafka.poll_text('some', 'm', 2, topics => '{urgent}');
SELECT count(*) FROM minikafka.poll_json('some', 'm', topics => ARRAY['later']);
SELECT topic, partition, value FROM minikafka.poll_text('some', 'm', 2, topics => '{normal,later,normal}');
-- the turn of a partition that was left out comes: the one that was read longest ago is first
SELECT topic, partition, value FROM minikafka.poll_text('some', 'm', 1);
SELECT topic, partition, value FROM minikafka.poll_text('some', 'm', 1);
SELECT topic, partition, value FROM minikafka.poll_text('some', 'm', 1);
SELECT topic, partition, value FROM minikafka.poll_text('some', 'm', topics => NULL) ORDER BY 1, 2, 3;
SELECT * FROM minikafka.commit('some', 'm') ORDER BY 1, 2;

-- what it waits for is restricted too
SELECT minikafka.send('normal', 'n6', partition => 0);
SELECT count(*) FROM minikafka.poll('some', 'm', max_wait => '10 ms', topics => '{urgent}');
SELECT topic, value FROM minikafka.poll_text('some', 'm', max_wait => '1 min', topics => '{normal}');

-- names that are none of the member's
SELECT minikafka.poll('some', 'm', topics => '{foreign}');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.poll('some', 'm', topics => '{urgent,Urgent}');
SELECT minikafka.poll_text('some', 'm', topics => '{}');
SELECT minikafka.poll_json('some', 'm', topics => '{urgent,NULL}');
SELECT minikafka.poll('some', 'm', topics => '{a b}');

-- a topic that is renamed has both names until the group has noticed, and then the new one
SELECT minikafka.send('urgent', 'u4');
ALTER TABLE minikafka_topics.urgent RENAME TO pressing;
SELECT topic, value FROM minikafka.poll_text('some', 'm', topics => '{pressing}');
SELECT minikafka.send('pressing', 'u5');
SELECT topic, value FROM minikafka.poll_text('some', 'm', topics => '{pressing}');
SELECT minikafka.poll_text('some', 'm', topics => '{urgent}');
-- one that comes later
SELECT minikafka.create_topic('later', 1);
SELECT minikafka.send('later', 'l0');
SELECT count(*) FROM minikafka.poll('some', 'm', topics => '{later}');
SELECT topic, value FROM minikafka.poll_text('some', 'm', topics => '{later}');

-- the right to the other topics is not asked for
CREATE ROLE regress_some;
GRANT USAGE ON SCHEMA minikafka TO regress_some;
GRANT SELECT ON minikafka_topics.normal TO regress_some;
SELECT minikafka.grant_group('some', 'regress_some');
SET ROLE regress_some;
SELECT count(*) FROM minikafka.poll('some', 'm', topics => '{normal}');
SELECT minikafka.poll('some', 'm', topics => '{later}');
SELECT minikafka.poll('some', 'm');
RESET ROLE;

SELECT minikafka.leave_group('some', 'm');
SELECT minikafka.delete_group('some');
SELECT count(minikafka.drop_topic(t)) FROM unnest('{pressing,normal,foreign,later}'::text[]) t;
DROP OWNED BY regress_some;
DROP ROLE regress_some;
