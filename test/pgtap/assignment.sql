--
-- Members by chance come and go, die, come back and poll, in groups of each
-- assignor and protocol; after each step the whole assignment is looked at.
--
-- What is expected of a step comes from a model of the members, and from how
-- the assignment was before.  The numbers are always the same, so a failure
-- comes again.
--
SELECT setseed(0.46);
SELECT minikafka.create_topic('steps_' || topic, partitions) FROM (VALUES ('a', 5), ('b', 3), ('c', 1)) v(topic, partitions);

-- Which member has a partition, which is to have it, and when it moves at the latest.
-- Members by their instance ids, if they have one: such may change the member id.
CREATE TYPE pg_temp.held AS (topic text, partition int, owner text, target text, moves_at timestamptz);
CREATE TYPE pg_temp.client AS (who text, member_id text, topics text[]);

CREATE TEMP VIEW live AS
SELECT group_no, member_no, member_id, coalesce(instance_id, member_id) AS who, topics
FROM minikafka.group_member WHERE removed_at IS NULL;

CREATE FUNCTION pg_temp.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
SELECT clock_timestamp() + current_setting('minikafka.clock_offset')::interval
$$;

-- PL/pgSQL, here and below, for the plans that it keeps
CREATE FUNCTION pg_temp.held(g text) RETURNS pg_temp.held[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT coalesce(array_agg((c.relname, a.partition, o.who, t.who, a.handover_at)::pg_temp.held), '{}')
		FROM minikafka.consumer_group
		JOIN minikafka.group_assignment a USING (group_no)
		JOIN minikafka.topic USING (topic_id)
		JOIN pg_class c ON c.oid = rel
		LEFT JOIN live o ON o.group_no = a.group_no AND o.member_no = a.owner
		LEFT JOIN live t ON t.group_no = a.group_no AND t.member_no = a.target
		WHERE group_id = g);
END
$$;

CREATE TEMP TABLE problems (group_id text, step int, what text, problem text);
CREATE TEMP TABLE counts (group_id text, what text, n int);

/*
 * All that must hold after a step, which began at "since".  released: the members that have
 * polled, committed or left, and so loses what was to move.
 */
CREATE FUNCTION pg_temp.check(g text, assignor text, protocol text, clients pg_temp.client[], before pg_temp.held[], after pg_temp.held[], released text[], since timestamptz)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	alike boolean := (SELECT count(DISTINCT topics) <= 1 FROM unnest(clients));
	c pg_temp.client;
BEGIN
	IF (SELECT array_agg((l.who, l.member_id, l.topics)::pg_temp.client ORDER BY l.who COLLATE "C") FROM live l JOIN minikafka.consumer_group USING (group_no) WHERE group_id = g)
		IS DISTINCT FROM (SELECT array_agg(m ORDER BY (m).who COLLATE "C") FROM unnest(clients) m)
	THEN
		RETURN NEXT 'the members are others';
	END IF;
	IF (SELECT string_agg(topic || '/' || partition, ' ' ORDER BY topic COLLATE "C", partition) FROM unnest(after))
		IS DISTINCT FROM (SELECT string_agg(topic || '/' || p, ' ' ORDER BY topic COLLATE "C", p) FROM minikafka.topics, generate_series(0, partitions - 1) p
			WHERE topic IN (SELECT unnest(m.topics) FROM unnest(clients) m))
	THEN
		RETURN NEXT 'not just the partitions of the subscribed topics are assigned';
	END IF;
	RETURN QUERY SELECT format('%s/%s is of %s and to be of %s, which are no members that subscribe to it', topic, partition, owner, target)
	FROM unnest(after) h
	WHERE NOT EXISTS (SELECT FROM unnest(clients) m WHERE m.who = h.owner AND h.topic = ANY (m.topics))
		OR NOT EXISTS (SELECT FROM unnest(clients) m WHERE m.who = h.target AND h.topic = ANY (m.topics));

	-- balanced; range: in each topic
	IF assignor = 'range' THEN
		RETURN QUERY SELECT format('topic %s is not balanced', topic)
		FROM (SELECT t.topic, count(h) AS n FROM (SELECT DISTINCT topic FROM unnest(after)) t
			JOIN unnest(clients) m ON t.topic = ANY (m.topics)
			LEFT JOIN unnest(after) h ON h.topic = t.topic AND h.target = m.who GROUP BY t.topic, m.who) v
		GROUP BY topic HAVING max(n) - min(n) > 1;
	ELSIF alike THEN
		RETURN QUERY SELECT 'the members are not balanced'
		FROM (SELECT count(h) AS n FROM unnest(clients) m LEFT JOIN unnest(after) h ON h.target = m.who GROUP BY m.who) v
		HAVING max(n) - min(n) > 1;
	END IF;

	-- Kafka case A28: what was one's and is now another's was let go, or its time
	-- was over; eager: nothing waits
	IF protocol = 'eager' THEN
		RETURN QUERY SELECT format('%s/%s is still of %s', topic, partition, owner) FROM unnest(after) WHERE owner <> target;
	ELSE
		RETURN QUERY SELECT format('%s/%s went from %s to %s at once', topic, partition, b.owner, a.owner)
		FROM unnest(before) b JOIN unnest(after) a USING (topic, partition)
		WHERE a.owner <> b.owner AND b.owner <> ALL (released) AND b.moves_at > pg_temp.clock() IS NOT false;
		RETURN QUERY SELECT format('%s has not let go of %s/%s', b.owner, topic, partition)
		FROM unnest(before) b JOIN unnest(after) a USING (topic, partition)
		WHERE b.owner <> b.target AND b.owner = ANY (released) AND a.owner = b.owner;
		-- the timeout of a minute, once the clock went on
		RETURN QUERY SELECT format('%s/%s moves at %s', topic, partition, moves_at)
		FROM unnest(after) WHERE moves_at <= since OR owner <> target AND moves_at IS NULL OR owner = target AND moves_at IS NOT NULL;
	END IF;

	-- what the members are told
	FOREACH c IN ARRAY clients LOOP
		IF (SELECT string_agg(topic || '/' || partition, ' ' ORDER BY topic COLLATE "C", partition) FROM minikafka.assignment(g, c.member_id) WHERE NOT revoking)
			IS DISTINCT FROM (SELECT string_agg(topic || '/' || partition, ' ' ORDER BY topic COLLATE "C", partition) FROM unnest(after) WHERE owner = c.who AND target = c.who)
		THEN
			RETURN NEXT format('assignment() of %s is another', c.who);
		END IF;
	END LOOP;
	RETURN QUERY SELECT format('the state is %s', state) FROM minikafka.groups
	WHERE group_id = g AND (members <> cardinality(clients) OR state <> CASE
		WHEN cardinality(clients) = 0 THEN 'Empty'
		WHEN EXISTS (SELECT FROM unnest(after) WHERE owner <> target) THEN 'Reconciling'
		ELSE 'Stable' END);
END
$$;

-- A client with a new name; half of them are static.
CREATE FUNCTION pg_temp.new_client(step int, alike boolean) RETURNS pg_temp.client LANGUAGE plpgsql AS $$
BEGIN
	RETURN (CASE WHEN step % 2 = 0 THEN 'i' ELSE 'm' END || step, 'm' || step, CASE
		WHEN alike THEN ARRAY['steps_a', 'steps_b', 'steps_c']
		-- steps_d: a topic that there mostly is not
		ELSE (ARRAY['{steps_a}', '{steps_b}', '{steps_a,steps_b}', '{steps_b,steps_c}', '{steps_a,steps_b,steps_c}', '{steps_c,steps_d}'])[1 + floor(random() * 6)]::text[]
		END)::pg_temp.client;
END
$$;

CREATE PROCEDURE pg_temp.join(g text, assignor text, protocol text, c pg_temp.client) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.join_group(g, c.topics, c.member_id,
		instance_id => CASE WHEN c.who LIKE 'i%' THEN c.who END, assignor => assignor, protocol => protocol,
		session_timeout => '1 hour', max_poll_interval => '24 days',
		-- some let go by themselves when the time goes on
		rebalance_timeout => CASE WHEN c.member_id LIKE '%3' THEN interval '1 minute' ELSE '24 days' END);
END
$$;

/*
 * The steps.  Each is a transaction, or a few; so this is to be called outside
 * one.  Stops at the first problem.
 */
CREATE PROCEDURE pg_temp.steps(g text, assignor text, protocol text, alike boolean, nsteps int) LANGUAGE plpgsql AS $$
DECLARE
	clients pg_temp.client[] := '{}';
	before pg_temp.held[];
	after pg_temp.held[] := '{}';
	released text[];
	generation_before int;
	since timestamptz;
	grows boolean; -- whether this step is a rebalance
	what text;
	c pg_temp.client;
	c2 pg_temp.client;
	changes int := 0;
	moved int := 0;
	pending int := 0;
BEGIN
	FOR step IN 1 .. nsteps LOOP
		before := after;
		generation_before := coalesce((SELECT generation FROM minikafka.groups WHERE group_id = g), 0);
		released := '{}';
		since := pg_temp.clock();
		c := clients[1 + floor(random() * cardinality(clients))];
		what := (ARRAY['join', 'join', 'join', 'leave', 'leave', 'expire', 'join again', 'take over', 'subscribe',
			'several', 'rolled back', 'poll', 'poll', 'commit', 'settle', 'topics'])[1 + floor(random() * 16)];
		IF c IS NULL OR what = 'join' AND cardinality(clients) >= 8 THEN
			what := CASE WHEN c IS NULL THEN 'join' ELSE 'leave' END;
		ELSIF what = 'take over' AND c.who = c.member_id THEN
			what := 'join again';
		ELSIF what = 'expire' AND cardinality(clients) = 1 THEN
			what := 'leave';
		ELSIF what = 'topics' AND changes = 2 THEN
			what := 'poll';
		END IF;
		grows := what NOT IN ('join again', 'take over', 'rolled back', 'poll', 'commit', 'settle');

		CASE what
		WHEN 'join' THEN
			c := pg_temp.new_client(step, alike);
			CALL pg_temp.join(g, assignor, protocol, c);
			clients := clients || c;
			COMMIT;

		WHEN 'leave' THEN
			PERFORM minikafka.leave_group(g, c.member_id);
			clients := array_remove(clients, c);
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'expire' THEN
			-- the others are heard of half-way; what waits longer than a minute moves
			clients := array_remove(clients, c);
			FOR i IN 1 .. 3 LOOP
				IF i < 3 THEN
					PERFORM set_config('minikafka.clock_offset', (extract(epoch FROM current_setting('minikafka.clock_offset')::interval) + 2400)::text, false);
				END IF;
				PERFORM minikafka.heartbeat(g, m.member_id) FROM unnest(clients) m;
				COMMIT;
			END LOOP;
			released := ARRAY[c.who];

		WHEN 'join again' THEN
			-- the same member, under the same id
			CALL pg_temp.join(g, assignor, protocol, c);
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'take over' THEN
			-- the same instance, under another id
			clients := array_remove(clients, c);
			c.member_id := 'm' || step;
			CALL pg_temp.join(g, assignor, protocol, c);
			clients := clients || c;
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'subscribe' THEN
			clients := array_remove(clients, c);
			c2 := pg_temp.new_client(step, false);
			grows := NOT alike AND c2.topics <> c.topics;
			IF NOT alike THEN
				c.topics := c2.topics;
			END IF;
			CALL pg_temp.join(g, assignor, protocol, c);
			clients := clients || c;
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'several' THEN
			-- one leaves and two join: one rebalance
			PERFORM minikafka.leave_group(g, c.member_id);
			released := ARRAY[c.who];
			clients := array_remove(clients, c);
			c := pg_temp.new_client(step, alike);
			CALL pg_temp.join(g, assignor, protocol, c);
			clients := clients || c;
			c := pg_temp.new_client(step + 100000, alike);
			CALL pg_temp.join(g, assignor, protocol, c);
			clients := clients || c;
			COMMIT;

		WHEN 'rolled back' THEN
			CALL pg_temp.join(g, assignor, protocol, pg_temp.new_client(step, alike));
			PERFORM minikafka.leave_group(g, c.member_id);
			ROLLBACK;
			-- so no member has looked
			since := '-infinity';

		WHEN 'topics' THEN
			-- a topic is made or dropped, or grows; a subscriber that is heard of notices
			changes := changes + 1;
			IF alike THEN
				PERFORM minikafka.add_partitions('steps_c', partitions + 1) FROM minikafka.topics WHERE topic = 'steps_c';
			ELSIF EXISTS (SELECT FROM minikafka.topics WHERE topic = 'steps_d') THEN
				PERFORM minikafka.drop_topic('steps_d');
			ELSE
				PERFORM minikafka.create_topic('steps_d', 2);
			END IF;
			COMMIT;
			c := (SELECT m FROM unnest(clients) m WHERE alike OR 'steps_d' = ANY (m.topics) LIMIT 1);
			grows := c IS NOT NULL;
			IF grows THEN
				PERFORM minikafka.heartbeat(g, c.member_id);
			ELSE
				since := '-infinity';
			END IF;
			COMMIT;

		WHEN 'poll' THEN
			PERFORM minikafka.poll(g, c.member_id);
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'commit' THEN
			PERFORM minikafka.commit(g, c.member_id);
			released := ARRAY[c.who];
			COMMIT;

		WHEN 'settle' THEN
			-- once each has polled, all have what is theirs
			FOREACH c IN ARRAY clients LOOP
				PERFORM minikafka.poll(g, c.member_id);
				COMMIT;
			END LOOP;
			released := (SELECT array_agg(m.who) FROM unnest(clients) m);
		END CASE;

		after := pg_temp.held(g);
		INSERT INTO problems SELECT g, step, what, format('generation %s after %s', generation, generation_before)
		FROM minikafka.groups WHERE group_id = g AND generation <> generation_before + grows::int;
		INSERT INTO problems SELECT g, step, what, problem FROM pg_temp.check(g, assignor, protocol, clients, before, after, released, since) problem;
		moved := moved + (SELECT count(*) FROM unnest(before) b JOIN unnest(after) a USING (topic, partition) WHERE a.owner <> b.owner);
		pending := pending + (SELECT count(*) FROM unnest(before) WHERE owner <> target);
		EXIT WHEN EXISTS (SELECT FROM problems WHERE group_id = g);
	END LOOP;

	PERFORM minikafka.drop_topic('steps_d', if_exists => true);
	INSERT INTO counts VALUES (g, 'moved', moved), (g, 'pending', pending);
	PERFORM minikafka.leave_group(g, m.member_id) FROM unnest(clients) m;
	COMMIT;
	IF NOT EXISTS (SELECT FROM problems WHERE group_id = g) THEN
		PERFORM minikafka.delete_group(g);
	END IF;
END
$$;

SET client_min_messages = warning;
SELECT format('CALL pg_temp.steps(%L, %L, %L, %L, 170)', assignor || ' ' || protocol || CASE WHEN alike THEN '' ELSE ', subscriptions differ' END, assignor, protocol, alike)
FROM unnest(ARRAY['sticky', 'range', 'roundrobin']) assignor, unnest(ARRAY['cooperative', 'eager']) protocol, unnest(ARRAY[true, false]) alike
\gexec
SELECT minikafka.drop_topic('steps_' || topic) FROM unnest(ARRAY['a', 'b', 'c']) topic;
RESET minikafka.clock_offset;

BEGIN;
SELECT plan(25);
SELECT is_empty(format('SELECT step, what, problem FROM problems WHERE group_id = %L', group_id), '170 steps of group ' || group_id)
FROM counts WHERE what = 'moved';
-- the steps did do something
SELECT cmp_ok(n, '>', 50, 'partitions moved in group ' || group_id) FROM counts WHERE what = 'moved';
SELECT is(count(*) FILTER (WHERE n > 50 AND group_id LIKE '% cooperative%'), 6::bigint, 'partitions waited for their owners')
FROM counts WHERE what = 'pending';
SELECT * FROM finish();
ROLLBACK;
