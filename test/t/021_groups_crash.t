# kill -9 of a backend and of the postmaster, and immediate shutdown, while
# members poll, work and commit in one transaction: what they do with each record
# is done exactly once, and they go on where they stopped.  Kafka cases T29, T34

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $clients = 6;
my $node    = new_node('primary', 'restart_after_crash = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# As many members as clients, with a partition each, in two groups.  Their
# timeouts are so long that they stay the same through the crashes.
sql(qq{
SELECT minikafka.create_topic('t', $clients, segment_records => 300);
CREATE TABLE effects (group_id text, partition int, "offset" bigint, round int);
});
for my $g ('cooperative', 'eager')
{
	# each is a transaction of its own
	sql(join ';',
		(
			map {
				"SELECT minikafka.join_group('$g', '{t}', 'm$_', protocol => '$g',
				session_timeout => '1 day', max_poll_interval => '1 day')"
			} 0 .. $clients - 1
		),
		(map { "SELECT FROM minikafka.poll('$g', 'm$_')" } 0 .. $clients - 1)
		  x 2);
}
my $generations =
  sql(q{SELECT string_agg(generation || state, ' ' ORDER BY group_id)
	FROM minikafka.groups});

sub work
{
	my ($g, $end) = @_;

	return qq{
BEGIN;
INSERT INTO effects SELECT '$g', partition, "offset", :round
FROM minikafka.poll('$g', 'm' || :client_id, 5);
SELECT count(*) FROM minikafka.commit('$g', 'm' || :client_id);
$end;
};
}

my %scripts = (
	'send@2' => "
SELECT minikafka.send('t', 'x', partition => p)
FROM generate_series(0, $clients - 1) p;
",
	'cooperative@3' => work('cooperative', 'COMMIT'),
	'eager@3'       => work('eager',       'COMMIT'),
	'rolled_back@1' => work('cooperative', 'ROLLBACK'));

for my $round (1 .. 4)
{
	my $load = start_pgbench($node, \%scripts, "-c$clients", '-j2', '-T60',
		'-D', "round=$round");

	$node->poll_query_until('postgres',
		"SELECT count(*) > 500 FROM effects WHERE round = $round")
	  or die;
	my $kind = qw(shutdown backend postmaster backend) [ $round - 1 ];
	if ($kind eq 'backend')
	{
		# one that is committing, if there is one just now
		my $pid = sql(
			q{SELECT pid FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
			ORDER BY query LIKE 'COMMIT%' DESC, state = 'active' DESC LIMIT 1});
		kill 'KILL', $pid;
		$load->{run}->finish;
		wait_until_up($node);
	}
	elsif ($kind eq 'postmaster')
	{
		my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;

		$node->kill9;
		$load->{run}->finish;

		# it is a process until its exit status is read, and its
		# children end when they notice
		for (1 .. 20 * $PostgreSQL::Test::Utils::timeout_default)
		{
			last if !kill(0, $pid) && $node->start(fail_ok => 1);
			usleep(50_000);
		}
	}
	else
	{
		$node->stop('immediate');
		$load->{run}->finish;
		$node->start;
	}

	for my $g ('cooperative', 'eager')
	{
		is( sql(qq{SELECT string_agg(partition::text, ' ') FROM (
				SELECT p AS partition FROM generate_series(0, $clients - 1) p
				LEFT JOIN effects e ON e.group_id = '$g' AND e.partition = p
				GROUP BY p HAVING
				count(*) FILTER (WHERE partition IS NOT NULL)
					<> (SELECT count(*) FROM minikafka_topics.t r
						WHERE r.partition = p AND
						r."offset" < minikafka.committed('$g', 't', p))
				OR COALESCE(max("offset") + 1, 0)
					<> COALESCE(minikafka.committed('$g', 't', p), 0)) s}),
			'', "$kind, $g: what was done is what was committed");
	}
	is( sql(q{SELECT string_agg(generation || state, ' ' ORDER BY group_id)
			FROM minikafka.groups}),
		$generations, "$kind: the members are the same");
	is(sql(q{SELECT count(*) FROM minikafka.group_members WHERE in_transaction}),
		'0', "$kind: no session is at work");
}

# the same members, also such as never joined again, do the rest
for my $g ('cooperative', 'eager')
{
	for my $member (0 .. $clients - 1)
	{
		my $left;
		do
		{
			$left = sql(qq{BEGIN;
INSERT INTO effects SELECT '$g', partition, "offset", 5
FROM minikafka.poll('$g', 'm$member', 1000);
SELECT sum(lag) FROM minikafka.commit('$g', 'm$member') c,
	minikafka.lag('$g') l WHERE c.partition = l.partition;
COMMIT});
		} while ($left > 0);
	}
	is( sql(qq{SELECT count(*), count(DISTINCT (partition, "offset"))
			FROM effects WHERE group_id = '$g'}),
		sql(q{SELECT count(*), count(*) FROM minikafka_topics.t}),
		"$g: in the end everything was done once");
}
cmp_ok(sql('SELECT count(*) FROM minikafka_topics.t'),
	'>', 1000, 'there was something to do');
# a crash in the middle of a commit may leave a hole, which is no error
is( sql(q{SELECT count(*) FROM minikafka.check_topic('t')
		WHERE severity = 'error'}),
	'0', 'the topic is sound');

done_testing();
