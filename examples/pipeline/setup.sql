-- The post-trade pipeline: topics, tables, the functions that process events, and
-- roles.  README.md describes the events; pipeline.py runs the stages.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- ---------------------------------------------------------------------------
-- The topics and their contract.  The key is the trade, so the events of a trade
-- are in order.

SELECT minikafka.create_topic(topic, partitions => 4)
FROM unnest('{executions,enriched,bookings,instructions,settlements}'::text[]) topic;
SELECT minikafka.create_topic('executions.dead', partitions => 4, max_message_bytes => 2000000);
SELECT minikafka.create_topic('quarantine', partitions => 1);

-- A time with its zone, whatever the settings of the session
CREATE FUNCTION is_time(value text) RETURNS boolean LANGUAGE sql AS $$
	SELECT CASE WHEN value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.]\d+)?(Z|[+-]\d\d:\d\d)$'
		THEN value::timestamptz IS NOT NULL ELSE false END
$$;

CREATE FUNCTION is_event(key bytea, value bytea) RETURNS boolean LANGUAGE sql AS $$
	SELECT coalesce(
		(SELECT count(*) FILTER (WHERE jsonb_typeof(event->field) = 'string' AND event->>field <> '') = 7
			FROM unnest('{event_id,event_type,trade_id,effective_at,observed_at,source,reason_code}'::text[]) field)
		AND jsonb_typeof(event->'schema_version') = 'number' AND event->>'schema_version' ~ '^[1-9][0-9]*$'
		AND event->>'trade_id' = convert_from(key, 'UTF8')
		AND public.is_time(event->>'effective_at') AND public.is_time(event->>'observed_at'),
		false)
	FROM (SELECT convert_from(value, 'UTF8')::jsonb AS event) v
$$;

SELECT minikafka.set_topic_option(topic, 'value_format', 'json')
FROM unnest('{executions,enriched,bookings,instructions,settlements}'::text[]) topic;
ALTER TABLE minikafka_topics.executions ADD CONSTRAINT event_contract CHECK (is_event(key, value));
ALTER TABLE minikafka_topics.enriched ADD CONSTRAINT event_contract CHECK (is_event(key, value));
ALTER TABLE minikafka_topics.bookings ADD CONSTRAINT event_contract CHECK (is_event(key, value));
ALTER TABLE minikafka_topics.instructions ADD CONSTRAINT event_contract CHECK (is_event(key, value));
ALTER TABLE minikafka_topics.settlements ADD CONSTRAINT event_contract CHECK (is_event(key, value));

CREATE FUNCTION new_event(id text, type text, trade_id text, effective_at timestamptz,
	source text, reason_code text, data jsonb)
RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('event_id', id, 'event_type', type, 'schema_version', 1,
		'trade_id', trade_id, 'effective_at', effective_at, 'observed_at', clock_timestamp(),
		'source', source, 'reason_code', reason_code, 'data', data)
$$;

-- ---------------------------------------------------------------------------
-- enrichment: executions get the name and the currency of their security

-- ISO 6166: letters count 10 to 35; then, from the right, every second digit is
-- doubled, and the sum of all digits is a multiple of ten.
CREATE FUNCTION is_isin(isin text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
	SELECT isin ~ '^[A-Z]{2}[A-Z0-9]{9}[0-9]$' AND (
		SELECT sum(CASE WHEN place % 2 = 1 THEN digit::integer
			ELSE digit::integer * 2 / 10 + digit::integer * 2 % 10 END) % 10 = 0
		FROM (
			SELECT string_agg(CASE WHEN c BETWEEN '0' AND '9' THEN c ELSE (ascii(c) - 55)::text END, '' ORDER BY i) AS digits
			FROM string_to_table(isin, NULL) WITH ORDINALITY AS characters(c, i)) d
		CROSS JOIN LATERAL string_to_table(reverse(digits), NULL) WITH ORDINALITY AS places(digit, place))
$$;

CREATE TABLE security (
	isin text PRIMARY KEY CHECK (is_isin(isin)),
	name text NOT NULL,
	currency text NOT NULL
);
INSERT INTO security VALUES
	('US0378331005', 'Apple', 'USD'), ('US5949181045', 'Microsoft', 'USD'),
	('DE0007164600', 'SAP', 'EUR'), ('GB0002634946', 'BAE Systems', 'GBP');

-- What a sender writes in place of the ISIN that it means
CREATE TABLE isin_correction (
	wrong text PRIMARY KEY,
	isin text NOT NULL REFERENCES security
);

-- The reference data is a service of others, which may be away.
CREATE TABLE reference_service (available boolean NOT NULL);
INSERT INTO reference_service VALUES (true);

CREATE FUNCTION find_security(wanted text) RETURNS security LANGUAGE plpgsql AS $$
DECLARE
	result security;
BEGIN
	IF NOT (SELECT available FROM reference_service) THEN
		RAISE EXCEPTION 'the reference data is not available' USING ERRCODE = 'connection_failure';
	END IF;
	wanted := coalesce((SELECT isin FROM isin_correction WHERE wrong = wanted), wanted);
	IF is_isin(wanted) IS NOT TRUE THEN
		RAISE EXCEPTION 'wrong ISIN' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT * INTO result FROM security WHERE isin = wanted;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'unknown security' USING ERRCODE = 'no_data_found';
	END IF;
	RETURN result;
END
$$;

-- The headers show where the execution was, and how often it was delivered.
CREATE FUNCTION enrich(event jsonb, headers jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	result security := find_security(event->'data'->>'isin');
BEGIN
	event := jsonb_set(event, '{data}', event->'data' || to_jsonb(result));
	PERFORM minikafka.send('enriched', event, key => event->>'trade_id', headers => headers);
END
$$;

-- ---------------------------------------------------------------------------
-- booking: enriched executions become trades, positions and clearing instructions

-- The current state of a trade: that of the newest event by the business clock.
CREATE TABLE trade (
	id text PRIMARY KEY,
	account text NOT NULL,
	isin text NOT NULL,
	quantity bigint NOT NULL, -- negative if sold
	effective_at timestamptz NOT NULL,
	revision integer NOT NULL,
	instructed bigint NOT NULL DEFAULT 0, -- quantity that the clearing house was told to settle
	settled bigint NOT NULL DEFAULT 0 -- quantity that is settled
);

-- All events of a trade, including those that came too late to change it.
CREATE TABLE trade_history (
	event_id text PRIMARY KEY,
	trade text NOT NULL,
	quantity bigint NOT NULL,
	effective_at timestamptz NOT NULL,
	observed_at timestamptz NOT NULL,
	current boolean NOT NULL, -- the newest event when it was recorded
	number bigint GENERATED ALWAYS AS IDENTITY
);

CREATE TABLE position (
	account text,
	isin text,
	traded bigint NOT NULL DEFAULT 0,
	settled bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (account, isin)
);

-- The outbox: each row is an event, which the trigger sends unchanged.
CREATE TABLE instruction (
	event_id text PRIMARY KEY,
	event_type text NOT NULL DEFAULT 'clearing.instructed',
	schema_version integer NOT NULL DEFAULT 1,
	trade_id text NOT NULL,
	effective_at timestamptz NOT NULL,
	observed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	source text NOT NULL DEFAULT session_user,
	reason_code text NOT NULL,
	data jsonb NOT NULL
);
CREATE TRIGGER send AFTER INSERT ON instruction
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('instructions', 'trade_id');

CREATE FUNCTION move(of trade, traded bigint, settled bigint) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO position AS p VALUES (of.account, of.isin, traded, settled)
	ON CONFLICT (account, isin) DO UPDATE SET
		traded = p.traded + excluded.traded, settled = p.settled + excluded.settled
$$;

CREATE FUNCTION instruct(trade text, revision integer, attempt integer, quantity bigint,
	effective_at timestamptz, reason_code text)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO instruction (event_id, trade_id, effective_at, reason_code, data)
	SELECT format('%s/%s/%s', trade, revision, attempt), trade, effective_at, reason_code,
		jsonb_build_object('revision', revision, 'attempt', attempt, 'quantity', quantity)
	WHERE quantity <> 0
$$;

CREATE FUNCTION book(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	data jsonb := event->'data';
	effective timestamptz := event->>'effective_at';
	before trade;
	now trade;
	is_current boolean;
BEGIN
	SELECT * INTO before FROM trade WHERE id = event->>'trade_id' FOR UPDATE;
	is_current := coalesce(effective > before.effective_at, true);
	INSERT INTO trade_history VALUES (event->>'event_id', event->>'trade_id',
		(data->>'quantity')::bigint, effective, (event->>'observed_at')::timestamptz, is_current);

	-- Its time is that of the COMMIT, which makes the position durable.
	PERFORM minikafka.send('bookings',
		new_event('booked/' || (event->>'event_id'), 'trade.booked', event->>'trade_id', effective,
			'booking', event->>'reason_code', jsonb_build_object('execution', event->'event_id', 'current', is_current)),
		key => event->>'trade_id');

	-- It happened before an event that is recorded already.
	IF NOT is_current THEN
		RETURN;
	END IF;

	INSERT INTO trade AS t VALUES (event->>'trade_id', data->>'account', data->>'isin',
		(data->>'quantity')::bigint, effective, 1)
	ON CONFLICT (id) DO UPDATE SET
		quantity = excluded.quantity, effective_at = excluded.effective_at,
		revision = t.revision + 1
	RETURNING * INTO now;
	PERFORM move(now, now.quantity - coalesce(before.quantity, 0), 0);

	-- Instructions stand, whether settled or not; only the difference is sent.
	PERFORM instruct(now.id, now.revision, 1, now.quantity - now.instructed, effective, event->>'reason_code');
	UPDATE trade SET instructed = now.quantity WHERE id = now.id;
END
$$;

-- ---------------------------------------------------------------------------
-- clearing: the clearing house.  For every fifth trade the first attempt fails for
-- lack of securities.

CREATE FUNCTION clear(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	failed boolean := event->>'trade_id' LIKE '%5' AND event->'data'->>'attempt' = '1';
	type text := CASE WHEN failed THEN 'settlement.failed' ELSE 'settlement.settled' END;
BEGIN
	PERFORM minikafka.send('settlements',
		new_event(type || '/' || (event->>'event_id'), type, event->>'trade_id',
			(event->>'effective_at')::timestamptz + interval '2 days', 'clearing house',
			CASE WHEN failed THEN 'LACK' ELSE 'SETT' END, event->'data'),
		key => event->>'trade_id');
END
$$;

-- ---------------------------------------------------------------------------
-- settling: the answers of the clearing house

CREATE FUNCTION settle(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	data jsonb := event->'data';
	now trade;
	moved bigint := (data->>'quantity')::bigint;
BEGIN
	IF event->>'event_type' = 'settlement.settled' THEN
		UPDATE trade SET settled = settled + moved WHERE id = event->>'trade_id' RETURNING * INTO now;
		PERFORM move(now, 0, moved);
	ELSE -- failed: instruct it again
		PERFORM instruct(event->>'trade_id', (data->>'revision')::integer,
			(data->>'attempt')::integer + 1, moved, (event->>'effective_at')::timestamptz, 'AGAIN');
	END IF;
END
$$;

-- ---------------------------------------------------------------------------
-- Sends a record that a stage cannot process to topic quarantine, unchanged and
-- with the reason.  A repeat is not sent again.

CREATE FUNCTION quarantine(stage text, reason text,
	topic text, partition integer, "offset" bigint, key bytea, value bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF NOT minikafka.inbox_accept(stage || ' quarantine', concat_ws('/', topic, partition, "offset")) THEN
		RETURN false;
	END IF;
	PERFORM minikafka.send('quarantine', value, key, headers => jsonb_build_object(
		'stage', stage, 'reason', reason, 'topic', topic, 'partition', partition, 'offset', "offset"));
	RETURN true;
END
$$;

-- ---------------------------------------------------------------------------
-- Views for operations.  The topics are tables.

CREATE VIEW log AS
SELECT topic, "offset", ts, headers, event, event->>'event_id' AS id, event->>'trade_id' AS trade,
	row_number() OVER (PARTITION BY topic, event->>'event_id', event ORDER BY ts, "offset") > 1 AS repeated
FROM (
	SELECT 'executions' AS topic, "offset", ts, headers, convert_from(value, 'UTF8')::jsonb AS event
	FROM minikafka_topics.executions
	UNION ALL
	SELECT 'enriched', "offset", ts, headers, convert_from(value, 'UTF8')::jsonb FROM minikafka_topics.enriched
	UNION ALL
	SELECT 'bookings', "offset", ts, headers, convert_from(value, 'UTF8')::jsonb FROM minikafka_topics.bookings
	UNION ALL
	SELECT 'instructions', "offset", ts, headers, convert_from(value, 'UTF8')::jsonb FROM minikafka_topics.instructions
	UNION ALL
	SELECT 'settlements', "offset", ts, headers, convert_from(value, 'UTF8')::jsonb FROM minikafka_topics.settlements
) l;

-- How long after effective_at an execution was seen by its sender, was in the
-- log, was enriched, and had changed the position durably.
CREATE VIEW time_to_position AS
SELECT b.trade, e.id AS event_id, (e.event->>'effective_at')::timestamptz AS effective_at,
	(e.event->>'observed_at')::timestamptz - (e.event->>'effective_at')::timestamptz AS to_observed,
	x.ts - (e.event->>'effective_at')::timestamptz AS to_log,
	e.ts - (e.event->>'effective_at')::timestamptz AS to_enriched,
	b.ts - (e.event->>'effective_at')::timestamptz AS to_position,
	CASE WHEN e.headers->>'redriven' = 'true' THEN 'redriven'
		WHEN e.headers->>'deliveries' <> '1' THEN 'tried again'
		ELSE 'at once' END AS way
FROM log b
JOIN log e ON e.topic = 'enriched' AND e.id = b.event->'data'->>'execution'
JOIN (SELECT id, min(ts) AS ts FROM log WHERE topic = 'executions' GROUP BY id) x ON x.id = e.id
WHERE b.topic = 'bookings';

-- ---------------------------------------------------------------------------
-- Roles for the trading system, for each stage, and for operations, with the rights
-- that they need

CREATE ROLE trading LOGIN;
CREATE ROLE enriching LOGIN;
CREATE ROLE booking LOGIN;
CREATE ROLE clearing LOGIN;
CREATE ROLE settling LOGIN;
CREATE ROLE operations LOGIN;
GRANT USAGE ON SCHEMA minikafka TO trading, enriching, booking, clearing, settling, operations;

GRANT INSERT ON minikafka_topics.executions TO trading;

-- The dead letters are written by the right of the group's owner, so the workers need none.
GRANT SELECT ON minikafka_topics.executions TO enriching;
GRANT INSERT ON minikafka_topics.enriched, minikafka_topics.quarantine TO enriching;
GRANT SELECT ON security, isin_correction, reference_service TO enriching;

GRANT SELECT ON minikafka_topics.enriched TO booking;
GRANT INSERT ON minikafka_topics.bookings, minikafka_topics.instructions, minikafka_topics.quarantine TO booking;
GRANT SELECT, INSERT, UPDATE ON trade, position TO booking;
GRANT INSERT ON trade_history, instruction TO booking;

GRANT SELECT ON minikafka_topics.instructions TO clearing;
GRANT INSERT ON minikafka_topics.settlements, minikafka_topics.quarantine TO clearing;

GRANT SELECT ON minikafka_topics.settlements TO settling;
GRANT INSERT ON minikafka_topics.instructions, minikafka_topics.quarantine TO settling;
GRANT SELECT, UPDATE ON trade TO settling;
GRANT SELECT, INSERT, UPDATE ON position TO settling;
GRANT INSERT ON instruction TO settling;

-- Operations have the share group, mend the reference data, and redrive.
GRANT SELECT, INSERT ON minikafka_topics.executions, minikafka_topics."executions.dead" TO operations;
GRANT SELECT, INSERT ON security, isin_correction TO operations;
GRANT SELECT, UPDATE ON reference_service TO operations;
SET ROLE operations;
SELECT minikafka.create_share_group('enrichment', '{executions}', backoff => '100 ms', max_backoff => '300 ms',
	max_deliveries => 1000, dead_letter_topic => 'executions.dead');
SELECT minikafka.grant_group('enrichment', 'enriching');
RESET ROLE;
