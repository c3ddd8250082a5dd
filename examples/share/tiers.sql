-- Retries for a consumer group, without its partitions standing still: a record
-- that fails goes to a topic whose records are polled a minute later, then to one
-- of ten minutes, then to the dead letters.  A share group does this by itself; this
-- is for groups that must stay consumer groups.
--
--     psql -f tiers.sql
--     psql -v first='1 second' -v second='2 seconds' -f tiers.sql    # to see it happen

\if :{?first}
\else
	\set first '1 minute'
	\set second '10 minutes'
\endif

-- All with as many partitions, so that a key has the same one in each.
SELECT minikafka.create_topic(topic, partitions => 2)
FROM unnest('{orders,orders-retry-1m,orders-retry-10m}'::text[]) topic;
SELECT minikafka.create_topic('orders.dead', partitions => 1, max_message_bytes => 2000000);
SELECT minikafka.set_topic_option('orders-retry-1m', 'delivery_delay', :'first');
SELECT minikafka.set_topic_option('orders-retry-10m', 'delivery_delay', :'second');

CREATE TABLE invoice (
	number bigint GENERATED ALWAYS AS IDENTITY,
	customer text NOT NULL,
	order_id integer NOT NULL,
	amount integer NOT NULL CHECK (amount > 0),
	PRIMARY KEY (order_id)
);

-- How many records of a customer are in each tier.  While there is one in a later
-- tier, the customer's records go after it, so that they stay in order.
CREATE TABLE retrying (
	customer text,
	tier integer,
	records bigint NOT NULL,
	PRIMARY KEY (customer, tier)
);

CREATE FUNCTION count_retry(customer text, tier integer, change integer)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO retrying AS r SELECT customer, tier, change WHERE tier > 1
	ON CONFLICT ON CONSTRAINT retrying_pkey DO UPDATE SET records = r.records + change;
$$;

-- One batch, to be called in a loop with COMMIT after each.
CREATE PROCEDURE invoice_orders(member text)
LANGUAGE plpgsql AS $$
DECLARE
	tiers constant text[] := '{orders,orders-retry-1m,orders-retry-10m}';
	r record;
	here integer;
BEGIN
	FOR r IN
		SELECT * FROM minikafka.poll_json('invoicing', member, max_records => 20, max_wait => '0.5s')
	LOOP
		here := array_position(tiers, r.topic);
		PERFORM count_retry(r.key, here, -1);
		BEGIN
			IF EXISTS (SELECT FROM retrying t
					WHERE t.customer = r.key AND t.tier > here AND t.records > 0) THEN
				RAISE 'an earlier order of the customer has failed';
			END IF;
			INSERT INTO invoice (customer, order_id, amount)
			VALUES (r.key, (r.value->>'id')::integer, (r.value->>'amount')::integer);
		EXCEPTION WHEN data_exception OR integrity_constraint_violation OR raise_exception THEN
			IF here < cardinality(tiers) THEN
				PERFORM minikafka.send(tiers[here + 1], r.value, key => r.key, headers => r.headers);
				PERFORM count_retry(r.key, here + 1, 1);
			ELSE
				PERFORM minikafka.dead_letter('invoicing', r.topic, r.partition, r."offset", 'orders.dead', SQLERRM);
			END IF;
		END;
	END LOOP;
	PERFORM minikafka.commit('invoicing', member);
END
$$;

-- Ann's second order fails each time; her third one waits for it.
SELECT minikafka.join_group('invoicing', '{orders,orders-retry-1m,orders-retry-10m}', 'worker');
SELECT count(minikafka.send('orders', jsonb_build_object('id', id, 'amount', amount), key => customer)) AS orders
FROM (VALUES (1, 'ann', '10'), (2, 'ann', 'ten'), (3, 'ann', '30'), (4, 'bob', '40')) AS o (id, customer, amount);
CALL invoice_orders('worker');
\echo Bob need not wait
SELECT customer, order_id FROM invoice ORDER BY number;
SELECT * FROM retrying;
