--
-- Deliveries that end in a rollback: which of them count, and when
--
\set SHOW_CONTEXT never
SELECT minikafka.create_topic('rolled', 1);
CREATE VIEW pg_temp.deliveries AS
SELECT group_id, "offset", state, delivery_count, error FROM minikafka.share_deliveries ORDER BY group_id, "offset";

-- No error of acquire(), acknowledge() or renew() counts, not even that of an argument
SELECT minikafka.create_share_group('misused', '{rolled}', backoff => '0');
SELECT minikafka.send('rolled', 'v', 'k');
CREATE FUNCTION pg_temp.misuse(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	own text;
	message text;
BEGIN
	SELECT receipt INTO STRICT own FROM minikafka.acquire('misused');
	EXECUTE 'SELECT minikafka.' || call USING own;
	RETURN call || ' did not fail';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
	RETURN replace(message, own, '(receipt)');
END $$;
SELECT pg_temp.misuse(call) FROM unnest(ARRAY[
	'acknowledge(''misused'', $1, ''nack'')', 'acknowledge(''misused'', $1, NULL)',
	'acknowledge(''misused'', $1, ''fail'', retry_after => ''-1 s'')',
	'acknowledge(''misused'', $1, ''release'', retry_after => ''1000000 years'')',
	'acknowledge(''misused'', $1, ''accept'', retry_after => ''1 s'')',
	'acknowledge(''misused'', ''no receipt'')', 'acknowledge(''misused'', NULL)',
	'acknowledge(NULL, $1)', 'acknowledge('''', $1)', 'acknowledge(''nobody'', $1)',
	'acquire(''misused'', NULL)', 'acquire(''misused'', 0)',
	'acquire_text(''misused'', max_bytes => NULL)', 'acquire_json(''misused'', max_bytes => 0)',
	'acquire(''misused'', max_wait => NULL)', 'acquire_text(''misused'', max_wait => ''-1 s'')',
	'acquire_json(''misused'', max_wait => ''1000000 years'')',
	'acquire(''misused'', lock_duration => ''0'')', 'acquire(''misused'', lock_duration => ''-1 s'')',
	'acquire_text(''misused'', accept => NULL)',
	'acquire(''misused'', lock_duration => ''1 s'', accept => true)',
	'acquire(NULL)', 'acquire_json('''')', 'acquire(''nobody'')',
	'renew(''misused'', $1, NULL)', 'renew(''misused'', $1, ''0'')', 'renew(''misused'', NULL, ''1 s'')',
	'renew(''misused'', $1, ''1 s'')', 'renew(NULL, $1, ''1 s'')']) call;
-- nor does one that ends the whole transaction, or comes while the call waits
BEGIN;
SELECT receipt FROM minikafka.acquire('misused') \gset
SELECT minikafka.acknowledge('misused', :'receipt', 'nack');
ROLLBACK;
BEGIN;
SELECT count(*) FROM minikafka.acquire('misused');
SET LOCAL statement_timeout = '10 ms';
SELECT * FROM minikafka.acquire('misused', max_wait => '1 day');
ROLLBACK;
-- also not in a savepoint, whose transaction is then rolled back
BEGIN;
SELECT receipt FROM minikafka.acquire('misused') \gset
SAVEPOINT a;
SELECT minikafka.acknowledge('misused', :'receipt', 'nack');
SELECT 1;
ROLLBACK;
SELECT "offset", delivery_count FROM minikafka.acquire('misused', accept => true);
TABLE pg_temp.deliveries;
-- what comes after such a call that has succeeded, or has failed in a savepoint, counts
SELECT minikafka.create_share_group('used', '{rolled}', backoff => '0', max_deliveries => 9);
BEGIN;
SELECT count(*) FROM minikafka.acquire('used');
SAVEPOINT a;
SELECT minikafka.acquire('used', 0);
ROLLBACK TO a;
SELECT 1 / 0;
ROLLBACK;
SELECT count(*) FROM minikafka.acquire('used', accept => true);
TABLE pg_temp.deliveries;
SELECT minikafka.acquire('used', 0);
BEGIN;
SELECT count(*) FROM minikafka.acquire('used');
-- with a client's ROLLBACK there is no SQLSTATE to tell
ROLLBACK;
SELECT count(*) FROM minikafka.acquire('used', accept => true);
TABLE pg_temp.deliveries;
SELECT minikafka.delete_group('misused'), minikafka.delete_group('used');

-- A call that has noted a failure and has nothing to hand out does not wait: the key
-- would be held for so long
SELECT minikafka.create_share_group('waits', '{rolled}', backoff => '0');
BEGIN;
SELECT value FROM minikafka.acquire_text('waits');
ROLLBACK;
SET statement_timeout = '1 min';
SELECT value FROM minikafka.acquire_text('waits', max_wait => '1 day', accept => true);
TABLE pg_temp.deliveries;
SELECT value FROM minikafka.acquire_text('waits', max_wait => '1 day', accept => true);
-- nor one whose record cannot be decoded
SELECT minikafka.send('rolled', 'not json', 'k');
SELECT value FROM minikafka.acquire_json('waits', max_wait => '1 day', accept => true);
TABLE pg_temp.deliveries;
RESET statement_timeout;
SELECT minikafka.delete_group('waits');

-- A savepoint that held one record counts, also after the transaction has answered, or
-- is to answer, an earlier one of its key; the later ones wait
SELECT minikafka.create_topic('drained', 1), minikafka.create_share_group('drain', '{drained}', backoff => '1 min');
SELECT minikafka.send_many('drained', '{h1,bad1,h2,c1,bad2,d1}', '{a,a,a,c,d,d}');
CREATE FUNCTION pg_temp.drain(accepts boolean) RETURNS TABLE (rounds int, done text) LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	rounds := 0;
	done := '';
	WHILE rounds < 50 LOOP
		BEGIN
			SELECT * INTO r FROM minikafka.acquire_text('drain', accept => accepts);
			EXIT WHEN r IS NULL;
			rounds := rounds + 1;
			IF r.value LIKE 'bad%' THEN
				RAISE 'this record is bad';
			END IF;
			IF NOT accepts THEN
				PERFORM minikafka.acknowledge('drain', r.receipt);
			END IF;
			done := done || r.value || ' ';
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END LOOP;
	RETURN NEXT;
END $$;
SELECT * FROM pg_temp.drain(false);
TABLE pg_temp.deliveries;
SET minikafka.clock_offset = '1 h';
SELECT value FROM minikafka.acquire_text('drain', 100) WHERE minikafka.acknowledge('drain', receipt) = 'accepted';
RESET minikafka.clock_offset;
SELECT minikafka.reset_offsets('drain', 'drained', 'earliest');
SELECT * FROM pg_temp.drain(true);
TABLE pg_temp.deliveries;
-- it stays failed if the earlier one is given back after all
SELECT minikafka.reset_offsets('drain', 'drained', 'earliest');
BEGIN;
SELECT value, receipt FROM minikafka.acquire_text('drain') \gset
SAVEPOINT a;
SELECT value FROM minikafka.acquire_text('drain');
ROLLBACK TO a;
SELECT value FROM minikafka.acquire_text('drain', accept => true);
SELECT minikafka.acknowledge('drain', :'receipt', 'release');
COMMIT;
TABLE pg_temp.deliveries;
SELECT value FROM minikafka.acquire_text('drain', accept => true);
-- a dead letter is sent once, whatever becomes of the earlier record; the records after it wait for that
SELECT minikafka.create_topic('drained.dead', 1);
SELECT minikafka.create_share_group('json', '{drained}', max_deliveries => 1, dead_letter_topic => 'drained.dead');
SELECT minikafka.delete_records('drained', 0, 6);
SELECT minikafka.send_many('drained', '{1,bad,2}', '{a,a,a}');
BEGIN;
SELECT value, receipt FROM minikafka.acquire_json('json', 2) \gset
SELECT value, receipt AS later FROM minikafka.acquire_json('json') \gset
SELECT minikafka.acknowledge('json', :'later');
ROLLBACK;
BEGIN;
SELECT value, receipt FROM minikafka.acquire_json('json', 2) \gset
SELECT minikafka.acknowledge('json', :'receipt', 'release');
SELECT value FROM minikafka.acquire_json('json');
COMMIT;
SELECT string_agg(value #>> '{}', ' ') FROM minikafka.acquire_json('json', 100, accept => true);
SELECT value FROM minikafka.fetch_text('drained.dead', 0, 0);

SELECT minikafka.delete_group(g) FROM unnest('{drain,json}'::text[]) g;
SELECT minikafka.drop_topic(t) FROM unnest('{rolled,drained,drained.dead}'::text[]) t;
