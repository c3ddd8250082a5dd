-- A consumer group that stands still at a record that always fails becomes a share
-- group, which goes on where it stood.
--
--     psql -f stuck.sql

SELECT minikafka.create_topic('bills', partitions => 2);
SELECT minikafka.create_topic('bills.dead', partitions => 1, max_message_bytes => 2000000);
CREATE TABLE bill (order_id integer PRIMARY KEY, amount integer NOT NULL CHECK (amount > 0));
SELECT count(minikafka.send('bills', jsonb_build_object('order', i, 'amount', CASE i WHEN 42 THEN -1 ELSE i END),
	key => 'customer ' || i % 10, partition => i % 2)) AS bills
FROM generate_series(1, 100) i;

-- The consumer group, with batches of ten
CREATE PROCEDURE make_bills()
LANGUAGE plpgsql AS $$
BEGIN
	WHILE (SELECT sum(lag) > 0 FROM minikafka.lag('billing')) LOOP
		INSERT INTO bill
		SELECT (value->>'order')::integer, (value->>'amount')::integer
		FROM minikafka.poll_json('billing', 'worker', max_records => 10);
		PERFORM minikafka.commit('billing', 'worker');
		COMMIT;
	END LOOP;
END
$$;
SELECT minikafka.join_group('billing', '{bills}', 'worker');

\echo The work fails, and fails again: the amount of order 42 is negative
\set ON_ERROR_STOP off
CALL make_bills();
CALL make_bills();
CALL make_bills();
\set ON_ERROR_STOP on
SELECT partition, committed_offset, lag FROM minikafka.lag('billing') ORDER BY partition;

-- The member stops, and a share group takes over where the consumer group stands.  Its
-- workers need no membership, and a record that fails holds up its key only.
SELECT minikafka.leave_group('billing', 'worker');
BEGIN;
SELECT minikafka.create_share_group('bill jobs', '{bills}',
	max_deliveries => 2, backoff => '100ms', dead_letter_topic => 'bills.dead');
SELECT partition, "offset" FROM minikafka.reset_offsets('bill jobs', 'bills', 'group:billing');
SELECT minikafka.delete_group('billing');
COMMIT;

CREATE PROCEDURE do_bill_jobs()
LANGUAGE plpgsql AS $$
DECLARE
	job record;
BEGIN
	LOOP
		FOR job IN
			SELECT value, receipt FROM minikafka.acquire_json('bill jobs', max_records => 10, max_wait => '1s')
		LOOP
			BEGIN
				CONTINUE WHEN minikafka.acknowledge('bill jobs', job.receipt) = 'released';
				INSERT INTO bill VALUES ((job.value->>'order')::integer, (job.value->>'amount')::integer);
			EXCEPTION WHEN OTHERS THEN
				PERFORM minikafka.acknowledge('bill jobs', job.receipt, 'fail', SQLERRM);
			END;
		END LOOP;
		EXIT WHEN NOT FOUND; -- a worker goes on for ever, this example does not
		COMMIT;
	END LOOP;
END
$$;
CALL do_bill_jobs();

\echo All others are done, each once
SELECT count(*) AS bills FROM bill;
SELECT value, headers->>'__dlq.errors.message' AS error FROM minikafka.fetch_text('bills.dead', 0, 0);
