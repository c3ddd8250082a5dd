# Retention with producers, consumers and a standby going on, with crashes in the
# middle, and of very many segments.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'log_error_verbosity = verbose',
	'autovacuum_naptime = 1', 'max_standby_streaming_delay = 1s');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Reads the partitions of a topic, whose offsets are dense, in turn, from the log
# start on, until the load has ended; after "often" calls it goes back to the log
# start, since there the records go.  jumps: how often an offset was not the next
# one though nothing said so, or that there is no record of any time, which no reader
# may see; behind: how often it was told that its offset is below the log start;
# conflicts: how often a standby had to stop it.
sql(q{
CREATE TABLE load_done ();
CREATE PROCEDURE read_dense(topic text, partitions int, often int,
	INOUT records bigint DEFAULT 0, INOUT jumps bigint DEFAULT 0,
	INOUT behind bigint DEFAULT 0, INOUT conflicts bigint DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
	next bigint[] := array_fill(0::bigint, ARRAY[partitions]);
	last boolean;
	idle boolean;
	calls int := 0;
	n int;
	o bigint;
BEGIN
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		idle := true;
		calls := calls + 1;
		FOR p IN 0 .. partitions - 1 LOOP
			BEGIN
				IF calls % often = 0 AND NOT last THEN
					next[p + 1] := log_start_offset FROM minikafka.offsets(topic, p);
				END IF;
				n := 0;
				FOR o IN SELECT "offset" FROM minikafka.fetch(topic, p, next[p + 1], 500) LOOP
					IF o <> next[p + 1] + n THEN
						jumps := jumps + 1;
						RAISE WARNING 'offset % instead of %', o, next[p + 1] + n;
					END IF;
					n := n + 1;
				END LOOP;
				IF next[p + 1] > 0 AND
					minikafka.offset_for_time(topic, p, '-infinity') IS NULL THEN
					jumps := jumps + 1;
					RAISE WARNING 'no record found by its time';
				END IF;
				records := records + n;
				next[p + 1] := next[p + 1] + n;
				idle := idle AND n = 0;
			EXCEPTION
				WHEN SQLSTATE 'MK001' THEN
					behind := behind + 1;
					next[p + 1] := log_start_offset FROM minikafka.offsets(topic, p);
					idle := false;
				WHEN serialization_failure THEN
					conflicts := conflicts + 1;
					idle := false;
			END;
			COMMIT;
		END LOOP;
		EXIT WHEN idle AND last;
		PERFORM pg_sleep(0.001);
	END LOOP;
END $$;
CREATE PROCEDURE maintain_all(INOUT passes int DEFAULT 0)
LANGUAGE plpgsql AS $$
BEGIN
	WHILE NOT EXISTS (SELECT FROM load_done) LOOP
		CALL minikafka.maintain();
		passes := passes + 1;
		PERFORM pg_sleep(0.01);
		COMMIT;
	END LOOP;
END $$;
});

sub segments
{
	my ($topic) = @_;

	return sql(qq{SELECT count(*) FROM minikafka.segment
		JOIN minikafka.topic USING (topic_id)
		WHERE topic.rel = 'minikafka_topics.$topic'::regclass});
}

# ---------------------------------------------------------------------------
# Producers, readers here and on a standby, and two sessions that maintain, all at
# once.  By size, so that the log start goes on all the time.

my $standby = new_standby($node, 'standby');

sql(q{SELECT minikafka.create_topic('t', 2, segment_records => 300,
	retention_bytes => 100000)});
wait_standby($node, $standby);

my @readers = map { start_psql($_, q{CALL read_dense('t', 2, 7)}) }
  ($node, $node, $standby);
my @maintainers = map { start_psql($node, 'CALL maintain_all()') } 1 .. 2;
my $group = sql(q{SELECT minikafka.join_group('g', ARRAY['t'], 'm',
	auto_offset_reset => 'earliest')});
my $load = start_pgbench(
	$node, {
		'one@8' => q{SELECT minikafka.send('t', repeat('v', 40),
			partition => :client_id % 2);},
		'some@2' => q{SELECT count(minikafka.send('t', repeat('v', 40),
			partition => :client_id % 2)) FROM generate_series(1, 50);},
		'append@1' => q{SELECT minikafka.append('t', 0, NULL, 'v');},
		# while a long SELECT goes on, no table is dropped
		'long@1' => q{BEGIN;
			SELECT count(*) FROM minikafka_topics.t;
			SELECT pg_sleep(0.05); COMMIT;},
		'poll@2' => q{SELECT count(*) FROM minikafka.offsets('t', 1);},
	},
	'-c6', '-j2', '-t1500');
finish_ok($load, 'producers went on');
finish_load($node);
for my $i (0 .. 1)
{
	my ($passes) = finish_ok($maintainers[$i], "maintainer $i") =~ /(\d+)/;
	cmp_ok($passes // 0, '>', 3, 'passes');
}
for my $i (0 .. 2)
{
	my $where = $i == 2 ? 'on the standby' : 'on the primary';
	my ($records, $jumps, $behind, $conflicts) =
	  split /\|/, finish_ok($readers[$i], "reader $i, $where");

	cmp_ok($records // 0, '>', 1000, 'it has read');
	is($jumps // 'none', 0, 'and missed nothing without being told');
	note("reader $i: $records records, $behind times behind the log start, ",
		$conflicts + 0, ' conflicts');
}
is(problems($node, 't'), '', 'the topic is sound');
sql(q{CALL minikafka.maintain()});
my $kept = sql(q{SELECT min(end_offset - log_start_offset) FROM minikafka.partitions
	WHERE topic = 't'});
cmp_ok($kept, '>', 300, 'never below the limit');
cmp_ok(segments('t'), '<', 20, 'the segments are gone');
is( sql(q{SELECT sum(end_offset - log_start_offset) =
		(SELECT count(*) FROM minikafka_topics.t)
		FROM minikafka.partitions WHERE topic = 't'}),
	't', 'and nothing below the log start is left');
wait_standby($node, $standby);
is( $standby->safe_psql('postgres', q{SELECT * FROM minikafka.check_topic('t')}),
	'', 'the topic is sound on the standby');
is( $standby->safe_psql(
		'postgres', q{SELECT topic, partition, log_start_offset, end_offset, segments
			FROM minikafka.partitions ORDER BY 1, 2}),
	sql(q{SELECT topic, partition, log_start_offset, end_offset, segments
		FROM minikafka.partitions ORDER BY 1, 2}),
	'which has the same');
$standby->stop;

# ---------------------------------------------------------------------------
# Crashes in the middle

sql(q{
SELECT minikafka.create_topic('c', 1, segment_records => 2000,
	retention => '1 hour');
SELECT count(minikafka.send('c', 'v' || i)) FROM generate_series(1, 98001) i;
SELECT minikafka.drop_topic('t');
});
for my $round (1 .. 3)
{
	# first the log start, then the segments, the rows last
	my $want = [ undef, 45, 20, 2 ]->[$round];
	my $expire = start_psql($node, 'SET minikafka.clock_offset = 7200',
		q{CALL minikafka.expire('c')});

	$node->poll_query_until('postgres',
		"SELECT count(*) <= $want FROM minikafka.segment") or die;
	if ($round == 2)
	{
		sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE query LIKE 'CALL minikafka.expire%'});
	}
	else
	{
		$node->stop('immediate');
		$node->start;
	}
	$expire->{run}->finish;
	is(sql(q{SELECT * FROM minikafka.offsets('c', 0)}),
		'98001|98001', "round $round: the log start has moved");
	is(problems($node, 'c'), '', 'the topic is sound');
}
sql(q{SET minikafka.clock_offset = 7200; CALL minikafka.expire('c')});
is(segments('c'), 1, 'what is left goes with the next pass');
is(sql('SELECT count(*) FROM minikafka_topics.c'), 0, 'the rows too');
is( sql(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'p' ||
		(SELECT topic_id FROM minikafka.topic) || '\_0\_%' AND relkind = 'r'}),
	1, 'no table is left over');
is( sql(q{BEGIN; SELECT minikafka.append('c', 0, NULL, 'more'); COMMIT}),
	98001, 'sending goes on at the end');

# ---------------------------------------------------------------------------
# A lagging consumer of a group

sql(q{
SELECT minikafka.create_topic('lag', 1, segment_records => 10,
	retention => '1 hour');
SELECT count(minikafka.send('lag', 'v' || i)) FROM generate_series(0, 24) i;
SELECT minikafka.commit_offset('slow', 'lag', 0, 5);
});
sql(q{SET minikafka.clock_offset = 3000;
	SELECT count(minikafka.send('lag', 'v' || i)) FROM generate_series(25, 29) i});
sql(q{SET minikafka.clock_offset = 4000; CALL minikafka.expire('lag')});
is( sql(q{SELECT log_start_offset, end_offset, committed_offset, lag
		FROM minikafka.lag('slow', 'lag')}),
	'25|30|5|5', 'the lag is what can be read');
is( sql(q{SELECT count(*) FROM minikafka.fetch('lag', 0, 25)}),
	5, 'and that can be read');
is(sqlstate($node, q{SELECT * FROM minikafka.fetch('lag', 0, 5)}),
	'MK001', 'a consumer that is behind is told');

# ---------------------------------------------------------------------------
# 3,000 segments, more than one transaction can lock

$node->append_conf('postgresql.conf', "max_locks_per_transaction = 10\n");
$node->restart;
sql(q{SELECT minikafka.create_topic('many', 1, segment_records => 1,
	retention => '1 hour')});
sql(q{DO $$ BEGIN
	FOR i IN 1 .. 3000 LOOP
		PERFORM minikafka.send('many', 'v');
		COMMIT;
	END LOOP;
END $$});
my ($status, $out, $err) = $node->psql(
	'postgres', q{SELECT minikafka.drop_topic('many')},
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($err, qr/ERROR:  54000:/, 'it cannot be dropped at once');
like($err, qr/HINT:  Raise "max_locks_per_transaction" to \d+ or more/,
	'and the hint says what to set');
is( sqlstate($node, q{SET minikafka.clock_offset = 7200;
		CALL minikafka.expire('many')}),
	'00000', 'retention does it segment by segment');
cmp_ok(segments('many'), '<=', 2, 'all are gone');
is(sqlstate($node, q{SELECT minikafka.drop_topic('many')}),
	'00000', 'then it can be dropped');
is(server_errors($node), '', 'no internal error');

done_testing();
