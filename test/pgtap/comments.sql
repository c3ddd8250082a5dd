--
-- Everything that the extension makes has a comment
--
BEGIN;
SELECT plan(14);

CREATE TEMP VIEW members AS
SELECT classid, objid, pg_describe_object(classid, objid, 0) AS what
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'minikafka');

SELECT is_empty(
	$$SELECT what FROM members WHERE classid = 'pg_proc'::regclass AND obj_description(objid, 'pg_proc') IS NULL$$,
	'functions and procedures without a comment');
-- row types of tables have their table's
SELECT is_empty(
	$$SELECT what FROM members JOIN pg_type t ON t.oid = objid
	WHERE classid = 'pg_type'::regclass AND typelem = 0
		AND (typrelid = 0 OR (SELECT relkind FROM pg_class c WHERE c.oid = typrelid) = 'c')
		AND obj_description(objid, 'pg_type') IS NULL$$,
	'types without a comment');
SELECT is_empty(
	$$SELECT what FROM members JOIN pg_class c ON c.oid = objid
	WHERE classid = 'pg_class'::regclass AND relkind IN ('r', 'v', 'S', 'm', 'p', 'f')
		AND obj_description(objid, 'pg_class') IS NULL$$,
	'tables, views and sequences without a comment');
SELECT is_empty(
	$$SELECT what, attname FROM members JOIN pg_attribute a ON attrelid = objid JOIN pg_class c ON c.oid = objid
	WHERE classid = 'pg_class'::regclass AND relkind IN ('r', 'v', 'm', 'p', 'f') AND attnum > 0 AND NOT attisdropped
		AND col_description(objid, attnum) IS NULL$$,
	'columns without a comment');
SELECT is_empty(
	$$SELECT what FROM members WHERE classid = 'pg_namespace'::regclass AND obj_description(objid, 'pg_namespace') IS NULL$$,
	'schemas without a comment');
SELECT isnt(obj_description(oid, 'pg_extension'), NULL, 'the extension has a comment')
FROM pg_extension WHERE extname = 'minikafka';
-- the queries above did look at something
SELECT cmp_ok((SELECT count(*) FROM members JOIN pg_proc p ON p.oid = objid WHERE classid = 'pg_proc'::regclass AND prokind = kind), '>=', least, what || ' were found')
FROM (VALUES ('f'::"char", 56::bigint, 'functions'), ('p', 4, 'procedures')) v(kind, least, what);
SELECT cmp_ok((SELECT count(*) FROM members JOIN pg_class c ON c.oid = objid WHERE classid = 'pg_class'::regclass AND relkind = kind), '>=', least, what || ' were found')
FROM (VALUES ('r'::"char", 14::bigint, 'tables'), ('v', 6, 'views'), ('S', 5, 'sequences')) v(kind, least, what);
SELECT cmp_ok((SELECT count(*) FROM members WHERE classid = 'pg_type'::regclass), '>=', 4::bigint, 'types were found');
-- what is of another kind would have to be looked at above
SELECT is_empty(
	$$SELECT members.what FROM members LEFT JOIN pg_class c ON classid = 'pg_class'::regclass AND c.oid = objid
	WHERE classid NOT IN ('pg_proc'::regclass, 'pg_type'::regclass, 'pg_class'::regclass, 'pg_namespace'::regclass)
		OR relkind NOT IN ('r', 'v', 'S')$$,
	'members of other kinds');
-- each schema that the extension makes is a member
SELECT set_eq(
	$$SELECT nspname::text FROM members JOIN pg_namespace n ON n.oid = objid WHERE classid = 'pg_namespace'::regclass$$,
	ARRAY['minikafka', 'minikafka_topics', 'minikafka_data'], 'the schemas');

SELECT * FROM finish();
ROLLBACK;
