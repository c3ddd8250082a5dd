# What a poll and a commit cost does not grow with their number, also while an
# old snapshot keeps every dead row.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $commits = 20_000;
my $node    = new_node('primary', 'autovacuum = off', 'fsync = off',
	'synchronous_commit = off', 'max_wal_size = 4GB');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Each transaction is 5 s after the one before, so that it writes a heartbeat.
sql(qq{
SELECT minikafka.create_topic('t', 1);
SELECT minikafka.send('t', 'x') FROM generate_series(1, $commits + 5000);
CREATE TABLE clock (seconds int);
INSERT INTO clock VALUES (0);
CREATE PROCEDURE consume(transactions int, INOUT polled bigint, heartbeats boolean)
LANGUAGE plpgsql AS \$\$
DECLARE
	now int := (SELECT seconds FROM clock);
BEGIN
	polled := 0;
	FOR i IN 1 .. transactions LOOP
		IF heartbeats THEN
			now := now + 5;
			PERFORM set_config('minikafka.clock_offset', now::text, false);
		END IF;
		polled := polled + count(*) FROM minikafka.poll('g', 'm', 1);
		PERFORM minikafka.commit('g', 'm');
		COMMIT;
	END LOOP;
	UPDATE clock SET seconds = now;
END \$\$});

my $session = new_session($node);
ask($session, 'SET statement_timeout = 0');

# Pages looked at in the catalog and in the log, a poll and commit.
sub cost
{
	my ($heartbeats) = @_;
	my $counters = q{SELECT pg_stat_clear_snapshot(), sum(
			heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)
		FROM pg_statio_all_tables
		WHERE schemaname IN ('minikafka', 'minikafka_data')};
	my $flush  = 'SELECT pg_stat_force_next_flush()';
	my $number = 100;

	ask($session, "CALL consume(10, NULL, $heartbeats)");
	ask($session, $flush);
	my ($from) = ask($session, $counters) =~ /(\d+)$/;
	is(ask($session, "CALL consume($number, NULL, $heartbeats)"),
		$number, 'polled');
	ask($session, $flush);
	my ($to) = ask($session, $counters) =~ /(\d+)$/;
	return ($to - $from) / $number;
}

ask($session, q{SELECT minikafka.join_group('g', '{t}', 'm')});

# old rows are garbage that is not removed from here on
my $pin = new_session($node);
ask($pin, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM clock');

# a thousand of each, after which the indexes are as high as they will be
ask($session, 'CALL consume(1000, NULL, true)');
my @before = map { cost($_) } 'false', 'true';
is(ask($session, "CALL consume($commits, NULL, true)"),
	$commits, "$commits polls and commits");
my @after = map { cost($_) } 'false', 'true';
note("pages: @before before, @after after");
cmp_ok($before[0], '>', 1, 'a poll costs something');
cmp_ok($before[1], '>', $before[0], 'a heartbeat too');
cmp_ok($after[0], '<', $before[0] * 1.1, 'a poll and commit: not more');
cmp_ok($after[1], '<', $before[1] * 1.1, 'nor with a heartbeat');
is( sql(q{SELECT count(*) > 20000, (SELECT count(*) > 20000
		FROM minikafka.member_heartbeat) FROM minikafka.group_progress}),
	't|t', 'the rows were there');

# what only looks
sub buffers
{
	my ($query) = @_;
	my $plan = ask($session, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) $query");
	my ($hit, $read) = $plan =~
	  /"Shared Hit Blocks": (\d+),\s+"Shared Read Blocks": (\d+)/;

	return $hit + $read;
}
for my $query (
	q{SELECT minikafka.committed('g', 't', 0)},
	q{SELECT * FROM minikafka.assignment('g', 'm')},
	q{SELECT * FROM minikafka.lag('g')},
	q{SELECT * FROM minikafka.group_members},
	q{SELECT * FROM minikafka.group_offsets})
{
	ask($session, $query);
	my $buffers = buffers($query);
	cmp_ok($buffers, '<', 100, "$query: $buffers pages");
}

is(ask($pin, 'SELECT * FROM clock; COMMIT'), '0', 'the snapshot was held');
$_->quit for $pin, $session;

done_testing();
