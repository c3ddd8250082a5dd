-- The procedures of purchases.sh.

CREATE PROCEDURE produce(count integer)
LANGUAGE plpgsql AS $$
DECLARE
	new purchase;
BEGIN
	FOR i IN 0 .. count - 1 LOOP
		-- The row and its event: both or none.
		INSERT INTO purchase (customer, amount)
		VALUES ('customer ' || i % 10, i % 7 + 1) RETURNING * INTO new;
		PERFORM minikafka.send('purchases', to_jsonb(new), key => new.customer);
		COMMIT;
	END LOOP;
END
$$;

-- Polls, works and commits in one transaction, and repeats that until the group
-- has counted so many.  An error ends the procedure.  It cannot catch an error of
-- COMMIT, so the caller handles all errors, by their SQLSTATE.
CREATE PROCEDURE consume(group_id text, member text, count bigint)
LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		-- All members take the rows in one order, so that they cannot deadlock.
		INSERT INTO customer_total AS t
		SELECT consume.group_id, key, count(*), sum((value->>'amount')::numeric)
		FROM minikafka.poll_json(consume.group_id, member, max_records => 20, max_wait => '1s')
		GROUP BY key ORDER BY key
		ON CONFLICT ON CONSTRAINT customer_total_pkey DO UPDATE SET
			purchases = t.purchases + excluded.purchases,
			amount = t.amount + excluded.amount;
		PERFORM minikafka.commit(consume.group_id, member);
		COMMIT;
		EXIT WHEN (SELECT sum(purchases) >= consume.count FROM customer_total t
			WHERE t.group_id = consume.group_id);
	END LOOP;
END
$$;
