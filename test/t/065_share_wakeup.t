# Workers of share groups that wait, with acquire() or wait_for_records(), get what
# comes: a record that is sent, scheduled, due, given back, or behind one that ends.
# Where the library is preloaded they are woken, one for each record; there a worker
# looks by itself once an hour here, so a wait that ends was woken, however loaded the
# machine is.  Elsewhere it looks by itself.

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
my ($node, $kind, %pid);

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub client
{
	my $client = new_session($node);

	# it lasts as long as the test does
	$client->set_query_timer_restart();
	ask($client, 'SELECT look_each(3600000)') if $kind eq 'preloaded';
	$pid{$client} = ask($client, 'SELECT pg_backend_pid()');
	return $client;
}

# A topic with records of these keys, and a group of the same name
sub make
{
	my ($name, $keys, $options) = @_;

	sql(sprintf q{SELECT minikafka.create_topic('%1$s', 1);
		SELECT minikafka.create_share_group('%1$s', '{%1$s}'%2$s)},
		$name, $options // '');
	send_to($name, split / /, $keys);
	return;
}

sub send_to
{
	my ($topic, @keys) = @_;

	sql(sprintf q{SELECT minikafka.send('%s', 'v', k) FROM unnest('{%s}'::text[]) k},
		$topic, join ',', @keys) if @keys;
	return;
}

# What a worker waits with; the last line is what it gets.
my $row   = q{"offset" || ':' || delivery_count};
my %waits = (
	acquire => qq{SELECT $row FROM minikafka.acquire('%1\$s', accept => true, max_wait => '1 hour')},
	call => qq{CALL minikafka.wait_for_records('%1\$s', NULL, '1 hour');
		SELECT $row FROM minikafka.acquire('%1\$s', accept => true)});

# Returns when it waits.
sub start_wait
{
	my ($client, $how, $g) = @_;

	start_query($client, sprintf $waits{$how}, $g);
	$node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid{$client}") or die;
	return;
}

# What another session does, so that the one that waits for the group gets this;
# without a function it comes by itself
sub wakes
{
	my ($client, $how, $g, $name, $expected, $function) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	if (defined $function)
	{
		start_wait($client, $how, $g);
		$function->();
	}
	else
	{
		start_query($client, sprintf $waits{$how}, $g);
	}
	is(finish_query($client), $expected, "$kind, $how: $name");
	return;
}

# How often the processes have gone to sleep
sub switches
{
	return sum(
		map { slurp_file("/proc/$_/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m ? $1 : die } @_);
}

# ---------------------------------------------------------------------------

sub test_events
{
	my ($how, $worker, $holder, $other) = @_;
	my $g = "g_$how";
	my $acquire = "SELECT receipt FROM minikafka.acquire('$g'";
	my $receipt;

	my $hold = sub { $receipt = ask($holder, "BEGIN; $acquire)"); };
	my $answer = sub {
		my ($rest) = @_;
		return ask($holder, "SELECT minikafka.acknowledge('$g', '$receipt'$rest)");
	};
	my $behind = sub {
		my ($name, $expected, $function) = @_;

		local $Test::Builder::Level = $Test::Builder::Level + 1;
		wakes($worker, $how, $g, $name, $expected, $function);
	};

	make($g, '', q{, max_deliveries => 2, backoff => '1 h', max_backoff => '1 h'});

	# records that are sent; nothing for what is rolled back
	$behind->('a record', '0:1', sub { send_to($g, 'a'); });
	$behind->('one after another that is rolled back', '1:1', sub {
		ask($other, "BEGIN; SELECT minikafka.send('$g', 'v', 'a'); ROLLBACK");
		send_to($g, 'a'); });

	# what comes behind a record that is held, by whatever ends that
	send_to($g, ('a') x 2);
	$hold->();
	$behind->('an answer', '3:1', sub { $answer->(''); ask($holder, 'COMMIT'); });
	send_to($g, ('a') x 1);
	$hold->();
	$behind->('a rollback', '4:1', sub { ask($holder, 'ROLLBACK'); });
	send_to($g, ('a') x 1);
	ask($holder, "BEGIN; SAVEPOINT s; $acquire)");
	$behind->('a savepoint that is rolled back', '5:1', sub { ask($holder, 'ROLLBACK TO s'); });
	ask($holder, 'ROLLBACK');
	send_to($g, ('a') x 1);
	my $doomed = client();
	ask($doomed, "BEGIN; $acquire)");
	$behind->('a session that is terminated', '6:1', sub { sql("SELECT pg_terminate_backend($pid{$doomed})"); });
	eval { $doomed->quit };
	send_to($g, ('a') x 1);
	$hold->();
	$behind->('a release', '7:1', sub { $answer->(q{, 'release'}); ask($holder, 'COMMIT'); });

	# records that are to come at their time, by an answer before the wait or in it
	for my $type ('release', 'fail')
	{
		my $n = $type eq 'release' ? 8 : 10;
		my $count = $type eq 'release' ? 1 : 2;

		send_to($g, ('a') x 2);
		$hold->();
		$answer->(qq{, '$type', retry_after => '300 ms'});
		ask($holder, 'COMMIT');
		$behind->("$type with a time", "$n:$count");
		$n++;
		$hold->();
		$behind->("$type with a time, meanwhile", "$n:$count", sub {
			$answer->(qq{, '$type', retry_after => '300 ms'}); ask($holder, 'COMMIT'); });
	}

	# locks: answers in later transactions, and their end
	send_to($g, ('a') x 4);
	$receipt = ask($other, "$acquire, lock_duration => '1 day')");
	$behind->('an answer under a lock', '13:1', sub {
		ask($other, "SELECT minikafka.acknowledge('$g', '$receipt')"); });
	ask($other, "$acquire, lock_duration => '300 ms')");
	$behind->('the end of a lock', '14:2');
	$receipt = ask($other, "$acquire, lock_duration => '1 day')");
	$behind->('a lock that is shortened', '15:2', sub {
		ask($other, "SELECT minikafka.renew('$g', '$receipt', '300 ms')"); });
	# in its last delivery: it is blocked, what comes behind it waits, others do not
	send_to($g, ('a') x 2);
	ask($other, "$acquire, lock_duration => '1 ms')");
	ask($other, "SELECT receipt FROM minikafka.acquire('$g', lock_duration => '300 ms', max_wait => '1 day')");
	# a call tells that there is something to do; acquire() does it, and ends
	$behind->('the end of a lock in the last delivery', '');
	$behind->('another key', '18:1', sub { send_to($g, 'b'); });
	$node->poll_query_until('postgres', "SELECT coalesce(min(locked_until) < clock_timestamp(), true) FROM minikafka.share_deliveries
		WHERE group_id = '$g'") or die;
	is(ask($other, "SELECT count(*) FROM minikafka.acquire('$g', accept => true)"), '0',
		"$kind, $how: a lock that has ended in the last delivery");
	is(sql("SELECT state, \"offset\" FROM minikafka.share_deliveries WHERE group_id = '$g'"), 'blocked|16', "$kind, $how: it is blocked");
	$behind->('a person who skips a record', '17:1', sub {
		sql("SELECT minikafka.acknowledge('$g', receipt) FROM minikafka.share_deliveries WHERE group_id = '$g'"); });

	# changes of the group
	sql("SELECT minikafka.set_group_option('$g', 'paused', 'true')");
	send_to($g, 'a');
	$behind->('a group that goes on', '19:1', sub { sql("SELECT minikafka.set_group_option('$g', 'paused', 'false')"); });
	sql("SELECT minikafka.create_topic('${g}_more', 1); SELECT minikafka.send('${g}_more', 'v')");
	$behind->('another topic', '0:1', sub { sql("SELECT minikafka.set_group_option('$g', 'topics', '{$g,${g}_more}')"); });
	$behind->('a reset', '0:1', sub { sql("SELECT * FROM minikafka.reset_offsets('$g', '$g', 'earliest')"); });
	return;
}

# Records that are due later: by the topic's delay, and by their schedule
sub test_times
{
	my ($how, $worker, $other) = @_;
	my $g = "times_$how";

	make($g, '');
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', '300 ms')");
	send_to($g, 'a');
	wakes($worker, $how, $g, 'a delay that has begun', '0:1');
	wakes($worker, $how, $g, 'a delay', '1:1', sub { send_to($g, 'a'); });
	is( sql("SELECT count(*) FROM minikafka.share_done JOIN minikafka.consumer_group g USING (group_no)
		WHERE group_id = '$g' AND last_offset <= 1"), '2', "$kind, $how: both are done");
	# the time of the call comes first
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', '1 h')");
	send_to($g, 'a');
	is(ask($other, "SELECT count(*) FROM minikafka.acquire('$g', max_wait => '100 ms')"), '0', "$kind, $how: a delay that is longer than the wait");
	is(ask($other, "CALL minikafka.wait_for_records('$g', NULL, '100 ms')"), '', "$kind, $how: the same");
	# what waits is no hindrance for other topics
	make("${g}_now", '');
	sql("SELECT minikafka.set_group_option('$g', 'topics', '{$g,${g}_now}')");
	wakes($worker, $how, $g, 'a topic without delay', '0:1', sub { send_to("${g}_now", 'a'); });
	# a scheduled record into a topic with a delay: one after the other
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', NULL)");
	is(ask($other, "SELECT \"offset\" FROM minikafka.acquire('$g', accept => true)"), '2', "$kind, $how: without the delay it comes");
	wakes($worker, $how, $g, 'a scheduled record', '3:1', sub {
		sql("SELECT minikafka.send_at('$g', 'v', '2020-01-01', 'a')");
		sql('CALL minikafka.deliver_due()'); });
	sql("SELECT minikafka.set_topic_option('$g', 'delivery_delay', '300 ms')");
	wakes($worker, $how, $g, 'a scheduled record with a delay', '4:1', sub {
		sql("SELECT minikafka.send_at('$g', 'v', now() - interval '1 h', 'a')");
		sql('CALL minikafka.deliver_due()'); });
	is( sql("SELECT bool_and(a.at >= r.ts + interval '300 ms') FROM minikafka.fetch('$g', 0, 0) r,
			LATERAL (SELECT clock_timestamp() AS at) a WHERE r.\"offset\" IN (0, 1, 4)"), 't', "$kind, $how: not before their time");
	if ($kind eq 'preloaded')
	{
		wakes($worker, $how, $g, 'a scheduled record, sent by the worker', '5:1', sub {
			sql("SELECT minikafka.send_at('$g', 'v', now() + interval '300 ms', 'a')"); });
	}
	elsif ($how eq 'call')
	{
		wakes($worker, $how, $g, 'a scheduled record, sent by itself', '5:1', sub {
			sql("SELECT minikafka.send_at('$g', 'v', now() + interval '300 ms', 'a')"); });
	}
	return;
}

# ---------------------------------------------------------------------------
# Many wait: each record is for one of them, and only that one is woken

sub test_many
{
	my ($how, $n) = @_;
	my $g       = "many_$how";
	my @workers = map { client() } 1 .. $n;

	make($g, '');
	# several at once: each gets one
	start_wait($_, $how, $g) for @workers;
	send_to($g, map { "k$_" } 1 .. $n);
	my @got = map { finish_query($_) } @workers;
	# wait_for_records() tells that there are records; who comes late gets none
	push @got, sql("SELECT string_agg(\"offset\" || ':1', E'\n') FROM minikafka.acquire('$g', 100, accept => true)")
	  if $how eq 'call';
	is( join(' ', sort map { split /\n/ } @got), join(' ', map { "$_:1" } 0 .. $n - 1),
		"$kind, $how: $n wait, and each record is for one of them");

	# one by one
	if ($kind eq 'preloaded' and $how eq 'acquire' and -e "/proc/$pid{$workers[0]}/status")
	{
		start_wait($_, $how, $g) for @workers;
		my $before = switches(map { $pid{$_} } @workers);
		for my $i (1 .. 3)
		{
			send_to($g, "k$i");
			$node->poll_query_until('postgres', "SELECT sum(last_offset - first_offset + 1) = @{[$n + $i]}
				FROM minikafka.share_done JOIN minikafka.consumer_group USING (group_no) WHERE group_id = '$g'") or die;
		}
		my $woken = switches(map { $pid{$_} } @workers) - $before;
		note("$woken switches");
		cmp_ok($woken, '<', 2 * ($n - 1), "$kind, $how: not all are woken for a record");
		send_to($g, map { "k$_" } 1 .. $n - 3);
		finish_query($_) for @workers;
		pass("$kind, $how: the others by later records");
	}
	# one that is woken, or would be, and ends, does not keep the others from it
	for my $end ('pg_cancel_backend', 'pg_terminate_backend')
	{
		start_wait($_, $how, $g) for @workers[ 0, 1 ];
		sql("SELECT minikafka.send('$g', 'v', 'k1') FROM $end($pid{$workers[0]})");
		my $got = finish_query($workers[1]);
		like($got, qr/^(?:\d+:1)?$/, "$kind, $how: $end: the other one is woken");
		$workers[0]->query('') if $end eq 'pg_cancel_backend';
		eval { $workers[0]->quit } if $end eq 'pg_terminate_backend';
	}
	$_->quit for @workers[ 1 .. $n - 1 ];
	return;
}

# A record under a lock, which each of those that wait looks at: they do not wake
# each other

sub test_idle
{
	my ($worker, $holder, $other) = @_;

	make('idle', 'a b');
	ask($other, q{SELECT receipt FROM minikafka.acquire('idle', lock_duration => '1 day')}) for 1, 2;
	start_wait($_, 'call', 'idle') for $worker, $holder;
	my $before = switches(@pid{ $worker, $holder });
	usleep(300_000);
	my $switches = switches(@pid{ $worker, $holder }) - $before;
	note("$switches switches");
	cmp_ok($switches, '<', 20, "$kind, call: two that wait do not wake each other");
	send_to('idle', 'c', 'd');
	finish_query($_) for $worker, $holder;
	pass("$kind, call: but a record does");
	return;
}

for my $run ('preloaded', 'not preloaded')
{
	$kind = $run;
	%pid  = ();
	$node = new_node($run eq 'preloaded' ? ('preloaded', "shared_preload_libraries = 'minikafka'",
		q{minikafka.database = 'postgres'}, q{minikafka.maintenance_interval = '1 d'}) : ('plain'),
		'autovacuum = off', 'log_error_verbosity = verbose');
	sql("CREATE FUNCTION look_each(integer) RETURNS void STRICT LANGUAGE C AS '$late', 'late_look_each'");
	my ($worker, $holder, $other) = map { client() } 1 .. 3;
	for my $how ('acquire', 'call')
	{
		test_events($how, $worker, $holder, $other);
		test_times($how, $worker, $other);
		test_many($how, $run eq 'preloaded' && $how eq 'acquire' ? 10 : 4);
	}
	test_idle($worker, $holder, $other) if $kind eq 'preloaded' and -e "/proc/$pid{$worker}/status";
	$_->quit for $worker, $holder, $other;
	is(server_errors($node), '', "$kind: no internal error");
	$node->stop;
}
done_testing();
