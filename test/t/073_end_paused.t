# A standby whose replay is paused at random places, under a load of commits that
# overlap and often fail: no reader passes a record that appears later, and no end
# lies above one.
#
# MINIKAFKA_SEED=n sets the seed; MINIKAFKA_PAUSES=n how often it is paused.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $seed   = $ENV{MINIKAFKA_SEED}   || 73;
my $pauses = $ENV{MINIKAFKA_PAUSES} || 40;
srand($seed);
note("seed $seed");

my $late = library('late');
my $node = new_node(
	'primary',
	"shared_preload_libraries = '$late, minikafka'",
	'log_min_messages = fatal',
	'autovacuum = off');
my $standby = new_standby($node, 'standby');
# a standby of the standby
$standby->backup('for_cascade');
my $cascade = PostgreSQL::Test::Cluster->new('cascade');
$cascade->init_from_backup($standby, 'for_cascade', has_streaming => 1);
$cascade->start;

sub sql { return $node->safe_psql('postgres', $_[0]); }

install_reader($node);
sql(q{
SELECT minikafka.create_topic('t', 2, segment_records => 500);
CREATE TABLE side (i int);
SELECT minikafka.send('t', 'first', partition => p) FROM generate_series(0, 1) p;
});
wait_standby($node, $standby);
wait_standby($node, $cascade);

# Commits take a while after their records were sequenced, and a third of them fails
# then.
my $load = start_pgbench(
	$node, { 'send' => q{
\set n random(1, 3)
\set p random(0, 1)
BEGIN;
SET LOCAL late.run = 'SELECT pg_sleep(random() * 0.02)';
SET LOCAL late.fail = 0.33;
SAVEPOINT a;
INSERT INTO side VALUES (:n);
SELECT minikafka.send('t', 'gone', partition => :p);
ROLLBACK TO a;
SELECT count(minikafka.send('t', 'v' || i, partition => :p)) FROM generate_series(1, :n) i;
COMMIT;
} }, '-c8', '-j2', '-R100', '-T', 3600);
my @readers = ((map { start_reader($standby, 't', 2, $_) } 1, 100), start_reader($cascade, 't', 2, 10));

# While it is paused: the end, how many records are below it, and how many fetch()
# returns.
my $look = q{SELECT p, e, (SELECT count(*) FROM minikafka_topics.t WHERE partition = p AND "offset" < e),
		(SELECT string_agg("offset"::text, ',') FROM minikafka.fetch('t', p, greatest(e - 20, 0), 100000))
	FROM generate_series(0, 1) p, LATERAL (SELECT end_offset AS e FROM minikafka.offsets('t', p) OFFSET 0) o
	ORDER BY p};
my $session = new_session($standby);
my $lsn = ask($session, 'SELECT pg_last_wal_replay_lsn()');
my @looks;

sub await
{
	my ($condition) = @_;

	for (1 .. 1000 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if ask($session, "SELECT $condition") eq 't';
		usleep(1000);
	}
	die "not in time: $condition";
}

for my $pause (1 .. $pauses)
{
	# goes on for a random number of bytes
	my $bytes = int(rand 8000);
	await("pg_last_wal_replay_lsn() > '$lsn'::pg_lsn + $bytes");
	ask($session, 'SELECT pg_wal_replay_pause()');
	await(q{pg_get_wal_replay_pause_state() = 'paused'});
	$lsn = ask($session, 'SELECT pg_last_wal_replay_lsn()');
	for my $out (ask($session, $look), $standby->safe_psql('postgres', $look))
	{
		push @looks, map { [ $lsn, split /\|/, $_, -1 ] } split /\n/, $out;
	}
	ask($session, 'SELECT pg_wal_replay_resume()');
}
$load->{run}->signal('TERM');
$load->{run}->finish;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'})
  or die 'the load does not end';
finish_load($node);

my %there;
push @{ $there{ $_->[0] } }, $_->[1]
  for rows($node, q{SELECT partition, "offset" FROM minikafka_topics.t ORDER BY 1, 2});
my @bad;
for my $l (@looks)
{
	my ($where, $partition, $end, $below, $fetched) = @$l;
	my @there = @{ $there{$partition} };
	my $all = grep { $_ < $end } @there;
	my @fetched = split /,/, $fetched;
	my @right = @fetched ? grep { $_ >= $fetched[0] && $_ <= $fetched[-1] } @there : ();

	push @bad, "at $where, partition $partition: end $end, $below of $all records below it, "
	  . 'fetch() ' . scalar(@fetched) . ' of ' . scalar(@right)
	  if $below != $all || @fetched != @right || ($fetched[-1] // $end - 1) >= $end;
}
is(join("\n", @bad), '', scalar(@looks) . ' looks while it was paused: all below the end is there, and comes from fetch()');
my $holes = 0;
$holes += $there{$_}[-1] + 1 - @{ $there{$_} } for 0, 1;
cmp_ok($holes, '>', 0, "$holes offsets of commits that failed");

my @all = sort map { my $p = $_; map { "$p:$_" } @{ $there{$p} } } 0, 1;
for my $reader (@readers)
{
	my ($records) = finish_reader($reader, 'a reader ended');
	my %last;
	my $back = grep {
		my $is_back = defined $last{ $_->[0] } && $_->[1] <= $last{ $_->[0] };
		$last{ $_->[0] } = $_->[1];
		$is_back;
	} @$records;

	is($back, 0, 'it has read in order');
	is_deeply([ sort map { "$_->[0]:$_->[1]" } @$records ], \@all, 'and each record once');
}
is( $_->safe_psql('postgres', q{SELECT * FROM minikafka.check_topic('t') WHERE severity = 'error'}),
	'', 'the topic is sound on ' . $_->name)
  for $node, $standby, $cascade;
$session->quit;
done_testing();
