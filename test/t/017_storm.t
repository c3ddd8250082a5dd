# Twenty members of a group join, leave, die, poll and commit at random, while
# producers send: what they do with each record is done exactly once, nobody
# gets a deadlock or waits for long, and the group ends stable.
#
# The members' lives are the same in each run; how they meet is not.
# MINIKAFKA_STORM=10 gives each member ten times as many.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $members = 20;
my $times   = $ENV{MINIKAFKA_STORM} // 1;

# What a member may be told.  The others are of SERIALIZABLE, come after an error
# in the same transaction, and when its backend was terminated.
my @expected = qw(MK022 MK025 MK082 MK101 40001 25P02 3B001 57P01);

my $node = new_node('primary', 'max_connections = 160',
	'log_error_verbosity = verbose', 'log_min_duration_statement = 20s');

sub sql { return $node->safe_psql('postgres', $_[0]); }

srand(1);
sub one_of { return $_[ int rand @_ ]; }

# ---------------------------------------------------------------------------
# What a member does, as a script of psql, which goes on after errors

# Its work: a row for each record, and a record in another topic.
sub poll
{
	my ($g, $member, $max) = @_;

	return qq{
WITH polled AS (
	INSERT INTO effects SELECT '$g', topic, partition, "offset"
	FROM minikafka.poll('$g', $member, $max) RETURNING *)
SELECT FROM (
	SELECT minikafka.send('out', p::text) FROM polled p) sent;};
}

# Polls, works and commits; in a transaction that lasts for a while.
sub work
{
	my ($g) = @_;
	my $poll = poll($g, ":'m'", one_of(5, 20, 100));
	my $commit = "
SELECT FROM minikafka.commit('$g', :'m');";
	my $sleep = sprintf '
SELECT FROM pg_sleep(%f);', rand(0.05);

	return one_of(
		$poll . $commit,
		$poll . $commit,
		$poll . $sleep . $commit,
		$poll . $poll . $sleep . $commit,
		$poll . $commit . $poll . $sleep . $commit,
		# what a savepoint takes back is polled again
		"\nSAVEPOINT s;" . $poll . "\nROLLBACK TO s;" . $poll . $commit,
		$poll . "\nSAVEPOINT s;" . $poll . $commit . "\nROLLBACK TO s;" . $commit);
}

# A life: joins, works, joins again if it was removed, and ends in some way.
sub life
{
	my ($g, $settings, $id, $rounds) = @_;
	my $topics = one_of(("'{s8,s4}'") x 4, "'{s8}'", "'{s4}'");

	# a static member comes back without a rebalance
	$topics = "'{s8,s4}'" if $id =~ /instance/;
	my $join = "
SELECT minikafka.join_group('$g', $topics, $id, $settings,
	session_timeout => '1 s', max_poll_interval => '1.5 s',
	rebalance_timeout => '1 s') AS m \\gset";

	$join = "\nSELECT 'm' || $id AS m FROM pg_sleep(0.02) \\gset"
	  if $id =~ /^\d/;
	my $script = $join;

	for (1 .. $rounds)
	{
		$script .=
		    "\nBEGIN"
		  . one_of(
			('') x 5,
			' ISOLATION LEVEL REPEATABLE READ',
			' ISOLATION LEVEL SERIALIZABLE')
		  . ';'
		  . work($g)
		  . one_of(("\nCOMMIT;") x 8, "\nROLLBACK;")
		  # sometimes it is away for too long
		  . one_of(('') x 12, "\nSELECT FROM pg_sleep(1.2);") . "
SELECT minikafka.heartbeat('$g', :'m') \\gset
\\if :ERROR$join
\\endif";
	}
	my $last = "\nBEGIN;" . work($g);
	return $script . one_of(
		("\nSELECT minikafka.leave_group('$g', :'m') \\gset") x 3,
		# its client is gone; it has polled, but not begun to work; in a
		# transaction; its backend is gone
		'',
		"\nSELECT count(*) FROM minikafka.poll('$g', :'m') \\gset",
		$last,
		"$last\nSELECT pg_terminate_backend(pg_backend_pid());",
		# it is late
		"$last\nSELECT FROM pg_sleep(1.7);\nCOMMIT;") . "\n";
}

# Starts a member, which lives several times.
sub start_member
{
	my ($g, $settings, $number, $dir) = @_;
	my $id = one_of(
		'member_id => NULL',
		"member_id => 'm$number'",
		"instance_id => 'i$number'",
		"member_id => 'm$number', instance_id => 'i$number'");
	my ($lives, $rounds) = $number % 2 ? (4, 6) : (1, 24);
	my @files;

	# two that take each other for dead, and two sessions of one member
	$id = q{instance_id => 'same'} if $number <= 2;
	$id = q{member_id => 'm3'}     if $number == 3;
	$id = 3                        if $number == 4;
	for my $life (1 .. $lives * $times)
	{
		my $file = "$dir/$g-$number-$life";

		append_to_file($file, life($g, $settings, $id, $rounds));
		push @files, $file;
	}
	return start_scripts($node, @files);
}

# ---------------------------------------------------------------------------

my @groups;
for my $protocol ('cooperative', 'eager')
{
	push @groups, map { [ "${protocol}_$_", $protocol, $_ ] }
	  'sticky', 'range', 'roundrobin';
}
sql(q{
SELECT minikafka.create_topic('s8', 8, segment_records => 500);
SELECT minikafka.create_topic('s4', 4, segment_records => 500);
SELECT minikafka.create_topic('out', 2);
CREATE TABLE effects (group_id text, topic text, partition int, "offset" bigint);
});

my $dir   = PostgreSQL::Test::Utils::tempdir('storm');
my $start = time;
my (@clients, %states);

for my $number (1 .. $members)
{
	push @clients,
	  map { start_member($_->[0],
			"assignor => '$_->[2]', protocol => '$_->[1]'", $number, $dir) }
	  @groups;
}
my $producers = start_pgbench(
	$node, {
		send => q{
SELECT minikafka.send(one, 'x', partition => i)
FROM (VALUES ('s8', 7), ('s4', 3)) v (one, last), generate_series(0, last) i;
\sleep 40 ms
}
	},
	'-c2', '-j1', '-t', 110 * $times);
finish_ok($producers, 'the producers ended');
for (@clients)
{
	$_->{run}->finish;
	$states{$1}++ while $_->{err} =~ /(?:ERROR|FATAL):\s+(\w{5})/g;
}
note(sprintf 'after %d s: %s', time - $start,
	join ', ', map { "$_: $states{$_}" } sort keys %states);
cmp_ok($states{$_} // 0, '>', 0, "$_ was seen")
  for 'MK022', 'MK025', 'MK082';
delete @states{@expected};
is_deeply(\%states, {}, "no other error");

my $done = sql('SELECT count(*) FROM effects');

# three that stay read what is left
for my $group (@groups)
{
	my ($g, $protocol, $assignor) = @$group;
	my @last = map { new_session($node) } 1 .. 3;
	my $ended = 0;

	# if all others are dead by now, these choose the settings anew
	ask($last[$_], "SELECT minikafka.join_group('$g', '{s8,s4}', 'last$_',
		assignor => '$assignor', protocol => '$protocol')")
	  for 0 .. 2;
	my $loops = 0;
	while (!$ended && $loops++ < 1000)
	{
		for (0 .. 2)
		{
			state_after($last[$_],
				'BEGIN;' . poll($g, "'last$_'", 1000) . qq{
SELECT FROM minikafka.commit('$g', 'last$_');
COMMIT});
		}
		$ended = sql(qq{SELECT state = 'Stable' AND members = 3
			AND (SELECT sum(lag) = 0 FROM minikafka.lag('$g'))
			FROM minikafka.groups WHERE group_id = '$g'}) eq 't';
		usleep(20_000) unless $ended;
	}
	ok($ended, "$g: in the end three members, and nothing is unread");
	is( sql(qq{SELECT count(*), count(DISTINCT (topic, partition)),
			min(n), max(n)
		FROM generate_series(0, 2) i,
		LATERAL (SELECT *, count(*) OVER () AS n
			FROM minikafka.assignment('$g', 'last' || i)) a}),
		$assignor eq 'range' ? '12|12|3|5' : '12|12|4|4',
		"$g: each partition has one owner");
	is( sql(qq{SELECT count(*), count(DISTINCT (topic, partition, "offset"))
		FROM effects WHERE group_id = '$g'}),
		sql(q{SELECT sum(end_offset), sum(end_offset)
		FROM minikafka.partitions WHERE topic <> 'out'}),
		"$g: every record's effect is there once");
	note(sql("SELECT 'generation ' || generation FROM minikafka.groups
		WHERE group_id = '$g'") . ", $loops looks");
	$_->quit for @last;
}
note("$done of " . sql('SELECT count(*) FROM effects')
	  . ' were done in the storm');
# Kafka case T17
is( sql(q{SELECT count(*), count(DISTINCT value) FROM generate_series(0, 1) p,
		LATERAL minikafka.fetch_text('out', p, 0, 1000000)}),
	sql('SELECT count(*), count(*) FROM effects'),
	'and what was sent for it is there once');
is(problems($node, 's8') . problems($node, 's4') . problems($node, 'out'),
	'', 'the topics are sound');
is(server_errors($node), '', 'no deadlock, no internal error');
unlike(slurp_file($node->logfile), qr/duration: \d+/,
	'no session waited for long');

done_testing();
