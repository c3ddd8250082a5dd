# Consumers through PgBouncer in transaction mode, each transaction on another
# server connection than the one before: what is polled in one and committed in
# another is read at least once, and nothing is skipped.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node   = new_node('primary');
my $pooler = new_pooler($node, 'default_pool_size = 3', 'server_round_robin = 1')
  or plan skip_all => 'pgbouncer is not installed';

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The pooler's three connections.
my @clients = map { new_session($pooler) } 1 .. 3;
ask($_, 'BEGIN; SELECT 1') for @clients;
ask($_, 'COMMIT')          for @clients;

# Runs statements in a transaction; returns what they print.
my $last = 0;
my ($transactions, $moves) = (0, 0);

sub transaction
{
	my ($client, $sql, $end) = @_;
	my $out = ask($client,
		"BEGIN; $sql; SELECT pg_backend_pid(); " . ($end // 'COMMIT'));
	my ($pid) = $out =~ /(\d+)$/;

	$transactions++;
	$moves++ if $pid != $last;
	$last = $pid;
	$out =~ s/\n?\d+$//;
	return $out;
}

# "partition:first-last" of the records that a poll returns, in their order; it
# dies on a gap.
sub polled
{
	my ($client, $group, $member, $max, $end) = @_;
	my @runs;
	my $out = transaction($client, sprintf(
			q{SELECT partition, "offset" FROM minikafka.poll('%s', '%s', %d)},
			$group, $member, $max // 100), $end);

	for (split /\n/, $out)
	{
		my ($partition, $offset) = split /\|/;

		if (@runs && $runs[-1][0] == $partition)
		{
			die "gap: $out" if $offset != ++$runs[-1][2];
			next;
		}
		push @runs, [ $partition, $offset, $offset ];
	}
	return join ' ', map { "$_->[0]:$_->[1]-$_->[2]" } @runs;
}

# What commit() returns, as "partition:offset".
sub committed
{
	my ($client, $group, $member, $end) = @_;

	return join ' ', sort split /\n/, transaction($client,
		qq{SELECT format('%s:%s', partition, "offset")
			FROM minikafka.commit('$group', '$member')}, $end);
}

sub join_group
{
	my ($client, $group, $member, $options) = @_;

	return transaction($client, "SELECT minikafka.join_group('$group',
		ARRAY['$group'], member_id => $member, session_timeout => '1 day'"
		  . ($options // '') . ')');
}

# A topic of the group's name with so many records in each partition.
sub new_topic
{
	my ($topic, @records) = @_;

	sql(sprintf q{SELECT minikafka.create_topic('%s', %d)},
		$topic, scalar @records);
	send_more($topic, @records);
	return;
}

sub send_more
{
	my ($topic, @records) = @_;

	sql(sprintf q{SELECT minikafka.send('%s', 'x', partition => p)
			FROM unnest('{%s}'::int[]) WITH ORDINALITY AS u (records, number),
			LATERAL (SELECT number::int - 1 AS p, generate_series(1, records)) s},
		$topic, join ',', @records);
	return;
}

sub generation
{
	my ($group) = @_;

	return sql("SELECT generation FROM minikafka.groups
		WHERE group_id = '$group'");
}

my ($one, $two) = @clients;

# ---------------------------------------------------------------------------
# Poll in one transaction, commit in another

new_topic('plain', 105);
join_group($one, 'plain', "'m'");
is(polled($one, 'plain', 'm', 100, 'ROLLBACK'), '0:0-99', 'polled');
is(polled($one, 'plain', 'm'), '0:0-99', 'rolled back: the same again');
is(sql(q{SELECT minikafka.committed('plain', 'plain', 0) IS NULL}),
	't', 'a poll commits nothing');
is(committed($one, 'plain', 'm', 'ROLLBACK'), '0:100', 'committed');
is(sql(q{SELECT minikafka.committed('plain', 'plain', 0) IS NULL}),
	't', 'rolled back: not committed');
is(committed($one, 'plain', 'm'), '0:100', 'committed again');
is(sql(q{SELECT minikafka.committed('plain', 'plain', 0)}),
	'100', 'what was polled, and nothing more');
is(polled($one, 'plain', 'm'), '0:100-104', 'the other five');
is(polled($one, 'plain', 'm'), '',          'and then nothing');
is(polled($two, 'plain', 'm'), '', 'from another client neither');
is(committed($one, 'plain', 'm'), '0:105', 'committed to the end');

# polls go on where the last one was, without a commit in between
send_more('plain', 30);
is(polled($one, 'plain', 'm', 10), '0:105-114', 'ten');
is(polled($one, 'plain', 'm', 10), '0:115-124', 'ten more');
is(committed($two, 'plain', 'm'), '0:125', 'a commit is of both');

# seek(), pause() and resume() hold over connections too
transaction($one, q{SELECT minikafka.seek('plain', 'm', 'plain', 0, 120)});
is(polled($one, 'plain', 'm', 10), '0:120-129', 'from where it was sought to');
transaction($one, q{SELECT minikafka.pause('plain', 'm', 'plain', 0)});
is(polled($one, 'plain', 'm'), '', 'paused');
is(polled($one, 'plain', 'm'), '', 'still paused');
transaction($one, q{SELECT minikafka.resume('plain', 'm', 'plain', 0)});
is(polled($one, 'plain', 'm'), '0:130-134', 'resumed');

# ---------------------------------------------------------------------------
# A rebalance between poll and commit

for my $protocol ('cooperative', 'eager')
{
	my $g = "moved_$protocol";

	new_topic($g, 20, 20);
	join_group($one, $g, "'a'", ", protocol => '$protocol'");
	is(polled($one, $g, 'a', 15), '0:0-14', "$protocol: one partition");
	committed($one, $g, 'a');
	is(polled($one, $g, 'a', 25), '1:0-19 0:15-19', "$protocol: both");

	join_group($two, $g, "'b'");
	is(polled($two, $g, 'b'), $protocol eq 'eager' ? '1:0-19' : '',
		"$protocol: the new owner");
	is(committed($one, $g, 'a'),
		$protocol eq 'eager' ? '' : '0:20 1:20',
		"$protocol: a commit of what was polled before");
	is(polled($one, $g, 'a'),
		$protocol eq 'eager' ? '0:15-19' : '',
		"$protocol: the old owner");
	is(polled($two, $g, 'b'), '', "$protocol: no more is left for the new one");
	committed($_->[0], $g, $_->[1]) for [ $one, 'a' ], [ $two, 'b' ];
	is( sql("SELECT string_agg(minikafka.committed('$g', '$g', p)::text, ' ')
			FROM generate_series(0, 1) p"),
		'20 20', "$protocol: all was read");

	# the owner polls before it commits: what it can still commit stays with it
	send_more($g, 5, 5);
	ask($two, "SELECT minikafka.leave_group('$g', 'b')");
	polled($one, $g, 'a');
	send_more($g, 5, 5);
	is(join(' ', sort split / /, polled($one, $g, 'a', 20)),
		'0:25-29 1:25-29', "$protocol: polled, not committed");
	join_group($two, $g, "'b'");
	is(polled($one, $g, 'a'),
		$protocol eq 'eager' ? '0:20-29' : '',
		"$protocol: polled again");
	is(polled($two, $g, 'b'), $protocol eq 'eager' ? '1:20-29' : '',
		"$protocol: whether the new owner gets them again");
	is(committed($one, $g, 'a'),
		$protocol eq 'eager' ? '0:30' : '0:30 1:30',
		"$protocol: the commit of what it has");
	send_more($g, 0, 5);
	is(polled($two, $g, 'b'), '1:30-34', "$protocol: the new owner goes on");
	is(committed($two, $g, 'b'), '1:35', "$protocol: the other's commit");
}

# ---------------------------------------------------------------------------
# The client dies after its poll() has committed, and starts again.  Kafka case
# D05

# what a dead client may have: nothing, for it was committed before the rows
# arrived; a row; or all
my %reads = (
	'before it read a row' => q{DECLARE c CURSOR FOR
		SELECT * FROM minikafka.poll('%1$s', '%2$s'); MOVE c},
	'after it read one' => q{DECLARE c CURSOR FOR
		SELECT * FROM minikafka.poll('%1$s', '%2$s'); FETCH c},
	'after it read all' => q{SELECT * FROM minikafka.poll('%1$s', '%2$s')});
my $n = 0;

for my $read (sort keys %reads)
{
	for my $id ('member', 'instance', 'both')
	{
		my $name   = "the same $id id, $read";
		my $g      = 'dies' . $n++;
		my $client = new_session($pooler);
		my $member = $id eq 'instance' ? 'NULL' : "'m'";
		my $options = $id eq 'member' ? '' : q{, instance_id => 'i'};

		new_topic($g, 30);
		my $m = join_group($client, $g, $member, $options);
		is(polled($client, $g, $m, 10), '0:0-9', "$name: polled and committed");
		committed($client, $g, $m);
		my $generation = generation($g);
		transaction($client, sprintf $reads{$read}, $g, $m);
		$client->quit;

		# the positions are beyond what it has read
		is( sql(qq{SELECT max(position) FROM minikafka.group_progress p
				JOIN minikafka.consumer_group USING (group_no)
				WHERE group_id = '$g'}),
			'30', "$name: the poll took effect");

		$client = new_session($pooler);
		my $again = join_group($client, $g, $member, $options);
		is(generation($g), $generation, "$name: no rebalance");
		is(polled($client, $g, $again), '0:10-29', "$name: it gets them again");
		is(committed($client, $g, $again), '0:30', "$name: and commits them");

		# Kafka cases G22, G23
		if ($id eq 'instance')
		{
			isnt($again, $m, "$name: a new member id");
			is(state_after($client, "SELECT FROM minikafka.commit('$g', '$m')"),
				'MK082', "$name: the old one is fenced");
		}
		$client->quit;
	}
}

# ---------------------------------------------------------------------------
# Turns: a partition that is always full starves no other

new_topic('turns', 1000, 500, 3, 0);
join_group($one, 'turns', "'m'");
my @polls;
for my $i (1 .. 12)
{
	# the poll that is taken back takes back its turn
	my $undone = polled($one, 'turns', 'm', 10, 'ROLLBACK');

	push @polls, polled($i % 2 ? $one : $two, 'turns', 'm', 10);
	is($undone, $polls[-1], "turn $i: the same again");
	committed($one, 'turns', 'm') if $i % 3 == 0;
	send_more('turns', 20, 0, 0, 0);
	send_more('turns', 0, 0, 0, 1) if $i == 6;
}
note(join ', ', @polls);
is($polls[0], '0:0-9', 'turns: first the first');
is($polls[1], '1:0-9', 'turns: then the second');
like($polls[2], qr/^2:0-2 /, 'turns: then the third, and what there is room for');
for my $i (0 .. 9)
{
	my $three = join ' ', @polls[ $i .. $i + 2 ];

	like($three, qr/\b0:/, "turns from $i: the full one");
	like($three, qr/\b1:/, "turns from $i: the other");
}
like("@polls[6, 7]", qr/\b3:0-0/, 'turns: one record in an empty partition');

# ---------------------------------------------------------------------------
# Six members at once over three connections, some polls rolled back

new_topic('load', (0) x 8);
sql(q{CREATE TABLE done (partition int, "offset" bigint)});
join_group($one, 'load', "'m$_'") for 0 .. 5;
for my $round (1 .. 2)
{
	ask($one, "SELECT FROM minikafka.poll('load', 'm$_')") for 0 .. 5;
}
$_->quit for @clients;

my $work = q{
BEGIN;
INSERT INTO done SELECT partition, "offset"
FROM minikafka.poll('load', 'm' || :client_id, 7);
};
my $commit = q{
SELECT count(*) FROM minikafka.commit('load', 'm' || :client_id);
};
my $load = start_pgbench(
	$pooler, {
		'send@4' => q{
SELECT minikafka.send('load', 'x', partition => (:client_id + i) % 8)
FROM generate_series(1, 8) i;
},
		'separately@6' => $work . 'COMMIT;' . $commit,
		'rolled_back@1' => $work . $commit . 'ROLLBACK;',
		'together@3'    => $work . $commit . 'COMMIT;',
		'twice@1'       => $work
		  . 'SAVEPOINT s;'
		  . ($work =~ s/BEGIN;//r)
		  . 'ROLLBACK TO s; COMMIT;',
		'commit@1' => $commit,
	},
	'-c6', '-j2', '-t80');
like(finish_ok($load, 'load: it ran'),
	qr/number of failed transactions: 0 /, 'load: nothing failed');
my $drain = start_pgbench($pooler, { drain => $work . $commit . 'COMMIT;' },
	'-c6', '-j2', '-t60');
finish_ok($drain, 'load: what was left');
is( sql(q{SELECT count(*), count(DISTINCT (partition, "offset")) FROM done}),
	sql(q{SELECT count(*), count(*) FROM minikafka_topics.load}),
	'load: every record was done, once');
is( sql(q{SELECT count(*), sum(lag) FROM minikafka.lag('load')}),
	'8|0', 'load: and committed');
is(sql(q{SELECT string_agg(state || ':' || generation, ' ')
		FROM minikafka.groups WHERE group_id = 'load'}),
	'Stable:6', 'load: without a rebalance');

cmp_ok($moves, '>', $transactions * 0.9,
	"of $transactions transactions $moves were on another connection");

done_testing();
