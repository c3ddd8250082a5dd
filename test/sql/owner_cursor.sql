--
-- Code of a topic's owner that leaves a cursor open, in a CHECK or an index that
-- is evaluated while a transaction commits: the cursor ends with it.
--
SELECT minikafka.create_topic('oc', 1);
CREATE FUNCTION oc_leave_open(cursor_name text, o bigint) RETURNS boolean
	LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	c refcursor := cursor_name;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_cursors WHERE name = cursor_name) THEN
		OPEN c FOR SELECT relname FROM pg_class;
		MOVE NEXT FROM c;
	END IF;
	RETURN true;
END $$;

-- in a CHECK about the offset, which only the commit knows
ALTER TABLE minikafka_topics.oc
	ADD CONSTRAINT leaves_open CHECK (oc_leave_open('of_check', "offset"));
SELECT minikafka.send('oc', 'a');
SELECT name FROM pg_cursors;
BEGIN;
SELECT minikafka.send('oc', 'b');
COMMIT;
SELECT name FROM pg_cursors;
ALTER TABLE minikafka_topics.oc DROP CONSTRAINT leaves_open;

-- in an index
SELECT minikafka.create_index('oc', '(oc_leave_open(''of_index'', "offset"))');
SELECT minikafka.send('oc', 'c');
SELECT name FROM pg_cursors;

-- those of the transaction itself, and one that outlives it
BEGIN;
DECLARE kept CURSOR WITH HOLD FOR SELECT 1 AS one;
DECLARE gone CURSOR FOR SELECT 2;
SELECT minikafka.send('oc', 'd');
COMMIT;
SELECT name FROM pg_cursors;
FETCH kept;
CLOSE kept;

SELECT "offset", value FROM minikafka.fetch_text('oc', 0, 0);
SELECT minikafka.drop_topic('oc');
DROP FUNCTION oc_leave_open(text, bigint);
