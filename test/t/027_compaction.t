# Compaction of large topics: exactly the newest record of each key stays, also
# with crashes in the middle, with producers and consumers going on, on a standby
# and after a dump; and in little memory.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'log_error_verbosity = verbose',
	'autovacuum_naptime = 1', 'maintenance_work_mem = 1MB',
	'max_standby_streaming_delay = -1');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Sum and number of what latest() and the table have, to be compared.
sub digest
{
	my ($from) = @_;

	return sql(qq{SELECT count(*), md5(string_agg(format('%s %s %s %s', partition,
		"offset", key, value), ',' ORDER BY partition, "offset")) FROM $from});
}

my $latest_by_sql = q{(SELECT DISTINCT ON (partition, key) *
	FROM minikafka_topics.%s ORDER BY partition, key, "offset" DESC) x};

# ---------------------------------------------------------------------------
# Crashes, terminated and cancelled sessions, in several slices of the keys

# of 60,000 keys the first are tombstones in the end
sql(q{
SELECT minikafka.create_topic('c', 1, segment_records => 50000,
	cleanup_policy => 'compact');
SELECT count(minikafka.send('c', key => 'key ' || (i * 7919::bigint) % 60000,
	value => CASE WHEN i % 60000 >= 1000 OR i < 240000 THEN i::text END))
FROM generate_series(0, 299999) i;
});
my $all    = digest(sprintf $latest_by_sql, 'c');
my $latest = digest('minikafka.latest(\'c\')');

is((split /\|/, $all)[0], 60000, 'keys');
is((split /\|/, $latest)[0], 59000, 'values');
is( $latest,
	digest(sprintf($latest_by_sql, 'c') . ' WHERE value IS NOT NULL'),
	'latest() has the newest of each key');

# Each time a session has locked a record that is to go, here the last but one of a
# key whose newest is 290000, or of one whose newest is 245000: that is not among
# those that there is room for at first.
for (
	[ 'crash',                110000 ],
	[ 'pg_terminate_backend', 50000 ],
	[ 'pg_cancel_backend',    185000 ],
	[ 'crash',                5000 ])
{
	my ($how, $offset) = @$_;
	my $before = sql('SELECT count(*) FROM minikafka_topics.c');
	my $holder = new_session($node);

	ask($holder, qq{BEGIN; SELECT FROM minikafka_topics.c
		WHERE "offset" = $offset FOR UPDATE});
	my $client = start_psql($node, q{CALL minikafka.compact('c')});

	$node->poll_query_until('postgres',
		q{SELECT count(*) > 0 FROM pg_stat_activity
			WHERE query LIKE 'CALL minikafka.compact%' AND wait_event_type = 'Lock'})
	  or die;
	if ($how eq 'crash')
	{
		# what its steps have done is not flushed when they end
		sql(q{SELECT pg_logical_emit_message(true, '', '')});
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		sql(qq{SELECT $how(pid) FROM pg_stat_activity
			WHERE query LIKE 'CALL minikafka.compact%'});
	}
	eval { $holder->quit };
	$client->{run}->finish;
	isnt($client->{run}->result(0), 0, "$how: in the middle");
	my $left = sql('SELECT count(*) FROM minikafka_topics.c');

	cmp_ok($left, '>', 60000,   'it has not come to its end');
	cmp_ok($left, '<', $before, 'but done some steps');
	is(digest(sprintf $latest_by_sql, 'c'), $all, 'no newest record is lost');
	is(digest('minikafka.latest(\'c\')'), $latest, 'latest() says the same');
	is(problems($node, 'c'), '', 'the topic is sound');
	is(sql(q{SELECT * FROM minikafka.offsets('c', 0)}),
		'0|300000', 'log start and end are what they were');
}
cmp_ok(sql(q{CALL minikafka.compact('c')}), '>', 0, 'the next one finishes');
is(sql('SELECT count(*) FROM minikafka_topics.c'), 60000, 'one record a key');
is(digest(sprintf $latest_by_sql, 'c'), $all,    'the newest ones');
is(digest('minikafka.latest(\'c\')'),   $latest, 'and latest() says the same');
is( digest(q{generate_series(0, 0) p, minikafka.fetch('c', p, 0, 10000000) x}),
	$all, 'fetch() reads them');
is(problems($node, 'c'), '', 'the topic is sound');
is( sql(q{SELECT compacted_offset, records, tombstones FROM minikafka.compaction}),
	'300000|60000|1000', 'the pass is noted');
is(sql(q{CALL minikafka.compact('c')}), 0, 'and there is nothing more to do');
is( sql(q{SET minikafka.clock_offset = 90000; CALL minikafka.compact('c')}),
	1000, 'a day later the tombstones go');
is(digest('minikafka_topics.c'), $latest, 'and nothing else');

# a log start in the middle
sql(q{SELECT minikafka.delete_records('c', 0, 270000)});
sql(q{SELECT minikafka.send('c', value => 'new', key => 'key 1')});
is( sql(q{SELECT count(*) FROM minikafka.latest('c') WHERE "offset" < 270000}),
	0, 'latest() obeys the log start');
sql(q{CALL minikafka.compact('c')});
is(problems($node, 'c'), '', 'the topic is sound');
sql(q{SELECT minikafka.drop_topic('c')});

# ---------------------------------------------------------------------------
# 300,000 keys in 1 MB

SKIP:
{
	skip 'no /proc', 3 unless -r "/proc/$$/status";

	sql(q{
SELECT minikafka.create_topic('m', 1, cleanup_policy => 'compact');
SELECT count(minikafka.send('m', key => 'a key of some length ' || i % 300000,
	value => i::text)) FROM generate_series(1, 330000) i;
});
	my $session = new_session($node);
	my $pid     = ask($session, 'SELECT pg_backend_pid()');
	my $anon    = sub {
		my ($kb) = slurp_file("/proc/$pid/status") =~ /RssAnon:\s+(\d+)/;
		return $kb // 0;
	};
	my $most = 0;

	ask($session, 'SELECT minikafka.offsets(\'m\', 0)');
	my $before = $anon->();
	start_query($session, q{CALL minikafka.compact('m')});
	while (sql(qq{SELECT state = 'active' FROM pg_stat_activity
		WHERE pid = $pid}) eq 't')
	{
		my $now = $anon->();
		$most = $now if $now > $most;
	}
	is(finish_query($session), 30000, 'compacted');
	cmp_ok($most - $before, '<', 8 * 1024, 'in little memory');
	note("from $before kB to $most kB");
	$session->quit;
	is(sql('SELECT count(*) FROM minikafka_topics.m'), 300000, 'one a key');
	sql(q{SELECT minikafka.drop_topic('m')});
}

# ---------------------------------------------------------------------------
# Producers, consumers and two sessions that maintain, all at once.  What was sent
# last of each key is in a table of its own; a key is sent by one client only.
# The readers keep the last value of each key that they met.

my $standby = new_standby($node, 'standby');

sql(q{
CREATE TABLE load_done ();
CREATE TABLE sent (key text, n bigint, value text);
SELECT minikafka.create_topic('t', 2, segment_records => 500,
	cleanup_policy => 'compact');
SELECT minikafka.set_topic_option('t', 'delete_retention', '0'),
	minikafka.set_topic_option('t', 'min_compaction_lag', '0');

CREATE PROCEDURE maintain_all(INOUT passes int DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
	removed bigint;
BEGIN
	WHILE NOT EXISTS (SELECT FROM load_done) LOOP
		IF passes % 3 = 0 THEN
			CALL minikafka.compact('t', removed);
		ELSE
			CALL minikafka.maintain();
		END IF;
		passes := passes + 1;
		COMMIT;
	END LOOP;
END $$;

/* Until the load has ended and nothing is left.  state: the last value of each key;
 * backwards: how often an offset was not above the one before. */
CREATE PROCEDURE read_latest(how text, INOUT state jsonb DEFAULT '{}',
	INOUT backwards bigint DEFAULT 0, INOUT records bigint DEFAULT 0)
LANGUAGE plpgsql AS $$
DECLARE
	next bigint[] := ARRAY[0, 0];
	last boolean;
	n int;
	r record;
BEGIN
	LOOP
		last := EXISTS (SELECT FROM load_done);
		COMMIT;
		n := 0;
		BEGIN
			FOR r IN SELECT f.partition, f."offset", f.key, f.value
				FROM generate_series(0, 1) p,
					minikafka.fetch_text('t', p, next[p + 1], 200) f
				WHERE how = 'fetch'
				UNION ALL
				SELECT f.partition, f."offset", f.key, f.value
				FROM minikafka.poll_text('g', 'm', 200) f WHERE how = 'poll'
			LOOP
				IF r."offset" < next[r.partition + 1] THEN
					backwards := backwards + 1;
				END IF;
				next[r.partition + 1] := r."offset" + 1;
				state := state || jsonb_build_object(r.key, r.value);
				n := n + 1;
			END LOOP;
		EXCEPTION WHEN serialization_failure THEN
			n := 1;
		END;
		records := records + n;
		COMMIT;
		EXIT WHEN n = 0 AND last;
	END LOOP;
END $$;
SELECT minikafka.join_group('g', ARRAY['t'], 'm',
	auto_offset_reset => 'earliest');
});
wait_standby($node, $standby);

my @readers = (
	start_psql($node,    q{CALL read_latest('fetch')}),
	start_psql($node,    q{CALL read_latest('poll')}),
	start_psql($standby, q{CALL read_latest('fetch')}));
my @maintainers = map { start_psql($node, 'CALL maintain_all()') } 1 .. 2;
my $load = start_pgbench(
	$node, {
		'value@8' => q{
\set n :n + 1
\set k random(1, 30)
BEGIN;
SELECT minikafka.send('t', key => format('%s-%s', :client_id, :k), value => :n::text);
INSERT INTO sent VALUES (format('%s-%s', :client_id, :k), :n, :n::text);
COMMIT;
},
		# each of its keys once, and gone in the end
		'tombstone@1' => q{
\set n :n + 1
BEGIN;
SELECT minikafka.send('t', key => format('%s-gone-%s', :client_id, :n), value => :n::text),
minikafka.send('t', key => format('%s-gone-%s', :client_id, :n), value => NULL::text);
INSERT INTO sent VALUES (format('%s-gone-%s', :client_id, :n), :n, NULL);
COMMIT;
},
		'many@1' => q{
\set n :n + 1
BEGIN;
SELECT count(minikafka.send('t', key => format('%s-many-%s', :client_id, i), value => :n::text))
FROM generate_series(1, 40) i;
INSERT INTO sent SELECT format('%s-many-%s', :client_id, i), :n, :n::text FROM generate_series(1, 40) i;
COMMIT;
},
		'undone@1' => q{
BEGIN;
SELECT minikafka.append('t', 0, format('%s-1', :client_id), 'undone'),
minikafka.send('t', key => format('%s-1', :client_id), value => 'undone');
ROLLBACK;
},
		'look@1' => q{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM minikafka_topics.t;
SELECT pg_sleep(0.02);
COMMIT;
},
	},
	'-c6', '-j2', '-t1500', '-D', 'n=0');
finish_ok($load, 'producers went on');
finish_load($node);
for my $i (0 .. 1)
{
	my ($passes) = finish_ok($maintainers[$i], "maintainer $i") =~ /(\d+)/;
	cmp_ok($passes // 0, '>', 3, 'passes');
}
sql(q{CREATE VIEW expected AS SELECT DISTINCT ON (key) key, value FROM sent
	ORDER BY key, n DESC});
for my $i (0 .. 2)
{
	my ($state, $backwards, $records) =
	  split /\|/, finish_ok($readers[$i], "reader $i");

	is($backwards, 0, 'the order of the offsets is kept');
	note("reader $i: $records");
	$node->safe_psql('postgres',
		"CREATE TABLE state$i (state jsonb); COPY state$i FROM stdin;\n"
		  . ($state // '') . "\n\\.\n");
	# a reader that met no tombstone of a key met nothing of it, or read the value before
	is( sql(qq{SELECT key, x.value, s.value FROM expected x
			FULL JOIN (SELECT * FROM state$i, jsonb_each_text(state)) s USING (key)
			WHERE x.value IS DISTINCT FROM s.value AND NOT x.value IS NULL}),
		'', 'it has the newest value of each key');
}
is( sql(q{SELECT e.key, e.value, l.value FROM
		(SELECT * FROM expected WHERE value IS NOT NULL) e
		FULL JOIN (SELECT convert_from(key, 'UTF8') AS key,
			convert_from(value, 'UTF8') AS value FROM minikafka.latest('t')) l
		USING (key) WHERE e.value IS DISTINCT FROM l.value}),
	'', 'so has latest()');
is(problems($node, 't'), '', 'the topic is sound');
sql(q{CALL minikafka.compact('t'); CALL minikafka.compact('t')});
is( sql(q{SELECT count(*) - (SELECT count(*) FROM expected WHERE value IS NOT NULL)
		BETWEEN 0 AND 2 FROM minikafka_topics.t}),
	't', 'in the end one record a key is left, and the last of a partition');
wait_standby($node, $standby);
is( $standby->safe_psql('postgres', q{SELECT * FROM minikafka.check_topic('t')}),
	'', 'the topic is sound on the standby');
is( $standby->safe_psql('postgres',
		q{SELECT md5(string_agg(l::text, ' ')) FROM minikafka.latest('t') l}),
	sql(q{SELECT md5(string_agg(l::text, ' ')) FROM minikafka.latest('t') l}),
	'latest() says the same there');
is(sqlstate($standby, q{CALL minikafka.compact('t')}),
	'25006', 'compact() is refused there');
is(sqlstate($standby, q{CALL minikafka.maintain()}),
	'25006', 'so is maintain()');
$standby->stop;

# ---------------------------------------------------------------------------
# Dump and restore: a compacted topic with dropped segments and tombstones

sql(q{
SELECT minikafka.drop_topic('t');
SELECT minikafka.create_topic('d', 1, segment_records => 10,
	cleanup_policy => 'compact,delete', retention => '10 days');
SELECT minikafka.set_topic_option('d', 'min_compaction_lag', '0');
SELECT count(minikafka.send('d', key => 'k' || i % 5, value => i::text))
FROM generate_series(0, 54) i;
SELECT minikafka.send('d', key => 'k1', value => NULL::text);
SELECT minikafka.send('d', key => 'k2', value => 'last');
});
is(sql(q{CALL minikafka.compact('d')}), 52, 'compacted');
is( sql(q{SELECT count(*) FROM minikafka.segment}),
	2, 'the segments that became empty are gone');
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', $dump, '-d', $node->connstr('postgres') ],
	'pg_dump');
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->start;
$new->safe_psql('postgres', 'CREATE DATABASE restored');
$new->command_ok(
	[ 'pg_restore', '-e', '-d', $new->connstr('restored'), $dump ],
	'pg_restore');

sub there { return $new->safe_psql('restored', $_[0]); }

for my $query (
	q{SELECT * FROM minikafka.fetch('d', 0, 0)},
	q{SELECT * FROM minikafka.latest('d')},
	q{SELECT * FROM minikafka.offsets('d', 0)},
	q{SELECT * FROM minikafka.compaction},
	q{SELECT * FROM minikafka.check_topic('d')})
{
	is(there($query), sql($query), "the same: $query");
}
is(there(q{CALL minikafka.compact('d')}), 0, 'there is nothing to do');
there(q{SELECT count(minikafka.send('d', key => 'k' || i, value => 'new'))
	FROM generate_series(3, 12) i});
is(there(q{CALL minikafka.compact('d')}), 2, 'new records are compacted');
is( there(q{SET minikafka.clock_offset = 90000; CALL minikafka.compact('d')}),
	1, 'the tombstone goes a day after the pass that saw it first');
is( there(q{SELECT string_agg("offset" || ':' || key, ' ') FROM
		minikafka.fetch_text('d', 0, 0)}),
	'50:k0 56:k2 57:k3 58:k4 59:k5 60:k6 61:k7 62:k8 63:k9 64:k10 65:k11 66:k12',
	'all others are there');
is(there(q{SELECT * FROM minikafka.check_topic('d')}), '', 'and sound');
is( there(q{SET minikafka.clock_offset = 900000; CALL minikafka.expire('d')}),
	12, 'retention goes on too');
$new->stop;
is(server_errors($node), '', 'no internal error');

done_testing();
