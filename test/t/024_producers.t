# Idempotent producers and the inbox where things break: acknowledgements that
# are lost, sessions and servers that end, copies, a standby; and many sessions
# that send the same.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'log_error_verbosity = verbose',
	'restart_after_crash = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Records of a partition, as "offset:value".
sub records
{
	my ($where, $topic, $partition) = @_;

	return $where->safe_psql('postgres',
		qq{SELECT string_agg("offset" || ':' || value, ' ' ORDER BY "offset")
		FROM minikafka.fetch_text('$topic', $partition, 0, 1000000)});
}

# No transaction failed, not even with a deadlock.
sub all_well
{
	my ($load, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like(finish_ok($load, "$name: it ran"),
		qr/number of failed transactions: 0 /, "$name: no deadlock");
	return;
}

# ---------------------------------------------------------------------------
# A lost acknowledgement.  A commit that is held is decided, and not acknowledged.

# Returns when so many sessions wait for a producer's lock.
sub wait_waiting
{
	my ($n) = @_;

	$node->poll_query_until('postgres',
		qq{SELECT count(*) = $n FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted})
	  or die "no $n sessions wait";
	return;
}

my $one = q{producer => 'p', sequence => 1};
sql(q{SELECT minikafka.create_topic('lost', 2);
	SELECT minikafka.send('lost', 'p0', partition => 0, producer => 'p', sequence => 0)});

# the client dies, before it knows
hold_commits($node);
my $client = start_held($node, qq{BEGIN; SELECT minikafka.send('lost', 'plain', partition => 0);
	SELECT minikafka.send('lost', 'p1', partition => 0, $one); COMMIT});
$client->{run}->kill_kill;
my $retry = new_session($node);
my $other = new_session($node);
start_query($retry, qq{SELECT minikafka.append('lost', 0, NULL, 'p1', $one)});
start_query($other, qq{SELECT minikafka.send('lost', 'p1', partition => 0, $one)});
wait_waiting(2);
is(records($node, 'lost', 0), '0:p0', 'it is not decided: no reader sees it');
release_commits($node);
is(finish_query($retry), '2', 'a retry by append() waits, and has the original offset');
is(finish_query($other), '0', 'and one by send()');
is(ask($other, 'SELECT * FROM minikafka.last_sent()'),
	'lost|0|2|1', 'which last_sent() tells');
is(records($node, 'lost', 0), '0:p0 1:plain 2:p1', 'it is there once');
is(sql(qq{SELECT minikafka.append('lost', 0, NULL, 'p1', $one)}),
	'2', 'also later, in another session');

# the session is ended while it waits: it has committed
hold_commits($node);
my $two = q{producer => 'p', sequence => 2};
$client = start_held($node, qq{SELECT minikafka.send('lost', 'p2', partition => 0, $two)});
sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE wait_event = 'SyncRep'});
$client->{run}->finish;
isnt($client->{run}->result(0), 0, 'the client is told of an error');
release_commits($node);
is( sql(qq{SELECT minikafka.send('lost', 'p2', partition => 0, $two);
		SELECT * FROM minikafka.last_sent()}),
	"0\nlost|0|3|1",
	'a retry finds it there');
is( sql(q{SELECT * FROM minikafka.producer_state('p')}),
	'lost|0|0|2|3', 'and so does producer_state()');

# it has not committed.  Kafka case T34: it is as if rolled back
my $three = q{producer => 'p', sequence => 3};
my $dies = new_session($node);
ask($dies, 'CREATE TABLE business (what text)');
my $pid = ask($dies, 'SELECT pg_backend_pid()');
ask($dies,
	qq{BEGIN; INSERT INTO business VALUES ('gone');
	SELECT minikafka.append('lost', 0, NULL, 'gone', $three)});
start_query($retry, qq{SELECT minikafka.append('lost', 0, NULL, 'p3', $three)});
wait_waiting(1);
sql("SELECT pg_terminate_backend($pid)");
is(finish_query($retry), '4', 'a session that is ended has sent nothing');
is(sql('SELECT count(*) FROM business'), '0', 'nor done anything else');
eval { $dies->quit };

# Kafka case T20: the transaction has lasted too long
my $four = q{producer => 'p', sequence => 4};
my $idle = new_session($node);
$pid = ask($idle, 'SELECT pg_backend_pid()');
start_query($idle,
	qq{SET idle_in_transaction_session_timeout = '1ms'; BEGIN;
	SELECT minikafka.send('lost', 'gone', partition => 0, $four)});
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
  or die;
eval { $idle->quit };
is(sql(qq{SELECT minikafka.append('lost', 0, NULL, 'p4', $four)}),
	'5', 'a session that was idle for too long has sent nothing');
is( records($node, 'lost', 0),
	'0:p0 1:plain 2:p1 3:p2 4:p3 5:p4', 'there is no hole');

# an event whose acceptance is not acknowledged
hold_commits($node);
$client = start_held($node, q{SELECT minikafka.inbox_accept('inbox', 'e', 'v')});
$client->{run}->kill_kill;
start_query($retry, q{SELECT minikafka.inbox_accept('inbox', 'e', 'v')});
$node->poll_query_until('postgres',
	q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted})
  or die;
release_commits($node);
is(finish_query($retry), 'f', 'inbox_accept(): it was accepted');
$_->quit for $retry, $other;

# ---------------------------------------------------------------------------
# A client that is ended again and again, and goes on where producer_state() says

sql(q{
SELECT minikafka.create_topic('restarts', 1, segment_records => 300);
-- goes on some records earlier than it must
CREATE PROCEDURE produce(last bigint) LANGUAGE plpgsql AS $$
DECLARE
	next bigint := COALESCE((SELECT last_sequence + 1
		FROM minikafka.producer_state('r')), 0);
BEGIN
	FOR i IN greatest(next - 5, 0) .. last LOOP
		IF i % 3 = 0 THEN
			PERFORM minikafka.send('restarts', i::text, partition => 0, producer => 'r', sequence => i);
		ELSE
			PERFORM minikafka.append('restarts', 0, NULL, i::text, producer => 'r', sequence => i);
		END IF;
		-- now and then the next one too, or it fails at first
		IF i % 5 = 0 AND i < last THEN
			PERFORM minikafka.send('restarts', (i + 1)::text, partition => 0, producer => 'r', sequence => i + 1);
		ELSIF i % 7 = 0 THEN
			ROLLBACK;
			PERFORM minikafka.send('restarts', i::text, partition => 0, producer => 'r', sequence => i);
		END IF;
		COMMIT;
	END LOOP;
END $$});

sub end_of_restarts
{
	return sql(q{SELECT end_offset FROM minikafka.offsets('restarts', 0)});
}

for my $way ('session', 'session', 'server', 'backend')
{
	my $before = end_of_restarts();
	my $producer = start_psql($node, 'CALL produce(1000000000)');

	$node->poll_query_until('postgres',
		"SELECT end_offset > $before + 300 FROM minikafka.offsets('restarts', 0)")
	  or die;
	my $pid = sql(q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL%'});
	if ($way eq 'session')
	{
		sql("SELECT pg_terminate_backend($pid)");
	}
	elsif ($way eq 'server')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		kill 'KILL', $pid;
	}
	$producer->{run}->finish;
	wait_until_up($node);
	is( sql(q{SELECT last_sequence + 1 = end_offset AND last_offset = last_sequence
			FROM minikafka.producer_state('r'), minikafka.offsets('restarts', 0)}),
		't', "$way ended: the state is that of the records");
}
my $last = end_of_restarts() + 50;
sql("CALL produce($last)");
is( sql(q{SELECT count(*), bool_and(value::bigint = "offset")
		FROM minikafka.fetch_text('restarts', 0, 0, 1000000)}),
	($last + 1) . '|t', 'each is there once, in order');
is(problems($node, 'restarts'), '', 'the topic is sound');

# ---------------------------------------------------------------------------
# Many sessions that send the same sequences at once, and retry

my ($clients, $each) = (8, 250);
sql(q{SELECT minikafka.create_topic('same', 3, segment_records => 100);
	CREATE TABLE given (sequence bigint, "offset" bigint)});
my $n = $each - 1;
all_well(
	start_pgbench(
		$node, {
			# each goes on only when what it has sent is there
			'same' => q{
\set n :n + 1
\set way random(1, 5)
\if :way = 1
BEGIN;
SELECT minikafka.send('same', :n::text, partition => 0, producer => 'same', sequence => :n);
ROLLBACK;
\elif :way = 2
BEGIN;
SELECT minikafka.append('same', 0, NULL, :n::text, producer => 'same', sequence => :n);
ROLLBACK;
\endif
\if :way <= 3
SELECT minikafka.append('same', 0, NULL, :n::text, producer => 'same', sequence => :n) AS given \gset
INSERT INTO given VALUES (:n, :given);
\elif :way = 4
SELECT minikafka.send('same', :n::text, partition => 0, producer => 'same', sequence => :n);
INSERT INTO given SELECT :n, base_offset FROM minikafka.last_sent();
\else
BEGIN;
SELECT minikafka.send('same', greatest(:n - 1, 0)::text, partition => 0, producer => 'same', sequence => greatest(:n - 1, 0)),
	minikafka.send('same', :n::text, partition => 0, producer => 'same', sequence => :n);
COMMIT;
\endif
},
		},
		"-c$clients", '-j2', "-t$each", '-D', 'n=-1'),
	'the same sequences');
is( sql(q{SELECT count(*), bool_and(value::bigint = "offset")
		FROM minikafka.fetch_text('same', 0, 0, 1000000)}),
	"$each|t", 'each is there once, in order');
is(sql('SELECT count(*) > 0, bool_and(sequence = "offset") FROM given'),
	't|t', 'each session was told where');
is( sql(q{SELECT * FROM minikafka.producer_state('same')}),
	"same|0|0|$n|$n", 'the last is known');

# two producers and two partitions, in any order, with plain records between
all_well(
	start_pgbench(
		$node, {
			'crossed' => q{
\set n :n + 1
\set a random(0, 1)
\set b random(1, 2)
BEGIN;
SELECT minikafka.send('same', 'plain', partition => :b);
SELECT minikafka.send('same', format('x%s:%s', :a, :n), partition => :b, producer => 'x' || :a, sequence => :n);
SELECT minikafka.send('same', format('x%s:%s', 1 - :a, :n), partition => :b, producer => 'x' || 1 - :a, sequence => :n);
SELECT minikafka.send('same', format('x%s:%s', :a, :n), partition => 3 - :b, producer => 'x' || :a, sequence => :n);
SELECT minikafka.send('same', 'plain', partition => 3 - :b);
SELECT minikafka.send('same', format('x%s:%s', 1 - :a, :n), partition => 3 - :b, producer => 'x' || 1 - :a, sequence => :n);
COMMIT;
},
		},
		"-c$clients", '-j2', "-t$each", '-D', 'n=-1'),
	'two producers');
is( sql(qq{SELECT string_agg(DISTINCT format('%s %s %s %s', records, numbers, first, in_order), ', ')
		FROM (SELECT p, producer, count(*) AS records, count(DISTINCT number) AS numbers,
				min(number) AS first, bool_and(number = place - 1) AS in_order
			FROM (SELECT p, split_part(value, ':', 1) AS producer, split_part(value, ':', 2)::int AS number,
					row_number() OVER (PARTITION BY p, split_part(value, ':', 1) ORDER BY "offset") AS place
				FROM generate_series(1, 2) p, minikafka.fetch_text('same', p, 0, 1000000)
				WHERE value <> 'plain') r
			GROUP BY p, producer) s}),
	"$each $each 0 t", 'each is there once, in order');
is( sql(q{SELECT count(*) FROM generate_series(1, 2) p, minikafka.fetch('same', p, 0, 1000000)
		WHERE value = 'plain'}),
	2 * $clients * $each, 'and all plain records');
is(problems($node, 'same'), '', 'the topic is sound');

# many that accept the same events: each is the first for one of them
sql(q{CREATE TABLE effects (event int)});
all_well(
	start_pgbench(
		$node, {
			'accept' => q{
\set n :n + 1
\set commits random(0, 2)
BEGIN;
INSERT INTO effects SELECT :n WHERE minikafka.inbox_accept('inbox', 'e' || :n, int4send(:n));
\if :commits > 0
COMMIT;
\else
ROLLBACK;
INSERT INTO effects SELECT :n WHERE minikafka.inbox_accept('inbox', 'e' || :n, int4send(:n));
\endif
},
		},
		"-c$clients", '-j2', "-t$each", '-D', 'n=-1'),
	'the same events');
is(sql('SELECT count(*), count(DISTINCT event), max(event) FROM effects'),
	"$each|$each|$n", 'each has its effect once');

# ---------------------------------------------------------------------------
# A restart, a dump, a standby: what was sent is known, and numbers go on

sql(q{
CREATE ROLE owner;
GRANT USAGE ON SCHEMA minikafka TO owner;
SELECT minikafka.create_topic('kept', 2, segment_records => 10);
GRANT INSERT, SELECT ON minikafka_topics.kept TO owner;
SET ROLE owner;
BEGIN;
SELECT minikafka.send('kept', 'k' || i, partition => 0, producer => 'k', sequence => i),
	minikafka.send('kept', 'plain', partition => 0)
FROM generate_series(0, 11) i;
COMMIT;
SELECT minikafka.init_producer('k');
SELECT minikafka.send('kept', 'l' || i, partition => 0, producer => 'k', sequence => i) FROM generate_series(0, 11) i;
SELECT minikafka.send('kept', 'm', partition => 1, producer => 'm', sequence => 0);
SELECT minikafka.inbox_accept('kept', 'e', 'v');
RESET ROLE;
SELECT minikafka.delete_records('kept', 0, 30);
});

# All that is to be kept, as text.
sub state_of
{
	my ($where) = @_;

	return $where->safe_psql(
		'postgres', q{
SELECT * FROM minikafka.producer ORDER BY producer;
SELECT * FROM minikafka.producer_progress ORDER BY 1, 2, 3, 4, 5;
SELECT p.producer, s.* FROM minikafka.producer p, minikafka.producer_state(producer) s ORDER BY 1, 2, 3;
SELECT * FROM minikafka.inbox_consumer ORDER BY 1;
SELECT * FROM minikafka.inbox ORDER BY 1, 2;
});
}

my $state = state_of($node);
like($state, qr/^k\|\d+\|owner\|1\|/m,      'before: a producer');
like($state, qr/^k\|kept\|0\|1\|11\|35$/m, 'before: what it has sent');

sub goes_on
{
	my ($where, $name) = @_;
	my $ask = sub { return $where->safe_psql('postgres', $_[0]) };

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(state_of($where), $state, "$name: everything is kept");
	# not for good, so that there can be another $name
	is( $ask->(
			q{SET ROLE owner; BEGIN;
			SELECT minikafka.append('kept', 0, NULL, 'again', producer => 'k', sequence => 0, epoch => 1),
				minikafka.append('kept', 0, NULL, 'l11', producer => 'k', sequence => 11),
				minikafka.append('kept', 0, NULL, 'l12', producer => 'k', sequence => 12),
				minikafka.append('kept', 1, NULL, 'm', producer => 'm', sequence => 0),
				minikafka.inbox_accept('kept', 'e', 'v'), minikafka.inbox_accept('kept', 'e2');
			ROLLBACK}),
		'24|35|36|0|f|t',
		"$name: repeats are known, and numbers go on");
	is(sqlstate($where, q{SET ROLE owner; SELECT minikafka.append('kept', 0, NULL, 'v', producer => 'k', sequence => 13)}),
		'MK045', "$name: a gap");
	is(sqlstate($where, q{SET ROLE owner; SELECT minikafka.append('kept', 0, NULL, 'v', producer => 'k', sequence => 12, epoch => 0)}),
		'MK047', "$name: an old epoch");
	is(sqlstate($where, q{SET ROLE owner; SELECT minikafka.append('kept', 0, NULL, 'v', producer => 'same', sequence => 0)}),
		'42501', "$name: another role's producer");
	is(sqlstate($where, q{SET ROLE owner; SELECT minikafka.inbox_accept('kept', 'e', 'w')}),
		'MK100', "$name: another payload");
	is(sqlstate($where, q{SET ROLE owner; SELECT minikafka.inbox_accept('inbox', 'e3')}),
		'42501', "$name: another role's consumer");
	is( $ask->(
			q{BEGIN; SELECT epoch FROM minikafka.init_producer('k');
			SELECT producer_id > (SELECT max(producer_id) FROM minikafka.producer) FROM minikafka.init_producer('fresh');
			SELECT minikafka.inbox_accept('fresh', 'e');
			SELECT count(*) FROM minikafka.inbox_consumer a, minikafka.inbox_consumer b
			WHERE a.consumer_no = b.consumer_no AND a.consumer <> b.consumer;
			ROLLBACK}),
		"2\nt\nt\n0",
		"$name: new ones have new numbers");
	return;
}

goes_on($node, 'as it is');
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q{BEGIN; SELECT minikafka.append('kept', 0, NULL, 'gone', producer => 'k', sequence => 12)});
$node->stop('immediate');
eval { $session->quit };
$node->start;
goes_on($node, 'after an immediate shutdown');
$node->restart;
goes_on($node, 'after a restart');

# restored into a cluster that has had producers before
my $folder = PostgreSQL::Test::Utils::tempdir('dumps');
my $copy   = new_node('copy');
$copy->safe_psql(
	'postgres', q{
CREATE ROLE owner;
SELECT minikafka.create_topic('t' || i, 1) FROM generate_series(1, 3) i;
SELECT minikafka.init_producer('p' || i) FROM generate_series(1, 3) i;
DROP EXTENSION minikafka CASCADE});
$node->command_ok(
	[ 'pg_dump', '-f', "$folder/plain.sql", '-d', $node->connstr('postgres') ],
	'pg_dump');
$copy->command_ok(
	[
		'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/plain.sql",
		'-o', '/dev/null', '-d', $copy->connstr('postgres')
	],
	'psql');
goes_on($copy, 'restored');
$copy->stop;

# a standby shows the state, and takes nothing
my $standby = new_standby($node, 'standby');
wait_standby($node, $standby);
is(state_of($standby), $state, 'standby: everything is there');
for my $call (
	q{send('kept', 'v', 'k', producer => 'k', sequence => 0)},
	q{append('kept', 0, NULL, 'v', producer => 'k', sequence => 11)},
	q{init_producer('k')}, q{init_producer('fresh')},
	q{inbox_accept('kept', 'e')})
{
	is(sqlstate($standby, "SELECT minikafka.$call"), '25006', "refused: $call");
}
is( $standby->safe_psql('postgres',
		q{SELECT * FROM minikafka.producer_state('k')}),
	'kept|0|1|11|35', 'producer_state()');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q{BEGIN; SELECT minikafka.append('kept', 0, NULL, 'gone', producer => 'k', sequence => 12)});
wait_standby($node, $standby);
$node->stop('immediate');
eval { $session->quit };
$standby->promote;
goes_on($standby, 'promoted');
is( $standby->safe_psql('postgres',
		q{SELECT minikafka.append('kept', 0, NULL, 'l11', producer => 'k', sequence => 11),
			minikafka.append('kept', 0, NULL, 'l12', producer => 'k', sequence => 12)}),
	'35|36', 'promoted: the producer goes on');
is(problems($standby, 'kept'), '', 'the topic is sound');

is(server_errors($node), '', 'the server has no error that should not be');

done_testing();
