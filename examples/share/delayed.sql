-- A job for later, and its cancellation: a passenger is reminded to check in, a day
-- before departure, but not if that is done by then.
--
--     psql -f delayed.sql

SELECT minikafka.create_topic('reminders', partitions => 4);
SELECT minikafka.create_share_group('reminding', '{reminders}');

CREATE TABLE booking (
	passenger text PRIMARY KEY,
	departs timestamptz NOT NULL,
	checked_in boolean NOT NULL DEFAULT false,
	reminder bigint NOT NULL
);

-- The booking and its reminder: both or none.
CREATE FUNCTION book(passenger text, departs timestamptz)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO booking (passenger, departs, reminder)
	VALUES (passenger, departs, minikafka.send_at('reminders',
		jsonb_build_object('departs', departs), departs - interval '1 day', key => passenger));
$$;

-- Returns whether the reminder is cancelled.  If not, it was sent: a worker looks at
-- the booking before it does something.
CREATE FUNCTION check_in(passenger text)
RETURNS boolean LANGUAGE sql AS $$
	UPDATE booking b SET checked_in = true WHERE b.passenger = check_in.passenger
	RETURNING minikafka.cancel_send(reminder);
$$;

SELECT book('bob', now() + interval '1 day 1 second'), book('eve', now() + interval '2 days');
\echo What is to come
SELECT id, topic, convert_from(key, 'UTF8') AS passenger, at < now() + interval '1 minute' AS soon
FROM minikafka.scheduled WHERE topic = 'reminders' ORDER BY id;
\echo Eve has checked in: no reminder
SELECT check_in('eve');

-- The background worker sends what is due.  Without it, this does, or maintain():
SELECT pg_sleep(1.1);
CALL minikafka.deliver_due();
\echo A worker gets what was sent
SELECT key AS passenger, minikafka.acknowledge('reminding', receipt)
FROM minikafka.acquire_text('reminding', max_records => 10) ORDER BY key;

\echo Too late to cancel
SELECT check_in('bob');
