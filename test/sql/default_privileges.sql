--
-- A topic has the default privileges of its owner, and those of no other role;
-- the tables below it have none
--
CREATE ROLE regress_owner;
CREATE ROLE regress_spy;
CREATE ROLE regress_friend;
CREATE ROLE "regress Guest";
GRANT USAGE ON SCHEMA minikafka, minikafka_topics, minikafka_data TO regress_owner;
GRANT CREATE ON SCHEMA minikafka_topics TO regress_owner;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO regress_spy, PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA minikafka_topics, minikafka_data GRANT ALL ON TABLES TO regress_spy, "regress Guest";
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner IN SCHEMA minikafka_topics GRANT SELECT ON TABLES TO regress_friend;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner IN SCHEMA minikafka_data GRANT SELECT ON TABLES TO regress_spy;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner GRANT INSERT ON TABLES TO "regress Guest";
SELECT setval('minikafka.topic_id', 947000) \gset
CREATE VIEW granted AS
SELECT t.level, a.grantee::regrole, string_agg(a.privilege_type, ' ' ORDER BY a.privilege_type) FILTER (WHERE a.grantee <> c.relowner) AS privileges
FROM pg_partition_tree(to_regclass('minikafka_topics.private')) t JOIN pg_class c ON c.oid = t.relid, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
WHERE a.privilege_type <> 'MAINTAIN' -- is there from 17 on
GROUP BY 1, 2;

SET ROLE regress_owner;
SELECT minikafka.create_topic('private', 1, segment_records => 2);
SELECT minikafka.send('private', 'v') FROM generate_series(1, 5);
RESET ROLE;
SELECT * FROM granted ORDER BY 1, 2::text;
SET ROLE regress_spy;
SELECT * FROM minikafka_data.p947001_0_0;
SELECT * FROM minikafka_topics.private;
RESET ROLE;
SET ROLE regress_owner;
SELECT minikafka.drop_topic('private');
RESET ROLE;

-- also if they take the owner's own away
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM CURRENT_USER;
SET ROLE regress_owner;
SELECT minikafka.create_topic('private', 1, segment_records => 2);
SELECT minikafka.send('private', 'v') FROM generate_series(1, 5);
SELECT count(*) FROM minikafka_topics.private;
RESET ROLE;
SELECT * FROM granted ORDER BY 1, 2::text;
SELECT minikafka.drop_topic('private');

-- of a superuser's topic they are the superuser's
SELECT minikafka.create_topic('private', 1);
SELECT level, grantee, privileges FROM granted WHERE privileges IS NOT NULL ORDER BY 1, 2::text;
SELECT minikafka.drop_topic('private');

DROP VIEW granted;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO CURRENT_USER;
ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM regress_spy, PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA minikafka_topics, minikafka_data REVOKE ALL ON TABLES FROM regress_spy, "regress Guest";
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner IN SCHEMA minikafka_topics REVOKE SELECT ON TABLES FROM regress_friend;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner IN SCHEMA minikafka_data REVOKE SELECT ON TABLES FROM regress_spy;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_owner REVOKE INSERT ON TABLES FROM "regress Guest";
DROP OWNED BY regress_owner, regress_spy, regress_friend, "regress Guest";
DROP ROLE regress_owner, regress_spy, regress_friend, "regress Guest";
SELECT count(*) FROM pg_default_acl;
