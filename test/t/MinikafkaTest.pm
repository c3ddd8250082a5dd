# What the TAP tests share.

package MinikafkaTest;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  new_node wait_until_up new_standby wait_standby new_pooler
  start_in start_psql start_scripts start_pgbench finish_ok
  new_session ask state_after at start_query finish_query
  install_reader start_reader finish_reader finish_load
  hold_commits release_commits start_held start_gated
  rows sqlstate problems server_errors library
);

# After how many seconds something hangs; "make prove" sets it.
our $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;

# wait_until_up(NODE): after a backend was killed.  Not by psql: one that is
# refused ends before it reads its input, which fails the test that writes it.
sub wait_until_up
{
	my ($node) = @_;

	for (1 .. 10 * $TIMEOUT)
	{
		return
		  if system('pg_isready', '-q', '-h', $node->host, '-p', $node->port)
		  == 0;
		usleep(100_000);
	}
	die 'the server does not come up';
}

# new_node(NAME, LINE ...): a running server with the extension, and these
# lines in its postgresql.conf.  Commits wait for no standby unless asked to.
sub new_node
{
	my ($name, @lines) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1);
	$node->append_conf(
		'postgresql.conf', join "\n",
		'shared_buffers = 64MB',
		'max_connections = 50',
		'max_wal_size = 1GB',
		'log_statement = none',
		'jit = off',
		'synchronous_commit = local',
		# What hangs is to fail.  These are no measure of what is slow: a loaded
		# machine must not reach them.
		'lock_timeout = 10min',
		'statement_timeout = 20min',
		# what a test sets itself counts
		$ENV{PRELOAD} ? "shared_preload_libraries = '@{[ library(q{late}) ]}, minikafka'" : (),
		@lines, '');
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION minikafka');
	return $node;
}

# A running streaming standby.
sub new_standby
{
	my ($primary, $name, @lines) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup("for_$name");
	$standby->init_from_backup($primary, "for_$name", has_streaming => 1);
	$standby->append_conf('postgresql.conf', join "\n", @lines, '');
	$standby->start;
	return $standby;
}

# Waits until the standby has replayed all that the primary has done.
sub wait_standby
{
	my ($primary, $standby) = @_;

	# what open transactions wrote is flushed with this
	$primary->safe_psql('postgres',
		q{SELECT pg_logical_emit_message(true, '', '')});
	my $lsn =
	  $primary->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()');

	$standby->poll_query_until('postgres',
		"SELECT pg_last_wal_replay_lsn() >= '$lsn'")
	  or die 'the standby did not catch up';
	return;
}

# new_pooler(NODE, LINE ...): PgBouncer before a node, in transaction mode and
# with these lines in its settings; a node to connect to.  undef if there is no
# PgBouncer.
my @poolers;

sub new_pooler
{
	my ($node, @lines) = @_;
	my ($pgbouncer) =
	  grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';

	return unless defined $pgbouncer;

	# a server that is never made; its socket is the pooler's
	my $pooler = PostgreSQL::Test::Cluster->new($node->name . '_pooler');
	my $dir    = PostgreSQL::Test::Utils::tempdir('pgbouncer');
	my ($host, $port, $backend) = ($pooler->host, $pooler->port, $node->port);
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $lines = join "\n", @lines;
	my $log   = '';

	append_to_file("$dir/pgbouncer.ini", <<"INI");
[databases]
postgres = host=@{[ $node->host ]} port=$backend user=$user
[pgbouncer]
listen_port = $port
unix_socket_dir = $host
auth_type = any
pool_mode = transaction
logfile = $dir/pgbouncer.log
$lines
INI
	push @poolers,
	  IPC::Run::start([ $pgbouncer, "$dir/pgbouncer.ini" ],
		'<', \undef, '>&', \$log);
	for (1 .. 10 * $TIMEOUT)
	{
		last if -S "$host/.s.PGSQL.$port";
		usleep(100_000);
	}
	$pooler->poll_query_until('postgres', 'SELECT true')
	  or die "the pooler does not answer: $log";
	return $pooler;
}

END
{
	# kill_kill waits, which sets the exit status
	local $?;

	$_->kill_kill for @poolers;
}

# ---------------------------------------------------------------------------
# Clients in the background: a hash with the process (run) and its output
# (out, err).

sub _start
{
	my ($node, @command) = @_;
	my %client = (out => '', err => '');

	# the node's settings, as its own methods have them
	local %ENV = $node->_get_env();
	$command[0] = $node->installed_command($command[0]);
	$client{run} = IPC::Run::start(\@command, '<', \undef, '>',
		\$client{out}, '2>', \$client{err}, IPC::Run::timeout($TIMEOUT));
	return \%client;
}

# start_in(NODE, COMMAND ...): any command, which finds the node's programs
sub start_in
{
	return _start(@_);
}

# start_psql(NODE, STATEMENT ...): each is sent by itself
sub start_psql
{
	my ($node, @statements) = @_;

	return _start($node, 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
		'-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
		map { ('-c', $_) } @statements);
}

# start_scripts(NODE, FILE ...): one after the other, each in a session of its
# own; they go on after errors, of which only the SQLSTATE is printed
sub start_scripts
{
	my ($node, @files) = @_;

	return _start($node, 'sh', '-c',
		'for file; do psql -XAtq -v VERBOSITY=sqlstate -d "$0" -f "$file"; done',
		$node->connstr('postgres'), @files);
}

# start_pgbench(NODE, SCRIPTS, OPTION ...): SCRIPTS is a hash of names, which
# may end in @WEIGHT, and contents.
my $pgbench_runs = 0;

sub start_pgbench
{
	my ($node, $scripts, @options) = @_;
	my @files;
	my $dir = PostgreSQL::Test::Utils::tempdir("pgbench$pgbench_runs");

	$pgbench_runs++;
	for my $name (sort keys %$scripts)
	{
		my ($file, $weight) = split /@/, $name;

		append_to_file("$dir/$file", $scripts->{$name});
		push @files, '-f', "$dir/$file" . (defined $weight ? "\@$weight" : '');
	}
	return _start($node, 'pgbench', '-n', '--random-seed=1', @options, @files,
		$node->connstr('postgres'));
}

# Waits for it to end, which is a test; returns what it printed.
sub finish_ok
{
	my ($client, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$client->{run}->finish;
	ok($client->{run}->result(0) == 0, $name)
	  or diag($client->{out}, $client->{err});
	return $client->{out};
}

# ---------------------------------------------------------------------------
# Commits that are held open after their records were sequenced

# From now on, commits with synchronous_commit = on wait, for a standby that
# does not exist; until release_commits().
sub hold_commits
{
	my ($node) = @_;

	$node->safe_psql('postgres',
		q{ALTER SYSTEM SET synchronous_standby_names = 'nobody'});
	$node->reload;
	$node->poll_query_until('postgres', 'SHOW synchronous_standby_names',
		'nobody')
	  or die 'the setting does not arrive';
	return;
}

sub release_commits
{
	my ($node) = @_;

	$node->safe_psql('postgres',
		'ALTER SYSTEM RESET synchronous_standby_names');
	$node->reload;
	return;
}

# Runs it in a session whose commit is held; returns when it is.
sub start_held
{
	my ($node, $sql) = @_;
	my $waiting = q{SELECT count(*) FROM pg_stat_activity
		WHERE wait_event = 'SyncRep'};
	my $before = $node->safe_psql('postgres', $waiting);
	my $client = start_psql($node, 'SET synchronous_commit = on', $sql);

	$node->poll_query_until('postgres', $waiting, $before + 1)
	  or die 'the commit is not held';
	return $client;
}

# Runs it in a transaction whose commit waits for advisory lock 1, which another
# session must hold; returns when it waits.
sub start_gated
{
	my ($node, $sql) = @_;
	my $late    = library('late');
	my $waiting = q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND objsubid = 1 AND NOT granted};
	my $before = $node->safe_psql('postgres', $waiting);
	my $client = start_psql($node, "LOAD '$late'",
		"BEGIN; SET LOCAL late.wait = 1; $sql; COMMIT");

	$node->poll_query_until('postgres', $waiting, $before + 1)
	  or die 'the commit does not wait';
	return $client;
}

# ---------------------------------------------------------------------------
# Sessions that are asked step by step, and outlive errors

sub new_session
{
	my ($node) = @_;
	my $session = $node->background_psql(
		'postgres',
		on_error_stop => 0,
		extra_params  => [ '-v', 'VERBOSITY=verbose' ]);

	ask($session, 'SET client_min_messages = warning');
	return $session;
}

# What the statements print; an error ends the test.
sub ask
{
	my ($session, $sql) = @_;

	$session->{stderr} = '';
	return $session->query_safe($sql);
}

# The SQLSTATE of the first error of the statements, 00000 if there is none;
# in list context its whole text too.
sub state_after
{
	my ($session, $sql) = @_;

	$session->{stderr} = '';
	$session->query($sql);
	my $text = $session->{stderr};
	my $state = $text =~ /(?:ERROR|FATAL):\s+(\w{5}):/ ? $1 : '00000';
	return wantarray ? ($state, $text) : $state;
}

# Statements that are not waited for, until finish_query(), which returns as
# ask() does.
sub start_query
{
	my ($session, $sql) = @_;

	$session->{stderr} = '';
	$session->query_until(qr/^started\n/m, "\\echo started\n$sql;\n");
	return;
}

sub finish_query
{
	my ($session) = @_;

	return $session->query_safe('');
}

# Shifts the extension's clock in the session, in seconds.
sub at
{
	my ($session, $seconds) = @_;

	ask($session, "SET minikafka.clock_offset = $seconds");
	return $session;
}

# ---------------------------------------------------------------------------
# A reader that polls fetch() in its session, on the primary or on a standby.
# Each call of fetch() is a transaction of its own.

sub install_reader
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q{
-- has a row when the load has ended
CREATE TABLE load_done ();

/*
 * Reads the partitions in turn, from offset 0, until the load has ended and
 * nothing is left.  records: "partition:offset:value"; stops: how often
 * fetch() stopped although the same statement saw a record further on.
 */
CREATE PROCEDURE read_all(topic text, partitions int, max_records int,
	INOUT records text[], INOUT stops bigint)
LANGUAGE plpgsql AS $$
DECLARE
	next bigint[] := array_fill(0::bigint, ARRAY[partitions]);
	last boolean;
	idle boolean;
	n int;
	seen bigint;
	r record;
	query text := format('SELECT s.seen, f."offset", f.value
		FROM (SELECT max("offset") AS seen FROM minikafka_topics.%I
			WHERE partition = $2) s
		LEFT JOIN minikafka.fetch_text($1, $2, $3, $4) f ON true', topic);
BEGIN
	records := '{}';
	stops := 0;
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		idle := true;
		FOR p IN 0 .. partitions - 1 LOOP
			n := 0;
			FOR r IN EXECUTE query USING topic, p, next[p + 1], max_records LOOP
				seen := r.seen;
				IF r."offset" IS NOT NULL THEN
					n := n + 1;
					next[p + 1] := r."offset" + 1;
					records := records || (p || ':' || r."offset" || ':' || r.value);
				END IF;
			END LOOP;
			IF n < max_records AND seen >= next[p + 1] THEN
				stops := stops + 1;
			END IF;
			idle := idle AND n = 0;
			COMMIT;
		END LOOP;
		EXIT WHEN idle AND last;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
});
	return;
}

sub start_reader
{
	my ($node, $topic, $partitions, $max_records) = @_;

	return start_psql($node, 'SET jit = off',
		"CALL read_all('$topic', $partitions, $max_records, NULL, NULL)");
}

# Tells the readers that no more will come.
sub finish_load
{
	my ($node) = @_;

	$node->safe_psql('postgres', 'INSERT INTO load_done DEFAULT VALUES');
	return;
}

# Returns what was read, each as [partition, offset, value], and the stops.
sub finish_reader
{
	my ($reader, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $out = finish_ok($reader, $name);
	my ($records, $stops) = $out =~ /^\{(.*)\}\|(\d+)$/;

	return ([], 0) unless defined $stops;
	return ([ map { [ split /:/, $_, 3 ] } split /,/, $records ], $stops);
}

# ---------------------------------------------------------------------------
# Small things

# The rows of a query, each as a list.
sub rows
{
	my ($node, $sql) = @_;

	return map { [ split /\|/, $_, -1 ] }
	  split /\n/, $node->safe_psql('postgres', $sql);
}

# The SQLSTATE that the statements end with, 00000 if all is well.
sub sqlstate
{
	my ($node, $sql) = @_;
	my ($status, $out, $err) = $node->psql('postgres', $sql,
		extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);

	return $1 if $err =~ /(?:ERROR|FATAL):\s+(\w{5})/;
	return $status == 0 ? '00000' : "status $status: $err";
}

# What check_topic() finds but times in the future, which tests make by shifting
# the clock; '' for a sound topic.
sub problems
{
	my ($node, $topic) = @_;

	return $node->safe_psql('postgres',
		"SELECT * FROM minikafka.check_topic('$topic')
		WHERE severity <> 'warning'");
}

# The lines of the node's log about errors that are always wrong: internal ones,
# deadlocks, crashes.  Needs log_error_verbosity = verbose.
sub server_errors
{
	my ($node) = @_;

	return join "\n", grep { /(?:ERROR|FATAL):  (?:XX|40P01)|PANIC|TRAP:/ }
	  split /\n/, slurp_file($node->logfile);
}

# A library from test/modules/, which "make prove" builds.
sub library
{
	my ($name) = @_;

	return "$ENV{TESTDIR}/tmp_check/modules/$name.so";
}

1;
