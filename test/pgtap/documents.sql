--
-- What an addition needs besides its code: a section of the reference, a line of the
-- changelog, a test.  The name of an assertion says what to do about the rows that it
-- shows.  Comments are in comments.sql, rights in audit.sql and rights.sql, signatures
-- in functions.sql; which tables a dump contains is in test/sql/extension.sql.
--
BEGIN;
-- psql runs in the folder that has doc/ and src/.
\set reference `cat doc/reference.md`
\set changelog `cat CHANGELOG.md`
\set tests `cat test/sql/*.sql`
\set errors `sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' src/mk_errors.h`
CREATE TEMP TABLE document (name text, contents text);
INSERT INTO document VALUES ('reference', :'reference'), ('contents', split_part(:'reference', E'\n## ', 1)), ('changelog', :'changelog'), ('tests', :'tests'), ('errors', :'errors');

-- A mention is the name between characters that no name has.
CREATE FUNCTION pg_temp.mentions(document text, before text, what text, after text) RETURNS boolean LANGUAGE sql
	AS $$SELECT contents ~ (before || '\m' || what || '\M' || after) FROM document WHERE document.name = mentions.document$$;

SELECT plan(14);

-- Functions that only views and triggers of the extension call.
CREATE TEMP TABLE internal (name text);
INSERT INTO internal VALUES
	('try_offsets'), -- view partitions
	('topic_dead_letters'), -- view dead_letters
	('group_is_visible'), ('group_commits'), ('member_is_expired'), ('group_deliveries'), -- views of groups
	('refuse_write'); -- trigger of tables of topics
CREATE TEMP VIEW functions AS
SELECT DISTINCT proname::text AS name FROM pg_proc
WHERE pronamespace = 'minikafka'::regnamespace AND proname NOT IN (SELECT name FROM internal);
CREATE TEMP VIEW views AS
SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'minikafka'::regnamespace AND relkind = 'v';
-- the library defines them when it is loaded
LOAD 'minikafka';
CREATE TEMP VIEW settings AS SELECT name FROM pg_settings WHERE name LIKE 'minikafka.%';
-- The options are those that the hint names.
CREATE TEMP TABLE options (name text);
DO $$
DECLARE
	hint text;
BEGIN
	PERFORM minikafka.create_topic('documents', 1);
	PERFORM minikafka.set_topic_option('documents', 'nonsense', NULL);
EXCEPTION WHEN invalid_parameter_value THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	INSERT INTO options SELECT matches[1] FROM regexp_matches(hint, '"(\w+)"', 'g') AS matches;
END $$;
CREATE TEMP VIEW sqlstates AS
SELECT array_to_string(matches, '') AS name
FROM document, regexp_matches(contents, $$MAKE_SQLSTATE\('(.)',\s*'(.)',\s*'(.)',\s*'(.)',\s*'(.)'\)$$, 'g') AS matches
WHERE document.name = 'errors';

SELECT is_empty($$SELECT name FROM internal WHERE name NOT IN (SELECT proname FROM pg_proc WHERE pronamespace = 'minikafka'::regnamespace)$$,
	'internal functions that do not exist: remove them from this file');
-- the documents were read, and the lists are not empty
SELECT is((SELECT count(*) FROM document WHERE length(contents) > 1000), 5::bigint, 'the documents were read');
SELECT is(
	ARRAY[(SELECT count(*) FROM functions) > 40, (SELECT count(*) FROM views) > 5, (SELECT count(*) FROM settings) > 5,
		(SELECT count(*) FROM options) > 7, (SELECT count(*) FROM sqlstates) > 9],
	'{t,t,t,t,t}', 'functions, views, settings, options and SQLSTATEs were found');

-- Reference: a signature is indented by four spaces
SELECT is_empty($$SELECT name FROM functions WHERE name <> 'outbox' AND NOT pg_temp.mentions('reference', '\n    (?:CALL )?', name, '\(')$$,
	'functions without a signature in doc/reference.md: add a section');
SELECT is_empty($$SELECT name FROM functions WHERE NOT pg_temp.mentions('contents', '', name, '')$$,
	'functions that are not in the contents of doc/reference.md: add them at its beginning');
SELECT is_empty($$SELECT name FROM views WHERE NOT pg_temp.mentions('reference', '\n### View ', name, '')$$,
	'views without a section in doc/reference.md: add one');
SELECT is_empty($$SELECT name FROM settings WHERE NOT pg_temp.mentions('reference', '\n\| `', name, '` \|')$$,
	'settings that are not in the table of doc/reference.md, "Settings": add a row');
SELECT is_empty($$SELECT name FROM options WHERE NOT pg_temp.mentions('reference', '\n\| [^\n|]*`', name, '`')$$,
	'topic options that are in no table of doc/reference.md: add a row to set_topic_option');
SELECT is_empty($$SELECT name FROM sqlstates WHERE NOT pg_temp.mentions('reference', '\n\| `', name, '` \|')$$,
	'SQLSTATEs that are not in the table of doc/reference.md, "Errors": add a row');

-- Changelog
SELECT is_empty($$SELECT name FROM functions WHERE NOT pg_temp.mentions('changelog', '`(?:CALL )?', name, '\([^`]*\)`')$$,
	'functions that CHANGELOG.md does not mention: add a line');
SELECT is_empty($$SELECT name FROM (TABLE views UNION ALL TABLE settings) v WHERE NOT pg_temp.mentions('changelog', '`', name, '`')$$,
	'views and settings that CHANGELOG.md does not mention: add a line');
SELECT is_empty($$SELECT name FROM options WHERE NOT pg_temp.mentions('changelog', '[`(]', name, '')$$,
	'topic options that CHANGELOG.md does not mention: add a line');

-- Tests: statements in test/sql, whose output is in expected/
SELECT is_empty($$SELECT name FROM (TABLE functions UNION ALL TABLE views) f WHERE NOT pg_temp.mentions('tests', 'minikafka\.', name, '')$$,
	'functions and views that no file of test/sql uses: add a test with its expected output');
SELECT is_empty($$SELECT name FROM options WHERE NOT pg_temp.mentions('tests', '', name, '')$$,
	'topic options that no file of test/sql uses: add a test with its expected output');

SELECT * FROM finish();
ROLLBACK;
