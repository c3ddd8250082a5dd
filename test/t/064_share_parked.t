# Parked keys of a share group in a storm: workers in all isolation levels whose
# work fails for good now and then, redrives of all dead letters or of some,
# maintenance, sessions that are terminated and a server that stops at once.  The
# effect of each record is there once, in the order of its key, and each worker has
# seen all effects before its own, however often a record was redriven.
#
# And a key that gets many dead letters.
#
# MINIKAFKA_STORM=10 gives each worker ten times as many calls.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $times   = $ENV{MINIKAFKA_STORM} // 1;
my $keys    = 10;
my $records = 2000;

# What a session may be told: that it fails itself, of SERIALIZABLE, and when its
# session or the server is gone; and by a redrive that no record is there.
my @expected = qw(P0001 40001 57P01 57P02 57P03 MK001);

my $node = new_node('primary', 'log_error_verbosity = verbose');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
SELECT minikafka.create_topic('storm', 2, segment_records => 200),
	minikafka.create_topic('storm.dead', 2, segment_records => 200);
SELECT count(minikafka.send('storm', (i / $keys + 1)::text, 'k' || i % $keys))
FROM generate_series(0, $records - 1) i;
SELECT minikafka.create_share_group('storm', '{storm}', backoff => '2 ms',
	max_backoff => '5 ms', max_deliveries => 2, dead_letter_topic => 'storm.dead');
SELECT minikafka.set_group_option('storm', 'on_exhausted', 'dead_letter_key');
CREATE TABLE effect (key text, n int, seen int);
CREATE INDEX ON effect (key);
});

sql(q{
CREATE FUNCTION effect(k text, value text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO effect VALUES (k, value::int,
		(SELECT coalesce(max(n), 0) FROM effect e WHERE e.key = k))
$$;

-- One transaction of a worker
CREATE FUNCTION work(most int, failures float) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM minikafka.acquire_text('storm', most) LOOP
		IF random() < failures THEN
			PERFORM minikafka.acknowledge('storm', r.receipt, 'fail',
				retry_after => '1 ms');
		ELSIF random() < failures THEN
			BEGIN
				CONTINUE WHEN minikafka.acknowledge('storm', r.receipt)
					= 'released';
				PERFORM effect(r.key, r.value);
				RAISE EXCEPTION 'in a savepoint';
			EXCEPTION WHEN raise_exception THEN
				PERFORM minikafka.acknowledge('storm', r.receipt, 'fail',
					retry_after => '1 ms');
			END;
		ELSIF minikafka.acknowledge('storm', r.receipt) <> 'released' THEN
			PERFORM effect(r.key, r.value);
		END IF;
	END LOOP;
	PERFORM pg_sleep(random() * 0.005 * sign(failures));
	IF random() < failures / 4 THEN
		RAISE EXCEPTION 'rolled back';
	END IF;
END $$;

-- One redrive: of all, of some, or of one
CREATE FUNCTION redrive() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p int := (random() * 1)::int;
BEGIN
	CASE (random() * 3)::int
		WHEN 0 THEN PERFORM minikafka.redrive('storm.dead');
		WHEN 1 THEN PERFORM minikafka.redrive('storm.dead', max_records => 5);
		WHEN 2 THEN PERFORM minikafka.redrive('storm.dead', p, max_records => 3);
		ELSE PERFORM minikafka.redrive('storm.dead', p,
			(random() * (SELECT end_offset FROM minikafka.partitions
				WHERE topic = 'storm.dead' AND partition = p))::bigint);
	END CASE;
	PERFORM pg_sleep(random() * 0.05);
	IF random() < 0.2 THEN
		RAISE EXCEPTION 'rolled back';
	END IF;
END $$;
});

# ---------------------------------------------------------------------------

my $dir   = PostgreSQL::Test::Utils::tempdir('share_parked');
my $files = 0;
my %states;

# Starts a program of several sessions, one after the other.
sub start_program
{
	my ($level, $calls, $call) = @_;
	my @files;

	for (1 .. 3)
	{
		my $file = "$dir/" . $files++;

		append_to_file($file, join "\n",
			"SET default_transaction_isolation = '$level';",
			"SET application_name = 'worker';",
			(map { $call->() } 1 .. $calls * $times), '');
		push @files, $file;
	}
	return start_scripts($node, @files);
}

# A round of the storm; with "stop", the server stops at once in its middle.
sub storm
{
	my ($stop) = @_;
	my @programs;

	for my $level ('read committed', 'repeatable read', 'serializable')
	{
		push @programs, map {
			start_program($level, 60,
				sub { return sprintf 'SELECT work(%d, 0.05);', 1 + int rand 8; })
		} 1 .. 2;
	}
	push @programs,
	  start_program('read committed', 15, sub { return 'SELECT redrive();'; });
	push @programs,
	  start_program('read committed', 5,
		sub { return 'CALL minikafka.maintain(); SELECT pg_sleep(0.1);'; });
	for (1 .. 15 * $times)
	{
		usleep(100_000);
		sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'worker' ORDER BY random() LIMIT 1});
		last if $stop and $_ == 8;
	}
	if ($stop)
	{
		$node->stop('immediate');
		$node->start;
	}
	for (@programs)
	{
		$_->{run}->finish;
		$states{$1}++ while $_->{err} =~ /(?:ERROR|FATAL):\s+(\w{5})/g;
	}
	return;
}

storm(1);
storm(0);
note('in the storm: ', sql('SELECT count(*) FROM effect'), ' effects, ',
	sql(q{SELECT sum(end_offset) FROM minikafka.partitions
		WHERE topic = 'storm.dead'}), ' dead letters');
note(join ', ', map { "$_: $states{$_}" } sort keys %states);
cmp_ok(
	sql(q{SELECT count(*) FROM minikafka_topics."storm.dead"
		WHERE headers->>'__dlq.errors.message' LIKE '%an earlier one of its key%'}),
	'>', 0, 'records have followed an earlier one');
delete @states{@expected};
is_deeply(\%states, {}, 'no unexpected error');

# The rest, without failures
my $ended = 0;
for (1 .. 1000)
{
	sql(q{SELECT minikafka.redrive('storm.dead')}) if $_ % 10 == 0;
	sql(q{SELECT work(50, 0)});
	$ended = sql('SELECT count(*) FROM effect') >= $records;
	last if $ended;
}
ok($ended, 'all records are done');
is( sql('SELECT count(*), count(DISTINCT (key, n)) FROM effect'),
	"$records|$records", 'the effect of each record is there once');
is(sql('SELECT count(*) FROM effect WHERE seen <> n - 1'),
	'0', 'each worker has seen the effects before its own');
is(sql(q{SELECT count(*) FROM minikafka.acquire('storm')}),
	'0', 'nothing is left');
is(sql(q{SELECT count(*) FROM minikafka.share_deliveries WHERE state = 'parked'}),
	'0', 'no key is parked');
sql('CALL minikafka.maintain()');
is(sql('SELECT count(*) FROM minikafka.share_parked'),
	'0', 'maintenance has forgotten the parked keys');
is(problems($node, 'storm'),      '', 'the topic is sound');
is(problems($node, 'storm.dead'), '', 'that of dead letters, too');

# ---------------------------------------------------------------------------
# A key with many dead letters: one more of them costs what the first ones did

sub entries_read
{
	return sql(q{SELECT sum(idx_tup_read) FROM pg_stat_all_indexes
		WHERE relname = 'share_parked'});
}

# How many index entries a statement reads.
sub cost
{
	my $before = entries_read();

	sql("$_[0]; SELECT pg_stat_force_next_flush()");
	return entries_read() - $before;
}

sub follow
{
	return cost(q{SELECT count(*) FROM minikafka.acquire('long')});
}

sql(q{
SELECT minikafka.create_topic('long', 1), minikafka.create_topic('long.dead', 1);
SELECT count(minikafka.send('long', i::text, 'k')) FROM generate_series(0, 600) i;
SELECT minikafka.create_share_group('long', '{long}', max_deliveries => 1,
	dead_letter_topic => 'long.dead');
SELECT minikafka.set_group_option('long', 'on_exhausted', 'dead_letter_key');
SELECT minikafka.acknowledge('long', receipt, 'fail')
FROM minikafka.acquire('long');
SELECT pg_stat_force_next_flush();
});
my @reads = map { follow() } 1 .. 6;
note("index entries read: @reads");
is(sql(q{SELECT count(*) FROM minikafka.share_parked}),
	'601', 'the later records have followed');
cmp_ok($reads[-1], '<', 2 * $reads[0], 'the last ones cost as the first ones');

# They come back, and are worked off: in one transaction, and in one each.  Each
# record costs a few entries, however many come after it.
sql(q{SELECT minikafka.redrive('long.dead')});
my $many = cost(q{SELECT count(*) FROM minikafka.acquire('long', 300, accept => true)});
note("index entries read for 300 records: $many");
cmp_ok($many, '<', 300 * 20, 'many in a transaction cost a few entries each');
is(sql(q{SELECT count(*) FROM minikafka.share_parked}),
	'301', 'a record that is done has no row');
my $each = cost(join ';',
	map { q{SELECT value FROM minikafka.acquire_text('long', accept => true)} } 1 .. 100);
note("index entries read for 100 records: $each");
cmp_ok($each, '<', 100 * 20 + 2000, 'one in a transaction does, too');

# Dead letters that are gone: the first worker that comes to the key reads past
# them, and removes their rows.
sql(q{
SELECT count(*) FROM minikafka.acquire('long', 300, accept => true);
SELECT count(minikafka.send('long', 'x' || i, 'k')) FROM generate_series(0, 300) i;
SELECT minikafka.acknowledge('long', receipt, 'fail') FROM minikafka.acquire('long');
});
follow() for 1 .. 3;
is(sql(q{SELECT count(*) FROM minikafka.share_parked}), '301',
	'there are dead letters again');
sql(q{SELECT minikafka.delete_records('long.dead', 0, end_offset - 1)
	FROM minikafka.partitions WHERE topic = 'long.dead'});
sql(q{SELECT minikafka.send('long', 'y', 'k')});
cmp_ok(follow(), '>', 300, 'a record follows the one that is left');
is(sql(q{SELECT count(*) FROM minikafka.share_parked}), '2',
	'the rows of those that are gone are removed');
sql(q{SELECT minikafka.delete_records('long.dead', 0, end_offset)
	FROM minikafka.partitions WHERE topic = 'long.dead'});
sql(q{SELECT minikafka.send_many('long', '{z0,z1}', '{k,k}')});
is( sql(q{SELECT string_agg(value, ' ') FROM minikafka.acquire_text('long', 9, accept => true)}),
	'z0 z1', 'when none is left, the key is free');
is(sql(q{SELECT count(*) FROM minikafka.share_parked}), '0', 'and has no row');

is(server_errors($node), '', 'no deadlock, no internal error');

done_testing();
