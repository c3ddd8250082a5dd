--
-- Consumers that fail: records that cannot be worked on, batches that take too
-- long, partitions that move in the middle of the work
--
SET client_min_messages = warning;
-- What a poll returns, in short
CREATE FUNCTION pg_temp.poll(g text, m text, most int DEFAULT 100) RETURNS TABLE (read text) LANGUAGE sql AS $$
	SELECT topic || '/' || partition || ': ' || string_agg("offset"::text, ' ' ORDER BY "offset")
	FROM minikafka.poll(g, m, most) GROUP BY topic, partition ORDER BY topic COLLATE "C", partition
$$;
-- A consumer that never gives up: so many batches, each a transaction with its
-- commit; a batch that has the record fails
CREATE PROCEDURE pg_temp.consume(g text, m text, batches int, bad text, most int DEFAULT 100) LANGUAGE plpgsql AS $$
DECLARE
	got text;
BEGIN
	FOR i IN 1..batches LOOP
		SELECT coalesce(string_agg(partition || '/' || "offset", ' ' ORDER BY partition, "offset"), '-') INTO got
		FROM minikafka.poll(g, m, most);
		PERFORM minikafka.commit(g, m);
		IF ' ' || got || ' ' LIKE '% ' || bad || ' %' THEN
			ROLLBACK;
			INSERT INTO work VALUES (i, got || ' failed');
		ELSE
			INSERT INTO work VALUES (i, got);
		END IF;
		COMMIT;
	END LOOP;
END $$;
CREATE TABLE work (batch int, records text);

-- A record that always fails confines itself to its partition: after a batch was
-- rolled back, its partitions are polled alone, the first one last; those that
-- are committed then are polled together again
SELECT minikafka.create_topic('failing', 4);
SELECT count(minikafka.send('failing', 'v', partition => p)) FROM generate_series(0, 3) p, generate_series(1, 3);
SELECT minikafka.join_group('f', '{failing}', 'm');
CALL pg_temp.consume('f', 'm', 6, '1/1');
TABLE work ORDER BY batch;
SELECT partition, committed_offset FROM minikafka.lag('f') ORDER BY 1;
-- the others go on: one batch of two, and its own fails in between
TRUNCATE work;
SELECT count(minikafka.send('failing', 'v', partition => p)) FROM generate_series(0, 3) p, generate_series(1, 2);
CALL pg_temp.consume('f', 'm', 4, '1/1');
TABLE work ORDER BY batch;
SELECT partition, committed_offset FROM minikafka.lag('f') ORDER BY 1;
-- also with small batches, of partitions that always have more: each has its turn
TRUNCATE work;
SELECT count(minikafka.send('failing', 'v', partition => p)) FROM generate_series(0, 3) p, generate_series(1, 20);
CALL pg_temp.consume('f', 'm', 9, '1/1', 4);
TABLE work ORDER BY batch;
-- in whatever session it is got over: then it is as any other
SELECT minikafka.seek('f', 'm', 'failing', 1, 2);
TRUNCATE work;
CALL pg_temp.consume('f', 'm', 4, 'none', 5);
TABLE work ORDER BY batch;
SELECT partition, committed_offset FROM minikafka.lag('f') ORDER BY 1;
-- in batches of several partitions
SELECT minikafka.join_group('f2', '{failing}', 'm');
TRUNCATE work;
CALL pg_temp.consume('f2', 'm', 6, '2/0', 40);
TABLE work ORDER BY batch;
SELECT partition, committed_offset FROM minikafka.lag('f2') ORDER BY 1;
-- to a savepoint as well
SELECT minikafka.join_group('f3', '{failing}', 'm');
BEGIN;
SAVEPOINT s;
SELECT * FROM pg_temp.poll('f3', 'm', 30);
ROLLBACK TO s;
SELECT * FROM pg_temp.poll('f3', 'm', 2);
SAVEPOINT s;
SELECT * FROM pg_temp.poll('f3', 'm', 2);
ROLLBACK TO s;
SELECT * FROM pg_temp.poll('f3', 'm', 2);
SELECT * FROM minikafka.commit('f3', 'm') ORDER BY 2;
COMMIT;
-- after a seek() too it is what was polled that was rolled back, and no more
SELECT minikafka.create_topic('sought', 2);
SELECT count(minikafka.send('sought', 'v', partition => p)) FROM generate_series(0, 1) p, generate_series(1, 6);
SELECT minikafka.join_group('s', '{sought}', 'm');
BEGIN;
SELECT * FROM pg_temp.poll('s', 'm', 2);
SELECT minikafka.seek('s', 'm', 'sought', 0, 6);
ROLLBACK;
SELECT minikafka.seek('s', 'm', 'sought', 0, 3);
SELECT * FROM pg_temp.poll('s', 'm', 5);
SELECT minikafka.seek('s', 'm', 'sought', 0, 1), minikafka.seek('s', 'm', 'sought', 1, 0);
SELECT * FROM pg_temp.poll('s', 'm');
-- back to where the poll began, and before
SELECT minikafka.seek('s', 'm', 'sought', p, 2) FROM generate_series(0, 1) p;
BEGIN;
SELECT * FROM pg_temp.poll('s', 'm', 2);
SELECT minikafka.seek('s', 'm', 'sought', p, 0) FROM generate_series(0, 1) p;
ROLLBACK;
SELECT * FROM pg_temp.poll('s', 'm');
SELECT * FROM pg_temp.poll('s', 'm');
-- poll() itself fails: a record that is no JSON, nothing that says where to begin
SELECT minikafka.create_topic('mixed', 3);
SELECT minikafka.send('mixed', 'no JSON', partition => 1), minikafka.send('mixed', '{}', partition => 0), minikafka.send('mixed', '{}', partition => 2);
SELECT minikafka.join_group('j', '{mixed}', 'm');
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT count(minikafka.send('mixed', '{}', partition => p)) FROM unnest('{0, 2}'::int[]) p;
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT partition, value FROM minikafka.poll_json('j', 'm');
SELECT minikafka.join_group('n', '{mixed}', 'm', auto_offset_reset => 'none');
SELECT minikafka.commit_offset('n', 'mixed', p, 0, member_id => 'm') FROM unnest('{0, 2}'::int[]) p;
SELECT partition FROM minikafka.poll('n', 'm', 1);
SELECT partition FROM minikafka.poll('n', 'm', 1);
SELECT partition FROM minikafka.poll('n', 'm', 1);
SELECT partition FROM minikafka.poll('n', 'm', 1);
-- a member that waits first comes to the others all the same: it is poll() that tells
CALL minikafka.wait_for_records('n', 'm', '0');
\echo :SQLSTATE

-- Half of a hundred partitions have such a record: the others are read all the same
SELECT minikafka.create_topic('crowd', 100);
SELECT count(minikafka.send('crowd', 'v', partition => p)) FROM generate_series(0, 99) p;
SELECT minikafka.join_group('crowd', '{crowd}', 'm');
DO $$
DECLARE
	bad boolean;
BEGIN
	FOR i IN 1..300 LOOP
		SELECT coalesce(bool_or(partition % 2 = 1), false) INTO bad FROM minikafka.poll('crowd', 'm');
		PERFORM minikafka.commit('crowd', 'm');
		IF bad THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END $$;
SELECT count(committed_offset), sum(committed_offset) FROM minikafka.lag('crowd');
SELECT minikafka.leave_group('crowd', 'm');
SELECT minikafka.delete_group('crowd');
SELECT minikafka.drop_topic('crowd');

-- A partition of which something is polled and not committed stays with its
-- owner, and assignment() tells that it is to go
SELECT minikafka.create_topic('r', 2);
SELECT minikafka.send('r', 'v', key => 'k', partition => 1) FROM generate_series(1, 3);
SELECT minikafka.join_group('g', '{r}', 'old');
SELECT partition, "offset" FROM minikafka.poll('g', 'old');
SELECT minikafka.join_group('g', '{r}', 'new');
SELECT partition, "offset" FROM minikafka.poll('g', 'old');
SELECT partition, "offset" FROM minikafka.poll('g', 'new');
SELECT m, a.* FROM unnest('{old, new}'::text[]) m, minikafka.assignment('g', m) a ORDER BY partition;
-- records that come meanwhile are for the new owner
SELECT minikafka.send('r', 'w', partition => 1);
SELECT count(*) FROM minikafka.poll('g', 'old');
-- some of them committed is not all
SELECT minikafka.commit_offset('g', 'r', 1, 2, member_id => 'old');
SELECT m, a.* FROM unnest('{old, new}'::text[]) m, minikafka.assignment('g', m) a ORDER BY partition;
SELECT minikafka.commit_offset('g', 'r', 1, 3, member_id => 'old');
SELECT m, a.* FROM unnest('{old, new}'::text[]) m, minikafka.assignment('g', m) a ORDER BY partition;
SELECT partition, "offset" FROM minikafka.poll('g', 'new');
-- a seek() beyond what there is cannot be committed, and keeps nothing
SELECT minikafka.leave_group('g', 'new');
SELECT minikafka.seek('g', 'old', 'r', 1, 3);
SELECT minikafka.join_group('g', '{r}', 'new');
SELECT count(*) FROM minikafka.commit('g', 'old');
SELECT m, a.* FROM unnest('{old, new}'::text[]) m, minikafka.assignment('g', m) a ORDER BY partition;
-- back to what is committed already: the next poll lets go
SELECT minikafka.leave_group('g', 'new');
SELECT minikafka.seek('g', 'old', 'r', 1, 0);
SELECT count(*) FROM minikafka.poll('g', 'old', 2);
SELECT minikafka.join_group('g', '{r}', 'new');
SELECT count(*) FROM minikafka.poll('g', 'old');
SELECT m, a.* FROM unnest('{old, new}'::text[]) m, minikafka.assignment('g', m) a ORDER BY partition;

-- Members that do not poll in time get less to do: half of what there is for each
-- such time, and twice as much for each ten max poll intervals that pass after
SELECT minikafka.create_topic('slow', 2);
SELECT count(minikafka.send('slow', 'job', partition => i % 2)) FROM generate_series(1, 200) i;
SELECT minikafka.join_group('slow', '{slow}', 'a', max_poll_interval => '6 s');
SELECT count(*) FROM minikafka.poll('slow', 'a');
SET minikafka.clock_offset = 7;
SELECT minikafka.commit('slow', 'a');
SELECT count(*) FROM minikafka.poll('slow', 'a');
\echo :LAST_ERROR_SQLSTATE
SELECT minikafka.join_group('slow', '{slow}', 'a', max_poll_interval => '6 s');
SELECT halved, halved_for FROM minikafka.consumer_group WHERE group_id = 'slow';
BEGIN;
SELECT count(*) FROM minikafka.poll('slow', 'a', 31);
SELECT count(*) FROM minikafka.commit('slow', 'a');
COMMIT;
SELECT minikafka.join_group('slow', '{slow}', 'b', max_poll_interval => '6 s');
SELECT count(*) FROM minikafka.poll('slow', 'b');
-- that two were too slow at the same time counts once
SET minikafka.clock_offset = 14;
SELECT minikafka.join_group('slow', '{slow}', 'c', session_timeout => '1 h', max_poll_interval => '1 h');
SELECT member_id, removed_why FROM minikafka.group_member WHERE removed_at IS NOT NULL ORDER BY 1;
SELECT halved, halved_for FROM minikafka.consumer_group WHERE group_id = 'slow';
SELECT count(*) FROM minikafka.poll('slow', 'c');
-- not more than there is
SELECT minikafka.seek('slow', 'c', 'slow', 0, 99), minikafka.seek('slow', 'c', 'slow', 1, 95);
SELECT count(*) FROM minikafka.poll('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'c');
-- and back
SELECT minikafka.seek('slow', 'c', 'slow', p, 0) FROM generate_series(0, 1) p;
SET minikafka.clock_offset = 80;
SELECT count(*) FROM minikafka.poll('slow', 'c');
SET minikafka.clock_offset = 140;
SELECT count(*) FROM minikafka.poll('slow', 'c');
-- that a member was not heard of says nothing of its work
SELECT minikafka.join_group('slow', '{slow}', 'd', session_timeout => '5 s', max_poll_interval => '6 s');
SELECT minikafka.commit('slow', 'c');
SELECT count(*) FROM minikafka.poll('slow', 'd');
SET minikafka.clock_offset = 150;
SELECT count(*) FROM minikafka.poll('slow', 'c', 1);
SELECT member_id, removed_why FROM minikafka.group_member WHERE removed_at IS NOT NULL ORDER BY 1;
SELECT count(*) FROM minikafka.poll('slow', 'c', 50);
-- nor does what happened to a group of the same name before
RESET minikafka.clock_offset;
SELECT minikafka.leave_group('slow', 'c');
SELECT minikafka.leave_group('slow', 'd');
SELECT minikafka.delete_group('slow');
SELECT minikafka.commit_offset('slow', 'slow', 0, 0);
SELECT halved, halved_at, halved_for FROM minikafka.consumer_group WHERE group_id = 'slow';

DROP TABLE work;
SELECT count(minikafka.drop_topic(topic)) FROM minikafka.topics;

-- no group stays for other tests, nor its generation
SET minikafka.clock_offset = 100000000;
DO 'BEGIN PERFORM minikafka.delete_group(group_id) FROM minikafka.groups; END';
RESET minikafka.clock_offset;
DELETE FROM minikafka.consumer_group;
