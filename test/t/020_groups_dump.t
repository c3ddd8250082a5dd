# Groups in a dump: restored elsewhere, members, their positions, committed
# offsets, grants and generations are there, and the groups go on.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = new_node('old');
my $roles = q{CREATE ROLE owner; CREATE ROLE friend; CREATE ROLE stranger};

# "work": two members, of which one is static, and one that was removed; "moving":
# a partition is to move; "dead": members that will be found dead; "gone" was
# deleted, "made" too, and then made again; "plain" never had a member
$old->safe_psql('postgres', $roles);
$old->safe_psql('postgres',
	'GRANT USAGE ON SCHEMA minikafka TO owner, friend, stranger;
	GRANT CREATE ON SCHEMA minikafka_topics TO owner');
$old->safe_psql('postgres', $_)
  for q{
SET ROLE owner;
SELECT minikafka.create_topic('t', 3);
SELECT minikafka.create_topic('u', 1);
SELECT minikafka.create_topic('v', 1);
GRANT SELECT ON minikafka_topics.t, minikafka_topics.u TO friend, stranger;
SELECT minikafka.send('t', 'x', partition => p)
FROM generate_series(0, 2) p, generate_series(1, 20);
SELECT minikafka.send('u', 'x') FROM generate_series(1, 20);
},
  # numbers that are not those of the restored ones
  (map { "SELECT minikafka.join_group('none$_', '{t}', 'm');" } 1 .. 5),
  (map { "SELECT minikafka.leave_group('none$_', 'm');" } 1 .. 5),
  (map { "SELECT minikafka.delete_group('none$_');" } 1 .. 5),
  q{SET ROLE owner;
SELECT minikafka.join_group('work', '{t,u}', 'a', assignor => 'range',
	session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.join_group('work', '{t,later}', 'b', 'instance',
	auto_offset_reset => 'latest',
	session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.join_group('work', '{t}', 'c');
SELECT minikafka.leave_group('work', 'c');
SELECT minikafka.grant_group('work', 'friend')},
  # positions and offsets; a has (t, 2) and (u, 0), b, which is static, (t, 0) and (t, 1)
  q{SET ROLE owner;
SELECT count(*) FROM minikafka.commit('work', 'a');
SELECT count(*) FROM minikafka.poll('work', 'b', 8);
SELECT minikafka.commit_offset('work', 't', 1, 4, 'note', 'b');
SELECT minikafka.pause('work', 'b', 't', 1);
SELECT count(*) FROM minikafka.poll('work', 'a', 5);
SELECT count(*) FROM minikafka.commit('work', 'a');
SELECT count(*) FROM minikafka.poll('work', 'a', 7);
},
  q{SELECT minikafka.join_group('moving', '{t}', 'a', rebalance_timeout => '1 day',
	session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.join_group('moving', '{t}', 'b',
	session_timeout => '1 day', max_poll_interval => '1 day');
SELECT minikafka.join_group('dead', '{t}', 'a', protocol => 'eager',
	session_timeout => '1 ms', max_poll_interval => '1 ms');
SELECT minikafka.commit_offset('plain', 't', 0, 3, 'note');
},
  (map { "SELECT minikafka.join_group('$_', '{t}', 'a', '$_')" } 'gone', 'made'),
  (map { "SELECT minikafka.leave_group('$_', 'a')" } 'gone', 'made'),
  (map { "SELECT minikafka.delete_group('$_')" } 'gone', 'made'),
  q{SELECT minikafka.join_group('made', '{t}', 'a',
	session_timeout => '1 day', max_poll_interval => '1 day')},
  q{SET ROLE owner;
SELECT minikafka.create_share_group('share', '{u,t}', 'none', dead_letter_topic => 'v',
	auto_offset_reset => 'latest')};

# Everything about groups that is in the catalog.
sub state_of
{
	my ($node, $database) = @_;

	return $node->safe_psql(
		$database, join ';',
		(
			map {
				"SELECT '$_'; SELECT t FROM minikafka.$_ t ORDER BY t::text COLLATE \"C\""
			} qw(consumer_group group_grant group_member group_assignment
			  group_progress member_heartbeat share_group share_topic
			  share_checkpoint share_done share_delivery share_parked)
		),
		q{SELECT group_id, member_id, instance_id, topics, partitions
		FROM minikafka.group_members ORDER BY 1, 2},
		q{SELECT * FROM minikafka.groups ORDER BY 1},
		q{SELECT * FROM minikafka.group_offsets ORDER BY 1, 2, 3},
		q{SELECT group_id, topic, partition, committed_offset, lag, member_id
		FROM minikafka.consumer_lag ORDER BY 1, 2, 3});
}

my $state = state_of($old, 'postgres');
like($state, qr/^moving\|2\|Reconciling\|/m, 'before: a partition is to move');
like($state, qr/^work\|a\|\|\{t,u\}\|2$/m,   'before: members');
like($state, qr/^\(gone,\d+,"",2,/m,       'before: a deleted group');
like($state, qr/^work\|t\|1\|4\|note\|/m,    'before: offsets');

# How a copy goes on; all that is done in it.
sub goes_on
{
	my ($node, $name) = @_;
	my $sql = sub { return $node->safe_psql($name, $_[0]); };
	my $state_after = sub {
		my ($text) = @_;
		my ($status, $out, $err) = $node->psql($name, $text,
			extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
		return $err =~ /ERROR:\s+(\w{5})/ ? $1 : '00000';
	};

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(state_of($node, $name), $state, "$name: everything is there");

	# members: from their positions on, one of them paused
	is( $sql->(q{SET ROLE friend;
		SELECT sum(count) FROM (SELECT count(*)
			FROM minikafka.poll('work', 'a', 1000)) s;
		SELECT sum("offset") FROM minikafka.commit('work', 'a')}),
		"28\n40", "$name: a member polls from its positions on");
	is( $sql->(q{SET ROLE friend;
		SELECT min("offset"), count(*) FROM minikafka.poll('work', 'b');
		SELECT minikafka.resume('work', 'b', 't', 1);
		SELECT min("offset"), count(*) FROM minikafka.poll('work', 'b')}),
		"8|12\n\n4|16", "$name: another, with a paused partition");
	is($state_after->(q{SET ROLE stranger;
		SELECT FROM minikafka.poll('work', 'b')}), '42501', "$name: grants");
	is($state_after->(q{SELECT FROM minikafka.poll('work', 'c')}),
		'MK025', "$name: one that had left");
	is($state_after->(q{SELECT minikafka.join_group('work', '{t}', 'd',
			assignor => 'sticky')}), 'MK023', "$name: the group's settings");

	# a new incarnation gets a number that none had, here or there
	my $max = $sql->(q{SELECT max(member_no) FROM minikafka.group_member});
	$sql->(q{SET ROLE friend;
		SELECT minikafka.join_group('work', '{t,later}', 'b2', 'instance',
			session_timeout => '1 day', max_poll_interval => '1 day')});
	is( $sql->(qq{SELECT generation FROM minikafka.groups WHERE group_id = 'work';
		SELECT member_no > $max FROM minikafka.group_member WHERE member_id = 'b2';
		SELECT min("offset"), count(*) FROM minikafka.poll('work', 'b2', 100)}),
		"4\nt\n0|36", "$name: the static member starts again");
	is($state_after->(q{SELECT FROM minikafka.poll('work', 'b')}),
		'MK082', "$name: its former id is fenced");
	$sql->(q{SET ROLE owner; SELECT minikafka.create_topic('later', 1)});
	$sql->(q{SELECT FROM minikafka.poll('work', 'b2')});
	is( $sql->(q{SELECT topic, partition FROM minikafka.assignment('work', 'b2')
		ORDER BY 1, 2}), "later|0\nt|0\nt|1", "$name: a topic that it waited for");

	# what was to move moves
	$sql->(q{SELECT FROM minikafka.poll('moving', 'a')});
	is( $sql->(q{SELECT state FROM minikafka.groups WHERE group_id = 'moving';
		SELECT count(*) FROM minikafka.poll('moving', 'b', 1000)}),
		"Stable\n20", "$name: a partition that was to move");

	# dead members go
	$sql->(q{SELECT minikafka.join_group('dead', '{t}', 'b')});
	is( $sql->(q{SELECT generation, members, protocol FROM minikafka.groups
		WHERE group_id = 'dead'}),
		'2|1|cooperative', "$name: a dead member is gone");

	# groups
	$sql->(q{SELECT minikafka.commit_offset('plain', 't', 0, 4);
		SELECT minikafka.join_group('gone', '{t}', 'x');
		SELECT minikafka.join_group('new', '{t}', 'x')});
	is( $sql->(q{SELECT group_id, generation FROM minikafka.groups
		WHERE group_id IN ('gone', 'made', 'new', 'plain') ORDER BY 1}),
		"gone|3\nmade|3\nnew|1\nplain|0", "$name: generations go on");
	is( $sql->(q{SELECT count(*) - count(DISTINCT group_no)
		FROM minikafka.consumer_group}), '0', "$name: groups have new numbers");
	is( $sql->(q{SELECT count(*) - count(DISTINCT member_no)
		FROM minikafka.group_member}), '0', "$name: members too");
	return;
}

my $folder = PostgreSQL::Test::Utils::tempdir('dumps');
$old->command_ok(
	[ 'pg_dump', '-Fc', '-f', "$folder/custom", '-d', $old->connstr('postgres') ],
	'pg_dump -Fc');
$old->command_ok(
	[ 'pg_dump', '-f', "$folder/plain.sql", '-d', $old->connstr('postgres') ],
	'pg_dump');

# into the same cluster, and into a fresh one, where other groups were made
$old->safe_psql('postgres', 'CREATE DATABASE beside');
$old->command_ok(
	[ 'pg_restore', '-j2', '-d', $old->connstr('beside'), "$folder/custom" ],
	'restored beside it');
goes_on($old, 'beside');
is(state_of($old, 'postgres'), $state, 'the original is as it was');

my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->start;
$new->safe_psql('postgres', $roles);
$new->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$new->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/plain.sql",
		'-o', '/dev/null', '-d', $new->connstr('elsewhere')
	],
	'restored elsewhere');
goes_on($new, 'elsewhere');
goes_on($old, 'postgres');

done_testing();
