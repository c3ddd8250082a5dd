# Commits wake the members that wait for records, where the library is preloaded.
# A member that waits looks by itself once a second besides.  Here it does so once
# an hour: a wait that ends was woken, however loaded the machine is.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use List::Util qw(sum);
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $late = library('late');
my $node = new_node(
	'primary',
	# loaded before minikafka, its callback runs after it
	"shared_preload_libraries = '$late, minikafka'",
	'max_connections = 130', 'autovacuum = off', 'restart_after_crash = on',
	'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# How often a session looks by itself, in milliseconds.
my $define_look = "CREATE FUNCTION look_each(integer) RETURNS void STRICT
	LANGUAGE C AS '$late', 'late_look_each'";
my $hour = 3_600_000;
sql($define_look);

my %pid;

sub client
{
	my ($where) = @_;
	my $client = new_session($where // $node);

	# it lasts as long as the test does
	$client->set_query_timer_restart();
	ask($client, "SELECT look_each($hour)");
	$pid{$client} = ask($client, 'SELECT pg_backend_pid()');
	return $client;
}

# What the member waits with; the last line is how many records it got.
my %waits = (
	poll => q{SELECT count(*) FROM
		minikafka.poll('%1$s', '%2$s', max_wait => '1 hour')},
	call => q{CALL minikafka.wait_for_records('%1$s', '%2$s', '1 hour');
		SELECT count(*) FROM minikafka.poll('%1$s', '%2$s')});

sub wait_sql
{
	my ($how, $group, $member) = @_;

	return sprintf $waits{$how}, $group, $member;
}

# Returns when it waits.
sub start_wait
{
	my ($client, $how, $group, $member, $where) = @_;

	start_query($client, wait_sql($how, $group, $member));
	wait_waiting($pid{$client}, $where);
	return;
}

sub wait_waiting
{
	my ($pid, $where) = @_;

	($where // $node)->poll_query_until('postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity
		WHERE pid = $pid") or die;
	return;
}

sub is_waiting
{
	my ($client) = @_;

	# what ends too early ends meanwhile
	usleep(100_000);
	return sql("SELECT state = 'active' FROM pg_stat_activity
		WHERE pid = $pid{$client}");
}

# Waits, and again after a change to the group, until there are records.
sub finish_wait
{
	my ($client, $how, $group, $member) = @_;
	my $n = finish_query($client);

	$n = ask($client, wait_sql($how, $group, $member)) if $n eq '0';
	return $n;
}

# Calls the function for five rounds: it returns if its wait was woken.
sub in_rounds
{
	my ($name, $function) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$function->($_) for 1 .. 5;
	pass("$name: woken");
	return;
}

sub create_topic
{
	my ($topic, $partitions) = @_;

	sql("SELECT minikafka.create_topic('$topic', " . ($partitions // 1) . ')');
	return;
}

# A member that is not late on a loaded machine, unless the options say when it is.
sub join_group
{
	my ($client, $group, $member, $options) = @_;

	$options //= '';
	$options .= q{, session_timeout => '1 day', max_poll_interval => '1 day'}
	  unless $options =~ /session_timeout/;
	ask($client, "SELECT minikafka.join_group('$group', ARRAY['$group'],
		'$member'$options)");
	return;
}

sub leave_group
{
	my ($client, $group, $member) = @_;

	ask($client, "SELECT minikafka.leave_group('$group', '$member')");
	return;
}

sub commit
{
	my ($client, $group, $member) = @_;

	ask($client, "SELECT FROM minikafka.commit('$group', '$member')");
	return;
}

sub send_to
{
	my ($session, $topic, $partition, $n) = @_;

	ask($session, sprintf q{SELECT minikafka.send('%s', 'x', partition => %d)
		FROM generate_series(1, %d)},
		$topic, $partition // 0, $n // 1);
	return;
}

# Records, each in a transaction of its own; a session that is woken sleeps again
# by the next
my $send_each = q{
CREATE PROCEDURE send_each(topic text, part int, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM minikafka.send(topic, 'x', partition => part);
		COMMIT;
		PERFORM pg_sleep(0.002);
	END LOOP;
END $$};
sql($send_each);

my $sender = client();
my $gate   = client();

# ---------------------------------------------------------------------------
# A record that is committed

for my $how ('poll', 'call')
{
	my $g      = "record_$how";
	my $client = client();

	create_topic($g, 2);
	join_group($client, $g, 'm');
	in_rounds(
		"$how: a commit",
		sub {
			my ($round) = @_;

			start_wait($client, $how, $g, 'm');
			send_to($sender, $g, $round % 2);
			is(finish_query($client), '1', "$how: the record comes");
			commit($client, $g, 'm');
			return;
		});

	# it is not woken for what comes to nothing
	start_wait($client, $how, $g, 'm');
	ask($sender, "BEGIN; SELECT minikafka.send('$g', 'undone'); ROLLBACK");
	is(is_waiting($client), 't', "$how: nothing for a rolled back record");
	ask($sender, "BEGIN; SELECT minikafka.send('$g', 'undone') FROM
		generate_series(1, 3); SAVEPOINT s; SELECT minikafka.send('$g', 'x');
		ROLLBACK TO s");
	is(is_waiting($client), 't', "$how: nothing before the commit");
	ask($sender, 'COMMIT');
	is(finish_query($client), '3', "$how: those that are committed");
	commit($client, $g, 'm');

	# nothing is waited for that is there
	send_to($sender, $g);
	is(ask($client, wait_sql($how, $g, 'm')), '1', "$how: what is there");
	commit($client, $g, 'm');
	$client->quit;
}

# ---------------------------------------------------------------------------
# A record that is due later, whether it was sent before the member waits or
# after that.  It comes at its time, though no session wakes the member then.

for my $how ('poll', 'call')
{
	my $g      = "due_$how";
	my $client = client();

	create_topic($g, 2);
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', '500 ms')");
	join_group($client, $g, 'm');
	for my $round (1 .. 2)
	{
		send_to($sender, $g, $round % 2);
		start_query($client, wait_sql($how, $g, 'm'));
		is(finish_query($client), '1', "$how: what was sent before is due");
		commit($client, $g, 'm');
		start_wait($client, $how, $g, 'm');
		send_to($sender, $g, $round % 2);
		is(finish_query($client), '1', "$how: what is sent meanwhile is due");
		commit($client, $g, 'm');
	}

	# one that is due after it gave up
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', '1 hour')");
	send_to($sender, $g);
	is( ask($client, "SELECT count(*) FROM minikafka.poll('$g', 'm',
			max_wait => '100 ms')"),
		'0', "$how: nothing before it is due");

	# others, and changes to the group, still wake it
	start_wait($client, $how, $g, 'm');
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', NULL)");
	send_to($sender, $g, 1);
	is(finish_query($client), '2', "$how: another partition wakes it");
	$client->quit;
}

# One transaction wakes all that it sends to.
{
	my %waiting = map { ("several_$_" => client()) } 1 .. 3;

	for my $g (keys %waiting)
	{
		create_topic($g);
		join_group($waiting{$g}, $g, 'm');
	}
	in_rounds(
		'several topics in a transaction',
		sub {
			my ($round) = @_;

			for my $g (keys %waiting)
			{
				start_wait($waiting{$g}, $round % 2 ? 'poll' : 'call', $g, 'm');
			}
			ask($sender, join '; ', 'BEGIN',
				(map { "SELECT minikafka.send('$_', 'x')" } keys %waiting), 'COMMIT');
			is(finish_query($waiting{$_}), '1', "$_: the record comes")
			  for keys %waiting;
			commit($waiting{$_}, $_, 'm') for keys %waiting;
			return;
		});
	$_->quit for values %waiting;
}

# No snapshot is held.
{
	my $client = client();

	start_wait($client, 'call', 'record_call', 'm');
	ok( $node->poll_query_until(
			'postgres', "SELECT backend_xmin IS NULL AND backend_xid IS NULL
			FROM pg_stat_activity WHERE pid = $pid{$client} AND state = 'active'"),
		'wait_for_records() has no xmin');
	sql('CREATE TABLE rows AS SELECT i FROM generate_series(1, 10000) i');
	sql('DELETE FROM rows');
	sql('VACUUM rows');
	is(sql(q{SELECT pg_relation_size('rows')}), '0', 'vacuum is not held up');
	is(is_waiting($client), 't', 'it still waits');
	send_to($sender, 'record_call');
	is(finish_query($client), '1', 'it ends');
	$client->quit;
}

# ---------------------------------------------------------------------------
# Two in a ping-pong, by procedures.  The pause before the commit is so long as a
# look takes, so that commits meet looks at any point; of many partitions, since
# a look takes longer then.  Who waited for 0.9 s was not woken.

sql(q{
CREATE PROCEDURE ping_pong(me text, other text, how text, rounds int)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
	n int;
BEGIN
	PERFORM look_each(3600000);
	FOR i IN 1 .. rounds LOOP
		LOOP
			IF how = 'poll' THEN
				n := count(*) FROM minikafka.poll(me, 'm', max_wait => '1 hour');
			ELSE
				CALL minikafka.wait_for_records(me, 'm', '1 hour');
				n := count(*) FROM minikafka.poll(me, 'm');
			END IF;
			EXIT WHEN n > 0;
			-- the group was changed
			COMMIT;
		END LOOP;
		PERFORM minikafka.commit(me, 'm');
		PERFORM minikafka.send(other, 'x', partition => i % 50);
		start := clock_timestamp() + random() * interval '1 ms';
		WHILE clock_timestamp() < start LOOP
		END LOOP;
		COMMIT;
	END LOOP;
END $$});
for my $how ('poll', 'call')
{
	my ($ping, $pong, $rounds) = ("ping_$how", "pong_$how", 1000);

	for ($ping, $pong)
	{
		create_topic($_, 50);
		join_group($sender, $_, 'm');
	}
	my @sides = map {
		start_psql($node,
			"CALL ping_pong('$$_[0]', '$$_[1]', '$how', $rounds)")
	} [ $ping, $pong ], [ $pong, $ping ];
	send_to($sender, $ping);
	finish_ok($_, "$how: ping-pong, each commit wakes the other side") for @sides;
}

# ---------------------------------------------------------------------------
# A wake-up that comes while the member's own look is being committed: the
# latch is used there too.  The commit writes a heartbeat, and is held.

{
	my $client = client();
	my $time   = 0;

	create_topic('own_commit');
	join_group($client, 'own_commit', 'm', q{, session_timeout => '45 s'});
	ask($client, 'SET synchronous_commit = on');
	in_rounds(
		'call: during its own commit',
		sub {
			hold_commits($node);
			# a heartbeat is due; by the clock of later calls too
			$time += 30;
			at($_, $time) for $client, $sender;
			start_query($client,
				q{CALL minikafka.wait_for_records('own_commit', 'm', '1 hour')});
			$node->poll_query_until('postgres', "SELECT wait_event = 'SyncRep'
				FROM pg_stat_activity WHERE pid = $pid{$client}") or die;
			send_to($sender, 'own_commit');
			release_commits($node);
			finish_query($client);
			is(ask($client, q{SELECT count(*)
					FROM minikafka.poll('own_commit', 'm')}),
				'1', 'call: the record comes');
			commit($client, 'own_commit', 'm');
			return;
		});
	$client->quit;
	at($sender, 0);
}

# ---------------------------------------------------------------------------
# A transaction in front of the record fails, after both were sequenced

# Sends, and fails when the gate is opened; returns when it waits for that.
sub late_failure
{
	my ($topic) = @_;

	ask($gate, 'SELECT pg_advisory_lock(1)');
	my $client = start_psql($node, "BEGIN; SET LOCAL late.wait = 1;
		SET LOCAL late.fail = 1; SELECT minikafka.send('$topic', 'failed');
		COMMIT");
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory'
		AND objsubid = 1 AND NOT granted}) or die;
	return $client;
}

for my $how ('poll', 'call')
{
	for my $end ('failed', 'terminated')
	{
		my $g      = "in_front_${end}_$how";
		my $client = client();

		create_topic($g);
		join_group($client, $g, 'm');
		in_rounds(
			"$how: one in front has $end",
			sub {
				my ($round) = @_;

				start_wait($client, $how, $g, 'm');
				my $front = late_failure($g);
				send_to($sender, $g);
				is(is_waiting($client), 't', "$how: it waits before what is undecided")
				  if $round == 1;
				if ($end eq 'terminated')
				{
					sql(q{SELECT pg_terminate_backend(pid) FROM pg_locks
						WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted});
				}
				else
				{
					ask($gate, 'SELECT pg_advisory_unlock(1)');
				}
				is(finish_query($client), '1',
					"$how: one in front has $end: the record comes");
				ask($gate, 'SELECT pg_advisory_unlock_all()');
				commit($client, $g, 'm');
				$front->{run}->finish;
			return;
			});
		$client->quit;
	}
}

# ---------------------------------------------------------------------------
# The group changes

for my $how ('poll', 'call')
{
	# the one that has the partition leaves
	my ($one, $two) = (client(), client());
	my $g = "leaves_$how";

	create_topic($g);
	join_group($one, $g, 'has');
	in_rounds(
		"$how: a member leaves",
		sub {
			my ($round) = @_;

			join_group($two, $g, "gets$round");
			start_wait($two, $how, $g, "gets$round");
			send_to($sender, $g);
			is(is_waiting($two), 't', "$how: it has no partition")
			  if $round == 1;
			leave_group($one, $g, $round == 1 ? 'has' : 'gets' . ($round - 1));
			is(finish_wait($two, $how, $g, "gets$round"), '1',
				"$how: it gets what the other had");
			commit($two, $g, "gets$round");
			return;
		});

	# the same, and the record comes when it has waited for it for a while
	$g = "later_$how";
	create_topic($g);
	join_group($one, $g, 'gets0');
	in_rounds(
		"$how: a record in a new partition",
		sub {
			my ($round) = @_;

			join_group($two, $g, "gets$round");
			start_wait($two, $how, $g, "gets$round");
			leave_group($one, $g, 'gets' . ($round - 1));
			is(sql("SELECT count(*) FROM minikafka.assignment('$g',
				'gets$round')"), '1', "$how: it has the partition");
			is(is_waiting($two), 't', "$how: it waits on");
			send_to($sender, $g);
			is(finish_query($two), '1', "$how: the record comes");
			commit($two, $g, "gets$round");
			return;
		});

	# maintenance finds out that the one that has the partition is dead
	$g = "dead_$how";
	create_topic($g);
	in_rounds(
		"$how: maintenance removes a member",
		sub {
			my ($round) = @_;

			# the one before has gone, and the partition has no owner
			join_group($one, $g, "dead$round", q{, session_timeout => '10 min'});
			join_group($two, $g, 'gets', q{, session_timeout => '10 h',
				max_poll_interval => '10 h'});
			start_wait($two, $how, $g, 'gets');
			send_to($sender, $g);
			is(is_waiting($two), 't', "$how: the other one has the partition")
			  if $round == 1;
			at($one, 1000);
			ask($one, 'CALL minikafka.maintain()');
			is(finish_wait($two, $how, $g, 'gets'), '1',
				"$how: it gets what the dead one had");
			at($one, 0);
			commit($two, $g, 'gets');
			leave_group($two, $g, 'gets');
			return;
		});

	# no session commits anything: the member that waits finds out
	$g = "unheard_$how";
	create_topic($g);
	join_group($one, $g, 'dead', q{, session_timeout => '1 s'});
	join_group($two, $g, 'gets');
	send_to($sender, $g);
	ask($two, 'SELECT look_each(1000)');
	start_query($two, wait_sql($how, $g, 'gets'));
	is(finish_wait($two, $how, $g, 'gets'), '1',
		"$how: it looks by itself too");
	ask($two, "SELECT look_each($hour)");
	commit($two, $g, 'gets');

	# the one that has the partitions lets one go, when it has committed
	$g = "lets_go_$how";
	create_topic($g, 2);
	join_group($one, $g, 'a', q{, rebalance_timeout => '1 h'});
	in_rounds(
		"$how: a member lets a partition go",
		sub {
			my ($round) = @_;

			ask($one, "SELECT FROM minikafka.poll('$g', 'a')");
			join_group($two, $g, "b$round");
			start_wait($two, $how, $g, "b$round");
			# whichever is to move
			send_to($sender, $g, $_) for 0, 1;
			is(is_waiting($two), 't', "$how: the other one still has both")
			  if $round == 1;
			ask($one, "SELECT FROM minikafka.poll('$g', 'a')");
			is(finish_wait($two, $how, $g, "b$round"), '1',
				"$how: it gets one of the two");
			commit($two, $g, "b$round");
			commit($one, $g, 'a');
			leave_group($two, $g, "b$round");
			ask($one, "SELECT FROM minikafka.poll('$g', 'a')");
			commit($one, $g, 'a');
			return;
		});

	# both wait, and the one that has both lets one go since it is woken
	$g = "both_$how";
	create_topic($g, 2);
	join_group($one, $g, 'a', q{, rebalance_timeout => '1 h'});
	in_rounds(
		"$how: both wait",
		sub {
			my ($round) = @_;

			ask($one, "SELECT FROM minikafka.poll('$g', 'a')");
			start_wait($one, $how, $g, 'a');
			join_group($two, $g, "b$round");
			# the partition is the new one's as soon as the other has looked
			my $polls = 0;
			until (ask($two, "SELECT count(*) FROM minikafka.assignment('$g',
				'b$round')") eq '1')
			{
				die "$how: the partition does not move" if $polls++ > 100_000;
			}
			send_to($sender, $g, $_) for 0, 1;
			is(finish_wait($one, $how, $g, 'a'), '1', "$how: each has one");
			is(ask($two, wait_sql($how, $g, "b$round")), '1', "$how: of both");
			commit($one, $g, 'a');
			commit($two, $g, "b$round");
			leave_group($two, $g, "b$round");
			return;
		});
	$_->quit for $one, $two;
}

# ---------------------------------------------------------------------------
# A member with more partitions than its slot has room for

for my $partitions (59, 60, 61, 62, 200)
{
	for my $how ('poll', 'call')
	{
		my $client = client();
		my $g      = "many_${partitions}_$how";

		create_topic($g, $partitions);
		join_group($client, $g, 'm');
		in_rounds(
			"$how: $partitions partitions",
			sub {
				my ($round) = @_;

				start_wait($client, $how, $g, 'm');
				send_to($sender, $g, $round % 2 ? $partitions - 1 : $round);
				is(finish_query($client), '1', "$how: the record comes");
				commit($client, $g, 'm');
			return;
			});
		$client->quit;
	}
}

# ---------------------------------------------------------------------------
# Subtransactions

{
	my $client = client();

	create_topic('sub');
	join_group($client, 'sub', 'm');

	in_rounds(
		'savepoints',
		sub {
			ask($client, 'BEGIN; SAVEPOINT a');
			start_wait($client, 'poll', 'sub', 'm');
			send_to($sender, 'sub');
			is(finish_query($client), '1', 'savepoint: it comes');
			ask($client, 'ROLLBACK TO a; SAVEPOINT b');
			is(ask($client, wait_sql('poll', 'sub', 'm')),
				'1', 'savepoint: it comes again after ROLLBACK TO');
			ask($client, 'RELEASE b; RELEASE a; SAVEPOINT c');

			# what is cancelled can be gone back from
			start_wait($client, 'poll', 'sub', 'm');
			sql("SELECT pg_cancel_backend($pid{$client})");
			$client->query('');
			like($client->{stderr}, qr/57014/, 'savepoint: cancelled');
			ask($client, 'ROLLBACK TO c');
			start_wait($client, 'poll', 'sub', 'm');
			send_to($sender, 'sub');
			is(finish_query($client), '1', 'savepoint: and it goes on');
			commit($client, 'sub', 'm');
			ask($client, 'COMMIT');
			return;
		});

	sql(q{
CREATE PROCEDURE catch() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM minikafka.poll('sub', 'm', max_wait => '1 hour');
EXCEPTION WHEN query_canceled THEN
	PERFORM set_config('late.run', '', false);
END $$});
	for my $round (1, 2)
	{
		start_query($client, 'BEGIN; CALL catch()');
		wait_waiting($pid{$client});
		sql("SELECT pg_cancel_backend($pid{$client})");
		is(finish_query($client), '', 'a cancelled wait is caught');
		start_wait($client, 'poll', 'sub', 'm');
		send_to($sender, 'sub');
		is(finish_query($client), '1', 'and the next one is woken');
		commit($client, 'sub', 'm');
		ask($client, 'COMMIT');
	}

	# a procedure that waits twice
	start_query($client, q{DO $$
DECLARE
	n int;
	total int := 0;
BEGIN
	WHILE total < 4 LOOP
		CALL minikafka.wait_for_records('sub', 'm', '1 hour');
		BEGIN
			n := count(*) FROM minikafka.poll('sub', 'm', 2, max_wait => '1 hour');
			PERFORM minikafka.commit('sub', 'm');
			total := total + n;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
		COMMIT;
	END LOOP;
END $$});
	wait_waiting($pid{$client});
	send_to($sender, 'sub');
	send_to($sender, 'sub', 0, 3);
	finish_query($client);
	is(ask($client, q{SELECT count(*) FROM minikafka.poll('sub', 'm')}),
		'0', 'in a DO block');
	$client->quit;
}

# ---------------------------------------------------------------------------
# Sessions that are not woken.  What wakes a process that sleeps counts as a voluntary
# context switch of it.

sub switches
{
	my ($pid) = @_;

	return slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m
	  ? $1
	  : die;
}

# How often the processes are woken while others do that
sub woken
{
	my ($function, @pids) = @_;
	my $before = sum(map { switches($_) } @pids);

	$function->();
	return sum(map { switches($_) } @pids) - $before;
}

SKIP:
{
	skip 'no /proc', 1 unless -e "/proc/$pid{$sender}/status";

	my $sends  = 300;
	my $client = client();

	# this many could be looks each second, or whatever else
	my $few = $sends / 10;

	# the topics and groups of the other database have the same numbers
	create_topic($_) for 'far', 'near';
	join_group($client, 'near', 'm');
	sql('CREATE DATABASE other TEMPLATE template0');
	$node->safe_psql('other', 'CREATE EXTENSION minikafka');
	$node->safe_psql('other', sprintf q{
		SELECT setval('minikafka.topic_id', %d);
		SELECT setval('minikafka.group_no', %d);
		SELECT minikafka.create_topic('there', 1);
		SELECT minikafka.join_group('there', '{there}', 'm');
		%s;
	}, sql(q{SELECT max(topic_id) - 1 FROM minikafka.topic}),
		sql(q{SELECT max(group_no) - 1 FROM minikafka.consumer_group}),
		$send_each);
	is( $node->safe_psql('other', q{SELECT topic_id, group_no
			FROM minikafka.topic, minikafka.consumer_group}),
		sql(q{SELECT topic_id, group_no FROM minikafka.topic, minikafka.consumer_group
			WHERE rel = 'minikafka_topics.near'::regclass AND group_id = 'near'}),
		'the same numbers in another database');

	for my $how ('poll', 'call')
	{
		start_wait($client, $how, 'near', 'm');
		my $n = woken(sub { ask($sender, "CALL send_each('far', 0, $sends)") },
			$pid{$client});
		note("$how: woken $n times by another topic");
		cmp_ok($n, '<', $few, "$how: not woken for another topic");
		$n = woken(
			sub {
				$node->safe_psql('other', "CALL send_each('there', 0, $sends)");
			},
			$pid{$client});
		note("$how: woken $n times by another database");
		cmp_ok($n, '<', $few, "$how: not woken for another database");
		send_to($sender, 'near');
		is(finish_query($client), '1', "$how: but for its own topic");
		commit($client, 'near', 'm');

		# nor when it waits no more
		for my $end ('woken', 'cancelled')
		{
			start_wait($client, $how, 'near', 'm');
			if ($end eq 'cancelled')
			{
				sql("SELECT pg_cancel_backend($pid{$client})");
				$client->query('');
				like($client->{stderr}, qr/57014/, "$how: cancelled");
			}
			else
			{
				send_to($sender, 'near');
				is(finish_query($client), '1', "$how: but for its own");
				commit($client, 'near', 'm');
			}
			$n = woken(sub { ask($sender, "CALL send_each('near', 0, $sends)") },
				$pid{$client});
			note("$how: woken $n times when idle, $end");
			cmp_ok($n, '<', $few, "$how: not woken after it was $end");
			is( ask($client, q{SELECT count(*)
					FROM minikafka.poll('near', 'm', 10000)}),
				$sends, "$how: but it reads them later");
			commit($client, 'near', 'm');
		}
	}

	# a member that listens to many partitions is woken by all: so would it look
	create_topic('all', 100);
	join_group($client, 'all', 'm');
	start_wait($client, 'poll', 'all', 'm');
	my $n = woken(sub { ask($sender, "CALL send_each('far', 0, $sends)") },
		$pid{$client});
	note("many: woken $n times");
	cmp_ok($n, '>', $few, 'many: woken');
	send_to($sender, 'all');
	is(finish_query($client), '1', 'many: but not for long');
	$client->quit;
}

# ---------------------------------------------------------------------------
# A thousand topics, a hundred groups that wait for ten of them each.  A burst
# reaches all of them; then they pass one record on from one to the next.

{
	my ($groups, $laps) = (100, 5);
	my $hops = $groups * $laps;

	sql(qq{
CREATE TABLE got (i int, topic text, value text);
SELECT FROM generate_series(0, $groups * 10 - 1) t,
	minikafka.create_topic('ring_' || t, 1);
SELECT FROM generate_series(0, $groups - 1) i, minikafka.join_group('ring_' || i,
	ARRAY(SELECT 'ring_' || t FROM generate_series(10 * i, 10 * i + 9) t), 'm',
	session_timeout => '1 day', max_poll_interval => '1 day');
CREATE PROCEDURE get(i int, INOUT got_value text) LANGUAGE plpgsql AS \$\$
DECLARE
	g text := 'ring_' || i;
	r record;
BEGIN
	got_value := NULL;
	WHILE got_value IS NULL LOOP
		IF i % 2 = 0 THEN
			CALL minikafka.wait_for_records(g, 'm', '1 hour');
		END IF;
		FOR r IN SELECT * FROM minikafka.poll_text(g, 'm', max_wait => '1 hour') LOOP
			INSERT INTO got VALUES (i, r.topic, r.value);
			got_value := r.value;
		END LOOP;
		PERFORM minikafka.commit(g, 'm');
		COMMIT;
	END LOOP;
END \$\$;
CREATE PROCEDURE take_part(i int) LANGUAGE plpgsql AS \$\$
DECLARE
	got_value text;
BEGIN
	PERFORM look_each($hour);
	CALL get(i, got_value);
	FOR lap IN 1 .. $laps LOOP
		CALL get(i, got_value);
		CONTINUE WHEN got_value = '$hops';
		PERFORM minikafka.send(format('ring_%s',
				(i + 1) % $groups * 10 + floor(random() * 10)),
			(got_value::int + 1)::text);
		COMMIT;
	END LOOP;
END \$\$;
});
	is(sql('SELECT count(*) FROM minikafka.topics'), sql(q{SELECT count(*) + 1000
			FROM minikafka.topics WHERE topic NOT LIKE 'ring\_%'}),
		'ring: a thousand topics');
	my $all_wait = qq{SELECT count(*) = $groups FROM pg_stat_activity
		WHERE wait_event_type = 'Extension' AND query LIKE '%take_part%'};
	my $many = start_pgbench($node,
		{ 'part' => 'CALL take_part(:client_id);' },
		"-c$groups", '-j2', '-t1');

	$node->poll_query_until('postgres', $all_wait) or die;
	sql("SELECT minikafka.send('ring_' || 10 * i + i % 10, 'burst')
		FROM generate_series(0, $groups - 1) i");
	$node->poll_query_until('postgres',
		"SELECT count(*) = $groups FROM got") or die;
	is( sql(q{SELECT string_agg(DISTINCT (topic = 'ring_' || 10 * i + i % 10
				AND value = 'burst')::text, ' ') FROM got}),
		'true', 'ring: each gets its own record');
	$node->poll_query_until('postgres', $all_wait) or die;
	sql("SELECT minikafka.send('ring_0', '1')");
	finish_ok($many, 'ring: they passed it on');
	is( sql(qq{SELECT count(*), count(DISTINCT value) FROM got
			WHERE value <> 'burst' AND (value::int - 1) % $groups = i}),
		"$hops|$hops", 'ring: in turn');
}

$_->quit for $sender, $gate;
is(server_errors($node), '', 'no internal error');

# ---------------------------------------------------------------------------
# Ends of a wait; on a server that has few sessions, so that all the slots are
# used again

my $small = new_node(
	'small', "shared_preload_libraries = 'minikafka'", 'max_connections = 9',
	'superuser_reserved_connections = 0', 'max_wal_senders = 0',
	'autovacuum = off', 'restart_after_crash = on',
	'log_error_verbosity = verbose');
$small->safe_psql('postgres', $define_look);
my $control = client($small);
ask($control, "SELECT minikafka.create_topic('t', 1); $send_each;");

# Sessions that wait, each in a new group
my $groups = 0;

sub small_waits
{
	my @clients = map { client($small) } 1 .. 4;

	for (@clients)
	{
		my $g = 'g' . $groups++;

		ask($_, "SELECT minikafka.join_group('$g', '{t}', 'm',
			auto_offset_reset => 'latest', session_timeout => '1 day',
			max_poll_interval => '1 day')");
		start_wait($_, $groups % 2 ? 'call' : 'poll', $g, 'm', $small);
	}
	return @clients;
}

# Waits until the process has gone.
sub wait_gone
{
	my ($pid) = @_;

	for (1 .. 100 * $MinikafkaTest::TIMEOUT)
	{
		return 1 unless kill 0, $pid;
		usleep(10_000);
	}
	return 0;
}

# No process that does not wait is woken, whatever slot it has.
sub check_slots
{
	my ($name) = @_;
	my $sends = 300;
	my @clients = map { client($small) } 1 .. 6;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
  SKIP:
	{
		skip 'no /proc', 1 unless -e "/proc/$pid{$control}/status";
		my $n = woken(sub { ask($control, "CALL send_each('t', 0, $sends)") },
			map { $pid{$_} } @clients);
		note("$name: woken $n times");
		cmp_ok($n, '<', $sends / 10, "$name: no slot is left");
	}
	$_->quit for @clients;
	return;
}

# A member that waits is woken.
sub check_wait
{
	my ($name) = @_;
	my $client = client($small);
	my $g      = 'g' . $groups++;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ask($client, "SELECT minikafka.join_group('$g', '{t}', 'm',
		auto_offset_reset => 'latest', session_timeout => '1 day',
		max_poll_interval => '1 day')");
	for my $how ('poll', 'call')
	{
		in_rounds(
			"$name: $how",
			sub {
				start_wait($client, $how, $g, 'm', $small);
				send_to($control, 't');
				is(finish_query($client), '1', "$name: $how: the record comes");
				commit($client, $g, 'm');
			return;
			});
	}
	$client->quit;
	return;
}

check_wait('before');
my %ends = (
	cancelled  => 'pg_cancel_backend',
	terminated => 'pg_terminate_backend');
for my $end (sort keys %ends)
{
	in_rounds(
		$end,
		sub {
			my @clients = small_waits();

			for (@clients)
			{
				ask($control, "SELECT $ends{$end}($pid{$_})");
			}
			if ($end eq 'cancelled')
			{
				for (@clients)
				{
					$_->query('');
					like($_->{stderr}, qr/57014/, $end);
				}
			}
			else
			{
				ok(wait_gone($pid{$_}), $end) for @clients;
			}
			eval { $_->quit } for @clients;
			return;
		});
	check_slots($end);
}
check_wait('after');

{
	my @clients = map { client($small) } 1 .. 2;

	ask($_, 'SET statement_timeout = 200') for @clients;
	for my $i (0, 1)
	{
		my $how = $i ? 'call' : 'poll';

		ask($clients[$i], "SELECT minikafka.join_group('timeout$i', '{t}', 'm',
			auto_offset_reset => 'latest')");
		in_rounds(
			"statement_timeout: $how",
			sub {

				is( state_after($clients[$i], wait_sql($how, "timeout$i", 'm')),
					'57014', "statement_timeout: $how");
				return;
			});
	}
	$_->quit for @clients;
}
check_slots('statement_timeout');

# kill -9 of one that waits: the server starts again
{
	my @clients = small_waits();

	kill 'KILL', $pid{ $clients[0] };
	ok(wait_gone($pid{$_}), 'kill -9 of one: all have gone') for @clients;
	eval { $_->quit } for @clients, $control;
	wait_until_up($small);
	$control = client($small);
	check_slots('kill -9 of one');
	check_wait('kill -9 of one');
}

# kill -9 of the postmaster: a session that waits does not stay behind
{
	my @clients = small_waits();

	$small->kill9;
	ok(wait_gone($pid{$_}), 'kill -9 of the postmaster: all have gone')
	  for @clients;
	eval { $_->quit } for @clients, $control;
	$small->start;
	$control = client($small);
	check_wait('kill -9 of the postmaster');
	is( ask($control, q{SELECT count(*) FROM minikafka.check_topic('t')}),
		'0', 'the topic is sound');
}
$control->quit;
is(server_errors($small), '', 'no internal error');

done_testing();
