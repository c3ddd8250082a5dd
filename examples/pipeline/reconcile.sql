-- Compares the tables that the stages wrote with the topics.

\pset footer off
\echo
\echo Positions
TABLE position ORDER BY account, instrument;

\echo Amendments, by the two clocks
SELECT h.trade, event_id, h.quantity, h.happened_at AT TIME ZONE 'UTC' AS happened_at,
	row_number() OVER (PARTITION BY h.trade ORDER BY recorded_at) AS recorded,
	h.current, t.quantity AS now, t.settled
FROM trade_history h JOIN trade t ON t.id = h.trade
WHERE t.id IN (SELECT trade FROM trade_history GROUP BY trade HAVING count(*) > 1)
ORDER BY t.id, h.happened_at;

\echo Quarantine
SELECT f.key, f.value->>'event_id' AS event_id, f.value->>'version' AS version,
	f.value->'data'->>'quantity' AS quantity, f.headers->>'reason' AS reason
FROM minikafka.offsets('quarantine', 0) o
CROSS JOIN LATERAL minikafka.fetch_json('quarantine', 0, o.log_start_offset, 1000) f
ORDER BY "offset";

-- The topics are tables.
CREATE TEMP VIEW log AS
SELECT topic, "offset", event, event->>'event_id' AS id,
	row_number() OVER (PARTITION BY topic, event->>'event_id', event ORDER BY "offset") > 1 AS repeated
FROM (
	SELECT 'executions' AS topic, "offset", convert_from(value, 'UTF8')::jsonb AS event
	FROM minikafka_topics.executions
	UNION ALL
	SELECT 'instructions', "offset", convert_from(value, 'UTF8')::jsonb
	FROM minikafka_topics.instructions
	UNION ALL
	SELECT 'settlements', "offset", convert_from(value, 'UTF8')::jsonb
	FROM minikafka_topics.settlements) l;

-- Of several events with the same id the first one counts.
CREATE TEMP VIEW first AS
SELECT DISTINCT ON (topic, id) topic, event,
	event->'data'->>'trade' AS trade, (event->'data'->>'quantity')::bigint AS quantity
FROM log
WHERE (event->>'version')::integer = 1
ORDER BY topic, id, "offset";

-- The newest event by the business clock decides what a trade is.
CREATE TEMP VIEW expected_trade AS
SELECT DISTINCT ON (trade) trade, event->'data'->>'account' AS account,
	event->'data'->>'instrument' AS instrument, quantity
FROM first WHERE topic = 'executions'
ORDER BY trade, (event->>'happened_at')::timestamptz DESC;

CREATE TEMP VIEW checks (what, expected, actual) AS
SELECT 'executions: taken, repeated or in quarantine',
	(SELECT count(*) FROM log WHERE topic = 'executions'),
	(SELECT count(*) FROM trade_history)
		+ (SELECT count(*) FROM log WHERE topic = 'executions' AND repeated)
		+ (SELECT end_offset FROM minikafka.offsets('quarantine', 0))
UNION ALL SELECT 'trades',
	(SELECT count(*) FROM expected_trade),
	(SELECT count(*) FROM trade JOIN expected_trade e
		ON id = e.trade AND (trade.account, trade.instrument, trade.quantity) = (e.account, e.instrument, e.quantity))
UNION ALL SELECT 'trades that are settled',
	(SELECT count(*) FROM trade),
	(SELECT count(*) FROM trade WHERE settled = quantity)
UNION ALL SELECT 'positions',
	(SELECT count(*) FROM position),
	(SELECT count(*) FROM position p JOIN (
		SELECT account, instrument, sum(quantity) AS quantity FROM expected_trade GROUP BY 1, 2) e
		USING (account, instrument) WHERE p.traded = e.quantity AND p.settled = e.quantity)
UNION ALL SELECT 'quantity bought and sold',
	(SELECT sum(quantity) FROM expected_trade),
	(SELECT sum(traded) FROM position)
UNION ALL SELECT 'quantity settled, according to the clearing house',
	(SELECT sum(quantity) FROM first WHERE topic = 'settlements' AND event->>'type' = 'settlement.settled'),
	(SELECT sum(settled) FROM position)
UNION ALL SELECT 'instructions, each sent once',
	(SELECT count(*) FROM instruction),
	(SELECT count(*) FROM log JOIN instruction i ON i.event_id = id
		WHERE topic = 'instructions' AND i.data = event->'data')
UNION ALL SELECT 'instructions, each answered once',
	(SELECT count(*) FROM instruction),
	(SELECT count(*) FROM log WHERE topic = 'settlements')
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
