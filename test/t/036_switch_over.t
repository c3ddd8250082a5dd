# A switch-over by logical replication: the schema by pg_dump, everything else by
# a subscription, sequences by nobody.  On the subscriber nothing is written
# before the switch; afterwards topics, groups, producers and the inbox go on
# where they were.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $forever = q{session_timeout => '1 day', max_poll_interval => '1 day'};
my $old = new_node('old', 'wal_level = logical');
my $new = PostgreSQL::Test::Cluster->new('new');
my $folder = PostgreSQL::Test::Utils::tempdir('schemas');

$new->init;
$new->append_conf('postgresql.conf', "jit = off\nsynchronous_commit = local\nwal_retrieve_retry_interval = 100ms");
$new->start;

sub on { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# The first line of an error.
sub fails
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err =~ /(?:ERROR|WARNING):\s+(.*)/ ? $1 : 'nothing';
}

# Copies the schema, or those tables.
sub copy_schema
{
	my ($name, @tables) = @_;

	$old->command_ok(
		[
			'pg_dump', '--schema-only', (map { ('-t', $_) } @tables),
			'--no-publications', '-d', $old->connstr('postgres'),
			'-f', "$folder/$name.sql"
		],
		"$name: pg_dump --schema-only");
	$new->command_ok(
		[
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null',
			'-d', $new->connstr('postgres'), '-f', "$folder/$name.sql"
		],
		"$name: loaded");
	return;
}

my $catalog = "SELECT rel, topic_id FROM minikafka.topic ORDER BY 2";

on($old, $_)
  for 'CREATE TABLE business (id int PRIMARY KEY)',
  q{SELECT minikafka.create_topic('orders', 2, segment_records => 100);
	SELECT minikafka.create_topic('With.dots', 1), minikafka.create_topic('orders.again', 1)},
  q{SELECT count(minikafka.send('orders', 'v' || i, partition => i % 2))
	FROM generate_series(0, 149) i},
  q{SELECT minikafka.delete_records('orders', 0, 20)},
  q{SELECT minikafka.commit_offset('plain', 'orders', 0, 30)},
  "SELECT minikafka.join_group('members', '{orders}', 'a', $forever)",
  "SELECT minikafka.join_group('dropped', '{later}', 'a', $forever)",
  q{SELECT count(*) FROM minikafka.poll('members', 'a', 60);
	SELECT count(*) FROM minikafka.commit('members', 'a')},
  q{SELECT minikafka.append('orders', 0, 'k', 'p', producer => 'p', sequence => 0)},
  q{SELECT minikafka.inbox_accept('mailer', 'e1')},
  q{SELECT minikafka.send_at('orders', 'later', '2100-01-01', 'k')},
  q{SELECT minikafka.send('With.dots', 'x')};

on($old, $_)
  for q{SELECT minikafka.create_share_group('share', '{orders}', auto_offset_reset => 'latest')},
  q{INSERT INTO minikafka.share_delivery SELECT group_no, topic_id, partition, era, 75, 1, 0, 'failed', 1, 7, now(), now(), 'e'
	FROM minikafka.share_checkpoint},
  q{INSERT INTO minikafka.share_parked SELECT group_no, topic_id, partition, era, 7, -1, 75, '\x6b', 1, topic_id, 0, 75, now()
	FROM minikafka.share_checkpoint};

copy_schema('schema');
# a session that has looked before the rows came
my $session = new_session($new);
is(ask($session, 'SELECT count(*) FROM minikafka.topics'), '0', 'a copy without rows');
is((state_after($session, q{SELECT minikafka.send('orders', 'x')}))[0], '0A000',
	'nothing can be sent before the rows are there');

on($old, 'CREATE PUBLICATION everything FOR ALL TABLES');
my $source = $old->connstr . ' dbname=postgres';
on($new, "CREATE SUBSCRIPTION copy CONNECTION '$source' PUBLICATION everything");
$new->wait_for_subscription_sync($old, 'copy');
is(on($new, $catalog), on($old, $catalog), 'topics name the tables that are there');
is( on($new, 'SELECT count(*) FROM minikafka_topics.orders'),
	on($old, 'SELECT count(*) FROM minikafka_topics.orders'),
	'records are copied');

# before the switch
for my $sql (
	q{SELECT minikafka.send('orders', 'x')},
	q{SELECT minikafka.commit_offset('plain', 'orders', 0, 40)},
	q{SELECT * FROM minikafka.poll('members', 'a')},
	q{SELECT minikafka.join_group('new', '{orders}', 'a')},
	q{SELECT minikafka.inbox_accept('mailer', 'e2')},
	q{SELECT minikafka.create_topic('new')},
	q{SELECT * FROM minikafka.fetch('orders', 1, 0)},
	q{CALL minikafka.maintain()})
{
	like(fails($new, $sql),
		qr/^55000: the topics of this database are copies of another server's$/,
		"refused: $sql");
}

# what goes on meanwhile; also a new segment, which is DDL, and so by hand
on($old, q{SELECT count(minikafka.send('orders', 'w' || i, partition => i % 2))
	FROM generate_series(0, 299) i});
my $segments = q{SELECT string_agg(c.oid::regclass::text, ' ' ORDER BY c.relname)
	FROM pg_class c WHERE c.relnamespace = 'minikafka_data'::regnamespace AND c.relkind = 'r'};
my %known = map { $_ => 1 } split / /, on($new, $segments);
my @made = grep { !$known{$_} } split / /, on($old, $segments);
cmp_ok(scalar @made, '>=', 2, 'segments were made meanwhile');
copy_schema('segments', @made);
on($new, 'ALTER SUBSCRIPTION copy REFRESH PUBLICATION');
$new->wait_for_subscription_sync($old, 'copy');
on($old, $_)
  for q{SELECT minikafka.append('orders', 0, 'k', 'p', producer => 'p', sequence => 1)},
  q{SELECT count(*) FROM minikafka.poll('members', 'a', 60);
	SELECT count(*) FROM minikafka.commit('members', 'a');
	SELECT count(*) FROM minikafka.poll('members', 'a', 7)},
  q{SELECT minikafka.commit_offset('plain', 'orders', 0, 77)},
  q{INSERT INTO minikafka.share_done SELECT group_no, topic_id, partition, era, 80, 76
	FROM minikafka.share_checkpoint},
  q{INSERT INTO minikafka.share_checkpoint SELECT group_no, topic_id, partition, 2, era, 81, '{75}', '{7}', now()
	FROM minikafka.share_checkpoint},
  q{SELECT minikafka.delete_records('orders', 1, 10)},
  q{SELECT minikafka.delete_records('orders', 0, 130)},
  q{SELECT minikafka.inbox_accept('mailer', 'e2')},
  q{SELECT minikafka.redrive('orders', 0, 140, target_topic => 'orders.again')},
  q{SELECT minikafka.redrive('orders', 0, 141, target_topic => 'orders.again')},
  q{CALL minikafka.maintain()};

# the switch: no session writes on the old one any more; maintenance does not wait for
# its WAL, so have that written
on($old, q{SELECT pg_logical_emit_message(true, 'switch', '')});
$old->wait_for_catchup('copy');
# what retention has dropped
%known = map { $_ => 1 } split / /, on($old, $segments);
my @dropped = grep { !$known{$_} } split / /, on($new, $segments);
is(scalar @dropped, 1, 'a segment was dropped meanwhile');
on($new, "DROP TABLE $_") for @dropped;
is(on($new, $segments), on($old, $segments), 'the same tables are there');
my $state = q{
SELECT * FROM minikafka_topics.orders ORDER BY partition, "offset";
SELECT topic, partition, log_start_offset, end_offset FROM minikafka.partitions ORDER BY 1, 2;
SELECT group_id, topic, partition, "offset" FROM minikafka.group_offsets ORDER BY 1, 2, 3;
SELECT group_id, member_id, partitions FROM minikafka.group_members ORDER BY 1, 2;
SELECT * FROM minikafka.producer_state('p');
SELECT * FROM minikafka.check_topic('orders');
SELECT * FROM minikafka.inbox ORDER BY 1, 2;
SELECT * FROM minikafka.redriven ORDER BY 1, 2, 3;
SELECT * FROM minikafka.share_group;
SELECT * FROM minikafka.share_topic;
SELECT * FROM minikafka.share_checkpoint ORDER BY 3, 4;
SELECT * FROM minikafka.share_done ORDER BY 3, 5;
SELECT * FROM minikafka.share_delivery ORDER BY 3, 5;
SELECT * FROM minikafka.share_parked ORDER BY 6, 7;
SELECT * FROM minikafka.scheduled_record ORDER BY id;
};
my $expected = on($old, $state);
on($new, 'DROP SUBSCRIPTION copy');
is(on($new, $state), $expected, 'all is there');

# ... and goes on, also in the session from before
my $poll = q{SELECT topic, partition, min("offset"), count(*)
	FROM minikafka.poll('members', 'a', 100) GROUP BY 1, 2 ORDER BY 1, 2};
is(on($new, $poll), on($old, $poll), 'a member goes on from its positions');
is(on($new, q{SELECT minikafka.send_at('orders', 'x', '2100-01-01')}), '2',
	'an id that no scheduled record has');
is(ask($session, q{SELECT minikafka.append('orders', 1, 'k', 'session')}),
	on($old, q{SELECT end_offset FROM minikafka.offsets('orders', 1)}),
	'an old session goes on at the next offset');
is(on($new, q{SELECT minikafka.append('orders', 0, 'k', 'p', producer => 'p', sequence => 1)}),
	on($old, q{SELECT end_offset - 1 FROM minikafka.offsets('orders', 0)}),
	'a repeat is known');
is(on($new, q{SELECT minikafka.append('orders', 0, 'k', 'p', producer => 'p', sequence => 2)}),
	on($old, q{SELECT end_offset FROM minikafka.offsets('orders', 0)}),
	'the next sequence');
is(on($new, q{SELECT minikafka.committed('plain', 'orders', 0)}), '77', 'a committed offset');
is(on($new, q{SELECT minikafka.inbox_accept('mailer', 'e2'), minikafka.inbox_accept('mailer', 'e3')}),
	'f|t', 'the inbox');

# new ones get new numbers, and maintenance does its work
is(fails($new, 'CALL minikafka.maintain()'), 'nothing', 'maintenance');
on($new, $_)
  for q{SELECT minikafka.create_topic('later', 1)},
  q{SELECT minikafka.commit_offset('another', 'orders', 0, 77)},
  "SELECT minikafka.join_group('others', '{orders}', 'a', $forever)",
  q{SELECT * FROM minikafka.init_producer('another')},
  q{SELECT minikafka.inbox_accept('another', 'e1')};
is( on($new, q{
SELECT count(*), count(DISTINCT topic_id) FROM minikafka.topic;
SELECT count(*), count(DISTINCT group_no) FROM minikafka.consumer_group;
SELECT count(*), count(DISTINCT member_no) FROM minikafka.group_member;
SELECT count(*), count(DISTINCT producer_id) FROM minikafka.producer;
SELECT count(*), count(DISTINCT consumer_no) FROM minikafka.inbox_consumer}),
	"4|4\n6|6\n3|3\n2|2\n2|2", 'numbers of their own');
is(on($new, q{SELECT minikafka.committed('plain', 'orders', 0)}), '77', 'and nothing else has changed');
is(on($new, q{SELECT count(*) FROM minikafka_topics.orders WHERE partition = 1 AND "offset" < 10}),
	on($old, q{SELECT count(*) FROM minikafka_topics.orders WHERE partition = 1 AND "offset" < 10}),
	'what lies below the log start goes in time');
on($new, q{SELECT count(minikafka.send('orders', 'z' || i, partition => i % 2)) FROM generate_series(0, 299) i});
is(on($new, q{SELECT * FROM minikafka.check_topic('orders')}), '', 'new segments are made');
$session->quit;

done_testing();
