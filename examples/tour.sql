-- A tour of minikafka: the statements of doc/tutorial.md, which explains them.
-- Paste them into psql, or run the file as a superuser in an empty database:
--
--     psql -f examples/tour.sql

-- ---------------------------------------------------------------------------
-- Topics and roles

-- Two tables of the application, and a topic with three partitions
CREATE EXTENSION IF NOT EXISTS minikafka;
SELECT minikafka.create_topic('orders', partitions => 3);
CREATE TABLE "order" (id integer PRIMARY KEY, customer text, amount numeric);
CREATE TABLE spent (customer text PRIMARY KEY, amount numeric);

-- Two roles: shop sends, and billing reads.  Nothing is allowed until it is granted.
CREATE ROLE shop;
CREATE ROLE billing;
GRANT USAGE ON SCHEMA minikafka TO shop, billing;
GRANT INSERT ON minikafka_topics.orders, "order" TO shop;
GRANT SELECT ON minikafka_topics.orders TO billing;
GRANT SELECT, INSERT, UPDATE ON spent TO billing;

-- ---------------------------------------------------------------------------
-- Send

-- The record and the row are committed, or rolled back, together.  send() returns
-- the number of the partition, which the key chooses.
SET ROLE shop;
BEGIN;
INSERT INTO "order" VALUES (1, 'ann', 40);
SELECT minikafka.send('orders', '{"order": 1, "amount": 40}'::jsonb, key => 'ann');
COMMIT;

BEGIN;
INSERT INTO "order" VALUES (2, 'ann', 7);
SELECT minikafka.send('orders', '{"order": 2, "amount": 7}'::jsonb, key => 'ann') AS rolled_back;
ROLLBACK;

BEGIN;
INSERT INTO "order" VALUES (3, 'ann', 2);
SELECT minikafka.send('orders', '{"order": 3, "amount": 2}'::jsonb, key => 'ann');
COMMIT;

-- ---------------------------------------------------------------------------
-- Read

-- The record of the rolled back transaction has no offset: there is no gap.
SET ROLE billing;
SELECT "offset", key, value FROM minikafka.fetch_json('orders', 2, 0);

-- ---------------------------------------------------------------------------
-- Consume

-- The timeouts are for typing by hand; the defaults are 45 s and 5 min.
SELECT minikafka.join_group('billing', '{orders}', member_id => 'worker-1',
  session_timeout => '1 hour', max_poll_interval => '1 hour');

-- Poll, work, and commit, in one transaction
BEGIN;
INSERT INTO spent
  SELECT key, sum((value->>'amount')::numeric)
  FROM minikafka.poll_json('billing', 'worker-1') GROUP BY key ORDER BY key
  ON CONFLICT (customer) DO UPDATE SET amount = spent.amount + excluded.amount;
SELECT * FROM minikafka.commit('billing', 'worker-1');
COMMIT;

SELECT * FROM spent;

-- ---------------------------------------------------------------------------
-- When the work fails

-- A batch that is rolled back is polled again.
SET ROLE shop;
SELECT minikafka.send('orders', '{"order": 4, "amount": 9}'::jsonb, key => 'ann');

SET ROLE billing;
BEGIN;
SELECT "offset", value FROM minikafka.poll_json('billing', 'worker-1');
ROLLBACK;

BEGIN;
SELECT "offset", value AS again FROM minikafka.poll_json('billing', 'worker-1');
UPDATE spent SET amount = amount + 9 WHERE customer = 'ann';
SELECT * FROM minikafka.commit('billing', 'worker-1');
COMMIT;

-- ---------------------------------------------------------------------------
-- Share the work

-- The partition moves when its owner has committed all that it has polled.
SELECT minikafka.join_group('billing', '{orders}', member_id => 'worker-2',
  session_timeout => '1 hour', max_poll_interval => '1 hour');
SELECT topic, partition, revoking FROM minikafka.assignment('billing', 'worker-1') ORDER BY partition;

SELECT count(*) FROM minikafka.poll('billing', 'worker-1');
SELECT topic, partition FROM minikafka.assignment('billing', 'worker-2');

-- ---------------------------------------------------------------------------
-- Look at what there is

-- Which member has which partition, how far behind it is, and what the topic holds
SET ROLE shop;
SELECT minikafka.send('orders', '{"order": 5, "amount": 1}'::jsonb, key => 'ann');

SET ROLE billing;
SELECT partition, end_offset, committed_offset, lag, member_id FROM minikafka.lag('billing', 'orders');
SELECT * FROM minikafka.partitions ORDER BY partition;

-- The topic is a table.
SELECT "offset", convert_from(value, 'UTF8') AS value FROM minikafka_topics.orders WHERE partition = 2 ORDER BY "offset";

-- ---------------------------------------------------------------------------
-- A trigger as outbox

-- Each change of the table becomes a record.  A record without a value is a
-- tombstone: its key is gone.
RESET ROLE;
SELECT minikafka.create_topic('customers', partitions => 1);
CREATE TABLE customer (id integer PRIMARY KEY, name text, password text);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON customer FOR EACH ROW
  EXECUTE FUNCTION minikafka.outbox('customers', 'id', '-password');
GRANT SELECT, INSERT, UPDATE, DELETE ON customer TO shop;
GRANT INSERT ON minikafka_topics.customers TO shop;
GRANT SELECT ON minikafka_topics.customers TO billing;

SET ROLE shop;
INSERT INTO customer VALUES (1, 'ann', 'secret');
UPDATE customer SET name = 'anne';
DELETE FROM customer;

SET ROLE billing;
SELECT "offset", key, value, headers->>'op' AS op FROM minikafka.fetch_text('customers', 0, 0);

-- ---------------------------------------------------------------------------
-- Repeats

-- A producer numbers its records.  A record whose number has been sent already is
-- left out.
SET ROLE shop;
SELECT minikafka.send('orders', '{"order": 9}'::jsonb, partition => 0, producer => 'import', sequence => 0);
SELECT minikafka.send('orders', '{"order": 9}'::jsonb, partition => 0, producer => 'import', sequence => 0) AS repeat;

SET ROLE billing;
SELECT "offset", key, value FROM minikafka.fetch_text('orders', 0, 0);

-- ---------------------------------------------------------------------------
-- An inbox

-- True only for the first arrival of an event
BEGIN;
SELECT minikafka.inbox_accept('payments', 'event-4711');
INSERT INTO spent VALUES ('eve', 3);
COMMIT;

SELECT minikafka.inbox_accept('payments', 'event-4711') AS again;

-- ---------------------------------------------------------------------------
-- Keep logs short

-- How long, and what, a topic keeps.  By default maintain() compacts only records
-- older than an hour: the last line is for this tour.
RESET ROLE;
SELECT minikafka.set_topic_option('orders', 'retention', '7 days');
SELECT minikafka.set_topic_option('customers', 'cleanup_policy', 'compact');
SELECT minikafka.set_topic_option('customers', 'min_compaction_lag', '0');

-- maintain() applies the options.  Something must call it every minute or so.
CALL minikafka.maintain();
SELECT "offset", key, value FROM minikafka.fetch_text('customers', 0, 0);

-- Of each key only the newest record stays.
INSERT INTO customer VALUES (2, 'bob', 'x'), (3, 'cid', 'y');
UPDATE customer SET name = upper(name);
CALL minikafka.compact('customers');
SELECT "offset", convert_from(value, 'UTF8') AS value FROM minikafka.latest('customers');

-- In a week the orders are too old.
SET minikafka.clock_offset = '7d';
CALL minikafka.expire('orders');
RESET minikafka.clock_offset;
SELECT * FROM minikafka.partitions WHERE topic = 'orders' ORDER BY partition;

-- ---------------------------------------------------------------------------
-- A consumer's loop

-- Until nothing is left to read.  A service would wait with max_wait instead.
CREATE PROCEDURE consume(member text) LANGUAGE plpgsql AS $$
DECLARE
  batch integer;
BEGIN
  LOOP
    WITH records AS (
      SELECT key, value FROM minikafka.poll_json('billing', member, max_records => 20)
    ), done AS (
      INSERT INTO spent
        SELECT key, sum((value->>'amount')::numeric) FROM records GROUP BY key ORDER BY key
        ON CONFLICT (customer) DO UPDATE SET amount = spent.amount + excluded.amount
    )
    SELECT count(*) INTO batch FROM records;
    PERFORM minikafka.commit('billing', member);
    COMMIT;
    EXIT WHEN batch = 0;
  END LOOP;
END
$$;

SET ROLE shop;
SELECT count(minikafka.send('orders', '{"amount": 1}'::jsonb, key => 'customer ' || i % 10))
  FROM generate_series(1, 1000) AS i;

SET ROLE billing;
CALL consume('worker-1');
CALL consume('worker-2');
SELECT count(*), sum(amount) FROM spent WHERE customer LIKE 'customer %';

-- The partitions of a member that leaves move at once.
SELECT minikafka.leave_group('billing', 'worker-2');
SELECT minikafka.leave_group('billing', 'worker-1');
SELECT group_id, state, members FROM minikafka.groups;

-- ---------------------------------------------------------------------------
-- Records one by one

-- A share group, whose workers need not join; it tries each record twice.
RESET ROLE;
SELECT minikafka.create_topic('mails', partitions => 1);
SELECT minikafka.create_topic('mails.dead', partitions => 1, max_message_bytes => 2000000);
SELECT minikafka.create_share_group('mailers', '{mails}', max_deliveries => 2, backoff => '0 s', dead_letter_topic => 'mails.dead');
SELECT minikafka.send_many('mails', '{welcome,receipt,welcome}', '{ann,ann,bob}') AS sent;

-- One record fails.  The next one of its key is released, others are accepted.
BEGIN;
SELECT key, value, minikafka.acknowledge('mailers', receipt,
    CASE WHEN (key, value) = ('ann', 'welcome') THEN 'fail' ELSE 'accept' END, 'mailbox is full')
  FROM minikafka.acquire_text('mailers', max_records => 10);
COMMIT;

-- Its second failure makes it a dead letter.
BEGIN;
SELECT key, value, delivery_count, minikafka.acknowledge('mailers', receipt,
    CASE WHEN (key, value) = ('ann', 'welcome') THEN 'fail' ELSE 'accept' END, 'mailbox is full')
  FROM minikafka.acquire_text('mailers', max_records => 10);
COMMIT;
SELECT key, value, headers->>'__dlq.errors.message' AS error FROM minikafka.fetch_text('mails.dead', 0, 0);

-- Dead letters can be sent back, each once.
SELECT minikafka.redrive('mails.dead');
SELECT key, value FROM minikafka.acquire_text('mailers', accept => true);

-- ---------------------------------------------------------------------------
-- Clean up

-- Leaves nothing behind
SELECT minikafka.delete_group('mailers');
SELECT minikafka.drop_topic('orders');
SELECT minikafka.drop_topic('customers');
SELECT minikafka.drop_topic('mails');
SELECT minikafka.drop_topic('mails.dead');
DROP PROCEDURE consume;
DROP TABLE "order", spent, customer;
DROP EXTENSION minikafka;
DROP OWNED BY shop, billing;
DROP ROLE shop, billing;
