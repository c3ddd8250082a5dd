# The end of the log, where committers and readers are held at each step: no offset
# below it gets a record later.  On the primary; and on a standby that replays one
# record of WAL after the other, where what the end must be is known from the WAL.
#
# MINIKAFKA_SEED=n sets the seed of the random burst.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $seed = $ENV{MINIKAFKA_SEED} || 72;
srand($seed);
note("seed $seed");

my ($fail, $stop) = (library('fail'), library('stop'));
my $trace = PostgreSQL::Test::Utils::tempdir('trace') . '/rows';
my $node  = new_node(
	'primary',
	"shared_preload_libraries = '$fail, minikafka'",
	"fail.trace = '$trace'",
	'log_error_verbosity = verbose',
	'autovacuum = off');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(qq{
CREATE FUNCTION fail_at(tables oid[], place text, action text, lock bigint)
	RETURNS void LANGUAGE c AS '$fail';
CREATE FUNCTION stop_fetch(oid, bigint) RETURNS void LANGUAGE c AS '$stop';
CREATE FUNCTION stop_begin(oid, bigint) RETURNS void LANGUAGE c AS '$stop';
-- the segment of a topic
CREATE FUNCTION segment(topic text, n int DEFAULT 0) RETURNS oid LANGUAGE sql STABLE AS
	\$\$ SELECT s.rel::oid FROM minikafka.segment s JOIN minikafka.topic t USING (topic_id)
		WHERE t.rel = ('minikafka_topics.' || topic)::regclass AND segment = n \$\$;
-- waits until more than that is replayed
CREATE FUNCTION replayed(lsn pg_lsn) RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	WHILE pg_last_wal_replay_lsn() <= lsn LOOP
		PERFORM pg_sleep(0.001);
	END LOOP;
END \$\$;
CREATE TABLE side (i int);
SELECT minikafka.create_topic('t', 1), minikafka.create_topic('hole', 1), minikafka.create_topic('held', 1);
SELECT minikafka.create_topic('small', 1, segment_records => 4);
SELECT minikafka.create_share_group('g', '{small}');
});

# ---------------------------------------------------------------------------
# Sessions that are held

# has the locks for which commits wait, each with a number of its own
my $gate = new_session($node);
ask($gate, "SELECT pg_advisory_lock($_)") for 1 .. 20;

# Waits until a session on this node waits for that lock.
sub await
{
	my ($session, $lock, $count) = @_;
	my $waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND objsubid = 1 AND objid = $lock AND NOT granted";

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if ask($session, $waiting) == $count;
		usleep(10_000);
	}
	die "nobody waits for lock $lock";
}

# A session whose commit waits for a lock at a place, after these statements in its
# transaction.
sub hold
{
	my ($topic, $place, $lock, $sql, $session) = @_;

	$session //= new_session($node);
	ask($session, "$sql;
		SELECT fail_at(ARRAY[segment('$topic')], '$place', 'wait', $lock)");
	start_query($session, 'COMMIT');
	await($gate, $lock, 1);
	return { session => $session, lock => $lock };
}

sub release
{
	my ($held) = @_;

	ask($gate, "SELECT pg_advisory_unlock($held->{lock})");
	finish_query($held->{session});
	ask($gate, "SELECT pg_advisory_lock($held->{lock})");
	return;
}

sub cancel
{
	my ($held) = @_;

	ask($gate, "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
		AND objsubid = 1 AND objid = $held->{lock} AND NOT granted");
	$held->{session}->query('');
	like($held->{session}->{stderr}, qr/canceling statement/, 'cancelled');
	$held->{session}->{stderr} = '';
	return;
}

sub end_of
{
	my ($topic) = @_;

	return "SELECT end_offset FROM minikafka.offsets('$topic', 0)";
}

# ---------------------------------------------------------------------------
# The primary: the end in a session that has looked before, and in a new one

my $old = new_session($node);

sub ends
{
	my ($topic) = @_;

	return ask($old, end_of($topic)) . ' ' . sql(end_of($topic));
}

is(ends('held'), '0 0', 'nothing yet');
sql(q{SELECT minikafka.send('held', 'x')});
for my $place (qw(insert inserted indexed late))
{
	my $before = sql('SELECT count(*) FROM minikafka_topics.held');
	my $held = hold('held', $place, 1,
		q{BEGIN; SELECT minikafka.send('held', 'a'), minikafka.send('held', 'b')});

	is(ends('held'), "$before $before", "held at \"$place\": the end is before its records");
	if ($place eq 'late')
	{
		sql(q{SELECT minikafka.send('held', 'above')});
		is(ends('held'), "$before $before", 'with one above that is committed');
		$before++;
	}
	release($held);
	$before += 2;
	is(ends('held'), "$before $before", "committed: the end moves on");
	$held->{session}->quit;
}

# A reader that is held: before it reads the index, and before it visits a row.  In
# the meantime one is sequenced and held, and another commits above it.
for my $where (qw(stop_begin stop_fetch))
{
	my $before = sql('SELECT count(*) FROM minikafka_topics.held');
	my $reader = new_session($node);

	ask($reader, "SELECT $where(segment('held'), 2)");
	start_query($reader, end_of('held'));
	await($gate, 2, 1);
	my $held = hold('held', 'late', 1, q{BEGIN; SELECT minikafka.send('held', 'a')});
	sql(q{SELECT minikafka.send('held', 'above')});
	ask($gate, 'SELECT pg_advisory_unlock(2)');
	cmp_ok(finish_query($reader), '<=', $before, "reader in $where: what came meanwhile is not below the end");
	ask($gate, 'SELECT pg_advisory_lock(2)');
	release($held);
	$_->quit for $held->{session}, $reader;
}

# One that has failed below one in flight: if that fails too, its offset is free.
my @sessions = map { new_session($node) } 0 .. 3;
sub two_that_fail
{
	my ($topic, $look) = @_;
	my @held = map { hold($topic, 'late', $_, qq{BEGIN; SELECT minikafka.send('$topic', '$_')}, $sessions[$_]) } 1, 2;

	cancel($held[0]);
	my $end = $look->();
	cancel($held[1]);
	sql(qq{SELECT minikafka.send('$topic', 'x')});
	return $end;
}
sql(q{SELECT minikafka.send('hole', 'x')});
is(two_that_fail('hole', sub { ends('hole') }), '1 1', 'the end is the first offset that can get a record');
is(ends('hole'), '2 2', 'it gets one');
is(problems($node, 'hole'), '', 'there is no hole');

# A consumer that begins at the end, as it was then, misses nothing.
sql(q{SELECT minikafka.commit_offset('latest', 'hole', 0, 0)});
two_that_fail('hole', sub {
	sql(q{SELECT * FROM minikafka.reset_offsets('latest', 'hole', 'latest')});
});
is(sql(q{SELECT minikafka.committed('latest', 'hole', 0), end_offset FROM minikafka.offsets('hole', 0)}),
	'2|3', 'a group that begins there gets the record');

# offset_for_time(): not above what its snapshot does not see
my $time = sql('SELECT clock_timestamp()');
my $first = hold('hole', 'late', 1, q{BEGIN; SELECT minikafka.send('hole', 'first')}, $sessions[1]);
sql(q{SELECT minikafka.send('hole', 'second')}) for 1 .. 4;
my $earlier = new_session($node);
ask($earlier, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
release($first);
is(ask($earlier, "SELECT minikafka.offset_for_time('hole', 0, '$time')"), '',
	'offset_for_time(): nothing above a record that the snapshot does not see');
is(ask($earlier, "COMMIT; SELECT minikafka.offset_for_time('hole', 0, '$time')"), 3,
	'and then that record');
$earlier->quit;

# ---------------------------------------------------------------------------
# A standby that replays what is put into its pg_wal

# A number, and as pg_lsn has it.
sub lsn_number { my ($high, $low) = split m{/}, $_[0]; return (hex($high) << 32) + hex($low); }
sub lsn_text { return sprintf '%X/%X', $_[0] >> 32, $_[0] & 0xFFFFFFFF; }

my $SEGMENT = 16 * 1024 * 1024;

# Begins where its backup ends.
sub new_stepped
{
	my ($name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$standby->init_from_backup($node, 'stepped');
	$standby->set_standby_mode;
	$standby->append_conf('postgresql.conf', join "\n",
		"shared_preload_libraries = 'minikafka'",
		# each look for more of it would be a line of the log; sessions show errors
		"wal_retrieve_retry_interval = '5ms'", 'log_min_messages = fatal',
		'max_standby_streaming_delay = -1', 'max_standby_archive_delay = -1', '');
	$standby->start;
	my $lsn = lsn_number($standby->safe_psql('postgres', 'SELECT pg_last_wal_replay_lsn()'));
	return { node => $standby, fed => $lsn - $lsn % $SEGMENT };
}

# Gives it the WAL up to there.
sub feed
{
	my ($stepped, $to) = @_;

	while ($stepped->{fed} < $to)
	{
		my $from = $stepped->{fed};
		my $base = $from - $from % $SEGMENT;
		my $until = $to < $base + $SEGMENT ? $to : $base + $SEGMENT;
		my $name = sprintf '/pg_wal/%08X%08X%08X', 1, $base >> 32, ($base & 0xFFFFFFFF) / $SEGMENT;
		my $path = $stepped->{node}->data_dir . $name;
		my $bytes;

		open my $in, '<:raw', $node->data_dir . $name or die "$name: $!";
		seek $in, $from - $base, 0;
		read($in, $bytes, $until - $from) == $until - $from or die "$name: $!";
		close $in;
		if (!-e $path)
		{
			open my $new, '>:raw', "$path.new" or die "$path: $!";
			truncate $new, $SEGMENT or die "$path: $!";
			close $new;
			rename "$path.new", $path or die "$path: $!";
		}
		open my $out, '+<:raw', $path or die "$path: $!";
		seek $out, $from - $base, 0;
		print $out $bytes;
		close $out or die "$path: $!";
		$stepped->{fed} = $until;
	}
	return;
}

# Where the WAL is, when all of it is in the files.
sub wal_end
{
	sql(q{SELECT pg_logical_emit_message(true, '', '')});
	return lsn_number(sql('SELECT pg_current_wal_flush_lsn()'));
}

# nothing is removed that a snapshot there may need
my $keeper = new_session($node);
ask($keeper, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
sql(q{SELECT count(minikafka.send('t', 'base')) FROM generate_series(1, 20)});
sql(q{SELECT minikafka.send('small', 'base', i::text) FROM generate_series(1, 3) i});
$node->backup('stepped');
my $start = lsn_number(sql('SELECT pg_current_wal_flush_lsn()'));
$start -= $start % $SEGMENT;

# ---------------------------------------------------------------------------
# The burst: transactions that are held in flight, and end in another order, some
# of them by failing

sub storm
{
	my ($moves) = @_;
	my @pool = map { { session => new_session($node), lock => $_ } } 1 .. 7;
	my $subs = new_session($node);

	# more subtransactions than a snapshot of a standby has room for
	ask($subs, q{BEGIN; DO $$ BEGIN FOR i IN 1 .. 70 LOOP
		BEGIN INSERT INTO side VALUES (i); EXCEPTION WHEN division_by_zero THEN NULL; END;
	END LOOP; END $$});
	for my $move (1 .. $moves)
	{
		my $s = $pool[ rand @pool ];
		my $dice = int(rand 10);

		if (!defined $s->{state})
		{
			# its transaction id may be older than those that commit first
			ask($s->{session}, 'BEGIN; ' . ($dice < 5 ? 'SELECT pg_current_xact_id()' : ''));
			$s->{state} = 'open';
		}
		elsif ($s->{state} eq 'open')
		{
			my $n = 1 + int(rand 3);
			my $sql = "SAVEPOINT a; INSERT INTO side VALUES (1); SELECT minikafka.send('t', 'gone');
				ROLLBACK TO a; SELECT minikafka.send('t', 'm$move-' || i) FROM generate_series(1, $n) i";
			if ($dice < 3)
			{
				ask($s->{session}, "$sql; SELECT fail_at(ARRAY[segment('t')], '', '', 0); COMMIT");
				$s->{state} = undef;
			}
			else
			{
				hold('t', 'late', $s->{lock}, $sql, $s->{session});
				$s->{state} = 'held';
			}
		}
		else
		{
			if ($dice < 6) { release($s) } else { cancel($s) }
			$s->{state} = undef;
		}
		# what else is going on
		sql(q{SELECT minikafka.send('small', 'x', (random() * 3)::int::text)}) if $move % 4 == 0;
		sql(q{SELECT count(*) FROM minikafka.acquire('g', 2, accept => true)}) if $move % 10 == 5;
		sql(q{SELECT minikafka.commit_offset('c', 't', 0, end_offset) FROM minikafka.offsets('t', 0)}) if $move % 10 == 7;
		sql(q{SELECT minikafka.delete_records('small', 0, end_offset - 2) FROM minikafka.offsets('small', 0)}) if $move % 20 == 9;
		sql(q{CALL minikafka.maintain()}) if $move == 60;
		ask($subs, 'COMMIT') if $move == int($moves / 2);
	}
	for my $s (@pool)
	{
		if (($s->{state} // '') eq 'held') { release($s) }
		$s->{session}->quit;
	}
	$subs->quit;
	return;
}

my $hole_end;
is( two_that_fail('t', sub { $hole_end = wal_end(); ends('t') }), '20 20', 'in the burst too');
storm(80);
my $end = wal_end();

# The records of WAL: where each begins; and of each transaction, where it has
# written its first row into the topic, and where it ended.
my (@records, %written, %ended, %failed);
my $file = sql(q{SELECT pg_relation_filenode(segment('t'))});
my ($dump) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal',
	'-s', lsn_text($start), '-e', lsn_text($end) ]);
for my $line (split /\n/, $dump)
{
	my ($rmgr, $xid, $lsn, $desc) =
	  $line =~ m{^rmgr: (\w+) .* tx: +(\d+), lsn: (\S+), .* desc: (.*)$}
	  or next;

	$lsn = lsn_number($lsn);
	push @records, { lsn => $lsn, rmgr => $rmgr, xid => $xid };
	$written{$xid} //= $lsn if $rmgr =~ /^Heap/ && $desc =~ m{INSERT.*rel \d+/\d+/$file };
	$ended{$xid} = $lsn if $rmgr eq 'Transaction' && $desc =~ /^(?:COMMIT|ABORT)/;
	$failed{$xid} = $lsn if $rmgr eq 'Transaction' && $desc =~ /^ABORT/;
}
cmp_ok(scalar @records, '>', 300, scalar(@records) . ' records of WAL');
my %offsets;
my $segment = sql(q{SELECT segment('t')});
open my $rows, '<', $trace or die "$trace: $!";
while (<$rows>)
{
	my ($xid, $table, $offset) = split;
	push @{ $offsets{$xid} }, $offset if $table == $segment && $written{$xid};
}
close $rows;

# When each record of the log was appended, in microseconds
my %times = map { $_->[0] => $_->[1] } rows($node,
	q{SELECT "offset", (extract(epoch FROM ts) * 1000000)::bigint FROM minikafka_topics.t});
my @times = sort { $a <=> $b } values %times;

# ---------------------------------------------------------------------------
# Step by step: a session that goes on, one that is new each time, and one whose
# transaction keeps its snapshot for a while

my $stepped = new_stepped('stepped');
my %looking = map { $_ => new_session($stepped->{node}) } qw(old new earlier small);

# The end, what fetch() returns, what is in the table, and a record by its time
sub look
{
	my ($session, $topic, $ts) = @_;
	my ($e, $f, $v, $t) = split /\|/, ask($session, qq{SELECT end_offset,
		(SELECT string_agg("offset"::text, ',') FROM minikafka.fetch('$topic', 0, log_start_offset, 100000)),
		(SELECT string_agg("offset"::text, ',' ORDER BY "offset") FROM minikafka_topics.$topic),
		minikafka.offset_for_time('$topic', 0, 'epoch'::timestamptz + $ts * interval '1 microsecond')
		FROM minikafka.offsets('$topic', 0)}), -1;

	return { end => $e, fetched => $f, there => $v, time => $ts, found => $t };
}

my @looks;
my @small;
my ($waited, $insane) = (0, 0);
ask($looking{small}, q{SET lock_timeout = '20ms'});
for my $i (0 .. $#records)
{
	my $record = $records[$i];

	feed($stepped, $i < $#records ? $records[ $i + 1 ]{lsn} : $end);
	ask($looking{old}, sprintf q{SELECT replayed('%s')}, lsn_text($record->{lsn}));
	next unless $record->{rmgr} eq 'Transaction' || $record->{rmgr} eq 'Standby' || $offsets{ $record->{xid} };

	my $ts = $times[ rand @times ];
	my $look = look($looking{old}, 't', $ts);
	$look->{lsn} = $record->{lsn};
	$look->{after} = "$record->{rmgr} of $record->{xid} at " . lsn_text($record->{lsn});
	if ($record->{rmgr} eq 'Transaction' || @looks % 4 == 0)
	{
		ask($looking{new}, '\connect -');
		$look->{new} = look($looking{new}, 't', $ts);
	}
	ask($looking{earlier}, 'COMMIT') if @looks % 30 == 29;
	ask($looking{earlier}, 'BEGIN ISOLATION LEVEL REPEATABLE READ') if @looks % 30 == 0;
	$look->{earlier} = look($looking{earlier}, 't', $ts) if @looks % 3 == 0;
	push @looks, $look;

	# a segment that is dropped there is locked until that is replayed
	if (@looks % 2 == 0)
	{
		$looking{small}->{stderr} = '';
		my $out = $looking{small}->query(q{SELECT end_offset, (SELECT string_agg("offset"::text, ',')
			FROM minikafka.fetch('small', 0, log_start_offset, 100000)),
			(SELECT string_agg("offset"::text, ',') FROM minikafka_topics.small)
			FROM minikafka.offsets('small', 0)});
		if ($looking{small}->{stderr} =~ /ERROR:  55P03/)
		{
			$waited++;
			next;
		}
		my ($e, $f, $v) = split /\|/, $out, -1;
		push @small, { end => $e, fetched => $f, there => $v, after => $look->{after} };
	}
	if (@looks % 8 == 0)
	{
		$looking{small}->{stderr} = '';
		my $out = $looking{small}->query(q{
			SELECT 'check', * FROM minikafka.check_topic('t') WHERE severity = 'error';
			SELECT 'lag', * FROM minikafka.lag('c') WHERE committed_offset > end_offset OR lag < 0;
			SELECT 'share', * FROM minikafka.lag('g') WHERE least(lag, ready, in_flight, waiting) < 0;
			SELECT 'deliveries' FROM minikafka.share_deliveries HAVING count(*) < 0});
		next if $looking{small}->{stderr} =~ /ERROR:  55P03/;
		diag("after $look->{after}: $out$looking{small}->{stderr}") if $out ne '';
		$insane++ if $out ne '';
	}
}
is($insane, 0, 'check_topic(), lag() and share_deliveries never show what cannot be');
note(scalar(@looks) . ' and ' . scalar(@small) . " looks, $waited had to wait");
cmp_ok(scalar @small, '>', 3 * $waited, 'and most need not wait for a lock');

# Sound: nothing that is there in a later look, but not in this one, is below the
# end, nor below anything that was read.
sub passed
{
	my ($looks) = @_;
	my %first;
	my @bad;

	for my $i (0 .. $#$looks)
	{
		$first{$_} //= $i for split /,/, $looks->[$i]{there};
	}
	for my $i (0 .. $#$looks)
	{
		my $l = $looks->[$i];
		my ($later) = sort { $a <=> $b } grep { $first{$_} > $i } keys %first;
		my ($last) = $l->{fetched} =~ /(\d+)$/;

		next unless defined $later;
		push @bad, "after $l->{after}: end $l->{end}, read to " . ($last // '') . ", $later came later"
		  if $l->{end} > $later || (defined $last && $last > $later);
	}
	return join "\n", @bad[0 .. ($#bad < 9 ? $#bad : 9)];
}
is(passed(\@looks), '', 'the end and readers are never above what comes later');
is(passed([ map { { %{ $_->{new} }, after => $_->{after} } } grep { $_->{new} } @looks ]),
	'', 'nor in a new session');
is(passed(\@small), '', 'nor where segments come and go');

# Exact: the offset after the highest record that has no undecided one below it.
my (@wrong, @snapshot);
my $kept;
my @kept_undecided;
for my $i (0 .. $#looks)
{
	my $l = $looks[$i];
	my @in_flight =
	  grep { $written{$_} <= $l->{lsn} && (!$ended{$_} || $ended{$_} > $l->{lsn}) } keys %offsets;
	my @undecided = sort { $a <=> $b } map { @{ $offsets{$_} } } @in_flight;
	my @readable = grep { !@undecided || $_ < $undecided[0] } split /,/, $l->{there};
	my $right = $readable[-1] + 1;
	my $first_from = sub {
		my ($time, @from) = @_;
		my ($found) = grep { $times{$_} >= $time } @from;
		return $found // '';
	};

	for my $s (grep { defined } $l, $l->{new})
	{
		push @wrong, "after $l->{after}: end $s->{end} for $right, fetch() $s->{fetched} for @readable, "
		  . "by time $s->{found}"
		  if $s->{end} != $right || $s->{fetched} ne join(',', @readable) ||
		  $s->{found} ne $first_from->($s->{time}, @readable);
	}

	# What fetch() and offset_for_time() return is that of the snapshot, which is
	# taken by the first look, without what has failed since; the end is that of now.
	my $e = $l->{earlier} or next;
	($kept, @kept_undecided) = ($l, @in_flight) if $i % 30 == 0;
	my ($stop) = sort { $a <=> $b } map { @{ $offsets{$_} } }
	  grep { !$failed{$_} || $failed{$_} > $l->{lsn} } @kept_undecided;
	my @kept = grep { !defined $stop || $_ < $stop } split /,/, $kept->{there};
	push @snapshot, "after $l->{after}: end $e->{end} for $right, fetch() $e->{fetched} for @kept, by time $e->{found}"
	  if $e->{end} != $right || $e->{fetched} ne join(',', @kept) || $e->{there} ne $kept->{there} ||
	  $e->{found} ne $first_from->($e->{time}, @kept);
}
is(join("\n", @wrong[0 .. ($#wrong < 9 ? $#wrong : 9)]), '', 'the end is neither too high nor too low');
is(join("\n", @snapshot[0 .. ($#snapshot < 9 ? $#snapshot : 9)]), '', 'REPEATABLE READ');
cmp_ok(scalar(grep { !$ended{$_} || $ended{$_} - $written{$_} > 1000 } keys %offsets), '>', 10,
	'transactions were in flight for long');
is($looks[-1]{end}, sql(end_of('t')), 'in the end all is there');

# ---------------------------------------------------------------------------
# A reader that is held there while replay goes on, when nothing was in progress

sub catch_up
{
	my $to = wal_end();

	feed($stepped, $to);
	ask($looking{old}, sprintf q{SELECT replayed('%s')}, lsn_text($to - 1));
	return;
}

my $there = new_session($stepped->{node});
ask($there, 'SELECT pg_advisory_lock(1)');
my @held;
for my $where (qw(stop_begin stop_fetch))
{
	catch_up();
	my $before = sql(end_of('t'));
	my $reader = new_session($stepped->{node});
	ask($reader, "SELECT $where(segment('t'), 1)");
	start_query($reader, end_of('t'));
	await($there, 1, 1);
	@held = (hold('t', 'late', 1, q{BEGIN; SELECT minikafka.send('t', 'a')}, $sessions[1]));
	sql(q{SELECT minikafka.send('t', 'above')});
	catch_up();
	ask($there, 'SELECT pg_advisory_unlock(1)');
	cmp_ok(finish_query($reader), '<=', $before, "standby: reader in $where: what came meanwhile is not below the end");
	ask($there, 'SELECT pg_advisory_lock(1)');
	$reader->quit;
	last if $where eq 'stop_fetch';
	release($held[0]);
}

# with one in flight below one that is committed
my $in_flight = sql(end_of('t'));
my $above = $in_flight + 1;
for my $session (qw(old new))
{
	is(ask($looking{$session}, qq{SELECT count(*) FROM minikafka.fetch('t', 0, $above)}), 0,
		"$session: fetch() beyond the end returns nothing");
}
ask($there, q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0});
my $query = q{SELECT end_offset, n > 0 FROM minikafka.offsets('t', 0), (SELECT count(*) AS n FROM side) s};
like(ask($there, "EXPLAIN $query"), qr/Gather/, 'a query with parallel workers');
is(ask($there, $query), "$in_flight|t", 'the end beside parallel workers');
release($held[0]);

# ---------------------------------------------------------------------------
# Promoted in the middle: the session that has looked goes on

my $promoted = new_stepped('promoted');
feed($promoted, $hole_end);
my $goes_on = new_session($promoted->{node});
ask($goes_on, sprintf q{SELECT replayed('%s')}, lsn_text($hole_end - 1));
my $then = ask($goes_on, end_of('t'));
is($then, 20, 'a standby, with one that has failed below one in flight');
$promoted->{node}->promote;
my $got = $promoted->{node}->safe_psql('postgres', q{SELECT minikafka.send('t', 'new');
	SELECT base_offset FROM minikafka.last_sent()});
$got =~ s/\A.*\n//;
cmp_ok($got, '>=', $then, 'promoted: the next record is not below the end that a session has seen');
is(ask($goes_on, end_of('t')), $got + 1, 'promoted: and that session sees it');
is(problems($promoted->{node}, 't'), '', 'promoted: the topic is sound');

$_->quit for values(%looking), $there, $goes_on, @sessions, $keeper, $old, $gate;
is(server_errors($_), '', 'no internal error, no crash') for $node, $stepped->{node}, $promoted->{node};
done_testing();
