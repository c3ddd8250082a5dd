# Several sessions make checkpoints of a share group and remove its rows, while workers
# of all isolation levels go on and old snapshots come and go: each record is done once,
# in the order of its key, and in the end hardly a row is left.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $records = 20_000;
my $keys    = 40;
my $node = new_node('primary', 'autovacuum = off', 'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
SELECT minikafka.create_topic('t', 2);
SELECT count(minikafka.send('t', (i / $keys + 1)::text, 'k' || i % $keys)) FROM generate_series(0, $records - 1) i;
SELECT minikafka.create_share_group('g', '{t}', backoff => '1 ms', max_backoff => '5 ms', max_deliveries => 1000000);
CREATE TABLE effect (partition int, "offset" bigint, key text, n int, seen int);
CREATE INDEX ON effect (key);
});

# Workers: some records fail and come again, so that there are deliveries to remove
my $work = q{
\set most random(1, 12)
BEGIN ISOLATION LEVEL %s;
WITH r AS MATERIALIZED (SELECT partition, "offset", key, value::int AS n, minikafka.acknowledge('g', receipt,
		CASE WHEN random() < 0.05 THEN 'fail' ELSE 'accept' END) AS answer
	FROM minikafka.acquire_text('g', :most))
INSERT INTO effect SELECT partition, "offset", key, n,
	greatest((SELECT max(e.n) FROM effect e WHERE e.key = r.key),
		(SELECT max(b.n) FROM r b WHERE b.key = r.key AND b.n < r.n AND b.answer = 'accepted'), 0)
FROM r WHERE answer = 'accepted';
COMMIT;
};
my %levels = map { (tr/ /_/r => sprintf $work, $_) } 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE';
my @workers = map { start_pgbench($node, { $_ => $levels{$_} }, '-c2', '-T', 600, '--max-tries=0') } sort keys %levels;
my @cleaners = map { start_pgbench($node, { clean => 'CALL minikafka.maintain();' }, '-c1', '-T', 600) } 1, 2;

# Snapshots that are held for a while
my $old = new_session($node);
my $checks = 0;
my $cleaned = 0;
my $done = 0;
my $runs = 0;

while ($done < $records and $checks++ < 100_000)
{
	ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1') if $checks % 4 == 1;
	ask($old, 'COMMIT') if $checks % 4 == 3;
	my $now;
	($done, $now) = split /\|/, sql('SELECT (SELECT count(*) FROM effect), (SELECT count(*) FROM minikafka.share_done)');
	$cleaned++ if $now < $runs;
	$runs = $now;
}
is($done, $records, 'all records are done');
cmp_ok($cleaned, '>', 0, 'rows were removed meanwhile');
my $number = sql('SELECT max(number) FROM minikafka.share_checkpoint');
cmp_ok($number, '>', 1, 'checkpoints were made meanwhile');
note("$number checkpoints");

# which ends them
$old->quit;
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
for (@workers, @cleaners)
{
	$_->{run}->finish;
	is(join("\n", grep { /ERROR:/ } split /\n/, $_->{err}), '', 'no error');
}
is(sql('SELECT count(*), count(DISTINCT (partition, "offset")) FROM effect'), "$records|$records", 'each once');
is(sql('SELECT count(*) FROM effect WHERE seen <> n - 1'), '0', 'in the order of its key, after the effects before');
is(sql(q{SELECT count(*) FROM minikafka.acquire('g')}), '0', 'nothing is left to do');
sql('CALL minikafka.maintain()') for 1 .. 3;
is( sql(q{SELECT (SELECT count(*) FROM minikafka.share_done), (SELECT count(*) FROM minikafka.share_delivery),
		(SELECT count(*) FROM minikafka.share_checkpoint)}),
	'0|0|2', 'in the end there is one checkpoint for each partition');
is(server_errors($node), '', 'no deadlock, no internal error');
done_testing();
