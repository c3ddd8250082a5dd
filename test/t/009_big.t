# A million records in one transaction, and what a large transaction that fails
# leaves behind.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# Few shared buffers, for the pages of them that a process has touched count as
# its memory.
my $node = new_node('primary', 'shared_buffers = 16MB', 'work_mem = 4MB',
	'max_wal_size = 4GB', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub send_n
{
	my ($topic, $n) = @_;

	return "SELECT count(minikafka.send('$topic', repeat('x', 100)))
		FROM generate_series(1, $n)";
}

# In MB, the most that the process has had; undef where the system does not tell.
sub memory
{
	my ($pid) = @_;

	return unless -r "/proc/$pid/status";
	return unless slurp_file("/proc/$pid/status") =~ /VmHWM:\s+(\d+) kB/;
	return $1 / 1024;
}

sql(q{SELECT minikafka.create_topic('t', 1)});

# ---------------------------------------------------------------------------
# It commits, and its memory stays small

my $temp    = q{SELECT temp_bytes FROM pg_stat_database WHERE datname = 'postgres'};
my $before  = sql($temp);
my $session = $node->background_psql('postgres');
my $pid     = $session->query_safe('SELECT pg_backend_pid()');

$session->query_safe('SET statement_timeout = 0');
$session->query_safe(send_n('t', 20000));
my $base = memory($pid);
$session->query_safe('BEGIN');
is($session->query_safe(send_n('t', 1000000)), '1000000', 'a million sent');
my $sent = memory($pid);
$session->query_safe('COMMIT');
my $committed = memory($pid);

is( sql(q{SELECT end_offset FROM minikafka.offsets('t', 0)}),
	'1020000', 'they are there');
SKIP:
{
	skip "memory: no /proc/$pid/status", 2 unless defined $base;
	note("memory: $base MB, $sent MB sent, $committed MB committed");
	cmp_ok($sent,      '<', $base + 25, 'little memory while sending');
	cmp_ok($committed, '<', $base + 40, 'little memory while committing');
}
$node->poll_query_until('postgres', "SELECT ($temp) > $before + 100000000");
cmp_ok(sql($temp), '>', $before + 100000000, 'the records were on disk');
is(sql(q{SELECT count(*) FROM pg_ls_tmpdir()}), '0', 'no file is left');

# ---------------------------------------------------------------------------
# It can be cancelled while it sends and while it commits

sub cancel
{
	my ($condition, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $client = start_psql(
		$node, 'SET statement_timeout = 0', 'BEGIN',
		send_n('t', 1000000), 'COMMIT');

	$node->poll_query_until('postgres', $condition) or die;
	sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND state = 'active'
		AND (query = 'COMMIT' OR query LIKE '%repeat(''x'', 100)%')});
	$client->{run}->finish;
	like($client->{err}, qr/57014/, "$name: cancelled");
	is(sql(q{SELECT end_offset FROM minikafka.offsets('t', 0)}),
		'1020000', "$name: nothing is there");
	is(sql(q{SELECT count(*) FROM minikafka.fetch('t', 0, 1020000)}),
		'0', "$name: nothing to read");
	is(sql(q{SELECT count(*) FROM pg_ls_tmpdir()}), '0', "$name: no file is left");
	return;
}

cancel(
	q{SELECT count(*) > 0 FROM pg_ls_tmpdir()},
	'while sending');
my $size = q{SELECT sum(pg_relation_size(i.inhrelid)) FROM pg_inherits i
	JOIN pg_class c ON c.oid = i.inhparent WHERE c.relname LIKE 'p%\_0'};
my $was = sql($size);
cancel(
	"SELECT ($size) > $was + 20000000 AND EXISTS (SELECT FROM pg_stat_activity
		WHERE query = 'COMMIT' AND state = 'active')",
	'while committing');
is( sql(q{SELECT minikafka.append('t', 0, NULL, 'next')}),
	'1020000', 'the next one gets the next offset');
is($session->query_safe(q{SELECT value FROM minikafka.fetch_text('t', 0, 1020000)}),
	'next', 'and is read');
is( sql(q{SELECT * FROM minikafka.check_topic('t')}), '', 'the topic is sound');

# ---------------------------------------------------------------------------
# After a rolled back append() of 300,000 records, sending costs what it did

# Pages and rows looked at, a send.
sub cost
{
	my ($topic) = @_;
	my $counters = qq{SELECT pg_stat_clear_snapshot(), sum(
			heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)
		FROM pg_statio_all_tables WHERE schemaname = 'minikafka_data'
		AND relname LIKE (SELECT format('p%s\_0\_%%', topic_id)
			FROM minikafka.topic
			WHERE rel = 'minikafka_topics.$topic'::regclass)};
	my $flush = 'SELECT pg_stat_force_next_flush()';
	my $sends = 50;

	# what a new session does once is not counted
	$session->query_safe(qq{SELECT minikafka.send('$topic', 'x')});
	$session->query_safe($flush);
	my ($from) = $session->query_safe($counters) =~ /(\d+)$/;
	$session->query_safe(qq{SELECT minikafka.send('$topic', 'x')})
	  for 1 .. $sends;
	$session->query_safe($flush);
	my ($to) = $session->query_safe($counters) =~ /(\d+)$/;
	return ($to - $from) / $sends;
}

sql(q{SELECT minikafka.create_topic('a', 1)});
$session->query_safe(send_n('a', 1000));
my $cost = cost('a');
cmp_ok($cost, '>', 1, 'a send costs something');
$session->query_safe(
	q{BEGIN; SELECT count(minikafka.append('a', 0, NULL, 'x'))
	FROM generate_series(1, 300000); ROLLBACK});
my $after = cost('a');
note("pages a send: $cost before, $after after");
cmp_ok($after, '<', $cost * 1.2, 'as cheap after a rolled back append()');
$session->query_safe(
	q{BEGIN; SAVEPOINT s; SELECT count(minikafka.append('a', 0, NULL, 'x'))
	FROM generate_series(1, 100000); ROLLBACK TO s;
	SELECT minikafka.append('a', 0, NULL, 'x'); COMMIT});
cmp_ok(cost('a'), '<', $cost * 1.2, 'and after one that a savepoint took back');

# A COMMIT that was cancelled did leave rows; a vacuum, which is due soon by the
# table's settings, makes it cheap again.
my $cost_big = cost('t');
note("pages a send behind a cancelled commit: $cost_big");
is( sql(q{SELECT count(*) FROM pg_class c JOIN pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = 'minikafka_data'
		AND c.relkind = 'r' AND NOT c.reloptions @> ARRAY[
			'autovacuum_vacuum_scale_factor=0', 'autovacuum_vacuum_threshold=5000']}),
	'0', 'vacuum comes soon');
my $vacuumed;
for (1 .. 300)
{
	# again, where another snapshot has held it up
	sql('VACUUM minikafka_topics.t');
	$vacuumed = cost('t');
	last if $vacuumed < $cost * 2;
	usleep(100_000);
}
note("after a vacuum: $vacuumed");
cmp_ok($vacuumed, '<', $cost * 2, 'as cheap after a vacuum');

$session->quit;
done_testing();
