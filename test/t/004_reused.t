# Transactions fail at random after their records were sequenced, so numbers are
# used again: no reader, on the primary or a standby, takes a number for a hole
# that a record bears in the end.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $late = library('late');
my $node = new_node('primary');

# A reader that remembers the gaps it was shown.  What could be skipped is the
# part of a batch that lies on one page of the index, when the reader has
# copied the page, but has not come to the rows yet: so it reads some 300
# records again each time, and decodes them, to be long on the way.
$node->safe_psql(
	'postgres', q{
CREATE TABLE load_done ();
CREATE PROCEDURE read_gaps(topic text, INOUT total bigint, INOUT gaps text[])
LANGUAGE plpgsql AS $$
DECLARE
	next bigint := 0;
	last boolean;
	idle boolean;
	r record;
BEGIN
	gaps := '{}';
	total := 0;
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		idle := true;
		FOR r IN SELECT "offset" FROM minikafka.fetch_json(topic, 0,
			greatest(next - 300, 0), 1000)
		LOOP
			CONTINUE WHEN r."offset" < next;
			idle := false;
			IF r."offset" > next THEN
				gaps := gaps || (next || '-' || r."offset" - 1);
			END IF;
			next := r."offset" + 1;
			total := total + 1;
		END LOOP;
		COMMIT;
		EXIT WHEN idle AND last;
	END LOOP;
END $$;
-- small segments, so that gaps lie over their boundaries too
SELECT minikafka.create_topic('t', 1, segment_records => 20000);
CREATE TABLE acknowledged (n int);
-- a value that takes some time to decode
CREATE TABLE slow AS SELECT ('[' || repeat('1,', 250) || '1]')::json AS value;
});
my $standby = new_standby($node, 'standby', 'hot_standby_feedback = on');
my %readers;

for my $place ('primary', 'standby')
{
	$readers{$place} =
	  start_psql($place eq 'primary' ? $node : $standby,
		'SET statement_timeout = 0', q{CALL read_gaps('t', NULL, NULL)});
}

# Batches of 1 to 400 records: an index page has room for some 360.
my $load;
{
	local $ENV{PGOPTIONS} =
	  "-c session_preload_libraries=$late -c late.fail=0.5"
	  . ' -c synchronous_commit=off -c log_min_messages=fatal';
	$load = start_pgbench(
		$node, {
			'batch' => q{
\set n random(1, 400)
INSERT INTO acknowledged SELECT count(minikafka.send('t', value))
	FROM slow, generate_series(1, :n);
},
		},
		'-c8', '-j2', '-R100', '-T8');
}
my $out = finish_ok($load, 'the load ran');
my ($failed) = $out =~ /number of failed transactions: (\d+)/;
finish_load($node);
cmp_ok($failed, '>', 50, 'transactions failed after the sequencing');


my %there =
  map { $_->[0] => 1 } rows($node, 'SELECT "offset" FROM minikafka_topics.t');
my $there = keys %there;

is( $there,
	$node->safe_psql('postgres', 'SELECT sum(n) FROM acknowledged'),
	'what was acknowledged is there');
note(sprintf '%d records, %d transactions failed', $there, $failed);

for my $place ('primary', 'standby')
{
	my ($found, $gaps) =
	  split /\|/, finish_ok($readers{$place}, "the reader on the $place ended");
	my @holes   = map { [ split /-/ ] } $gaps =~ /\d+-\d+/g;
	my $skipped = 0;

	for my $hole (@holes)
	{
		$skipped += grep { $there{$_} } $hole->[0] .. $hole->[1];
	}
	note(scalar(@holes) . " holes seen on the $place, $skipped skipped");
	is($skipped, 0, "$place: no hole has a record in the end");
	is($found, $there, "$place: every record was read once");
}
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM minikafka.check_topic('t')
			WHERE severity = 'error'}),
	'0', 'the topic is sound');

# The same by hand.  The reader is stopped between copying a page of the index
# and coming to its rows: it waits for a lock on the TOAST table that has the
# first record's value.  Meanwhile the numbers of rows on that page and on the
# next one are used again.
$node->safe_psql('postgres', qq{CREATE FUNCTION late_lock(oid) RETURNS void
	LANGUAGE c AS '$late'});
for my $place ('primary', 'standby')
{
	my $reading = $place eq 'primary' ? $node : $standby;
	my $topic   = "by_hand_$place";
	my $many    = "SELECT minikafka.send('$topic', 'x')
		FROM generate_series(1, 600)";

	$node->safe_psql(
		'postgres', qq{
LOAD '$late';
SELECT minikafka.create_topic('$topic', 1);
SELECT minikafka.send('$topic', string_agg(gen_random_uuid()::text, ''))
FROM generate_series(1, 500)});
	is( sqlstate(
			$node, "LOAD '$late'; BEGIN; SET LOCAL late.fail = 1; $many; COMMIT"
		),
		'40001',
		"$place: numbers on two pages are free again");

	my $toast = $node->safe_psql(
		'postgres', qq{SELECT c.reltoastrelid
			FROM minikafka_topics.$topic t JOIN pg_class c ON c.oid = t.tableoid
			LIMIT 1});
	my $locker = $node->background_psql('postgres');

	$locker->query_safe(
		"BEGIN; SELECT pg_current_xact_id(), late_lock($toast)");
	wait_standby($node, $standby);
	my $reader = start_psql($reading,
		qq{SELECT count(*), max("offset") FROM minikafka.fetch('$topic', 0, 0, 5000)}
	);

	$reading->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_locks WHERE relation = $toast
			AND NOT granted")
	  or die;
	$node->safe_psql('postgres', $many);
	wait_standby($node, $standby);
	$locker->query_safe('COMMIT');
	$locker->quit;

	my ($count, $max) = split /\|/, finish_ok($reader, "$place: it read");
	is($max + 1, $count, "$place: it stepped over nothing");
	wait_standby($node, $standby);
	is( $reading->safe_psql(
			'postgres',
			qq{SELECT count(*), max("offset")
				FROM minikafka.fetch('$topic', 0, 0, 5000)}),
		'601|600',
		"$place: another call reads it all");
}

done_testing();
