# consumer_lag looks up the end of a partition, and the time of a record, once for
# however many groups.  Looked up for each group, 40 groups would take 40 times
# the pages that one takes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
SELECT minikafka.create_topic('t', 4);
SELECT minikafka.send('t', 'x', partition => i % 4) FROM generate_series(0, 99) i;
});

my $session = new_session($node);

# Pages of the log that a query looks at.
sub pages
{
	my ($query) = @_;
	my $counters = q{SELECT pg_stat_clear_snapshot(), sum(
			heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)
		FROM pg_statio_all_tables WHERE schemaname = 'minikafka_data'};
	my $flush = 'SELECT pg_stat_force_next_flush()';

	ask($session, $query);
	ask($session, $flush);
	my ($from) = ask($session, $counters) =~ /(\d+)$/;
	my $result = ask($session, $query);
	ask($session, $flush);
	my ($to) = ask($session, $counters) =~ /(\d+)$/;
	return ($result, $to - $from);
}

# Makes groups that have read so much of each partition.
sub make_groups
{
	my ($from, $to, $offset) = @_;
	sql(qq{SELECT minikafka.commit_offset('g' || g, 't', p, $offset)
		FROM generate_series($from, $to) g, generate_series(0, 3) p});
}

my $query = 'SELECT count(*), sum(lag) FROM minikafka.consumer_lag';
make_groups(1, 1, 25);
my ($one, $pages) = pages($query);
is($one, '4|0', 'a group that is not behind');
cmp_ok($pages, '>', 10, "$pages pages");
make_groups(2, 40, 25);
my ($many, $pages_of_many) = pages($query);
is($many, '160|0', '40 groups');
cmp_ok($pages_of_many, '<', 2 * $pages,
	"not looked up for each: $pages_of_many pages");

# those that are behind stand at one record mostly
make_groups(1, 1, 10);
($one, $pages) = pages($query);
is($one, '160|60', 'a group that is behind');
make_groups(2, 40, 10);
($many, $pages_of_many) = pages($query);
is($many, '160|2400', '40 groups');
cmp_ok($pages_of_many, '<', 2 * $pages,
	"not looked up for each: $pages_of_many pages");
is( ask($session, q{SELECT bool_and(time_lag > '0' AND time_lag < '1 hour')
		FROM minikafka.consumer_lag}),
	't', 'with the time of that record');
make_groups(1, 20, 20);
is( ask($session, q{SELECT string_agg(DISTINCT lag::text, ' ')
		FROM minikafka.consumer_lag}),
	'15 5', 'groups at different records');

$session->quit;
done_testing();
