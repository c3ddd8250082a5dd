# The tail of a partition is remembered in shared memory: whatever fails, ends or
# writes behind its back, offsets stay dense and in order.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $fail = library('fail');
my $node = new_node(
	'primary',
	"shared_preload_libraries = '$fail, minikafka'",
	'autovacuum = off',
	'max_locks_per_transaction = 300',
	'restart_after_crash = on');

$node->safe_psql('postgres', qq{
CREATE FUNCTION fail_at(tables oid[], place text, action text, lock bigint)
	RETURNS void LANGUAGE c AS '$fail';
-- at this place in the commit, in all segments of the topic
CREATE FUNCTION at(topic text, place text, action text) RETURNS void LANGUAGE sql AS
	\$\$ SELECT fail_at((SELECT array_agg(s.rel::oid) FROM minikafka.segment s
		JOIN minikafka.topic t USING (topic_id)
		WHERE t.rel = ('minikafka_topics.' || topic)::regclass), place, action, 1)
	\$\$;
});

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The offset that the next record of a topic with one partition gets.
my $sender;
sub next_offset
{
	my ($topic) = @_;
	# a session that has sent to the topic already looks for nothing else
	$sender //= new_session($node);
	ask($sender, "SELECT minikafka.send('$topic', 'next')");
	return ask($sender, 'SELECT base_offset FROM minikafka.last_sent()');
}

# How often the primary keys of a topic's segments were scanned: that is, how often
# the tail was looked up, while nobody reads.
sub scans
{
	my ($topic) = @_;

	ask($sender, 'SELECT pg_stat_force_next_flush()') if defined $sender;
	return sql(qq{SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_all_indexes i
		JOIN minikafka.segment s ON s.rel::oid = i.relid
		JOIN minikafka.topic t USING (topic_id)
		WHERE t.rel = 'minikafka_topics.$topic'::regclass});
}

sub topic
{
	my ($topic, $options) = @_;
	$options //= '';
	sql("SELECT minikafka.create_topic('$topic', 1$options)");
	is(next_offset($topic), 0, "$topic: begins");
	return;
}

# What is true when all is as it was sent: the offsets of a topic.
sub offsets
{
	my ($topic) = @_;

	return sql(qq{SELECT string_agg("offset"::text, ' ' ORDER BY "offset")
		FROM minikafka_topics.$topic});
}

# ---------------------------------------------------------------------------
# It is remembered at all

topic('known');
# whether there is any record a session looks until it has seen one
is(next_offset('known'), 1, 'goes on');
my $before = scans('known');
for (1 .. 20) { ask($sender, q{SELECT minikafka.send('known', 'x')}); }
is(scans('known') - $before, 0, 'the tail is not looked up again');
is(next_offset('known'), 22, 'and is right');
ask($sender, q{SELECT minikafka.append('known', 0, NULL, 'x')});
ask($sender, q{BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT minikafka.send('known', 'x'); COMMIT});
is(scans('known') - $before, 0, 'nor by append(), nor in SERIALIZABLE');
is(next_offset('known'), 25, 'which move it');
sql(q{SELECT minikafka.create_topic('other', 4)});
my $several = q{SELECT minikafka.send('known', 'x'), minikafka.send('other', 'x', partition => p)
	FROM generate_series(0, 3) p};
ask($sender, $several) for 1 .. 3;
$before = scans('known') + scans('other');
ask($sender, $several);
is(scans('known') + scans('other') - $before,
	0, 'nor for several partitions in a transaction');
is(problems($node, 'known') . problems($node, 'other'), '', 'all is sound');

# ---------------------------------------------------------------------------
# Errors at each place: the offset is free again

my @places = qw(insert inserted indexed late);
topic('failing', ', segment_records => 4');
my $next = 1;
for my $place (@places)
{
	for my $how ('SELECT', 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT')
	{
		for my $call ('send', 'append')
		{
			my $zero  = $call eq 'append' ? '0, NULL, ' : '';
			my $begin = $how =~ /BEGIN/ ? $how : "BEGIN; $how";

			is( sqlstate(
					$node,
					"$begin at('failing', '$place', 'error');
					SELECT minikafka.$call('failing', ${zero}'x'), minikafka.$call('failing', ${zero}'y'); COMMIT"
				),
				'40001',
				"$begin, $call: fails, $place");
			is(next_offset('failing'), $next++, 'and its offset is free');
			is(next_offset('failing'), $next++, 'and the next one');
		}
	}
	# ends the session
	sqlstate($node, "BEGIN; SELECT at('failing', '$place', 'fatal');
		SELECT minikafka.send('failing', 'x'); COMMIT");
	is(next_offset('failing'), $next++, "FATAL, $place: its offset is free");
}
is(problems($node, 'failing'), '', 'no hole');

# Several partitions, of which one fails: all of them are as before.
sql(q{SELECT minikafka.create_topic('parts', 3)});
my $parts = q{SELECT minikafka.send('parts', 'x', partition => p)
	FROM generate_series(0, 2) p};
sql($parts);
for my $place (@places)
{
	is(sqlstate($node, "BEGIN; SELECT at('parts', '$place', 'error'); $parts; COMMIT"),
		'40001', "three partitions: fails, $place");
	sql($parts);
}
is(problems($node, 'parts'), '', 'no hole in any partition');
is(sql(q{SELECT string_agg(end_offset::text, ' ') FROM generate_series(0, 2) p, minikafka.offsets('parts', p)}),
	'5 5 5', 'and all are as long');

# A savepoint that is rolled back takes what append() has locked along.
my $session = new_session($node);
is( ask($session, q{BEGIN; SAVEPOINT a; SELECT minikafka.append('known', 0, NULL, 'x')}),
	sql(q{SELECT end_offset FROM minikafka.offsets('known', 0)}), 'append() in a savepoint');
ask($session, 'ROLLBACK TO a');
my $end = sql(q{SELECT end_offset FROM minikafka.offsets('known', 0)});
is(next_offset('known'), $end, 'rolled back: another session gets the offset');
ask($session, q{SELECT minikafka.send('known', 'x'); COMMIT});
is(next_offset('known'), $end + 2, 'the rest of its transaction the next one');

# A serialization failure comes after the extension's part of the commit.
my $other = new_session($node);
sql('CREATE TABLE pair (n int, v int); INSERT INTO pair VALUES (1, 0), (2, 0)');
$end = next_offset('known') + 1;
for my $s ([ $session, 1 ], [ $other, 2 ])
{
	ask($s->[0], "BEGIN ISOLATION LEVEL SERIALIZABLE;
		SELECT sum(v) FROM pair; UPDATE pair SET v = 1 WHERE n = $s->[1];
		SELECT minikafka.send('known', 'x')");
}
my @states = sort map { scalar state_after($_, 'COMMIT') } $session, $other;
is("@states", '00000 40001', 'one of two serializable transactions fails');
is(next_offset('known'), $end + 1, 'and leaves no hole');
$other->quit;

# ---------------------------------------------------------------------------
# Sessions that are cancelled, terminated or killed at each place, while another
# one waits for the lock or has gone on

sub waiting { return sql(q{SELECT pid FROM pg_locks WHERE locktype = 'advisory'
	AND objsubid = 1 AND NOT granted}); }

sub stop_at
{
	my ($topic, $place, $call) = @_;
	my $zero = $call eq 'append' ? '0, NULL, ' : '';

	ask($session, 'SELECT pg_advisory_lock(1)');
	my $client = start_psql($node, "BEGIN; SELECT at('$topic', '$place', 'wait');
		SELECT minikafka.$call('$topic', ${zero}'stopped'); COMMIT");
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted})
	  or die 'the commit does not wait';
	return $client;
}

topic('ended', ', segment_records => 5');
$next = 1;
for my $place (@places)
{
	for my $how (qw(pg_cancel_backend pg_terminate_backend))
	{
		for my $call (qw(send append))
		{
			my $stopped = stop_at('ended', $place, $call);
			my $held = $place ne 'late' || $call eq 'append';
			my $second = start_psql($node, q{SELECT minikafka.send('ended', 'x')},
				'SELECT base_offset FROM minikafka.last_sent()');

			if ($held)
			{
				$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks
					WHERE objsubid = 19776 AND NOT granted})
				  or die 'the second session does not wait';
				sql("SELECT $how(" . waiting() . ')');
			}
			else
			{
				# the one goes on, with the next offset
				$second->{run}->finish;
				sql("SELECT $how(" . waiting() . ')');
				$next++;
			}
			$second->{run}->finish if $held;
			my ($got) = $second->{out} =~ /(\d+)\s*$/;
			is($got, $next++, "$how, $place, $call: the second one gets the right offset");
			$stopped->{run}->finish;
			ask($session, 'SELECT pg_advisory_unlock(1)');
			is(next_offset('ended'), $next++, 'and the next one too');
		}
	}
}
is( sql(q{SELECT count(*) FROM minikafka.check_topic('ended')}),
	2, 'two holes, where the second session had gone on');

for my $place (@places)
{
	my $stopped = stop_at('ended', $place, 'send');
	my $pid     = waiting();

	kill 'KILL', $pid;
	$stopped->{run}->finish;
	$session->quit;
	$sender->quit;
	$sender = undef;
	wait_until_up($node);
	$session = new_session($node);
	is(next_offset('ended'), $next++, "killed, $place: the offset is free");
	is(next_offset('ended'), $next++, 'and the next one right');
}
$_->quit for $session, $sender;
$node->stop('immediate');
$node->start;
$sender = undef;
is(next_offset('ended'), $next++, 'an immediate restart: the next offset');

# ---------------------------------------------------------------------------
# Other things that move the end

# delete_records(): the offsets go on; the time need not
topic('emptied', ', segment_records => 10');
sql(q{SET minikafka.clock_offset = '1d'; SELECT minikafka.send('emptied', 'x')});
sql(q{SELECT minikafka.delete_records('emptied', 0, -1)});
sql(q{CALL minikafka.maintain()});
is(next_offset('emptied'), 2, 'delete_records(): the offsets go on');
is(sql(q{SELECT ts < now() + interval '1 hour' FROM minikafka_topics.emptied}),
	't', 'the time is that of an empty log');

# retention of everything
sql(q{SET minikafka.clock_offset = '1d'; SELECT minikafka.send('emptied', 'x');
	SELECT minikafka.set_topic_option('emptied', 'retention', '1 hour')});
sql(q{SET minikafka.clock_offset = '3d'; CALL minikafka.expire('emptied')});
is(sql('SELECT count(*) FROM minikafka_topics.emptied'), 0, 'expire(): all is gone');
is(next_offset('emptied'), 4, 'the offsets go on');
is(sql(q{SELECT ts < now() + interval '1 hour' FROM minikafka_topics.emptied}),
	't', 'the time is that of an empty log');

# dropped and made again
topic('again');
next_offset('again');
sql(q{SELECT minikafka.drop_topic('again')});
topic('again');
is(next_offset('again'), 1, 'a topic of the same name has its own tail');

# dropped with the extension, so that its number is used again
my $numbers = 'SELECT topic_id FROM minikafka.topic ORDER BY 1 LIMIT 1';
sql('CREATE DATABASE another');
$node->safe_psql('another', q{CREATE EXTENSION minikafka;
	SELECT minikafka.create_topic('t', 1); SELECT minikafka.send('t', 'x') FROM generate_series(1, 5)});
$node->safe_psql('another', q{SET client_min_messages = error;
	DROP EXTENSION minikafka CASCADE; DROP SCHEMA IF EXISTS minikafka_topics, minikafka_data CASCADE;
	CREATE EXTENSION minikafka; SELECT minikafka.create_topic('t', 1);
	SELECT minikafka.send('t', 'x')});
is( $node->safe_psql('another', q{SELECT max("offset") FROM minikafka_topics.t}),
	0, 'an extension that is made again begins again');

# a database with the OID of another one, and the tables of a third
sql('CREATE DATABASE third TEMPLATE another');
$node->safe_psql('another', q{SELECT minikafka.send('t', 'x') FROM generate_series(1, 5)});
my $oid = sql(q{SELECT oid FROM pg_database WHERE datname = 'another'});
sql('DROP DATABASE another');
sql("CREATE DATABASE another TEMPLATE third OID $oid");
$node->safe_psql('another', q{SELECT minikafka.send('t', 'x')});
is( $node->safe_psql('another', q{SELECT max("offset") FROM minikafka_topics.t}),
	1, 'a database with a used OID has its own tails');

# ---------------------------------------------------------------------------
# Writes behind the extension's back: what is there already is never passed by

sub behind { sql("SET session_replication_role = replica; $_[0]"); return; }
my $row = 'INSERT INTO minikafka_data.%s ("offset", ts, partition, value)
	SELECT k, %s, 0, \'x\' FROM generate_series(%d, %d) k';
sub data_of
{
	my ($topic, $segment) = @_;

	return sql(qq{SELECT relname FROM minikafka.segment s
		JOIN minikafka.topic t USING (topic_id) JOIN pg_class c ON c.oid = s.rel
		WHERE t.rel = 'minikafka_topics.$topic'::regclass AND segment = $segment});
}

topic('behind', ', segment_records => 1000');
next_offset('behind');
behind(sprintf $row, data_of('behind', 0), 'now()', 7, 9);
is(next_offset('behind'), 10, 'rows that were inserted by hand: the offset after them');
is(next_offset('behind'), 11, 'and goes on');
behind('DELETE FROM minikafka_data.' . data_of('behind', 0) . ' WHERE "offset" >= 5');
sql('VACUUM minikafka_data.' . data_of('behind', 0));
is(next_offset('behind'), 2, 'rows that were deleted by hand, as without a memory');
sql(q{SELECT minikafka.send('behind', 'x') FROM generate_series(1, 600)});
next_offset('behind');
isnt(data_of('behind', 1), '', 'the next segment is made ahead');
$before = scans('behind');
is(next_offset('behind'), 604, 'which does not matter');
is(scans('behind') - $before, 0, 'and costs no look');
behind(sprintf $row, data_of('behind', 1), 'now()', 1000, 1001);
is(next_offset('behind'), 1002, 'rows in a later segment: the offset after them');
behind('TRUNCATE minikafka_data.' . data_of('behind', 1));
is(next_offset('behind'), 605, 'a segment that was truncated');
behind('REINDEX TABLE minikafka_data.' . data_of('behind', 0));
is(next_offset('behind'), 606, 'an index that was made again');
behind('CLUSTER minikafka_data.' . data_of('behind', 0) . ' USING '
	. data_of('behind', 0) . '_pkey');
is(next_offset('behind'), 607, 'a table that was rewritten');

# pages that a vacuum has emptied behind the tail
topic('swept');
next_offset('swept');
is( sqlstate($node, "BEGIN; SELECT at('swept', 'late', 'error');
		SELECT minikafka.send('swept', 'x') FROM generate_series(1, 2000); COMMIT"),
	'40001', '2000 records fail');
sql('VACUUM minikafka_data.' . data_of('swept', 0));
is(next_offset('swept'), 2, 'the next one gets the first of their offsets');
$before = scans('swept');
is(next_offset('swept'), 3, 'and so on');
is(scans('swept') - $before, 0, 'without a look');

# a unique violation: a row that is in the way, in a transaction that is open
topic('violated');
my $gap = new_session($node);
ask($gap, 'SET session_replication_role = replica; BEGIN;' . sprintf $row,
	data_of('violated', 0), 'now()', 1, 1);
my $blocked = start_psql($node, q{SET lock_timeout = '20s'}, q{SELECT minikafka.send('violated', 'x')},
	'SELECT base_offset FROM minikafka.last_sent()');
$blocked->{run}->finish;
is($blocked->{out} =~ s/\s//gr, '02', 'a row of an open transaction is passed by');
ask($gap, 'ROLLBACK');
is(next_offset('violated'), 3, 'also when it is gone');

# what check_topic() finds
topic('checked');
next_offset('checked');
$before = scans('checked');
sql(q{SELECT * FROM minikafka.check_topic('checked')});
my $checks = scans('checked') - $before;
next_offset('checked');
is(scans('checked') - $before, $checks, 'a sound topic stays known');
behind('UPDATE minikafka_data.' . data_of('checked', 0) . ' SET ts = ts - interval \'1 day\'
	WHERE "offset" = 2');
isnt(problems($node, 'checked'), '', 'check_topic() finds a problem');
$before = scans('checked');
next_offset('checked');
cmp_ok(scans('checked') - $before, '>', 0, 'then the tail is looked up');

# ---------------------------------------------------------------------------
# More partitions than there is memory for, and a server that was a standby

sql(q{SELECT minikafka.create_topic('wide', 1100)});
sql(qq{SELECT minikafka.send('wide', 'x', partition => p) FROM generate_series($_ * 100, $_ * 100 + 99) p})
  for map { $_, $_ } 0 .. 10;
is( sql(q{SELECT min(n) || ' ' || max(n) || ' ' || max(m) FROM (SELECT count(*) AS n, max("offset") AS m
		FROM minikafka_topics.wide GROUP BY partition) s}),
	'2 2 1', 'more partitions than entries');

my $standby = new_standby($node, 'standby');
$next = next_offset('ended') + 1;
wait_standby($node, $standby);
$_->quit for $gap, $sender;
$sender = undef;
$node->stop('immediate');
$standby->promote;
$node = $standby;
is(next_offset('ended'), $next, 'a promoted standby: the next offset');
is(next_offset('ended'), $next + 1, 'and goes on');
is(problems($node, $_), '', "$_ is sound") for qw(known failing parts emptied);

done_testing();
