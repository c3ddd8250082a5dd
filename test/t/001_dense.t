# Twelve sessions commit, roll back, and roll back to savepoints, while readers
# on the primary and on a standby poll fetch(): they see 0, 1, 2, ... and each
# session's records in its order.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $partitions = 4;
my $clients    = 12;
my $each       = 500;

my $node = new_node('primary');
my $standby;

install_reader($node);
$node->safe_psql(
	'postgres', qq{
SELECT minikafka.create_topic('t', $partitions, segment_records => 5000);
-- what was really sent; "offset" where append() told it
CREATE TABLE sent (session int, number int, partition int, "offset" bigint);
});
$standby = new_standby($node, 'standby', 'hot_standby_feedback = on');

# Half of the commits wait for the standby, so they are in flight for long
# enough that others commit behind them.
$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$node->reload;

my @readers = map { start_reader($_, 't', $partitions, 300) } $node, $standby;

my $begin = q{
\set n :n + 1
\set waits random(0, 1)
\set p random(0, 3)
BEGIN;
\if :waits
SET LOCAL synchronous_commit = on;
\endif
};
my $keyed = q{
INSERT INTO sent SELECT :client_id, :n,
	minikafka.send('t', value => format('%s:%s', :client_id, :n), key => 'k' || :n);
};
my $load = start_pgbench(
	$node, {
		# by key
		'keyed@4' => $begin . $keyed . 'COMMIT;',
		# several records, by partition, over several partitions
		'several@3' => $begin . q{
INSERT INTO sent SELECT :client_id, :n, minikafka.send('t',
	value => format('%s:%s', :client_id, :n), partition => (:p + i) % 4)
FROM generate_series(1, 5) i;
COMMIT;
},
		# an offset that is known at once
		'append@2' => $begin . q{
INSERT INTO sent SELECT :client_id, :n, :p,
	minikafka.append('t', :p, NULL, format('%s:%s', :client_id, :n));
COMMIT;
},
		'rolled_back@2' => $begin . $keyed . 'ROLLBACK;',
		# records before, in, and after a savepoint that is rolled back
		'savepoint@3' => $begin
		  . $keyed
		  . 'SAVEPOINT s;'
		  . $keyed
		  . 'SAVEPOINT s2;'
		  . $keyed
		  . 'RELEASE s2; ROLLBACK TO s;'
		  . $keyed
		  . 'COMMIT;',
		'append_rolled_back@1' => $begin
		  . $keyed
		  . q{
SAVEPOINT s;
SELECT minikafka.append('t', :p, NULL, 'undone:0');
ROLLBACK TO s;
COMMIT;
},
	},
	"-c$clients", '-j2', "-t$each", '-D', 'n=0');

finish_ok($load, 'the load ran');
finish_load($node);

my %expected;
$expected{ join ':', @$_ }++
  for rows($node, 'SELECT partition, session, number FROM sent');
my %known = map { ("$_->[0]:$_->[1]" => "$_->[2]:$_->[3]") } rows($node,
	'SELECT partition, "offset", session, number FROM sent
	WHERE "offset" IS NOT NULL');

cmp_ok(scalar keys %known, '>', 100, 'append() gave offsets');
for my $place ('primary', 'standby')
{
	my ($records, $stops) =
	  finish_reader(shift @readers, "the reader on the $place ended");
	my @next   = (0) x $partitions;
	my @last   = map { {} } 1 .. $partitions;
	my %left   = %expected;
	my $gaps   = 0;
	my $order  = 0;
	my $others = 0;
	my $known  = 0;

	for (@$records)
	{
		my ($partition, $offset, $value) = @$_;
		my ($session, $number) = split /:/, $value;
		my $last = $last[$partition]{$session} // 0;

		$gaps++ if $offset != $next[$partition];
		$next[$partition] = $offset + 1;
		$order++ if $number < $last;
		$last[$partition]{$session} = $number;
		$others++ if --$left{"$partition:$value"} < 0;
		$known++ if ($known{"$partition:$offset"} // '') eq $value;
	}
	cmp_ok(scalar @$records, '>', $clients * $each, "$place: much was read");
	is($gaps,   0, "$place: offsets are 0, 1, 2, ...");
	is($order,  0, "$place: each session's records are in its order");
	is($others, 0, "$place: nothing was read twice or had been rolled back");
	is(scalar(grep { $_ > 0 } values %left),
		0, "$place: nothing is missing");
	is($known, scalar keys %known, "$place: append() told the right offsets");
	# a standby sees the commits in the order of their WAL records, which is
	# seldom another one than that of the offsets
	note("$place: the reader stopped at undecided records $stops times");
	cmp_ok($stops, '>', 0, 'primary: the reader stopped at undecided records')
	  if $place eq 'primary';
}
is(problems($node, 't'), '', 'the topic is sound');

done_testing();
