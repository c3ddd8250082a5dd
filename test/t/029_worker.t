# The background worker.  A reload of the settings begins a pass at once, so the
# tests do not wait for the interval; log_min_messages shows when a worker has
# ended.  By minikafka.clock_offset all records are old.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node(
	'primary',
	"shared_preload_libraries = 'minikafka'",
	"minikafka.database = 'postgres'",
	# passes are begun by the test
	"minikafka.maintenance_interval = '1d'",
	'minikafka.clock_offset = 10000000',
	'max_worker_processes = 20',
	'log_min_messages = debug1',
	'autovacuum = off',
	'restart_after_crash = on',
	'log_error_verbosity = default');

sub sql
{
	my ($sql, $database, $where) = @_;

	return ($where // $node)->safe_psql($database // 'postgres', $sql);
}

# ---------------------------------------------------------------------------
# What the log says

my $ended =
  qr/background worker "minikafka maintenance" \(PID \d+\) exited with exit code/;

sub count_in_log
{
	my ($pattern, $where) = @_;
	my $n = () = slurp_file(($where // $node)->logfile) =~ /$pattern/g;

	return $n;
}

# Waits until the log has that n times.
sub wait_log
{
	my ($pattern, $n, $where) = @_;

	for (1 .. 100 * $MinikafkaTest::TIMEOUT)
	{
		return if count_in_log($pattern, $where) >= $n;
		usleep(10_000);
	}
	die "the log does not have $pattern $n times";
}

# Begins a pass, and waits until so many workers have ended.
sub run_pass
{
	my ($workers, $where) = @_;
	my $before = count_in_log($ended, $where);

	($where // $node)->reload;
	wait_log($ended, $before + ($workers // 1), $where);
	return;
}

my $log_position = 0;

sub from_here
{
	$log_position = -s $node->logfile;
	return;
}

my $skipped =
  qr/database "\S+" of "minikafka.database" does not exist, or allows no connections/;

# What has been logged since from_here() that an administrator would see, but
# for what each reload says, and this test does.
sub logged
{
	return join "\n",
	  map { /(?:LOG|WARNING|ERROR|FATAL|PANIC):.*/ ? $& : () }
	  grep { !/SIGHUP|changed to|removed from conf|checkpoint|STATEMENT|$skipped/ }
	  split /\n/, slurp_file($node->logfile, $log_position);
}

# ---------------------------------------------------------------------------
# What the worker does: one topic whose records are old, one that is compacted.
# Each call makes it do some more.

sub make_topics
{
	my ($database, $where) = @_;

	return sql(q{
		SELECT minikafka.create_topic('old', 1, retention => '1 day');
		SELECT minikafka.create_topic('keys', 1, cleanup_policy => 'compact');
	}, $database, $where);
}

sub fill
{
	my ($database, $where) = @_;

	# of the time of the machine
	return sql(q{
		SET minikafka.clock_offset = 0;
		SELECT minikafka.send('old', 'x') FROM generate_series(1, 10);
		SELECT minikafka.send('keys', 'x', 'key') FROM generate_series(1, 10);
	}, $database, $where);
}

# The records that are left
sub left
{
	my ($database, $where) = @_;

	return sql(q{SELECT (SELECT count(*) FROM minikafka_topics.old),
		(SELECT count(*) FROM minikafka_topics.keys)}, $database, $where);
}

my $done = '0|1';

sub conf
{
	my ($name, $value) = @_;

	$value =~ s/'/''/g;
	$node->append_conf('postgresql.conf', "$name = '$value'");
	return;
}

make_topics();

# ---------------------------------------------------------------------------
# Databases of all names

my @names =
  ('Upper', 'hy-phen', 'sp ace', 'com,ma', 'with "quote"', q{it's}, 'UPPER');

for my $name (@names, 'closed', 'none', 'unlisted')
{
	sql('CREATE DATABASE "' . $name =~ s/"/""/gr . '" TEMPLATE template0');
	next if $name eq 'none';
	sql('CREATE EXTENSION minikafka', $name);
	make_topics($name);
	fill($name);
}
sql('ALTER DATABASE closed ALLOW_CONNECTIONS false');
fill();
is(left(), '10|10', 'nothing is removed yet');
from_here();
conf(
	'minikafka.database',
	join ', ', 'missing', 'Upper', 'hy-phen', '"sp ace"', '"com,ma"',
	'"with ""quote"""', q{"it's"}, '"UPPER"', 'closed', 'none', 'postgres',
	'"postgres"', 'uNLISTED');
run_pass(@names + 2);
is(left($_), $done, "a pass: $_") for @names, 'postgres';
is(left('unlisted'), '10|10', 'not over a database that is not listed');
is(logged(), '', 'quiet about the others');
for my $name ('missing', 'closed', 'uNLISTED')
{
	my $lines = () = slurp_file($node->logfile, $log_position) =~
	  /LOG:  database "$name" of "minikafka.database" does not exist/g;
	is($lines, 1, "but for one line about: $name");
}
sql('ALTER DATABASE closed ALLOW_CONNECTIONS true');
is(left('closed'), '10|10', 'nor over one that allows no connections');

# A reload of the settings
fill($_) for 'postgres', 'unlisted', 'Upper';
conf('minikafka.database', 'unlisted');
run_pass();
is(left('unlisted'), $done,   'another list: a pass over what is there now');
is(left(),           '10|11', 'and not over what is not');
conf('minikafka.database', '');
my $before = count_in_log($ended);
$node->reload;
$node->poll_query_until('postgres', 'SHOW minikafka.database', '') or die;
conf('minikafka.database', 'postgres');
run_pass();
is(left(), $done, 'a pass again');
is(count_in_log($ended), $before + 1, 'none for an empty list');

# A list that is none is refused, and the last one stays.
for my $list ('postgres,,Upper', '"postgres', 'postgres,')
{
	is(sqlstate($node, "ALTER SYSTEM SET minikafka.database = '$list'"),
		'22023', "refused: $list");
	conf('minikafka.database', $list);
	fill();
	run_pass();
	is(left(), $done, "a pass as before: $list");
	is(sql('SHOW minikafka.database'), 'postgres', "the last list: $list");
}
like(slurp_file($node->logfile),
	qr/LOG:  invalid value for parameter "minikafka.database": "postgres,,Upper"/,
	'the log says so');
conf('minikafka.database', 'postgres');

# The interval
conf('minikafka.database', 'missing, postgres');
conf('minikafka.maintenance_interval', '1');
$before = count_in_log($skipped);
run_pass();
wait_log($ended, count_in_log($ended) + 1);
fill();
wait_log($ended, count_in_log($ended) + 2);
is(left(), $done, 'an interval of one second');
is(count_in_log($skipped), $before + 1, 'what is skipped is said once');
conf('minikafka.database', 'postgres');
conf('minikafka.maintenance_interval', '1d');
run_pass();

# ---------------------------------------------------------------------------
# What an administrator sees, while the worker waits for a lock, partition by
# partition

sql(q{SELECT minikafka.create_topic('locked', 10, retention => '1 day')});
my $locker   = new_session($node);
my $launcher = q{SELECT pid FROM pg_stat_activity
	WHERE backend_type = 'minikafka launcher'};
my $worker = q{SELECT pid FROM pg_stat_activity
	WHERE backend_type = 'minikafka maintenance'};

# Begins a pass that takes long, since the locker has the topic.
sub begin_long_pass
{
	ask($locker, q{BEGIN; LOCK TABLE minikafka_topics.locked});
	$node->reload;
	$node->poll_query_until('postgres', "SELECT count(*) = 1
		FROM pg_stat_activity WHERE backend_type = 'minikafka maintenance'
		AND wait_event_type = 'Lock' AND query LIKE '%\"locked\"%'") or die;
	return;
}

sub end_long_pass
{
	ask($locker, 'ROLLBACK');
	$node->poll_query_until('postgres', "SELECT NOT EXISTS ($worker)") or die;
	return;
}

is( sql(q{SELECT count(*), min(application_name), count(datname), count(backend_xmin)
		FROM pg_stat_activity WHERE backend_type = 'minikafka launcher'}),
	'1|minikafka launcher|0|0', 'the launcher is connected to no database');
begin_long_pass();
like(
	sql(q{SELECT datname, usename, application_name, state, query
		FROM pg_stat_activity WHERE backend_type = 'minikafka maintenance'}),
	qr/^postgres\|\w+\|minikafka maintenance\|active\|(?:retention|check) of topic "locked" partition \d$/,
	'the worker tells what it does');

# The launcher starts no second one.
for (1 .. 5)
{
	conf('minikafka.inbox_retention', 1_000_001 + $_);
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW minikafka.inbox_retention',
		1_000_001 + $_ . 's')
	  or die;
}
is(sql("SELECT count(*) FROM ($worker) w"), '1', 'one worker a database');

# The others do not wait for a database whose pass takes long.
fill('Upper');
conf('minikafka.database', 'postgres, Upper');
run_pass();
is(left('Upper'), $done, 'a pass over the other database meanwhile');
is(sql("SELECT count(*) FROM ($worker) w"), '1', 'the long one goes on');
conf('minikafka.database', 'postgres');
end_long_pass();

# Cancelled or terminated, it does not end the passes.
for my $function ('pg_cancel_backend', 'pg_terminate_backend')
{
	begin_long_pass();
	sql("SELECT $function(pid) FROM ($worker) w");
	end_long_pass();
	fill();
	run_pass();
	is(left(), $done, "$function(worker): the next pass");
}

# ---------------------------------------------------------------------------
# The launcher ends

for my $function ('pg_cancel_backend', 'pg_terminate_backend')
{
	my $pid = sql($launcher);

	fill();
	$before = count_in_log($ended);
	sql("SELECT $function($pid)");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM ($launcher) l WHERE pid <> $pid") or die;
	wait_log($ended, $before + 1);
	is(left(), $done, "$function(launcher): another one does a pass");
}

# Also while a pass goes on: two may meet.
{
	my $pid = sql($launcher);

	begin_long_pass();
	sql("SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM ($launcher) l WHERE pid <> $pid") or die;
	end_long_pass();
	fill();
	run_pass();
	is(left(), $done, 'the launcher ends during a pass: the next pass');
}

for my $who ('launcher', 'worker')
{
	begin_long_pass() if $who eq 'worker';
	my $pid = sql($who eq 'worker' ? $worker : $launcher);
	$before = count_in_log(qr/database system is ready to accept connections/);
	kill 'KILL', $pid;
	wait_log(qr/database system is ready to accept connections/, $before + 1);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ($launcher) l")
	  or die;
	eval { $locker->quit };
	$locker = new_session($node);
	fill();
	run_pass();
	is(left(), $done, "kill -9 of the $who: a pass after the restart");
}

# A fast shutdown does not wait for the end of a pass.
begin_long_pass();
$before = count_in_log(qr/terminating background worker "minikafka maintenance"/);
$node->stop('fast');
is( count_in_log(qr/terminating background worker "minikafka maintenance"/),
	$before + 1, 'a fast shutdown ends a pass');
$node->start;
eval { $locker->quit };
$locker = new_session($node);
begin_long_pass();
$node->stop('immediate');
$node->start;
eval { $locker->quit };
$locker = new_session($node);
fill();
run_pass();
is(left(), $done, 'and it goes on after the start');

# ---------------------------------------------------------------------------
# DROP DATABASE beside it, also at the very moment in which a worker starts

sql('CREATE DATABASE model TEMPLATE template0');
sql('CREATE EXTENSION minikafka', 'model');
make_topics('model');
conf('minikafka.database', 'postgres, dropped');
from_here();
for my $round (1 .. 8)
{
	my ($waits, $name) = $round % 2 ? (1, 'after a pass') : (0, 'during one');

	sql('CREATE DATABASE dropped TEMPLATE model');
	fill('dropped');
	if ($waits)
	{
		run_pass(2);
		is(left('dropped'), $done, 'a pass over a database that is made');
	}
	else
	{
		$node->reload;
	}
	is(sqlstate($node, 'DROP DATABASE dropped'), '00000', "dropped, $name");
}
run_pass();
unlike(logged(), qr/(?:ERROR|FATAL):(?!  database \S+ does not exist)/,
	'nothing else happens');

# A pass that takes long makes way.  The owner's index makes it slow.
{
	sql('CREATE DATABASE dropped TEMPLATE model');
	sql(q{
SET minikafka.clock_offset = 0;
CREATE FUNCTION slow(bytea) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	-- of the worker; a client has one
	IF current_setting('application_name') = '' THEN
		PERFORM pg_sleep(0.1);
	END IF;
	RETURN 0;
END $$;
DO $$
BEGIN
	FOR t IN 1 .. 20 LOOP
		PERFORM minikafka.create_topic('slow' || t, 1, cleanup_policy => 'compact',
			segment_records => 2000);
		PERFORM minikafka.send('slow' || t, repeat('x', 1000), (i % 10)::text)
			FROM generate_series(1, 2001) i;
		COMMIT;
		EXECUTE format('CREATE INDEX ON minikafka_topics.%I (slow(value))',
			'slow' || t);
	END LOOP;
END $$;
}, 'dropped');
	$node->reload;
	$node->poll_query_until('postgres', q{SELECT count(*) = 1
		FROM pg_stat_activity WHERE backend_type = 'minikafka maintenance'
		AND datname = 'dropped' AND query LIKE '%"slow%'
		AND wait_event = 'PgSleep'}) or die;
	is(sqlstate($node, 'DROP DATABASE dropped'),
		'00000', 'dropped, while a pass takes long');
	sql('DROP DATABASE IF EXISTS dropped WITH (FORCE)');
}
conf('minikafka.database', 'postgres');

# ---------------------------------------------------------------------------
# The extension is not there, and comes back

conf('minikafka.database', 'none');
from_here();
run_pass() for 1 .. 2;
is(logged(), '', 'quiet without the extension');
sql('CREATE EXTENSION minikafka', 'none');
make_topics('none');
fill('none');
run_pass();
is(left('none'), $done, 'the extension is made: a pass');
sql('DROP EXTENSION minikafka CASCADE', 'none');
run_pass();
sql('CREATE EXTENSION minikafka', 'none');
make_topics('none');
fill('none');
run_pass();
is(left('none'), $done, 'it is dropped and made: a pass');
is(logged(), '', 'quiet all the time');

# Dropped while a pass is at it
{
	my $session = $node->background_psql('none', on_error_stop => 0);

	$session->query_safe('SET client_min_messages = warning');
	$session->query_safe('BEGIN; DROP EXTENSION minikafka CASCADE');
	$node->reload;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM ($worker) w")
	  or die;
	$session->query_safe('COMMIT');
	$node->poll_query_until('postgres', "SELECT NOT EXISTS ($worker)") or die;
	$session->quit;
	is(logged(), '', 'dropped in the middle of a pass: quiet');
	run_pass();
}

# ---------------------------------------------------------------------------
# Settings of the database and of the role, and a standby that does not exist, do not
# disturb it

conf('minikafka.database', 'Upper');
fill('Upper');
for my $set (
	'default_transaction_read_only = on',
	q{default_transaction_isolation = 'serializable'},
	'default_transaction_deferrable = on',
	q{search_path = 'nowhere'},
	q{synchronous_commit = 'remote_apply'},
	'statement_timeout = 1',
	'lock_timeout = 1',
	'idle_in_transaction_session_timeout = 1',
	q{session_replication_role = 'replica'},
	q{row_security = off},
	q{check_function_bodies = off},
	q{default_tablespace = 'pg_global'},
	q{datestyle = 'German'},
	q{client_min_messages = 'error'},
	'enable_indexscan = off',
	'work_mem = 64',
	'maintenance_work_mem = 1024')
{
	sql(qq{ALTER DATABASE "Upper" SET $set});
}
sql('CREATE ROLE nobody');
sql(q{ALTER DATABASE "Upper" SET role = 'nobody'});
sql(q{ALTER ROLE CURRENT_USER IN DATABASE "Upper"
	SET default_transaction_read_only = on});
conf('synchronous_standby_names', 'nobody');
from_here();
run_pass();
conf('synchronous_standby_names', '');
$node->reload;
sql(q{ALTER DATABASE "Upper" RESET ALL});
sql(q{ALTER ROLE CURRENT_USER IN DATABASE "Upper" RESET ALL});
is(left('Upper'), $done, 'settings of the database: a pass');
is(logged(),      '',    'quiet about them');

# ---------------------------------------------------------------------------
# A topic that is broken, between others

conf('minikafka.database', 'postgres');
sql(q{
SET minikafka.clock_offset = 0;
SELECT minikafka.create_topic('a_broken', 1, retention => '1 day',
	segment_records => 5);
SELECT minikafka.send('a_broken', 'x') FROM generate_series(1, 12);
SELECT minikafka.create_topic('z', 1, retention => '1 day');
SELECT minikafka.send('z', 'x');
});
my $segment = sql(q{SELECT format('minikafka_data.p%s_0_0', topic_id)
	FROM minikafka.topic WHERE rel = 'minikafka_topics.a_broken'::regclass});
sql("DROP TABLE $segment");
fill();
from_here();
run_pass();
is(left(), $done, 'a broken topic: those before are looked after');
is(sql('SELECT count(*) FROM minikafka_topics.z'), '0', 'and those after');
like(
	logged(),
	qr/WARNING:  retention of topic "a_broken" partition 0 failed: /,
	'the log tells what is wrong');
sql(q{SELECT minikafka.drop_topic('a_broken')});
from_here();
run_pass();
is(logged(), '', 'and no more when it is dropped');

# ---------------------------------------------------------------------------
# A database that was not dropped altogether, as after a crash in the middle of
# DROP DATABASE

sql('CREATE DATABASE invalid TEMPLATE template0');
sql(q{UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'invalid'});
conf('minikafka.database', 'invalid, postgres');
from_here();
fill();
run_pass();
is(left(), $done, 'beside an invalid database: a pass');
is(logged(), '', 'quiet about it');
sql('DROP DATABASE invalid');
conf('minikafka.database', 'postgres');

# ---------------------------------------------------------------------------
# The launcher's memory

sub launcher_memory
{
	my $pattern = qr/\[$_[0]\] LOG:  Grand total: .* (\d+) used/;
	my $n       = count_in_log($pattern);

	sql("SELECT pg_log_backend_memory_contexts($_[0])");
	wait_log($pattern, $n + 1);
	return (slurp_file($node->logfile) =~ /$pattern/g)[-1];
}

{
	my $pid = sql($launcher);

	conf('minikafka.database', 'missing, postgres, Upper, none');
	run_pass(3) for 1 .. 20;
	my $first = launcher_memory($pid);
	run_pass(3) for 1 .. 100;
	my $last = launcher_memory($pid);
	note("used: $first, $last");
	cmp_ok($last - $first, '<', 1000, 'the launcher does not grow');
	is(sql($launcher), $pid, 'it is still the same');
	conf('minikafka.database', 'postgres');
}

# ---------------------------------------------------------------------------
# No room for workers: one is the launcher, one that of logical replication

conf('max_worker_processes', 2);
$node->restart;
fill();
my $no_room = qr/LOG:  \d+ databases? waits? for a minikafka maintenance worker/;
$before = count_in_log($no_room);
for my $n (1 .. 3)
{
	$node->reload;
	wait_log($no_room, $before + $n);
}
is(left(), '10|11', 'no room for a worker: no pass');
like(slurp_file($node->logfile), qr/HINT:  .*"max_worker_processes"/,
	'the log has a hint');
is(sql("SELECT count(*) FROM ($launcher) l"), '1', 'the launcher goes on');

# Room for one only: it goes from one database to the next.
conf('max_worker_processes', 3);
$node->restart;
fill($_) for 'Upper', 'hy-phen', 'sp ace';
conf('minikafka.database', 'postgres, Upper, hy-phen, "sp ace"');
$before = count_in_log($ended);
$node->reload;
ok(eval { wait_log($ended, $before + 4); 1 }, 'room for one worker: four passes');
is(left($_), $done, "room for one worker: $_")
  for 'postgres', 'Upper', 'hy-phen', 'sp ace';
conf('max_worker_processes', 8);
conf('minikafka.database', 'postgres');
$node->restart;
fill();
run_pass();
is(left(), $done, 'room again: a pass');
eval { $locker->quit };

# ---------------------------------------------------------------------------
# A standby

my $standby = new_standby($node, 'standby');

fill();
wait_standby($node, $standby);
$before = count_in_log($ended, $standby);
$standby->reload;
is(left('postgres', $standby), '10|11', 'standby: nothing is removed');
is( sql(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type LIKE 'minikafka%'}, 'postgres', $standby),
	'0', 'standby: no launcher');
is(count_in_log($ended, $standby), $before, 'standby: no worker');
$node->stop;
$standby->promote;
wait_log($ended, $before + 1, $standby);
is( sql($launcher =~ s/pid/count(*)/r, 'postgres', $standby),
	'1', 'promoted: a launcher');
is(left('postgres', $standby), $done, 'promoted: a pass');
fill('postgres', $standby);
run_pass(1, $standby);
is(left('postgres', $standby), $done, 'promoted: another one');
$standby->stop;

# ---------------------------------------------------------------------------
# Without the preload there is all but this

my $plain = new_node('plain', "minikafka.database = 'postgres'",
	'minikafka.maintenance_interval = 1', 'log_error_verbosity = verbose');

make_topics('postgres', $plain);
fill('postgres', $plain);
is( sql(q{SELECT count(*) FROM pg_stat_activity
		WHERE backend_type LIKE 'minikafka%'}, 'postgres', $plain),
	'0', 'no preload: no launcher');
for my $load (q{LOAD 'minikafka'},
	q{DO 'BEGIN PERFORM minikafka.offsets(''old'', 0); END'})
{
	is( sql(qq{$load; SHOW minikafka.database; SHOW minikafka.maintenance_interval},
			'postgres', $plain),
		"postgres\n1s", "no preload, $load: settings");
	is( sqlstate($plain, qq{$load; SELECT minikafka.send('old', 'x');
			SET minikafka.database = 'other'}),
		'55P02', "no preload, $load: they are not a session's");
}
is( sql(q{
SELECT minikafka.join_group('g', '{old}', 'm');
SELECT count(*) FROM minikafka.poll('g', 'm', max_wait => '1 hour');
SELECT minikafka.commit('g', 'm') IS NOT NULL;
CALL minikafka.wait_for_records('g', 'm', '10 ms');
SET minikafka.clock_offset = 10000000;
CALL minikafka.maintain();
}, 'postgres', $plain), "m\n12\nt", 'no preload: a group, maintain()');
is(left('postgres', $plain), $done, 'no preload: maintain() does it');
{
	my $client = new_session($plain);

	ask($client, q{SELECT minikafka.join_group('w', '{old}', 'm',
		session_timeout => '1 h', max_poll_interval => '1 h')});
	start_query($client,
		q{SELECT value FROM minikafka.poll_text('w', 'm', max_wait => '1 hour')});
	sql(q{SELECT minikafka.send('old', 'waited for')}, 'postgres', $plain);
	is(finish_query($client), 'waited for', 'no preload: a member that waits finds it');
	$client->quit;
}
for my $how ('session_preload_libraries', 'local_preload_libraries')
{
	$plain->append_conf('postgresql.conf',
		"$how = '" . ($how =~ /local/ ? '' : 'minikafka') . "'");
	$plain->restart;
	is( sql(q{SELECT minikafka.send('old', 'x') IS NOT NULL;
		SELECT count(*) FROM pg_stat_activity
		WHERE backend_type LIKE 'minikafka%'}, 'postgres', $plain),
		"t\n0", "$how: a session has it, no launcher");
}

done_testing();
