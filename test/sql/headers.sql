--
-- Headers: an object, or an array where order, repetition or bytes matter
--
CREATE FUNCTION pg_temp.try(sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE sql;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE || ' ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
SELECT minikafka.create_topic('headed', 1);

-- what goes in, and what comes out
CREATE TABLE headers (no serial, given jsonb);
INSERT INTO headers (given) VALUES
	(NULL), ('{}'), ('[]'),
	('{"trace": "abc"}'),
	('{"b": "1", "a": "2"}'),
	('{"a": "1", "a": "2"}'),
	-- numbers and booleans become text, null stays
	('{"n": 1, "f": 1.50, "e": 1e3, "t": true, "u": false, "z": null, "s": ""}'),
	('{"big": 123456789012345678901234567890.5, "neg": -0.0}'),
	('{"": "empty name"}'),
	('{"na\"me": "quo\"te", "caf\u00e9": "\u65e5\u672c"}'),
	-- order and repetition are kept
	('[{"key": "b", "value": "1"}, {"key": "a", "value": "2"}, {"key": "b", "value": "3"}]'),
	('[{"value": 1, "key": "a"}, {"key": "b", "value": true}, {"key": "c", "value": null}]'),
	('[{"key": "", "value": ""}]'),
	-- bytes
	('[{"key": "sig", "base64": "3q2+7w=="}]'),
	('[{"key": "none", "base64": ""}]'),
	('[{"key": "spaced", "base64": " 3q2\n+7w\t==\r "}]'),
	('[{"key": "a", "base64": "AA=="}, {"key": "a", "value": 2}]'),
	-- members of an object named as those of an element are ordinary headers
	('{"key": "k", "value": "v", "base64": "not checked!"}');
SELECT count(minikafka.append('headed', 0, no::text, 'v', given))
FROM (SELECT * FROM headers ORDER BY no) h;
SELECT h.no, f.headers
FROM headers h JOIN minikafka.fetch_text('headed', 0, 0) f ON f.key = h.no::text
ORDER BY h.no;
-- no headers are stored as none, and read as {}, so that this works
SELECT DISTINCT headers || '{"attempts": "2"}' AS headers
FROM minikafka.fetch('headed', 0, 0, 3);
SELECT "offset", headers FROM minikafka_topics.headed WHERE "offset" < 4 ORDER BY "offset";
-- the same for all ways to read
SELECT count(*), count(DISTINCT a.headers)
FROM minikafka.fetch('headed', 0, 0) a
JOIN minikafka.fetch_text('headed', 0, 0) b USING ("offset")
WHERE a.headers = b.headers;
SELECT headers FROM minikafka.fetch('headed', 0, 13, 1);

-- what is refused, all with 22023
CREATE TABLE bad_headers (no serial, given jsonb);
INSERT INTO bad_headers (given) VALUES
	('1'), ('"text"'), ('true'), ('null'),
	('{"a": {}}'), ('{"a": []}'), ('{"a": {"b": {"c": 1}}}'),
	('[1]'), ('["a"]'), ('[null]'), ('[[]]'), ('[{"key": "a", "value": "b"}, [1]]'),
	('[{}]'), ('[{"value": "v"}]'), ('[{"key": "a"}]'),
	('[{"key": 1, "value": "v"}]'), ('[{"key": null, "value": "v"}]'),
	('[{"key": "a", "value": "v", "base64": "AA=="}]'),
	('[{"key": "a", "value": "v", "extra": 1}]'),
	('[{"key": "a", "Value": "v"}]'),
	('[{"key": "a", "value": {}}]'), ('[{"key": "a", "value": [1]}]'),
	('[{"key": "a", "base64": 1}]'), ('[{"key": "a", "base64": null}]'),
	('[{"key": "a", "base64": "A"}]'), ('[{"key": "a", "base64": "AAA"}]'),
	('[{"key": "a", "base64": "===="}]'), ('[{"key": "a", "base64": "AA==AA=="}]'),
	('[{"key": "a", "base64": "A*=="}]'), ('[{"key": "a", "base64": "-_8="}]'),
	(jsonb_build_array(jsonb_build_object('key', repeat('n', 200), 'value', '{}'::jsonb)));
\pset format unaligned
SELECT no, pg_temp.try(format('SELECT minikafka.send(''headed'', ''bad'', headers => %L)', given))
FROM bad_headers ORDER BY no;
\pset format aligned
-- also by the other functions, and for bytea
SELECT minikafka.append('headed', 0, 'k', 'bad', '[1]');
SELECT minikafka.send_many('headed', ARRAY['bad'], headers => ARRAY['{"a": []}']::jsonb[]);
SELECT minikafka.send('headed', '\x626164'::bytea, headers => '1');
SELECT count(*) FROM minikafka_topics.headed WHERE value = 'bad';

SELECT minikafka.drop_topic('headed');
DROP TABLE headers, bad_headers;
