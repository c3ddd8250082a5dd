# auto_offset_reset "latest": a member that joins a new group misses no record
# whose COMMIT returned after the join did, however many are committing then.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $partitions = 3;
my $node       = new_node('primary');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
SELECT minikafka.create_topic('t', $partitions, segment_records => 500);
SELECT minikafka.create_topic('quiet', 2);
SELECT minikafka.send('quiet', 'x', partition => p)
FROM generate_series(0, 1) p, generate_series(1, 5) i;
-- when a transaction was about to commit, and when a join had returned
CREATE TABLE sent (value text, partition int, at timestamptz);
CREATE TABLE joined (group_id text, partition int, start bigint, at timestamptz);
});

# ---------------------------------------------------------------------------
# No session sends

sub starts
{
	my ($group, $topic) = @_;

	return sql("SELECT string_agg(minikafka.committed('$group', '$topic', p)::text,
			' ' ORDER BY p) FROM generate_series(0, 1) p");
}

my $session = new_session($node);
ask($session, q{SELECT minikafka.join_group('quiet', '{quiet,later}', 'm',
	auto_offset_reset => 'latest')});
is(starts('quiet', 'quiet'), '5 5', 'it begins at the end');
is(ask($session, q{SELECT count(*) FROM minikafka.poll('quiet', 'm')}),
	'0', 'what was there is not read');
sql(q{SELECT minikafka.send('quiet', 'x', partition => p)
	FROM generate_series(0, 1) p});
is(ask($session, q{SELECT sum("offset"), count(*) FROM minikafka.poll('quiet', 'm')}),
	'10|2', 'what comes is');

# it has not polled a partition that records come to
ask($session, q{SELECT minikafka.join_group('never', '{quiet}', 'm',
	auto_offset_reset => 'latest')});
sql(q{SELECT minikafka.send('quiet', 'x', partition => 1)});
ask($session, q{SELECT minikafka.join_group('never', '{quiet}', 'm',
	auto_offset_reset => 'latest')});
is(ask($session, q{SELECT partition, "offset" FROM minikafka.poll('never', 'm')}),
	'1|6', 'nor is anything missed by a member that joins again before it polls');
ask($session, q{SELECT minikafka.leave_group('never', 'm')});
sql(q{SELECT minikafka.send('quiet', 'x', partition => 0)});
ask($session, q{SELECT minikafka.join_group('never', '{quiet}', 'n',
	auto_offset_reset => 'latest')});
is( ask($session, q{SELECT partition, "offset" FROM minikafka.poll('never', 'n')
		ORDER BY 1}), "0|6\n1|6", 'or after it has left');

# what is made later is read from its start
sql(q{SELECT minikafka.create_topic('later', 1);
	SELECT minikafka.send('later', 'x');
	SELECT minikafka.add_partitions('quiet', 3);
	SELECT minikafka.send('quiet', 'x', partition => 2)});
is( ask($session, q{SELECT FROM minikafka.poll('quiet', 'm');
		SELECT topic, partition, "offset" FROM minikafka.poll('quiet', 'm')
		WHERE topic = 'later' OR partition = 2 ORDER BY 1}) =~ s/^\n+//r,
	"later|0|0\nquiet|2|0", 'a topic and a partition that are made later');

# ---------------------------------------------------------------------------
# A commit is in flight: it waits for a synchronous standby that does not exist

$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$node->reload;
$node->poll_query_until('postgres', 'SHOW synchronous_standby_names', 'nobody')
  or die;
my $held = start_psql($node, 'SET synchronous_commit = on',
	q{SELECT minikafka.send('quiet', 'held', partition => 0)});
$node->poll_query_until('postgres', q{SELECT count(*) = 1
	FROM pg_stat_activity WHERE wait_event = 'SyncRep'}) or die;
sql(q{SELECT minikafka.send('quiet', 'before', partition => p)
	FROM generate_series(0, 1) p});
ask($session, q{SELECT minikafka.join_group('held', '{quiet}', 'm',
	auto_offset_reset => 'latest')});
is(ask($session, q{SELECT count(*) FROM minikafka.poll('held', 'm')}),
	'0', 'nothing to read while one is in flight');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
finish_ok($held, 'that one is committed');
is( ask($session, q{SELECT partition, convert_from(value, 'UTF8')
		FROM minikafka.poll('held', 'm')}),
	"0|held\n0|before", 'it was not missed');

# ---------------------------------------------------------------------------
# Twelve senders, of which half wait for a standby, and joins in between

my $standby = new_standby($node, 'standby');
$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$node->reload;

my $send = q{
\set n :n + 1
\set waits random(0, 1)
\set p random(0, 2)
BEGIN;
\if :waits
SET LOCAL synchronous_commit = on;
\endif
SELECT minikafka.send('t', value => format('%s:%s', :client_id, :n), partition => :p);
};
my $note = q{
INSERT INTO sent VALUES (format('%s:%s', :client_id, :n), :p, clock_timestamp());
COMMIT;
};
my $load = start_pgbench(
	$node, {
		'sends@4'       => $send . $note,
		'waits@1'       => $send . "\\sleep 5 ms\n" . $note,
		'rolled_back@1' => $send . 'ROLLBACK;',
	},
	'-c12', '-j2', '-t150', '-D', 'n=0');

# each group is new; what it has committed at the join is where it begins
my $joins = start_pgbench(
	$node, {
		join => q{
\set n :n + 1
SELECT minikafka.join_group(format('g%s-%s', :client_id, :n), '{t}', 'm',
	auto_offset_reset => 'latest');
SELECT extract(epoch FROM clock_timestamp()) AS at \gset
INSERT INTO joined SELECT g, p, minikafka.committed(g, 't', p), to_timestamp(:at)
FROM format('g%s-%s', :client_id, :n) g, generate_series(0, 2) p;
}
	},
	'-c3', '-j1', '-t80', '-D', 'n=0');
finish_ok($joins, 'the joins');
finish_ok($load,  'the senders');

my $records = qq{(SELECT p AS partition, f."offset", f.value
	FROM generate_series(0, $partitions - 1) p,
	LATERAL minikafka.fetch_text('t', p, 0, 1000000) f)};
is( sql(qq{SELECT count(*) FROM $records r FULL JOIN sent USING (partition, value)
		WHERE r."offset" IS NULL OR sent.at IS NULL}),
	'0', 'all that were sent are known');
is(sql('SELECT count(*) FROM joined WHERE start IS NULL'),
	'0', 'each group has begun with the join');
is( sql(qq{SELECT count(*) FROM $records r JOIN sent USING (partition, value)
		JOIN joined USING (partition)
		WHERE sent.at > joined.at AND r."offset" < joined.start}),
	'0', 'no group has missed a record that was committed after its join');
my ($during, $open) = map { sql($_) }
  qq{SELECT count(DISTINCT group_id) FROM joined WHERE at
		BETWEEN (SELECT min(at) FROM sent) AND (SELECT max(at) FROM sent)},
  qq{SELECT count(*) FROM $records r JOIN sent USING (partition, value)
		JOIN joined USING (partition)
		WHERE sent.at < joined.at AND r."offset" >= joined.start
		AND sent.at > joined.at - interval '1 s'};
cmp_ok($during, '>', 10, 'groups have joined meanwhile');
note("$during groups joined meanwhile; $open times a record was in flight");

# and one reads all of it
my $group = sql(q{SELECT group_id FROM joined ORDER BY at LIMIT 1});
is( ask($session, qq{SELECT count(*) FROM minikafka.poll('$group', 'm', 1000000)}),
	sql(qq{SELECT sum(end_offset - start) FROM minikafka.partitions
		JOIN joined USING (partition)
		WHERE group_id = '$group' AND topic = 't'}),
	'it reads all from there on');
is(problems($node, 't'), '', 'the topic is sound');
$session->quit;

done_testing();
