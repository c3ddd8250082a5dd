# The lock table: a topic that can be made can be dropped, and one for which
# there is no room is refused at once, not with "out of shared memory".

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'max_connections = 20',
	'max_locks_per_transaction = 10');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---------------------------------------------------------------------------
# As many partitions as there is room for

my ($status, $out, $err) =
  $node->psql('postgres', q{SELECT minikafka.create_topic('huge', 10000)});
like(
	$err,
	qr/topic "huge" has more tables than one transaction can lock/,
	'there is no room for any number');
like(
	$err,
	qr/Raise "max_locks_per_transaction" to \d+ or more/,
	'the hint names the setting');
my ($room) = $err =~ /there is room for (\d+)/;
# from 18 on each NOT NULL of a table is an object that takes a lock
my $not_null = $node->pg_version >= 18 ? 3 : 0;
my $most = int(($room - 5 - $not_null) / (14 + 2 * $not_null));

cmp_ok($most, '>', 10, "room for $most partitions");
is( sqlstate(
		$node, 'SELECT minikafka.create_topic(\'t\', ' . ($most + 1) . ')'),
	'54000',
	'one more is refused');
sql("SELECT minikafka.create_topic('t', $most)");
is( sqlstate(
		$node, 'SELECT minikafka.add_partitions(\'t\', ' . ($most + 1) . ')'),
	'54000',
	'one more is refused also later');
is( sql(qq{SELECT count(minikafka.send('t', 'v', partition => p))
		FROM generate_series(0, $most - 1) p}),
	$most, 'sent to all of them at once');
is(problems($node, 't'), '', 'the topic is sound');
is( sqlstate($node, q{SELECT minikafka.drop_topic('t')}),
	'00000', 'it can be dropped');

# ---------------------------------------------------------------------------
# As many segments, which are not counted when they are made

$most = int(($room - 10 - 2 * $not_null) / (9 + $not_null));
sql(q{SELECT minikafka.create_topic('s', 1, segment_records => 1)});
$node->safe_psql('postgres',
	join ';', (q{SELECT minikafka.send('s', 'v')}) x ($most - 1));
is(sql(q{SELECT segments FROM minikafka.partitions}),
	$most, "$most segments, the last one made ahead");
is( sqlstate($node, q{BEGIN; SELECT minikafka.drop_topic('s'); ROLLBACK}),
	'00000', 'it can be dropped');
sql(q{SELECT minikafka.send('s', 'v')});
is( sqlstate($node, q{SELECT minikafka.drop_topic('s')}),
	'54000', 'one more, and there is no room');
$node->append_conf('postgresql.conf', 'max_locks_per_transaction = 20');
$node->restart;
is( sqlstate($node, q{SELECT minikafka.drop_topic('s')}),
	'00000', 'with the setting raised it can be dropped');

done_testing();
