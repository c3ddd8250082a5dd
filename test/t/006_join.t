# A record and the row that its transaction wrote are seen together by one
# statement that joins fetch() with the table, under load.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');

$node->safe_psql(
	'postgres', q{
CREATE TABLE load_done ();
CREATE SEQUENCE business_id;
CREATE TABLE business (id bigint PRIMARY KEY, "offset" bigint);
SELECT minikafka.create_topic('t', 1);

/*
 * Each look is one statement: the records from the last position on, with the
 * rows that it sees.  no_row: records without their row.  early: rows without
 * their record, and where the look ended.
 */
CREATE TABLE early (id bigint, stop bigint);
CREATE PROCEDURE look(INOUT looks bigint, INOUT total bigint, INOUT no_row bigint)
LANGUAGE plpgsql AS $$
DECLARE
	next bigint := 0;
	last boolean;
	r record;
BEGIN
	SELECT 0, 0, 0 INTO looks, total, no_row;
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		WITH f AS MATERIALIZED (
			SELECT "offset", value::bigint AS id
			FROM minikafka.fetch_text('t', 0, next, 100000)
		), known AS (
			INSERT INTO seen SELECT id FROM f
		), e AS (
			INSERT INTO early
			SELECT b.id, COALESCE((SELECT max("offset") + 1 FROM f), next)
			FROM business b
			WHERE NOT EXISTS (SELECT FROM f WHERE f.id = b.id)
				AND NOT EXISTS (SELECT FROM seen s WHERE s.id = b.id)
		)
		SELECT count(*) AS n, count(*) - count(b.id) AS lonely,
			COALESCE(max(f."offset") + 1, next) AS stop
		INTO r FROM f LEFT JOIN business b ON b.id = f.id;
		COMMIT;
		looks := looks + 1;
		total := total + r.n;
		no_row := no_row + r.lonely;
		next := r.stop;
		EXIT WHEN last AND r.n = 0;
	END LOOP;
END $$;
CREATE TABLE seen (id bigint PRIMARY KEY);
});

# Half of the commits wait for a standby, so rows get visible out of order.
my $standby = new_standby($node, 'standby');
$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$node->reload;

my $reader = start_psql($node, 'SET synchronous_commit = local',
	'CALL look(NULL, NULL, NULL)');
my $load = start_pgbench(
	$node, {
		'send' => q{
\set waits random(0, 1)
BEGIN;
\if :waits
SET LOCAL synchronous_commit = on;
\endif
WITH n AS (INSERT INTO business VALUES (nextval('business_id')) RETURNING id)
SELECT minikafka.send('t', n.id::text) FROM n;
COMMIT;
},
		'append' => q{
BEGIN;
WITH n AS (SELECT nextval('business_id') AS id)
INSERT INTO business SELECT id, minikafka.append('t', 0, NULL, id::text) FROM n;
COMMIT;
},
		'rolled_back' => q{
BEGIN;
WITH n AS (INSERT INTO business VALUES (nextval('business_id')) RETURNING id)
SELECT minikafka.send('t', n.id::text) FROM n;
ROLLBACK;
}
	},
	'-c10', '-j2', '-t400');
finish_ok($load, 'the load ran');
$node->safe_psql('postgres', 'INSERT INTO load_done DEFAULT VALUES');
my ($looks, $found, $no_row) =
  split /\|/, finish_ok($reader, 'the reader ended');

cmp_ok($looks, '>', 50, 'it looked often');
is( $found,
	$node->safe_psql('postgres', 'SELECT count(*) FROM business'),
	'it found all');
is($no_row + 0, 0, 'every record that was fetched has its row');

# a row that was seen without its record: its record is not before the stop
my ($early, $wrong) = split /\|/,
  $node->safe_psql(
	'postgres', q{
SELECT count(*), count(*) FILTER (WHERE t."offset" IS NULL OR t."offset" < e.stop)
FROM early e
LEFT JOIN minikafka_topics.t t ON convert_from(t.value, 'UTF8')::bigint = e.id});
cmp_ok($early, '>', 0, "rows were seen whose records were behind an undecided one");
is($wrong, 0, 'up to where fetch() stopped, every row has its record');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM business b
		JOIN minikafka_topics.t t ON convert_from(t.value, 'UTF8')::bigint = b.id
		WHERE b."offset" <> t."offset"}),
	'0', 'append() told the right offsets');

done_testing();
