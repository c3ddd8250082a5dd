# Scheduled records: each is sent once, or cancelled, and in the order of its key,
# through crashes and with several sessions that send; the worker is in time; what is
# gone is not looked at again.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = new_node(
	'primary',
	"shared_preload_libraries = 'minikafka'",
	# no worker at first
	"minikafka.database = ''",
	'autovacuum = off',
	'restart_after_crash = on',
	'max_worker_processes = 20',
	'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub values_of
{
	my ($topic) = @_;

	return sql("SELECT string_agg(value, ' ' ORDER BY \"offset\")
		FROM minikafka.fetch_text('$topic', 0, 0, 1000000)");
}

# ---------------------------------------------------------------------------
# A session that sends is held at its commit

{
	sql(q{SELECT minikafka.create_topic('held', 1)});
	my $id = sql(q{SELECT minikafka.send_at('held', 'a', '2020-01-01')});
	hold_commits($node);
	my $client = start_held($node, 'CALL minikafka.deliver_due()');
	my $other  = new_session($node);

	is(ask($other, "SELECT minikafka.cancel_send($id)"),
		'f', 'held: too late to cancel');
	ask($other, q{SELECT minikafka.send_at('held', 'b', '2020-01-01')});
	ask($other, 'CALL minikafka.deliver_due()');
	pass('held: another session does not wait');
	is(ask($other, q{SELECT count(*) FROM minikafka.fetch('held', 0, 0)}),
		'0', 'held: nothing passes it');
	release_commits($node);
	finish_ok($client, 'held: it ends');
	ask($other, 'CALL minikafka.deliver_due()');
	is(values_of('held'), 'a b', 'held: each once, in order');
	$other->quit;
}

# It crashes there: the record is sent by the next one.
{
	my $id = sql(q{SELECT minikafka.send_at('held', 'c', '2020-01-01')});
	hold_commits($node);
	my $client = start_gated_delivery();
	$node->stop('immediate');
	$client->{run}->finish;
	$node->start;
	release_commits($node);
	is(sql(q{SELECT count(*) FROM minikafka.scheduled}), '1', 'crash: it is there');
	sql('CALL minikafka.deliver_due()');
	is(values_of('held'), 'a b c', 'crash: it is sent once');
}

# A delivery that has written its records, and waits before its commit record.
sub start_gated_delivery
{
	my $late = library('late');
	my $gate = new_session($node);

	ask($gate, 'SELECT pg_advisory_lock(1)');
	my $client = start_psql($node, "LOAD '$late'", 'SET late.wait = 1',
		'CALL minikafka.deliver_due()');
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted}) or die;
	return $client;
}

# ---------------------------------------------------------------------------
# A partition that append() keeps locked holds up its own topic only

{
	my $owner = new_session($node);

	sql(qq{SELECT minikafka.create_topic('$_', 1)}) for 'locked', 'free';
	sql(q{SELECT minikafka.send_at(topic, i::text, '2020-01-01', 'k')
		FROM generate_series(1, 5) i, unnest('{locked,free}'::text[]) topic});
	ask($owner, q{BEGIN; SELECT minikafka.append('locked', 0, 'k', 'appended')});
	sql('CALL minikafka.deliver_due()');
	is(values_of('free'), '1 2 3 4 5', 'append(): the other topic goes on');
	is(sql(q{SELECT DISTINCT topic, attempts, error FROM minikafka.scheduled}),
		'locked|1|canceling statement due to lock timeout',
		'append(): the records wait');
	ask($owner, 'COMMIT');
	sql('SET minikafka.clock_offset = 60; CALL minikafka.deliver_due()');
	is(values_of('locked'), 'appended 1 2 3 4 5', 'append(): they come in order');
	$owner->quit;
}

# ---------------------------------------------------------------------------
# An old snapshot: what was sent stays in the table, and is not looked at again

sub entries_read
{
	return sql(q{SELECT idx_tup_read FROM pg_stat_all_indexes
		WHERE indexrelname = 'scheduled_record_due_idx'});
}

{
	my $old = new_session($node);
	my $n   = 100_000;

	sql(q{SELECT minikafka.create_topic('many', 1)});
	ask($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	sql("SELECT count(minikafka.send_at('many', i::text,
		'2020-01-01'::timestamptz + i * interval '1 ms'))
		FROM generate_series(1, $n) i");
	my $before = entries_read();
	sql('CALL minikafka.deliver_due()');
	is(sql(q{SELECT count(*) FROM minikafka.fetch('many', 0, 0, 1000000)}),
		$n, 'old snapshot: all are sent');
	cmp_ok(entries_read() - $before,
		'<', 20 * $n, 'old snapshot: on the way, too, each is seen some times');
	sql('VACUUM minikafka.scheduled_record');
	is(sql(q{SELECT count(*) FROM minikafka.scheduled}), '0', 'none is left');
	$before = entries_read();
	sql('CALL minikafka.deliver_due()') for 1 .. 10;
	cmp_ok(entries_read() - $before,
		'<', 10 * 10_000, 'old snapshot: looks do not begin at the first one');
	# one that comes before all of them
	sql(q{SELECT minikafka.send_at('many', 'early', '2019-01-01')});
	sql('CALL minikafka.deliver_due()');
	is(sql(qq{SELECT value FROM minikafka.fetch_text('many', 0, $n)}),
		'early', 'old snapshot: an earlier one is found');
	ask($old, 'COMMIT');
	$old->quit;
}

# ---------------------------------------------------------------------------
# Order: two sessions send, and crash now and then

my $deliver = {'deliver' => "CALL minikafka.deliver_due();\n"};

{
	my $n = 20_000;

	sql(q{SELECT minikafka.create_topic('order', 1)});
	sql("SELECT count(minikafka.send_at('order', to_char(i, 'FM00000'),
		now() + i * interval '0.2 ms', 'k' || i % 7))
		FROM (SELECT i FROM generate_series(1, $n) i ORDER BY random()) o");
	sql('CREATE TABLE truth AS SELECT id, at FROM minikafka.scheduled');
	for my $round (1 .. 4)
	{
		my @clients = map { start_pgbench($node, $deliver, '-T', 1) } 1 .. 2;
		usleep(500_000);
		if ($round < 4)
		{
			$node->stop('immediate');
			$_->{run}->finish for @clients;
			$node->start;
		}
		else
		{
			finish_ok($_, 'order: none fails') for @clients;
		}
	}
	$node->poll_query_until('postgres',
		"SELECT clock_timestamp() > max(at) FROM truth") or die;
	sql('CALL minikafka.deliver_due()');
	is(sql(q{SELECT count(*), count(DISTINCT value) FROM
		minikafka.fetch_text('order', 0, 0, 1000000)}),
		"$n|$n", 'order: each once');
	# all have different times, so the order is that of all
	is(sql(q{SELECT count(*) FROM (SELECT value < lag(value) OVER
		(PARTITION BY key ORDER BY "offset") AS wrong
		FROM minikafka.fetch_text('order', 0, 0, 1000000)) w WHERE wrong}),
		'0', 'order: as the times are');
}

# ---------------------------------------------------------------------------
# Load: some schedule, some cancel, some roll back, two send; with kills

sql(q{
SELECT minikafka.create_topic('load', 3);
CREATE TABLE told (token bigint PRIMARY KEY, id bigint, cancelled boolean DEFAULT false);
CREATE SEQUENCE tokens;
CREATE FUNCTION schedule() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	t bigint := nextval('tokens');
BEGIN
	INSERT INTO told SELECT t, minikafka.send_at('load', t::text,
		clock_timestamp() + (random() - 0.3) * interval '200 ms', 'k' || t % 10);
	IF random() < 0.1 THEN
		RAISE EXCEPTION USING ERRCODE = '00XXX';
	END IF;
EXCEPTION WHEN SQLSTATE '00XXX' THEN
	NULL;
END $$;
CREATE FUNCTION cancel() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM told WHERE NOT cancelled ORDER BY token DESC LIMIT 1 OFFSET (random() * 20)::int;
	IF minikafka.cancel_send(r.id) THEN
		UPDATE told SET cancelled = true WHERE token = r.token;
	END IF;
	IF random() < 0.3 THEN
		RAISE EXCEPTION USING ERRCODE = '00XXX';
	END IF;
EXCEPTION WHEN SQLSTATE '00XXX' THEN
	NULL;
END $$});
for my $round (1 .. 4)
{
	my @clients = (
		start_pgbench($node,
			{'schedule@3' => "SELECT schedule();\n", 'cancel@1' => "SELECT cancel();\n"},
			'-c', 4, '-T', 2),
		map { start_pgbench($node, $deliver, '-T', 2) } 1 .. 2);

	usleep(1_000_000);
	if ($round < 4)
	{
		$node->stop('immediate');
		$_->{run}->finish for @clients;
		$node->start;
	}
	else
	{
		finish_ok($_, 'load: none fails') for @clients;
	}
}
sql('SET minikafka.clock_offset = 60; CALL minikafka.deliver_due()');
is(sql('SELECT count(*) FROM minikafka.scheduled'), '0', 'load: nothing is left');
cmp_ok(sql('SELECT count(*) FROM told WHERE cancelled'), '>', 0, 'load: some are cancelled');
sql(q{CREATE VIEW sent AS SELECT value::bigint AS token FROM generate_series(0, 2) p,
	minikafka.fetch_text('load', p, 0, 1000000)});
is(sql('SELECT count(*) - count(DISTINCT token) FROM sent'), '0', 'load: none twice');
is(sql('SELECT count(*) FROM told WHERE cancelled AND token IN (SELECT token FROM sent)'),
	'0', 'load: none both sent and cancelled');
is(sql('SELECT count(*) FROM told WHERE NOT cancelled AND token NOT IN (SELECT token FROM sent)'),
	'0', 'load: none lost');
is(sql('SELECT count(*) FROM sent WHERE token NOT IN (SELECT token FROM told)'),
	'0', 'load: none that was rolled back');
is(problems($node, 'load'), '', 'load: the topic is sound');

# ---------------------------------------------------------------------------
# The worker

sql(q{SELECT minikafka.create_topic('timely', 1)});

sub wait_sent
{
	my ($n, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($node->poll_query_until('postgres',
			"SELECT count(*) = $n FROM minikafka.fetch('timely', 0, 0, 1000)"), $name);
	return;
}

# what is scheduled before it knows the database
sql(q{SELECT minikafka.send_at('timely', now()::text, now())});
sql(q{ALTER SYSTEM SET minikafka.database = 'postgres'});
$node->reload;
wait_sent(1, 'worker: what was there');
# a later one does not keep it from an earlier one
sql(q{SELECT minikafka.send_at('timely', 'far', now() + interval '1 h')});
sql(q{DO $$
DECLARE
	t timestamptz;
BEGIN
	FOR i IN 1 .. 40 LOOP
		t := clock_timestamp() + random() * interval '2 s';
		PERFORM minikafka.send_at('timely', t::text, t);
		COMMIT;
	END LOOP;
END $$});
wait_sent(41, 'worker: those that are due');
my ($early, $median) = split /\|/, sql(q{
	SELECT count(*) FILTER (WHERE ts < value::timestamptz),
		percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ts - value::timestamptz) * 1000)
	FROM minikafka.fetch_text('timely', 0, 1, 1000)});
is($early, '0', 'worker: none too early');
cmp_ok($median, '<', 100, 'worker: mostly within milliseconds');
note("median $median ms");

# a cancelled one comes when the cancel rolls back
{
	my $client = new_session($node);
	my $id = sql(q{SELECT minikafka.send_at('timely', 'cancelled', now() + interval '1 s')});

	ask($client, "BEGIN; SELECT minikafka.cancel_send($id)");
	sql('SELECT pg_sleep(1.5)');
	wait_sent(41, 'worker: not while it is cancelled');
	ask($client, 'ROLLBACK');
	wait_sent(42, 'worker: when that rolls back');
	$client->quit;
}

# after a restart, and after a crash of the worker
sql(q{SELECT minikafka.send_at('timely', 'restart', now() + interval '1 s')});
$node->restart;
wait_sent(43, 'worker: after a restart');
sql(q{SELECT minikafka.send_at('timely', 'crash', now() + interval '2 s')});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE backend_type = 'minikafka delivery'}) or die;
kill 'KILL', sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'minikafka delivery'});
wait_until_up($node);
wait_sent(44, 'worker: after a crash');

# it does not keep a database
sql('CREATE DATABASE other');
sql(q{ALTER SYSTEM SET minikafka.database = 'postgres, other'});
$node->safe_psql('other', q{CREATE EXTENSION minikafka; SELECT minikafka.create_topic('t', 1)});
$node->reload;
$node->safe_psql('other', q{SELECT minikafka.send_at('t', 'x', now() + interval '5 s')});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity
	WHERE backend_type = 'minikafka delivery' AND datname = 'other'}) or die;
sql('DROP DATABASE other');
pass('worker: the database can be dropped');
# nor one without the extension
sql('DROP EXTENSION minikafka CASCADE');
sql('CREATE EXTENSION minikafka');
sql(q{SELECT minikafka.create_topic('timely', 1); SELECT minikafka.send_at('timely', 'x', now())});
wait_sent(1, 'worker: the extension is made again');

is(server_errors($node), '', 'the log has no errors that are always wrong');
$node->stop;
done_testing();
