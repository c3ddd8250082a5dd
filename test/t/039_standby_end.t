# The end on a standby: nothing that comes later lies below it, though no lock
# tells there which commits are in flight.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');
my $standby = new_standby($node, 'standby');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# In a new session, or in one that has looked before.
my $session = $standby->background_psql('postgres');

sub end_there
{
	my ($topic) = @_;
	my $query =
	  "SELECT end_offset FROM minikafka.offsets('$topic', 0)";

	wait_standby($node, $standby);
	return $standby->safe_psql('postgres', $query) . ' '
	  . $session->query_safe($query);
}

# A commit that is held up after its records were sequenced
my $gate = $node->background_psql('postgres');
$gate->query_safe('SELECT pg_advisory_lock(1)');

sql(q{SELECT minikafka.create_topic('t', 1, segment_records => 1000)});
sql(q{SELECT minikafka.create_topic('other', 1)});
sql(q{SELECT count(minikafka.send('t', 'bulk')) FROM generate_series(1, 2500)});
is(end_there('t'), '2500 2500', 'nothing is in flight');

# one in flight below one that is committed
my $first = start_gated($node, q{SELECT count(minikafka.send('t', 'held'))
	FROM generate_series(1, 3)});
sql(q{SELECT minikafka.send('t', 'above')});
is(end_there('t'), '2500 2500', 'the end is the first record in flight');
is( $standby->safe_psql('postgres',
		q{SELECT count(*) FROM minikafka.fetch('t', 0, 2490)}),
	'10', 'as fetch() has it');

# as many above as there can be sessions, and more, in later transactions
sql("SELECT minikafka.send('t', 'above')") for 1 .. 100;
is(end_there('t'), '2500 2500', 'with very many above');

# in transactions that have got their ids before, and commit after
my $old = $node->background_psql('postgres');
$old->query_safe(q{BEGIN; SELECT pg_current_xact_id()});
my $second = start_gated($node, q{SELECT minikafka.send('other', 'held')});
$old->query_safe(q{SELECT minikafka.send('other', 'old'); COMMIT});
is(end_there('other'), '0 0', 'with an older transaction above');

$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_ok($_, 'it committed') for $first, $second;
is(end_there('t'), '2604 2604', 'the end moves on when it has committed');
is(end_there('other'), '2 2', 'there too');

# nothing in progress that is older than what has ended
$gate->query_safe('SELECT pg_advisory_lock(1)');
$old->query_safe(q{BEGIN; SELECT pg_current_xact_id()});
$first = start_gated($node, q{SELECT minikafka.send('other', 'held')});
$old->query_safe(q{SELECT minikafka.send('other', 'old'); COMMIT});
$standby->poll_query_until('postgres',
	q{SELECT max("offset") = 3 FROM minikafka_topics.other}) or die;
is($session->query_safe(q{SELECT end_offset FROM minikafka.offsets('other', 0)}),
	'2', 'the newest transaction is the one in flight');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_ok($first, 'it committed');
is(end_there('other'), '4 4', 'the end moves on then');

# long runs, and what else is in progress on the primary
my $unrelated = $node->background_psql('postgres');
sql(q{SELECT count(minikafka.send('t', 'bulk')) FROM generate_series(1, 1500)});
sql("SELECT minikafka.send('t', 'single')") for 1 .. 5;
sql(q{SELECT count(minikafka.send('t', 'bulk')) FROM generate_series(1, 300)});
sql("SELECT minikafka.send('t', 'single')") for 1 .. 5;
$unrelated->query_safe(q{BEGIN; CREATE TABLE unrelated (i int)});
is(end_there('t'), '4414 4414', 'with something else in progress');
$gate->query_safe('SELECT pg_advisory_lock(1)');
$first = start_gated($node, q{SELECT minikafka.send('t', 'held')});
sql(q{SELECT count(minikafka.send('t', 'bulk')) FROM generate_series(1, 500)});
is(end_there('t'), '4414 4414', 'with a long run above one in flight');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_ok($first, 'it committed');
is(end_there('t'), '4915 4915', 'the end moves on');
$unrelated->query_safe('COMMIT');
is(end_there('t'), '4915 4915', 'and stays');

# ---------------------------------------------------------------------------
# Under load: all below the end is there, when it is looked for afterwards

sql(q{
SELECT minikafka.create_topic('load', 1);
CREATE FUNCTION missing(looks int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
	e bigint;
BEGIN
	FOR i IN 1 .. looks LOOP
		e := end_offset FROM minikafka.offsets('load', 0);
		IF (SELECT count(*) FROM minikafka_topics.load
			WHERE "offset" >= e - 50 AND "offset" < e) < least(e, 50) THEN
			n := n + 1;
		END IF;
	END LOOP;
	RETURN n;
END $$;
});
wait_standby($node, $standby);
my $load = start_pgbench(
	$node, { 'send' => q{SELECT minikafka.send('load', 'v');} },
	'-c16', '-j2', '-t400');
my $missing = 0;
for (1 .. 20)
{
	$missing +=
	  $standby->safe_psql('postgres', 'SELECT missing(100)');
}
$load->{run}->finish;
is($missing, 0, 'nothing was missing below the end');
is(end_there('load'), '6400 6400', 'all is there in the end');

$_->quit for $session, $gate, $old, $unrelated;
is(server_errors($node), '', 'no internal error');
done_testing();
