--
-- What a role without USAGE on the schema can still reach
--
\set VERBOSITY default
CREATE ROLE regress_stranger;
CREATE ROLE regress_owner;
CREATE ROLE regress_maker;
GRANT USAGE ON SCHEMA minikafka TO regress_owner, regress_maker;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
GRANT CREATE ON SCHEMA public TO regress_maker;

-- By name nothing; whatever the search path
SET ROLE regress_stranger;
SELECT minikafka.inbox_accept('stranger', 'e');
SELECT minikafka.init_producer('stranger');
SELECT minikafka.join_group('stranger', '{no_such_topic}');
SELECT minikafka.murmur2('\x00');
SELECT FROM minikafka.topics;
SELECT 'minikafka.send_many'::regproc;
CALL minikafka.maintain();
SET search_path = minikafka;
SELECT inbox_accept('stranger', 'e');
SELECT FROM topics;
RESET search_path;
RESET ROLE;

-- Through views of others: their functions run as the role that looks, and have
-- its rights, which are those of the topic
SET ROLE regress_owner;
SELECT minikafka.create_topic('denied', 1, segment_records => 5);
SELECT minikafka.send('denied', 'v');
SET ROLE regress_maker;
CREATE VIEW fetched AS SELECT value FROM minikafka.fetch_text('denied', 0, 0);
CREATE VIEW sent AS SELECT minikafka.send('denied', 'by a view');
CREATE VIEW named AS SELECT epoch FROM minikafka.init_producer('stranger');
CREATE VIEW joined AS SELECT minikafka.join_group('stranger', '{no_such_topic}');
CREATE VIEW topics AS SELECT topic FROM minikafka.topics;
GRANT SELECT ON fetched, sent, named, joined, topics TO regress_stranger;
SET ROLE regress_stranger;
SELECT * FROM fetched;
SELECT * FROM sent;
SELECT * FROM named;
SELECT * FROM joined;
SELECT * FROM topics;
RESET ROLE;
GRANT SELECT, INSERT ON minikafka_topics.denied TO regress_stranger;
SET ROLE regress_stranger;
SELECT value FROM fetched;
SELECT * FROM sent;
SELECT value FROM fetched;
SELECT * FROM joined;
-- what the view shows it is what it may see: the topic
SELECT topic FROM topics;
RESET ROLE;

-- An owner that has lost USAGE, or never had it, stops no sender: segments are made
-- when others commit, and by maintenance
GRANT INSERT ON minikafka_topics.denied TO regress_maker;
REVOKE USAGE ON SCHEMA minikafka FROM regress_owner;
SET ROLE regress_maker;
SELECT count(minikafka.send('denied', i::text)) FROM generate_series(1, 23) i;
RESET ROLE;
CALL minikafka.maintain();
SELECT DISTINCT relowner::regrole FROM pg_partition_tree('minikafka_topics.denied') JOIN pg_class c ON c.oid = relid;
SELECT topic, partition, end_offset, segments FROM minikafka.partitions;
SELECT * FROM minikafka.check_topic('denied');
-- it can look at its table
SET ROLE regress_owner;
SELECT count(*) FROM minikafka_topics.denied;
SELECT minikafka.drop_topic('denied');
-- and drop it
BEGIN;
DROP TABLE minikafka_topics.denied;
ROLLBACK;
RESET ROLE;
SELECT minikafka.drop_topic('denied');

-- A role that reads all data has USAGE on all schemas, and SELECT on the topics
SELECT minikafka.create_topic('read', 1);
SELECT minikafka.send('read', 'v');
GRANT pg_read_all_data TO regress_stranger;
SET ROLE regress_stranger;
SELECT value FROM minikafka.fetch_text('read', 0, 0);
SELECT minikafka.send('read', 'v');
SELECT minikafka.create_topic('mine');
RESET ROLE;
SELECT minikafka.drop_topic('read');

DROP VIEW fetched, sent, named, joined, topics;
REVOKE CREATE ON SCHEMA minikafka_topics FROM regress_owner;
REVOKE CREATE ON SCHEMA public FROM regress_maker;
REVOKE USAGE ON SCHEMA minikafka FROM regress_maker;
DROP ROLE regress_stranger, regress_owner, regress_maker;
SELECT group_id FROM minikafka.consumer_group WHERE group_id = 'stranger';
SELECT producer FROM minikafka.producer WHERE producer = 'stranger';
SELECT consumer FROM minikafka.inbox_consumer WHERE consumer = 'stranger';
