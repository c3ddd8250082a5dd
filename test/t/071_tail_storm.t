# A storm of transactions that send 1 to 5 records to 1 to 4 partitions, a tenth of
# which fail at a random place of their commit, with the tails in shared memory: no
# record is lost or doubled, none is out of order, and every hole is of a failed
# transaction.
#
# MINIKAFKA_TAIL=1000000 sets the number of transactions.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $transactions = $ENV{MINIKAFKA_TAIL} || 4000;
my $clients      = 8;
my $fail         = library('fail');
my $trace        = PostgreSQL::Test::Utils::tempdir('trace') . '/rows';
my $node         = new_node(
	'primary',
	"shared_preload_libraries = '$fail, minikafka'",
	"fail.trace = '$trace'",
	'synchronous_commit = off',
	'autovacuum = off',
	'log_min_messages = fatal');

$node->safe_psql('postgres', qq{
CREATE FUNCTION fail_at(tables oid[], place text, action text, lock bigint)
	RETURNS void LANGUAGE c AS '$fail';
SELECT minikafka.create_topic('t', 4, segment_records => 2000);
CREATE VIEW tables AS SELECT array_agg(rel::oid) AS tables FROM minikafka.segment;
-- what each transaction has sent and knows that it has committed
CREATE TABLE sent (value text, partition int);
});
install_reader($node);

# Each record says which transaction has sent it, and as which one of it; the
# place of a failure is one of 40, of which four exist.
my $script = q{
\set n random(1, 5)
\set first random(0, 3)
\set parts random(1, 4)
\set place random(1, 40)
\set id random(1, 1000000000000000)
BEGIN;
SELECT fail_at(tables, (ARRAY['insert', 'inserted', 'indexed', 'late'])[:place], 'error', 0)
	FROM tables WHERE :place <= 4
	UNION ALL SELECT fail_at(tables, '', 'error', 0) FROM tables WHERE :place > 4;
WITH s AS (INSERT INTO sent SELECT :id || '-' || k, (:first + k % :parts) % 4
	FROM generate_series(1, :n) k RETURNING *)
SELECT count(minikafka.CALL) FROM s;
COMMIT;
};
my $send    = $script =~ s/CALL/send('t', value, partition => partition)/r;
my %scripts = (
	'send@8' => $send,
	'ssi@1'  => $send =~ s/BEGIN/BEGIN ISOLATION LEVEL SERIALIZABLE/r,
	# to one partition: two of them with several could deadlock
	'append@1' => $script =~ s/CALL/append('t', partition, NULL, value)/r
	  =~ s/random\(1, 4\)/1/r);
my @readers = map { start_reader($node, 't', 4, $_) } 1, 100;
my $load = start_pgbench($node, \%scripts, "-c$clients", '-j2',
	'-t' . int($transactions / $clients));
my $out = finish_ok($load, 'the load ran');
my ($failed) = $out =~ /number of failed transactions: (\d+)/;
note("$failed of $transactions transactions failed");
cmp_ok($failed, '>', $transactions / 20, 'transactions failed');
finish_load($node);

is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		(SELECT value, partition FROM sent EXCEPT ALL
			SELECT convert_from(value, 'UTF8'), partition FROM minikafka_topics.t)
		UNION ALL
		(SELECT convert_from(value, 'UTF8'), partition FROM minikafka_topics.t EXCEPT ALL
			SELECT value, partition FROM sent)) d}),
	0, 'each record that was committed is there once, and no other');

# Within a partition, the records of a transaction are one run in the order of the
# calls.
is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		SELECT split_part(v, '-', 1) AS id, partition, max("offset") - min("offset") + 1 AS span,
			count(*) AS n, array_agg(split_part(v, '-', 2)::int ORDER BY "offset") AS ks,
			array_agg(split_part(v, '-', 2)::int ORDER BY split_part(v, '-', 2)::int) AS sorted
		FROM (SELECT convert_from(value, 'UTF8') AS v, * FROM minikafka_topics.t) r
		GROUP BY 1, 2) t WHERE span <> n OR ks <> sorted}),
	0, 'and those of a transaction follow each other');

# The holes, and the rows that were written and did not stay.
my %rows;
my %table = map { $_->[0] => $_->[1] } rows($node,
	'SELECT rel::oid, partition FROM minikafka.segment');
open my $file, '<', $trace or die "$trace: $!";
while (<$file>)
{
	my ($xid, $table, $offset) = split;

	$rows{"$table{$table}:$offset"}++ if defined $table{$table};
}
close $file;
my ($holes, $unexplained) = (0, 0);
for my $hole (
	rows($node, q{SELECT partition, "offset" - before.n, "offset" - 1 FROM (
		SELECT partition, "offset", "offset" - lag("offset", 1, -1::bigint)
			OVER (PARTITION BY partition ORDER BY "offset") - 1 AS n
		FROM minikafka_topics.t) before WHERE n > 0}))
{
	my ($partition, $first, $last) = @$hole;

	for my $offset ($first .. $last)
	{
		$holes++;
		$unexplained++ unless exists $rows{"$partition:$offset"};
	}
}
note(sprintf '%d holes, %.3f for each failed transaction', $holes, $holes / $failed);
is($unexplained, 0, 'every hole is of a transaction that has failed');
cmp_ok($holes, '<', $failed, 'and there are few');

my @there = map { join ':', @$_ } rows($node,
	q{SELECT partition, "offset", convert_from(value, 'UTF8') FROM minikafka_topics.t
		ORDER BY 1, 2});
for my $reader (@readers)
{
	my ($records) = finish_reader($reader, 'a reader ended');
	my %last;
	my $back = grep {
		my $is_back = defined $last{$_->[0]} && $_->[1] <= $last{$_->[0]};
		$last{$_->[0]} = $_->[1];
		$is_back;
	} @$records;

	is($back, 0, 'it has read in order');
	is_deeply([ sort map { join ':', @$_ } @$records ], [ sort @there ],
		'and each record once');
}
is( $node->safe_psql('postgres',
		q{SELECT count(*) FROM minikafka.check_topic('t') WHERE severity = 'error'}),
	'0', 'the topic is sound');

done_testing();
