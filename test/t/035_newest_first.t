# State that is kept newest first, while maintenance removes old rows: a scan that
# has read a page of the index before the newest row came, and visits the rows
# after the one that it knew could go, finds one that was the newest meanwhile.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary', 'autovacuum = off');
my $stop = library('stop');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{CREATE FUNCTION stop_fetch(oid, bigint) RETURNS void LANGUAGE c STRICT
	AS '$stop'});
sql(q{SELECT minikafka.create_topic('t', 1)});
sql(q{SELECT count(minikafka.send('t', 'v' || i)) FROM generate_series(0, 9) i});

my $gate = $node->background_psql('postgres');
my $stopped;

# The statement, stopped at its first look into the table.
sub stop_at
{
	my ($table, $statement) = @_;

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$stopped = new_session($node);
	ask($stopped, "SELECT stop_fetch('minikafka.$table'::regclass, 1)");
	start_query($stopped, $statement);
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted})
	  or die "did not look into $table";
	return;
}

# What it says in the end.
sub go_on
{
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	my $out = $stopped->query('');
	$stopped->quit;
	return $out;
}

# How many rows a table has, and how many after all that can go has gone.
sub left_in
{
	my ($table) = @_;
	my $before = sql("SELECT count(*) FROM minikafka.$table");

	sql('CALL minikafka.maintain()');
	return "$before, " . sql("SELECT count(*) FROM minikafka.$table");
}

# ---------------------------------------------------------------------------
# Positions and committed offsets

my $poll = q{SELECT "offset" FROM minikafka.poll('g', 'm', max_records => 1)};

sql(q{SELECT minikafka.join_group('g', '{t}', 'm')});
is(sql("$poll; SELECT count(*) FROM minikafka.commit('g', 'm')"),
	"0\n1", 'polled and committed');
sql('CALL minikafka.maintain()');
is(sql('SELECT count(*) FROM minikafka.group_progress'), '1', 'one row');
stop_at('group_progress', "BEGIN; $poll; ROLLBACK");
is(sql($poll), '1', 'another session polls meanwhile');
sql('CALL minikafka.maintain()');
is(go_on(), '1',
	'a poll that was stopped goes on where the group was then');
is(left_in('group_progress'), '2, 1', 'the old row went later');
is(sql($poll), '2', 'and the next one goes on');

# ---------------------------------------------------------------------------
# Heartbeats

my $beats = q{SELECT count(*) FROM minikafka.member_heartbeat WHERE polled = 1};

sql('CALL minikafka.maintain()');
stop_at('member_heartbeat', q{SELECT minikafka.heartbeat('g', 'm')});
sql("SET minikafka.clock_offset = 35; $poll");
is(sql($beats), '2', 'it polls meanwhile');
sql('SET minikafka.clock_offset = 35; CALL minikafka.maintain()');
is(go_on(), '1', 'a member that was heard of is alive, where that was stopped');
sql('SET minikafka.clock_offset = 35; CALL minikafka.maintain()');
is(sql($beats), '1', 'the old row went later');

# ---------------------------------------------------------------------------
# Sequences.  The last thousand are known in any case.

my $send = q{SELECT count(minikafka.send('t', 'v' || i, partition => 0,
	producer => 'p', sequence => i)) FROM generate_series(%d, %d) i};

sql(sprintf $send, 0, 2);
stop_at('producer_progress', sprintf($send, 4, 4));
sql(sprintf $send, 3, 1500);
sql('CALL minikafka.maintain()');
go_on();
like($stopped->{stderr}, qr/MK045: sequence 4 out of order, expected 3/,
	'a sequence is known, where looking for it was stopped');
is(left_in('producer_progress'), '2, 1', 'the old row went later');

# ---------------------------------------------------------------------------
# The rule: nothing goes while a snapshot is held that does not see what came
# after it.  So nothing is gained by an old one, but the rows are there.

my $old = $node->background_psql('postgres');

sql("SELECT minikafka.commit_offset('plain', 't', 0, 1)");
sql('CALL minikafka.maintain()');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
sql("SELECT minikafka.commit_offset('plain', 't', 0, $_)") for 4 .. 6;
my $rows = q{SELECT string_agg(next_offset::text, ' ' ORDER BY number)
	FROM minikafka.group_progress JOIN minikafka.consumer_group USING (group_no)
	WHERE group_id = 'plain'};
sql('CALL minikafka.maintain()');
is(sql($rows), '1 4 5 6', 'nothing goes while a snapshot is held');
$old->query_safe('COMMIT');
sql('CALL minikafka.maintain()');
is(sql($rows), '6', 'and all but the newest afterwards');
is(sql(q{SELECT minikafka.committed('plain', 't', 0)}), '6', 'which counts');

$_->quit for $old, $gate;
is(server_errors($node), '', 'no internal error');
done_testing();
