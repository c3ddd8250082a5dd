# kill -9 of a backend, and immediate shutdown of the server, in the middle of
# many concurrent commits: every acknowledged record is there once, in order per
# session; offsets go on from the tail; readers are not stuck.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $partitions = 3;
my $clients    = 10;
my $node       = new_node('primary', 'restart_after_crash = on');

$node->safe_psql('postgres',
	"SELECT minikafka.create_topic('t', $partitions, segment_records => 500)");

sub count_records
{
	return $node->safe_psql('postgres',
		'SELECT count(*) FROM minikafka_topics.t');
}

sub ends
{
	return $node->safe_psql('postgres',
		q{SELECT string_agg(end_offset::text, ',' ORDER BY partition)
		FROM minikafka.partitions WHERE topic = 't'});
}

# Numbers of acknowledged transactions, by "round-client".
my %acknowledged;

for my $round (1 .. 6)
{
	my $log  = PostgreSQL::Test::Utils::tempdir("round$round") . '/log';
	my $load = start_pgbench(
		$node, {
			'send' => q{
\set n :n + 1
SELECT minikafka.send('t', value => format('%s-%s:%s', :round, :client_id, :n),
	partition => :client_id % 3);
}
		},
		"-c$clients", '-j2', '-T60', '-l', "--log-prefix=$log",
		'-D', 'n=0', '-D', "round=$round");
	my $before = count_records();

	$node->poll_query_until('postgres',
		"SELECT count(*) > $before + 500 FROM minikafka_topics.t")
	  or die;
	if ($round % 2)
	{
		# of a backend that is committing, if there is one just now
		my $pid = $node->safe_psql(
			'postgres', q{SELECT pid FROM pg_stat_activity
			WHERE query LIKE '%minikafka.send(%' AND pid <> pg_backend_pid()
			ORDER BY state = 'active' DESC, random() LIMIT 1});
		kill 'KILL', $pid;
		$load->{run}->finish;
		wait_until_up($node);
	}
	else
	{
		$node->stop('immediate');
		$load->{run}->finish;
		$node->start;
	}

	# pgbench has a line for each transaction that was acknowledged
	my %count;
	for my $file (glob "$log*")
	{
		for (split /\n/, slurp_file($file))
		{
			$count{ (split)[0] }++;
		}
	}
	$acknowledged{"$round-$_"} = $count{$_} for keys %count;

	# every reader comes to the end, and sending goes on there
	my $tails = $node->safe_psql(
		'postgres', qq{SELECT string_agg((SELECT max("offset") + 1
			FROM minikafka_topics.t WHERE partition = p)::text, ',' ORDER BY p)
			FROM generate_series(0, $partitions - 1) p});
	is(ends(), $tails, "round $round: the ends are the tails");
	is( $node->safe_psql(
			'postgres',
			qq{BEGIN; SELECT count(*) FROM generate_series(0, $partitions - 1) p,
				minikafka.send('t', 'after:$round', partition => p); COMMIT;
			SELECT string_agg(base_offset::text, ',' ORDER BY partition)
			FROM minikafka.last_sent()}),
		"$partitions\n$tails",
		"round $round: sending goes on at the tails");
}

my (%read, $order, $odd);
($order, $odd) = (0, 0);
my @rows = rows(
	$node, qq{SELECT f.value FROM generate_series(0, $partitions - 1) p,
		minikafka.fetch_text('t', p, 0, 10000000) f
	WHERE f.value NOT LIKE 'after:%'});
for (@rows)
{
	my ($who, $number) = split /:/, $_->[0];

	# in order, each once, so: without a gap, since a client is to one partition
	$order++ if $number != ($read{$who} // 0) + 1;
	$read{$who} = $number;
}
my $missing = grep { ($read{$_} // 0) < $acknowledged{$_} } keys %acknowledged;
$odd = grep { $read{$_} > ($acknowledged{$_} // 0) + 1 } keys %read;
my $sum = 0;
$sum += $_ for values %acknowledged;
cmp_ok($sum, '>', 2000, "transactions were acknowledged");
is($order,   0, 'each session\'s records are there once, in order');
is($missing, 0, 'every acknowledged record is there');
is($odd,     0, 'and of the others at most the one that was committing');
is( $node->safe_psql('postgres',
		q{SELECT * FROM minikafka.check_topic('t') WHERE severity = 'error'}),
	'', 'the topic is sound');
is(scalar @rows + 6 * $partitions, count_records(), 'fetch() reads all');
note('holes: ' . $node->safe_psql('postgres',
		q{SELECT count(*) FROM minikafka.check_topic('t')}));

# an orderly restart
my $ends = ends();
$node->restart;
is(ends(), $ends, 'a restart changes no end');
$node->stop('fast');
$node->start;
is(ends(), $ends, 'a fast stop neither');

done_testing();
