# Workers of share groups in all isolation levels, with failures, savepoints,
# rollbacks, sessions that are terminated, one that is killed, which crashes the
# server, and a server that stops at once: the effect of each record is there once, in
# the order of its key, and each worker has seen all effects before its own.  Under
# acquisition locks nobody answers who has lost the record.
#
# MINIKAFKA_STORM=10 gives each worker ten times as many calls.  MINIKAFKA_KEYS,
# MINIKAFKA_RECORDS and MINIKAFKA_WORKERS set the numbers of these.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $times   = $ENV{MINIKAFKA_STORM} // 1;
my $keys    = $ENV{MINIKAFKA_KEYS} // 12;
my $records = $ENV{MINIKAFKA_RECORDS} // 5000;
my $workers = $ENV{MINIKAFKA_WORKERS} // 15;

# What a worker may be told: that it fails itself, of SERIALIZABLE, and when its
# session or the server is gone.
my @expected = qw(P0001 40001 57P01 57P02 57P03);

my $node = new_node('primary', 'log_error_verbosity = verbose',
	'restart_after_crash = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
SELECT minikafka.create_topic('storm', 3, segment_records => 200);
SELECT count(minikafka.send('storm', (i / $keys + 1)::text, 'k' || i % $keys))
FROM generate_series(0, $records - 1) i;
SELECT minikafka.create_share_group(g, '{storm}', backoff => '5 ms',
	max_backoff => '20 ms', max_deliveries => 1000000)
FROM unnest('{transactions,locks}'::text[]) g;
CREATE TABLE effect (group_id text, partition int, "offset" bigint, key text,
	n int, seen int, token bigint);
CREATE INDEX ON effect (group_id, key);
});

sql(q{
-- The effect of a record, with what the worker sees of those before
CREATE FUNCTION effect(g text, partition int, "offset" bigint, k text, value text,
	token bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO effect VALUES (g, partition, "offset", k, value::int,
		(SELECT coalesce(max(n), 0) FROM effect e
			WHERE e.group_id = g AND e.key = k), token)
$$;

-- One transaction of a worker
CREATE FUNCTION work(most int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM minikafka.acquire_text('transactions', most) LOOP
		IF random() < 0.05 THEN
			PERFORM minikafka.acknowledge('transactions', r.receipt, 'fail',
				retry_after => '2 ms');
		ELSIF random() < 0.05 THEN
			PERFORM minikafka.acknowledge('transactions', r.receipt, 'release');
		ELSIF random() < 0.3 THEN
			BEGIN
				CONTINUE WHEN minikafka.acknowledge('transactions', r.receipt)
					= 'released';
				PERFORM effect('transactions', r.partition, r."offset", r.key,
					r.value, NULL);
				IF random() < 0.5 THEN
					RAISE EXCEPTION 'in a savepoint';
				END IF;
			EXCEPTION WHEN raise_exception THEN
				PERFORM minikafka.acknowledge('transactions', r.receipt, 'fail',
					retry_after => '2 ms');
			END;
		ELSIF minikafka.acknowledge('transactions', r.receipt) <> 'released' THEN
			PERFORM effect('transactions', r.partition, r."offset", r.key, r.value,
				NULL);
		END IF;
	END LOOP;
	-- time for others to come in between
	PERFORM pg_sleep(random() * 0.005);
	IF random() < 0.1 THEN
		RAISE EXCEPTION 'rolled back';
	END IF;
END $$;

-- Work under an acquisition lock, which takes too long sometimes
CREATE PROCEDURE lock_work() LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM minikafka.acquire_text('locks', lock_duration => '30 ms');
	COMMIT;
	IF r.receipt IS NULL THEN
		RETURN;
	END IF;
	PERFORM pg_sleep(random() * CASE WHEN random() < 0.2 THEN 0.1 ELSE 0.01 END);
	COMMIT;
	BEGIN
		IF random() < 0.1 THEN
			PERFORM minikafka.renew('locks', r.receipt, '50 ms');
		ELSIF random() < 0.05 THEN
			PERFORM minikafka.acknowledge('locks', r.receipt, 'fail',
				retry_after => '2 ms');
			RETURN;
		END IF;
		PERFORM minikafka.acknowledge('locks', r.receipt);
		PERFORM effect('locks', r.partition, r."offset", r.key, r.value,
			r.fencing_token);
	EXCEPTION WHEN SQLSTATE 'MK121' OR lock_not_available THEN
		-- it was lost
		PERFORM 1;
	END;
END $$;
});

# ---------------------------------------------------------------------------

my $dir  = PostgreSQL::Test::Utils::tempdir('share_storm');
my %call = (
	transactions => sub { return sprintf 'SELECT work(%d);', 1 + int rand 8; },
	locks        => sub { return 'CALL lock_work();'; });
my $files = 0;
my %states;

# Starts a worker of a group, which has several sessions, one after the other.
sub start_worker
{
	my ($group, $level) = @_;
	my @files;

	for (1 .. 3)
	{
		my $file = "$dir/" . $files++;

		append_to_file($file, join "\n",
			"SET default_transaction_isolation = '$level';",
			"SET application_name = 'worker';",
			(map { $call{$group}->() } 1 .. 60 * $times), '');
		push @files, $file;
	}
	return start_scripts($node, @files);
}

# A round of the storm.  In its midst the server stops at once, or a session is
# killed, after which the server starts again, or nothing more happens.
sub storm
{
	my ($crash) = @_;
	my @levels = ('read committed', 'repeatable read', 'serializable');
	my @groups = (('transactions') x 3, 'locks', 'locks');
	my @workers =
	  map { start_worker($groups[ $_ % @groups ], $levels[ $_ % @levels ]) }
	  0 .. $workers - 1;

	for (1 .. 20 * $times)
	{
		usleep(100_000);
		sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'worker' ORDER BY random() LIMIT 1});
		last if $crash ne 'none' and $_ == 5;
	}
	if ($crash eq 'stop')
	{
		$node->stop('immediate');
		$node->start;
	}
	elsif ($crash eq 'kill')
	{
		# one that ends at this moment does not take the server with it
		for (1 .. 100)
		{
			my $pid = sql(q{SELECT pid FROM pg_stat_activity
				WHERE application_name = 'worker' ORDER BY random() LIMIT 1});
			kill 'KILL', $pid if $pid ne '';
			usleep(100_000);
			last if slurp_file($node->logfile) =~ /terminated by signal 9/;
		}
	}
	for (@workers)
	{
		$_->{run}->finish;
		$states{$1}++ while $_->{err} =~ /(?:ERROR|FATAL):\s+(\w{5})/g;
	}
	wait_until_up($node);
	return;
}

sub done
{
	return sql(q{SELECT string_agg(group_id || ' ' || n, ', ' ORDER BY group_id)
		FROM (SELECT group_id, count(*) AS n FROM effect GROUP BY 1) x});
}

for my $crash ('stop', 'kill', 'none')
{
	storm($crash);
	note("$crash: ", done());
}
note(join ', ', map { "$_: $states{$_}" } sort keys %states);
like(slurp_file($node->logfile), qr/terminated by signal 9/, 'the server crashed');
cmp_ok($states{P0001} // 0, '>', 0, 'transactions failed');
cmp_ok($states{'57P01'} // 0, '>', 0, 'sessions were terminated');
delete @states{@expected};
is_deeply(\%states, {}, 'no other error');

# The rest, without failures
for my $group ('transactions', 'locks')
{
	my $ended = 0;
	for (1 .. 5000)
	{
		sql(qq{DO \$\$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM minikafka.acquire_text('$group', 50) LOOP
		PERFORM minikafka.acknowledge('$group', r.receipt);
		PERFORM effect('$group', r.partition, r."offset", r.key, r.value, NULL);
	END LOOP;
END \$\$});
		$ended = sql(qq{SELECT count(*) FROM effect WHERE group_id = '$group'})
		  >= $records;
		last if $ended;
		usleep(20_000);
	}
	ok($ended, "$group: all records are done");
	is( sql(qq{SELECT count(*), count(DISTINCT (partition, "offset"))
		FROM effect WHERE group_id = '$group'}),
		"$records|$records",
		"$group: the effect of each record is there once");
	is( sql(qq{SELECT count(*) FROM effect
		WHERE group_id = '$group' AND seen <> n - 1}),
		'0', "$group: each worker has seen the effects before its own");
	is(sql(qq{SELECT count(*) FROM minikafka.acquire('$group')}),
		'0', "$group: nothing is left");
}
# an accepted record has had no later acquisition
is( sql(q{SELECT count(*) FROM effect e
	JOIN minikafka.share_delivery d ON d.partition = e.partition
		AND d.record_offset = e."offset"
	JOIN minikafka.consumer_group g ON g.group_no = d.group_no
		AND g.group_id = e.group_id
	WHERE e.token < d.acquisition}),
	'0', 'locks: nobody has answered who had lost the record');
cmp_ok(
	sql(q{SELECT count(*) FROM minikafka.share_delivery WHERE acquisition > 1}),
	'>', 0, 'locks: records were lost');
is(problems($node, 'storm'), '', 'the topic is sound');
is(server_errors($node), '', 'no deadlock, no internal error');

done_testing();
