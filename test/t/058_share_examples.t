# The programs of examples/share: each does what its README says, with workers that
# are killed, that come too late, and jobs that fail.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Programs;
use Test::More;

my $folder = "$FindBin::RealBin/../../examples/share";
my $python = '/usr/bin/python3';    # the distribution's, as its modules are

$ENV{NODE_PATH} = join ':', grep { defined } $ENV{NODE_PATH}, '/usr/share/nodejs';

my $jar   = '/usr/share/java/postgresql.jar';
my $built = PostgreSQL::Test::Utils::tempdir();

# JDBC knows no Unix-domain sockets.
my $node = new_node('primary', "autovacuum = off\nlisten_addresses = '127.0.0.1'");

sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

sub wait_for
{
	my ($sql, $database) = @_;

	$node->poll_query_until($database || 'postgres', $sql)
	  or die "this did not come true: $sql";
	return;
}

# Starts a command in the folder, as a role.
sub start_there
{
	my ($role, @command) = @_;

	return start($node, { PGDATABASE => 'postgres', PGUSER => $role, PGHOST => '127.0.0.1' },
		'sh', '-c', 'cd "$0" && exec "$@"', $folder, @command);
}

# Runs files with psql, which is a test; returns what they print, errors included.
sub run_files
{
	my ($database, @files) = @_;
	my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
	my $psql      = start_there($superuser, 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
		'-d', $database, map { /=/ ? ('-v', $_) : ('-f', $_) } @files);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(ended($psql), 0, "@files")
	  or diag($psql->{out}, $psql->{err});
	return $psql->{out} . $psql->{err};
}

# Interrupts a worker, as a terminal does.
sub interrupt
{
	my ($worker) = @_;

	$worker->{run}->signal('INT');
	eval { $worker->{run}->finish };
	return;
}

# The sessions that a session holds up
sub wait_until_held
{
	my ($holder, $n) = @_;
	my $pid = ask($holder, 'SELECT pg_backend_pid()');

	wait_for(qq{SELECT count(*) = $n FROM pg_stat_activity
		WHERE $pid = ANY (pg_blocking_pids(pid))});
	return;
}

# ---------------------------------------------------------------------------
# The workers: one of each driver that is here

my %all = (
	sql => [ [ 'psql', '--version' ], 'psql', '-Xq', '-c', 'CALL pay_claims()' ],
	py  => [ [ $python, '-c', 'import psycopg' ], $python, 'worker.py' ],
	py2 => [ [ $python, '-c', 'import psycopg2' ], $python, 'worker_psycopg2.py' ],
	js  => [ [ 'node', '-e', 'require("pg")' ], 'node', 'worker.js' ],
	java => [
		[ 'javac', '-cp', $jar, '-d', $built, "$folder/Worker.java" ],
		'java', '-Xshare:auto', '-cp', "$built:$jar", 'Worker'
	],
	go => [
		[
			'env', 'GO111MODULE=off', 'GOPATH=/usr/share/gocode', "GOCACHE=$built/gocache",
			'go', 'build', '-o', "$built/worker", "$folder/worker.go"
		],
		"$built/worker"
	]);
my %workers;

for my $name (sort keys %all)
{
  SKIP:
	{
		my ($probe, @command) = @{ $all{$name} };

		skip "worker $name: its driver is not installed", 1
		  unless works(@$probe) && ($name ne 'java' || -e $jar);
		pass("worker $name: its driver is here");
		$workers{$name} = \@command;
	}
}

# Starts a worker under a name, which its payments have.
sub start_worker
{
	my ($name, $as) = @_;

	local $ENV{PGAPPNAME} = $as || $name;
	return start_there('payer', @{ $workers{$name} });
}

my $letters = q{SELECT count(*) = %d FROM minikafka_topics."claims.dead"};
my $payments = q{SELECT count(*) = %d FROM payment};

run_files('postgres', 'setup.sql', 'worker.sql');
is(value('SELECT sum(end_offset) FROM minikafka.partitions'), 288, 'jobs');

my $holder = new_session($node);
ask($holder, 'BEGIN; LOCK payment');
my %running = map { $_ => start_worker($_) } keys %workers;
$running{killed} = start_worker('sql', 'killed');
wait_until_held($holder, scalar keys %running);
is( value(
		q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'killed'}
	),
	't',
	'a worker is killed when it has jobs');
isnt(ended(delete $running{killed}), 0, 'it ends');
ask($holder, 'COMMIT');
wait_for(sprintf $payments, 285);
wait_for(sprintf $letters, 3);
for (sort keys %running)
{
	cmp_ok(value("SELECT count(*) FROM payment WHERE paid_by = '$_'"),
		'>', 0, "worker $_ has paid");
}
is(value(q{SELECT count(*) FROM payment WHERE paid_by = 'killed'}),
	0, 'the worker that was killed has not');
is( value(
		q{SELECT count(*) FROM (SELECT flight, lag(flight) OVER (PARTITION BY airport ORDER BY number) AS before
			FROM payment) p WHERE before > flight}),
	0,
	'the flights of each airport are in order');
is( value(
		q{SELECT string_agg(headers->>'__dlq.errors.delivery.count', ' ') FROM minikafka_topics."claims.dead"}
	),
	'3 3 3',
	'what fails is tried three times');

# Interrupted, they end.  Then each alone has a job that fails, and one after it
# in the same batch.
interrupt($_) for values %running;
wait_for(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'payer'});
for my $name (sort keys %workers)
{
	value(
		qq{SELECT minikafka.send('claims', '{"flight": 6000, "delay": "$name"}', key => '$name');
		SELECT minikafka.send('claims', jsonb_build_object('flight', nextval('payment_number_seq') + 9000, 'delay', 60),
			key => '$name')});
	my $worker = start_worker($name);

	wait_for("SELECT count(*) = 1 FROM payment WHERE airport = '$name'");
	like(
		value(qq{SELECT headers->>'__dlq.errors.message' FROM minikafka_topics."claims.dead" WHERE convert_from(key, 'UTF8') = '$name'}),
		qr/"?$name/,
		"worker $name tells the error");
	interrupt($worker);
	is($worker->{err} =~ s/^(Cancel request sent|ERROR:  canceling.*|CONTEXT:.*)\n//mgr,
		'', "worker $name is silent");
}
my $paid = value('SELECT count(*) FROM payment');

# ---------------------------------------------------------------------------
# The desk

my $said = run_files('postgres', 'desk.sql');
like($said, qr/^ORD\|.*unknown.*\|1\n.*^LAX\|.*\|1\n.*^HNL\|.*\|1\n/ms,
	'three letters are dealt with');
my $worker = start_worker('sql');
wait_for(sprintf $payments, $paid + 2);
is( value(q{SELECT string_agg(flight || ' ' || amount, ', ' ORDER BY flight) FROM payment WHERE flight IN (0, 5001)}),
	'0 50, 5001 50',
	'what was mended is paid');
is(value(q{SELECT end_offset FROM minikafka.offsets('claims.closed', 0)}),
	2, 'two letters are closed');
interrupt($worker);

# ---------------------------------------------------------------------------
# E-mail under an acquisition lock

$node->safe_psql('postgres', 'CREATE DATABASE mailbox');
run_files('mailbox',  'mailbox.sql');
run_files('postgres', 'mail.sql');

sub mailbox
{
	return $node->safe_psql('mailbox', $_[0]);
}

# A job's token only grows.
my $deliver = q{SELECT deliver('a', %d, 'ann', 'text')};
mailbox(sprintf $deliver, 7);
mailbox(sprintf $deliver, 8);
isnt($node->psql('mailbox', sprintf $deliver, 7), 0,
	'the mail service refuses an old token');
is(mailbox('SELECT token FROM mail'), 7, 'and delivers once');
mailbox('TRUNCATE mail, fence');

# The mail service is slow: somebody holds its table.
sub hold_mail
{
	my $holder = start_there(value('SELECT current_user'),
		'psql', '-Xq', '-d', 'mailbox', '-c', 'BEGIN; LOCK mail; SELECT pg_sleep(1000)');

	wait_for(q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'mail'::regclass
		AND mode = 'AccessExclusiveLock' AND granted}, 'mailbox');
	return $holder;
}

sub let_mail_go
{
	my ($holder) = @_;

	value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE query LIKE 'BEGIN; LOCK mail%'});
	ended($holder);
	return;
}

SKIP:
{
	skip 'mail.py: psycopg 3 is not installed', 5 unless $workers{py};
	my $receipt;

	# A worker stops in the middle of a notice, for longer than its lock; another
	# one takes over.
	local $ENV{LOCK}    = 2;
	local $ENV{MAILBOX} = $node->connstr('mailbox');
	my $busy = hold_mail();
	my $slow = start_there('payer', $python, 'mail.py');
	wait_for(q{SELECT count(*) = 1 FROM pg_stat_activity
		WHERE datname = 'mailbox' AND wait_event_type = 'Lock'});
	$slow->{run}->signal('STOP');
	let_mail_go($busy);
	my $other = start_there('payer', $python, 'mail.py');
	my $mails = value(q{SELECT sum((convert_from(value, 'UTF8')::jsonb->>'passengers')::integer)
		FROM minikafka_topics.notices});
	wait_for("SELECT count(*) = $mails FROM mail", 'mailbox');
	is(mailbox('SELECT max(token) FROM fence'), 2, 'one notice was taken over');
	$slow->{run}->signal('CONT');
	$slow->{run}->pump until $slow->{out} =~ /\n/ || !$slow->{run}->pumpable;
	like($slow->{out}, qr{^notices/\d/\d+: too late: (MK121|55000)\n\z},
		'the worker that was stopped is too late');
	is(mailbox('SELECT count(*) FROM mail'), $mails, 'each mail is sent once');
	interrupt($_) for $slow, $other;
	is(value(q{SELECT count(*) FROM minikafka.acquire('mailers', accept => true)}),
		0, 'all notices are acknowledged');

	# A step that takes longer than the lock: the thread renews it, so the other
	# worker does not get the notice.
	$ENV{LOCK} = 6;
	$busy = hold_mail();
	value(q{SELECT minikafka.send('notices', '{"to": "SLOW", "passengers": 2}'::jsonb, key => 'slow')});
	my @both = map { start_there('payer', $python, 'mail.py') } 1, 2;
	wait_for(q{SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'mailbox' AND wait_event_type = 'Lock'
		AND query_start < clock_timestamp() - interval '9 s'});
	let_mail_go($busy);
	wait_for(q{SELECT count(*) = 2 FROM mail WHERE body LIKE '%SLOW%'}, 'mailbox');
	wait_for(q{SELECT sum(lag) = 0 FROM minikafka.lag('mailers')});
	is(mailbox(q{SELECT token FROM fence WHERE job IN (SELECT job FROM mail WHERE body LIKE '%SLOW%')}), 1,
		'a slow step keeps its lock');
	interrupt($_) for @both;
}

# ---------------------------------------------------------------------------
# Urgent and normal topics; retry tiers; jobs for later; a queue; a group that is
# stuck

$said = run_files('postgres', 'urgent.sql');
like($said, qr/^urgent\|19\|19\nnormal\|1\|1\n/m,
	'a share group hands out the urgent ones first');
like($said, qr/^urgent\|\{"flight": 5001, .*\|accepted\n/m,
	'and a new one before the normal ones');
like($said, qr/^urgent\|20\n2\nnormal\|5\n3\n/m,
	'a consumer group polls them first');

$said = run_files('postgres', 'first=500 ms', 'second=1 s', 'tiers.sql');
like($said, qr/^ann\|1\nbob\|4\nann\|2\|2\n/m,
	'a record that fails, and those of its key, go to the next tier');
until (value(q{SELECT count(*) FROM minikafka_topics."orders.dead"}) == 1
	&& value('SELECT count(*) FROM invoice') == 3)
{
	value(q{CALL invoice_orders('worker')});
}
is( value(q{SELECT string_agg(order_id::text, ' ' ORDER BY number) FROM invoice}),
	'1 4 3', 'the rest of the key comes after it');
is( value(q{SELECT string_agg(topic || ' ' || records, ', ' ORDER BY topic DESC) FROM (
		SELECT topic, sum(end_offset) AS records FROM minikafka.partitions WHERE topic LIKE 'orders%' GROUP BY 1) t}),
	'orders.dead 1, orders-retry-1m 2, orders-retry-10m 2, orders 4',
	'through all tiers');
is( value(q{SELECT min("left") >= interval '500 ms' FROM (
		SELECT lead(ts) OVER (PARTITION BY convert_from(value, 'UTF8')::jsonb->>'id' ORDER BY ts) - ts AS "left"
		FROM (SELECT ts, value FROM minikafka_topics."orders-retry-1m"
			UNION ALL SELECT ts, value FROM minikafka_topics."orders-retry-10m") r) d}),
	't', 'and not before its time');
is(value('SELECT sum(records) FROM retrying'), 0, 'no record is in a tier');

$said = run_files('postgres', 'delayed.sql');
like($said, qr/^\d+\|reminders\|bob\|t\n\d+\|reminders\|eve\|f\n\D+^t\n/m,
	'jobs for later, of which one is cancelled');
like($said, qr/^bob\|accepted\n.*^f\n\z/ms,
	'a worker gets the other one in time; then it is too late to cancel it');
is( value(q{SELECT count(*) FROM minikafka.scheduled}), 0, 'nothing is to come');

$said = run_files('postgres', 'queue.sql');
# the bag that comes again is of either partition
like($said, qr/^(?:0\|1878\|1878\|\d\n1\|0\|3122\|\d|0\|0\|1878\|\d\n1\|3122\|3122\|\d)\n/m,
	'what is read is removed, up to what is not');
like($said, qr/^0\n0\|1878\|1878\|\d\n1\|3122\|3122\|\d\n\z/m, 'then all');
is(value('SELECT count(*) FROM minikafka_topics.scans'), 0, 'no row is left');

$said = run_files('postgres', 'stuck.sql');
like($said, qr/^99\n.*violates check constraint/ms,
	'a group that is stuck goes on as a share group');
is(value(q{SELECT count(*) FROM bill}), 99, 'each record once');
is(value(q{SELECT string_agg(kind, ' ') FROM minikafka.groups WHERE group_id LIKE 'bill%'}),
	'share', 'the consumer group is gone');

done_testing();
