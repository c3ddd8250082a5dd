# Which member is removed from a group, and when: a member at work in an open transaction
# stays up to its max poll interval; one whose client or backend is gone stays
# for its session timeout.  Times are those of minikafka.clock_offset, in
# seconds; the timeouts are so long that those of the machine do not matter.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $session_timeout   = 1_000;
my $max_poll_interval = 10_000;

# between the cases: in that time polls are not halved any more, where a member
# was too slow
my $step = 20 * $max_poll_interval;

# what the machine may take, of both
my $slack = 100;

my $node = new_node('primary', 'restart_after_crash = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
SELECT minikafka.create_topic('t', 2);
CREATE TABLE effects (partition int, "offset" bigint);
});

# Joins at that time, with the timeouts of this test, or with those given.
sub join_at
{
	my ($session, $time, $member, %timeouts) = @_;

	at($session, $time);
	return ask(
		$session, sprintf q{SELECT minikafka.join_group('g', ARRAY['t'], '%s',
			session_timeout => make_interval(secs => %s),
			max_poll_interval => make_interval(secs => %s))},
		$member,
		$timeouts{session}  // $session_timeout,
		$timeouts{max_poll} // $max_poll_interval);
}

sub send_some
{
	sql(q{SELECT minikafka.send('t', 'x', partition => p)
		FROM generate_series(0, 1) p, generate_series(1, 5)});
	return;
}

my $poll = q{INSERT INTO effects SELECT partition, "offset"
	FROM minikafka.poll('g', '%1$s')};
my $work = qq{$poll; SELECT FROM minikafka.commit('g', '%1\$s')};

# A member whose timeouts are as long as can be touches the group.
my $other = new_session($node);
my $other_joins = 0;

sub touch_at
{
	my ($time) = @_;

	at($other, $time);
	join_at($other, $time, 'other', session => 2e6, max_poll => 2e6)
	  unless $other_joins++;
	ask($other, sprintf $work, 'other');
	return;
}

# "member:partitions:in transaction" of all others
sub members
{
	return sql(
		q{SELECT string_agg(format('%s:%s:%s', member_id, partitions,
			in_transaction), ' ' ORDER BY member_id)
		FROM minikafka.group_members
		WHERE group_id = 'g' AND member_id <> 'other'});
}

# Puts two members on one partition each.
sub settle_at
{
	my ($time, $session, $member) = @_;

	for (1 .. 2)
	{
		touch_at($time);
		ask(at($session, $time), sprintf $work, $member);
	}
	return;
}

# ---------------------------------------------------------------------------
# A transaction that has polled is open: beyond the session timeout, up to the
# max poll interval

my $a = new_session($node);
my $time = 0;

touch_at($time);
join_at($a, $time, 'a');
settle_at($time, $a, 'a');
is(members(), 'a:1:f', 'a member that is not at work');
send_some();
ask($a, 'BEGIN');
ask($a, sprintf $work, 'a');
is(members(), 'a:1:t', 'in_transaction: it is at work');
touch_at($time + $session_timeout + $slack);
is(members(), 'a:1:t', 'it stays beyond its session timeout');
touch_at($time + $max_poll_interval - $slack);
is(members(), 'a:1:t', 'and until its max poll interval has almost passed');
at($a, $time + $max_poll_interval - $slack);
is(state_after($a, 'COMMIT'), '00000', 'its transaction commits');
is(members(), 'a:1:f', 'in_transaction: no more');
is( sql(q{SELECT count(*), string_agg(DISTINCT minikafka.committed('g', 't',
			partition)::text, ',') FROM effects}), '10|5', 'its work is there');

# that it committed has been noted, as being heard of
touch_at($time + $max_poll_interval - $slack / 2);
is(members(), 'a:1:f', 'its session timeout runs from the COMMIT');

# Kafka case G37: beyond the max poll interval
$time += $max_poll_interval - $slack / 4;
ask(at($a, $time), sprintf $poll, 'a');
send_some();
ask($a, 'BEGIN');
ask($a, sprintf $work, 'a');
touch_at($time + $max_poll_interval + $slack);
my $effects = sql('SELECT count(*) FROM effects');
is(members(), '', 'it goes when its max poll interval has passed');
at($a, $time + $max_poll_interval + $slack);
my ($state, $text) = state_after($a, 'COMMIT');
is($state, 'MK022', 'then its transaction fails');
like($text, qr/max poll interval, $max_poll_interval s/, 'and says why');
is(sql('SELECT count(*) FROM effects'), $effects, 'its work is not there');
($state, $text) = state_after($a, sprintf $poll, 'a');
is($state, 'MK025', 'and it is no member any more');
like($text, qr/max poll interval, $max_poll_interval s/, 'and that says why');
like($text, qr/join_group/,                             'and what to do');
touch_at($time + $max_poll_interval + $slack);
is( sql(q{SELECT count(*) FROM minikafka.assignment('g', 'other')}),
	'2', 'the other has its partition');
ask($other, sprintf $work, 'other');

# A member that no other has removed finds out by itself.
sub alone
{
	my ($timeout, $name, $end) = @_;
	my $session = new_session($node);
	my $call    = q{SELECT FROM minikafka.poll('h', 'alone')};

	at($session, 0);
	ask( $session, sprintf
			q{SELECT minikafka.join_group('h', ARRAY['t'], 'alone',
			session_timeout => make_interval(secs => %s),
			max_poll_interval => make_interval(secs => %s))},
		$session_timeout, $max_poll_interval);
	ask($session, $call);
	ask($session, 'BEGIN; ' . $call) if $timeout == $max_poll_interval;
	ask($session, 'SAVEPOINT s')     if $timeout == $max_poll_interval;
	at($session, $timeout - $slack);
	is(state_after($session, q{SELECT minikafka.heartbeat('h', 'alone')}),
		'00000', "$name: not yet");
	for my $call ($call, q{SELECT minikafka.heartbeat('h', 'alone')},
		q{SELECT minikafka.seek('h', 'alone', 't', 0, 0)},
		q{SELECT FROM minikafka.commit('h', 'alone')},
		q{SELECT minikafka.commit_offset('h', 't', 0, 0, member_id => 'alone')})
	{
		# which a rollback takes back
		at($session, 2 * $timeout + $slack);
		is(state_after($session, $call), 'MK025', "$name: $call");
		ask($session, 'ROLLBACK TO s') if $timeout == $max_poll_interval;
	}
	ask($session, $end);
	$session->quit;
	return;
}

alone($session_timeout, 'alone', '');
alone($max_poll_interval, 'alone, in a transaction', 'ROLLBACK');

# ---------------------------------------------------------------------------
# Each batch takes most of the max poll interval

$time += $step;

for my $how ('in two transactions', 'in one transaction', 'with savepoints',
	'with a cursor', 'after a rolled back one')
{
	my $b = new_session($node);

	$time += $step;
	join_at($b, $time, 'b');
	settle_at($time, $b, 'b');
	send_some();
	ask($b, 'BEGIN');
	ask($b, sprintf $poll, 'b');
	touch_at($time + 0.4 * $max_poll_interval);
	at($b, $time + 0.79 * $max_poll_interval);
	ask($b, 'COMMIT; BEGIN') if $how ne 'in one transaction';
	at($b, $time + 0.8 * $max_poll_interval);
	if ($how eq 'with savepoints')
	{
		ask($b, sprintf "$poll; SAVEPOINT s; $poll; ROLLBACK TO s", 'b');
	}
	elsif ($how eq 'with a cursor')
	{
		ask($b, q{DECLARE c CURSOR FOR SELECT FROM minikafka.poll('g', 'b');
			FETCH c; CLOSE c});
	}
	elsif ($how eq 'after a rolled back one')
	{
		ask($b, sprintf "$poll; ROLLBACK; BEGIN", 'b');
		ask(at($b, $time + 0.8 * $max_poll_interval), sprintf $poll, 'b');
	}
	else
	{
		ask($b, sprintf $poll, 'b');
	}
	ask($b, q{SELECT FROM minikafka.commit('g', 'b')});
	touch_at($time + 1.2 * $max_poll_interval);
	is(members(), 'b:1:t', "$how: it stays at 1.2 of the interval");
	touch_at($time + 1.8 * $max_poll_interval - $slack);
	is(members(), 'b:1:t', "$how: and at almost 1.8");
	at($b, $time + 1.8 * $max_poll_interval - $slack);
	is(state_after($b, 'COMMIT'), '00000', "$how: its transaction commits");

	# from its last poll
	ask($b, 'BEGIN');
	ask($b, q{SELECT FROM minikafka.commit('g', 'b')});
	is(members(), 'b:1:t', "$how: commit() alone is work too");
	touch_at($time + 1.8 * $max_poll_interval + $slack);
	is(members(), '', "$how: but it goes when it has not polled");
	is(state_after($b, 'COMMIT'), 'MK022', "$how: which its COMMIT tells");
	$b->quit;
}

# A poll in another session prolongs it as well.
{
	my $b      = new_session($node);
	my $second = new_session($node);

	$time += $step;
	join_at($b, $time, 'b');
	settle_at($time, $b, 'b');
	send_some();
	ask($b, 'BEGIN');
	ask($b, sprintf $work, 'b');
	ask(at($second, $time + 0.9 * $max_poll_interval),
		q{SELECT FROM minikafka.poll('g', 'b', 1)});
	touch_at($time + 1.2 * $max_poll_interval);
	is(members(), 'b:1:t', 'another session has polled for it');
	at($b, $time + 1.2 * $max_poll_interval);
	is(state_after($b, 'COMMIT'), 'MK101', 'which the first one is told');
	ask($b, q{SELECT minikafka.leave_group('g', 'b')});
	$_->quit for $b, $second;
}

# A heartbeat keeps it beyond the session timeout, not beyond the interval.
{
	my $b = new_session($node);

	$time += $step;
	join_at($b, $time, 'b');
	for my $part (1 .. 10)
	{
		at($b, $time + $part * ($session_timeout - $slack));
		ask($b, q{SELECT minikafka.heartbeat('g', 'b')});
		touch_at($time + $part * ($session_timeout - $slack) + $slack);
	}
	is(members(), 'b:1:f', 'heartbeats keep it');
	at($b, $time + $max_poll_interval - $slack / 2);
	ask($b, q{SELECT minikafka.heartbeat('g', 'b')});
	at($b, $time + $max_poll_interval + $slack);
	($state, $text) =
	  state_after($b, q{SELECT minikafka.heartbeat('g', 'b')});
	is($state, 'MK025', 'but it has to poll');
	like($text, qr/max poll interval/, 'it is told so');
	$b->quit;
	touch_at($time + $max_poll_interval + $slack);
}

# ---------------------------------------------------------------------------
# Rolled back, or its backend gone: the session timeout runs from the last call,
# or from the last one that committed.  Kafka cases G11, T34

my %ends = (
	'rolled back' => sub { ask($_[0], 'ROLLBACK'); return; },
	'disconnected' => sub { $_[0]->quit; return; },
	'terminated' => sub {
		my ($session, $pid) = @_;

		sql("SELECT pg_terminate_backend($pid)");
		return;
	},
	'killed' => sub {
		my ($session, $pid) = @_;

		kill 'KILL', $pid;
		return;
	});

for my $end ('rolled back', 'disconnected', 'terminated', 'killed')
{
	my $c = new_session($node);
	my $pid = ask($c, 'SELECT pg_backend_pid()');

	$time += $step;
	join_at($c, $time, 'c');
	settle_at($time, $c, 'c');
	send_some();
	ask($c, 'BEGIN');
	ask($c, sprintf $work, 'c');
	touch_at($time + 0.5 * $session_timeout);
	my $before = members();
	is($before, 'c:1:t', "$end: before");
	$effects = sql('SELECT count(*) FROM effects');
	$ends{$end}->($c, $pid);
	if ($end eq 'killed')
	{
		# the server restarts, and with it all sessions
		eval { $_->quit } for $other, $a;
		$node->poll_query_until('postgres',
			"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)")
		  or die;
		$other = new_session($node);
	}
	elsif ($end ne 'rolled back')
	{
		$node->poll_query_until('postgres',
			"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)")
		  or die;
	}
	is(members(), 'c:1:f', "$end: not at work any more");
	is(sql('SELECT count(*) FROM effects'), $effects, "$end: nothing is done");
	touch_at($time + $session_timeout - $slack);
	is(members(), 'c:1:f', "$end: it stays for its session timeout");
	touch_at($time + $session_timeout + $slack);
	is(members(), '', "$end: and goes then");
	my $late = $end eq 'rolled back' ? $c : new_session($node);
	($state, $text) = state_after(at($late, $time + $session_timeout + $slack),
		sprintf $poll, 'c');
	is($state, 'MK025', "$end: it is told so");
	like($text, qr/session timeout, $session_timeout s/, "$end: and why");
	touch_at($time + $session_timeout + $slack);
	ask($other, sprintf $work, 'other');
	is( sql('SELECT count(*) FROM effects'),
		sql('SELECT count(*) FROM minikafka_topics.t'),
		"$end: the other does its work");
	$late->quit;
	eval { $c->quit } if $end eq 'terminated' || $end eq 'killed';
}
is( sql('SELECT count(DISTINCT (partition, "offset")) FROM effects'),
	sql('SELECT count(*) FROM minikafka_topics.t'),
	'everything was done, once');

$other->quit;
done_testing();
