# Maintenance in the middle of a restore: it sees a part of what is to come, and
# must not take what is not there yet for something that is gone.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql(
	'source', q{
CREATE EXTENSION minikafka;
SELECT minikafka.create_topic('compacted', 1, cleanup_policy => 'compact',
	segment_records => 100);
SELECT minikafka.create_topic('expiring', 1, retention => '1 hour',
	segment_records => 100);
SET minikafka.clock_offset = -3500;
SELECT minikafka.send_many('compacted', array_agg('v' || i), array_agg('k' || i))
FROM generate_series(1, 1250) i;
SELECT minikafka.send_many('expiring', array_agg('v' || i), array_agg('k' || i))
FROM generate_series(1, 1250) i;
-- a group that was not used for long, but for a commit just now
SET minikafka.clock_offset = -2000000;
SELECT minikafka.join_group('group', '{compacted}', 'a');
SELECT minikafka.leave_group('group', 'a');
RESET minikafka.clock_offset;
SELECT minikafka.commit_offset('group', 'compacted', 0, 500);
SELECT minikafka.append('compacted', 0, 'k', 'v', producer => 'p', sequence => 0);
});
$node->safe_psql('source', q{CALL minikafka.compact('compacted')});

my $state = q{
SELECT topic, partition, log_start_offset, end_offset, segments FROM minikafka.partitions ORDER BY 1, 2;
SELECT count(*), sum("offset") FROM minikafka_topics.compacted;
SELECT count(*), sum("offset") FROM minikafka_topics.expiring;
SELECT group_id, owner FROM minikafka.groups;
SELECT group_id, topic, "offset" FROM minikafka.group_offsets;
SELECT topic, last_sequence FROM minikafka.producer_state('p');
SELECT * FROM minikafka.check_topic('compacted');
SELECT * FROM minikafka.check_topic('expiring');
};
my $expected = $node->safe_psql('source', $state);

# A dump with a pass of maintenance before the data of each table, in a session
# of its own, which remembers nothing.
sub with_maintenance
{
	my ($name, $database, @options) = @_;
	my $connstr = $node->connstr($database);
	my $plain = "$PostgreSQL::Test::Utils::tmp_check/$name.sql";
	my $passes = 0;

	$node->run_log(
		[ 'pg_dump', @options, '-d', $node->connstr('source'), '-f', $plain ]);
	open my $in, '<', $plain or die "$plain: $!";
	open my $out, '>', "$plain.maintained" or die "$plain: $!";
	while (<$in>)
	{
		# what would refuse our own command
		next if /^\\(un)?restrict/;
		if (/^COPY /)
		{
			print $out '\! psql -X -q -d "', $connstr,
			  '" -c "CALL minikafka.maintain()"', "\n";
			$passes++;
		}
		print $out $_;
	}
	close $out or die "$plain: $!";
	cmp_ok($passes, '>', 30, "$name: maintenance before each table");
	return "$plain.maintained";
}

sub restore
{
	my ($database, @files) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	for my $file (@files)
	{
		$node->command_ok(
			[
				'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
				$node->connstr($database), '-f', $file
			],
			"$database: restore");
	}
	is($node->safe_psql($database, $state), $expected,
		"$database: all is there");
	# and from then on maintenance does its work
	$node->safe_psql(
		$database, q{
SET minikafka.clock_offset = 1000;
CALL minikafka.maintain();
});
	is( $node->safe_psql(
			$database,
			q{SELECT log_start_offset FROM minikafka.offsets('expiring', 0)}),
		'1250',
		"$database: retention goes on");
	is( $node->safe_psql(
			$database, q{SELECT count(*) FROM minikafka.group_offsets}),
		'1',
		"$database: the group stays");
}

restore('whole', with_maintenance('dump', 'whole'));

my $schema = "$PostgreSQL::Test::Utils::tmp_check/schema.sql";
$node->run_log(
	[
		'pg_dump', '--schema-only', '-d', $node->connstr('source'),
		'-f', $schema
	]);
restore('parts', $schema,
	with_maintenance('data', 'parts', '--data-only', '--disable-triggers'));

done_testing();
