-- Disturbs the members of group airport-delay.  This session locks ORD's row of
-- airport_delay, so a member that reads flights from ORD waits in the middle of a
-- batch.  The first such member is killed.  The second one waits for longer than
-- its max poll interval.

-- Waits until a member waits for a lock of a session; returns the member.
CREATE FUNCTION pg_temp.waiting_for(session integer, OUT pid integer, OUT member text)
LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		PERFORM pg_stat_clear_snapshot();
		SELECT a.pid, a.application_name INTO pid, member
		FROM pg_stat_activity a
		WHERE session = ANY (pg_blocking_pids(a.pid)) AND a.application_name LIKE 'member-%';
		EXIT WHEN FOUND;
		IF clock_timestamp() > now() + interval '1 minute' THEN
			RAISE EXCEPTION 'no member waits for the lock';
		END IF;
		PERFORM pg_sleep(0.01);
	END LOOP;
END
$$;

BEGIN;
DO $$
DECLARE
	ord integer := minikafka.partition_for_key('flights', 'ORD');
	killed record;
	held_up record;
	last record;
BEGIN
	PERFORM FROM airport_delay WHERE airport = 'ORD' FOR UPDATE;

	killed := pg_temp.waiting_for(pg_backend_pid());
	RAISE NOTICE '% is killed in the middle of a batch; partition % stands at offset %',
		killed.member, ord, minikafka.committed('airport-delay', 'flights', ord);
	IF NOT pg_terminate_backend(killed.pid, 30000) THEN
		RAISE EXCEPTION '% does not terminate', killed.member;
	END IF;

	held_up := pg_temp.waiting_for(pg_backend_pid());
	RAISE NOTICE 'its session timeout has passed: % continues at offset %, and waits for a lock',
		held_up.member, minikafka.committed('airport-delay', 'flights', ord);

	last := pg_temp.waiting_for(held_up.pid);
	RAISE NOTICE 'its max poll interval has passed: % continues at offset %; % gets the lock',
		last.member, minikafka.committed('airport-delay', 'flights', ord), held_up.member;
END
$$;
\i examples/members.sql
COMMIT;
