# Waiting for records: poll(max_wait) and CALL wait_for_records() end when a
# record is committed, or when the member gets a partition, and wait otherwise.
# Whatever should end at once is given ten minutes, and the server stops it long
# before.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $node = new_node('primary', 'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

my %pid;

sub client
{
	my $client = new_session($node);

	$pid{$client} = ask($client, 'SELECT pg_backend_pid()');
	return $client;
}

# What the member waits with, and what it gets; "name:records".
my %waits = (
	poll => q{SELECT count(*) FROM
		minikafka.poll('%1$s', '%2$s', max_wait => '10 min')},
	call => q{CALL minikafka.wait_for_records('%1$s', '%2$s', '10 min');
		SELECT count(*) FROM minikafka.poll('%1$s', '%2$s')});

sub start_wait
{
	my ($client, $how, $group, $member) = @_;

	start_query($client, sprintf $waits{$how}, $group, $member);
	$node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Extension' FROM pg_stat_activity
		WHERE pid = $pid{$client}") or die;
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

sub partitions
{
	my ($group, $member) = @_;

	return sql("SELECT string_agg(partition::text, ' ' ORDER BY partition)
		FROM minikafka.assignment('$group', '$member')");
}

sub send_to
{
	my ($topic, $partition) = @_;

	return sql("SELECT minikafka.send('$topic', 'x', partition => $partition)");
}

# ---------------------------------------------------------------------------
# A member that waits for long is not removed: this goes on beside the rest

sql(q{SELECT minikafka.create_topic('long', 3)});
my %long = map { ($_ => client()) } 'poll', 'call', 'other';
my $timeouts = q{, session_timeout => '5 s', max_poll_interval => '6 s'};
join_group($long{$_}, 'long', $_, $timeouts) for 'poll', 'call';
join_group($long{other}, 'long', 'other');
for (1 .. 2)
{
	ask($long{$_}, "SELECT FROM minikafka.poll('long', '$_')") for keys %long;
}
is(sql(q{SELECT string_agg(member_id || ':' || partitions, ' ' ORDER BY member_id)
		FROM minikafka.group_members}), 'call:1 other:1 poll:1',
	'long: one partition each');
my $long_generation =
  sql(q{SELECT generation FROM minikafka.groups WHERE group_id = 'long'});
start_query($long{poll}, q{SELECT count(*) FROM
	minikafka.poll('long', 'poll', max_wait => '9 s');
	SELECT count(*) FROM minikafka.poll('long', 'poll')});
start_query($long{call},
	q{CALL minikafka.wait_for_records('long', 'call', '9 s');
	SELECT count(*) FROM minikafka.poll('long', 'call')});
start_query($long{other}, q{
DO $$
BEGIN
	-- as long as they wait, look for members that are dead
	WHILE EXISTS (SELECT FROM pg_stat_activity
		WHERE query LIKE '%''9 s''%' AND state = 'active'
		AND pid <> pg_backend_pid())
	LOOP
		PERFORM minikafka.heartbeat('long', 'other');
		COMMIT;
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$});

# ---------------------------------------------------------------------------
# A record that is committed

for my $how ('poll', 'call')
{
	my $g = "record_$how";
	my ($waiting, $sender) = (client(), client());

	sql("SELECT minikafka.create_topic('$g', 2)");
	join_group($waiting, $g, 'm');
	start_wait($waiting, $how, $g, 'm');
	ask($sender, "BEGIN; SELECT minikafka.send('$g', 'undone'); ROLLBACK");
	is(is_waiting($waiting), 't', "$how: nothing for a rolled back record");
	ask($sender, "BEGIN; SELECT minikafka.send('$g', 'x', partition => 1)");
	is(is_waiting($waiting), 't', "$how: nothing for one that is not committed");
	ask($sender, 'COMMIT');
	is(finish_query($waiting), '1', "$how: the committed one ends it");
	is(ask($waiting, "SELECT partition, \"offset\"
			FROM minikafka.commit('$g', 'm')"),
		'1|1', "$how: it was polled");

	# nothing that is there is waited for
	send_to($g, 0);
	is(ask($waiting, sprintf $waits{$how}, $g, 'm'),
		'1', "$how: what is there is returned at once");

	# also by a member that waits in a transaction of several polls
	if ($how eq 'poll')
	{
		ask($waiting, 'BEGIN');
		start_wait($waiting, $how, $g, 'm');
		send_to($g, 1);
		is(finish_query($waiting), '1', "$how: in a transaction");
		start_wait($waiting, $how, $g, 'm');
		send_to($g, 0);
		is(finish_query($waiting), '1', "$how: twice in a transaction");
		is( sql(qq{SELECT sum(p.position) FROM (SELECT DISTINCT ON (partition)
				position FROM minikafka.group_progress
				JOIN minikafka.consumer_group USING (group_no)
				WHERE group_id = '$g' ORDER BY partition, number DESC) p}),
			'2', "$how: not committed yet");
		ask($waiting, 'COMMIT');
		is( ask($waiting, "SELECT sum(\"offset\") FROM minikafka.commit('$g', 'm')"),
			'4', "$how: committed together");
	}
	$_->quit for $waiting, $sender;
}

# ---------------------------------------------------------------------------
# A member without a partition gets one

for my $protocol ('cooperative', 'eager')
{
	for my $how ('poll', 'call')
	{
		my $g      = "none_${protocol}_$how";
		my $name   = "$protocol, $how";
		my $waits  = client();
		my $leaves = client();

		sql("SELECT minikafka.create_topic('$g', 1)");
		send_to($g, 0) for 1 .. 3;
		join_group($leaves, $g, 'a', ", protocol => '$protocol'");
		join_group($waits, $g, 'b');
		ask($leaves, "SELECT FROM minikafka.poll('$g', 'a', 2)");
		ask($leaves, "SELECT FROM minikafka.commit('$g', 'a')");
		is(partitions($g, 'b'), '', "$name: it has none");
		start_wait($waits, $how, $g, 'b');
		send_to($g, 0);
		is(is_waiting($waits), 't', "$name: it waits, whatever comes");
		ask($leaves, "SELECT minikafka.leave_group('$g', 'a')");
		is(finish_query($waits), '2', "$name: it gets what the other left");
		is(partitions($g, 'b'), '0', "$name: and the partition");
		$_->quit for $waits, $leaves;
	}
}

# The other one dies: the member that waits notices, and its COMMIT makes the change.
for my $how ('poll', 'call')
{
	my $g     = "dead_$how";
	my $waits = client();

	sql("SELECT minikafka.create_topic('$g', 1)");
	send_to($g, 0);
	join_group($waits, $g, 'a', q{, session_timeout => '1 s'});
	join_group($waits, $g, 'b');
	my $polls = 0;
	my $out;
	do
	{
		$out = ask($waits, sprintf $waits{$how}, $g, 'b');
		$polls++;
	} while ($out eq '0' && $polls < 10);
	is($out, '1', "$how: it gets what the dead one had");
	note("$how: $polls calls");
	$waits->quit;
}

# ---------------------------------------------------------------------------
# Nothing comes

for my $how ('poll', 'call')
{
	my $client = client();
	my $g = "nothing_$how";

	sql("SELECT minikafka.create_topic('$g', 1)");
	join_group($client, $g, 'm');
	for my $max_wait (0, 0.7)
	{
		my $start = time;
		my $sql = $waits{$how};
		$sql =~ s/10 min/$max_wait s/;
		is(ask($client, sprintf $sql, $g, 'm'), '0',
			"$how: nothing within $max_wait s");
		cmp_ok(time - $start, '>=', $max_wait - 0.01, "$how: it took so long");
	}

	# it can be cancelled
	start_wait($client, $how, $g, 'm');
	sql("SELECT pg_cancel_backend($pid{$client})");
	$client->query('');
	like($client->{stderr}, qr/57014/, "$how: cancelled");
	send_to($g, 0);
	is(ask($client, sprintf $waits{$how}, $g, 'm'), '1', "$how: and it goes on");
	$client->quit;
}

my $client = client();
sql(q{SELECT minikafka.create_topic('levels', 1)});
join_group($client, 'levels', 'm');
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	ask($client, "BEGIN ISOLATION LEVEL $level; SELECT 1");
	is(ask($client, sprintf $waits{poll}, 'levels', 'm'),
		'0', "$level: it does not wait");
	send_to('levels', 0);
	is(ask($client, sprintf $waits{poll}, 'levels', 'm'),
		'0', "$level: nor return what its snapshot does not see");
	is(state_after($client, 'COMMIT'), '00000', "$level: it commits");
	is(ask($client, sprintf $waits{poll}, 'levels', 'm'),
		'1', "$level: it is there in the next transaction");
}
$client->quit;

# ---------------------------------------------------------------------------
# A partition of the waiting member is to move, long before it has to

my $keeps = q{, rebalance_timeout => '1 h'};
for my $how ('poll', 'call')
{
	my $g = "moves_$how";
	my ($has, $gets) = (client(), client());

	sql("SELECT minikafka.create_topic('$g', 2)");
	join_group($has, $g, 'a', $keeps);
	ask($has, "SELECT FROM minikafka.poll('$g', 'a')");
	start_wait($has, $how, $g, 'a');
	join_group($gets, $g, 'b');
	if ($how eq 'poll')
	{
		is(finish_query($has), '0', "$how: it returns");
		is(partitions($g, 'b'), '1', "$how: and so the partition moves");
	}
	else
	{
		$node->poll_query_until('postgres', "SELECT state = 'Stable'
			FROM minikafka.groups WHERE group_id = '$g'");
		is(partitions($g, 'b'), '1', "$how: the partition moves");
		is(is_waiting($has), 't', "$how: and it waits on");
	}
	start_wait($gets, $how, $g, 'b');
	send_to($g, 1);
	is(finish_query($gets), '1', "$how: the new owner reads");
	start_wait($has, $how, $g, 'a') if $how eq 'poll';
	send_to($g, 0);
	is(finish_query($has), '1', "$how: the old one reads what it has");
	$_->quit for $has, $gets;
}

# Both wait from the beginning, and the new one goes on when the old one has let
# go.
{
	my ($has, $gets) = (client(), client());

	sql(q{SELECT minikafka.create_topic('both', 2)});
	join_group($has, 'both', 'a', $keeps);
	ask($has, q{SELECT FROM minikafka.poll('both', 'a')});
	ask($has, 'BEGIN');
	send_to('both', 1);
	is(ask($has, q{SELECT count(*) FROM minikafka.poll('both', 'a')}),
		'1', 'both: polled, not committed');
	join_group($gets, 'both', 'b');
	start_wait($gets, 'poll', 'both', 'b');
	is(is_waiting($gets), 't', 'both: the new one waits for the partition');
	ask($has, q{SELECT FROM minikafka.commit('both', 'a')});
	is(is_waiting($gets), 't', 'both: which the old one has to its COMMIT');
	ask($has, 'COMMIT');
	send_to('both', 1);
	is(finish_query($gets), '1', 'both: then it gets what came since');
	$_->quit for $has, $gets;
}

# ---------------------------------------------------------------------------
# A member that waits blocks no session

for my $how ('poll', 'call')
{
	my $g      = "changes_$how";
	my $waits  = client();
	my $others = client();

	sql("SELECT minikafka.create_topic('$g', 1)");
	ask($waits, "SELECT minikafka.join_group('$g', ARRAY['$g', 'new_$g'], 'm',
		session_timeout => '1 day', max_poll_interval => '1 day')");
	start_wait($waits, $how, $g, 'm');
	ask($others, "SELECT minikafka.create_topic('new_$g', 2);
		SELECT minikafka.send('new_$g', 'x')");
	my $first = finish_query($waits);
	$first = ask($waits, sprintf $waits{$how}, $g, 'm') if $first eq '0';
	is($first, '1', "$how: a topic that is made");
	start_wait($waits, $how, $g, 'm');
	ask($others, "SELECT minikafka.add_partitions('$g', 2);
		SELECT minikafka.send('$g', 'x', partition => 1)");
	my $second = finish_query($waits);
	$second = ask($waits, sprintf $waits{$how}, $g, 'm') if $second eq '0';
	is($second, '1', "$how: a partition that is made");
	# one that looks at the topic at this very moment gets 42704
	ask($others, "SELECT minikafka.drop_topic('new_$g')");
	ask($waits, "SELECT minikafka.heartbeat('$g', 'm')");
	start_wait($waits, $how, $g, 'm');
	ask($others, "SELECT minikafka.send('$g', 'x', partition => 0)");
	my $third = finish_query($waits);
	$third = ask($waits, sprintf $waits{$how}, $g, 'm') if $third eq '0';
	is($third, '1', "$how: a topic that is dropped");
	is(partitions($g, 'm'), '0 1', "$how: what it has then");
	$_->quit for $waits, $others;
}

# ---------------------------------------------------------------------------
# Those that have waited for long

is(finish_query($long{poll}), "0\n0", 'long: nothing came to the poll');
is(finish_query($long{call}), '0',    'long: nor after the call');
finish_query($long{other});
is( sql(q{SELECT generation FROM minikafka.groups WHERE group_id = 'long'}),
	$long_generation, 'long: no member was removed');
$_->quit for values %long;

# ---------------------------------------------------------------------------
# wait_for_records() holds no snapshot; nor does any other session by now

sql(q{SELECT minikafka.create_topic('snapshot', 1);
	CREATE TABLE rows AS SELECT i FROM generate_series(1, 10000) i});
$client = client();
join_group($client, 'snapshot', 'm');
ask($client, q{SELECT FROM minikafka.poll('snapshot', 'm')});
start_wait($client, 'call', 'snapshot', 'm');
ok( $node->poll_query_until(
		'postgres', "SELECT backend_xmin IS NULL AND backend_xid IS NULL
		AND state = 'active' FROM pg_stat_activity WHERE pid = $pid{$client}"),
	'no xmin');

# what is deleted while it waits can go
sql('DELETE FROM rows');
sql('VACUUM rows');
is(sql(q{SELECT pg_relation_size('rows')}), '0', 'vacuum is not held up');
is(is_waiting($client), 't', 'it still waits');
send_to('snapshot', 0);
is(finish_query($client), '1', 'it ends');

# Where a procedure cannot commit it is refused, and nothing is left of it.
my $call = q{CALL minikafka.wait_for_records('snapshot', 'm', '10 min')};
sql(qq{
CREATE FUNCTION in_function() RETURNS void LANGUAGE plpgsql
	AS \$\$BEGIN $call; END\$\$;
CREATE PROCEDURE in_procedure() LANGUAGE plpgsql
	AS \$\$BEGIN $call; END\$\$;
CREATE PROCEDURE in_exception() LANGUAGE plpgsql
	AS \$\$BEGIN BEGIN $call; EXCEPTION WHEN division_by_zero THEN NULL; END; END\$\$});
is(state_after($client, "BEGIN; $call"), '2D000', 'refused in a transaction block');
ask($client, 'ROLLBACK');
is(state_after($client, 'SELECT in_function()'), '2D000', 'refused in a function');
is(state_after($client, 'CALL in_exception()'),
	'2D000', 'refused where an exception is caught');
is(state_after($client, 'BEGIN; CALL in_procedure()'),
	'2D000', 'refused in a procedure in a transaction block');
ask($client, 'ROLLBACK');
is( sql(qq{SELECT count(*) FROM pg_locks WHERE pid = $pid{$client}
		AND locktype = 'advisory'}),
	'0', 'no lock is left');
for my $wrap ('CALL in_procedure()', "DO \$\$BEGIN $call; END\$\$")
{
	start_query($client, $wrap);
	send_to('snapshot', 0);
	finish_query($client);
	is(ask($client, q{SELECT count(*) FROM minikafka.poll('snapshot', 'm')}),
		'1', "it works in: $wrap");
}
$client->quit;

done_testing();
