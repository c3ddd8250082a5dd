# Consumers that fail, beside others: a record that cannot be worked on, and
# batches that take longer than the max poll interval.  Times are those of
# minikafka.clock_offset, in seconds; the machine's own clock is added to them, so
# they are long enough for one that is loaded.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'max_locks_per_transaction = 10');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub join_group
{
	my ($session, $group, $member, %timeouts) = @_;

	return ask(
		$session, sprintf q{SELECT minikafka.join_group('%s', ARRAY['%1$s'], '%s',
			session_timeout => '%s', max_poll_interval => '%s')},
		$group, $member,
		$timeouts{session}  // '1 day',
		$timeouts{max_poll} // '1 day');
}

# Puts the members of the group on a part of the partitions each.
sub settle
{
	my ($group, %sessions) = @_;

	for (1 .. 2)
	{
		ask($sessions{$_}, "SELECT FROM minikafka.heartbeat('$group', '$_');
			SELECT FROM minikafka.commit('$group', '$_')")
		  for sort keys %sessions;
	}
	return;
}

# ---------------------------------------------------------------------------
# Two members with a session timeout of a minute, one of which has a record that
# always fails: two hours of polls, each of them rolled back

sql(q{SELECT minikafka.create_topic('poison', 2);
	SELECT minikafka.send('poison', 'x', partition => p)
	FROM generate_series(0, 1) p, generate_series(1, 10)});
my %session = map { $_ => new_session($node) } qw(a b);
join_group($session{$_}, 'poison', $_, session => '60 s', max_poll => '12 min')
  for sort keys %session;
settle('poison', %session);

my $generation = sql(q{SELECT generation FROM minikafka.groups});
my $lost       = 0;
my $failed     = 0;
for my $round (1 .. 150)
{
	for my $member (sort keys %session)
	{
		my $s = at($session{$member}, 48 * $round);

		sql(q{SELECT minikafka.send('poison', 'x', partition => 1)})
		  if $member eq 'b';
		ask($s, 'BEGIN');
		my ($state) = state_after($s,
			"SELECT 1 / (partition + 0 * count(*)) FROM minikafka.poll('poison',
				'$member') GROUP BY partition;
			SELECT FROM minikafka.commit('poison', '$member')");
		$lost++   if $state =~ /^MK/;
		$failed++ if $state eq '22012';
		ask($s, $state eq '00000' ? 'COMMIT' : 'ROLLBACK');
	}
}
is($failed, 150, 'poison: its owner fails each time');
is($lost,   0,   'poison: and stays a member');
is(sql(q{SELECT generation FROM minikafka.groups}),
	$generation, 'poison: no rebalance');
is( sql(q{SELECT string_agg(partition || ':' || lag, ' ' ORDER BY partition)
		FROM minikafka.lag('poison')}),
	'0:10 1:0', 'poison: the other partition is read to its end');

# what tells that it is alive is one lock, of the time of its last poll
my $signs = q{SELECT objsubid, count(*) FROM pg_locks
	WHERE locktype = 'advisory' AND objsubid IN (19786, 19789) GROUP BY 1};
is(sql($signs), '19786|1', 'poison: one lock');

# it does not outlive its session, which was heard of 7,200 s after it joined
my $pid = ask($session{a}, 'SELECT pg_backend_pid()');
$session{a}->quit;
$node->poll_query_until('postgres',
	"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)")
  or die;
is(sql($signs), '', 'poison: gone with its session');

# nor does it tell more than that it was alive at that time
ask(at($session{b}, $_), q{SELECT FROM minikafka.poll('poison', 'b')})
  for 7_248, 7_296;
is( sql(q{SELECT string_agg(member_id, ' ') FROM minikafka.group_members}),
	'b', 'poison: and then the other takes over');
$session{b}->quit;

# ---------------------------------------------------------------------------
# Twenty jobs of five seconds, polled at once, with 60 s to poll again; each
# batch in a transaction with its commit()

sql(q{SELECT minikafka.create_topic('slow', 1);
	SELECT count(minikafka.send('slow', 'job', partition => 0))
	FROM generate_series(1, 20);
	CREATE TABLE executions (member text, "offset" bigint)});

my %worker = map {
	$_ => { session => new_session($node), joined => 0, jobs => 0 }
} qw(a b);
my $executions = 0;
my @outcomes;

# What a worker does at a time, each five seconds: a job, or what comes
# after the last one.
sub step
{
	my ($member, $time) = @_;
	my $w = $worker{$member};
	my $s = at($w->{session}, $time);

	if ($w->{jobs} > 0)
	{
		$executions++;
		return if --$w->{jobs} > 0;
		my ($state) = state_after($s,
			"SELECT FROM minikafka.commit('slow', '$member')");
		($state) = state_after($s, 'COMMIT') if $state eq '00000';
		ask($s, 'ROLLBACK') if $state ne '00000';
		push @outcomes, "$member:$state";
		$w->{joined} = 0 if $state ne '00000';
		return;
	}
	if (!$w->{joined})
	{
		join_group($s, 'slow', $member, max_poll => '60 s');
		$w->{joined} = 1;
		return;
	}
	ask($s, 'BEGIN');
	my ($state, $text) = state_after($s,
		qq{INSERT INTO executions SELECT '$member', "offset"
			FROM minikafka.poll('slow', '$member')});
	if ($state ne '00000')
	{
		ask($s, 'ROLLBACK');
		$w->{joined} = 0;
		return;
	}
	$w->{jobs} = ask($s, 'SELECT count(*) FROM executions
		WHERE xmin = pg_current_xact_id()::xid');
	ask($s, 'COMMIT') if $w->{jobs} == 0;
	return;
}

my $time = 0;
while ($time < 6_000 && sql(q{SELECT coalesce(minikafka.committed('slow', 'slow', 0),
		0)}) < 20)
{
	$time += 5;
	step($_, $time) for sort keys %worker;
}
note("$executions executions in $time s: @outcomes");
is(sql(q{SELECT minikafka.committed('slow', 'slow', 0)}),
	'20', 'slow: all is done');
is(sql(q{SELECT count(*), count(DISTINCT "offset") FROM executions}),
	'20|20', 'slow: once');
cmp_ok($executions, '<=', 60, 'slow: with few jobs done in vain');
$_->{session}->quit for values %worker;

# ---------------------------------------------------------------------------
# A session that works for many members, as one of a pooler does: it keeps a lock
# for each whose transaction was rolled back, as long as that matters, and where
# there is no room for more locks it goes on without

sql(q{SELECT minikafka.create_topic('many', 1)});
my $s = new_session($node);
for my $round (0 .. 2)
{
	at($s, 1_000 * $round);
	for my $m (1 .. 30)
	{
		join_group($s, 'many', "m$round-$m", session => '100 s',
			max_poll => '100 s');
	}
	at($s, 1_000 * $round + 50);
	ask($s, "BEGIN; SELECT FROM minikafka.poll('many', 'm$round-$_'); ROLLBACK")
	  for 1 .. 30;
	cmp_ok(sql(q{SELECT count(*) FROM pg_locks WHERE objsubid = 19786}),
		'<=', 38, "many: round $round: a lock for each at most");
}
is(ask($s, 'DISCARD ALL; SELECT 1'), '1', 'many: DISCARD ALL');
is(sql(q{SELECT count(*) FROM pg_locks WHERE objsubid = 19786}),
	'0', 'many: there are none any more');
at($s, 2_080);
is( state_after($s,
		"BEGIN; SELECT FROM minikafka.poll('many', 'm2-1'); COMMIT"),
	'00000', 'many: it goes on');

my $full = new_session($node);
ask($full, q{DO $$ BEGIN
	FOR i IN 1 .. 1000000 LOOP PERFORM pg_advisory_lock(i); END LOOP;
	EXCEPTION WHEN out_of_memory THEN NULL; END $$});
at($s, 2_095);
ask($s, 'BEGIN');
is( state_after($s, q{SELECT FROM minikafka.heartbeat('many', 'm2-1')}),
	'00000', 'many: without room for a lock a call goes on');
is(ask($s, q{SELECT count(*) FROM pg_locks WHERE objsubid = 19789}),
	'0', 'many: so there is no lock');
ask($full, 'SELECT count(pg_advisory_unlock_all()::text)');
is(state_after($s, 'COMMIT'), '00000', 'many: and it commits');
$_->quit for $s, $full;

done_testing();
