# Commits held open after their records were sequenced: other sessions go on
# behind them, and readers stop before.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
use MinikafkaTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('primary');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The modes in which the locks of the extension's kinds 0 (sequencing) and 1
# (in flight) are held, for all partitions.
sub locks
{
	return sql(
		q{SELECT string_agg(format('%s %s', objsubid - 19776, mode), ', '
			ORDER BY objsubid, mode)
		FROM pg_locks WHERE locktype = 'advisory' AND objsubid >= 19776});
}

sub values_from
{
	my ($function, $topic, $start) = @_;

	return sql(
		qq{SELECT string_agg("offset" || ':' || value, ' ' ORDER BY "offset")
		FROM minikafka.${function}('$topic', 0, $start)});
}

# ---------------------------------------------------------------------------
# One held commit

sql(q{
SELECT minikafka.create_topic('t', 2);
SELECT minikafka.send('t', 'a', partition => 0);
});
hold_commits($node);
my $held = start_held($node, q{SELECT minikafka.send('t', 'b', partition => 0)});

is(locks(), '1 RowExclusiveLock',
	'the sequencing lock is free while the commit is held');
sql(q{SELECT minikafka.send('t', 'c', partition => 0)});
sql(q{SELECT minikafka.append('t', 0, NULL, 'd')});
sql(q{SELECT minikafka.send('t', 'other', partition => 1)});

is(values_from('fetch_text', 't', 0), '0:a', 'fetch() stops before it');
is(values_from('fetch_text', 't', 1), '',    'fetch() at it has no rows');
is(sql(q{SELECT * FROM minikafka.offsets('t', 0)}),
	'0|1', 'it is the end of the partition');
is(sql(q{SELECT * FROM minikafka.offsets('t', 1)}),
	'0|1', 'the other partition has its own end');
is(sql(q{SELECT end_offset FROM minikafka.partitions
	WHERE topic = 't' AND partition = 0}), '1', 'the view says so too');
is( sql(q{SELECT string_agg("offset" || ':' || convert_from(value, 'UTF8'), ' '
	ORDER BY "offset") FROM minikafka_topics.t WHERE partition = 0}),
	'0:a 2:c 3:d', 'a plain SELECT sees past it');
is(sqlstate($node, q{SELECT * FROM minikafka.fetch('t', 0, 2)}),
	'MK001', 'a start past it is beyond the end');
is(sqlstate($node, q{SELECT minikafka.delete_records('t', 0, 2)}),
	'MK001', 'nor can records past it be deleted');
is(sqlstate($node, q{SELECT minikafka.commit_offset('g', 't', 0, 2)}),
	'22023', 'an offset past it cannot be committed');
sql(q{SELECT minikafka.commit_offset('g', 't', 0, 1)});
is( sql(q{SELECT end_offset, committed_offset, lag, time_lag
		FROM minikafka.lag('g', 't') WHERE partition = 0}),
	'1|1|0|00:00:00', 'a group that has read up to it has no lag');
is( sql(q{SELECT minikafka.offset_for_time('t', 0, '-infinity'),
		minikafka.offset_for_time('t', 0, (SELECT max(ts)
			FROM minikafka_topics.t WHERE partition = 0))}),
	'0|', 'a time past it is not found');
is(problems($node, 't'), '', 'check_topic() does not mind');

release_commits($node);
finish_ok($held, 'the held commit came back');
is(values_from('fetch_text', 't', 0), '0:a 1:b 2:c 3:d',
	'everything is read in order');
is(sql(q{SELECT * FROM minikafka.offsets('t', 0)}), '0|4', 'the end is the tail');
is(locks(), '', 'no lock is left');

# ---------------------------------------------------------------------------
# Several, each of several records, with committed ones between, over a segment
# boundary.  None of the held ones makes a segment: a session that needs one that is being
# made has to wait.

sql(q{SELECT minikafka.create_topic('r', 1, segment_records => 16)});

sub send_n
{
	my ($name, $n) = @_;

	return qq{SELECT minikafka.send('r', '$name' || i, partition => 0)
		FROM generate_series(1, $n) i};
}

sub end_is
{
	my ($end, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( sql(q{SELECT end_offset FROM minikafka.offsets('r', 0)}),
		$end, "$name: the end");
	is( sql(q{SELECT COALESCE(max("offset") + 1, 0), count(*)
			FROM minikafka.fetch('r', 0, 0)}),
		"$end|$end", "$name: fetch() stops there");
	return;
}

hold_commits($node);
sql(send_n('a', 9));
end_is(9, 'nothing held');
my $first = start_held($node, send_n('b', 2));
end_is(9, 'one held');
sql(send_n('c', 4));
end_is(9, 'committed behind it');
my $second = start_held($node, send_n('d', 3));
sql(send_n('e', 4));
my $third = start_held($node, send_n('f', 1));
end_is(9, 'three held');
# A rolled back sender takes no offsets.
sql('BEGIN; ' . send_n('x', 50) . '; ROLLBACK');
sql(send_n('g', 2));
end_is(9, 'three held, and committed ones behind');

# Each is let go by a cancel: it gives up waiting, and has committed.  A
# session that remembers the first undecided offset looks again.
my $watcher = $node->background_psql('postgres');
is($watcher->query_safe(q{SELECT end_offset FROM minikafka.offsets('r', 0)}),
	'9', 'a session that stays: the end');
for ([ 'b', 15, 'the first' ], [ 'd', 22, 'the second' ],
	[ 'f', 25, 'the third' ])
{
	my ($name, $end, $which) = @$_;

	sql(qq{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE wait_event = 'SyncRep' AND query LIKE '%''$name''%'});
	$node->poll_query_until('postgres',
		qq{SELECT count(*) = 0 FROM pg_stat_activity
			WHERE wait_event = 'SyncRep' AND query LIKE '%''$name''%'})
	  or die;
	end_is($end, "$which was let go");
	is( $watcher->query_safe(
			q{SELECT end_offset FROM minikafka.offsets('r', 0)}),
		$end, "a session that stays: $which was let go");
}
$watcher->quit;
finish_ok($_, 'a held commit came back') for $first, $second, $third;

is( sql(q{SELECT string_agg(value, '' ORDER BY "offset"),
		array_agg("offset" ORDER BY "offset") = ARRAY(
			SELECT generate_series(0, 24)::bigint)
		FROM minikafka.fetch_text('r', 0, 0)}),
	'a1a2a3a4a5a6a7a8a9b1b2c1c2c3c4d1d2d3e1e2e3e4f1g1g2|t',
	'everything is read in order');
is(problems($node, 'r'), '', 'the topic is sound');

# The one that was held last is let go first.
$first  = start_held($node, send_n('h', 1));
$second = start_held($node, send_n('i', 1));
is( sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity
		WHERE wait_event = 'SyncRep' AND query LIKE '%''i''%'}),
	't', 'the later one is let go');
finish_ok($second, 'it came back');
end_is(25, 'the end stays');
release_commits($node);
finish_ok($first, 'the earlier one came back');
end_is(27, 'both let go');

done_testing();
