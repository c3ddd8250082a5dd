# Through PgBouncer in transaction mode: nothing lives in the session between
# transactions.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node   = new_node('primary');
my $pooler = new_pooler($node, 'default_pool_size = 4')
  or plan skip_all => 'pgbouncer is not installed';

$node->safe_psql(
	'postgres', q{
SELECT minikafka.create_topic('t', 3, segment_records => 500);
CREATE TABLE sent (session int, number int, partition int);
CREATE TABLE consumed (partition int, "offset" bigint,
	PRIMARY KEY (partition, "offset"));
});
my $load = start_pgbench(
	$pooler, {
		'send' => q{
\set n :n + 1
INSERT INTO sent SELECT :client_id, :n,
	minikafka.send('t', value => format('%s:%s', :client_id, :n), key => 'k' || :client_id);
},
		'savepoint' => q{
\set n :n + 1
BEGIN;
SAVEPOINT s;
SELECT minikafka.send('t', 'undone', partition => 0);
ROLLBACK TO s;
INSERT INTO sent SELECT :client_id, :n,
	minikafka.send('t', value => format('%s:%s', :client_id, :n), key => 'k' || :client_id);
COMMIT;
},
		'rolled_back' => q{
BEGIN;
SELECT minikafka.append('t', 0, NULL, 'undone');
SELECT minikafka.commit_offset('undone', 't', 0, 0);
ROLLBACK;
},
		'consume' => q{
\set p random(0, 2)
BEGIN;
SELECT pg_advisory_xact_lock(:p);
SELECT COALESCE(minikafka.committed('g', 't', :p), 0) AS start \gset
SELECT COALESCE(max("offset") + 1, :start) AS next
FROM minikafka.fetch('t', :p, :start, 20) \gset
INSERT INTO consumed SELECT :p, generate_series(:start, :next - 1);
SELECT minikafka.commit_offset('g', 't', :p, :next);
COMMIT;
},
	},
	'-c12', '-j2', '-t100', '-D', 'n=0');
like(finish_ok($load, 'the load ran'),
	qr/number of failed transactions: 0 /, 'nothing failed');
is( $node->safe_psql(
		'postgres', q{SELECT count(*) > 4 FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}),
	'f', 'twelve clients shared four sessions');

my ($gaps, $order, $others) = (0, 0, 0);
my %sent = map { (join(':', @$_) => 1) }
  rows($node, 'SELECT partition, session, number FROM sent');
for my $partition (0 .. 2)
{
	my $next = 0;
	my %last;

	for (rows($node, qq{SELECT "offset", value
			FROM minikafka.fetch_text('t', $partition, 0, 1000000)}))
	{
		my ($session, $number) = split /:/, $_->[1];

		$gaps++ if $_->[0] != $next++;
		$order++ if $number <= ($last{$session} // 0);
		$last{$session} = $number;
		$others++ unless delete $sent{"$partition:$_->[1]"};
	}
}
is($gaps,   0, 'offsets are 0, 1, 2, ...');
is($order,  0, 'each client\'s records are in its order');
is($others, 0, 'nothing is there twice, or was rolled back');
is(scalar keys %sent, 0, 'nothing is missing');
is( $node->safe_psql(
		'postgres', q{SELECT string_agg(DISTINCT
			(n = minikafka.committed('g', 't', partition))::text, ',')
		FROM (SELECT partition, count(*) AS n FROM consumed GROUP BY 1) c}),
	'true', 'what was consumed is what was committed');
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM minikafka.consumer_group}),
	'1', 'a rolled back group is not there');
is(problems($node, 't'), '', 'the topic is sound');

done_testing();
