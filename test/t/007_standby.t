# A streaming standby: reading works, writing is refused; promoted, it goes on.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');
my $standby = new_standby($node, 'standby');

sub there { return $standby->safe_psql('postgres', $_[0]); }

# The extension and all of this come by replication.
$node->safe_psql(
	'postgres', q{
SELECT minikafka.create_topic('t', 2, segment_records => 10);
SELECT minikafka.send('t', jsonb_build_object('n', i), partition => 0)
FROM generate_series(0, 24) i;
SELECT minikafka.delete_records('t', 0, 3);
SELECT minikafka.commit_offset('g', 't', 0, 7, 'note');
});
my $ts = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
$node->safe_psql('postgres',
	q{SELECT minikafka.send('t', '{"n": 25}'::jsonb, partition => 0)});
wait_standby($node, $standby);

is( there(
		q{SELECT count(*), min("offset"), max("offset"), sum((value->>'n')::int)
		FROM minikafka.fetch_json('t', 0, 3)}),
	'23|3|25|322', 'fetch_json()');
is( there(q{SELECT "offset", convert_from(value, 'UTF8')
		FROM minikafka.fetch('t', 0, 9, 2)}),
	qq{9|{"n": 9}\n10|{"n": 10}}, 'fetch(), over a segment boundary');
is( there(q{SELECT value FROM minikafka.fetch_text('t', 0, 25)}),
	'{"n": 25}', 'fetch_text()');
is(there(q{SELECT * FROM minikafka.offsets('t', 0)}), '3|26', 'offsets()');
is(there(q{SELECT * FROM minikafka.offsets('t', 1)}), '0|0',  'an empty one');
is(there(qq{SELECT minikafka.offset_for_time('t', 0, '$ts')}),
	'25', 'offset_for_time()');
is(there(q{SELECT minikafka.committed('g', 't', 0)}), '7', 'committed()');
is( there(q{SELECT partition, log_start_offset, end_offset, committed_offset, lag
		FROM minikafka.lag('g')}),
	"0|3|26|7|19\n1|0|0||0", 'lag()');
is( there(q{SELECT partition, log_start_offset, end_offset, segments
		FROM minikafka.partitions ORDER BY 1}), "0|3|26|4\n1|0|0|1", 'view partitions');
is(there(q{SELECT count(*) FROM minikafka.topics}), '1', 'view topics');
is(there(q{SELECT * FROM minikafka.check_topic('t')}), '', 'check_topic()');
is(there(q{SELECT minikafka.partition_for_key('t', 'k') IN (0, 1)}),
	't', 'partition_for_key()');

is(sqlstate($standby, q{SELECT * FROM minikafka.fetch('t', 0, 2)}),
	'MK001', 'below the log start');
is(there(q{SELECT count(*) FROM minikafka.fetch('t', 0, 26)}),
	'0', 'at the end: no rows');
is(there(q{SELECT count(*) FROM minikafka.fetch('t', 0, 1000)}),
	'0', 'beyond the standby\'s end, which may be behind the primary\'s: no rows');

for my $call (
	q{send('t', 'x')}, q{send_many('t', ARRAY['x'])},
	q{send_many_json('t', '{1}')}, q{send_many_bytes('t', '{x}')},
	q{append('t', 0, NULL, 'x')}, q{commit_offset('g', 't', 0, 8)},
	q{create_topic('u')}, q{create_topic('t', if_not_exists => true)},
	q{delete_records('t', 0, 8)},
	q{drop_topic('t')}, q{drop_topic('u', if_exists => true)},
	q{add_partitions('t', 3)}, q{set_topic_option('t', 'max_message_bytes', '5')})
{
	is(sqlstate($standby, "SELECT minikafka.$call"), '25006', "refused: $call");
}

# In one transaction a reader there sees what its snapshot does.
my $reader = $standby->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query_safe(q{SELECT count(*) FROM minikafka.fetch('t', 0, 3)}),
	'23', 'REPEATABLE READ: before');
$node->safe_psql('postgres',
	q{SELECT minikafka.send('t', '{"n": 26}'::jsonb, partition => 0)});
wait_standby($node, $standby);
is($reader->query_safe(q{SELECT count(*) FROM minikafka.fetch('t', 0, 3)}),
	'23', 'REPEATABLE READ: the same');
$reader->query_safe('COMMIT');
is($reader->query_safe(q{SELECT count(*) FROM minikafka.fetch('t', 0, 3)}),
	'24', 'and after');

# Promoted.  A commit that was open on the primary is not there.
my $open = $node->background_psql('postgres');
$open->query_safe(
	q{BEGIN; SELECT minikafka.append('t', 0, NULL, '{"n": 27}')});
wait_standby($node, $standby);
$node->stop('immediate');
$standby->promote;
is( $reader->query_safe(
		q{BEGIN; SELECT minikafka.append('t', 0, NULL, '{"n": 27}'); COMMIT}),
	'27', 'promoted: the session that was there sends at the next offset');
is( there(q{SELECT minikafka.send('t', '{"n": 28}'::jsonb, partition => 0);
		SELECT base_offset FROM minikafka.last_sent()}),
	"0\n28", 'and so does another');
there(q{SELECT minikafka.commit_offset('g', 't', 0, 29)});
is(there(q{SELECT minikafka.committed('g', 't', 0)}), '29', 'it commits offsets');
is(there(q{SELECT minikafka.create_topic('u'); SELECT minikafka.send('u', 'x')
		IN (0, 1, 2)}), "\nt", 'it makes topics');
is( there(q{SELECT count(*), sum((value->>'n')::int)
		FROM minikafka.fetch_json('t', 0, 3)}), '26|403', 'it reads all');
is(problems($standby, 't'), '', 'the topic is sound');
$reader->quit;
eval { $open->quit };

done_testing();
