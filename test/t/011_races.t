# Things that happen at the same time.

use strict;
use warnings FATAL => 'all';

use FindBin;
use IPC::Run ();
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');

sub sql { return $node->safe_psql('postgres', $_[0]); }

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
# delete_records(..., -1) and senders: no offset is given twice

sql(q{
SELECT minikafka.create_topic('d', 2, segment_records => 200);
CREATE TABLE given (partition int, "offset" bigint);
CREATE TABLE log_starts (id bigserial, partition int, log_start bigint);
});
my %senders = (
	'send@2' => q{
\set p random(0, 1)
SELECT minikafka.send('d', 'x', partition => :p);
},
	'append@2' => q{
\set p random(0, 1)
INSERT INTO given VALUES (:p, minikafka.append('d', :p, NULL, 'x'));
},
	'delete@3' => q{
\set p random(0, 1)
SELECT minikafka.delete_records('d', :p, -1);
},
	# in the transaction that sends; what it sends is after the log start
	'both@1' => q{
\set p random(0, 1)
BEGIN;
SELECT minikafka.send('d', 'x', partition => :p);
SELECT minikafka.delete_records('d', :p, -1);
COMMIT;
});
my $watch = start_psql($node, q{
DO $$
BEGIN
	FOR i IN 1 .. 300 LOOP
		INSERT INTO log_starts (partition, log_start)
		SELECT p, (minikafka.offsets('d', p)).log_start_offset
		FROM generate_series(0, 1) p;
		COMMIT;
	END LOOP;
END $$});
all_well(start_pgbench($node, \%senders, '-c8', '-j2', '-t250'),
	'delete_records() and senders');
finish_ok($watch, 'the log start was watched');

is( sql(q{SELECT count(*) FROM (SELECT FROM given
		GROUP BY partition, "offset" HAVING count(*) > 1) d}),
	'0', 'no offset was given twice');
is( sql(q{SELECT count(*) FROM given g LEFT JOIN minikafka_topics.d t
		USING (partition, "offset") WHERE t."offset" IS NULL}),
	'0', 'each record has the offset that append() told');
is( sql(q{SELECT string_agg(DISTINCT (n = last + 1)::text, ',')
		FROM (SELECT count(*) AS n, max("offset") AS last
			FROM minikafka_topics.d GROUP BY partition) s}),
	'true', 'offsets are 0, 1, 2, ...');
is( sql(q{SELECT count(*) FROM (SELECT log_start < lag(log_start)
			OVER (PARTITION BY partition ORDER BY id) AS back FROM log_starts) s
		WHERE back}),
	'0', 'the log start never moves back');
is(problems($node, 'd'), '', 'the topic is sound');

# ---------------------------------------------------------------------------
# Making the same topic

my (%errors, $made);
for my $round (1 .. 4)
{
	my $if = $round % 2 ? '' : ', if_not_exists => true';
	my @clients = map {
		start_psql($node, 'SET client_min_messages = warning',
			"SELECT minikafka.create_topic('same$round', 2$if)")
	} 1 .. 8;

	for (@clients)
	{
		$_->{run}->finish;
		$errors{$round}{ $_->{err} =~ /ERROR:\s+(\w{5})/ ? $1 : 'none' }++;
		like($_->{err}, qr/^$|topic "same$round" already exists/, 'an error says so');
	}
	is(problems($node, "same$round"), '', 'it is made');
}
is_deeply(
	\%errors,
	{
		1 => { none => 1, 42710 => 7 },
		2 => { none => 8 },
		3 => { none => 1, 42710 => 7 },
		4 => { none => 8 }
	},
	'one made it, the others were told');
is( sql(q{SELECT count(*) FROM minikafka.topic
		WHERE rel::text LIKE 'minikafka_topics.same%'}),
	'4', 'once each');

# ---------------------------------------------------------------------------
# Dropping a topic that is sent to, read, and made again

my $folder = PostgreSQL::Test::Utils::tempdir('races');
append_to_file("$folder/send.sql", <<'SQL' x 150);
SELECT minikafka.send('x', 'v', partition => p) FROM generate_series(0, 2) p;
BEGIN; SELECT minikafka.send('x', 'v'); SELECT minikafka.send('keep', 'v'); COMMIT;
SELECT count(*) FROM minikafka.fetch('x', 0, 0);
SELECT minikafka.commit_offset('g', 'x', 1, 0);
BEGIN; SELECT minikafka.append('x', 2, NULL, 'v'); COMMIT;
SELECT count(*) FROM minikafka.lag('g', 'x');
SELECT count(*) FROM minikafka.check_topic('x');
SQL
append_to_file("$folder/drop.sql", <<'SQL' x 20);
SELECT minikafka.drop_topic('x');
SELECT minikafka.create_topic('x', 3, segment_records => 20);
SELECT pg_sleep(0.02);
SQL
sql(q{SELECT minikafka.create_topic('x', 3, segment_records => 20);
	SELECT minikafka.create_topic('keep', 1);
	SELECT minikafka.commit_offset('g', 'keep', 0, 0)});
my @busy = map {
	my %client = (err => '');
	$client{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-o', '/dev/null',
			'-f', "$folder/$_.sql", '-d', $node->connstr('postgres')
		],
		'2>', \$client{err}, IPC::Run::timeout(100));
	\%client;
} 'drop', ('send') x 5;
my %states;
for (@busy)
{
	$_->{run}->finish;
	$states{$1}++ while $_->{err} =~ /ERROR:\s+(.{5})/g;
}
note(join ', ', map { "$_: $states{$_}" } sort keys %states);
delete $states{'25P02'};    # what follows in a transaction that has failed
is_deeply([ grep { $_ ne '42704' } keys %states ],
	[], 'dropping and sending: no error but that there is no topic');
cmp_ok($states{'42704'} // 0, '>', 0, 'dropping and sending: they did meet');
is(problems($node, 'keep'), '', 'the other topic is sound');
is(problems($node, 'x'),    '', 'the topic as last made is sound');
is( sql(q{SELECT count(*) FROM minikafka.group_progress p
		WHERE NOT EXISTS (SELECT FROM minikafka.topic t WHERE t.topic_id = p.topic_id)}),
	'0', 'no offset of a dropped topic is left');
is( sql(q{SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n
			ON n.oid = c.relnamespace WHERE n.nspname = 'minikafka_data'
			AND c.relkind = 'r') - (SELECT count(*) FROM minikafka.segment)}),
	'0', 'no table of a dropped topic is left');

# ---------------------------------------------------------------------------
# Opposite orders, offsets of several groups, NOTIFY in the same transaction

sql(q{SELECT minikafka.create_topic('o', 4, segment_records => 100);
	SELECT minikafka.create_topic('p', 2, segment_records => 100)});
my $listener = $node->background_psql('postgres');
$listener->query_safe('LISTEN n');
my %orders;
for my $name ('up', 'down')
{
	my ($first, $last, $step) = $name eq 'up' ? (0, 3, 1) : (3, 0, -1);
	my @topics = $name eq 'up' ? ('o', 'p') : ('p', 'o');
	my $commits = join "\n",
	  map { "SELECT minikafka.commit_offset('new$_', 'o', $_, 0);" }
	  $name eq 'up' ? 0 .. 3 : reverse 0 .. 3;

	$orders{$name} = qq{
\\set n :n + 1
BEGIN;
SELECT minikafka.send('$topics[0]', value => format('%s:%s', :client_id, :n), partition => i % 2)
FROM generate_series($first, $last, $step) i;
SELECT minikafka.send('$topics[1]', value => format('%s:%s', :client_id, :n), partition => i % 2)
FROM generate_series($first, $last, $step) i;
SELECT minikafka.send('o', value => format('%s:%s', :client_id, :n), partition => i)
FROM generate_series($first, $last, $step) i;
$commits
NOTIFY n;
COMMIT;
};
}
# A single append() joins in; its partition is the first of all.
$orders{append} = q{
\set n :n + 1
BEGIN;
SELECT minikafka.append('o', 0, NULL, format('%s:%s', :client_id, :n));
SELECT minikafka.send('p', value => format('%s:%s', :client_id, :n), partition => 1);
COMMIT;
};
all_well(
	start_pgbench($node, \%orders, '-c8', '-j2', '-t150', '-D', 'n=0'),
	'opposite orders');
is( sql(q{SELECT string_agg(DISTINCT (n = last + 1)::text, ',')
		FROM (SELECT count(*) AS n, max("offset") AS last
			FROM minikafka_topics.o GROUP BY partition
			UNION ALL SELECT count(*), max("offset")
			FROM minikafka_topics.p GROUP BY partition) s}),
	'true', 'offsets are 0, 1, 2, ...');
is( sql(q{SELECT count(*) FROM (SELECT split_part(value, ':', 2)::int
			< lag(split_part(value, ':', 2)::int) OVER (PARTITION BY partition,
				split_part(value, ':', 1) ORDER BY "offset") AS back
			FROM generate_series(0, 3) p, minikafka.fetch_text('o', p, 0, 1000000)) s
		WHERE back}),
	'0', 'each session\'s records are in its order');
like($listener->query('SELECT 1'),
	qr/notification "n"/, 'notifications came');
$listener->quit;
is(problems($node, 'o') . problems($node, 'p'), '', 'the topics are sound');

# ---------------------------------------------------------------------------
# Commits of the same group

is( sql(q{SELECT count(*), count(DISTINCT group_no) FROM minikafka.consumer_group
		WHERE group_id LIKE 'new%'}),
	'4|4', 'groups that many made at once are there once');
sql(q{CREATE TABLE committed (id bigserial, next_offset bigint)});
all_well(
	start_pgbench(
		$node, {
			# under a lock of its own, so that the order is known
			'ordered' => q{
\set n random(0, 100)
BEGIN;
SELECT pg_advisory_xact_lock(1);
SELECT minikafka.commit_offset('same', 'o', 0, :n);
INSERT INTO committed (next_offset) VALUES (:n);
COMMIT;
},
			'free' => q{
\set n random(0, 100)
SELECT minikafka.commit_offset('same', 'o', 1, :n, 'note ' || :n);
},
			'rolled_back' => q{
BEGIN;
SELECT minikafka.commit_offset('same', 'o', 0, 101);
ROLLBACK;
},
		},
		'-c8', '-j2', '-t100'),
	'commits of the same group');
is( sql(q{SELECT minikafka.committed('same', 'o', 0) =
		(SELECT next_offset FROM committed ORDER BY id DESC LIMIT 1)}),
	't', 'the last one counts');
is( sql(q{SELECT count(*) FROM (SELECT FROM minikafka.group_progress
		WHERE topic_id = (SELECT topic_id FROM minikafka.topic
			WHERE rel = 'minikafka_topics.o'::regclass)
		GROUP BY group_no, partition HAVING count(*) <> max(number)) s}),
	'0', 'numbered without a gap');

# two at once, the one that commits last counts: it is not the one that called
# first that decides
my ($one, $two) = map { $node->background_psql('postgres') } 1, 2;
$one->query_safe(q{BEGIN; SELECT minikafka.commit_offset('two', 'o', 0, 5)});
$two->query_safe(q{BEGIN; SELECT minikafka.commit_offset('two', 'o', 0, 3)});
is($one->query_safe(q{SELECT minikafka.committed('two', 'o', 0)}),
	'5', 'a transaction sees its own commit');
$two->query_safe('COMMIT');
is(sql(q{SELECT minikafka.committed('two', 'o', 0)}), '3', 'the first to commit');
$one->query_safe('COMMIT');
is(sql(q{SELECT minikafka.committed('two', 'o', 0)}), '5', 'the last to commit');
$_->quit for $one, $two;

done_testing();
