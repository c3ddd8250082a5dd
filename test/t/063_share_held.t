# A record of a share group is in the hands of one session until that has ended: while
# its commit waits for a standby, and at each place where another session looks at
# the record.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my $stop = library('stop');
my $node = new_node('primary', 'autovacuum = off', 'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{CREATE FUNCTION stop_fetch(oid, bigint) RETURNS void LANGUAGE c STRICT
	AS '$stop'});

# A topic with records of these keys, and a group of the same name
sub make
{
	my ($name, $keys, $options) = @_;

	sql(sprintf q{SELECT minikafka.create_topic('%1$s', 1);
		SELECT minikafka.send('%1$s', 'v', k) FROM unnest('{%2$s}'::text[]) k;
		SELECT minikafka.create_share_group('%1$s', '{%1$s}'%3$s)},
		$name, join(',', split(/ /, $keys)), $options // '');
	return;
}

# The table with the records of a topic
sub segment
{
	my ($topic) = @_;

	return sql(qq{SELECT format('minikafka_data.p%s_0_0', topic_id) FROM minikafka.topic
		WHERE rel = 'minikafka_topics.$topic'::regclass});
}

# The call that hands out so many and accepts them, as text
sub acquire
{
	my ($group, $most) = @_;

	return sprintf q{SELECT string_agg("offset"::text, ' ' ORDER BY "offset")
		FROM minikafka.acquire('%s', %d, accept => true)}, $group, $most // 100;
}

# ---------------------------------------------------------------------------
# A commit that waits for a standby keeps its records, and what comes behind them,
# to itself; whatever ends the wait, the commit counts

my %answers = (
	accepted => q{SELECT minikafka.acknowledge('%1$s', receipt)
		FROM minikafka.acquire('%1$s')},
	failed => q{SELECT minikafka.acknowledge('%1$s', receipt, 'fail', retry_after => '0')
		FROM minikafka.acquire('%1$s')},
	locked => q{SELECT FROM minikafka.acquire('%1$s', lock_duration => '1 day')});

# What others get afterwards of key a, and in which delivery
my %after = (accepted => '2:1', failed => '0:2 2:1', locked => '');

for my $answer (sort keys %answers)
{
	for my $end ('standby', 'pg_cancel_backend', 'pg_terminate_backend')
	{
		next if $end eq 'pg_terminate_backend' and $answer ne 'accepted';
		my $name  = "$answer, $end";
		my $g     = "${answer}_$end";
		my $other = new_session($node);

		make($g, 'a b a c');
		hold_commits($node);
		my $held = start_held($node, sprintf $answers{$answer}, $g);

		is(ask($other, acquire($g)), '1 3', "$name: other keys only");
		is(ask($other, acquire($g)), '', "$name: and no more");
		my $new = new_session($node);
		is(ask($new, acquire($g)), '', "$name: a new session gets nothing either");
		is( sql("SELECT count(*) FROM minikafka.share_deliveries
			WHERE group_id = '$g' AND \"offset\" = 0 AND state = 'held'
				AND pid IN (SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep')"),
			'1', "$name: the view shows who has it");
		if ($end eq 'standby')
		{
			release_commits($node);
			finish_ok($held, "$name: it ends");
		}
		else
		{
			sql("SELECT $end(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
			$held->{run}->finish;
			like($held->{err}, qr/wait for synchronous replication/,
				"$name: it ends");
			release_commits($node);
		}
		# a session that has looked while it waited, or one that has not
		my $next = $end eq 'standby' ? $other : new_session($node);
		is( ask($next, "SELECT string_agg(\"offset\" || ':' || delivery_count, ' '
				ORDER BY \"offset\") FROM minikafka.acquire('$g', 100, accept => true)"),
			$after{$answer}, "$name: its commit counts");
		$next->quit if $next != $other;
		is(ask($new, acquire($g)), '', "$name: nothing is left");
		$_->quit for $other, $new;
	}
}

# ---------------------------------------------------------------------------
# What is done is decided under the lock of the slot.  A session is stopped where it
# has looked for that in the index, and has not seen a row yet.

my $gate = new_session($node);
my $stopped;

# The statement, stopped at its first look into the table
sub stop_at
{
	my ($session, $table, $statement) = @_;

	ask($gate, 'SELECT pg_advisory_lock(1)');
	ask($session, "SELECT stop_fetch('$table'::regclass, 1)");
	start_query($session, $statement);
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted})
	  or die "did not look into $table";
	$stopped = $session;
	return;
}

# What it says in the end
sub go_on
{
	ask($gate, 'SELECT pg_advisory_unlock(1)');
	return finish_query($stopped);
}

# A session that remembers a record that another one had, and another session
{
	my ($one, $two, $holder) = map { new_session($node) } 1 .. 3;

	make('looks', 'a b c d');
	ask($holder, q{BEGIN; SELECT FROM minikafka.acquire('looks')});
	is(ask($one, acquire('looks', 1)), '1', 'runs: it passes over what is held');
	ask($holder, 'ROLLBACK');
	stop_at($one, 'minikafka.share_done', acquire('looks', 1));
	# whichever of them gets it
	my $got = ask($two, acquire('looks', 1));
	is(join(' ', sort $got, go_on()), '0 2', 'runs: another one gets another record');

	# a session that reads the log does so before that: what is done meanwhile is done
	make('log', 'a b c');
	ask($holder, q{BEGIN; SELECT FROM minikafka.acquire('log')});
	is(ask($one, acquire('log', 1)), '1', 'log: one is done');
	ask($holder, 'ROLLBACK');
	my $new = new_session($node);
	stop_at($new, 'minikafka.share_done', acquire('log', 100));
	is(ask($one, acquire('log', 1)), '0', 'log: another one gets the first one');
	is(go_on(), '2', 'log: it does not');

	# deliveries
	make('deliveries', 'a b c', q{, backoff => '1 ms', max_backoff => '1 ms'});
	ask($holder, q{SELECT minikafka.acknowledge('deliveries', receipt, 'fail', retry_after => '0')
		FROM minikafka.acquire('deliveries')});
	stop_at($one, 'minikafka.share_delivery', acquire('deliveries', 1));
	$got = ask($two, acquire('deliveries', 1));
	is(join(' ', sort $got, go_on()), '0 1', 'deliveries: another one gets another record');

	# nor is one handed out after a record of its key that is done meanwhile: the
	# snapshot does not see what was done for that
	make('unseen', 'a a b');
	ask($holder, q{BEGIN; SELECT FROM minikafka.acquire('unseen')});
	is(ask($one, acquire('unseen')), '2', 'unseen: one remembers the first records');
	ask($holder, 'ROLLBACK');
	stop_at($one, 'minikafka.share_done', acquire('unseen'));
	is(ask($two, acquire('unseen', 1)), '0', 'unseen: another one gets the first one');
	is(go_on(), '', 'unseen: it gets nothing');
	is(ask($one, acquire('unseen')), '1', 'unseen: but then');

	# what was looked up for the first slots that are locked does not hold for the
	# next; a session of its own, which stops in no other table
	for my $then ([ 'accepted', 'accept => true' ], [ 'locked', "lock_duration => '1 day'" ])
	{
		my $g     = "next_$then->[0]";
		my $three = new_session($node);

		make($g, 'a b c');
		ask($holder, "BEGIN; SELECT FROM minikafka.acquire('$g')");
		is(ask($three, acquire($g, 1)), '1', "$then->[0]: it remembers the first record");
		ask($holder, 'ROLLBACK');
		stop_at($three, segment($g), acquire($g));
		is(ask($two, qq{SELECT "offset" FROM minikafka.acquire('$g', $then->[1])}),
			'2', "$then->[0]: another one gets the last record");
		is(go_on(), '0', "$then->[0]: it does not");
		$three->quit;
	}

	# deliveries that a rollback has failed
	make('undone', 'a b c', q{, backoff => '1 ms', max_backoff => '1 ms'});
	is(ask($two, q{BEGIN; SELECT "offset" FROM minikafka.acquire('undone')}), '0', 'undone: acquired');
	is(ask($one, acquire('undone', 1)), '1', 'undone: one is done');
	ask($two, 'ROLLBACK');
	stop_at($two, 'minikafka.share_done', q{BEGIN; SELECT count(*) FROM minikafka.acquire('undone', 1, accept => true); COMMIT});
	is(ask($one, acquire('undone', 1)), '2', 'undone: another one does not get it');
	is(go_on(), '0', 'undone: it notes the failure');
	is(ask($one, 'SELECT "offset", delivery_count FROM ' .
		q{minikafka.acquire('undone', 100, accept => true, max_wait => '1 min')}), '0|2', 'undone: which counts');
	$_->quit for $one, $two, $holder, $new;
}

# An answer: whether the receipt is that of the newest delivery, and whether the record
# is done, is decided under the lock too
for my $then ('locked', 'accepted')
{
	my ($one, $two) = map { new_session($node) } 1 .. 2;
	my $g = "answer_$then";

	make($g, 'a');
	my $receipt = ask($one, "SELECT receipt FROM minikafka.acquire('$g', lock_duration => '1 s')");
	at($_, 10) for $one, $two;
	stop_at($one, 'minikafka.share_delivery', "SELECT minikafka.acknowledge('$g', '$receipt')");
	is( ask($two, $then eq 'locked'
			? "SELECT \"offset\" FROM minikafka.acquire('$g', lock_duration => '1 s')"
			: acquire($g)), '0', "answer: the record is $then meanwhile");
	ask($gate, 'SELECT pg_advisory_unlock(1)');
	$one->query('');
	like($one->{stderr}, qr/MK121/, 'answer: too late');
	is(sql('SELECT count(*) FROM minikafka.share_done d JOIN minikafka.consumer_group USING (group_no)
		' . "WHERE group_id = '$g'"), $then eq 'locked' ? '0' : '1', 'answer: nothing is done by it');
	$_->quit for $one, $two;
}

# ---------------------------------------------------------------------------
# A session that is cancelled while it begins with a checkpoint knows nothing of it

{
	my $one = new_session($node);

	make('cancelled', join(' ', 'a' .. 'j'));
	# slots are looked up only if the ordering was ever changed
	sql(q{SELECT minikafka.set_group_option('cancelled', 'ordering', o) FROM unnest('{none,key}'::text[]) o});
	sql(q{SELECT count(minikafka.acknowledge('cancelled', receipt, CASE WHEN "offset" IN (0, 1, 5) THEN 'accept' ELSE 'release' END))
		FROM minikafka.acquire('cancelled', 100)});
	sql('CALL minikafka.maintain()');
	is(sql(q{SELECT high, exceptions FROM minikafka.share_checkpoint JOIN minikafka.consumer_group USING (group_no)
		WHERE group_id = 'cancelled'}), '10|{2,3,4,6,7,8,9}', 'cancelled: a checkpoint');
	stop_at($one, segment('cancelled'), acquire('cancelled'));
	sql(q{SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted});
	$one->query('');
	like($one->{stderr}, qr/57014/, 'cancelled: in the middle');
	ask($gate, 'SELECT pg_advisory_unlock(1)');
	is(ask($one, acquire('cancelled')), '2 3 4 6 7 8 9', 'cancelled: no record is left out');
	$one->quit;
}

# ---------------------------------------------------------------------------
# Nor does one that runs out of memory while it reads on

SKIP:
{
	my $holder = new_session($node);
	my $n      = 15_000;
	my $failed = 0;

	skip 'there is no prlimit', 1 unless -r '/proc/self/status' && works('prlimit', '--version');
	make('warm', 'a b');
	make('memory', '');
	sql("SELECT count(minikafka.send('memory', 'v', 'k')) FROM generate_series(1, $n)");
	ask($holder, q{BEGIN; SELECT FROM minikafka.acquire('memory')});

	# all of them wait for the first one: what grows is the list of these
	for my $room (map { 64 * $_ } 0 .. 7)
	{
		my $one = new_session($node);
		my $pid = ask($one, 'SELECT pg_backend_pid()');

		ask($one, acquire('warm'));
		my ($size) = slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+) kB/m;
		system_or_bail('prlimit', '--pid', $pid, '--as=' . 1024 * ($size + $room) . ':');
		my $state = state_after($one, acquire('memory', 1));
		system_or_bail('prlimit', '--pid', $pid, '--as=unlimited:');
		if ($state ne '00000')
		{
			is($state, '53200', "memory, $room kB: out of it");
			$failed++;
			ask($holder, 'ROLLBACK');
			is( ask($one, qq{BEGIN; SELECT count(*), min("offset"), max("offset") FROM minikafka.acquire('memory', 20000); ROLLBACK}),
				join('|', $n, 0, $n - 1), "memory, $room kB: no record is left out");
			ask($holder, q{BEGIN; SELECT FROM minikafka.acquire('memory')});
		}
		$one->quit;
	}
	cmp_ok($failed, '>', 0, 'memory: it was too little');
	$holder->quit;
}

# ---------------------------------------------------------------------------
# What fails a commit after the extension's part is not the fault of the record

{
	my $one  = new_session($node);
	my $late = library('late');

	make('late', 'a b');
	ask($one, "LOAD '$late'; SET late.fail = 1");
	is(state_after($one, q{SELECT "offset" FROM minikafka.acquire('late', accept => true)}), '40001', 'late: a commit fails');
	ask($one, 'SET late.fail = 0');
	is(ask($one, q{SELECT "offset", delivery_count FROM minikafka.acquire('late', accept => true)}), '0|1', 'late: that does not count');
	$one->quit;
}

$gate->quit;
is(server_errors($node), '', 'no internal error');
done_testing();
