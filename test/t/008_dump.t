# Dumps, restores and upgrades keep topics, records, offsets, log starts,
# committed offsets and rights; sending goes on at the next offset.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = new_node('old');

$old->safe_psql(
	'postgres', q{
CREATE ROLE owner;
CREATE ROLE producer LOGIN;
CREATE ROLE consumer LOGIN;
GRANT USAGE ON SCHEMA minikafka TO owner, producer, consumer;
GRANT CREATE ON SCHEMA minikafka_topics TO owner;
SET ROLE owner;
SELECT minikafka.create_topic('orders', 2, segment_records => 10,
	partitioner => 'md5', max_message_bytes => 5000);
SELECT minikafka.create_topic('Emptied.v1', 1, segment_records => 10);
SELECT minikafka.create_topic('none', 1);
SELECT minikafka.create_topic('dropped', 1);
SELECT minikafka.create_topic('lost', 1);
SELECT minikafka.create_topic('dead', 1), minikafka.create_topic('again', 1);
SELECT minikafka.send('dead', 'x', headers => '{"__dlq.errors.topic": "again"}') FROM generate_series(1, 4);
SELECT minikafka.redrive('dead', max_records => 2), minikafka.redrive('dead', 0, 3);
GRANT INSERT ON minikafka_topics.orders TO producer;
GRANT SELECT ON minikafka_topics.orders TO consumer;
-- the values: text, NULL, empty, bytes that are no text, large, with headers
SELECT minikafka.send('orders', value => 'v' || i, key => 'k' || i,
	headers => jsonb_build_object('n', i::text), partition => 0)
FROM generate_series(0, 22) i;
SELECT minikafka.send('orders', value => NULL::bytea, key => '\x00ff'::bytea,
	partition => 1);
SELECT minikafka.send('orders', value => ''::bytea, key => ''::bytea,
	partition => 1);
SELECT minikafka.send('orders', value => repeat('x', 4900), partition => 1);
SELECT minikafka.send('Emptied.v1', 'x') FROM generate_series(1, 25);
SELECT minikafka.send_at('orders', 'later', '2100-01-01', 'k', '{"h": "1"}');
SELECT minikafka.send('dropped', 'x');
SELECT minikafka.send('lost', 'x');
RESET ROLE;
SELECT minikafka.delete_records('orders', 0, 12);
SELECT minikafka.delete_records('Emptied.v1', 0, -1);
-- by hand, so that its row in the catalog stays
DROP TABLE minikafka_topics.lost;
SELECT minikafka.drop_topic('dropped');
});
$old->safe_psql('postgres',
	q{SELECT minikafka.commit_offset('g', 'orders', 0, 15, 'note')},
	extra_params => [ '-U', 'consumer' ]);
$old->safe_psql('postgres',
	q{SELECT minikafka.commit_offset('g', 'orders', 0, 17)},
	extra_params => [ '-U', 'consumer' ]);
$old->safe_psql('postgres', $_, extra_params => [ '-U', 'consumer' ])
  for q{SELECT minikafka.join_group('readers', '{orders}', 'a', 'static',
	session_timeout => '1 day', max_poll_interval => '1 day')},
  q{SELECT count(*) FROM minikafka.poll('readers', 'a', 4);
	SELECT count(*) FROM minikafka.commit('readers', 'a');
	SELECT count(*) FROM minikafka.poll('readers', 'a', 3)};

# a share group, and how far it has come
$old->safe_psql('postgres', $_)
  for q{SELECT minikafka.create_share_group('workers', '{orders}', max_deliveries => 7)},
  q{
INSERT INTO minikafka.share_checkpoint
SELECT group_no, topic_id, 0, n, 0, 15 + n, '{13,14}', '{7,-8}', now()
FROM minikafka.consumer_group JOIN minikafka.share_topic USING (group_no), generate_series(1, 2) n;
INSERT INTO minikafka.share_done
SELECT group_no, topic_id, partition, 0, 19 - 17 * partition, 18 - 17 * partition
FROM minikafka.consumer_group JOIN minikafka.share_topic USING (group_no), generate_series(0, 1) partition;
INSERT INTO minikafka.share_delivery
SELECT group_no, topic_id, 0, 0, 13, n, n, 'failed', n, 7, now(), now(), 'no such "customer"'
FROM minikafka.consumer_group JOIN minikafka.share_topic USING (group_no), generate_series(1, 2) n;
INSERT INTO minikafka.share_parked
SELECT group_no, topic_id, 0, 0, 7, 20 * n - 1, 13 - n, '\\x6b', 1, topic_id, 0, n, now()
FROM minikafka.consumer_group JOIN minikafka.share_topic USING (group_no), generate_series(0, 1) n};

# All that is to be kept, as text.
sub state_of
{
	my ($node, $database) = @_;

	return $node->safe_psql(
		$database, q{
SELECT * FROM minikafka.topics ORDER BY topic;
SELECT topic, partition, log_start_offset, end_offset, segments
FROM minikafka.partitions ORDER BY 1, 2;
SELECT * FROM minikafka.fetch('orders', 0, 12, 1000);
SELECT md5(f::text) FROM minikafka.fetch('orders', 1, 0, 1000) f;
SELECT * FROM minikafka.consumer_group ORDER BY group_id;
SELECT * FROM minikafka.group_member;
SELECT * FROM minikafka.group_assignment ORDER BY 1, 2, 3;
SELECT * FROM minikafka.group_progress ORDER BY 1, 2, 3, 4;
SELECT * FROM minikafka.member_heartbeat;
SELECT * FROM minikafka.redriven ORDER BY 1, 2, 3;
SELECT * FROM minikafka.share_group;
SELECT * FROM minikafka.share_topic ORDER BY 1, 2;
SELECT * FROM minikafka.share_checkpoint ORDER BY 1, 2, 3, 4;
SELECT * FROM minikafka.share_done ORDER BY 1, 2, 3, 4, 5;
SELECT * FROM minikafka.share_delivery ORDER BY 1, 2, 3, 4, 5, 6;
SELECT * FROM minikafka.share_parked ORDER BY 1, 2, 3, 4, 5, 6;
SELECT * FROM minikafka.scheduled_record;
SELECT partition, log_start_offset, end_offset, committed_offset, lag
FROM minikafka.lag('g');
SELECT n.nspname, c.relname, c.relkind, pg_get_userbyid(c.relowner), c.relacl,
	c.relispartition, c.reloptions, pg_get_expr(c.relpartbound, c.oid),
	(SELECT string_agg(t.tgname, ',' ORDER BY t.tgname) FROM pg_trigger t
		WHERE t.tgrelid = c.oid AND t.tgenabled = 'O')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('minikafka_topics', 'minikafka_data') AND relkind <> 'i'
ORDER BY n.nspname, c.relname;
SELECT nspname, nspacl FROM pg_namespace WHERE nspname LIKE 'minikafka%'
ORDER BY nspname;
});
}

my $state = state_of($old, 'postgres');
like($state, qr/^Emptied\.v1\|0\|25\|25\|/m, 'before: emptied');
like($state, qr/^0\|12\|23\|17\|6$/m,        'before: committed');
like($state, qr/^\d+\|a\|\d+\|static\|/m,     'before: a member');
like($state, qr/^\d+\|\d+\|0\|2\|0\|17\|\{13,14\}\|\{7,-8\}\|/m, 'before: a checkpoint');

# What must work in a copy.
sub goes_on
{
	my ($node, $database, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(state_of($node, $database), $state, "$name: everything is kept");
	for my $topic ('orders', 'Emptied.v1', 'none')
	{
		is( $node->safe_psql($database,
				"SELECT * FROM minikafka.check_topic('$topic')"),
			'', "$name: \"$topic\" is sound");
	}
	my ($status, $out, $err) =
	  $node->psql($database, q{SELECT * FROM minikafka.check_topic('lost')});
	like($err, qr/topic "lost" does not exist/, "$name: the lost one is gone");
	is( $node->safe_psql(
			$database, q{
BEGIN;
SELECT minikafka.append('orders', 0, NULL, 'a'),
	minikafka.append('orders', 1, NULL, 'b'),
	minikafka.append('Emptied.v1', 0, NULL, 'c'),
	minikafka.append('none', 0, NULL, 'd');
COMMIT}),
		'23|3|25|0',
		"$name: sending goes on");
	is( $node->safe_psql(
			$database, q{
SELECT minikafka.send('orders', 'y', partition => 0) FROM generate_series(1, 30);
SELECT segments FROM minikafka.partitions WHERE topic = 'orders' AND partition = 0}
		),
		"0\n" x 30 . '6',
		"$name: new segments are made");
	is( $node->safe_psql(
			$database,
			q{SELECT minikafka.commit_offset('g', 'orders', 0, 20);
			SELECT minikafka.commit_offset('new', 'orders', 0, 1);
			SELECT count(DISTINCT group_no) FROM minikafka.consumer_group}),
		"\n\n4",
		"$name: groups go on");
	is( $node->safe_psql(
			$database, q{SET ROLE consumer;
			SELECT partition, "offset" FROM minikafka.poll('readers', 'a', 1);
			SELECT generation FROM minikafka.groups WHERE group_id = 'readers'}),
		"0|16\n1",
		"$name: a member goes on where it was");
	is( $node->safe_psql(
			$database, q{SELECT minikafka.committed('g', 'orders', 0);
			SELECT count(*) FROM (SELECT minikafka.create_topic('new')) t;
			SELECT count(*) = 1 FROM minikafka.topic WHERE topic_id > 7}),
		"20\n1\nt",
		"$name: a new topic has a new number");
	($status, $out, $err) = $node->psql($database,
		q{INSERT INTO minikafka_topics.orders VALUES (1, now(), 0)});
	like($err, qr/cannot write to table/, "$name: direct writes are refused");
	($status, $out, $err) = $node->psql($database,
		q{SET ROLE producer; SELECT minikafka.send('orders', 'x');
			SELECT * FROM minikafka.fetch('orders', 0, 12)});
	like($err, qr/permission denied for topic "orders"/, "$name: rights");
	is($out =~ /^[01]$/ ? 'sent' : $out, 'sent', "$name: rights to send");
	return;
}

my $folder = PostgreSQL::Test::Utils::tempdir('dumps');

$old->command_ok(
	[ 'pg_dump', '-f', "$folder/plain.sql", '-d', $old->connstr('postgres') ],
	'pg_dump');
$old->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$folder/custom", '-d', $old->connstr('postgres') ],
	'pg_dump -Fc');
$old->command_ok(
	[
		'pg_dump', '-s', '-f', "$folder/schema.sql", '-d',
		$old->connstr('postgres')
	],
	'pg_dump --schema-only');
$old->command_ok(
	[
		'pg_dump', '-a', '--disable-triggers', '-f', "$folder/data.sql",
		'-d', $old->connstr('postgres')
	],
	'pg_dump --data-only');
$old->command_ok(
	[ 'pg_dumpall', '-f', "$folder/all.sql", '-d', $old->connstr('postgres') ],
	'pg_dumpall');

# The databases are in a fresh cluster that has made topics and groups before,
# so that other OIDs come out.
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->append_conf('postgresql.conf', 'max_locks_per_transaction = 200');
$new->start;
$new->safe_psql('postgres',
	'CREATE ROLE owner; CREATE ROLE producer; CREATE ROLE consumer');
$new->safe_psql('postgres', "CREATE DATABASE $_")
  for qw(plain custom parted another);

sub psql_file
{
	my ($node, $database, $file) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->command_ok(
		[
			'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/$file",
			'-o', '/dev/null', '-d', $node->connstr($database)
		],
		"psql -f $file");
	return;
}

psql_file($new, 'plain', 'plain.sql');
goes_on($new, 'plain', 'plain');

$new->command_ok(
	[
		'pg_restore', '-j2', '-d', $new->connstr('custom'), "$folder/custom"
	],
	'pg_restore -j2');
goes_on($new, 'custom', 'pg_restore -j2');

psql_file($new, 'parted', 'schema.sql');
psql_file($new, 'parted', 'data.sql');
goes_on($new, 'parted', 'schema, then data');

# an upgrade, with the same binaries; and pg_dumpall
sub upgrade
{
	my ($name, @options) = @_;
	my $from = PostgreSQL::Test::Cluster->new("from_$name");
	my $to   = PostgreSQL::Test::Cluster->new("to_$name");
	my $bin = $old->config_data('--bindir');

	$from->init;
	$from->start;
	$from->command_ok(
		[
			'psql', '-Xq', '-f', "$folder/all.sql", '-o', '/dev/null', '-d',
			$from->connstr('postgres')
		],
		"$name: pg_dumpall into a fresh cluster");
	goes_on_after_dumpall($from) if $name eq 'copy';
	$from->stop;
	$to->init;
	local $ENV{PGHOST} = $from->host;
	chdir $folder or die;
	command_ok(
		[
			'pg_upgrade', '-d', $from->data_dir, '-D', $to->data_dir,
			'-b', $bin, '-B', $bin, '-p', $from->port, '-P', $to->port,
			'-s', $from->host, @options
		],
		"$name: pg_upgrade");
	$to->start;
	goes_on($to, 'postgres', "pg_upgrade $name");
	$to->restart;
	is( $to->safe_psql('postgres',
			q{SELECT * FROM minikafka.offsets('Emptied.v1', 0)}),
		'25|26', "$name: after a restart");
	$to->stop;
	return;
}

sub goes_on_after_dumpall
{
	my ($node) = @_;

	# in a copy of the database, since the upgrade is of what was dumped
	$node->safe_psql('template1', 'CREATE DATABASE work TEMPLATE postgres');
	goes_on($node, 'work', 'pg_dumpall');
	$node->safe_psql('template1', 'DROP DATABASE work');
	return;
}

upgrade('copy');
upgrade('link', '--link');

# an emptied topic after a restart of its own cluster
$old->restart;
is( $old->safe_psql(
		'postgres', q{SELECT minikafka.append('Emptied.v1', 0, NULL, 'c')}),
	'25', 'an emptied topic goes on after a restart');

# a dump of a restored database, once more
$new->command_ok(
	[ 'pg_dump', '-f', "$folder/again.sql", '-d', $new->connstr('plain') ],
	'pg_dump of what was restored');
psql_file($new, 'another', 'again.sql');
is( $new->safe_psql('another',
		q{SELECT * FROM minikafka.check_topic('orders')}),
	'', 'it is sound');

# ---------------------------------------------------------------------------
# DROP EXTENSION

my ($status, $out, $err) =
  $old->psql('postgres', 'DROP EXTENSION minikafka');
like($err, qr/because other objects depend on it/,
	'DROP EXTENSION refuses while there are topics');

# In one session, whose caches know the topics; the numbers come again.
my $session = $old->background_psql('postgres');
$session->query_safe(
	q{SELECT minikafka.send('orders', 'x', partition => 0);
	SELECT * FROM minikafka.offsets('orders', 0)});
$session->query_safe(q{SET client_min_messages = warning;
	DROP EXTENSION minikafka CASCADE});
is( $session->query_safe(
		q{SELECT count(*) FROM pg_class c JOIN pg_namespace n
			ON n.oid = c.relnamespace WHERE n.nspname LIKE 'minikafka%'}),
	'0', 'CASCADE removes all');
is( $session->query_safe(
		q{SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'minikafka%'}),
	'0', 'and the schemas');
$session->query_safe('CREATE EXTENSION minikafka');
for my $name ('orders', 'none')
{
	is( $session->query_safe(
			qq{SELECT minikafka.create_topic('$name', 2);
			BEGIN; SELECT minikafka.append('$name', 0, NULL, 'first'); COMMIT;
			SELECT value FROM minikafka.fetch_text('$name', 0, 0);
			SELECT * FROM minikafka.offsets('$name', 0);
			SELECT * FROM minikafka.check_topic('$name')}),
		"\n0\nfirst\n0|1", "made again in the same session: \"$name\"");
}
is( $session->query_safe(
		q{SELECT minikafka.commit_offset('g', 'orders', 0, 1);
		SELECT minikafka.committed('g', 'orders', 0), count(*)
		FROM minikafka.consumer_group}),
	"\n1|1", 'made again in the same session: a group');
$session->quit;

# Made and dropped again and again, with the library in use each time.
$old->safe_psql(
	'postgres', q{
SET client_min_messages = warning;
DROP EXTENSION minikafka CASCADE;
CREATE EXTENSION minikafka;
SELECT minikafka.create_topic('t', 1);
SELECT minikafka.send('t', 'x');
SELECT minikafka.drop_topic('t');
DROP EXTENSION minikafka;
CREATE EXTENSION minikafka;
BEGIN;
SELECT minikafka.create_topic('t', 1);
SELECT minikafka.send('t', 'x');
ROLLBACK;
SELECT minikafka.create_topic('t', 1);
SELECT minikafka.send('t', 'x');
});
is( $old->safe_psql('postgres', q{SELECT * FROM minikafka.offsets('t', 0)}),
	'0|1', 'again and again');

done_testing();
