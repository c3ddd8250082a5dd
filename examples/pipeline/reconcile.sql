-- Compares the tables that the stages wrote with the topics.

\pset footer off
\echo
\echo Positions
TABLE position ORDER BY account, isin;

\echo Trades with late amendments, by the two clocks
SELECT h.trade, event_id, h.quantity, h.effective_at AT TIME ZONE 'UTC' AS effective_at,
	row_number() OVER (PARTITION BY h.trade ORDER BY observed_at) AS observed,
	row_number() OVER (PARTITION BY h.trade ORDER BY number) AS booked,
	h.current, t.quantity AS now, t.settled
FROM trade_history h JOIN trade t ON t.id = h.trade
WHERE t.id IN (SELECT trade FROM trade_history GROUP BY trade HAVING NOT bool_and(current))
ORDER BY t.id, h.effective_at;

\echo Quarantine
SELECT f.key, f.value->>'event_id' AS event_id, f.value->>'schema_version' AS version,
	f.value->'data'->>'quantity' AS quantity, f.headers->>'reason' AS reason
FROM minikafka.offsets('quarantine', 0) o
CROSS JOIN LATERAL minikafka.fetch_json('quarantine', 0, o.log_start_offset, 1000) f
ORDER BY "offset";

\echo Dead letters, which were sent back
SELECT key, f.value->>'event_id' AS event_id, f.value->'data'->>'isin' AS isin,
	f.headers->>'__dlq.errors.message' AS error
FROM generate_series(0, 3) partition
CROSS JOIN LATERAL minikafka.fetch_json('executions.dead', partition, 0, 1000) f
ORDER BY f.partition, f."offset";

\echo Time from effective_at to the durable position, in milliseconds
SELECT way, count(*),
	round(1000 * extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY to_log))) AS to_log,
	round(1000 * extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY to_enriched))) AS to_enriched,
	round(1000 * extract(epoch FROM percentile_disc(0.5) WITHIN GROUP (ORDER BY to_position))) AS to_position,
	round(1000 * extract(epoch FROM max(to_position))) AS longest
FROM time_to_position GROUP BY way ORDER BY way;

-- Of several events with the same id the first one counts.
CREATE TEMP VIEW first AS
SELECT DISTINCT ON (topic, id) topic, "offset", headers, event, trade, id,
	(event->'data'->>'quantity')::bigint AS quantity
FROM log
WHERE (event->>'schema_version')::integer = 1
ORDER BY topic, id, ts, "offset";

-- The newest event by the business clock decides what a trade is.
CREATE TEMP VIEW expected_trade AS
SELECT DISTINCT ON (trade) trade, event->'data'->>'account' AS account,
	coalesce(c.isin, event->'data'->>'isin') AS isin, quantity
FROM first LEFT JOIN isin_correction c ON c.wrong = event->'data'->>'isin'
WHERE topic = 'executions'
ORDER BY trade, (event->>'effective_at')::timestamptz DESC;

-- Events whose predecessor in the topic they came after when they were processed.
-- A record that was redriven is a new one, which comes after those of its trade.
CREATE TEMP VIEW in_order AS
SELECT 'enriched' AS stage,
	(headers->>'offset')::bigint > coalesce(max((headers->>'offset')::bigint)
		OVER (PARTITION BY trade ORDER BY "offset" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1) AS ok
FROM log WHERE topic = 'enriched'
UNION ALL
SELECT 'booked', e."offset" > lag(e."offset", 1, -1::bigint) OVER (PARTITION BY h.trade ORDER BY h.number)
FROM trade_history h JOIN log e ON e.topic = 'enriched' AND e.id = h.event_id;

CREATE TEMP VIEW checks (what, expected, actual) AS
SELECT 'executions: enriched, repeated, redriven or in quarantine',
	(SELECT count(*) FROM log WHERE topic = 'executions'),
	(SELECT count(*) FROM log WHERE topic = 'enriched')
		+ (SELECT count(*) FROM log WHERE topic = 'executions' AND repeated)
		+ (SELECT end_offset FROM minikafka.offsets('quarantine', 0))
UNION ALL SELECT 'events enriched, none lost',
	(SELECT count(*) FROM first WHERE topic = 'executions'),
	(SELECT count(DISTINCT x.id) FROM first x JOIN log e ON e.topic = 'enriched' AND e.id = x.id
		AND e.event - 'data' = x.event - 'data' WHERE x.topic = 'executions')
UNION ALL SELECT 'events enriched, none twice',
	(SELECT count(*) FROM first WHERE topic = 'executions'),
	(SELECT count(*) FROM log WHERE topic = 'enriched')
UNION ALL SELECT 'events booked, each once',
	(SELECT count(*) FROM log WHERE topic = 'enriched'),
	(SELECT count(*) FROM trade_history h JOIN log b
		ON b.topic = 'bookings' AND b.event->'data'->>'execution' = h.event_id AND b.trade = h.trade)
UNION ALL SELECT 'events out of order',
	0,
	(SELECT count(*) FROM in_order WHERE NOT ok)
UNION ALL SELECT 'dead letters, each sent back once',
	(SELECT sum(end_offset) FROM generate_series(0, 3) p, minikafka.offsets('executions.dead', p)),
	(SELECT count(*) FROM log WHERE topic = 'executions' AND headers ? '__dlq.redriven.topic')
UNION ALL SELECT 'trades',
	(SELECT count(*) FROM expected_trade),
	(SELECT count(*) FROM trade JOIN expected_trade e
		ON id = e.trade AND (trade.account, trade.isin, trade.quantity) = (e.account, e.isin, e.quantity))
UNION ALL SELECT 'trades that are settled',
	(SELECT count(*) FROM trade),
	(SELECT count(*) FROM trade WHERE settled = quantity)
UNION ALL SELECT 'positions',
	(SELECT count(*) FROM position),
	(SELECT count(*) FROM position p JOIN (
		SELECT account, isin, sum(quantity) AS quantity FROM expected_trade GROUP BY 1, 2) e
		USING (account, isin) WHERE p.traded = e.quantity AND p.settled = e.quantity)
UNION ALL SELECT 'quantity bought and sold',
	(SELECT sum(quantity) FROM expected_trade),
	(SELECT sum(traded) FROM position)
UNION ALL SELECT 'quantity settled, according to the clearing house',
	(SELECT sum(quantity) FROM first WHERE topic = 'settlements' AND event->>'event_type' = 'settlement.settled'),
	(SELECT sum(settled) FROM position)
UNION ALL SELECT 'instructions, each sent once',
	(SELECT count(*) FROM instruction),
	(SELECT count(*) FROM log JOIN instruction i ON i.event_id = id
		WHERE topic = 'instructions' AND i.data = event->'data')
UNION ALL SELECT 'instructions, each answered once',
	(SELECT count(*) FROM instruction),
	(SELECT count(*) FROM log WHERE topic = 'settlements')
UNION ALL SELECT 'times to the position',
	(SELECT count(*) FROM trade_history),
	(SELECT count(*) FROM time_to_position WHERE to_position >= to_enriched AND to_enriched >= to_log)
UNION ALL SELECT 'records that are not read yet',
	0,
	(SELECT sum(lag) FROM minikafka.consumer_lag WHERE group_id IN ('booking', 'clearing', 'settling'));

\echo Reconciliation
SELECT what, expected, actual, expected = actual AS equal FROM checks;

DO $$
BEGIN
	IF (SELECT bool_and(expected = actual) FROM checks) IS NOT TRUE
		OR (SELECT count(*) FROM trade) = 0 THEN
		RAISE EXCEPTION 'the reconciliation failed';
	END IF;
END
$$;
