# A restore without the records: groups and producers have noted offsets that the
# log does not have.  Groups go on as their members' auto_offset_reset says, and
# sequences of lost records are no repeats; whatever comes first: a record, a
# poll, or maintenance.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main');
my $forever = q{session_timeout => '1 day', max_poll_interval => '1 day'};

$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', $_)
  for 'CREATE EXTENSION minikafka',
  q{SELECT minikafka.create_topic('t', 1, segment_records => 500);
	SELECT minikafka.create_topic('c', 1, cleanup_policy => 'compact')},
  q{SELECT count(minikafka.send('t', 'old ' || i)) FROM generate_series(0, 1199) i;
	SELECT count(minikafka.send('c', 'old', key => 'k' || i)) FROM generate_series(0, 99) i},
  q{SELECT count(minikafka.append('t', 0, NULL, 'p' || i, producer => 'p', sequence => i))
	FROM generate_series(0, 9) i},
  'SELECT minikafka.append(\'t\', 0, NULL, \'q\', producer => \'q\', sequence => 0)',
  q{SELECT minikafka.commit_offset('plain', 't', 0, 1000)},
  (map { "SELECT minikafka.join_group('$_', '{t}', 'm', auto_offset_reset => '$_', $forever)" }
	  qw(earliest latest none)),
  (map { "SELECT minikafka.commit_offset('$_', 't', 0, 1100, member_id => 'm')" }
	  qw(earliest latest none)),
  # a position beyond what is committed
  q{SELECT count(*) FROM minikafka.poll('earliest', 'm', 5)},
  q{CALL minikafka.compact('c')};

my $last = $node->safe_psql('source',
	q{SELECT tableoid::regclass FROM minikafka_topics.t WHERE "offset" = 1100});
my $dumps = PostgreSQL::Test::Utils::tempdir('dumps');

sub restore
{
	my ($name, @exclude) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->command_ok(
		[
			'pg_dump', '-Fc', (map { "--exclude-table-data=$_" } @exclude),
			'-d', $node->connstr('source'), '-f', "$dumps/$name"
		],
		"$name: dump");
	$node->command_ok(
		[ 'pg_restore', '-d', $node->connstr($name), "$dumps/$name" ],
		"$name: restore");
	return sub { return $node->safe_psql($name, $_[0]); };
}

sub fails
{
	my ($name, $sql) = @_;
	my ($status, $out, $err) = $node->psql($name, $sql,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err =~ /(?:ERROR|WARNING):\s+(.*)/ ? $1 : 'nothing';
}

sub polled
{
	my ($sql, $group) = @_;

	return $sql->(qq{SELECT min("offset"), max("offset"), count(*)
		FROM minikafka.poll('$group', 'm', 5000)});
}

# a record comes first
my $sql = restore('send', 'minikafka_data.*');
like($sql->(q{SELECT * FROM minikafka.check_topic('t')}),
	qr/group number \d+ has committed an offset outside \[0, 0\].*a producer has sent a record at or beyond the end, 0/s,
	'send: check_topic() tells');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'again', producer => 'p', sequence => 0)}),
	'0', 'send: a known sequence is no repeat');
$sql->(q{SELECT count(minikafka.send('t', 'new ' || i)) FROM generate_series(1, 1501) i});
is(polled($sql, 'earliest'), '0|1501|1502', 'send: earliest reads all');
is(polled($sql, 'latest'), '0|1501|1502',
	'send: latest reads what has come since the log was empty');
like(fails('send', q{SELECT FROM minikafka.poll('none', 'm')}),
	qr/^MK001/, 'send: none is told');
is($sql->(q{SELECT minikafka.committed('plain', 't', 0)}),
	'0', 'send: a plain consumer begins anew');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'q', producer => 'q', sequence => 0)}),
	'1502', 'send: the sequence of another producer is no repeat either');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'q', producer => 'q', sequence => 0)}),
	'1502', 'send: and then it is one');
like(fails('send', q{SELECT minikafka.append('t', 0, NULL, 'p', producer => 'p', sequence => 10)}),
	qr/^MK045: sequence 10 out of order, expected 1$/, 'send: what was lost is told');
is($sql->(q{SELECT * FROM minikafka.check_topic('t')}), '', 'send: sound');
$sql->(q{SELECT minikafka.send('c', 'new', key => 'k' || i % 2) FROM generate_series(1, 90) i});
$sql->(q{CALL minikafka.compact('c')});
is($sql->(q{SELECT count(*) FROM minikafka_topics.c}), '2',
	'send: a pass of compaction over lost records is forgotten');

# a rollback forgets nothing
$sql = restore('rolled_back', 'minikafka_data.*');
$sql->(q{BEGIN; SELECT minikafka.append('t', 0, NULL, 'v'); ROLLBACK});
is($sql->(q{SELECT minikafka.committed('plain', 't', 0)}), '1000', 'rollback: as before');
$sql->(q{SELECT minikafka.send('t', 'v')});
is($sql->(q{SELECT minikafka.committed('plain', 't', 0)}), '0', 'send() forgets');

# a poll comes first
$sql = restore('poll', 'minikafka_data.*');
is(polled($sql, $_), '||0', "poll: $_ reads nothing yet") for qw(earliest latest);
like(fails('poll', q{SELECT FROM minikafka.poll('none', 'm')}),
	qr/^MK001/, 'poll: none is told');
is($sql->(q{SELECT group_id, "offset" FROM minikafka.group_offsets ORDER BY 1}),
	"earliest|0\nlatest|0\nnone|1100\nplain|1000", 'poll: it holds');
$sql->(q{SELECT minikafka.send('t', 'new')});
is(polled($sql, $_), '0|0|1', "poll: $_ goes on") for qw(earliest latest);

# maintenance comes first; the last records are lost only
$sql = restore('maintain', $last);
like(fails('maintain', 'CALL minikafka.maintain()'),
	qr/topic "t" partition 0 has lost records/, 'maintain: a warning');
is(fails('maintain', 'CALL minikafka.maintain()'), 'nothing', 'maintain: once');
is($sql->(q{SELECT group_id, "offset" FROM minikafka.group_offsets ORDER BY 1}),
	"earliest|0\nlatest|1000\nplain|1000", 'maintain: as the rules say');
is($sql->(q{SELECT * FROM minikafka.check_topic('t')}), '', 'maintain: sound');
$sql->(q{SELECT count(minikafka.send('t', 'new ' || i)) FROM generate_series(1, 500) i});
is(polled($sql, 'earliest'), '0|1499|1500', 'maintain: earliest');
is(polled($sql, 'latest'), '1000|1499|500', 'maintain: latest');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'q', producer => 'q', sequence => 0)}),
	'1500', 'maintain: a known sequence is no repeat');

# a producer comes first, where the last records are lost only
$sql = restore('producer', $last);
like(fails('producer', q{SELECT minikafka.send('t', NULL, 'p', partition => 0, producer => 'p', sequence => 10)}),
	qr/^MK045: sequence 10 out of order, expected 0$/, 'producer: what was lost is told');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'p', producer => 'p', sequence => 0)}),
	'1000', 'producer: a known sequence is no repeat');
is($sql->(q{SELECT minikafka.append('t', 0, NULL, 'p', producer => 'p', sequence => 1)}),
	'1001', 'producer: nor is the next');
like(fails('producer', q{SELECT minikafka.append('t', 0, NULL, 'p', producer => 'p', sequence => 1)}),
	qr/nothing/, 'producer: a repeat');


# ---------------------------------------------------------------------------
# The records come from an older dump than the rest: the last ones of a segment are
# lost, and the log is not empty

$node->safe_psql('postgres', 'CREATE DATABASE younger');
$node->safe_psql('younger', $_)
  for 'CREATE EXTENSION minikafka',
  q{SELECT minikafka.create_topic('t', 1);
	SELECT minikafka.create_topic('u', 1);
	SELECT minikafka.create_share_group('share', '{t}');
	SELECT minikafka.create_share_group('share2', '{u}')},
  (map { "SELECT minikafka.join_group('$_', '{t}', 'm', auto_offset_reset => '$_', $forever)" }
	  qw(earliest latest)),
  (map { "SELECT count(minikafka.send('$_', 'old ' || i)) FROM generate_series(0, 9) i" } qw(t u));
$node->command_ok(
	[
		'pg_dump', '-Fc', '--data-only', '-t', 'minikafka_data.*',
		'-d', $node->connstr('younger'), '-f', "$dumps/older"
	],
	'the records are dumped');
# done are 0 to 4 and 6 to 11, and the others wait; of "share2" there is a checkpoint
my $work = q{BEGIN;
	SELECT minikafka.acknowledge('%1$s', receipt, CASE WHEN "offset" IN (5, 12) THEN 'release' ELSE 'accept' END,
		retry_after => CASE WHEN "offset" IN (5, 12) THEN interval '1 day' END)
	FROM minikafka.acquire('%1$s', 13);
	COMMIT};
$node->safe_psql('younger', $_)
  for (map { "SELECT count(minikafka.send('$_', 'lost ' || i)) FROM generate_series(10, 14) i" } qw(t u)),
  q{SELECT count(minikafka.append('t', 0, NULL, 'lost', producer => 'p', sequence => i))
	FROM generate_series(0, 4) i},
  q{SELECT minikafka.commit_offset('plain', 't', 0, 18)},
  (map { "SELECT minikafka.commit_offset('$_', 't', 0, 17, member_id => 'm')" } qw(earliest latest)),
  sprintf($work, 'share2'), 'CALL minikafka.maintain()', sprintf($work, 'share');

sub restore_older
{
	my ($name) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->command_ok(
		[
			'pg_dump', '-Fc', '--exclude-table-data=minikafka_data.*',
			'-d', $node->connstr('younger'), '-f', "$dumps/$name"
		],
		"$name: dump");
	$node->command_ok([ 'pg_restore', '-d', $node->connstr($name), "$dumps/$name" ],
		"$name: restore");
	$node->command_ok(
		[
			'pg_restore', '--data-only', '--disable-triggers',
			'-d', $node->connstr($name), "$dumps/older"
		],
		"$name: restore of older records");
	return sub { return $node->safe_psql($name, $_[0]); };
}

# New records get the offsets of those that are lost.
sub check_older
{
	my ($sql, $name) = @_;
	my $first = $sql->(q{SELECT minikafka.append('t', 0, NULL, 'new', producer => 'p', sequence => 0)});

	is($first, 10, "$name: a known sequence is no repeat");
	$sql->("SELECT count(minikafka.send('$_->[0]', 'new ' || i)) FROM generate_series($_->[1], 21) i")
	  for [ 't', 11 ], [ 'u', 10 ];
	is(polled($sql, 'earliest'), '0|21|22', "$name: earliest");
	is(polled($sql, 'latest'), '10|21|12', "$name: latest");
	is($sql->(q{SELECT minikafka.committed('plain', 't', 0)}), '0', "$name: a plain consumer");
	for my $group (qw(share share2))
	{
		is( $sql->(qq{SELECT min("offset"), max("offset"), count(*) FROM minikafka.acquire('$group', 50, accept => true)}),
			'10|21|12', "$name: $group is handed out what is new");
		is($sql->(qq{SELECT "offset", state FROM minikafka.share_deliveries WHERE group_id = '$group'}),
			'5|released', "$name: what waits does so still");
	}
	is($sql->("SELECT * FROM minikafka.check_topic('$_')"), '', "$name: $_ is sound") for qw(t u);
	return;
}

$sql = restore_older('older_send');
like($sql->(q{SELECT * FROM minikafka.check_topic('t')}),
	qr/a producer has sent a record at or beyond the end, 10/, 'older: check_topic() tells');
check_older($sql, 'older, a record comes first');

$sql = restore_older('older_rolled_back');
is( $sql->(q{BEGIN;
		SELECT minikafka.append('u', 0, NULL, 'v');
		SELECT minikafka.append('u', 0, NULL, 'v');
		ROLLBACK;
		SELECT minikafka.append('u', 0, NULL, 'w');
		SELECT value FROM minikafka.acquire_text('share2', accept => true)}),
	"10\n11\n10\nw", 'older: what a rollback has found out does not hold');

$sql = restore_older('older_acquire');
is($sql->("SELECT count(*) FROM minikafka.acquire('$_', 50, accept => true)"),
	0, "older, $_ comes first: it has nothing to do")
  for qw(share share2);
check_older($sql, 'older, share groups come first');

$sql = restore_older('older_maintain');
like(fails('older_maintain', 'CALL minikafka.maintain()'),
	qr/topic "[tu]" partition 0 has lost records/, 'older, maintenance: a warning');
is(fails('older_maintain', 'CALL minikafka.maintain()'), 'nothing', 'older, maintenance: once');
is($sql->("SELECT * FROM minikafka.check_topic('$_')"), '', "older, maintenance: $_ is sound")
  for qw(t u);
check_older($sql, 'older, maintenance comes first');

done_testing();
