-- The post-trade pipeline: topics, tables, the functions that process events, and
-- roles.  README.md describes the events; pipeline.py runs the stages.

CREATE EXTENSION IF NOT EXISTS minikafka;

-- The key is the trade, so the events of a trade are in order.
SELECT minikafka.create_topic('executions', partitions => 4);
SELECT minikafka.create_topic('instructions', partitions => 4);
SELECT minikafka.create_topic('settlements', partitions => 4);
SELECT minikafka.create_topic('quarantine', partitions => 1);

CREATE FUNCTION new_event(id text, type text, happened_at timestamptz, data jsonb)
RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('event_id', id, 'type', type, 'version', 1,
		'happened_at', happened_at, 'recorded_at', clock_timestamp(), 'data', data)
$$;

-- ---------------------------------------------------------------------------
-- booking: executions become trades, positions and clearing instructions

-- The current state of a trade: that of the newest event by the business clock.
CREATE TABLE trade (
	id text PRIMARY KEY,
	account text NOT NULL,
	instrument text NOT NULL,
	quantity bigint NOT NULL, -- negative if sold
	happened_at timestamptz NOT NULL,
	revision integer NOT NULL,
	instructed bigint NOT NULL DEFAULT 0, -- quantity that the clearing house was told to settle
	settled bigint NOT NULL DEFAULT 0 -- quantity that is settled
);

-- All events of a trade, including those that came too late to change it.
CREATE TABLE trade_history (
	event_id text PRIMARY KEY,
	trade text NOT NULL,
	quantity bigint NOT NULL,
	happened_at timestamptz NOT NULL,
	recorded_at timestamptz NOT NULL,
	current boolean NOT NULL -- the newest event when it was recorded
);

CREATE TABLE position (
	account text,
	instrument text,
	traded bigint NOT NULL DEFAULT 0,
	settled bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (account, instrument)
);

-- The outbox: each row is an event, which the trigger sends unchanged.
CREATE TABLE instruction (
	event_id text PRIMARY KEY,
	type text NOT NULL,
	version integer NOT NULL DEFAULT 1,
	happened_at timestamptz NOT NULL,
	recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	trade text NOT NULL,
	data jsonb NOT NULL
);
CREATE TRIGGER send AFTER INSERT ON instruction
	FOR EACH ROW EXECUTE FUNCTION minikafka.outbox('instructions', 'trade', '-trade');

CREATE FUNCTION move(of trade, traded bigint, settled bigint) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO position AS p VALUES (of.account, of.instrument, traded, settled)
	ON CONFLICT (account, instrument) DO UPDATE SET
		traded = p.traded + excluded.traded, settled = p.settled + excluded.settled
$$;

CREATE FUNCTION instruct(trade text, revision integer, attempt integer, quantity bigint, happened_at timestamptz)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO instruction (event_id, type, happened_at, trade, data)
	SELECT format('%s/%s/%s', trade, revision, attempt), 'clearing.instructed', happened_at, trade,
		jsonb_build_object('trade', trade, 'revision', revision, 'attempt', attempt, 'quantity', quantity)
	WHERE quantity <> 0
$$;

CREATE FUNCTION book(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	data jsonb := event->'data';
	happened timestamptz := event->>'happened_at';
	before trade;
	now trade;
BEGIN
	SELECT * INTO before FROM trade WHERE id = data->>'trade' FOR UPDATE;
	INSERT INTO trade_history VALUES (event->>'event_id', data->>'trade',
		(data->>'quantity')::bigint, happened, (event->>'recorded_at')::timestamptz,
		coalesce(happened > before.happened_at, true));

	-- It happened before an event that is recorded already.
	IF happened <= before.happened_at THEN
		RETURN;
	END IF;

	INSERT INTO trade AS t VALUES (data->>'trade', data->>'account', data->>'instrument',
		(data->>'quantity')::bigint, happened, 1)
	ON CONFLICT (id) DO UPDATE SET
		quantity = excluded.quantity, happened_at = excluded.happened_at,
		revision = t.revision + 1
	RETURNING * INTO now;
	PERFORM move(now, now.quantity - coalesce(before.quantity, 0), 0);

	-- Instructions stand, whether settled or not; only the difference is sent.
	PERFORM instruct(now.id, now.revision, 1, now.quantity - now.instructed, happened);
	UPDATE trade SET instructed = now.quantity WHERE id = now.id;
END
$$;

-- ---------------------------------------------------------------------------
-- clearing: the clearing house.  For every fifth trade the first attempt fails for
-- lack of securities.

CREATE FUNCTION clear(event jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	data jsonb := event->'data';
	type text := 'settlement.settled';
BEGIN
	IF data->>'trade' LIKE '%5' AND data->>'attempt' = '1' THEN
		type := 'settlement.failed';
		data := data || '{"reason": "lack of securities"}';
	END IF;
	PERFORM minikafka.send('settlements',
		new_event(type || '/' || (event->>'event_id'), type,
			(event->>'happened_at')::timestamptz + interval '2 days', data),
		key => data->>'trade');
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
	IF event->>'type' = 'settlement.settled' THEN
		UPDATE trade SET settled = settled + moved WHERE id = data->>'trade' RETURNING * INTO now;
		PERFORM move(now, 0, moved);
	ELSE -- failed: instruct it again
		PERFORM instruct(data->>'trade', (data->>'revision')::integer,
			(data->>'attempt')::integer + 1, moved, (event->>'happened_at')::timestamptz);
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
-- Roles for the trading system and for each stage, with the rights that they need

CREATE ROLE trading LOGIN;
CREATE ROLE booking LOGIN;
CREATE ROLE clearing LOGIN;
CREATE ROLE settling LOGIN;
GRANT USAGE ON SCHEMA minikafka TO trading, booking, clearing, settling;

GRANT INSERT ON minikafka_topics.executions TO trading;

GRANT SELECT ON minikafka_topics.executions TO booking;
GRANT INSERT ON minikafka_topics.instructions, minikafka_topics.quarantine TO booking;
GRANT SELECT, INSERT, UPDATE ON trade, position TO booking;
GRANT INSERT ON trade_history, instruction TO booking;

GRANT SELECT ON minikafka_topics.instructions TO clearing;
GRANT INSERT ON minikafka_topics.settlements, minikafka_topics.quarantine TO clearing;

GRANT SELECT ON minikafka_topics.settlements TO settling;
GRANT INSERT ON minikafka_topics.instructions, minikafka_topics.quarantine TO settling;
GRANT SELECT, UPDATE ON trade TO settling;
GRANT SELECT, INSERT, UPDATE ON position TO settling;
GRANT INSERT ON instruction TO settling;
