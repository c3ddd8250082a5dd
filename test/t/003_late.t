# What happens at commit after the records were sequenced, by another library's
# callback: a failure leaves its numbers to be used again, or a hole; calls are
# refused.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');
my $late = library('late');

sub sql { return $node->safe_psql('postgres', $_[0]); }

sub values_from
{
	my ($topic, $start) = @_;

	return sql(
		qq{SELECT string_agg("offset" || ':' || value, ' ' ORDER BY "offset")
		FROM minikafka.fetch_text('$topic', 0, $start)});
}

# ---------------------------------------------------------------------------
# The library's callback runs after the extension's if it was loaded before

sql(q{SELECT minikafka.create_topic('t', 1)});
my $sequencing = q{SELECT count(*) FROM pg_locks
	WHERE locktype = 'advisory' AND objsubid = 19776};
my $in_flight = q{SELECT count(*) FROM pg_locks
	WHERE locktype = 'advisory' AND objsubid = 19777};
my $gate = $node->background_psql('postgres');

# It ended with the late failure.
sub failed_late
{
	my ($client, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$client->{run}->finish;
	like($client->{err}, qr/40001: late failure/, $name);
	return;
}

$gate->query_safe('SELECT pg_advisory_lock(1)');
my $client = start_gated($node, q{SELECT minikafka.send('t', 'a')});
is(sql($sequencing), '0', 'after sequencing: that lock is free');
is(sql($in_flight),  '1', 'after sequencing: in flight');
is(sql(q{SELECT count(*) FROM minikafka_topics.t}), '0', 'not committed yet');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_ok($client, 'it committed');

# ---------------------------------------------------------------------------
# Failures after the sequencing

my $fails = q{SET LOCAL late.fail = 1; SELECT minikafka.send('t', 'failed')
	FROM generate_series(1, 3)};

# with no session behind, the numbers are used again
is(sqlstate($node, "LOAD '$late'; BEGIN; $fails; COMMIT"),
	'40001', 'it failed');
sql(q{SELECT minikafka.send('t', 'b')});
is(values_from('t', 0), '0:a 1:b', 'the numbers are used again');
is(problems($node, 't'), '', 'the topic is sound');

# with a session behind that commits first, a hole
$gate->query_safe('SELECT pg_advisory_lock(1)');
$client = start_gated($node, $fails);
sql(q{SELECT minikafka.send('t', 'c')});
sql(q{SELECT minikafka.send('t', 'd')});
is(values_from('t', 0), '0:a 1:b', 'a reader stops before what is undecided');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
failed_late($client, 'it failed with others behind');
is(values_from('t', 0), '0:a 1:b 5:c 6:d', 'a reader steps over the hole');
is(values_from('t', 2), '5:c 6:d',         'also when it starts at it');
is(values_from('t', 3), '5:c 6:d',         'also when it starts in it');
is( sql(q{SELECT * FROM minikafka.check_topic('t')}),
	'notice|0|2|hole of 3 offsets',
	'check_topic() tells of the hole');
is(sql(q{SELECT * FROM minikafka.offsets('t', 0)}), '0|7', 'the end');
sql(q{SELECT minikafka.commit_offset('g', 't', 0, 2)});
is( sql(q{SELECT lag FROM minikafka.lag('g', 't')}),
	'5', 'the lag counts offsets');
sql(q{SELECT minikafka.send('t', 'e')});
is(values_from('t', 5), '5:c 6:d 7:e', 'sending goes on');

# a session behind that is still open when it fails takes no part in it
$gate->query_safe('SELECT pg_advisory_lock(1)');
$client = start_gated($node, $fails);
my $second = start_gated($node, q{SELECT minikafka.send('t', 'f')});
is(sql($in_flight), '2', 'two in flight');
sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
	WHERE query LIKE '%failed%' AND wait_event_type = 'Lock'});
$client->{run}->finish;
like($client->{err}, qr/57014/, 'the first was cancelled');
is(sql(q{SELECT * FROM minikafka.offsets('t', 0)}),
	'0|8', 'the end is the first one\'s offset, which is free if the second fails too');
$gate->query_safe('SELECT pg_advisory_unlock(1)');
finish_ok($second, 'the second committed');
is(values_from('t', 7), '7:e 11:f', 'a reader steps over the hole');

# A commit that waits for the lock of NOTIFY can be cancelled, without any
# library: it leaves a hole too.  A commit that is held has that lock.
sql('CREATE TABLE written ()');
hold_commits($node);
my $notifier = start_held($node,
	'BEGIN; INSERT INTO written DEFAULT VALUES; NOTIFY n; COMMIT');
$client = start_psql($node,
	q{BEGIN; SELECT minikafka.send('t', 'failed'); NOTIFY n; COMMIT});
$node->poll_query_until('postgres', q{SELECT count(*) = 1
	FROM pg_locks WHERE locktype = 'object' AND NOT granted}) or die;
sql(q{SELECT minikafka.send('t', 'g')});
sql(q{SELECT pg_cancel_backend(pid) FROM pg_locks
	WHERE locktype = 'object' AND NOT granted});
$client->{run}->finish;
like($client->{err}, qr/57014/, 'a commit that waited for NOTIFY was cancelled');
release_commits($node);
finish_ok($notifier, 'the NOTIFY it waited for is through');
is(values_from('t', 11), '11:f 13:g', 'it left a hole');
is( sql(q{SELECT count(*) FILTER (WHERE severity = 'notice'), count(*)
		FROM minikafka.check_topic('t')}),
	'3|3', 'check_topic() tells of three holes, and nothing else');

# ---------------------------------------------------------------------------
# Calls from a callback, also those that read: they would take what this
# transaction has written for decided

for my $call (
	q{send('t', 'late')},
	q{append('t', 0, NULL, 'late')},
	q{commit_offset('g', 't', 0, 1)},
	q{delete_records('t', 0, 1)},
	q{fetch('t', 0, 0)},
	q{fetch_text('t', 0, 0)},
	q{offsets('t', 0)},
	q{offset_for_time('t', 0, now())},
	q{committed('g', 't', 0)},
	q{lag('g')},
	q{check_topic('t')},
	q{partition_for_key('t', 'k'::text)},
	q{last_sent()},
	q{create_topic('late')},
	q{set_topic_option('t', 'max_message_bytes', '1')},
	q{add_partitions('t', 2)},
	q{drop_topic('t')})
{
	my ($function) = $call =~ /^(\w+)/;
	my $run = "SET LOCAL late.run = \$\$SELECT minikafka.$call\$\$";

	is( sqlstate($node, qq{LOAD '$late';
			BEGIN; SELECT minikafka.send('t', 'failed'); $run; COMMIT}),
		'55000', "$function() after the sequencing is refused");
	is( sqlstate($node, qq{LOAD '$late'; SELECT minikafka.murmur2('x');
			BEGIN; $run; COMMIT}),
		'55000',
		"$function() at that time is refused also when nothing was sent");
}
is( sql(q{SELECT count(*) FROM minikafka_topics.t
		WHERE convert_from(value, 'UTF8') IN ('failed', 'late')}),
	'0', 'nothing of these is there');
is( sql(q{SELECT string_agg(topic || ':' || partitions, ' ')
		FROM minikafka.topics}),
	't:1', 'nor has any changed the topic');

# what the session then knows of the end is what all others know
my $last = sql(q{SELECT end_offset FROM minikafka.offsets('t', 0)});
for my $call (q{offsets('t', 0)}, qq{fetch('t', 0, $last)})
{
	my (undef, $out) = $node->psql(
		'postgres', qq{LOAD '$late';
		BEGIN;
		SELECT minikafka.send('t', 'failed') FROM generate_series(1, 3);
		SET LOCAL late.run = \$\$SELECT minikafka.$call\$\$;
		COMMIT;
		SELECT 'end ' || end_offset FROM minikafka.offsets('t', 0);
		SELECT 'rows ' || count(*) FROM minikafka.fetch('t', 0, $last)},
		on_error_stop => 0);

	like($out, qr/^end $last\nrows 0$/m, "the end is known after $call");
}

# loaded after minikafka, the callback runs before: it may send
SKIP:
{
	skip 'both are preloaded', 1 if $ENV{PRELOAD};
	my $before = sql(q{SELECT end_offset FROM minikafka.offsets('t', 0)});

	sql(qq{SELECT minikafka.murmur2('x');
		LOAD '$late';
		BEGIN;
		SET LOCAL late.run = 'SELECT minikafka.send(''t'', ''early'')';
		COMMIT});
	is(values_from('t', $before), "$before:early",
		'send() before the sequencing is as any other');
}

$gate->quit;
done_testing();
